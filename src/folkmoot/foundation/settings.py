"""Everything that can be set: a problem file, the options of commands and a commented example are made from this."""

from dataclasses import MISSING, dataclass, field
from typing import Any

KINDS = ("ratings", "memberships", "distances", "places", "tables", "similarity")
IF_MISSING = ("refuse", "drop", "category")  # a category of their own: in tables
IF_NEGATIVE = ("refuse", "drop", "zero")
BEST = ("lowest", "highest")
IF_TWICE = ("refuse", "first", "last", "largest", "mean", "sum")
SIMILARITIES = ("gaussian", "cosine")
METHODS = (
    *("auto", "fedcg", "fedcg+", "discrete", "few-rounds", "frank-wolfe", "randgreedi"),
    *("greedy", "continuous", "stochastic", "popularity", "random", "exhaustive", "private"),
)
ADJACENCIES = ("zero-out", "replace-one")
SECURE = ("ideal", "real", "plain")
FEDERATION = "federation"  # how sums are made where parties on a network answer
PATIENCE, WAIT = 20.0, 600.0  # seconds
SECURITY = 64  # bits: a round of secure aggregation breaks its promises with probability 2^-SECURITY at most


def setting(about: str, default: Any = MISSING, *, choices: tuple[str, ...] = (), example: str = "") -> Any:
    """A field of a dataclass of settings: what it is about, the words it may be, how it looks in a problem file."""
    return field(default=default, metadata={"about": about, "choices": choices, "example": example})


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where the data is and how it is read."""

    file: str | None = setting(
        "File with what clients hold: csv, tsv, txt, dat, jsonl, xlsx, parquet, arrow, npz, mtx; gz, bz2, xz, zst, zip."
        " Or - for standard input.",
        None,
        example='"ratings.csv"',
    )
    kind: str | None = setting("What is in it; found by its columns unless given.", None, choices=KINDS)
    items: str | None = setting("File about the items: names, attributes, positions.", None, example='"movies.csv"')
    client: str | None = setting("Column that says whose row it is.", None, example='"userId"')
    item: str | None = setting("Column that says which item.", None, example='"movieId"')
    value: str | None = setting(
        "Column with the rating, distance or weight of a row; empty: none.", None, example='"rating"'
    )
    best: str | None = setting(
        "Which value is the best: the highest, or, of ranks, the lowest (a row is worth 1 / rank).", None, choices=BEST
    )
    items_id: str | None = setting(
        "Column of the items file that the item column refers to.", None, example='"movieId"'
    )
    name: str | None = setting("Column of the items file with their names.", None, example='"title"')
    latitude: str | None = setting("Column with the latitude, in degrees.", None, example='"lat"')
    longitude: str | None = setting("Column with the longitude, in degrees.", None, example='"lon"')
    weight: str | None = setting(
        "Column with how much a client counts (of places: each row).", None, example='"households"'
    )
    reach: float | None = setting(
        "Kilometres (of distances: their unit) beyond which an item is of no use.", None, example="10.0"
    )
    least: float | None = setting("Memberships: values below this do not count.", None, example="4.0")
    most: float | None = setting(
        "The largest value that there can be, as everybody knows: of ratings, or in bits of the target of tables.",
        None,
        example="5.0",
    )
    target: str | None = setting("Tables: column with what is to be predicted.", None, example='"diagnosis"')
    bins: int = setting("Tables: numbers with more values than this are cut into so many bins.", 5)
    drop: tuple[str, ...] = setting("Tables: columns to leave out.", (), example='["comment", "postcode"]')
    category: tuple[str, ...] = setting(
        "Tables: columns of numbers that are categories, such as codes: they are not cut into bins.",
        (),
        example='["ward"]',
    )
    merge_rare: int = setting(
        "Tables: values that fewer rows of a site have than this are one value there; 0: all stay as they are.", 0
    )
    smoothing: float = setting("Tables: added to every count, so that small sites do not believe in chance.", 1.0)
    similarity: str = setting("How alike two rows of numbers are.", "gaussian", choices=SIMILARITIES)
    credit: str | None = setting(
        "Whom to credit for the data; the report says it.", None, example='"GeoNames, CC BY 4.0"'
    )
    missing: str = setting("What to do about missing values.", "refuse", choices=IF_MISSING)
    negative: str = setting("What to do about negative values.", "refuse", choices=IF_NEGATIVE)
    duplicates: str = setting("What to do when a client has an item twice.", "refuse", choices=IF_TWICE)


@dataclass(frozen=True, kw_only=True)
class Choose:
    """What may be chosen."""

    count: int | None = setting("How many items in all.", None, example="20")


@dataclass(frozen=True, kw_only=True)
class Limited:
    """A limit a group of items. There may be several, if groups lie within groups."""

    at_most: int = setting("How many items of each group.", example="2")
    per: str = setting("Column of the items file that makes the groups.", example='"genre"')
    within: str | None = setting("Column that the groups lie within: a region of a country.", None, example='"country"')


@dataclass(frozen=True, kw_only=True)
class How:
    """How it is chosen. In a file, any setting of the method may stand here too (docs/methods.md)."""

    name: str = setting("Federated (from sums) or central (sees everything).", "auto", choices=METHODS)
    rounds: int | None = setting("Rounds of the search; the method's own number unless given.", None, example="10")
    cohort: int | None = setting(
        "Clients asked in a round; 1,000 unless given (100 if secure is real).", None, example="1000"
    )
    jury: int | None = setting("Clients who score what was found; 40 cohorts (if real: 200).", None, example="40000")
    juries: int | None = setting(
        "Juries, a round each, that say together how good the answer is; one for its value, one for its bound.",
        None,
        example="5",
    )
    shortlist: int | None = setting(
        "Ask only about so many items, those that are worth most alone; all unless given (of 10,000 at most).",
        None,
        example="200",
    )


@dataclass(frozen=True, kw_only=True)
class PrivacySettings:
    """How sums are made, and how well they hide a single client."""

    epsilon: float | None = setting(
        "Noise hides every single client: nothing that the server sees is more than e^epsilon times as likely with "
        "its data as without.",
        None,
        example="1.0",
    )
    delta: float | None = setting(
        "Noise: and this much more in probability; of N clients the smaller of N^-1.5 and 1/(10 N) unless given.",
        None,
        example="1e-6",
    )
    adjacency: str = setting(
        "Noise: what a client is compared with: one with nothing to say, or any other one (more noise).",
        "zero-out",
        choices=ADJACENCIES,
    )
    secure: str = setting(
        "ideal: sums as secure aggregation gives them; real: every byte of it, slowly; plain.", "ideal", choices=SECURE
    )
    dropout: float = setting("Share of the clients that does not answer.", 0.0)
    corrupt: float = setting("Share of the clients that may work for the server.", 0.1)
    security: int = setting("Bits: a round breaks its promises with probability 2^-security at most.", SECURITY)
    cluster: str | None = setting(
        "Address of a Dask scheduler whose workers add up, in the clear; local: one on this machine.",
        None,
        example='"tls://scheduler:8786"',
    )
    federation: str | None = setting(
        "Folder of a server's kit, whose parties answer; nothing leaves them but masked sums.", None, example='"server"'
    )
    patience: float = setting("Federation: seconds that a party has for one exchange.", PATIENCE)
    wait: float = setting("Federation: seconds to wait until enough parties can be reached.", WAIT)

    @property
    def summing(self) -> str:
        """How sums are really made."""
        if self.federation is not None:
            return FEDERATION
        return self.secure if self.cluster is None else "plain"


@dataclass(frozen=True, kw_only=True)
class Output:
    """What is written, and where."""

    folder: str | None = setting("Folder of the run; named after the data unless given.", None, example='"films-run"')
    title: str | None = setting("Title of the report.", None, example='"Films for everyone"')
    show_client: bool = setting("Show what one client said beside what the server saw of it.", False)
    png: bool = setting("Write the charts as pictures too.", False)
    markdown: bool = setting("Write the report as Markdown too.", False)

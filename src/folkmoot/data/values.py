"""Which column says what an item is worth to a client: by the words of its name, and by what it holds.

A rating that is overlooked makes one star count as much as five. So a column that might be one is not passed over in
silence: its name is clear, or what it holds belongs to something else, or the person is asked.
"""

from collections.abc import Sequence
from itertools import pairwise

import polars

from folkmoot.data.columns import COUNTED, DISTANCES, list_words, split_words
from folkmoot.data.source import CellType, DataSource
from folkmoot.data.wording import name_one
from folkmoot.foundation.errors import OpenQuestion

ADDED = {  # of which two in two rows make more
    *("quantity", "quantities", "qty", "amount", "amounts", "count", "counts", "frequency", "times", "units", "hours"),
    *("minutes", "playtime", "plays", "listens", "streams", "clicks", "views", "visits", "purchases", "spent", "spend"),
    "sales",
}
AMOUNTS = {
    *("rating", "ratings", "rate", "star", "stars", "score", "scores", "grade", "preference", "utility", "benefit"),
    *("vote", "votes", "interest", "relevance", "affinity", "overall", "value", "values", "ratio", "duration"),
    *ADDED,
}
FLAGS = {
    *("like", "liked", "likes", "love", "loved", "favorite", "favourite", "purchased", "bought", "ordered", "clicked"),
    *(
        "viewed",
        "watched",
        "seen",
        "played",
        "listened",
        "read",
        "visited",
        "owned",
        "owns",
        "saved",
        "wanted",
        "wants",
    ),
    *("interested", "attended", "borrowed", "approved", "approves", "recommended", "recommends", "upvoted", "starred"),
}
LENGTHS = {"distance", "dist", "km", "kilometres", "kilometers", "metres", "meters", "miles"}
STATISTICS = {"average", "avg", "mean", "median", "max", "min", "std", "per"}  # over many clients
# What belongs to the row, to the client or to the item alone.
OTHERS = {
    *("id", "ids", "key", "code", "number", "no", "nr", "num", "index", "idx", "row", "line", "uuid", "guid", "hash"),
    *("date", "time", "timestamp", "datetime", "day", "week", "weekday", "month", "quarter", "year", "hour", "minute"),
    *("unix", "epoch", "ts", "created", "updated", "modified", "born", "birth", "birthday", "age", "gender", "sex"),
    *("zip", "zipcode", "postcode", "postal", "phone", "income", "occupation", "education", "price", "cost", "tax"),
    *(
        "discount",
        "vat",
        "rank",
        "position",
        "release",
        "released",
        "published",
        "pages",
        "length",
        "size",
        "version",
        "order",
        "invoice",
        "transaction",
        "basket",
    ),
    *("fold", "split", "train", "test", "cluster", "segment", "isbn", "ean", "upc", "latitude", "lat", "longitude"),
    *("lon", "lng", "population", "pop", "demand", "inhabitants", "residents", "households", "unnamed", "dob"),
}
RANKS = {"rank", "ranks", "ranking", "place", "placing", "position", "preference", "preferences", "priority", "choice"}
GRADES = {"preference", "preferences", "priority", "choice"}  # of these, only what differs in all rows of a client
RATED = {"rating", "ratings", "review", "reviews", "vote", "votes"}  # how many there are says nothing about a client
YES = ("yes", "y", "true", "t", "like", "liked", "up", "thumbs up", "ja", "oui", "si", "sí")
NO = ("no", "n", "false", "f", "dislike", "disliked", "down", "thumbs down", "nein", "non")
STRAY = 0.1  # share of the cells of a column of numbers that may hold something else: NA, unknown
SAME = 0.98  # share of the clients, or items, in whose rows an attribute of theirs is the same
DEEP = 1_000_000  # rows that are looked at before a person is asked
FEW = 20  # rows: fewer prove nothing
LAST_RANK = 1000  # larger numbers are no ranks
LARGE = 10**8  # whole numbers from here on are times and ids
YEARS, DATES = (1800, 2100), (18_000_101, 21_001_231)
MOST_NAMED = 5  # columns in a question


def find_value(source: DataSource, client: str, item: str, taken: Sequence[str] = ()) -> str | None:
    """The only column that is a value by the words of its name and by what it holds; None where there are several."""
    others = [column for column in source.columns if column not in (client, item, *taken)]
    found = [column for column in others if _is_named_value(column) and _may_be_value(source, column)]
    found = _drop_attributes(source.sample(), (client, item), found)
    return found[0] if len(found) == 1 else None


def ask_for_value(source: DataSource, client: str, item: str, taken: Sequence[str] = ()) -> None:
    """Raise a question if a column may be a value and nothing says so."""
    others = [column for column in source.columns if column not in (client, item, *taken)]
    possible = [column for column in others if _may_be_value(source, column)]
    if possible:
        rows = read_some(source, (client, item, *possible))
        varied = [column for column in possible if rows[column].drop_nulls().n_unique() > 1]
        possible = _drop_attributes(rows, (client, item), varied)
    if not possible:
        return
    several = len(possible) > 1
    one, other = name_one(item, "item"), name_one(client, "client")
    raise OpenQuestion(
        f"{list_words(possible)} may say what each {one} is worth to a {other}, or something else",
        place=source.file,
        remedy="say which one counts, or that none does" if several else "say whether it counts",
        settings=[*(("value", column) for column in possible[:MOST_NAMED]), ("value", "")],
    )


def ask_for_rank(source: DataSource, client: str, item: str, value: str | None, taken: Sequence[str] = ()) -> None:
    """Raise a question if the value, or where there is none, some column, may hold ranks: then 1 is the best."""
    columns = [value] if value else [column for column in source.columns if column not in (client, item, *taken)]
    ranks = [column for column in columns if is_rank(source, column, client)]
    ranks = _drop_attributes(read_some(source, (client, item, *ranks)), (client, item), ranks) if ranks else []
    if not ranks:
        return
    if len(ranks) > 1:
        raise OpenQuestion(
            f"{list_words(ranks)} may be ranks",
            place=source.file,
            remedy="say which one counts, or that none does",
            settings=[*(("value", column) for column in ranks[:MOST_NAMED]), ("value", "")],
        )
    one, other = name_one(item, "item"), name_one(client, "client")
    raise OpenQuestion(
        f"{ranks[0]} may be ranks, of which 1 says which {one} a {other} likes best, or ratings, of which it says the "
        "opposite",
        place=source.file,
        remedy="say which value is the best" + ("" if value else ", or that it does not count"),
        settings=[("best", "lowest"), ("best", "highest"), *([] if value else [("value", "")])],
    )


def ask_for_item(source: DataSource, client: str, item: str, taken: Sequence[str] = ()) -> None:
    """Raise a question if the supposed item holds 1, 2, 3 for each client, and another column may be the item."""
    others = [column for column in source.columns if column not in (client, item, *taken)]
    if not others or not is_rank(source, item):
        return
    rows = read_some(source, (client, item)).drop_nulls()
    groups = rows.group_by(client).agg(polars.len().alias("rows"), _as_number(item).alias("ranks"))
    repeated = groups.filter(polars.col("rows") > 1)
    listed = repeated.filter(polars.col("ranks").list.sort() == polars.int_ranges(1, polars.col("rows") + 1))
    if not repeated.height or listed.height < (1 - STRAY) * repeated.height:
        return
    raise OpenQuestion(
        f"{item} numbers the rows of each {name_one(client, 'client')}: it may be ranks, and no item",
        place=source.file,
        remedy="say which column is the item",
        settings=[("item", column) for column in (*others[:MOST_NAMED], item)],
    )


def _as_number(column: str) -> polars.Expr:
    return polars.col(column).cast(polars.Float64, strict=False).cast(polars.Int64, strict=False)


def is_rank(source: DataSource, column: str, client: str | None = None) -> bool:
    """Whether a column may hold ranks, by the last word of its name and by what it holds."""
    words = split_words(column)
    if not words or words[-1] not in RANKS or _is_statistic(words):
        return False
    cells = source.sample()[column].drop_nulls()
    numbers = _read_numbers(cells)
    if not len(cells) or numbers.null_count() or not numbers.is_between(0, LAST_RANK).all():
        return False
    if (numbers != numbers.round(0)).any():
        return False
    return words[-1] not in GRADES or client is None or _differ_by_client(source, client, column)


def _differ_by_client(source: DataSource, client: str, column: str) -> bool:
    """Whether hardly any client has a value twice: it gives out ranks, not grades."""
    rows = read_some(source, (client, column)).drop_nulls()
    groups = rows.group_by(client).agg(polars.len().alias("rows"), polars.col(column).n_unique().alias("values"))
    repeated = groups.filter(polars.col("rows") > 1)
    return repeated.filter(polars.col("rows") == polars.col("values")).height >= (1 - STRAY) * repeated.height


def is_distance(column: str) -> bool:
    """Whether a name means a distance: distance_km, Travel Time."""
    words = split_words(column)
    pairs = {first + second for first, second in pairwise(words)}
    return "".join(words) in DISTANCES or not LENGTHS.isdisjoint(words) or not pairs.isdisjoint(DISTANCES)


def is_added(column: str) -> bool:
    """Whether values of this name add up where a client has an item twice: quantities and hours do, stars do not."""
    words = split_words(column)
    return not ADDED.isdisjoint(words) and not _is_statistic(words) and not is_distance(column)


def is_flag(source: DataSource, column: str) -> bool:
    """Whether a column says yes or no: in words, or by 1 and 0 under the name of what people do or do not."""
    if is_yes_no(source, column):
        return True
    numbers = _read_numbers(source.sample()[column].drop_nulls())
    return not FLAGS.isdisjoint(split_words(column)) and len(numbers) > 0 and bool(numbers.is_in([0.0, 1.0]).all())


def is_yes_no(source: DataSource, column: str) -> bool:
    """Whether a column holds words for yes and no."""
    cells = source.sample()[column].drop_nulls()
    if not len(cells) or cells.dtype not in (polars.Boolean, polars.String):
        return False
    return cells.dtype == polars.Boolean or read_flags(cells).null_count() == 0


def read_flags(cells: polars.Series) -> polars.Series:
    """1 for yes, 0 for no, null for anything else."""
    values = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0)}
    words = cells.str.strip_chars().str.to_lowercase()
    return words.replace_strict(values, default=None, return_dtype=polars.Float64)


def _read_numbers(cells: polars.Series) -> polars.Series:
    """Numbers, null where there is none; a decimal comma is a point."""
    if cells.dtype == polars.String:
        cells = cells.str.strip_chars().str.replace(r"^([-+]?\d*),(\d+)$", "$1.$2")
    if cells.dtype.is_nested() or cells.dtype.is_temporal() or cells.dtype == polars.Boolean:
        return polars.Series(cells.name, [None] * len(cells), dtype=polars.Float64)
    return cells.cast(polars.Float64, strict=False)


def _is_named_value(column: str) -> bool:
    """Whether the words of a name mean a value; the last one says most: order_quantity is one, purchase_date is not."""
    words = split_words(column)
    if _is_statistic(words):
        return False
    if words and words[-1] in AMOUNTS | FLAGS:
        return True
    known = set(words) - COUNTED
    return known.isdisjoint(OTHERS) and (not known.isdisjoint(AMOUNTS | FLAGS) or is_distance(column))


def _is_statistic(words: list[str]) -> bool:
    """Whether a name means something about many clients: avg_rating, number of reviews."""
    counted = not COUNTED.isdisjoint(words) and not RATED.isdisjoint(words)
    return counted or not STATISTICS.isdisjoint(words)


def _may_be_value(source: DataSource, column: str) -> bool:
    """Whether a column may be a value, as far as its name and its first cells tell."""
    words, named, cells = split_words(column), _is_named_value(column), source.sample()[column].drop_nulls()
    if not named and (_is_statistic(words) or not OTHERS.isdisjoint(words)):
        return False
    if is_yes_no(source, column):
        return True
    numbers = _read_numbers(cells).drop_nulls()
    if not len(numbers) or len(cells) - len(numbers) > STRAY * len(cells):
        return False
    if (numbers != numbers.round(0)).any():
        return True
    if _holds_times(numbers):
        return False
    return named or not (_counts_rows(numbers, column == source.columns[0]) or _holds_ids(numbers))


def _counts_rows(numbers: polars.Series, leads: bool) -> bool:
    """Whether these are the numbers of the rows; in the first column, two rows show it."""
    return len(numbers) >= (2 if leads else FEW) and bool((numbers.diff().drop_nulls() == 1.0).all())


def _holds_ids(numbers: polars.Series) -> bool:
    """Whether numbers differ in nearly all rows."""
    return len(numbers) >= FEW and numbers.n_unique() > 0.9 * len(numbers)


def _holds_times(numbers: polars.Series) -> bool:
    """Whether whole numbers are years, dates such as 20240131, or seconds since 1970."""
    low, high = numbers.to_numpy().min(), numbers.to_numpy().max()
    return bool(high >= LARGE) or any(first <= low and high <= last for first, last in (YEARS, DATES))


def read_some(source: DataSource, columns: Sequence[str]) -> polars.DataFrame:
    """The first rows, as text: many more than a sample has, for it is in vain to ask a person about an age."""
    wanted: dict[str, CellType] = dict.fromkeys(columns, "text")
    parts: list[polars.DataFrame] = []
    for frame in source.frames(wanted):
        parts.append(frame)
        if sum(part.height for part in parts) >= DEEP:
            break
    return polars.concat(parts)


def _drop_attributes(rows: polars.DataFrame, owners: Sequence[str], columns: list[str]) -> list[str]:
    """Without columns that say something of the client or of the item alone: an age, or a price, is the same in all of
    their rows, and would not be if the rows were shuffled.
    """
    if not columns:
        return []
    shuffled = rows.select(columns).sample(fraction=1.0, shuffle=True, seed=0)

    def is_attribute(column: str, owner: str) -> bool:
        same, by_chance = (_share_constant(rows[owner], cells[column]) for cells in (rows, shuffled))
        return same > max(SAME, by_chance + 1 - SAME)

    return [column for column in columns if not any(is_attribute(column, owner) for owner in owners)]


def _share_constant(owners: polars.Series, cells: polars.Series) -> float:
    """Of the owners of several rows, the share in whose rows a column is the same; 0 where these are few."""
    groups = (
        polars.DataFrame({"owner": owners, "cell": cells})
        .group_by("owner")
        .agg(polars.len().alias("rows"), polars.col("cell").n_unique().alias("values"))
    )
    repeated = groups.filter(polars.col("rows") > 1)
    if repeated["rows"].sum() - repeated.height < FEW:
        return 0.0
    return repeated.filter(polars.col("values") == 1).height / max(repeated.height, 1)

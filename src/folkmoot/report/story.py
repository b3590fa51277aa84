"""All that a report says, as plain data. Documents are made from this and from nothing else."""

from dataclasses import dataclass

from folkmoot.conversation.result import Result
from folkmoot.privacy.forecast import Forecast

MOST_POPULAR = "most popular"  # the way to choose that every other is measured by
RANDOM = "random"


@dataclass(frozen=True)
class Item:
    """An item, chosen or not."""

    name: str
    gain: float | None = None  # chosen: what it adds to those above it
    details: tuple[tuple[str, str], ...] = ()  # its attributes, such as ("genre", "Comedy")
    latitude: float | None = None
    longitude: float | None = None
    size: float | None = None  # a public number such as the population of a place: how large its dot is
    alone: float | None = None  # its worth alone, as a share of the largest, where the sums say it
    counted: tuple[tuple[str, str], ...] = ()  # of attributes with several values, the one that a limit counts


@dataclass(frozen=True)
class Baseline:
    """What another way of choosing would have given."""

    name: str  # "most popular"
    value: float
    about: str  # "the items with the highest sums, whatever they have in common"
    sees_everything: bool = False  # the central solution: a line in the picture
    same: bool = False  # whether it gives the same items as the answer


@dataclass(frozen=True)
class View:
    """One client in one round of the protocol: what it said, what the server saw of that, and what it learned."""

    client: str
    clients: int  # in this round
    label: str  # what the round was for
    items: tuple[str, ...]  # a few coordinates
    said: tuple[int, ...] | None  # None: not to be shown, for it is the client's own
    seen: tuple[int, ...]  # masked: every number of the ring is as likely as any other
    learned: tuple[int, ...]
    ring_bits: int
    rehearsed: bool = False  # the round was run for this page, with few clients; the run itself added up unmasked

    @property
    def columns(self) -> list[tuple[str, tuple[int, ...]]]:
        """What there is to show next to the items."""
        own = [] if self.said is None else [("it said", self.said)]
        return [*own, ("the server saw", self.seen), ("the server learned", self.learned)]


@dataclass(frozen=True)
class LimitUse:
    """A limit on what may be chosen, and how many of each group were."""

    at_most: int
    per: str
    within: str = ""
    used: tuple[tuple[str, int], ...] = ()  # groups with something chosen, the fullest first; nothing: not known
    free: int = 0  # chosen items without a group, which the limit does not count
    several: int = 0  # chosen items with more than one value, of which the first makes the group
    example: str = ""  # of such an item: "“Comedy|Drama” is Comedy"


@dataclass(frozen=True)
class PartyFacts:
    """One party of a federation."""

    name: str
    clients: int  # that it holds
    answered: int | None = None  # rounds whose sum it is in; None: not known
    asked: int | None = None  # rounds that had a sum


@dataclass(frozen=True)
class Benefit:
    """How many have something from the answer: to be counted only where the data is."""

    clients: int
    share: float  # of all, by what they count


@dataclass(frozen=True)
class RareNumbers:
    """How many numbers of a sum rest on few clients: counted, or where that cannot be, estimated (`what` says so)."""

    what: str  # the sum is for: "the search"
    clients: int  # in it
    numbers: int  # other than 0
    one: int  # of these, rest on one client
    two: int
    few: int  # up to five, one and two included


@dataclass(frozen=True)
class Story:
    """One run."""

    title: str
    question: str  # one sentence: who chooses what for whom
    meaning: str  # what the value is: "stars of the best chosen film, averaged over all users"
    clients_called: str  # "users", "people", "hospitals"
    items_called: str
    n_clients: int
    result: Result
    chosen: tuple[Item, ...]  # in the order of the result
    others: tuple[Item, ...] = ()  # items not chosen, for the map
    baselines: tuple[Baseline, ...] = ()
    secure: str = "ideal"  # "federation", "real", "ideal", "plain"; "none" where a central method saw everything
    protection: str = ""  # the terms of secure aggregation in one sentence
    view: View | None = None
    notes: tuple[str, ...] = ()  # what was read and what was done about it
    command: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    credits: tuple[str, ...] = ()
    size_called: str = ""  # what the size of an item is: "population"
    parties: tuple[PartyFacts, ...] = ()  # of a federation
    corrupt: float | None = None  # noise: the share of clients, or of parties, that may work for the server
    limits: tuple[LimitUse, ...] = ()
    unchecked: str = ""  # what nobody could check when this was told, in one sentence, and why
    kind: str = ""  # of the data: "places", "ratings", …; unknown unless given
    reach: float | None = None  # beyond which an item is of no use: of places in kilometres
    benefit: Benefit | None = None
    rare: tuple[RareNumbers, ...] = ()  # nothing: not known, or hidden by noise
    forecast: Forecast | None = None  # of what noise would cost, by trials on the data; None: it was not at hand


@dataclass(frozen=True)
class Entry:
    """One method in a comparison, over several seeds."""

    name: str
    federated: bool
    values: tuple[float, ...]  # F(S), one per seed; of a random choice, one per random set
    seconds: float  # mean
    rounds: int = 0
    bytes_up: float = 0.0  # per client and round, mean
    answers: int = 0  # clients' answers in the whole run, mean
    smallest: int | None = None  # the smallest sum
    selected: tuple[str, ...] = ()  # names, of the first seed
    about: str = ""  # what sets it apart from the others
    epsilon: float | None = None  # noise: what it promises
    delta: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Several methods on one problem, with the same seeds."""

    title: str
    question: str
    meaning: str
    clients_called: str
    items_called: str
    n_clients: int
    n_items: int
    seeds: tuple[int, ...]
    entries: tuple[Entry, ...]
    bound: float | None = None  # no allowed set is worth more
    notes: tuple[str, ...] = ()
    command: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    credits: tuple[str, ...] = ()

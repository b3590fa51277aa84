"""What follows from a story: the numbers that its result does not hold but implies."""

from dataclasses import dataclass
from math import inf, isfinite

from folkmoot.conversation.result import Result, Round
from folkmoot.report.story import MOST_POPULAR, RANDOM, Baseline, Comparison, Entry, PartyFacts, Story
from folkmoot.report.text import capitalise

DIGITS_OFF = 1e-12  # sums that are the same may differ in their last digits


@dataclass(frozen=True)
class RunCost:
    """A federated run, added up."""

    rounds: int
    answers: int
    lost: float  # share of those asked who did not answer, though they had no choice
    up: int  # bytes that all of them sent, and received
    down: int
    smallest: int  # the fewest clients in a sum
    vectors: int  # answers as they were sent: of clients, or of parties that speak for theirs
    by_party: bool = False  # whether parties speak for their clients

    @property
    def mean_up(self) -> float:
        """Bytes that a client, or a party that speaks for its clients, sends when it takes part in a round."""
        return self.up / max(self.vectors, 1)

    @property
    def mean_down(self) -> float:
        return self.down / max(self.vectors, 1)

    @property
    def sender(self) -> str:
        """Who sends and receives."""
        return "party" if self.by_party else "client"

    @property
    def senders(self) -> str:
        return "parties" if self.by_party else "clients"


@dataclass(frozen=True)
class Known:
    """How good the answer is: what it is worth and what nothing allowed exceeds. Where there is no bound, None."""

    value: float | None
    field: str  # where the value stands in the result
    low: float | None
    high: float | None
    bound: float | None
    ratio: float | None


@dataclass(frozen=True)
class CentralShare:
    """How much of a central method's value the answer has."""

    name: str  # of the central method
    share: float


@dataclass(frozen=True)
class PopularValue:
    """What the most popular items are worth, and what the chosen ones are, by the same clients."""

    value: float
    chosen: float
    estimated: bool  # from sums over some clients
    random: float | None = None  # what a random choice is worth
    same: bool = False  # whether these are the chosen ones


@dataclass(frozen=True)
class Bar:
    """One way to choose and its worth."""

    name: str
    value: float
    about: str
    kind: str  # "chosen", "central", "other"
    field: str = ""


def cost_of(result: Result) -> RunCost | None:
    if not result.rounds:
        return None
    due = [one for one in result.rounds if not one.voluntary]
    return RunCost(
        rounds=len(result.rounds),
        answers=sum(one.answered for one in result.rounds),
        lost=1 - sum(one.answered for one in due) / max(sum(one.asked for one in due), 1) if due else 0.0,
        up=sum(one.up * count_vectors(one) for one in result.rounds),
        down=sum(one.down * count_vectors(one) for one in result.rounds),
        smallest=min((one.answered for one in result.rounds if one.answered), default=0),
        vectors=sum(map(count_vectors, result.rounds)),
        by_party=is_by_party(result),
    )


def is_by_party(result: Result) -> bool:
    """Whether parties speak for their clients in its sums."""
    return any(list_speakers(one) is not None for one in result.rounds or ())


def list_speakers(one: Round) -> tuple[int, ...] | None:
    """The parties in the sum of a round, where parties speak for their clients."""
    return None if one.made is None else one.made.parties


def count_vectors(one: Round) -> int:
    """How many vectors are in the sum of a round."""
    speakers = list_speakers(one)
    return one.answered if speakers is None else len(speakers)


def finite_or_none(value: float | None) -> float | None:
    return float(value) if value is not None and isfinite(value) else None


def find_known(result: Result) -> Known:
    """A federated run is judged by its sums, a central one by the data."""
    e = result.estimate
    if e is None:
        value, bound = finite_or_none(result.value), finite_or_none(result.upper_bound)
        ratio = result.ratio if value is not None and bound is not None else None
        return Known(value, "value", None, None, bound, ratio)
    bound = finite_or_none(e.bound_high)
    exact = finite_or_none(result.value)
    value, field = (exact, "value") if exact is not None else (finite_or_none(e.value), "estimate.value")
    ratio = e.ratio if bound is not None else None
    return Known(value, field, finite_or_none(e.low), finite_or_none(e.high), bound, ratio)


def is_estimated(result: Result) -> bool:
    """Whether nobody can know the value, so that it is estimated from sums."""
    return result.estimate is not None and find_known(result).field != "value"


def was_simulated(result: Result) -> bool:
    """Whether the value is known from outside the conversation. Where all clients answered, their sums tell it."""
    e = result.estimate
    return e is not None and result.value is not None and not (e.everyone and e.value == result.value)


def is_simulated_here(story: Story) -> bool:
    """Whether all clients were in one process, whose owner could read everything."""
    return story.secure in ("ideal", "real") or was_simulated(story.result)


def central_share(story: Story) -> CentralShare | None:
    """The value as a share of the best that a method with all the data found, where that is known."""
    value = find_known(story.result).value
    central = max((one for one in story.baselines if one.sees_everything), key=lambda one: one.value, default=None)
    if value is None or central is None or not 0 < central.value < inf:
        return None
    return CentralShare(central.name, round(value / central.value, 9))  # equal sums may differ by a digit


def find_popular(story: Story) -> PopularValue | None:
    """From the data, or else from sums; None where nobody knows."""
    known, e = find_known(story.result), story.result.estimate
    named = {one.name: one for one in story.baselines if isfinite(one.value)}
    if (exact := named.get(MOST_POPULAR)) is not None:
        random = named[RANDOM].value if RANDOM in named else None
        estimated = is_estimated(story.result)
        return None if known.value is None else PopularValue(exact.value, known.value, estimated, random, exact.same)
    if e is None or e.popularity is None:
        return None
    return PopularValue(e.popularity, e.value, True, e.random)


def bars_of(story: Story) -> tuple[Bar, ...]:
    """The answer and other ways to choose; where the story has none, those that the sums give."""
    known, e = find_known(story.result), story.result.estimate
    if known.value is None:
        return ()
    chosen = Bar("Chosen set", known.value, "the answer of this run", "chosen", known.field)
    others = [_bar(one) for one in story.baselines if isfinite(one.value)]
    if not story.baselines and e is not None:
        known_from_sums = (
            ("Most popular", e.popularity, "the items that are worth most alone, from sums", "estimate.popularity"),
            ("Random", e.random, "the mean of random allowed sets, from sums", "estimate.random"),
        )
        others = [
            Bar(name, value, about, "other", field)
            for name, value, about, field in known_from_sums
            if value is not None
        ]
    return (chosen, *sorted(others, key=lambda bar: -bar.value))


def _bar(one: Baseline) -> Bar:
    return Bar(capitalise(one.name), one.value, one.about, "central" if one.sees_everything else "other")


@dataclass(frozen=True)
class RankedEntry:
    """A method of a comparison with its mean, and its spread over the seeds (None: there was one seed)."""

    entry: Entry
    mean: float | None
    spread: float | None
    ratio: float | None  # to the best method that sees everything


def rank_entries(comparison: Comparison) -> tuple[RankedEntry, ...]:
    """Best first."""
    best = max((_mean(one) or 0.0 for one in comparison.entries if not one.federated), default=0.0)
    listed = [RankedEntry(one, _mean(one), _find_spread(one), _ratio(_mean(one), best)) for one in comparison.entries]
    return tuple(sorted(listed, key=lambda one: -(one.mean or 0.0)))


def _mean(entry: Entry) -> float | None:
    values = [value for value in entry.values if isfinite(value)]
    return sum(values) / len(values) if values else None


def _find_spread(entry: Entry) -> float | None:
    mean, values = _mean(entry), [value for value in entry.values if isfinite(value)]
    if mean is None or len(values) < 2:
        return None
    spread = float((sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5)
    return spread if spread > DIGITS_OFF * abs(mean) else 0.0


def _ratio(mean: float | None, best: float) -> float | None:
    return round(max(mean / best, 0.0), 9) if mean is not None and best > 0 else None


def list_absent(story: Story) -> list[PartyFacts]:
    """The parties that are missing from some sums, where the value is estimated: they are not missing by chance."""
    e = story.result.estimate
    if e is None or e.everyone:
        return []
    return [one for one in story.parties if one.answered is not None and one.answered < (one.asked or 0)]

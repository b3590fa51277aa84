"""What a run returns."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Making
from folkmoot.foundation.documents import read_json
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Array, freeze
from folkmoot.privacy.accounting import combine_mus
from folkmoot.secagg.faults import Fault
from folkmoot.theory.guarantee import Guarantee

if TYPE_CHECKING:
    import polars

    from folkmoot.report.chart import Chart

FORMAT = "folkmoot-result-6"
BY_NUMBER = "folkmoot-result-5"  # a former format, whose names are in the order of `selected`
COLUMNS = ("item", "name", "gain", "total")  # of a table, besides attributes
FEW = 10  # clients: a sum over fewer is flagged
UNBOUNDED = ("high", "bound", "bound_high")  # fields of an estimate that are infinite if values were clipped


def describe_broken(value: float, bound: float) -> str:
    """Why there is no bound, where a set is worth more than any set could be."""
    return (
        f"the chosen set is worth {value:.4g}, and no set could be worth more than {bound:.4g} if functions were "
        "monotone and submodular"
    )


@dataclass(frozen=True)
class Estimate:
    """What a federated run knows about its own answer, from the sums it asked for and nothing else."""

    value: float  # of the chosen set, from clients who at most chose between it and the popular base
    low: float
    high: float
    bound: float  # no allowed set is worth more
    bound_high: float
    # That the value lies in low..high, and that the ratio low / bound_high holds: of each by itself. Each of the three
    # limits fails with at most half of 1 − confidence, so all hold together except with 1.5 times that.
    confidence: float
    clients: int  # who answered
    everyone: bool  # all clients answered: low, value and high are the same
    popularity: float | None  # what the most popular items are worth; None: nobody was asked
    random: float | None  # what a random choice is worth
    clipped: float = 0.0  # share of the clients asked whose numbers were clipped at the public range
    # Where the range of values comes from: "public" knowledge, "everyone", all "present", or the "jury" (no bound).
    range_from: str = "everyone"

    @property
    def ratio(self) -> float:
        """The set is worth at least this share of the best possible set, with this confidence."""
        return max(self.low / self.bound_high, 0.0) if self.bound_high > 0 else 1.0


@dataclass(frozen=True)
class Exclusion:
    """Who was left out of a secure sum (a client, or a party that speaks for its clients), and why."""

    number: int
    fault: Fault


@dataclass(frozen=True)
class Round:
    """One round: its purpose, how many clients were asked and answered, bytes per client, and the value it reported."""

    label: str
    asked: int
    answered: int  # 0: the round was lost
    down: int
    up: int
    value: float | None
    voluntary: bool = False  # clients decided whether to answer: silence is not dropout
    purpose: Purpose = Purpose.SEARCH
    seconds: float = 0.0
    measured: bool = False  # whether bytes were measured; if not, they are computed from the protocol's sizes
    made: Making | None = None  # how its sum was made, where that was by real secure aggregation
    excluded: tuple[Exclusion, ...] = ()  # who was left out of its sum for a fault

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> "Round":
        made = document.get("made")
        read = {"purpose": Purpose(document["purpose"]), "made": None if made is None else Making(**made)}
        out = tuple(Exclusion(one["number"], Fault(one["fault"])) for one in document.get("excluded", ()))
        return cls(**{**document, **read, "excluded": out})


@dataclass(frozen=True)
class Spending:
    """What one round cost everyone who was asked."""

    label: str
    mu: float
    honest: int  # the fewest honest shares of noise in its sum; 0: there was none
    lost: bool = False  # whether there was no sum; answers had been sent


@dataclass(frozen=True)
class PrivacyAccount:
    """What a run under differential privacy promised to every client, and what it spent."""

    epsilon: float
    delta: float
    adjacency: str
    mu: float  # the budget that epsilon and delta give: √Σμ² of all rounds is no more
    spendings: tuple[Spending, ...]
    honest: int  # the fewest honest shares of noise in any of its sums
    fresh: bool  # whether every client answered once: then each round may cost the whole budget
    signal: float  # A/k: all answers together, in deviations of noise, per item to be chosen
    contrast: float | None  # how far the best items stood above the noise before picking, in its deviations

    @property
    def spent(self) -> float:
        """μ of what any one client can have answered."""
        mus = [one.mu for one in self.spendings]
        return max(mus, default=0.0) if self.fresh else combine_mus(mus)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> "PrivacyAccount":
        return cls(**{**document, "spendings": tuple(Spending(**one) for one in document["spendings"])})


@dataclass(frozen=True)
class Difference:
    """Two sums that can be subtracted from each other, and by how many clients they differ."""

    clients: int  # in only one of the sums, or counted more often in one
    rounds: tuple[int, int]  # places in `Result.rounds`


@dataclass(frozen=True, eq=False)
class Result:
    """The chosen set and what is known about it. Prints as a short table.

    After a federated run, `value` is F(S) over all clients, computed by the simulator outside the conversation so that
    methods can be compared; None where nobody can know it.
    """

    method: str
    n_items: int
    selected: tuple[int, ...]  # sorted item ids
    value: Any  # F(S); None where nobody can know it
    upper_bound: float  # no allowed set is worth more (federated: with the confidence of the estimate)
    seconds: float
    seed: int
    order: tuple[int, ...] | None = None  # the items by number, from 0; the most useful first
    gains: tuple[float, ...] | None = None  # what each adds to those before it, falling; estimates from sums of a few
    fractional: Array | None = None  # the point that was rounded
    names: tuple[str, ...] | None = None  # in the same order: that of `chosen`
    attributes: Mapping[str, tuple[Any, ...]] | None = None  # what is publicly known of them, in the same order
    estimate: Estimate | None = None  # this and the rest: federated runs only
    guarantee: Guarantee | None = None
    rounds: tuple[Round, ...] | None = None
    smallest_difference: Difference | None = None  # between any two comparable sums; None: no two differ
    why: str | None = None  # what the method decided to do and why, for methods that decide
    privacy: PrivacyAccount | None = None  # under differential privacy: what was promised and spent
    broken: str | None = None  # what shows that functions are not monotone and submodular; then there is no bound

    def __post_init__(self) -> None:
        if self.fractional is not None:
            freeze(self.fractional)

    @property
    def chosen(self) -> tuple[int, ...]:
        """The items, the most useful first; by their numbers, where nothing is known of their order."""
        return self.selected if self.order is None else self.order

    def table(self) -> "polars.DataFrame":
        """One row per chosen item, in the order of `chosen`: its number, name and attributes, what it adds, and what it
        is worth together with those above it. Nothing where that is not known. Of a table,
        `pandas.DataFrame(table.to_dict(as_series=False))` makes a pandas frame.
        """
        import polars

        own = polars.DataFrame(
            {"item": self.chosen, "name": self.names or [None] * len(self.chosen)},
            schema={"item": polars.Int64, "name": polars.String},
        )
        known = {name if name not in COLUMNS else f"{name}_given": of for name, of in (self.attributes or {}).items()}
        gains = self.gains or [None] * len(self.chosen)
        totals = gains if self.gains is None else accumulate(self.gains)
        ends = polars.DataFrame(
            {"gain": gains, "total": [*totals]}, schema={"gain": polars.Float64, "total": polars.Float64}
        )
        frames = [own, *([polars.DataFrame(known, strict=False)] if known else []), ends]
        return polars.concat(frames, how="horizontal")

    @property
    def excluded(self) -> dict[int, Fault]:
        """Who was left out of secure sums for a fault, by number: the last one of each, or one that is certain."""
        found: dict[int, Fault] = {}
        for one in (one for round in self.rounds or () for one in round.excluded):
            if one.number not in found or not found[one.number].is_certain:
                found[one.number] = one.fault
        return found

    @property
    def ratio(self) -> float:
        """value / upper_bound: the set is worth at least this share of the best possible set."""
        if self.estimate is not None or self.value is None:
            return self.estimate.ratio if self.estimate else 0.0
        if self.upper_bound > 0:
            return float(max(self.value / self.upper_bound, 0.0))
        return 1.0 if self.value >= self.upper_bound else 0.0

    def __eq__(self, other: object) -> bool:
        """Whether all but the cost is the same: seconds, bytes and the making of sums are not compared, nor what else
        is known of the items.
        """
        return isinstance(other, Result) and self._without_cost() == other._without_cost()

    def __hash__(self) -> int:
        return hash(self._without_cost())

    def plot(self) -> "Chart":
        """A chart of what each item added: notebooks show it, `.save("a.png")` stores it (needs folkmoot[report])."""
        from folkmoot.report.chart import result_chart

        return result_chart(self)

    def _repr_html_(self) -> str:
        from folkmoot.report.reports import result_html

        return result_html(self)

    def _without_cost(self) -> str:
        nothing: dict[str, Any] = {"down": 0, "up": 0, "seconds": 0.0, "measured": False, "made": None}
        rounds = self.rounds and tuple(replace(one, **nothing) for one in self.rounds)
        return replace(self, seconds=0.0, rounds=rounds, attributes=None).to_json()

    def to_json(self) -> str:
        """Everything, as text that `from_json` reads back to the last bit. An infinite bound is null."""
        document: dict[str, Any] = {"format": FORMAT}
        for name in self.__dataclass_fields__:
            part = getattr(self, name)
            document[name] = asdict(part) if is_dataclass(part) and not isinstance(part, type) else part
        document["rounds"] = [asdict(one) for one in self.rounds] if self.rounds is not None else None
        document["ratio"] = self.ratio
        if self.fractional is not None:
            support = np.flatnonzero(self.fractional)
            document["fractional"] = {"items": support.tolist(), "x": self.fractional[support].tolist()}
        document["upper_bound"] = _or_none(self.upper_bound)
        if self.estimate is not None:
            document["estimate"] |= {name: _or_none(getattr(self.estimate, name)) for name in UNBOUNDED}
        return json.dumps(document, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Result":
        try:
            document = read_json(text)
            if (form := document.pop("format")) not in (FORMAT, BY_NUMBER):
                raise KeyError
            document.pop("ratio")
            for name in ("selected", "order", "gains", "names"):
                if document[name] is not None:
                    document[name] = tuple(document[name])
            if form == BY_NUMBER:
                document["names"] = _sort_names(document["names"], document["selected"], document["order"])
            elif document["attributes"] is not None:
                document["attributes"] = {name: tuple(of) for name, of in document["attributes"].items()}
            if document["fractional"] is not None:
                x = np.zeros(document["n_items"])
                x[document["fractional"]["items"]] = document["fractional"]["x"]
                document["fractional"] = x
            document["upper_bound"] = _or_infinite(document["upper_bound"])
            if document["estimate"] is not None:
                bounds = {name: _or_infinite(document["estimate"][name]) for name in UNBOUNDED}
                document["estimate"] = Estimate(**{**document["estimate"], **bounds})
            if document["guarantee"] is not None:
                document["guarantee"] = Guarantee.from_document(document["guarantee"])
            if document["rounds"] is not None:
                document["rounds"] = tuple(map(Round.from_document, document["rounds"]))
            if document.get("privacy") is not None:
                document["privacy"] = PrivacyAccount.from_document(document["privacy"])
            if (apart := document["smallest_difference"]) is not None:
                document["smallest_difference"] = Difference(apart["clients"], tuple(apart["rounds"]))
            return cls(**document)
        except (ValueError, TypeError, KeyError, AttributeError, IndexError):
            raise InputError(f"is not a result in the format {FORMAT!r}", argument="text") from None

    def __str__(self) -> str:
        from folkmoot.report.reports import result_text

        return result_text(self)


def _sort_names(
    names: tuple[str, ...] | None, selected: tuple[int, ...], order: tuple[int, ...] | None
) -> tuple[str, ...] | None:
    """Names of the selected items, in the order in which these were chosen."""
    if names is None or order is None:
        return names
    name = dict(zip(selected, names, strict=True))
    return tuple(name[item] for item in order)


def _or_none(bound: float) -> float | None:
    """JSON has no infinity."""
    return bound if np.isfinite(bound) else None


def _or_infinite(bound: float | None) -> float:
    return np.inf if bound is None else bound

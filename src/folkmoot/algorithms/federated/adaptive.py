"""Greedy in few rounds: the server drafts a whole sequence, and one question asks for gains along all of it.

Greedy takes many rounds because it asks before every item. Adaptive sequencing (Balkanski, Rubinstein and Singer 2019;
Fahrbach, Mirrokni and Zadimoghaddam 2019) asks once about all prefixes of a random sequence of good items and keeps
what still gains enough. Here the sequence is not random: it is what greedy would take if the server's beliefs were
right.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from folkmoot.algorithms.federated.draft import MOST_NUMBERS, DraftLook, discounts, draft_order
from folkmoot.algorithms.federated.method import Federated, drop_duplicates
from folkmoot.algorithms.federated.polish import score_sets
from folkmoot.algorithms.federated.search import ChosenSet, SearchProblem, layer_bases, order_items
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.streams import Stream
from folkmoot.conversation.talk import Talk
from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.sets import Array, Ids, indicator
from folkmoot.matroids.matroid import Matroid
from folkmoot.questions.along import GainsAlong
from folkmoot.theory.guarantee import Guarantee, Term

DEPTH = 3  # length of a sequence, in ranks: what follows the answer shows what else could have been taken
MOST_MARKS = 192  # prefixes that one question asks about
POPULAR = 7 / 8  # share of the items asked about that are the most popular; the rest gain most next to the sequence
DOUBT = 8  # weight of the prior on every discount, in clients
LAST = 4  # rounds before and after search and polishing, less the last two
DOUBTS = (1.0, 0.2, 5.0)  # factors on this doubt, in the last drafts


@dataclass(frozen=True, repr=False)
class AdaptiveSequencing(Federated):
    """`rounds` looks along drafted sequences, each of which improves the next draft; then the jury scores all drafts.

    A look asks a cohort for the gains of many items at (nearly) every prefix of the sequence. The server learns how
    much each item takes from every other; greedy over these discounts drafts the next sequence. If everyone is asked,
    the drafts approach what greedy takes of the items asked about: every look confirms at least one more item.

    Settings common to all federated methods: see `Federated`; `polish` is 2 here, so that a run has at most
    twelve rounds in total (rounds + polish + 6).
    """

    rounds: int = 4
    cohort: int | None = None
    polish: int = field(default=2, kw_only=True)

    def check(self, matroid: Matroid) -> None:
        super().check(matroid)
        as_count(self.rounds, "rounds")
        if self.cohort is not None:
            as_count(self.cohort, "cohort")

    @property
    def cohort_size(self) -> int | None:
        return self.cohort

    def count_search_rounds(self, matroid: Matroid) -> int:
        return self.rounds + 1

    def count_order_rounds(self, talk: Talk) -> int:
        """As many as are left, but for a last look and the appraisal."""
        return min(super().count_order_rounds(talk), max(self.rounds + self.polish + LAST - talk.rounds, 0))

    def search(self, problem: SearchProblem) -> Run[ChosenSet]:
        matroid, alone = problem.matroid, problem.singletons
        plan = SequencePlan.of(problem)
        looks: list[DraftLook] = []
        doubt = DOUBT / (self.cohort or problem.talk.population.n_clients)
        complete, greedy = problem.ranges.complete and problem.exact, plan.marks[:0]
        for turn in range(self.rounds):
            items = plan.candidates(looks)
            left = discounts(looks, items, alone, doubt)
            order = draft_order(matroid, items, alone, left, plan.length, looks[-1] if looks and complete else None)
            if looks and complete and np.array_equal(order[: matroid.rank], looks[-1].order[: matroid.rank]):
                greedy = order[: matroid.rank]  # nothing is left to learn
                break
            question = plan.question(order, items)
            reply = yield from problem.talk.ask(question, self.cohort, Purpose.SEARCH, f"look {turn + 1}")
            complete = complete and reply.count == problem.talk.population.everyone.weight
            asked = question.marks, question.items, reply.along, question.others, question.wide, reply.aside
            looks.append(DraftLook(order, *asked))
        orders = list(self._last(problem, plan, looks, doubt, looks[-1] if complete else None))
        sets = drop_duplicates(np.array([indicator(matroid.n_items, order) for order in orders]))
        best = sets[0]
        if len(sets) > 1:
            scores = yield from score_sets(problem, sets, "scoring drafts")
            best = sets[int(scores.argmax())]
        order = next(order for order in orders if best[order].all())
        merit = looks[-1].gains_at_wide(matroid.n_items)
        promise = self._promise(problem, looks) if complete else None
        return ChosenSet(best, promise, order, merit, np.array_equal(order, greedy))

    def _last(
        self,
        problem: SearchProblem,
        plan: "SequencePlan",
        looks: list[DraftLook],
        doubt: float,
        known: DraftLook | None,
    ) -> Iterator[Ids]:
        """Bases to choose from: drafts with more and less doubt, all that were asked about, and the popular base."""
        matroid, alone, rank = problem.matroid, problem.singletons, problem.matroid.rank
        items = plan.candidates(looks)
        for times in DOUBTS:
            yield draft_order(matroid, items, alone, discounts(looks, items, alone, times * doubt), rank, known)
        yield from (look.order[:rank] for look in reversed(looks))
        popular = matroid.first_base(plan.by_worth)
        yield plan.by_worth[np.isin(plan.by_worth, popular)]

    def _promise(self, problem: SearchProblem, looks: list[DraftLook]) -> "SequencePromise":
        matroid = problem.matroid
        kept = [shares(matroid, look, problem.singletons, problem.gain_error) for look in looks]
        lost = problem.find_lost(2 + self.polish)
        found = [SequencePromise(matroid.is_cardinality, matroid.rank, one, lost) for one in kept]
        return max(found, key=lambda one: one.factor)


@dataclass(frozen=True, eq=False)
class SequencePlan:
    """How long sequences are, at which prefixes gains are asked for, and for which items."""

    problem: SearchProblem
    by_worth: Ids  # all items by worth; those that may not be chosen come last
    allowed: Ids
    length: int
    marks: Ids

    @classmethod
    def of(cls, problem: SearchProblem) -> "SequencePlan":
        n_items, rank = problem.matroid.n_items, problem.matroid.rank
        allowed = np.arange(n_items) if problem.items is None else np.sort(problem.items)
        worth = np.where(np.isin(np.arange(n_items), allowed), problem.singletons, -1.0)
        length = min(DEPTH * rank, len(allowed))
        marks = np.append(rank, np.linspace(0, length, min(length, MOST_MARKS) + 1).round().astype(np.int64))
        return cls(problem, order_items(worth, problem.talk.coins(Stream.SEQUENCE)), allowed, length, np.unique(marks))

    def candidates(self, looks: list[DraftLook]) -> Ids:
        """As many items as fit in one answer, by worth: the last sequence, popular items, and the other items that
        gained most next to the sequences so far. Before the first look, layers of popular bases.
        """
        most = max(MOST_NUMBERS // len(self.marks), self.length)
        if most >= len(self.allowed):
            chosen = self.allowed
        elif not looks:
            chosen = np.intersect1d(layer_bases(self.problem.matroid, self.by_worth, most), self.allowed)
        else:
            first = np.union1d(looks[-1].order, self.by_worth[: int(POPULAR * most)])
            beside = np.mean([look.gains_at_wide(len(self.by_worth)) for look in looks], axis=0)
            rest = np.setdiff1d(self.allowed, first)
            rest = rest[np.argsort(-beside[rest], kind="stable")]
            chosen = np.concatenate((first, rest[: max(most - len(first), 0)]))
        return self.by_worth[np.isin(self.by_worth, chosen)]

    def question(self, order: Ids, items: Ids) -> GainsAlong:
        ranges = self.problem.ranges
        return GainsAlong(
            order=order,
            marks=self.marks[self.marks <= len(order)],
            items=np.sort(items),
            others=np.setdiff1d(self.allowed, items),
            wide=self.problem.matroid.rank,
            single=ranges.single,
            whole=ranges.whole,
        )


def shares(matroid: Matroid, look: DraftLook, alone: Array, off: float) -> tuple[float, ...]:
    """For each item of the base that was asked about: its gain divided by the largest gain that any item had there.

    Items that were not asked about gain at most what they are worth alone. `off`: how far a mean may be off.
    """
    members, out = np.zeros(matroid.n_items, dtype=bool), []
    for at, item in enumerate(look.order[: matroid.rank]):
        mark = int(np.searchsorted(look.marks, at))
        if look.marks[mark] != at:
            break
        gains = alone.copy()
        gains[look.items] = look.gains[mark]
        largest = float(gains[matroid.find_addable(members)].max())
        out.append(max(float(gains[item]) - off, 0.0) / (largest + off) if largest + off > 0 else 1.0)
        members[item] = True
    return tuple(out)


@dataclass(frozen=True)
class SequencePromise:
    """Greedy that takes, at each step, an item with at least a known share of the largest gain; everyone was asked.

    With shares α_j, F(S) ≥ (1 − Π(1 − α_j/k))·OPT under a cardinality k. Under any matroid, if the shares of a whole
    base are known and α is the smallest, F(S) ≥ α/(1 + α)·OPT. Scoring and polishing never choose a set of less value.
    """

    cardinality: bool
    rank: int
    shares: tuple[float, ...]
    lost: float  # the most that fixed-point rounding may have lost when sets were compared

    @property
    def factor(self) -> float:
        if self.cardinality:
            return float(1 - np.prod([1 - share / self.rank for share in self.shares]))
        least = min(self.shares, default=0.0) if len(self.shares) == self.rank else 0.0
        return least / (1 + least)

    def guarantee(self, largest: float, m_F: float, value: float) -> Guarantee:
        terms = (
            Term("r", self.rank, "rank of the matroid"),
            Term("known", len(self.shares), "items of a sequence whose share of the largest gain is known"),
            Term("least share", min(self.shares, default=0.0), "the least of them"),
            Term("mean share", float(np.mean(self.shares)) if self.shares else 0.0, "their mean"),
            Term("m_F", m_F, "the largest singleton of F"),
            Term("fixed point", self.lost, "additive: what rounding may have lost"),
        )
        promised = self.factor * value - self.lost
        return Guarantee("greedy by known shares", terms, self.factor, self.lost, promised, promised <= 0)

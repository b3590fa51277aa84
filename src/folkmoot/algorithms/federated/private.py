"""Choosing under differential privacy: a funnel that narrows the items, then greedy picks, all from noisy sums.

Every client answers every round with a vector of norm 1, and everyone adds a share of the noise. The funnel asks about
all items, then about the better half, and so on; nothing is picked. Then the signal is known, and decides in how many
rounds items are picked: the more noise, the fewer, each with a larger share of the budget. docs/privacy.md has the
proof and the numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import ceil, log, log2, sqrt
from typing import Any

import numpy as np
import scipy

from folkmoot.algorithms.federated.belief import Belief
from folkmoot.algorithms.federated.purse import Purse
from folkmoot.algorithms.federated.search import order_items
from folkmoot.conversation.outcome import AppraisedSet, Conversation, Outcome
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.result import Estimate
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.streams import Stream
from folkmoot.conversation.talk import Talk
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_number
from folkmoot.foundation.sets import Ids, Mask, indicator
from folkmoot.matroids.matroid import Matroid
from folkmoot.privacy.accounting import Privacy
from folkmoot.questions.hidden import Direction, DirectionReply, Worth, WorthReply
from folkmoot.questions.magnitude import Ranges

APPRAISAL = 0.05  # share of the budget for what the answer is worth
EARLY = 0.8  # share of the rest for the funnel
WIDE, NARROW = 4, 2  # times as many items as are still to be picked: the list of the first pick, and of the last
CLEAR = 4.0  # deviations below the last item of a base, beyond which others are dropped at once
MOST_PICKS = 20  # rounds
PER_PICK = 2.0  # deviations of signal that a picking round is worth


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivateGreedy(Conversation):
    """Greedy from sums in which every single client is hidden: (epsilon, delta) for all the server sees.

    epsilon, delta, adjacency: see `Privacy`. cohort: clients asked in a round. If there are enough for all rounds, each
    client answers once and none of its budget is divided; None: everyone answers every round, which is better where
    it can be had. confidence: of the estimate.
    """

    epsilon: float = 1.0
    delta: float | None = None
    adjacency: str = "zero-out"
    cohort: int | None = None
    confidence: float = 0.95

    @property
    def privacy(self) -> Privacy:
        return Privacy(self.epsilon, self.delta, self.adjacency)

    def parameters(self) -> Mapping[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        given = [(f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default]
        said = [("epsilon", self.epsilon), *(one for one in given if one[0] != "epsilon")]
        return f"PrivateGreedy({', '.join(f'{name}={value!r}' for name, value in said)})"

    @property
    def cohort_size(self) -> int | None:
        return self.cohort

    def check(self, matroid: Matroid) -> None:
        self.privacy.find_mu(2)  # refuses what cannot be
        if self.cohort is not None:
            as_count(self.cohort, "cohort")
        if not 0 < as_number(self.confidence, "confidence") <= 0.9999:
            raise InputError(f"needs a number above 0 and up to 0.9999, got {self.confidence}", argument="confidence")
        matroid.parameters()

    def plan_rounds(self, matroid: Matroid) -> int:
        """The most there can be."""
        return count_funnel(matroid) + min(matroid.rank, MOST_PICKS) + 1

    def run(self, talk: Talk) -> Run[Outcome]:
        most = find_most(talk)
        purse = Purse.open(talk, self.privacy, self.cohort, self.plan_rounds(talk.matroid))
        members, order = yield from self._search(talk, purse, most)
        estimate = yield from self._appraise(talk, purse, members, most)
        ranges = Ranges(most, most, talk.matroid.n_items * most, public=True)
        appraised = AppraisedSet(members, estimate, order, None)
        return Outcome(None, appraised, ranges, None, False, purse.explain(), purse.account())

    def _search(self, talk: Talk, purse: Purse, most: float) -> Run[tuple[Mask, Ids]]:
        matroid, belief = talk.matroid, None
        nothing, items = np.zeros(matroid.n_items, dtype=bool), np.arange(matroid.n_items)
        planned, short = count_funnel(matroid), min(WIDE * matroid.rank, matroid.n_items)
        each, heard = (1 - APPRAISAL) * EARLY / planned, 0
        while True:
            reply = yield from self._ask(talk, purse, each, nothing, items, most, f"narrowing, round {heard + 1}")
            heard += 1
            if belief is None:
                belief = Belief(items, reply.found, np.full(len(items), reply.sd**2))
            else:
                belief = belief.hear(reply.found, reply.sd**2, picked=False)
            if len(items) <= short:
                break
            belief = belief.keep(self._narrow_funnel(talk, belief, short, last=heard >= planned - 1))
            items = belief.items
        return (yield from self._pick(talk, purse, belief, most, 1 - APPRAISAL - heard * each))

    def _narrow_funnel(self, talk: Talk, belief: Belief, short: int, *, last: bool) -> Ids:
        """The better half, or fewer where it is clear which are better."""
        base = self._extend(talk, belief, np.zeros(talk.matroid.n_items, dtype=bool))
        bar = float(belief.gains[base].min()) - CLEAR * belief.sd
        clear = int((belief.gains >= bar).sum())
        size = short if last else max(short, min(ceil(len(belief.items) / 2), clear))
        return self._keep_best(talk, belief, np.zeros(talk.matroid.n_items, dtype=bool), size)

    def _pick(self, talk: Talk, purse: Purse, belief: Belief, most: float, rest: float) -> Run[tuple[Mask, Ids]]:
        matroid = talk.matroid
        members = np.zeros(matroid.n_items, dtype=bool)
        base = self._extend(talk, belief, members)
        purse.signal = float(belief.gains[base].mean()) / belief.sd
        rounds = min(max(round(purse.signal / PER_PICK), 1), len(base), MOST_PICKS)
        order = list[int]()
        for step in range(rounds):
            left = len(base) - len(order)
            width = WIDE * (NARROW / WIDE) ** (step / (rounds - 1) if rounds > 1 else 0.0)
            belief = belief.keep(self._keep_best(talk, belief, members, max(int(left * width), left + 1)))
            label = f"picking, round {step + 1} of {rounds}"
            reply = yield from self._ask(talk, purse, rest / rounds, members, belief.items, most, label)
            belief = belief.hear(reply.found, reply.sd**2, picked=step > 0)
            best = self._extend(talk, belief, members)
            new = best[: len(best) if step == rounds - 1 else ceil(left / (rounds - step))]
            members[belief.items[new]] = True
            order += belief.items[new].tolist()
            belief = belief.keep(np.setdiff1d(np.arange(len(belief.items)), new))
        return members, np.array(order, dtype=np.int64)

    def _ask(
        self, talk: Talk, purse: Purse, share: float, members: Mask, items: Ids, most: float, label: str
    ) -> Run[DirectionReply]:
        fixed = members.copy()

        def question(**hiding: Any) -> Direction:
            return Direction(members=fixed, items=items, most=most, **hiding)

        return (yield from purse.ask(question, share, Purpose.SEARCH, label))

    def _extend(self, talk: Talk, belief: Belief, members: Mask) -> Ids:
        """The best base that contains the members: places of the items to be added, best first."""
        order = order_items(belief.gains, talk.coins(Stream.PICKS))
        return _add_best(talk.matroid, belief.items, order, members)

    def _keep_best(self, talk: Talk, belief: Belief, members: Mask, size: int) -> Ids:
        """The best base that contains the members, then the best of what is left, and so on: places, in their order."""
        order, kept = order_items(belief.gains, talk.coins(Stream.PICKS)), list[int]()
        while len(kept) < size and len(order):
            base = _add_best(talk.matroid, belief.items, order, members)
            if not len(base):
                break
            kept += base[: size - len(kept)].tolist()
            order = order[~np.isin(order, base)]
        return np.sort(np.array(kept, dtype=np.int64))

    def _appraise(self, talk: Talk, purse: Purse, members: Mask, most: float) -> Run[Estimate]:
        """What the answer is worth, and what all items together are: no set is worth more."""

        def question(**hiding: Any) -> Worth:
            return Worth(members=members, whole=most, everything=talk.population.closed_form, **hiding)

        reply: WorthReply = yield from purse.ask(question, APPRAISAL, Purpose.APPRAISAL, "appraisal")
        return make_estimate(talk, reply, self.confidence)


def count_funnel(matroid: Matroid) -> int:
    """The most rounds of a funnel: halving all items until few are left."""
    short = min(WIDE * matroid.rank, matroid.n_items)
    return 1 + ceil(log2(matroid.n_items / short)) if matroid.n_items > short else 1


def find_most(talk: Talk) -> float:
    """What no set is worth more than, to anybody, as everybody knows: nobody can be asked for it."""
    if talk.population.most is None:
        raise InputError(
            "under noise, nobody is asked how large values are, so everybody must know",
            remedy="say what any set is worth at most to a client, such as",
            settings=[("most", 5.0)],
            argument="most",
        )
    return talk.population.most


def _add_best(matroid: Matroid, items: Ids, order: Ids, members: Mask) -> Ids:
    """Places in this order that can be added to the members, one after the other, as long as the matroid allows."""
    first = np.concatenate((np.flatnonzero(members), items[order]))
    rest = np.flatnonzero(~indicator(matroid.n_items, first))  # a matroid wants all items; these come last
    taken = indicator(matroid.n_items, matroid.first_base(np.concatenate((first, rest)))) & ~members
    return order[taken[items[order]]]


def make_estimate(talk: Talk, reply: WorthReply, confidence: float) -> Estimate:
    """The answer's value from a noisy sum, with an interval that covers noise, rounding and who is missing."""
    population, whole = talk.population, reply.question.whole
    heard = reply.count / reply.asked
    weight = population.total / (population.heaviest or 1.0)
    there = weight * heard if talk.cohort.everyone else float(reply.clients)
    sample = population.sample(talk.cohort, reply)
    alpha = 1 - confidence if sample.complete else (1 - confidence) / 2
    deviations = float(scipy.special.ndtri(1 - alpha / 2))
    lost = 1 / reply.question.norm  # rounded towards 0, per client and number
    shares = reply.shares / there
    value, off = float(shares[0]), deviations * reply.sd / there
    total, wide = float(shares.sum()), deviations * reply.sd * sqrt(len(shares)) / there
    low, high, bound = value - off, value + off + lost, total + wide + lost * len(shares)
    if not reply.question.everything:
        total = bound = 1.0
    if not sample.complete and population.missing_by_chance:  # Hoeffding, for draws without repeats
        drawn = sqrt(log(2 / alpha) / (2 * reply.clients) * (1 - (reply.clients - 1) / population.n_clients))
        low, high, bound = low - drawn, high + drawn, bound + drawn
    elif not sample.complete:
        low, high, bound = low * heard, high * heard + 1 - heard, bound * heard + 1 - heard
    value = min(max(value, 0.0), 1.0)
    bound = min(max(bound, value), 1.0)
    return Estimate(
        value=value * whole,
        low=min(max(low, 0.0), value) * whole,
        high=min(max(high, value), 1.0) * whole,
        bound=min(max(total, value), 1.0) * whole,
        bound_high=bound * whole,
        confidence=confidence,
        clients=reply.clients,
        everyone=False,
        popularity=None,
        random=None,
        range_from="public",
    )

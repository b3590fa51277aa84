"""Choosing under differential privacy: a funnel that narrows the items, then greedy picks, all from noisy sums.

Every client answers every round with a vector of norm 1, and everyone adds a share of the noise. The funnel asks about
all items, then about the better half, and so on; nothing is picked. Then the signal is known, and decides in how many
rounds items are picked: the more noise, the fewer, each with a larger share of the budget; and how long the lists are
from which they are picked. docs/privacy.md has the proof and the numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import ceil, log, log2, sqrt
from typing import Any

import numpy as np
import scipy

from folkmoot.algorithms.federated.belief import Belief
from folkmoot.algorithms.federated.census import MOST_PLACES, choose_by_census
from folkmoot.algorithms.federated.course import LOUDEST, MOST_PICKS, PER_WIDTH, WIDE, Course
from folkmoot.algorithms.federated.purse import Purse
from folkmoot.algorithms.federated.search import find_additions, layer_additions, order_items
from folkmoot.conversation.outcome import AppraisedSet, Conversation, Outcome
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.result import Estimate
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.streams import Stream
from folkmoot.conversation.talk import Talk
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_number
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.matroids.matroid import Matroid
from folkmoot.privacy.accounting import Privacy
from folkmoot.questions.hidden import Direction, DirectionReply, Favourite, FavouriteReply, Worth, WorthReply
from folkmoot.questions.magnitude import Ranges

APPRAISAL = 0.05  # share of the budget for what the answer is worth
EARLY = 0.8  # share of the rest for the funnel
SUBSTITUTES = 0.6  # what is left on a list, of what was left out, where the list held substitutes of its best
CLEAR = 4.0  # deviations below the last item of a base, beyond which others are dropped at once


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivateGreedy(Conversation):
    """Greedy from sums in which every single client is hidden: (epsilon, delta) for all the server sees.

    epsilon, delta, adjacency: see `Privacy`. cohort: clients asked in a round. If there are enough for all rounds, each
    client answers once and none of its budget is divided; None: everyone answers every round, which is better where
    it can be had. centred: while the items are narrowed down, clients subtract from their gains the mean over the items
    (for data in which everybody gains from everything; worth it only where the signal is strong). confidence: of the
    estimate. positions, reach: a public map, the latitude and longitude of every item, and the kilometres beyond which
    it is of no use. Then one round counts who lives nearest to which item, and everything else follows from the map.
    """

    adds_noise = True

    epsilon: float = 1.0
    delta: float | None = None
    adjacency: str = "zero-out"
    cohort: int | None = None
    centred: bool = False
    confidence: float = 0.95
    positions: Array | None = field(default=None, compare=False)
    reach: float | None = None

    @property
    def privacy(self) -> Privacy:
        return Privacy(self.epsilon, self.delta, self.adjacency)

    def parameters(self) -> Mapping[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        named = [f for f in fields(self) if f.name not in ("positions", "reach")]
        given = [(f.name, getattr(self, f.name)) for f in named if getattr(self, f.name) != f.default]
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
        if self.positions is not None:
            check_map(self.positions, self.reach, matroid.n_items)

    def plan_rounds(self, matroid: Matroid) -> int:
        """The most there can be."""
        if matroid.allows_all:
            return 1
        if self.positions is not None:
            return 2
        return count_funnel(matroid) + min(matroid.rank, MOST_PICKS) + 1

    def run(self, talk: Talk) -> Run[Outcome]:
        mapped = self.positions is not None
        purse = Purse.open(talk, self.privacy, self.cohort, self.plan_rounds(talk.matroid), mapped=mapped)
        most = find_most(talk)
        if talk.matroid.allows_all:  # nothing to choose, so nothing to spend but what the answer is worth
            members, order = np.ones(talk.matroid.n_items, dtype=bool), np.arange(talk.matroid.n_items)
        elif not mapped:
            members, order = yield from self._search(talk, purse, most)
        else:
            members, order = yield from self._count(talk, purse)
        estimate = yield from self._appraise(talk, purse, members, most)
        ranges = Ranges(most, most, talk.matroid.n_items * most, public=True)
        appraised = AppraisedSet(members, estimate, order, None)
        return Outcome(None, appraised, ranges, None, False, purse.explain(), purse.account())

    def _count(self, talk: Talk, purse: Purse) -> Run[tuple[Mask, Ids]]:
        """A census over a public map: one round with nearly all of the budget. Where noise would drown it, the map."""
        assert self.positions is not None
        assert self.reach is not None
        if purse.is_hopeless:
            return choose_by_census(np.ones(talk.matroid.n_items), 0.0, self.positions, self.reach, talk.matroid)

        def question(**hiding: Any) -> Favourite:
            return Favourite(items=np.arange(talk.matroid.n_items), **hiding)

        reply: FavouriteReply = yield from purse.ask(question, 1 - APPRAISAL, Purpose.SEARCH, "census")
        best = np.sort(reply.counts)[-talk.matroid.rank :]
        purse.contrast = float(best.mean()) / reply.sd
        return choose_by_census(reply.counts, reply.sd, self.positions, self.reach, talk.matroid)

    def _search(self, talk: Talk, purse: Purse, most: float) -> Run[tuple[Mask, Ids]]:
        """The funnel: nothing is picked, and the list becomes shorter, as far as the signal makes that necessary."""
        matroid, belief = talk.matroid, None
        nothing, items = np.zeros(matroid.n_items, dtype=bool), np.arange(matroid.n_items)
        planned, heard = count_funnel(matroid), 0
        each = (1 - APPRAISAL) * EARLY / planned
        while True:
            reply = yield from self._ask(talk, purse, each, nothing, items, most, f"narrowing, round {heard + 1}")
            heard += 1
            variance = reply.sd**2
            belief = (
                Belief.begin(reply.found, variance)
                if belief is None
                else belief.hear(items, reply.found, variance, picked=False)
            )
            base = find_additions(matroid, self._order(talk, belief.gains, belief.inside), nothing)
            purse.contrast = float(belief.gains[base].mean()) / belief.sd
            short = int(min(max(WIDE, purse.contrast / PER_WIDTH) * matroid.rank, matroid.n_items))
            if len(items) <= short or heard >= planned:  # the signal is known better now; the budget is as it was
                break
            bar = float(belief.gains[base].min()) - CLEAR * belief.sd
            clear = int((belief.gains[belief.inside] >= bar).sum())
            size = short if heard >= planned - 1 else max(short, min(ceil(len(items) / 2), clear))
            items = self._keep_best(talk, belief.gains, belief.inside, nothing, size)
        course = Course(len(base), short / matroid.rank, purse.contrast)
        return (yield from self._pick(talk, purse, belief, course, most, 1 - APPRAISAL - heard * each))

    def _pick(
        self, talk: Talk, purse: Purse, belief: Belief, course: Course, most: float, rest: float
    ) -> Run[tuple[Mask, Ids]]:
        """Some items a round. Where the list turns out, after the first, to hold substitutes of what was picked, all
        that was known is worth little, and everything is looked at once more.
        """
        members, order, anew = np.zeros(talk.matroid.n_items, dtype=bool), list[int](), False
        worth = np.zeros(talk.matroid.n_items)  # what each was believed to gain when it was picked
        for step in range(course.rounds):
            left, before, last = course.picks - len(order), belief, step == course.rounds - 1
            items = np.flatnonzero(~members) if anew else self._list_items(talk, belief, members, course, step, left)
            label = f"picking, round {step + 1} of {course.rounds}"
            reply = yield from self._ask(talk, purse, rest / course.rounds, members, items, most, label, course.cap)
            if anew:
                belief, anew = Belief.begin(reply.found, reply.sd**2, items, talk.matroid.n_items), False
            else:
                belief = belief.hear(items, reply.found, reply.sd**2, picked=step > 0)
                course.note(belief.rivalry)
                anew = step == 1 and not last and self._was_wrong(talk, before, belief, members)
            if anew:
                continue
            best = find_additions(talk.matroid, self._order(talk, belief.gains, belief.inside), members)
            new = best[: len(best) if last else ceil(left / (course.rounds - step))]
            members[new] = True
            worth[new] = belief.gains[new]
            order += new.tolist()
            belief = belief.drop(members)
        return members, np.array(sorted(order, key=lambda item: -worth[item]), dtype=np.int64)

    def _was_wrong(self, talk: Talk, before: Belief, now: Belief, members: Mask) -> bool:
        """Whether the list was of things that replace each other: after picks, the best base that is left on it is
        worth far less than the best of what was left out, which may have become worth less as well.
        """

        def add_best(merit: Array, among: Mask) -> float:
            best = find_additions(talk.matroid, self._order(talk, merit, among), members)
            return float(np.maximum(merit[best], 0.0).sum())

        left_out = ~(before.inside | now.inside | members)
        return SUBSTITUTES * add_best(before.least, left_out) > add_best(now.gains, now.inside)

    def _list_items(self, talk: Talk, belief: Belief, members: Mask, course: Course, step: int, left: int) -> Ids:
        """What is asked about next: the best of the list, and, after picks, the best from outside it."""
        size = course.find_size(step, left)
        if not step or not course.explores:
            return self._keep_best(talk, belief.gains, belief.inside, members, size)
        merit = belief.cautious
        items = self._keep_best(talk, merit, ~members, members, size)
        outside = ~belief.inside & ~members
        missing = ceil(course.explored * size) - int(outside[items].sum())
        outside[items] = False
        more = self._keep_best(talk, merit, outside, members, max(missing, 0))
        return np.sort(np.concatenate((items, more)))

    def _ask(
        self,
        talk: Talk,
        purse: Purse,
        share: float,
        members: Mask,
        items: Ids,
        most: float,
        label: str,
        cap: float = LOUDEST,
    ) -> Run[DirectionReply]:
        fixed, centred = members.copy(), self.centred and not members.any()

        def question(**hiding: Any) -> Direction:
            return Direction(members=fixed, items=items, most=most, cap=cap, centred=centred, **hiding)

        return (yield from purse.ask(question, share, Purpose.SEARCH, label))

    def _order(self, talk: Talk, merit: Array, among: Mask) -> Ids:
        """Some of the items, best first."""
        order = order_items(merit, talk.coins(Stream.PICKS))
        return order[among[order]]

    def _keep_best(self, talk: Talk, merit: Array, among: Mask, members: Mask, size: int) -> Ids:
        """The best that can be added to the members, then the best of what is left, and so on: of every group some."""
        return layer_additions(talk.matroid, self._order(talk, merit, among & ~members), members, size)

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


def check_map(positions: Array, reach: float | None, n_items: int) -> None:
    """Refuse a map on which not every item has a place."""
    if positions.shape != (n_items, 2) or not np.isfinite(positions).all():
        raise InputError(f"needs latitude and longitude of all {n_items:,} items", argument="positions")
    if n_items > MOST_PLACES:
        raise InputError(f"has {n_items:,} places; a map may have {MOST_PLACES:,}", argument="positions")
    if reach is None:
        raise InputError("is needed: beyond it a place is of no use", argument="reach")
    as_number(reach, "reach", above=True)


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

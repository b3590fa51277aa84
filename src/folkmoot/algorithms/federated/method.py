"""What every federated method shares: its settings, and the course of its conversation.

Each method searches in its own way for a point x or a set. What follows is the same for all: see `polish` and
`appraisal`. The clients who score candidates are called the jury.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

import folkmoot.theory.rounding as rounding
from folkmoot.algorithms.federated.appraisal import (
    FEW_ITEMS,
    MOST_LOOKS,
    Look,
    appraise,
    ask_look,
    find_point_beside,
    find_point_near,
    find_popular_base,
)
from folkmoot.algorithms.federated.draft import ask_greedy_order
from folkmoot.algorithms.federated.polish import polish, score_sets
from folkmoot.algorithms.federated.search import (
    ChosenSet,
    Point,
    SearchProblem,
    SearchResult,
    ask_each_alone,
    order_items,
    shortlist_items,
)
from folkmoot.algorithms.federated.wide import (
    LOOKS,
    Outsiders,
    bound_answer,
    count_candidates,
    find_candidates,
    find_missed,
    is_wide,
    renumber,
)
from folkmoot.conversation.outcome import Conversation, Outcome
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.streams import Stream
from folkmoot.conversation.talk import Talk
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_number
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.matroids.matroid import Matroid
from folkmoot.questions.gains import Gains, GainsReply, ask_singletons
from folkmoot.questions.magnitude import Magnitude, Ranges
from folkmoot.questions.participation import Participation
from folkmoot.questions.query import spread_over

JURY = 40  # times the cohort: roundings differ by little, so it takes many clients to tell which is better
SURE = 4  # juries say which of very many items are most popular: each of them matters to few clients
HALVES = 2  # they are asked in so many rounds: if one is lost when most clients have been asked, the other is enough
FEW_NUMBERS = 8  # of a setting are written out
NO_ITEMS: Array = np.zeros(0)
ORDERING = 2  # most rounds that find the order of many items
FEW_LIKES = 10  # of a popular item, in a jury: with fewer, chance decides which items look best
FEW = 800  # clients, of whom candidates are asked at least, up to as many juries: fewer miss items that matter to few
FEW_DRAWS = 4  # of pipage, under matroids where one takes seconds


@dataclass(frozen=True, kw_only=True, repr=False)
class Federated(Conversation):
    """A method whose server learns only sums. These settings are common to all such methods.

    shortlist: ask only about this many items, the best by what they are worth alone (None: all items, or where there
    are more than 10,000, the best few thousand, which cheap sums of buckets find).
    roundings: number of pipage draws that are scored besides the top of x. polish: most rounds of best swaps.
    jury: number of clients who score (None: 40 cohorts, or everyone). juries: number of juries, one round each, that
    together say how good the answer is, its value and its bound in one question (None: two questions, to one jury
    each). range_from: whom to ask how large values are, unless the objective knows (`most`); only "everyone" leads to
    bounds, since a few clients who were not asked might hold nearly all value.
    clip: share of clients all of whose values must fit the public range. confidence: of the estimate.
    """

    shortlist: int | None = None
    roundings: int = 31
    polish: int = 4
    jury: int | None = None
    juries: int | None = None
    range_from: Literal["everyone", "jury"] = "everyone"
    clip: float = 1.0
    confidence: float = 0.95

    def parameters(self) -> Mapping[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        """Only what differs from the defaults."""
        given = [(f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default]
        return f"{type(self).__name__}({', '.join(f'{name}={shorten(value)}' for name, value in given)})"

    @abstractmethod
    def search(self, problem: SearchProblem) -> Run[SearchResult]:
        """The method's own part of the conversation."""

    @property
    def cohort_size(self) -> int | None:
        """How many clients each round of the search asks; None: everyone."""
        return None

    def reason(self, _talk: Talk) -> str | None:
        """What the method decided to do and why, for methods that decide."""
        return None

    def jurors(self, _talk: Talk, _ranges: Ranges, _jury: int | None) -> Participation | None:
        """How clients decide by coins who compares sets; None: a jury is drawn."""
        return None

    @property
    def needs_sums(self) -> bool:
        """Whether the search needs the range of Σ_e f_i(e), the sum of a client's singletons."""
        return False

    @property
    def public_singletons(self) -> Array | None:
        """What each item is worth alone, where everybody knows that; None: clients are asked."""
        return None

    def plan_rounds(self, matroid: Matroid) -> int:
        """About how many rounds there will be; polishing may end earlier."""
        last = MOST_LOOKS + 1 if self.juries is None else (self.polish > 0) + self.juries
        last += LOOKS if is_wide(matroid.n_items) else 0
        return 2 + self.count_search_rounds(matroid) + 1 + self.polish + last

    @abstractmethod
    def count_search_rounds(self, matroid: Matroid) -> int:
        """How many rounds the search takes."""

    def count_order_rounds(self, _talk: Talk) -> int:
        """The most rounds that find the order of many items, where everyone is asked."""
        return ORDERING

    def check(self, matroid: Matroid) -> None:
        """Refuse settings that cannot work, before any client is asked."""
        if self.shortlist is not None:
            as_count(self.shortlist, "shortlist")
            if self.shortlist < matroid.rank:
                raise InputError(
                    f"{self.shortlist} items cannot contain a base of {matroid.rank}",
                    remedy=f"give at least {matroid.rank}, preferably ten times that",
                    argument="shortlist",
                )
        as_count(self.roundings, "roundings", least=0)
        as_count(self.polish, "polish", least=0)
        if self.jury is not None:
            as_count(self.jury, "jury")
        if self.juries is not None:
            as_count(self.juries, "juries")
        if self.range_from not in ("everyone", "jury"):
            raise InputError(f'needs "everyone" or "jury", got {self.range_from!r}', argument="range_from")
        if not 0 < as_number(self.clip, "clip") <= 1:
            raise InputError(f"needs a share above 0 and up to 1, got {self.clip}", argument="clip")
        if not 0 < as_number(self.confidence, "confidence") <= 0.9999:
            raise InputError(f"needs a number above 0 and up to 0.9999, got {self.confidence}", argument="confidence")

    def run(self, talk: Talk) -> Run[Outcome]:
        """The whole conversation."""
        jury = self._find_jury()
        ranges = yield from self._ranges(talk, jury)
        wide, most = is_wide(talk.matroid.n_items) and (self.shortlist or 0) < talk.matroid.n_items, NO_ITEMS
        if wide:
            size = self.shortlist or count_candidates(talk.matroid)
            listeners = None if jury is None else max(jury, min(SURE * jury, FEW))
            who = self.jurors(talk, ranges, listeners)
            talk, most = yield from find_candidates(talk, ranges, listeners, who, size)
        problem = yield from self._pose(talk, ranges, jury)
        if self.shortlist is not None and not wide:
            problem = replace(problem, items=shortlist_items(problem, self.shortlist))
        found = yield from self.search(problem)
        x = found.x if isinstance(found, Point) else None
        if isinstance(found, ChosenSet) and found.alone is not None:
            problem = replace(problem, singletons=found.alone)
        candidates = self._round(problem, found) if isinstance(found, Point) else found.candidates
        first = candidates[0]
        if len(candidates) > 1:
            scores = yield from score_sets(problem, candidates, "scoring roundings")
            first = candidates[int(scores.argmax())]
        looks, chosen = list[Look](), first
        if self.juries is None or self.polish:
            looks = [(yield from ask_look(problem, find_point_near(problem, first, x)))]
            if wide:
                problem, found, first, looks = yield from self._look_again(problem, found, first, looks, most)
                talk, x = problem.talk, found.x if isinstance(found, Point) else None
            rivals = [find_popular_base(problem)]
            chosen = yield from polish(problem, first, looks[0].gradient, self.polish, rivals)
        y = find_point_near(problem, chosen, x)
        if self.juries is not None and isinstance(found, ChosenSet):
            y = find_point_beside(problem, chosen, looks[0].gradient if looks else found.merit)
        further = [] if self.juries is not None or (chosen == first).all() else [y]
        if isinstance(found, Point) and found.on_the_way is not None and talk.population.closed_form:
            further.append(found.on_the_way)
        for point in further:
            looks.append((yield from ask_look(problem, point)))
        order, unsure = yield from self._order(problem, found, chosen)
        doubt = self.polish > 0
        worth = yield from appraise(problem, chosen, order, looks, self.confidence, y, doubt=doubt, unsure=unsure)
        covered = self.shortlist is None and not wide
        covered = covered and (ranges.complete or ranges.public) and not worth.estimate.clipped
        if isinstance(found, Point):  # what a theorem says of a point needs exact gradients
            covered = covered and talk.population.closed_form
        else:  # what it says of a set is lost where a few clients preferred another one
            kept = bool((worth.members == found.members).all())
            covered = covered and (kept or talk.population.asks_everyone(jury))
        why = "; ".join(filter(None, (self.reason(talk), self._warn_of_few_likes(problem)))) or None
        if talk.whole is not None:
            place, n = ids_of(talk), talk.whole.matroid.n_items
            x = None if x is None else spread_over(n, place, x)
            worth = worth._replace(members=spread_over(n, place, worth.members), order=place[worth.order])
            about = f"{len(place):,} of {n:,} items were asked about by themselves, the others in buckets"
            why = about if why is None else f"{why}; {about}"
        asked = found.asked if isinstance(found, Point) and covered else ()
        return Outcome(x, worth, ranges, found.promise, covered, why, asked=asked)

    def _find_jury(self) -> int | None:
        """How many clients score sets; None: everyone."""
        return self.jury if self.jury is not None else None if self.cohort_size is None else JURY * self.cohort_size

    def _warn_of_few_likes(self, problem: SearchProblem) -> str | None:
        """None: a jury hears enough of popular items to tell which are better."""
        jury = problem.jury
        if jury is None or problem.talk.population.asks_everyone(jury):
            return None
        likes = problem.count_likes(1 / jury)
        if likes >= FEW_LIKES:
            return None
        few = f"{likes:.0f}" if likes >= 1 else "less than one"
        return f"warning: of {jury:,} jurors about {few} like a popular item, too few to tell items apart: ask more"

    def _pose(
        self, talk: Talk, ranges: Ranges, jury: int | None, known: SearchProblem | None = None
    ) -> Run[SearchProblem]:
        """What the search is given: what each item is worth alone, and who judges. `known`: the same about fewer items,
        which are not asked about twice: one sum over nearly everybody is enough.
        """
        variance, public = 1.0, self.public_singletons
        if public is not None:
            alone, variance = public[ids_of(talk)], talk.population.find_variance(talk.population.n_clients)
        elif known is None:
            reply = yield from self._ask_alone(talk, ranges, jury)
            complete = talk.sample(reply).complete
            alone, variance = reply.mean, 0.0 if complete else talk.population.find_variance(max(reply.clients, 1))
        else:
            variance, asked = max(known.variance, talk.population.find_variance(jury or 1)), ids_of(known.talk)
            alone = spread_over(talk.matroid.n_items, np.searchsorted(ids_of(talk), asked), known.singletons)
            new = np.flatnonzero(~np.isin(ids_of(talk), asked))
            if len(new):
                alone = alone + (yield from self._ask_alone(talk, ranges, jury, new)).mean
        jurors = self.jurors(talk, ranges, jury)
        return SearchProblem(talk, ranges, jury, alone, juries=self.juries, jurors=jurors, variance=variance)

    def _ask_alone(self, talk: Talk, ranges: Ranges, jury: int | None, items: Ids | None = None) -> Run[GainsReply]:
        """What each item is worth alone (`items`: of these only); of very many items, according to several juries.
        There it decides only where the search begins and what is popular: no interval, bound or promise follows from
        it, whoever is missing.
        """
        if jury is None or talk.whole is None:
            return (yield from ask_each_alone(talk, ranges, jury, items))
        who = self.jurors(talk, ranges, SURE * jury)
        if who is not None:
            return (yield from ask_alone_by_coins(talk, ranges, who, items))
        question = ask_singletons(talk.population.n_items, ranges.single)
        question = question if items is None else replace(question, items=items)
        return (
            yield from talk.ask_juries(
                lambda _: question,
                SURE // HALVES * jury,
                HALVES,
                Purpose.SINGLETONS,
                "each item alone",
                some_suffice=True,
            )
        )

    def _look_again(
        self, problem: SearchProblem, found: SearchResult, first: Mask, looks: list[Look], most: Array
    ) -> Run[tuple[SearchProblem, SearchResult, Mask, list[Look]]]:
        """The same about more items, where some that were left out may be better than chosen ones, or more popular.
        most: what each of all items is worth alone at most.
        """
        beside, alone, look = looks[0].beyond, most.copy(), looks[0]
        assert beside is not None
        alone[ids_of(problem.talk)] = 0.0
        outsiders, who = Outsiders(alone, beside), self.jurors(problem.talk, problem.ranges, problem.jury)
        more = yield from find_missed(problem, first, look.gradient, look.value, outsiders, who)
        if more is None:
            return problem, found, first, looks
        place, n = np.searchsorted(ids_of(more), ids_of(problem.talk)), more.matroid.n_items
        problem = yield from self._pose(more, problem.ranges, problem.jury, problem)
        found, first = renumber(found, place, n), spread_over(n, place, first)
        x = found.x if isinstance(found, Point) else None
        look = yield from ask_look(problem, find_point_near(problem, first, x))
        return problem, found, first, [look]

    def _ranges(self, talk: Talk, jury: int | None) -> Run[Ranges]:
        """How large values are: from public knowledge, or from the clients."""
        most = talk.population.most
        if most is not None and not self.needs_sums:
            return Ranges(most, most, talk.matroid.n_items * most, public=True)
        size = jury if self.range_from == "jury" else None
        reply = yield from talk.ask(Magnitude(), size, Purpose.RANGE, "range of values")
        found = reply.find_ranges(clip=self.clip)
        surveyed = talk.cohort.everyone
        if most is not None:
            return replace(found, single=most, whole=most, clipped=0.0, public=True)
        return replace(found, surveyed=surveyed, complete=surveyed and talk.sample(reply).complete)

    def _order(self, problem: SearchProblem, found: SearchResult, chosen: Mask) -> Run[tuple[Ids, bool]]:
        """All items, the most useful first as far as is known, and whether the appraisal can say more. The chosen ones
        come in the order taken, those that came in later by what they are worth alone, as are the others.
        """
        popular = order_items(problem.singletons, problem.talk.coins(Stream.ITEM_ORDER))
        taken, greedy = (found.order, found.greedy) if isinstance(found, ChosenSet) else (popular[:0], False)
        order, late = taken[chosen[taken]].tolist(), popular[chosen[popular] & ~np.isin(popular, taken)].tolist()
        for item in late:
            before = (at for at, one in enumerate(order) if problem.singletons[one] < problem.singletons[item])
            order.insert(next(before, len(order)), item)
        own, unsure = np.array(order, dtype=np.int64), bool(late) or not greedy
        unsure = unsure and problem.talk.population.asks_everyone(problem.jury)
        if unsure and len(own) > FEW_ITEMS:
            own = yield from ask_greedy_order(problem, own, self.count_order_rounds(problem.talk))
        return np.concatenate((own, popular[~chosen[popular]])), unsure

    def _round(self, problem: SearchProblem, found: Point) -> Mask:
        """The top of x, and draws of pipage rounding."""
        fill = np.empty(len(found.x))  # items that looked better come first; ties are broken by coins
        fill[order_items(found.merit, problem.talk.coins(Stream.FILLING))] = np.arange(len(fill), 0, -1)
        sets = [rounding.top_of_base(problem.matroid, found.x, fill=fill)[None, :]]
        draws = self.roundings if problem.matroid.blocks is not None else min(self.roundings, FEW_DRAWS)
        if draws:
            key = problem.talk.coins(Stream.ROUNDING).key >> 1
            sets.append(rounding.pipage(problem.matroid, found.x, draws=draws, seed=key, fill=fill))
        return drop_duplicates(np.vstack(sets))


def shorten(value: Any) -> str:
    """A setting as text; of many numbers, how many there are."""
    many = isinstance(value, tuple) and len(value) > FEW_NUMBERS
    return f"({value[0]!r}, … {len(value):,} numbers)" if many else repr(value)


def ask_alone_by_coins(talk: Talk, ranges: Ranges, who: Participation, items: Ids | None = None) -> Run[GainsReply]:
    """What each item is worth alone, where clients decide by coins who answers; `items`: of these only."""
    question = replace(ask_singletons(talk.population.n_items, bound_answer(talk, ranges, who)), who=who)
    question = question if items is None else replace(question, items=items)

    def draw_anew(coins: PublicCoins) -> Gains:
        return replace(question, draw=coins.key)

    return (yield from talk.ask(draw_anew, None, Purpose.SINGLETONS, "each item alone"))


def ids_of(talk: Talk) -> Ids:
    """The numbers that the items of a conversation have among all."""
    return np.arange(talk.matroid.n_items) if talk.items is None else talk.items


def drop_duplicates(sets: Mask) -> Mask:
    """Each set once, in the order of first occurrence."""
    occurring = sets[:, sets.any(axis=0)]  # few of all items, where there are many
    _, first = np.unique(occurring, axis=0, return_index=True)
    return sets[np.sort(first)]

"""The default: greedy by running means, or continuous greedy if rounds are few; it says which it chose, and why."""

from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from folkmoot.algorithms.federated.belief import KnownGains
from folkmoot.algorithms.federated.fedcg import FedCG
from folkmoot.algorithms.federated.method import FEW_LIKES, Federated
from folkmoot.algorithms.federated.search import ChosenSet, SearchProblem, SearchResult, order_items
from folkmoot.conversation.population import Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.streams import Stream
from folkmoot.conversation.talk import Talk
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.matroids.matroid import Matroid
from folkmoot.questions.drift import Drift, DriftReply
from folkmoot.questions.magnitude import Ranges
from folkmoot.questions.participation import Participation
from folkmoot.theory.guarantee import Discrete

ANSWERS = 6_000  # wanted in the whole search, if cohorts are small: fewer cannot tell items apart
MOST_VISITS = 3  # most rounds per item, to get that many answers
MOST_PICKS = 2  # most items per round; with more, near-duplicates would be chosen together
KNOWN = 4  # the first item is not asked about if the jury was at least this many times larger
WALK = 10  # rounds of continuous greedy beside greedy, where that may lock itself out
ENOUGH_LIKES = 50  # that are then waited for, if rounds allow, before the first item is taken
UNEVEN = 2.0  # from this mean square over squared mean of scales on, clients answer by coins of scale


@dataclass(frozen=True)
class Plan:
    """What `Auto` does for a problem, decided before anyone is asked."""

    way: str  # "greedy" or "continuous"
    rounds: int  # of the search
    visits: tuple[int, ...]  # rounds before each choice of items
    picks: tuple[int, ...]  # items taken at each choice
    why: str


@dataclass(frozen=True, repr=False)
class Auto(Federated):
    """Choose the search by rank, population, cohort and rounds; `plan` says beforehand which, and why.

    Usually, items are taken one at a time, each by the largest gain in a running mean over all rounds so far: a client
    answers what items add now, minus a share of what they added before the last item was chosen (`Drift`). There is one
    round per item, or more if cohorts are so small that this would give fewer than a few thousand answers; `rounds`
    sets another number. If that is less than half the rank, the search is continuous greedy (`FedCG`).

    by_scale: whether, in search and polishing (and where candidates are found among very many items), clients decide by
    coins whether to answer, with chances proportional to what their best item is worth to them (with a floor), so that
    a few heavy clients are not missed. Then all clients must be reachable, and who answers hints at scale. None: only
    if the range question shows that scales differ much.

    Settings common to all federated methods: see `Federated`.
    """

    cohort: int | None = None
    rounds: int | None = None
    by_scale: bool | None = None
    polish: int = field(default=12, kw_only=True)

    def check(self, matroid: Matroid) -> None:
        super().check(matroid)
        for name in ("cohort", "rounds"):
            if getattr(self, name) is not None:
                as_count(getattr(self, name), name)

    @property
    def cohort_size(self) -> int | None:
        return self.cohort

    def count_search_rounds(self, matroid: Matroid) -> int:
        return self._plan(matroid.rank, None).rounds + (WALK if self.cohort is None and self._walks(matroid) else 0)

    def plan(self, population: Population, matroid: Matroid) -> Plan:
        """What will be done, with the reason in one sentence."""
        plan = self._plan(matroid.rank, population)
        if plan.way == "greedy" and self._walks_too(population, matroid):
            also = f"beside sets from {WALK} rounds of continuous greedy, because some sets of {matroid.rank} items are"
            return replace(plan, why=f"{plan.why}; {also} not allowed")
        return plan

    def _walks_too(self, population: Population, matroid: Matroid) -> bool:
        """Whether sets from a walk are scored beside that of greedy: where everyone answers, and groups or the like
        let an item that is good now block a better one, which greedy cannot take back.
        """
        heard = population.asks_everyone(self.cohort) and population.asks_everyone(self._find_jury())
        return heard and self._walks(matroid)

    def _walks(self, matroid: Matroid) -> bool:
        return self.rounds is None and self.roundings > 0 and matroid.may_block

    def _plan(self, rank: int, population: Population | None) -> Plan:
        cohort = self.cohort
        everyone = cohort is None or (population is not None and population.asks_everyone(cohort))
        wanted = rank if everyone else min(max(rank, -(-ANSWERS // (cohort or 1))), MOST_VISITS * rank)
        rounds = wanted if self.rounds is None else min(self.rounds, wanted)
        who = "everyone" if everyone else f"{cohort:,} clients per round"
        if rounds * MOST_PICKS < rank:
            why = f"continuous greedy, because {self.rounds} rounds are too few to take {rank} items one at a time"
            return Plan("continuous", self.rounds or 1, (), (), why)
        if rounds < rank:
            picks = tuple(MOST_PICKS if at < rank - rounds else 1 for at in range(rounds))
            why = f"greedy by running means, {who}, two items in some rounds because {rank} items must be taken in "
            why += f"{rounds} rounds"
            return Plan("greedy", rounds, (1,) * rounds, picks, why)
        visits = tuple(rounds // rank + (at < rounds % rank) for at in range(rank))
        many = "1 item" if rank == 1 else f"{rank} items"
        why = f"greedy by running means, {who}, one item at a time: {many}"
        if everyone:
            why = f"greedy, because everyone is asked: {many}" + (", one at a time" if rank > 1 else "")
        elif rounds > rank:
            why += f" in {rounds} rounds, because {cohort:,} answers are too few to tell similar items apart"
        return Plan("greedy", rounds, visits, (1,) * rank, why)

    def reason(self, talk: Talk) -> str:
        return self.plan(talk.population, talk.matroid).why

    def jurors(self, talk: Talk, ranges: Ranges, jury: int | None) -> Participation | None:
        return None if talk.population.asks_everyone(jury) else self._coins(talk.population, ranges, jury)

    def _coins(self, population: Population, ranges: Ranges, answers: int | None) -> Participation | None:
        """How clients decide by coins who answers; None: cohorts are drawn."""
        wanted = ranges.uneven >= UNEVEN if self.by_scale is None else self.by_scale
        if not wanted or answers is None or population.asks_everyone(answers) or not ranges.mean_single > 0:
            return None
        return Participation.by_scale(answers, population.everyone.weight, ranges.mean_single)

    def search(self, problem: SearchProblem) -> Run[SearchResult]:
        plan = self.plan(problem.talk.population, problem.matroid)
        if plan.way == "continuous":
            found: SearchResult = yield from FedCG(rounds=plan.rounds, cohort=self.cohort).search(problem)
            return found
        return (yield from self._greedy(problem, plan))

    def _greedy(self, problem: SearchProblem, plan: Plan) -> Run[ChosenSet]:
        matroid, talk = problem.matroid, problem.talk
        everyone = talk.population.asks_everyone(self.cohort)
        cohort, who = None if everyone else self.cohort, self._coins(talk.population, problem.ranges, self.cohort)
        mean = RunningMean(problem, cohort, who)
        members = np.zeros(matroid.n_items, dtype=bool)
        taken: list[int] = []
        visits_left = plan.visits if everyone or who is not None else gather_visits(plan.visits, problem, cohort)
        for visits, picks in zip(visits_left, plan.picks, strict=True):
            addable = matroid.find_addable(members)
            if problem.items is not None:
                addable &= np.isin(np.arange(matroid.n_items), problem.items)
            if not addable.any():
                break
            enough = problem.jury is None or problem.jury >= KNOWN * visits * (self.cohort or 1)
            known = not taken and who is None and (talk.population.asks_everyone(problem.jury) if everyone else enough)
            if not known:  # `known`: the jury has already said what items are worth alone
                yield from mean.hear(members, visits, f"item {len(taken) + 1}")
            order = order_items(mean.gains, talk.coins(Stream.PICKS, talk.rounds), problem.singletons)
            left = picks
            for item in order[addable[order]]:
                if left and matroid.find_addable(members)[item]:
                    members = members.copy()
                    members[item] = True
                    taken.append(int(item))
                    left -= 1
        exact = everyone and set(plan.picks) == {1}
        promise = Discrete(
            matroid.rank,
            matroid.n_items,
            None if exact else 0.0,
            0.1,
            matroid.is_cardinality,
            applies=False,
            lost=2 * matroid.rank * problem.gain_error + problem.find_lost(2 + self.polish),
        )
        alone, others = None if everyone else mean.known.alone, None
        if self._walks_too(talk.population, matroid):
            others = self._round(problem, (yield from FedCG(rounds=WALK, cohort=self.cohort).search(problem)))
        return ChosenSet(members, promise, np.array(taken, dtype=np.int64), mean.gains, exact, alone, others)


def gather_visits(visits: tuple[int, ...], problem: SearchProblem, cohort: int | None) -> tuple[int, ...]:
    """The same number of rounds; but if the jury heard so few likes of the most popular items that chance would decide
    which are taken first, those beyond one per item come first, as many as it takes to hear enough.
    """
    spare, likes = sum(visits) - len(visits), problem.count_likes(problem.variance)
    if not spare or likes >= FEW_LIKES:
        return visits
    missing = (ENOUGH_LIKES / max(likes, 1e-9) - 1) / problem.variance
    early = min(ceil(missing / (cohort or 1)), spare)
    late, more = divmod(spare - early, len(visits))
    return tuple(1 + late + (at < more) + (early if at == 0 else 0) for at in range(len(visits)))


class RunningMean:
    """What the server knows of what each item adds to the present set, from all rounds so far (see `KnownGains`).

    Where everyone is asked, that is what everyone says about the present set.
    """

    def __init__(self, problem: SearchProblem, cohort: int | None, who: Participation | None) -> None:
        """It starts with the singleton sums. Where clients decide by coins of scale, one of their answers is worth as
        much as several of a jury that was drawn, in which few heavy clients decide.
        """
        self.problem, self.cohort, self.who = problem, cohort, who
        drawn = who is not None and problem.talk.whole is None
        variance = problem.variance * problem.ranges.uneven if drawn else problem.variance
        self.known, self.before = (
            KnownGains.begin(problem.singletons, variance),
            np.zeros(problem.matroid.n_items, bool),
        )
        ranges, everyone = problem.ranges, problem.talk.population.everyone
        self.most, self.whole, self.standing = ranges.single, ranges.whole, 1.0
        if who is not None:
            heaviest = 1 if everyone.times is None else int(everyone.times.max())
            self.most, self.whole, self.standing = (who.bound(heaviest, one) for one in (self.most, self.whole, 1.0))

    @property
    def gains(self) -> Array:
        return self.known.gains

    def hear(self, members: Mask, visits: int, label: str) -> Run[None]:
        """Ask about this set, and the one before, in `visits` rounds, whose answers are pooled."""
        talk, size, who = self.problem.talk, self.cohort, self.who
        items: Ids = np.arange(len(members)) if self.problem.items is None else self.problem.items
        before = None if size is None or (members == self.before).all() else self.before

        def question(coins: PublicCoins) -> Drift:
            return Drift(
                members=members,
                before=before,
                items=items,
                most=self.most,
                whole=self.whole,
                standing=self.standing,
                draw=coins.key,
                who=who,
            )

        heard: DriftReply | None = None
        for _ in range(visits):
            reply = yield from talk.ask(question, size if who is None else None, Purpose.SEARCH, label)
            heard = reply if heard is None else heard + reply
        if heard is None or not heard.clients:  # coins may have decided that nobody answers
            return
        if size is None:
            self.known = replace(self.known, gains=heard.now)
            return
        self.known = self.known.hear(heard.earlier, talk.population.find_variance(size) / visits)
        if before is not None:
            self.known = self.known.grow(heard.earlier, heard.now, members, visits * size, self.problem.like)
        self.before = members

"""The paper's algorithms as printed, and the federated methods beside them.

Where both toss coins, those of a federated run are played back, and the rest must agree to the last bit; or two means
are compared, with the probability that such a test fails by chance (Hoeffding, and a union over all that is compared).
"""

from collections.abc import Callable
from functools import partial
from itertools import combinations, product
from math import log, sqrt
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot import paper
from folkmoot.conversation.engine import Control
from folkmoot.conversation.population import Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask, Sum, find_coins, read_reply
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.private_coins import SIMULATED
from folkmoot.foundation.sets import Array, Ids, indicator
from folkmoot.questions.gains import Gains, find_importance
from folkmoot.questions.local import LocalWalk, WholeWalk
from folkmoot.theory.guarantee import Continuous, Guarantee, Sizes, epsilon_in_theory, kappa_in_theory
from tests.conversation.around import Around

PLAIN: dict[str, Any] = {"roundings": 0, "polish": 0}
FAILS = 1e-9  # the probability that a test fails by chance


def stars(seed: int, clients: int = 16, items: int = 6, share: float = 0.5, **options: Any) -> fm.FacilityLocation:
    """Clients who gain from some of the items, some of them from fewer than r; no two values are equal."""
    rng = np.random.default_rng(seed)
    values = rng.random((clients, items)) * (rng.random((clients, items)) < share)
    values[:, 0] += 0.01
    return fm.FacilityLocation(values, **options)


class Listener(Around):
    """Keeps what the search asks."""

    def __init__(self, objective: fm.Objective) -> None:
        super().__init__(fm.Simulation(objective))
        self.asked: list[Ask] = []

    def add_up(self, ask: Ask, control: Control) -> Sum:
        if ask.purpose == Purpose.SEARCH:
            self.asked.append(ask)
        return super().add_up(ask, control)


def listen(objective: fm.Objective, matroid: fm.Matroid, method: Any, seed: int = 0) -> tuple[fm.Result, list[Ask]]:
    engine = Listener(objective)
    result = fm.solve(None, matroid, method, engine=engine, seed=seed)
    return result, engine.asked


class Playback:
    """A generator that draws what was drawn in a federated run."""

    def __init__(self, cohorts: list[Ids] | None = None, coins: list[float] | None = None) -> None:
        self.cohorts, self.coins = iter(cohorts or ()), iter(coins or ())

    def choice(self, *_: Any, **__: Any) -> Ids:
        return next(self.cohorts)

    def random(self) -> float:
        return next(self.coins)


def list_drawn(ask: Ask) -> Ids:
    """A cohort as the paper's multiset."""
    ids, times = ask.cohort.list_members()
    return np.repeat(ids, times)


# Algorithm 1 and full participation.


def extend(values: Callable[[Array], float], x: Array) -> float:
    """f̂(x) set by set."""
    sets = np.array(list(product([False, True], repeat=len(x))))
    return float(sum(np.where(s, x, 1 - x).prod() * values(s) for s in sets))


def test_full_participation_by_definition() -> None:
    """Gradients from all subsets, and bases from all bases."""
    F, M, T = stars(1, clients=4, share=0.9), fm.Partition([0, 0, 0, 1, 1, 1], 1), 2
    bases = [indicator(6, list(pair)).astype(float) for pair in combinations(range(6), 2) if M.independent(list(pair))]
    for full, alone in ((paper.full_participation, True), (paper.full_participation_by_gradients, False)):
        x = np.zeros(6)
        for _ in range(T):
            slopes = np.zeros((4, 6))
            for i, e in product(range(4), range(6)):
                ends = (np.where(np.arange(6) == e, end, x) for end in (1.0, 0.0))
                more, less = (extend(lambda s, i=i: float(F[i].values(s)[0]), end) for end in ends)  # type: ignore[misc]
                slopes[i, e] = more - less
            asked = slopes if alone else slopes.mean(axis=0, keepdims=True)
            x += np.mean([max(bases, key=lambda v, g=g: float(v @ g)) for g in asked], axis=0) / T  # type: ignore[misc]
        np.testing.assert_allclose(full(F, M, T, 1 / T), x, rtol=1e-12)


@pytest.mark.parametrize("matroid", [fm.Uniform(6, 2), fm.Partition([0, 0, 0, 1, 1, 1], 1)], ids=repr)
def test_fedcg_where_everyone_is_asked_is_full_participation(matroid: fm.Matroid) -> None:
    """To the last bit: 16 clients and 4 rounds are powers of two."""
    F = stars(2, share=1.0)
    result = fm.solve(F, matroid, fm.FedCG(4, answer="base", whole_bases=True, **PLAIN))
    assert result.fractional is not None
    assert (result.fractional == paper.full_participation(F, matroid, 4, 0.25)).all()
    by_gradients = fm.solve(F, matroid, fm.FedCG(4, answer="gradient", memory=0.0, **PLAIN))
    assert (np.asarray(by_gradients.fractional) == paper.full_participation_by_gradients(F, matroid, 4, 0.25)).all()


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 17.0)], ids=["alike", "weighted"])
def test_fedcg_is_algorithm_1(weights: Array | None) -> None:
    F, M, K, T = stars(3, share=1.0, weights=weights), fm.Uniform(6, 3), 8, 4
    for seed in range(3):
        result, asked = listen(F, M, fm.FedCG(T, K, answer="base", whole_bases=True, **PLAIN), seed)
        rng: Any = Playback(cohorts=[list_drawn(ask) for ask in asked])
        assert (np.asarray(result.fractional) == paper.fedcg(F, M, T, 1 / T, K, rng)).all()


def test_whole_bases_always_add_up_to_the_rank() -> None:
    """Clients who gain from fewer than r items fill their bases up, as printed; by default they leave the rest out."""
    F, T = stars(4, share=0.2, keep_empty=True), 4
    few, whole = (
        fm.solve(F, 3, fm.FedCG(T, answer="base", whole_bases=filled, **PLAIN)).fractional for filled in (False, True)
    )
    assert few is not None
    assert whole is not None
    assert few.sum() < 2.5
    assert whole.sum() == paper.full_participation(F, fm.Uniform(6, 3), T, 1 / T).sum() == 3
    first = [
        fm.solve(F, 3, fm.FedCG(1, answer="base", whole_bases=filled, **PLAIN)).fractional for filled in (False, True)
    ]
    assert (np.asarray(first[1]) >= np.asarray(first[0])).all(), "what is named is named in both"


def test_cohorts_are_those_of_the_client_sampling_scheme() -> None:
    """Where weights differ: independent draws from p. 20,000 draws on each side are within .026 of p."""
    F, K, rounds = stars(5, clients=50, weights=[*range(1, 50), 500]), 20, 1000
    population, rng = Population.of(F), np.random.default_rng(0)
    ours, printed = np.zeros(50), np.zeros(50)
    for number in range(rounds):
        ids, times = population.draw(K, PublicCoins.of(0, number)).list_members()
        assert times.sum() == K
        np.add.at(ours, ids, times)
        np.add.at(printed, paper.sample_clients(F, K, rng), 1)
    off = sqrt(log(2 * 2 * 50 / FAILS) / (2 * K * rounds))
    assert np.abs(ours / (K * rounds) - F.weights).max() <= off
    assert np.abs(printed / (K * rounds) - F.weights).max() <= off


# Algorithm 2.


def test_fedcg_plus_is_algorithm_2() -> None:
    """Of sums, every estimate is exact, so both take the same steps: rounds, cohorts, step sizes."""
    values = np.random.default_rng(6).random((16, 6))
    F, M, T, tau, K = modular(values), fm.Uniform(6, 3), 8, 2, 4
    result, asked = listen(F, M, fm.FedCGPlus(T, tau, K, samples=3, whole_bases=True, **PLAIN))
    assert len(asked) == T // tau
    rng: Any = PlaybackOfClients([list_drawn(ask) for ask in asked])
    x = paper.fedcg_plus(F, M, T, tau, tau / T, 2.0, 0.5, K, rng)
    np.testing.assert_allclose(np.asarray(result.fractional), x, rtol=1e-12)


class PlaybackOfClients(Playback):
    """Clients are those of the run; sets are drawn."""

    def random(self, size: Any = None) -> Any:
        return np.random.default_rng(0).random(size)


def modular(values: Array) -> fm.Functions:
    """f_i(S) = Σ_{e∈S} values_ie."""
    return fm.Functions([partial(add_values, row) for row in values], values.shape[1])


def add_values(row: Array, chosen: frozenset[int]) -> float:
    return float(sum(row[e] for e in chosen))


def test_walks_of_sampled_gradients_are_distributed_as_in_algorithm_2() -> None:
    """One client, many times over: each copy samples a set of its own. One set is little, so walks differ a lot."""
    copies, draws, T = 4000, 500, 4
    one, M = fm.FacilityLocation(np.random.default_rng(2).random((3, 5)), owners=[0, 0, 0]), fm.Uniform(5, 2)
    crowd = one[np.zeros(copies, dtype=np.int64)]
    result = fm.solve(crowd, M, fm.FedCGPlus(T, T, samples=1, whole_bases=True, **PLAIN))
    sigma = sqrt(4 * log(T * draws / 0.5) / 0.5)  # for which the printed m is 1
    x = paper.fedcg_plus(one, M, T, T, 1.0, sigma, 0.5, draws, np.random.default_rng(1))
    off = sqrt(log(2 * 2 * 5 / FAILS) / 2) * (copies**-0.5 + draws**-0.5)
    assert np.abs(np.asarray(result.fractional) - x).max() <= off
    assert ((x > 0.05) & (x < 0.95)).sum() == 4, "chance decides"


def test_sigma_and_delta_say_how_many_sets() -> None:
    F, method = stars(7, clients=40), fm.FedCGPlus(6, 3, 10, sigma=0.25, delta=0.1, measure=True, **PLAIN)
    result, asked = listen(F, fm.Uniform(6, 2), method)
    m = fm.samples_needed(0.25, 0.1 / 2 / (6 * 10), 6)
    assert method.count_samples(6, 40) == m
    assert {ask.query.parameters()["samples"] for ask in asked} == {m}
    assert result.guarantee is not None
    found = {term.symbol: term for term in result.guarantee.terms}
    assert found["delta"].value == 0.1
    assert found["sigma"].value == pytest.approx(0.25 * found["gamma_t"].value, rel=0.01)
    assert found["sigma"].measured is not None
    assert 0 < found["sigma"].measured <= found["sigma"].value


# Algorithm 3 to 5.


def listen_to_coins(F: fm.Objective, M: fm.Matroid, method: fm.DiscreteGreedy, seed: int) -> tuple[Any, Any, Ask]:
    """A run, and a generator that has the coins of its clients: it says whether each answered."""
    result, asked = listen(F, M, method, seed)
    coins: list[float] = []
    for ask in asked:
        everyone, query = np.arange(F.n_clients), ask.query
        assert isinstance(query, Gains)
        own = find_coins(SIMULATED, query)
        took_part = query.takes_part(F, everyone, np.ones(F.n_clients, dtype=np.int64), own)
        coins += [1.0] * F.n_clients if took_part is None else np.where(took_part, -1.0, 1.0).tolist()
    return result, Playback(coins=coins), asked[0]


@pytest.mark.parametrize("sample", ["fresh", "fixed"])
@pytest.mark.parametrize("matroid", [fm.Uniform(6, 3), fm.Partition([0, 0, 0, 1, 1, 1], 1)], ids=repr)
def test_discrete_greedy_with_kappa_is_algorithm_3(matroid: fm.Matroid, sample: Any) -> None:
    F, kappa = stars(8, clients=60), 3.0
    w = paper.importance_for_facilities(F)
    answered = set()
    for seed in range(10):
        method = fm.DiscreteGreedy(kappa=kappa, sample=sample, **PLAIN)
        result, rng, ask = listen_to_coins(F, matroid, method, seed)
        assert isinstance(ask.query, Gains)
        assert ask.query.who is not None
        chances = ask.query.who.chances(F, np.ones(60, dtype=np.int64))
        np.testing.assert_allclose(chances, np.minimum(kappa * w, 1.0), rtol=1e-4)  # O is a sum in fixed point
        S = paper.discrete_greedy(F, matroid, w, kappa, rng)
        assert result.selected == tuple(sorted(S))
        answered.add(result.selected)
    assert len(answered) > 1, "coins matter"


def test_where_everyone_answers_algorithm_3_is_greedy() -> None:
    for seed in range(5):
        F = stars(seed, clients=40)
        S = paper.discrete_greedy(F, fm.Uniform(6, 3), np.ones(40), 1.0, np.random.default_rng(0))
        greedy = fm.solve(F, 3).order
        assert tuple(S) == greedy
        assert fm.solve(F, 3, fm.DiscreteGreedy(kappa=1e6, **PLAIN)).selected == tuple(sorted(S))


def test_importance_factors_are_those_of_algorithms_4_and_5() -> None:
    ratings, times = stars(9, clients=50, weights=np.arange(1.0, 51.0)), np.arange(1.0, 51.0)
    sums = ratings.mean_gains(()) * times.sum()
    ours = find_importance(ratings, times, 1 / sums)
    np.testing.assert_allclose(paper.importance_for_facilities(ratings), ours, rtol=1e-12)
    groups = np.random.default_rng(9).random((50, 6)) < 0.3
    coverage = fm.Coverage(groups.astype(float), keep_empty=True)
    by_hand = [max([1 / groups[:, a].sum() for a in np.flatnonzero(row)], default=0.0) for row in groups]
    np.testing.assert_allclose(paper.importance_for_coverage(coverage), by_hand, rtol=1e-12)
    np.testing.assert_allclose(paper.importance_for_facilities(coverage), by_hand, rtol=1e-12)


def test_public_singletons_save_a_round_and_change_nothing() -> None:
    """The paper's example: everybody knows the average rating of every film."""
    rng = np.random.default_rng(10)
    F = fm.FacilityLocation(rng.integers(0, 6, (80, 8)) + np.arange(8) / 64, most=8.0)
    known, heard = F.mean_gains(()), list[Array]()

    class Hearing(Around):
        def add_up(self, ask: Ask, control: Control) -> Sum:
            said = super().add_up(ask, control)
            if ask.purpose == Purpose.SINGLETONS:
                heard.append(read_reply(ask.query, said).mean)
            return said

    for options in ({"epsilon": 0.5}, {"kappa": 4.0, "sample": "fixed"}, {"expected_answers": 900}):
        plain = fm.DiscreteGreedy(**options, **PLAIN)
        asked = fm.solve(None, 3, plain, engine=Hearing(fm.Simulation(F)), seed=1)
        np.testing.assert_allclose(heard[-1], known, rtol=1e-5)
        known = heard[-1]  # to the last bit, or other coins would fall
        told = fm.solve(F, 3, fm.DiscreteGreedy(**options, singletons=known, **PLAIN), seed=1)
        assert asked.rounds is not None
        assert told.rounds is not None
        assert told.selected == asked.selected
        assert [one.purpose for one in asked.rounds].count(Purpose.SINGLETONS) == 1
        assert [one.purpose for one in told.rounds].count(Purpose.SINGLETONS) == 0
        assert len(told.rounds) == len(asked.rounds) - 1
        assert "singletons=(" not in asked.method
    few = fm.DiscreteGreedy(expected_answers=1, importance="paper", **PLAIN)
    rounds = [
        len(fm.solve(F, 3, one).rounds or ())
        for one in (few, fm.DiscreteGreedy(expected_answers=1, importance="paper", singletons=known, **PLAIN))
    ]
    assert rounds[0] - rounds[1] == 2, "where a jury is asked first, everyone is asked again"


def test_long_settings_are_told_in_short() -> None:
    method = fm.DiscreteGreedy(kappa=2.0, singletons=np.full(4000, 0.5))
    assert repr(method) == "DiscreteGreedy(kappa=2.0, singletons=(0.5, … 4,000 numbers))"
    assert method == fm.DiscreteGreedy(kappa=2.0, singletons=[0.5] * 4000)


def test_theorem_4_says_for_which_epsilon_a_kappa_is_enough() -> None:
    F = stars(11, clients=60)
    kappa = kappa_in_theory(2, 6, 0.3)
    assert epsilon_in_theory(2, 6, kappa) == pytest.approx(0.3)
    claimed = fm.solve(F, 2, fm.DiscreteGreedy(kappa=kappa, sample="fixed", **PLAIN)).guarantee
    fresh = fm.solve(F, 2, fm.DiscreteGreedy(kappa=kappa, **PLAIN)).guarantee
    small = fm.solve(F, 2, fm.DiscreteGreedy(kappa=1.0, sample="fixed", **PLAIN)).guarantee
    assert claimed is not None
    assert fresh is not None
    assert small is not None
    assert claimed.factor == pytest.approx(1 - np.exp(-1) - 0.3)
    assert fresh.factor == small.factor == 0


# What theorems bound, as measured.


def measured(guarantee: Guarantee | None, symbol: str) -> float:
    assert guarantee is not None
    found = next(term.measured for term in guarantee.terms if term.symbol == symbol)
    assert found is not None
    return found


@pytest.mark.parametrize("family", ["facility", "coverage"])
def test_gamma_and_d_are_measured(family: str) -> None:
    F: fm.Objective = stars(12, clients=30, share=0.3)
    if family == "coverage":
        F = fm.Coverage((np.random.default_rng(12).random((30, 6)) < 0.4).astype(float), keep_empty=True)
    result, asked = listen(F, fm.Uniform(6, 2), fm.FedCG(4, 10, answer="base", measure=True, **PLAIN))
    gammas = []
    for ask in asked:
        x = ask.query.parameters()["x"]
        gammas.append(np.abs(F.gradients(x).toarray() - F.mean_gradient(x)).max())
    assert measured(result.guarantee, "gamma_t") == pytest.approx(max(gammas), rel=1e-12)
    assert measured(result.guarantee, "D") == pytest.approx(sum(gammas), rel=1e-12)
    assert result.guarantee is not None
    for term in result.guarantee.terms:
        assert term.measured is None or term.measured <= term.value, term
    assert measured(result.guarantee, "heterogeneity") == pytest.approx(2 * sum(gammas) / 4, rel=1e-12)
    better = result.guarantee.promised_as_measured
    assert better is not None
    assert better > result.guarantee.promised
    assert fm.Result.from_json(result.to_json()) == result
    assert "(measured: " in str(result.guarantee)


def test_the_lipschitz_constant_is_measured_on_the_walks() -> None:
    """Two local steps: the first is the best base at x, and gradients are compared half a base further."""
    F, M = stars(13, clients=20, share=1.0), fm.Uniform(6, 2)
    result, asked = listen(F, M, fm.FedCGPlus(6, 2, 10, measure=True, whole_bases=True, **PLAIN))
    slopes = []
    for ask in asked:
        assert isinstance(ask.query, LocalWalk)
        x, at = ask.query.x, F.gradients(ask.query.x).toarray()
        for i in range(20):
            v = indicator(6, M.best_base(at[i]))
            there = F[i].gradients(np.minimum(x + v / 2, 1.0)).toarray()[0]
            slopes.append((np.abs(there - at[i]).max()) / (sqrt(2) / 2))
    per_round = np.array(slopes).reshape(3, 20).max(axis=1)
    assert measured(result.guarantee, "L_t") == pytest.approx(per_round.max(), rel=1e-9)
    assert measured(result.guarantee, "Q") == pytest.approx(per_round.sum(), rel=1e-9)
    assert measured(result.guarantee, "sigma") == 0


def test_only_a_simulation_that_is_asked_to_measures() -> None:
    F = stars(14, clients=30)

    class Elsewhere(Around):
        @property
        def everything(self) -> fm.Objective | None:
            return None

    asked = fm.FedCG(4, 10, answer="base", measure=True, **PLAIN)
    for result in (
        fm.solve(F, 2, fm.FedCG(4, 10, answer="base", **PLAIN)),
        fm.solve(None, 2, asked, engine=Elsewhere(fm.Simulation(F))),
    ):
        assert result.guarantee is not None
        assert all(term.measured is None for term in result.guarantee.terms)
        assert result.guarantee.promised_as_measured is None


def test_measured_numbers_are_verified(tmp_path: Any) -> None:
    F, path = stars(15, clients=30), tmp_path / "run"
    result = fm.solve(F, 2, fm.FedCGPlus(4, 2, 10, measure=True, samples=4, **PLAIN), transcript=path)
    assert measured(result.guarantee, "L_t") > 0
    assert fm.verify(path, F) == result


# The last line of Theorem 3.


def test_the_last_line_of_theorem_3_loses_a_factor() -> None:
    """The general statement of Theorem 4.3 at η = τ/T, term by term, and what the paper's last line has for it."""
    T, tau, r, K, delta, D, Q, sigma = 60, 5, 3, 50, 0.1, 7.0, 2.0, 0.03
    promise = Continuous(r, 100, T // tau, K, 1000, 1000.0, True, local_steps=tau, delta=delta)
    sizes = Sizes(1.0, D, 1.0, Q, sigma)
    evaluated = {term.symbol: term.value for term in promise._evaluate(sizes, 1.0)[2]}
    eta = tau / T
    general = sqrt(T) * (6 * eta * r * D + 2 * sigma * r + 2 * eta * r**1.5 * Q) / sqrt(K * tau * delta)
    assert evaluated["sampling"] == pytest.approx(general)
    others = sqrt(tau) * (6 * D * r + 2 * r**1.5 * Q) / sqrt(T * K * delta)
    printed = 2 * sigma * r * sqrt(tau) / sqrt(K * T * delta)
    right = 2 * sigma * r * sqrt(T) / sqrt(K * tau * delta)
    assert general == pytest.approx(others + right)
    assert right / printed == pytest.approx(T / tau)
    assert general > others + 2 * printed


def test_what_would_take_hours_is_refused_before_anybody_is_asked() -> None:
    """Every client sorts all items for a whole base; and a small σ needs many sets."""
    matroid = fm.Uniform(5_000, 2)
    walk = WholeWalk(x=np.zeros(5_000), matroid=matroid, single=1.0, whole=2.0, coins=PublicCoins(1), steps=256)
    walk.check(5_000, 1_000)
    with pytest.raises(fm.InputError, match="too much work for so many clients"):
        walk.check(5_000, 1_000_000)
    asked = list[int]()
    with pytest.raises(fm.InputError, match=r"sigma: 0\.01 needs"):
        fm.solve(stars(2), 2, fm.FedCGPlus(4, 2, sigma=0.01), progress=lambda number, *_: asked.append(number))
    assert not asked

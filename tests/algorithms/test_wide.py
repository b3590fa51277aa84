"""Tens of thousands of items: candidates are found by sums of buckets, and what is claimed holds for all items."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import folkmoot as fm
from folkmoot.algorithms.federated.wide import MOST_ITEMS
from folkmoot.conversation.engine import Control
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.engines import PartyPolicy
from folkmoot.engines.simulate import Simulation
from folkmoot.engines.witness import Witness
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Array
from folkmoot.objectives.restricted import restrict
from folkmoot.questions.folded import Folded, FoldedReply, estimate_items
from folkmoot.questions.participation import Participation
from folkmoot.secagg import Policy
from folkmoot.theory.certificate import upper_bound
from tests.coins import toss_for
from tests.engines.pools import CLIENTS as PARTY_CLIENTS
from tests.engines.pools import TERMS, make_engine, make_parties, reasons

ITEMS, CLIENTS, CHOSEN = MOST_ITEMS + 1_000, 2_000, 10
MOST_UP = 85_000  # bytes that a client sends in a round: an answer of at most 40 kB, and the protocol's own


def make_tail(seed: int = 0) -> fm.FacilityLocation:
    """Ratings with a long tail: most items have one rater."""
    rng = np.random.default_rng(seed)
    chance = (np.arange(ITEMS) + 5.0) ** -0.9
    counts = rng.zipf(1.6, CLIENTS).clip(1, 300)
    rows, columns = np.repeat(np.arange(CLIENTS), counts), rng.choice(ITEMS, counts.sum(), p=chance / chance.sum())
    stars = sparse.csr_array((rng.integers(1, 6, len(rows)).astype(float), (rows, columns)), shape=(CLIENTS, ITEMS))
    stars.data = np.minimum(stars.data, 5.0)
    return fm.FacilityLocation(stars, most=5.0)


def make_decoys(seed: int = 0) -> fm.Coverage:
    """Half of the clients like any of 3,000 items, of which one or two are enough; the others one niche each, and no
    niche is among the few thousand most popular items.
    """
    rng = np.random.default_rng(seed)
    copies, niches = 3_000, 10
    member = sparse.lil_array((CLIENTS, ITEMS))
    for client in range(CLIENTS // 2):
        member[client, rng.choice(copies, 1_500, replace=False)] = 1
    for client in range(CLIENTS // 2, CLIENTS):
        member[client, [copies + client % niches, *rng.choice(np.arange(copies + niches, ITEMS), 5, replace=False)]] = 1
    return fm.Coverage(member.tocsr())


def make_heavy(seed: int = 0) -> fm.FacilityLocation:
    """Ratings without a mean: a few clients hold most of the value, in items that hardly anyone else has."""
    rng = np.random.default_rng(seed)
    rows, columns = np.repeat(np.arange(CLIENTS), 10), rng.integers(0, ITEMS, CLIENTS * 10)
    worth = sparse.coo_array((rng.pareto(0.7, len(rows)) + 0.01, (rows, columns)), shape=(CLIENTS, ITEMS))
    return fm.FacilityLocation(worth.tocsr())


def make_clusters(seed: int = 0) -> fm.Coverage:
    """Twenty tastes with hundreds of items each: one suits all of a taste, the others suit the same 60 of them. Next to
    any of these, the full one adds less than it would instead of it.
    """
    rng = np.random.default_rng(seed)
    tastes, common = 20, 60
    share = np.linspace(1.5, 1.0, tastes)
    taste, each = rng.choice(tastes, CLIENTS, p=share / share.sum()), ITEMS // tastes
    member = np.zeros((CLIENTS, ITEMS), dtype=bool)
    for at in range(tastes):
        who = np.flatnonzero(taste == at)
        member[np.ix_(who[:common], np.arange(at * each, (at + 1) * each))] = True
        member[who, at * each] = True
    return fm.Coverage(sparse.csr_array(member))


METHODS = {
    "auto": fm.Auto(cohort=200),
    "auto, everyone": fm.Auto(),
    "auto, juries": fm.Auto(cohort=200, juries=2),
    "fedcg": fm.FedCG(cohort=200),
    "fedcg, bases": fm.FedCG(cohort=200, answer="base"),
    "fedcg+": fm.FedCGPlus(cohort=200, rounds=10),
    "discrete": fm.DiscreteGreedy(expected_answers=200),
    "few rounds": fm.AdaptiveSequencing(cohort=200),
    "shards": fm.RandGreeDi(shards=4),
}


@pytest.fixture(scope="module")
def tail() -> fm.FacilityLocation:
    return make_tail()


@pytest.mark.parametrize("name", list(METHODS))
def test_every_method_chooses_well_and_claims_what_holds(name: str, tail: fm.FacilityLocation) -> None:
    best, popular = fm.solve(tail, CHOSEN), fm.solve(tail, CHOSEN, fm.Popularity())
    found = fm.solve(tail, CHOSEN, METHODS[name], engine=Simulation(tail), seed=3)
    assert found.value >= 0.98 * best.value
    assert found.value >= 0.995 * popular.value
    assert found.upper_bound >= best.value
    assert len(found.selected) == CHOSEN
    assert found.gains is not None
    assert found.estimate is not None
    assert sum(found.gains) == pytest.approx(found.estimate.value)
    assert found.guarantee is None or found.guarantee.vacuous
    if name != "few rounds":  # which asks about many prefixes at once
        assert max(one.up for one in found.rounds or ()) < MOST_UP


def test_exact_where_everyone_is_asked(tail: fm.FacilityLocation) -> None:
    """Nothing is left to chance: the popular base, the value and the bound are those of the data."""
    found = fm.solve(tail, CHOSEN, fm.Auto(), engine=Simulation(tail))
    assert found.estimate is not None
    assert found.estimate.everyone
    assert found.estimate.value == pytest.approx(found.value, rel=1e-6)
    assert found.estimate.popularity == pytest.approx(fm.solve(tail, CHOSEN, fm.Popularity()).value, rel=1e-6)
    assert found.upper_bound >= upper_bound(tail, fm.Uniform(ITEMS, CHOSEN), found.selected) - 1e-6


def test_random_is_of_all_items_not_of_candidates(tail: fm.FacilityLocation) -> None:
    drawn = [fm.solve(tail, CHOSEN, fm.RandomSet(), seed=seed).value for seed in range(200)]
    found = fm.solve(tail, CHOSEN, fm.Auto(), engine=Simulation(tail))
    assert found.estimate is not None
    assert found.estimate.random is not None
    assert abs(found.estimate.random - np.mean(drawn)) < 4 * np.std(drawn) / np.sqrt(8)  # fails once in 10,000 seeds


def test_bounds_and_intervals_hold() -> None:
    """At 95 %, 3 of 24 may fail by chance with a probability of 0.12, 6 with one of 0.001."""
    missed = 0
    for seed in range(24):
        crowd = make_tail(seed)
        found = fm.solve(crowd, CHOSEN, fm.Auto(cohort=20, jury=400, polish=1), engine=Simulation(crowd), seed=seed)
        assert found.estimate is not None
        inside = found.estimate.low <= found.value <= found.estimate.high
        missed += not (inside and found.upper_bound >= fm.solve(crowd, CHOSEN).value)
    assert missed < 6


@pytest.mark.parametrize("limits", ["groups", "groups and a count"])
def test_limits_on_groups_hold_and_small_groups_are_found(limits: str, tail: fm.FacilityLocation) -> None:
    group = np.where(np.arange(ITEMS) % 10 == 3, "rare", "common")
    matroid: fm.Matroid = fm.Partition(group, {"rare": 4, "common": 4})
    if limits != "groups":
        matroid = fm.Truncation(fm.Partition(group, {"rare": 4, "common": 4}), 6)
    found = fm.solve(tail, matroid, fm.Auto(cohort=200), engine=Simulation(tail), seed=1)
    assert matroid.independent(found.selected)
    assert found.value >= 0.97 * fm.solve(tail, matroid).value


def test_what_is_missed_at_first_is_found_next_to_the_answer() -> None:
    """The most popular thousands replace each other: niches are looked for again."""
    crowd = make_decoys()
    best, popular = fm.solve(crowd, CHOSEN), fm.solve(crowd, CHOSEN, fm.Popularity())
    found = fm.solve(crowd, CHOSEN, fm.Auto(), engine=Simulation(crowd), seed=1)
    assert any(one.label.startswith("finding more items") for one in found.rounds or ())
    assert popular.value < 0.8 * best.value < found.value
    assert found.value >= 0.97 * best.value
    assert found.upper_bound >= best.value
    alone = [one.up for one in found.rounds or () if one.label == "each item alone"]
    assert len(alone) == 2
    assert alone[1] < alone[0] - 4_000  # bytes: those that are known are not asked about again


@pytest.mark.parametrize("seed", range(4))
def test_items_that_only_heavy_clients_hold_are_found(seed: int) -> None:
    """Who answers decides by its scale, from the first question about items on: a drawn jury misses heavy clients."""
    crowd = make_heavy(seed)
    found = fm.solve(crowd, CHOSEN, fm.Auto(cohort=15), engine=Simulation(crowd), seed=seed)
    best = fm.solve(crowd, CHOSEN)
    assert found.value >= 0.95 * best.value
    assert found.upper_bound >= best.value
    asked = [one for one in found.rounds or () if one.purpose is Purpose.FINDING]
    assert len(asked) >= 3
    assert all(0 < one.answered < 40 * 15 for one in asked)  # the expected number is at most that of a jury


def test_even_clients_are_drawn_to_find_items(tail: fm.FacilityLocation) -> None:
    found = fm.solve(tail, CHOSEN, fm.Auto(cohort=20), engine=Simulation(tail), seed=1)
    asked = [one for one in found.rounds or () if one.purpose in (Purpose.FINDING, Purpose.SINGLETONS)]
    assert {one.asked for one in asked[:3]} == {40 * 20}


@pytest.mark.parametrize("seed", range(4))
def test_swaps_are_looked_for_where_an_item_is_better_instead_of_another(seed: int) -> None:
    """Everyone is asked. The best and the most popular items add less next to the answer than each chosen one does."""
    crowd = make_clusters(seed)
    best, popular = fm.solve(crowd, 20), fm.solve(crowd, 20, fm.Popularity())
    found = fm.solve(crowd, 20, fm.Auto(), engine=Simulation(crowd), seed=seed)
    assert found.value >= 0.999 * best.value
    assert found.estimate is not None
    assert found.estimate.popularity == pytest.approx(popular.value, rel=1e-6)


def test_the_second_look_is_spared_where_no_item_can_matter(tail: fm.FacilityLocation) -> None:
    found = fm.solve(tail, CHOSEN, fm.Auto(), engine=Simulation(tail), seed=1)
    assert not any(one.label.startswith("finding more items") for one in found.rounds or ())


@pytest.mark.parametrize("shortlist", [50, ITEMS])
def test_a_shortlist_can_be_asked_for(shortlist: int, tail: fm.FacilityLocation) -> None:
    found = fm.solve(tail, CHOSEN, fm.Auto(cohort=200, shortlist=shortlist), engine=Simulation(tail))
    asked = any(one.label.startswith("finding items") for one in found.rounds or ())
    assert asked == (shortlist < ITEMS)
    assert found.value >= 0.97 * fm.solve(tail, CHOSEN).value


def test_runs_are_stored_continued_and_verified(tail: fm.FacilityLocation, tmp_path: Path) -> None:
    method = fm.Auto(cohort=200)
    done = fm.solve(tail, CHOSEN, method, seed=2, transcript=tmp_path / "run")
    assert fm.verify(tmp_path / "run", tail) == done
    assert fm.resume(tmp_path / "run", tail) == done


class Forgetful(Simulation):
    """A simulator that loses the first so many sums of what each item is worth alone, after clients sent answers."""

    losses = 1

    def add_up(self, ask: Ask, control: Control) -> Sum:
        if ask.purpose is Purpose.SINGLETONS and self.losses:
            self.losses -= 1
            return Sum.lose(ask, ask.cohort.size // 2, spent=True)
        return super().add_up(ask, control)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("jury", [350, 500, 900])  # four are more than half of all, everyone, and more than everyone
def test_half_of_those_asked_know_well_enough_what_items_are_worth_alone(
    jury: int, weighted: bool, tail: fm.FacilityLocation
) -> None:
    crowd = tail.reweight(np.linspace(1.0, 2.0, CLIENTS)) if weighted else tail
    method, best = fm.Auto(cohort=50, jury=jury, polish=1), fm.solve(crowd, CHOSEN)
    found = fm.solve(crowd, CHOSEN, method, engine=Forgetful(crowd), seed=3)
    alone = [one for one in found.rounds or () if one.purpose is Purpose.SINGLETONS][:2]
    assert [one.label for one in alone] == [f"each item alone, jury {at} of 2" for at in (1, 2)]
    assert alone[0].answered == 0
    assert alone[1].answered == alone[1].asked >= min(2 * jury, CLIENTS // 2) * (0.7 if weighted else 1)  # repeats
    assert found.value >= 0.95 * best.value
    assert found.upper_bound >= best.value


def test_if_both_halves_are_lost_the_run_ends(tail: fm.FacilityLocation) -> None:
    engine = Forgetful(tail)
    engine.losses = 2
    with pytest.raises(fm.RoundFailed, match=r"^each item alone, jury 2 of 2: .* only 0 others are left; asking the"):
        fm.solve(tail, CHOSEN, fm.Auto(cohort=50, jury=500, polish=1), engine=engine, seed=3)


def test_masked_sums_are_the_same() -> None:
    """Few clients, and everybody asked: the whole protocol takes its time."""
    rng = np.random.default_rng(5)
    rows, columns = np.repeat(np.arange(24), 40), rng.integers(0, ITEMS, 24 * 40)
    crowd = fm.Coverage(sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(24, ITEMS)) > 0)
    terms: dict[str, Any] = {"dropout": 0.0, "policy": Policy(corrupt=0.0, dropout=0.0, security=40)}
    witness = Witness()
    ideal = fm.solve(crowd, 3, fm.Auto(polish=0), engine=Simulation(crowd, "ideal", **terms))
    real = fm.solve(crowd, 3, fm.Auto(polish=0), engine=Simulation(crowd, "real", witness=witness, **terms))
    assert ideal == real
    assert witness.found is None  # no client said a number for each item


def test_parties_that_speak_for_their_clients_agree() -> None:
    """Every question of a run is one that parties answer, and their sums are the simulator's."""
    rng = np.random.default_rng(6)
    rows, columns = np.repeat(np.arange(PARTY_CLIENTS), 30), rng.integers(0, ITEMS, PARTY_CLIENTS * 30)
    crowd = fm.Coverage(sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(PARTY_CLIENTS, ITEMS)) > 0)
    parties = make_parties(crowd, PartyPolicy(TERMS, largest_share=1.0))  # of 20 clients, one party has many
    method = fm.Auto(cohort=20, polish=2)
    found = fm.solve(None, 3, method, engine=make_engine(parties), seed=4)
    alone = fm.solve(crowd, 3, method, seed=4)
    assert (found.selected, found.estimate) == (alone.selected, alone.estimate)
    assert not reasons(parties)


def reply_of(question: Folded, objective: fm.Objective) -> FoldedReply:
    ids, times = np.arange(objective.n_clients), np.ones(objective.n_clients, dtype=np.int64)
    total = question.total(objective, ids, times, toss_for(question))
    return question.make_reply(total, objective.n_clients, objective.n_clients, objective.n_clients)


@pytest.mark.parametrize("buckets", [1, 7, 64, 4_096])
@pytest.mark.parametrize("chosen", [(), (0, 3)])
def test_a_bucket_is_never_less_than_an_item(buckets: int, chosen: tuple[int, ...], tail: fm.FacilityLocation) -> None:
    some = tail[:300]
    x = np.zeros(ITEMS)
    x[list(chosen)] = 1.0
    single = float(some.gains(()).max())
    question = Folded(x=x, single=single, rows=2, buckets=buckets, coins=PublicCoins(9))
    bounds, gains = reply_of(question, some).bound_items(ITEMS), some.mean_gains(chosen)
    assert (bounds >= gains * (1 - 1e-12)).all()
    if buckets > ITEMS // 2:
        assert np.median(bounds - gains) <= single / 2**12  # hardly anything but rounding up


def test_buckets_beside_some_items_are_about_the_others(tail: fm.FacilityLocation) -> None:
    kept = np.arange(0, ITEMS, 2)
    some = restrict(tail[:300], kept)
    x = np.full(len(kept), 0.25)
    question = Folded(x=x, single=5.0, rows=2, buckets=512, coins=PublicCoins(9))
    point = np.zeros(ITEMS)
    point[kept] = x
    gradient = tail[:300].mean_gradient(point)
    others = np.setdiff1d(np.arange(ITEMS), kept)
    bounds = reply_of(question, some).bound_items(ITEMS)
    assert (bounds[others] >= gradient[others] * (1 - 1e-12)).all()
    of_all = reply_of(replace(question, x=np.zeros(ITEMS)), tail[:300])
    assert (bounds <= of_all.bound_items(ITEMS)).all()


def test_buckets_by_coins_are_right_on_average() -> None:
    """Also beside some items: the chance to answer follows all items, not only those asked about by themselves."""
    crowd, kept = make_heavy()[:200], np.arange(0, ITEMS, 2)
    ids, times = np.arange(200), np.full(200, 3)
    gains = crowd.gains(())
    scale, truth = gains.max(axis=1), gains[:, 1::2].max(axis=1).mean()
    who, some = Participation.by_scale(60, 600, float(scale.mean())), restrict(crowd, kept)
    most = who.bound_own(3, float(scale.max()))
    said, counts = [], []
    for key in range(400):
        x = np.zeros(len(kept))
        question = Folded(x=x, single=most, rows=1, buckets=1, coins=PublicCoins(key), who=who)
        total, willing = question.total_of_willing(some, ids, times, toss_for(question))
        assert willing is not None
        counts.append(int(willing.sum()))
        said.append(question.make_reply(total, 3 * counts[-1], counts[-1], 600).buckets[0, 0])
    assert np.mean(counts) <= 61
    assert abs(np.mean(said) - truth) < 5 * np.std(said) / np.sqrt(len(said))
    assert np.std(said) < 0.5 * truth


def test_estimates_find_what_stands_out() -> None:
    """Each of 20 items stands out from 20,000 others by less than a bucket holds of these."""
    rng = np.random.default_rng(1)
    worth: Array = rng.exponential(1.0, 20_000)
    worth[:20] = 40.0
    replies = []
    for key in range(3):
        question = Folded(x=np.zeros(len(worth)), single=1.0, rows=2, buckets=400, coins=PublicCoins(key))
        table = question.deal_items(len(worth))
        sums = np.concatenate([np.bincount(row, worth, 400) for row in table])
        total = np.rint(sums / question.encoding.parts[0].unit).astype(np.int64)
        replies.append(question.make_reply(total, 1, 1, 1))
    found = estimate_items(replies, len(worth))
    assert set(np.argsort(-found)[:100].tolist()) >= set(range(20))

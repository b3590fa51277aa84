"""What sums of gains, ranges and values mean, and who has a part in them.

Tests that toss coins fail by chance with probability below 1e-9 (Hoeffding, with a union over all that is compared);
seeds are fixed, so they do not fail by chance twice.
"""

from dataclasses import replace

import numpy as np
import pytest

from folkmoot import (
    Coverage,
    FacilityLocation,
    Objective,
)
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.questions import (
    Appraisal,
    Gains,
    Importance,
    Magnitude,
    Participation,
    Values,
)
from folkmoot.questions.magnitude import BINS, LEAST, MOST, find_bins
from folkmoot.questions.query import FINE_BITS
from tests.coins import SIMULATED, toss_for
from tests.questions.kinds import (
    EVERY,
    ITEMS,
    point,
    some_members,
    some_sets,
)
from tests.questions.measures import LIMIT, case_of, crowd, dense, fixed_point, once, ranges_of, reply_of, within

# Gains, and who answers.


def gains_question(objective: Objective, times: Ids, kappa: float | None, *, important: bool) -> tuple[Gains, Array]:
    """A question that cuts nothing off, and every client's κ_i as the paper has it."""
    alone = objective.gains(()).toarray()
    sums = times @ alone
    inverse = np.divide(1.0, sums, out=np.zeros(len(sums)), where=sums > 0)
    chances = np.minimum((kappa or 1.0) * (times if kappa else 1.0), 1.0) * np.ones(len(times))
    who = None if kappa is None else Participation(even=kappa)
    if kappa and important:
        chances = np.array(
            [
                min(1.0, kappa * max(times[i] * alone[i, sums > 0] / sums[sums > 0]) + 0.01 * times[i])
                for i in range(len(times))
            ]
        )
        who = Participation.by_share(kappa, 0.01, inverse)
    most = float((alone.max(axis=1) * (times if kappa else 1) / chances).max())
    members = some_members(objective.n_items)
    whole = float((objective.values(members) * (times if kappa else 1) / chances).max())
    query = Gains(members=members, items=ITEMS, most=most, who=who, whole=whole)
    return query, chances


@pytest.mark.parametrize("family", list(EVERY))
def test_sums_of_gains_are_gains_of_the_mean(family: str) -> None:
    objective = case_of(family).objective
    times = 1 + np.arange(objective.n_clients) ** 2
    query, _ = gains_question(objective, times, None, important=False)
    assert query.takes_part(objective, once(objective)[0], times, toss_for(query)) is None
    reply = reply_of(query, objective, once(objective)[0], times)
    mean, worth = reply.mean, reply.value
    exact = objective.reweight(times).mean_gains(query.members)
    assert query.whole is not None
    assert worth == pytest.approx(
        objective.reweight(times).mean_values(query.members), abs=query.whole / query.encoding.limit / 2 + 1e-12
    )
    assert np.abs(mean - exact)[ITEMS].max() <= query.encoding.parts[0].unit / 2 + 1e-12
    assert not np.delete(mean, ITEMS).any()


@pytest.mark.parametrize("family", ["facility", "facility, owned rows", "concave sqrt", "logdet, few dimensions"])
@pytest.mark.parametrize("important", [False, True], ids=["uniform", "important"])
def test_answers_over_their_chance_keep_the_sum(family: str, important: bool) -> None:
    """Algorithm 3: client i answers with probability κ_i, over κ_i."""
    copies, keys = 20, 60
    objective = case_of(family).objective
    times = 1 + np.arange(objective.n_clients)
    query, chances = gains_question(objective, times, 0.7, important=important)
    assert (chances < 1).any()
    batch, ids, _ = crowd(objective, copies)
    often = np.repeat(times, copies)
    exact = np.column_stack((objective.gains(query.members).toarray()[:, ITEMS], objective.values(query.members)))
    assert query.whole is not None
    unit = np.repeat([part.unit for part in query.encoding.parts], [len(ITEMS), 1])
    assert unit[-1] == query.whole / query.encoding.limit
    answered, sums = np.zeros(len(times)), np.zeros(exact.shape)
    for key in range(keys):
        question = replace(query, draw=key)
        willing = question.takes_part(batch, ids, often, toss_for(question))
        assert willing is not None
        rows = dense(question, batch, ids, often) * willing[:, None]
        answered += willing.reshape(-1, copies).sum(axis=1)
        sums += rows.reshape(-1, copies, query.length).sum(axis=1)
    trials = copies * keys
    assert np.abs(answered / trials - chances).max() <= within(trials, len(times))
    largest = times[:, None] * exact / chances[:, None] + unit
    off = np.abs(sums * unit / trials - times[:, None] * exact)
    assert (off <= within(trials, exact.size, largest)).all()


def alone_with(worth: Array) -> tuple[Objective, Array]:
    """A client an item, each worth this share of a sum of one: w_i = worth_i."""
    return FacilityLocation(np.diag(worth), keep_empty=True), np.ones(len(worth))


def expected_answers(objective: Objective, inverse: Array, wanted: float) -> float:
    ids, times = once(objective)
    kappa = reply_of(Importance(inverse=inverse), objective, ids, times).find_kappa(wanted)
    return float(Participation.by_share(kappa, 1e-300, inverse).chances(objective, times).sum())


@pytest.mark.parametrize("wanted", [5, 50, 500, 1500, 1900])
def test_kappa_makes_so_many_answer(wanted: int) -> None:
    """Clients of one power of two are taken alike, so a few percent are missing: never more than a sixth."""
    worth = np.exp(np.random.default_rng(2).normal(size=2000) * 1.5 - 8).clip(max=1.0)
    assert 0.95 * wanted <= expected_answers(*alone_with(worth), wanted) <= 1.001 * wanted


def test_kappa_counts_only_those_who_could_answer() -> None:
    """Ten clients of great importance, a hundred of little, a thousand of none: 10 + κ · 100 · 0.01 = 50."""
    objective, inverse = alone_with(np.repeat([0.9, 0.01, 0.0], [10, 100, 1000]))
    assert expected_answers(objective, inverse, 50) == pytest.approx(50, rel=0.05)


def test_kappa_is_infinite_where_all_must_answer() -> None:
    objective, inverse = alone_with(np.array([0.5, 0.2, 1e-3]))
    reply = reply_of(Importance(inverse=inverse), objective, *once(objective))
    assert reply.find_kappa(3) == np.inf
    assert reply.find_kappa(2.9) < np.inf


def test_importance_is_the_largest_share() -> None:
    """Counts and sums, each in the bin of its power of two; who counts twice has twice the share."""
    objective = FacilityLocation(np.array([[0.5, 0.1], [0.0, 0.2], [0.3, 0.0]]))
    inverse = np.array([0.5, 2.0])  # w = 0.25 (half of 0.5 is more than twice 0.1), 0.4, 0.15
    total = Importance(inverse=inverse).total(objective, np.arange(3), np.array([1, 2, 1]), SIMULATED)
    counts, sums = total.reshape(2, -1)
    assert {place: int(counts[place]) for place in np.flatnonzero(counts)} == {0: 1, 1: 1, 2: 1}
    expected = [0.8, 0.25 * 2, 0.15 * 4]
    np.testing.assert_allclose(sums[:3] / 2**FINE_BITS, expected, atol=2.0**-FINE_BITS)


# Ranges.


@pytest.mark.parametrize("family", list(EVERY))
def test_ranges_cover_everybody(family: str) -> None:
    objective = case_of(family).objective
    alone = objective.gains(()).toarray()
    found = ranges_of(objective)
    largest = (alone.max(), objective.values(np.ones(objective.n_items, dtype=bool)).max(), alone.sum(axis=1).max())
    for power, top in zip((found.single, found.whole, found.sum), largest, strict=True):
        assert power / 2**0.25 < top * (1 + 1e-12)
        assert top <= power * (1 + 1e-12)
    assert found.clipped == 0
    # And so do gradients and their values anywhere.
    x = point(objective.n_items)
    slopes = objective.gradients(x).toarray()
    assert slopes.max() <= found.single * (1 + 1e-12)
    assert slopes.sum(axis=1).max() <= found.sum * (1 + 1e-12)
    assert objective.extension(x).max() <= found.whole * (1 + 1e-12)


@pytest.mark.parametrize("exponent", [-63, -20, -1, 0, 1, 30, 61])
def test_a_power_of_two_covers_itself(exponent: int) -> None:
    power = 2.0**exponent
    found = ranges_of(FacilityLocation(np.array([[power, power / 2]])))
    assert (found.single, found.whole) == (power, power)
    assert found.sum / 2**0.25 < 1.5 * power <= found.sum
    above = np.nextafter(power, np.inf)
    assert find_bins(np.array([power]))[0] + (exponent < MOST) == find_bins(np.array([above]))[0]
    assert find_bins(np.array([np.nextafter(power, 0)]))[0] == find_bins(np.array([power]))[0]


def test_bins_end_somewhere() -> None:
    values = np.array([0.0, -1e-17, 5e-324, 2.0 ** (LEAST - 1), 2.0**MOST, 1e300])
    assert find_bins(values).tolist() == [0, 0, 1, 1, BINS - 1, BINS - 1]


def test_functions_worth_nothing_have_a_range() -> None:
    nothing = ranges_of(Coverage(np.zeros((3, 4)), keep_empty=True))
    assert (nothing.single, nothing.whole, nothing.sum) == (1.0, 1.0, 1.0)
    assert nothing.tail is not None
    assert nothing.tail.mean == 0
    one = ranges_of(FacilityLocation(np.array([[0.0, 0.0], [3.0, 0.0]]), keep_empty=True))
    assert one.single == one.whole == one.sum == pytest.approx(2**1.75)
    assert one.tail is not None
    assert one.tail.mean == pytest.approx(2**0.75)


def test_ranges_may_leave_out_a_few() -> None:
    values = np.concatenate((np.full(97, 0.7), [5.0, 6.0, 900.0]))
    objective = FacilityLocation(values[:, None])
    reply = reply_of(Magnitude(), objective, *once(objective))
    root = 2**0.25
    for clip, top, left_out in ((1.0, 1024.0, 0.0), (0.99, 4 * root**3, 0.01), (0.98, 4 * root**2, 0.02)):
        found = reply.find_ranges(clip=clip)
        assert found.single == found.whole == found.sum == pytest.approx(top)
        assert found.clipped == pytest.approx(left_out, abs=1e-12)


def test_ranges_say_how_much_weight_reaches_how_far() -> None:
    objective = FacilityLocation(np.array([[1.0], [8.0], [0.5]]))
    tail = reply_of(Magnitude(), objective, np.arange(3), np.array([3, 1, 4])).find_ranges().tail
    assert tail is not None
    assert (tail.tops.tolist(), tail.shares.tolist()) == ([0.5, 1.0, 8.0], [0.5, 0.375, 0.125])


# Values.


@pytest.mark.parametrize("family", list(EVERY))
def test_values_are_values(family: str) -> None:
    objective = case_of(family).objective
    masks = some_sets(len(ITEMS), 70)
    sets: Mask = np.zeros((70, objective.n_items), dtype=bool)
    sets[:, ITEMS] = masks
    whole = ranges_of(objective).whole
    query = Values(items=ITEMS, sets=masks, whole=whole)
    ids, times = once(objective)
    np.testing.assert_array_equal(
        dense(query, objective, ids, times), fixed_point(objective.values(sets), whole / LIMIT)
    )
    times = 1 + np.arange(objective.n_clients)
    reply = reply_of(query, objective, ids, times)
    exact = objective.reweight(times).mean_values(sets)
    assert np.abs(reply.mean - exact).max() <= query.main.unit / 2 + 1e-12
    assert reply.value == pytest.approx(exact.max(), abs=query.main.unit)


@pytest.mark.slow
@pytest.mark.parametrize("family", list(EVERY))
def test_histograms_keep_the_means(family: str) -> None:
    """Over 400 keys: a mean of coins is off by more than five of its deviations with a chance below 10^-6."""
    objective = case_of(family).objective
    masks, n = some_sets(len(ITEMS), 5), objective.n_items
    sets: Mask = np.zeros((5, n), dtype=bool)
    sets[:, ITEMS] = masks
    most, keys = ranges_of(objective), 400
    times = 1 + np.arange(objective.n_clients)
    p, ids, count = times / times.sum(), once(objective)[0], int(times.sum())
    means, widest = [], 0.0
    for key in range(keys):
        query = Appraisal(items=ITEMS, sets=masks, whole=most.whole, single=most.single, draw=key)
        reply = reply_of(query, objective, ids, times)
        points, histograms = query.grid.points, reply.histograms
        assert all(counts.sum() == count and counts.min() >= 0 for counts in histograms)
        means.append([points @ counts / count for counts in histograms])
        widest = query.grid.coarsest * float(np.sqrt(p @ p)) / 2
    assert reply.cut == 0
    assert np.abs(reply.mean - p @ objective.values(sets)).max() <= most.whole / LIMIT / 2 + 1e-12
    exact = np.array([*(p @ objective.values(sets[:2])), p @ objective.find_ceilings()])
    assert np.abs(np.mean(means, axis=0) - exact).max() <= 5 * widest / np.sqrt(keys) + 1e-12
    assert np.abs(np.array(means) - exact).max() <= 2 * query.grid.coarsest


def test_who_does_not_fit_the_range_is_counted() -> None:
    objective = FacilityLocation(np.array([[1.0, 0.5], [3.0, 0.1], [0.5, 0.5]]))
    query = Appraisal(items=np.arange(2), sets=np.eye(2, dtype=bool), whole=2.0, single=2.0, draw=0)
    assert reply_of(query, objective, *once(objective)).cut == pytest.approx(1 / 3)

"""Clients hit more items than the sketch has room for, by accident or to have a wrong sum come out.
A table that is too full peels to items that nobody named, or to none. It counts only if every cell is empty in the
end and the numbers add up; if not, the round fails as a whole, and never gives a sum that is not one.
"""

import numpy as np
import pytest

from folkmoot.secagg.sketch import Sketch, SketchFailed
from tests.secagg.attacks.client_tricks import lose, play
from tests.secagg.cohorts import VECTOR, Federation, Vector

COHORT = Federation(5, length=2_000, largest=3, room=20)


def vectors(distinct: int, seed: int) -> dict[int, Vector]:
    """So many items hit in all, some by several clients."""
    rng = np.random.default_rng(seed)
    items = rng.choice(COHORT.length, distinct, replace=False)
    out = {one: np.zeros(COHORT.length, dtype=np.int64) for one in COHORT.ids}
    for place, item in enumerate(items):
        out[COHORT.ids[place % 5]][item] = rng.integers(1, COHORT.largest + 1)
        out[COHORT.ids[rng.integers(5)]][item] = 1
    return out


@pytest.mark.parametrize("seed", range(40))
def test_too_many_items_in_a_whole_round(seed: int) -> None:
    with pytest.raises(SketchFailed):
        play(COHORT, vectors=vectors(150, seed), seed=seed)


@pytest.mark.parametrize("distinct", [1, 20, 40, 80, 100, 110, 120, 140])
def test_near_the_brim_the_sum_is_right_or_there_is_none(distinct: int) -> None:
    for seed in range(5):
        given = vectors(distinct, seed)
        try:
            total = play(COHORT, vectors=given, seed=seed).total
        except SketchFailed:
            assert distinct > COHORT.room
            continue
        np.testing.assert_array_equal(total, sum(given.values()))


def test_an_overload_that_drops_out_does_no_harm() -> None:
    given = vectors(20, 0)
    given[COHORT.ids[1]] = np.ones(COHORT.length, dtype=np.int64)
    larger = Federation(12, COHORT.length, COHORT.largest, COHORT.room)
    given |= {one: np.zeros(COHORT.length, dtype=np.int64) for one in larger.ids[5:]}
    with pytest.raises(SketchFailed):
        play(larger, vectors=given)
    result = play(larger, lose({(VECTOR, larger.ids[1])}), vectors=given)
    np.testing.assert_array_equal(result.total, sum(given[one] for one in result.survivors))


@pytest.mark.parametrize("load", [40, 90, 105, 115, 135, 400])
def test_many_seeds_never_a_wrong_sum(load: int) -> None:
    rng = np.random.default_rng(load)
    right = 0
    for seed in range(1_000):
        sketch = Sketch(COHORT.length, COHORT.room, 15, seed.to_bytes(32, "big"))
        whole = np.zeros(COHORT.length, dtype=np.int64)
        items = rng.choice(COHORT.length, load, replace=False)
        whole[items] = rng.integers(1, 16, load)
        try:
            found = sketch.decode(sketch.encode(items, whole[items]))
        except SketchFailed:
            continue
        right += 1
        np.testing.assert_array_equal(found, whole)
    assert right > 900 if load <= 90 else right == 0 or load < 135

"""By how much one client changes a noisy sum, by brute force: every family and adjacency, hostile data and questions.

The whole proof rests on this: whatever a client holds, its answer is no longer than `norm`, and the answers of
neighbours lie no further apart than sd · μ.
"""

from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from folkmoot import FacilityLocation, Functions, InputError
from folkmoot.foundation.sets import Ids, Mask
from folkmoot.privacy.accounting import find_reach
from folkmoot.questions import Gains
from folkmoot.questions.hidden import Direction, HiddenQuery, Worth
from tests.coins import toss_for
from tests.questions.kinds import EVERY, ITEMS, some_members
from tests.questions.measures import case_of, dense, once

Adjacency = Literal["zero-out", "replace-one"]
ADJACENCIES: tuple[Adjacency, ...] = ("zero-out", "replace-one")
SD, MU = 1 << 16, 0.25


def square(vector: Ids) -> int:
    """In whole numbers: nothing is rounded here."""
    return sum(int(one) ** 2 for one in vector.tolist())


def check_rows(query: HiddenQuery[Any], rows: Ids) -> None:
    """Norms, signs and distances of all pairs of rows: any two clients may be neighbours."""
    reach = find_reach(query.adjacency, signed=query.signed)
    assert query.norm <= query.sd * query.mu / reach
    for row in rows:
        assert square(row) <= query.norm**2
        assert row.min(initial=0) >= query.encoding.lowest
        assert row.max(initial=0) <= query.encoding.limit
    largest = (query.sd * query.mu) ** 2
    for row, other in product(rows, rows):
        if query.adjacency == "replace-one":
            assert square(row - other) <= largest
    for row in rows:  # to nothing: also a neighbour of everybody
        assert square(row) <= largest


def direction(members: Mask, items: Ids, **options: Any) -> Direction:
    given: dict[str, Any] = {"most": 1.0, "mu": MU, "sd": SD, "honest": 3}
    return Direction(members=members, items=items, **(given | options))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("centred", [False, True], ids=["", "centred"])
@pytest.mark.parametrize("family", list(EVERY))
def test_no_direction_is_longer_than_its_norm(family: str, centred: bool, adjacency: Adjacency) -> None:
    objective = case_of(family).objective
    n = objective.n_items
    heaviest = float(objective.client_weights.max())
    for members, items, weighed, most in product(
        (np.zeros(n, dtype=bool), some_members(n)),
        (np.arange(n), ITEMS),
        (None, heaviest, heaviest / 2),  # a server may say what it likes
        (0.1, 1.0, 1e9),
    ):
        options: dict[str, Any] = {"centred": centred, "adjacency": adjacency, "heaviest": weighed, "most": most}
        query = direction(members, items, **options)
        check_rows(query, dense(query, objective, *once(objective)))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("family", list(EVERY))
def test_no_worth_is_longer_than_its_norm(family: str, adjacency: Adjacency) -> None:
    """Also if `whole` is wrong: f(S) and f(all) − f(S) together are then scaled down."""
    objective = case_of(family).objective
    everything = float(objective.values_at(np.ones((1, objective.n_items), dtype=bool)).max())
    for members, whole, more in product(
        (np.zeros(objective.n_items, dtype=bool), some_members(objective.n_items)),
        (everything, everything / 100, 1e-9, 1e9),
        (True, False),
    ):
        query = Worth(members=members, whole=whole, everything=more, mu=MU, sd=SD, honest=3, adjacency=adjacency)
        rows = dense(query, objective, *once(objective))
        assert rows.shape[1] == 1 + more
        check_rows(query, rows)


@pytest.mark.parametrize("family", list(EVERY))
def test_how_often_a_client_counts_changes_nothing(family: str) -> None:
    objective = case_of(family).objective
    n, (ids, ones) = objective.n_items, once(objective)
    queries: tuple[HiddenQuery[Any], ...] = (
        direction(np.zeros(n, dtype=bool), np.arange(n)),
        Worth(members=np.zeros(n, dtype=bool), whole=1.0, mu=MU, sd=SD, honest=3),
    )
    for query in queries:
        rows, often = dense(query, objective, ids, ones), 1 + 1_000 * ids
        np.testing.assert_array_equal(dense(query, objective, ids, often), rows)
        np.testing.assert_array_equal(query.total(objective, ids, often, toss_for(query)), rows.sum(axis=0))


HUGE = st.sampled_from([0.0, 5e-324, 1e-300, 1e-160, 1.5e-154, 1e-30, 0.1, 1.0, 3.0, 1e30, 1e100, 1e150])
rows_of_data = arrays(np.float64, (3, 6), elements=HUGE)
extremes = st.sampled_from([2.0**-200, 1e-30, 0.5, 1.0, 4.0, 1e30, 2.0**200])


@given(
    rows_of_data,
    extremes,
    extremes,
    st.sampled_from([1e-7, 1e-3, 0.3, 100.0]),
    st.sampled_from([1 << 13, 1 << 16, 1 << 32]),
    st.sampled_from(ADJACENCIES),
    st.booleans(),
)
def test_tiny_and_huge_values_and_questions(
    data: Any, most: float, cap: float, mu: float, sd: int, adjacency: Adjacency, centred: bool
) -> None:
    """All that a question may say passes the check, or is refused by it; what is answered is short enough."""
    objective = FacilityLocation(data, keep_empty=True)
    n = objective.n_items
    query = Direction(
        members=np.zeros(n, dtype=bool),
        items=np.arange(n),
        most=most,
        cap=cap,
        mu=mu,
        sd=sd,
        honest=3,
        adjacency=adjacency,
        centred=centred,
    )
    try:
        query.check(n)
    except InputError:
        return
    check_rows(query, dense(query, objective, *once(objective)))


@pytest.mark.parametrize("length", [1, 1_000, 200_000])
def test_long_answers_come_close_to_the_norm_and_never_above(length: int) -> None:
    """Rounding towards 0 takes away at most 1 per number."""
    data = 0.5 + np.random.default_rng(3).random((2, length))
    objective = FacilityLocation(data)
    query = direction(np.zeros(length, dtype=bool), np.arange(length), sd=1 << 22, mu=2.0)
    for row in dense(query, objective, *once(objective)):
        assert query.norm - np.sqrt(length) - 1e-6 * query.norm <= np.sqrt(square(row)) <= query.norm


def test_those_with_little_to_gain_speak_softly() -> None:
    """`cap`: a gain of one hundredth of the most is said as four hundredths."""
    objective = FacilityLocation(np.array([[0.01, 0.0], [0.5, 0.0], [0.0, 0.0], [0.3, 0.4]]), keep_empty=True)
    query = direction(np.zeros(2, dtype=bool), np.arange(2))
    rows = dense(query, objective, *once(objective)) / query.norm
    np.testing.assert_allclose(rows, [[0.04, 0.0], [1.0, 0.0], [0.0, 0.0], [0.6, 0.8]], atol=2 / query.norm)
    shifted = direction(np.zeros(2, dtype=bool), np.arange(2), centred=True)
    rows = dense(shifted, objective, *once(objective)) / shifted.norm
    np.testing.assert_allclose(
        rows[1:], np.array([[0.5**0.5, -(0.5**0.5)], [0.0, 0.0], [-0.2, 0.2]]), atol=2 / shifted.norm
    )


def test_light_clients_say_less() -> None:
    objective = FacilityLocation(np.eye(3), weights=[1.0, 2.0, 4.0])
    query = direction(np.zeros(3, dtype=bool), np.arange(3), heaviest=objective.client_weights.max())
    rows = dense(query, objective, *once(objective))
    np.testing.assert_allclose(np.diag(rows) / query.norm, [0.25, 0.5, 1.0], atol=2 / query.norm)


class Unchecked(Functions):
    """A family that says, wrongly, that its functions never fall."""

    by_construction = True


def test_functions_that_fall_do_not_escape_the_range() -> None:
    """A function that is not monotone is a mistake; it must not become a longer answer, or one of another sign. Where
    it is seen, its client says nothing, as whoever cannot answer.
    """

    def fall(members: frozenset[int]) -> float:
        return 5.0 - len(members) if members else 0.0

    objective, checked = Unchecked([fall, fall], n_items=4), Functions([fall, fall], n_items=4)
    for adjacency, members in product(ADJACENCIES, (np.zeros(4, dtype=bool), np.arange(4) < 2)):
        for query in (
            direction(members, np.arange(4), adjacency=adjacency),
            Worth(members=members, whole=1.0, mu=MU, sd=SD, honest=3, adjacency=adjacency),
        ):
            check_rows(query, dense(query, objective, *once(objective)))
            if members.any() and isinstance(query, Direction):
                assert query.total_surely(checked, *once(checked), toss_for(query)).tolist() == [0] * query.length


@pytest.mark.parametrize(
    "wrong",
    [{"mu": 0.0}, {"mu": 1e9}, {"sd": 1 << 12}, {"sd": 1 << 40}, {"honest": 0}, {"adjacency": "none"}, {"cap": -1.0}],
    ids=str,
)
def test_questions_that_no_noise_belongs_to_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        direction(np.zeros(3, dtype=bool), np.arange(3), **wrong).check(3)


def test_a_norm_of_no_units_is_refused() -> None:
    """So little budget that nobody could say anything: not an error further down."""
    with pytest.raises(InputError, match="no unit"):
        direction(np.zeros(3, dtype=bool), np.arange(3), mu=1e-6, sd=1 << 13).check(3)


def test_other_questions_have_no_noise() -> None:
    gains = Gains(members=np.zeros(3, dtype=bool), items=np.arange(3), most=1.0)
    assert gains.added_noise is None
    assert gains.encoding.noise == 0.0

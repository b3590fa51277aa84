"""Whole rounds: the sum is that of exactly those whose vectors arrived, or there is none."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot.foundation.kernels import threads
from folkmoot.secagg.client import Answer, Crowd
from folkmoot.secagg.faults import AggregationFailed
from folkmoot.secagg.together import STAGES, aggregate
from tests.secagg.cohorts import Federation, Vector


@pytest.mark.parametrize(("stage", "gone", "room"), list(product(STAGES, [0, 1, 2], [0, 200])))
def test_dropouts_at_every_stage(stage: str, gone: int, room: int) -> None:
    federation = Federation(20, length=1_000, room=room)
    lost = federation.ids[3 : 3 + gone]
    result = federation.aggregate(lambda now, client: now == stage and client in lost)
    early = STAGES.index(stage) <= STAGES.index("vector")
    assert result.survivors == tuple(one for one in federation.ids if not (early and one in lost))
    federation.check(result)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    clients=st.integers(5, 40),
    length=st.integers(1, 60),
    largest=st.sampled_from([1, 3, 100, 2**31, 2**55]),
    share=st.sampled_from([0.0, 0.01, 0.03, 0.06, 0.12]),
    data=st.data(),
)
def test_any_cohort_pattern_and_vector_gives_the_plain_sum_or_a_clean_failure(
    clients: int, length: int, largest: int, share: float, data: st.DataObject
) -> None:
    federation = Federation(clients, length, largest)
    rng = data.draw(st.randoms(use_true_random=False))
    gone = {(stage, one) for stage in STAGES for one in federation.ids if rng.random() < share}
    try:
        result = federation.aggregate(lambda stage, one: (stage, one) in gone)
    except AggregationFailed:
        assert gone
        return
    early = {one for stage, one in gone if stage in STAGES[:5]}
    assert result.survivors == tuple(one for one in federation.ids if one not in early)
    federation.check(result)


def test_long_vectors_are_masked_and_summed_in_threads() -> None:
    federation = Federation(6, length=1 << 17)
    with threads(2):
        federation.check(aggregate(federation.announcement, federation.members, federation.answer))


@pytest.mark.parametrize("gone", [0, 4])
def test_every_client_knows_how_many_honest_ones_it_hides_among(gone: int) -> None:
    """On the roll that it saw itself, whoever left before; the server finds the same number."""
    federation = Federation(60)
    crowds: dict[int, Crowd] = {}

    def answers(client: int) -> Answer:
        def remember(crowd: Crowd) -> Vector:
            crowds[client] = crowd
            return federation.vector(client)

        return remember

    away = set(federation.ids[:gone])
    result = aggregate(
        federation.announcement, federation.members, answers, lambda stage, one: stage == STAGES[0] and one in away
    )
    federation.check(result)
    assert set(crowds) == set(federation.ids) - away
    assert {crowd.clients for crowd in crowds.values()} == {60 - gone}
    assert {crowd.honest for crowd in crowds.values()} == {result.parameters.honest}
    assert result.parameters.honest > 27  # more than half of all who are honest

"""Bytes: what is computed is what a round carries, and the smaller form is taken."""

import numpy as np
import pytest

from folkmoot.secagg.member import Policy
from folkmoot.secagg.parameters import choose
from folkmoot.secagg.sketch import Sketch
from folkmoot.secagg.together import STAGES, aggregate
from folkmoot.secagg.traffic import count_bytes, room_for, traffic
from tests.secagg.cohorts import Federation


@pytest.mark.parametrize("federation", [Federation(16), Federation(30, 3_000, 3), Federation(30, 50_000, 3, room=200)])
def test_computed_bytes_are_those_on_the_wire(federation: Federation) -> None:
    seen: dict[str, list[tuple[int, int]]] = {stage: [] for stage in STAGES}

    def watch(stage: str, _client: int, received: bytes, sent: bytes) -> None:
        seen[stage].append((len(received), len(sent)))

    aggregate(federation.announcement, federation.members, federation.answer, watch=watch)
    expected = traffic(federation.announcement, choose(federation.clients))
    for stage, sizes in seen.items():
        assert len(sizes) == federation.clients
        assert tuple(np.mean(sizes, axis=0)) == (expected.down[stage], expected.up[stage])


def test_the_smaller_form_is_chosen() -> None:
    assert room_for(1_000_000, 1_000, 20_000) == 20_000
    assert Sketch(1_000_000, 20_000, 1_000, b"").cells * 8 <= 224_000
    assert room_for(100_000, 1_000, 20_000) == 0  # 125,000 bytes written out
    assert room_for(1_000_000, 2**40, 100) == 0  # no bits left to check an item by
    assert room_for(10, 10, 10) == 0
    assert room_for(10, 10, 0) == 0


def test_too_few_or_too_many_for_a_round_are_the_vector_alone() -> None:
    assert count_bytes(2, 10, 255, 10, Policy()) == (0, 10)
    assert count_bytes(2**40, 10, 255, 10, Policy()) == (0, 10)
    assert count_bytes(30, 10, 255, 10, Policy(corrupt=0.4, dropout=0.4)) == (0, 10)
    assert count_bytes(3, 10, 255, 10, Policy())[1] > 10
    assert count_bytes(1000, 10, 255, 10, Policy(security=20)) < count_bytes(1000, 10, 255, 10, Policy())

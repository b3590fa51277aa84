"""Whole rounds: the sum is that of exactly those whose vectors arrived, or there is none."""

from itertools import product

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.secagg.client import Member, Policy, Roster
from folkmoot.secagg.messages import DENSE, Announcement
from folkmoot.secagg.parameters import choose
from folkmoot.secagg.server import AggregationFailed
from folkmoot.secagg.together import STAGES, aggregate

LENGTH, BITS = 40, 12


def cohort(clients: int) -> tuple[Announcement, dict[int, Member]]:
    keys = {7 * one + 3: Ed25519PrivateKey.from_private_bytes(one.to_bytes(32, "little")) for one in range(clients)}
    roster = Roster({one: key.public_key().public_bytes_raw() for one, key in keys.items()})
    chosen = choose(clients)
    announcement = Announcement(
        bytes(16), 1, bytes(32), roster.digest, clients, chosen.degree, chosen.threshold, LENGTH, BITS, DENSE
    )
    return announcement, {one: Member(one, key, roster, Policy(fewest=3)) for one, key in keys.items()}


def vector(client: int) -> np.ndarray:
    return np.random.default_rng(client).integers(0, 100, LENGTH).astype(np.uint32)


@pytest.mark.parametrize(("stage", "gone"), list(product(STAGES, [0, 1, 2])))
def test_dropouts_at_every_stage(stage: str, gone: int) -> None:
    announcement, members = cohort(20)
    lost = sorted(members)[3 : 3 + gone]
    result = aggregate(announcement, members, vector, lambda now, client: now == stage and client in lost)
    early = STAGES.index(stage) <= STAGES.index("vector")
    assert result.survivors == tuple(one for one in sorted(members) if not (early and one in lost))
    np.testing.assert_array_equal(result.total, sum(vector(one).astype(np.int64) for one in result.survivors) % 2**BITS)


def test_any_pattern_of_dropouts_gives_the_right_sum_or_none() -> None:
    rng = np.random.default_rng(0)
    announcement, members = cohort(16)
    right = failed = 0
    for share in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4) * 4:
        gone = {(stage, one) for stage in STAGES for one in members if rng.random() < share}
        try:
            result = aggregate(announcement, members, vector, lambda stage, one: (stage, one) in gone)
        except AggregationFailed:
            failed += 1
            continue
        exact = sum(vector(one).astype(np.int64) for one in result.survivors) % 2**BITS
        np.testing.assert_array_equal(result.total, exact)
        right += 1
    assert right >= 4
    assert failed >= 4

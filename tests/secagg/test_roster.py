"""One roster for a population: written out or derived on demand, they behave alike in a round."""

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.foundation.errors import InputError
from folkmoot.secagg import Announcement, Member, Policy, Refused, Roster, aggregate, serve, step
from folkmoot.secagg.primitives import digest
from folkmoot.secagg.wire import U32
from tests.secagg.cohorts import SESSION

POPULATION, COHORT, POLICY = 40, list(range(3, 27)), Policy(fewest=5)


def identity(client: int) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(digest(b"identity", U32.pack(client)))


def public_key(client: int) -> bytes:
    return identity(client).public_key().public_bytes_raw()


def derive(count: int) -> Roster:
    return Roster.derive("tests", count, public_key)


def write_out(count: int) -> Roster:
    return Roster({client: public_key(client) for client in range(count)})


def show(count: int) -> Roster:
    """Any mapping will do."""
    return Roster(MappingProxyType(dict(write_out(count).keys)))


KINDS = pytest.mark.parametrize("make", [derive, write_out, show], ids=lambda make: make.__name__)
Make = Callable[[int], Roster]


def announce(roster: Roster) -> Announcement:
    return Announcement(SESSION, 1, bytes(32), roster.digest, len(COHORT), 4, 9 * len(COHORT))


@KINDS
def test_a_round_over_a_part_of_the_population(make: Make) -> None:
    roster = make(POPULATION)
    members = {client: Member(client, identity(client), roster, POLICY) for client in COHORT}
    result = aggregate(
        announce(roster),
        members,
        lambda client: lambda _: np.array([1, 0, 9, client % 2]),
        lambda stage, client: (stage, client) in {("vector", 5), ("unmasking", 9)},
    )
    assert result.survivors == tuple(client for client in COHORT if client != 5)
    assert result.total.tolist() == [23, 0, 207, 11]


@KINDS
def test_who_is_on_it(make: Make) -> None:
    roster = make(POPULATION)
    assert roster.ids.tolist() == list(range(POPULATION))
    assert roster.knows(np.array([0, 7, POPULATION - 1]))
    assert not any(roster.knows(np.array([0, one])) for one in (POPULATION, 2**32 - 1))
    assert len(roster.keys) == POPULATION
    assert POPULATION - 1 in roster.keys
    assert not any(one in roster.keys for one in (-1, POPULATION, "1"))
    assert roster.keys[7] == public_key(7)
    with pytest.raises(KeyError):
        roster.keys[POPULATION]


@KINDS
def test_others_are_refused(make: Make) -> None:
    roster = make(POPULATION)
    for client, key in ((3, 4), (POPULATION, POPULATION), (2**32, 3)):
        with pytest.raises(InputError, match="not on the roster"):
            Member(client, identity(key), roster)
    with pytest.raises(InputError, match="announced"):
        next(serve(announce(roster), roster, [*COHORT[1:], POPULATION], POLICY))


@KINDS
def test_a_member_takes_no_announcement_under_another_roster(make: Make) -> None:
    member = Member(3, identity(3), make(POPULATION), POLICY)
    assert step(member, b"", announce(make(POPULATION)).encode(), lambda _: np.zeros(4, dtype=np.int64))[1]
    others = [make(POPULATION - 1), derive(POPULATION) if make is not derive else write_out(POPULATION)]
    for other in [*others, Roster.derive("other tests", POPULATION, public_key)]:
        with pytest.raises(Refused, match="roster"):
            step(member, b"", announce(other).encode(), lambda _: np.zeros(4, dtype=np.int64))


def test_digests_of_rosters_that_are_written_out_stay_as_they_are() -> None:
    roster = Roster({2: bytes(32), 1: bytes([1] * 32)})
    assert roster.digest == digest(b"roster", U32.pack(1) + bytes([1] * 32), U32.pack(2) + bytes(32))
    assert show(5).digest == write_out(5).digest


def test_a_million_clients_and_only_the_keys_that_are_used() -> None:
    asked: list[int] = []

    def derive_key(client: int) -> bytes:
        asked.append(client)
        return public_key(client)

    roster = Roster.derive("a million", 1_000_000, derive_key)
    assert len(roster.digest) == 32
    assert roster.knows(np.array([0, 999_999]))
    assert not roster.knows(np.array([1_000_000]))
    assert 999_999 in roster.keys
    assert not asked
    member = Member(999_999, identity(999_999), roster)
    assert roster.keys[member.id] == member.roster.keys[member.id] == public_key(999_999)
    assert asked == [999_999]


def test_derived_keys_are_checked_when_they_are_used() -> None:
    short = Roster.derive("short", 3, bytes)
    with pytest.raises(InputError, match="roster: client 2 needs a number below 2\\^32 and a key of 32 bytes"):
        short.keys[2]
    same = Roster.derive("same", 3, lambda _: bytes(32))
    assert same.keys[1] == bytes(32)
    with pytest.raises(InputError, match="roster: two clients have the same key"):
        same.keys[2]
    assert same.keys[1] == bytes(32)


@pytest.mark.parametrize("count", [0, -1, 2**32 + 1, 1.5])
def test_populations_that_cannot_be_are_refused(count: int) -> None:
    with pytest.raises(InputError, match="count"):
        Roster.derive("tests", count, public_key)

"""Degrees, thresholds, policies and rosters: what is refused, and what is said about what is not."""

from typing import Any

import pytest

from folkmoot.errors import InputError
from folkmoot.secagg.member import Member, Policy, Roster
from folkmoot.secagg.parameters import MOST, choose, is_safe, part_of
from folkmoot.secagg.server import AggregationFailed, serve
from tests.secagg.cohorts import Federation

# (clients, corrupt, dropout, malicious): (degree, threshold)
KNOWN = {
    (100, 0.05, 0.05, True): (16, 11),
    (1_000, 0.05, 0.05, True): (52, 37),
    (10_000, 0.05, 0.05, True): (62, 44),
    (100, 0.1, 0.1, True): (32, 22),
    (1_000, 0.1, 0.1, True): (96, 67),
    (10_000, 0.1, 0.1, True): (122, 85),
    (100_000, 0.1, 0.1, True): (134, 93),
    (1_000, 0.2, 0.1, True): (140, 104),
    (1_000, 0.05, 0.05, False): (30, 17),
}


@pytest.mark.parametrize(("asked", "known"), KNOWN.items(), ids=str)
def test_known_degrees_and_thresholds(asked: tuple[int, float, float, bool], known: tuple[int, int]) -> None:
    clients, corrupt, dropout, malicious = asked
    found = choose(clients, corrupt=corrupt, dropout=dropout, malicious=malicious)
    assert (found.degree, found.threshold) == known
    bad = part_of(corrupt, clients)
    assert is_safe(clients, *known, bad, malicious)
    assert not is_safe(clients, known[0], known[1] - 1, bad, malicious)


@pytest.mark.parametrize("wrong", [{"clients": 2}, {"clients": 10, "corrupt": 1.0}, {"clients": 10, "dropout": 0.9}])
def test_what_cannot_be_protected_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        choose(**wrong)


def test_more_clients_than_a_round_can_have() -> None:
    with pytest.raises(InputError, match="at most"):
        choose(MOST + 1)


@pytest.mark.parametrize("degree", [0, 1, 10, 11])
def test_a_degree_that_the_roll_cannot_have_is_not_safe(degree: int) -> None:
    assert not is_safe(10, degree, 6, 1, malicious=True)


@pytest.mark.parametrize(
    ("clients", "degree", "threshold", "bad", "malicious"),
    [
        (10, 8, 9, 1, True),  # no such threshold
        (1_000, 8, 7, 100, True),  # all eight may be corrupt
        (1_000, 8, 7, 100, False),
        (1_000, 96, 66, 100, True),  # two stories reach it
        (100, 4, 3, 0, True),  # two sums could come out
    ],
)
def test_what_is_not_safe(clients: int, degree: int, threshold: int, bad: int, malicious: bool) -> None:
    assert not is_safe(clients, degree, threshold, bad, malicious)


@pytest.mark.parametrize("malicious", [True, False])
def test_parameters_say_what_they_hold_against(malicious: bool) -> None:
    found = choose(100, malicious=malicious)
    assert ("malicious" if malicious else "curious") in str(found)
    assert f"over {found.honest} honest clients" in str(found)
    assert found.honest == (80 if not malicious else found.honest)
    assert 45 < found.honest <= 90


@pytest.mark.parametrize("keys", [{-1: bytes(32)}, {2**32: bytes(32)}, {1: bytes(31)}, {1: b""}], ids=str)
def test_a_roster_that_cannot_be_is_refused(keys: dict[int, bytes]) -> None:
    with pytest.raises(InputError, match="roster"):
        Roster(keys)


def test_two_clients_with_one_key_are_refused() -> None:
    with pytest.raises(InputError, match="same key"):
        Roster({1: bytes(32), 2: bytes(32)})


def test_a_member_that_is_not_the_one_on_the_roster_is_refused() -> None:
    federation = Federation(5)
    a, b = federation.ids[:2]
    for client in (b, 1, 2**32):
        with pytest.raises(InputError, match="not on the roster"):
            Member(client, federation.identities[a], federation.roster)


def test_a_round_over_others_than_announced_is_refused() -> None:
    federation = Federation(5)
    for clients in (federation.ids[1:], [*federation.ids[1:], 1], [*federation.ids[1:], federation.ids[1]]):
        with pytest.raises(InputError, match="announced"):
            next(serve(federation.announcement, federation.roster, clients, federation.policy))


@pytest.mark.parametrize(("fewest", "corrupt", "dropout"), [(-1, 0.1, 0.1), (5, 1.0, 0.1), (5, 0.1, -0.1)])
def test_policies_that_cannot_be_are_refused(fewest: int, corrupt: float, dropout: float) -> None:
    with pytest.raises(InputError):
        Policy(fewest, corrupt, dropout)


def test_terms_that_so_few_clients_cannot_meet_end_the_round() -> None:
    federation = Federation(10, policy=Policy(fewest=3, dropout=0.9))
    with pytest.raises(AggregationFailed, match="too few to bear"):
        federation.aggregate()

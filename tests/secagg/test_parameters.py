"""Degrees, thresholds, policies and rosters: what is refused, and what is said about what is not."""

from fractions import Fraction
from itertools import chain, product
from math import comb
from typing import Any

import pytest

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import SECURITY
from folkmoot.secagg.faults import AggregationFailed
from folkmoot.secagg.member import Member, Policy, Roster
from folkmoot.secagg.parameters import CORRECTNESS, MOST, choose, count_share, is_safe
from folkmoot.secagg.server import serve
from tests.secagg.cohorts import Federation

# (clients, corrupt, dropout, security): (degree, threshold)
KNOWN = {
    (50, 0.05, 0.05, 40): (10, 8),
    (1_000, 0.05, 0.05, 40): (52, 37),
    (1_000, 0.1, 0.1, 40): (96, 67),
    (100, 0.05, 0.05, 64): (18, 13),
    (1_000, 0.05, 0.05, 64): (60, 44),
    (10_000, 0.05, 0.05, 64): (74, 54),
    (100, 0.1, 0.1, 64): (32, 22),
    (1_000, 0.1, 0.1, 64): (112, 80),
    (10_000, 0.1, 0.1, 64): (144, 103),
    (100_000, 0.1, 0.1, 64): (158, 112),
    (1_000, 0.2, 0.1, 64): (164, 124),
    (150, 0.18, 0.05, 64): (42, 35),
}


@pytest.mark.parametrize(("asked", "known"), KNOWN.items(), ids=str)
def test_known_degrees_and_thresholds(asked: tuple[int, float, float, int], known: tuple[int, int]) -> None:
    clients, corrupt, dropout, security = asked
    found = choose(clients, corrupt=corrupt, dropout=dropout, security=security)
    assert (found.degree, found.threshold) == known
    bad = count_share(corrupt, clients)
    assert is_safe(clients, *known, bad, security)
    assert not is_safe(clients, known[0], known[1] - 1, bad, security)


def test_64_bits_unless_told_otherwise() -> None:
    assert (SECURITY, CORRECTNESS) == (64, 20)
    assert choose(100) == choose(100, security=64, correctness=20) == Policy().protection(100)
    assert Policy().security == 64
    assert choose(1_000, security=40).degree < choose(1_000).degree


@pytest.mark.parametrize(("share", "clients", "part"), [(0.18, 150, 27), (0.29, 100, 29), (0.1, 9, 0), (0.07, 100, 7)])
def test_a_share_of_clients_is_what_it_is_on_paper(share: float, clients: int, part: int) -> None:
    """150 times 0.18 is a little less than 27 in binary: one corrupt client fewer would be withstood than was said."""
    assert count_share(share, clients) == part
    assert choose(150, corrupt=0.18, dropout=0.05).bad == 27


def upper_tail(clients: int, special: int, drawn: int, hits: int) -> Fraction:
    """P[more than so many of the special ones among those drawn], exactly."""
    ways = sum(comb(special, hit) * comb(clients - special, drawn - hit) for hit in range(hits + 1, drawn + 1))
    return Fraction(ways, comb(clients, drawn))


def is_fine(n: int, bad: int, gone: int, degree: int, threshold: int, security: int, correctness: int) -> bool:
    """By the definition in parameters.py, in whole numbers. A client draws among the n − 1 others, and all of those who
    are corrupt or gone may be among them.
    """
    corrupt = next(h for h in range(n) if upper_tail(n - 1, bad, degree, h) * n <= Fraction(1, 2 ** (security + 1)))
    if 2 * threshold <= degree + corrupt:
        return False
    if upper_tail(n - 1, gone, degree, degree - threshold) * n > Fraction(1, 2**correctness):
        return False
    honest, chance = n - bad, Fraction(0)
    for size in range(1, honest // 2 + 1):  # a sum of no more than half of the honest ones, and so one of two
        chance += comb(honest, size) * upper_tail(n - 1, bad + size - 1, degree, threshold - 1) ** size
    return chance <= Fraction(1, 2 ** (security + 1))


@pytest.mark.parametrize("n", range(3, 15))
def test_the_choice_is_the_smallest_that_is_fine(n: int) -> None:
    """Every even degree before it, and all others as neighbours, with every threshold."""
    shares = [0.0, 0.1, 0.2, 0.34]
    for corrupt, dropout, security, correctness in product(shares, shares, (2, 10, 64), (3, 20)):
        bad, gone = count_share(corrupt, n), count_share(dropout, n)
        possible = (
            (degree, threshold)
            for degree in chain(range(2, n - 1, 2), [n - 1])
            for threshold in range(1, degree + 1)
            if is_fine(n, bad, gone, degree, threshold, security, correctness)
        )
        try:
            found = choose(n, corrupt=corrupt, dropout=dropout, security=security, correctness=correctness)
        except InputError:
            assert next(possible, None) is None
            continue
        assert (found.degree, found.threshold) == next(possible)


@pytest.mark.parametrize("wrong", [{"clients": 2}, {"clients": 10, "corrupt": 1.0}, {"clients": 10, "dropout": 0.9}])
def test_what_cannot_be_protected_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        choose(**wrong)


def test_more_clients_than_a_round_can_have() -> None:
    with pytest.raises(InputError, match="at most"):
        choose(MOST + 1)


@pytest.mark.parametrize("degree", [0, 1, 10, 11])
def test_a_degree_that_the_roll_cannot_have_is_not_safe(degree: int) -> None:
    assert not is_safe(10, degree, 6, 1)


@pytest.mark.parametrize(
    ("clients", "degree", "threshold", "bad"),
    [
        (10, 8, 9, 1),  # no such threshold
        (1_000, 8, 7, 100),  # all eight may be corrupt
        (1_000, 112, 79, 100),  # two stories reach it
        (100, 4, 3, 0),  # two sums could come out
    ],
)
def test_what_is_not_safe(clients: int, degree: int, threshold: int, bad: int) -> None:
    assert not is_safe(clients, degree, threshold, bad)


def test_parameters_say_what_they_hold_against() -> None:
    found = choose(100)
    assert "malicious server with 10% of the clients except with probability 2^-64" in str(found)
    assert f"over {found.honest} honest clients" in str(found)
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


@pytest.mark.parametrize(
    "wrong", [{"fewest": -1}, {"corrupt": 1.0}, {"dropout": -0.1}, {"security": 0}, {"unfinished": 0}], ids=str
)
def test_policies_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Policy(**wrong)


def test_terms_that_so_few_clients_cannot_meet_end_the_round() -> None:
    federation = Federation(10, policy=Policy(fewest=3, dropout=0.9))
    with pytest.raises(AggregationFailed, match="too few to withstand"):
        federation.aggregate()


@pytest.mark.parametrize(
    ("clients", "corrupt", "dropout", "sentence"),
    [
        (4, 0.25, 0.3, "4 are too few to withstand 25% corrupt clients and 30% dropouts; ask more"),
        (50, 0.1, 0.45, "50 are too few to withstand 10% corrupt clients and 45% dropouts, and so is any"),
        (MOST, 0.1, 0.5, ", and so is any number"),  # at once
    ],
)
def test_shares_that_no_number_of_clients_can_bear_are_told_apart(
    clients: int, corrupt: float, dropout: float, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        choose(clients, corrupt=corrupt, dropout=dropout)

"""Shares with marks and lines: an honest dealing fits, any other number does not, and the line says nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot.secagg import shamir
from folkmoot.secagg.dealing import (
    CASE,
    COLUMNS,
    CONTENT,
    MARK,
    MASKING,
    OWN,
    SHARE,
    VALUES,
    Dealing,
    are_on_lines,
    case_of,
    challenge_of,
    combine,
    count_coins,
    deal,
    mark,
    mark_of,
    polynomials,
    values_of,
)
from folkmoot.secagg.primitives import SEED
from folkmoot.secagg.shamir import PRIME

SECRET = st.binary(min_size=SEED, max_size=SEED)
SIZES = st.integers(1, 8).flatmap(lambda threshold: st.tuples(st.just(threshold), st.integers(threshold, 12)))
NUMBER = st.integers(0, PRIME - 1)
SEEDS = st.integers(0, 2**32)


def deal_secrets(own: bytes, masking: bytes, sizes: tuple[int, int], seed: int) -> Dealing:
    threshold, holders = sizes
    return deal(own, masking, holders, threshold, np.random.default_rng(seed).bytes(count_coins(threshold)))


def compare_with_lines(contents: list[bytes], challenge: int, values: list[bytes]) -> list[list[bool]]:
    """Of each holder, whether both shares are on their lines."""
    halves = [half for content in contents for half in (content[:SHARE], content[SHARE:])]
    found = are_on_lines(halves, [challenge] * len(halves), values)
    return found.reshape(-1, 2).tolist()


@settings(max_examples=60)
@given(own=SECRET, masking=SECRET, sizes=SIZES, seed=SEEDS, challenge=NUMBER)
def test_an_honest_dealing_fits_and_brings_both_secrets_back(
    own: bytes, masking: bytes, sizes: tuple[int, int], seed: int, challenge: int
) -> None:
    threshold, holders = sizes
    dealing = deal_secrets(own, masking, sizes, seed)
    lines = dealing.lines(challenge)
    values = values_of(lines, holders)
    assert len(lines) == 16 * threshold
    assert values is not None
    assert {len(value) for value in values} == {VALUES}
    assert {len(content) for content in dealing.contents} == {CONTENT}
    assert compare_with_lines(dealing.contents, challenge, values) == [[True, True]] * holders
    points = np.random.default_rng(seed).permutation(holders)[:threshold] + 1
    for secret, half in ((own, slice(SHARE)), (masking, slice(SHARE, None))):
        rows = shamir.from_bytes([dealing.contents[point - 1][half] for point in points])
        assert shamir.combine(points, rows[:, :-1], SEED) == secret


@settings(max_examples=150)
@given(
    sizes=SIZES, seed=SEEDS, challenge=st.integers(1, PRIME - 1), by=st.integers(1, PRIME - 1),
    place=st.integers(0, 11), column=st.integers(0, 2 * COLUMNS - 1),
)  # fmt: skip
def test_any_number_that_is_changed_misses_its_line_and_no_other(
    sizes: tuple[int, int], seed: int, challenge: int, by: int, place: int, column: int
) -> None:
    """For every challenge but 0, by any number: the line has each limb times a power of the challenge."""
    holders = sizes[1]
    place %= holders
    dealing = deal_secrets(bytes(SEED), bytes(SEED), sizes, seed)
    values = values_of(dealing.lines(challenge), holders)
    assert values is not None
    numbers = [int(number) for number in np.frombuffer(dealing.contents[place], dtype="<u8")]
    numbers[column] = (numbers[column] + by) % PRIME
    contents = list(dealing.contents)
    contents[place] = np.array(numbers, dtype="<u8").tobytes()
    expected = [[True, True] for _ in range(holders)]
    expected[place][column // COLUMNS] = False
    assert compare_with_lines(contents, challenge, values) == expected


@settings(max_examples=60)
@given(sizes=SIZES, seed=SEEDS, challenge=st.integers(1, PRIME - 1), by=st.integers(1, PRIME - 1), data=st.data())
def test_any_number_of_a_line_that_is_changed_misses_all_holders(
    sizes: tuple[int, int], seed: int, challenge: int, by: int, data: st.DataObject
) -> None:
    """One coefficient moves the line everywhere but at 0."""
    threshold, holders = sizes
    dealing = deal_secrets(bytes(SEED), bytes(SEED), sizes, seed)
    numbers = [int(number) for number in np.frombuffer(dealing.lines(challenge), dtype="<u8")]
    changed = data.draw(st.integers(0, len(numbers) - 1))
    numbers[changed] = (numbers[changed] + by) % PRIME
    values = values_of(np.array(numbers, dtype="<u8").tobytes(), holders)
    assert values is not None
    half = changed // threshold
    assert compare_with_lines(dealing.contents, challenge, values) == [[half == 1, half == 0]] * holders


@pytest.mark.parametrize("column", range(2 * COLUMNS))
def test_a_number_written_another_way_does_not_fit(column: int) -> None:
    """One more of the prime is the same number of the field; a share has one form."""
    dealing = deal_secrets(bytes(SEED), bytes(SEED), (2, 3), 0)
    values = values_of(dealing.lines(5), 3)
    assert values is not None
    numbers = np.frombuffer(dealing.contents[0], dtype="<u8").copy()
    numbers[column] += PRIME
    expected = [True, True]
    expected[column // COLUMNS] = False
    assert compare_with_lines([numbers.tobytes()], 5, values[:1]) == [expected]


@pytest.mark.parametrize("number", [PRIME, PRIME + 1, 2**64 - 1])
@pytest.mark.parametrize("place", range(4))
def test_lines_that_are_not_of_the_field_say_nothing(number: int, place: int) -> None:
    numbers = np.zeros(4, dtype="<u8")
    numbers[place] = number
    assert values_of(numbers.tobytes(), 3) is None


@settings(max_examples=60)
@given(one=SECRET, other=SECRET, threshold=st.integers(1, 8), challenge=NUMBER, seed=SEEDS)
def test_the_line_says_nothing(one: bytes, other: bytes, threshold: int, challenge: int, seed: int) -> None:
    """For any two secrets, and any polynomials of their limbs, there is exactly one blind for the second that gives the
    line of the first: with a uniform blind, the line is as likely for the one as for the other.
    """
    rng = np.random.default_rng(seed)
    first = polynomials(one, threshold, rng.bytes(count_coins(threshold) // 2))
    second = polynomials(other, threshold, rng.bytes(count_coins(threshold) // 2))
    line = combine(first, challenge)
    second[:, -1] = 0
    limbs = combine(second, challenge)
    second[:, -1] = [(int(a) - int(b)) % PRIME for a, b in zip(line, limbs, strict=True)]
    np.testing.assert_array_equal(combine(second, challenge), line)
    assert [shamir.from_limbs(poly[0, :-1], SEED) for poly in (first, second)] == [one, other]


@settings(max_examples=60)
@given(threshold=st.integers(2, 8), challenge=NUMBER, seed=SEEDS, one=SECRET, other=SECRET)
def test_the_line_and_fewer_shares_than_the_threshold_say_nothing(
    threshold: int, challenge: int, seed: int, one: bytes, other: bytes
) -> None:
    """For any other secret there are polynomials with the same shares at all points but one fewer than the threshold,
    and the same line: limbs move by multiples of (x − 1)…(x − threshold + 1), the blind by what makes up for it.
    """
    rng = np.random.default_rng(seed)
    mine = polynomials(one, threshold, rng.bytes(count_coins(threshold) // 2))
    vanishing = [1]  # coefficients, from the lowest
    for root in range(1, threshold):
        vanishing = [(low - root * high) % PRIME for low, high in zip([0, *vanishing], [*vanishing, 0], strict=True)]
    shift = [int(a) - int(b) for a, b in zip(shamir.to_limbs(other), mine[0, :-1], strict=True)]
    inverse = pow(vanishing[0], -1, PRIME)
    moves = [[step * inverse % PRIME * power % PRIME for step in shift] for power in vanishing]
    theirs = np.array(
        [
            [
                *((int(a) + move) % PRIME for a, move in zip(row[:-1], moved, strict=True)),
                (int(row[-1]) - sum(move * challenge**k for k, move in enumerate(moved, start=1))) % PRIME,
            ]
            for row, moved in zip(mine, moves, strict=True)
        ],
        dtype=np.uint64,
    )
    shares = [np.empty((threshold - 1, COLUMNS), dtype=np.uint64) for _ in range(2)]
    for poly, out in zip((mine, theirs), shares, strict=True):
        shamir.evaluate(poly, out)
    np.testing.assert_array_equal(shares[0], shares[1])
    np.testing.assert_array_equal(combine(mine, challenge), combine(theirs, challenge))
    assert shamir.from_limbs(theirs[0, :-1], SEED) == other


@settings(max_examples=60)
@given(
    content=st.binary(min_size=CONTENT, max_size=CONTENT), place=st.integers(0, CONTENT - 1), flip=st.integers(1, 255)
)
def test_marks_are_of_one_share_of_one_dealer_for_one_holder(content: bytes, place: int, flip: int) -> None:
    both = mark(b"state", 1, 2, content)
    shares = content[:SHARE], content[SHARE:]
    assert both == b"".join(mark_of(which, b"state", 1, 2, shares[which]) for which in (OWN, MASKING))
    others = [mark(b"other", 1, 2, content), mark(b"state", 2, 1, content), mark(b"state", 1, 3, content)]
    assert len({both, *others}) == 4
    changed = content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :]
    again = mark(b"state", 1, 2, changed)
    halves = [both[:MARK] == again[:MARK], both[MARK:] == again[MARK:]]
    assert halves == [place >= SHARE, place < SHARE]
    assert mark_of(OWN, b"state", 1, 2, shares[0]) != mark_of(MASKING, b"state", 1, 2, shares[0])


def test_challenges_follow_from_all_that_was_sealed() -> None:
    found = {
        challenge_of(state, dealer, sealed)
        for state in (b"a", b"b")
        for dealer in (1, 2)
        for sealed in ({1: b""}, {1: b"x"})
    }
    assert len(found) == 8
    assert all(0 <= one < PRIME for one in found)


def test_cases_follow_from_all_that_a_holder_is_given() -> None:
    found = {
        case_of(sealed, values, challenge)
        for sealed in (bytes(144), b"\1" * 144)
        for values in (bytes(VALUES), b"\1" * VALUES)
        for challenge in (0, 1)
    }
    assert len(found) == 8
    assert {len(one) for one in found} == {CASE}

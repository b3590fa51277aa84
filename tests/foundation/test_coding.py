"""Numbers as small integers, and coins: the same in Python and in kernels, fair, and in no order."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import chdtri

from folkmoot.foundation.coding import Coding, CodingScalars, code_column, code_rows, encode_number
from folkmoot.foundation.coins import MASK64, coins, hash_triple, key_of, mix, mix_int
from folkmoot.foundation.private_coins import CoinKey, PrivateCoins, toss_coin
from folkmoot.foundation.sets import Array, Ids
from folkmoot.matroids.matroid import Limits
from folkmoot.questions.local import choose_best, rank
from tests.coins import toss_bits

KEY = CoinKey.of(np.uint64(77), np.uint64(2**63 + 5))
CHANCE = 1e-9  # that a test of fairness fails although coins are fair
EDGES = [0, 1, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
NUMBERS = [*EDGES, *(int(k) for k in np.random.default_rng(0).integers(0, 2**64, 200, dtype=np.uint64))]


def hashed_in_python(key: int, client: int, item: int) -> int:
    return mix_int(mix_int(key ^ client) ^ item)


def coin_in_python(key: int, client: int, item: int) -> float:
    return (hashed_in_python(key, client, item) >> 11) * 2.0**-53


def test_the_hash_is_splitmix64() -> None:
    """As published for the seeds 0 and 1234567 (splitmix64.c, Vigna 2015)."""
    golden = 0x9E3779B97F4A7C15
    assert mix_int(0) == 0xE220A8397B1DCDAF
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [mix_int((1234567 + k * golden) & MASK64) for k in range(4)] == known


def test_python_and_kernels_hash_alike() -> None:
    for z in NUMBERS:
        assert int(mix(np.uint64(z))) == mix_int(z)
    clients, items = [0, 5, 2**31, 2**40], [0, 7, 65_535, 2**33]
    for key, client, item in product(EDGES, clients, items):
        assert int(hash_triple(np.uint64(key), client, item)) == hashed_in_python(key, client, item)
        assert coins(np.uint64(key), np.array([client]), item)[0] == coin_in_python(key, client, item)


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64])
def test_items_of_any_width_toss_the_same_coin(dtype: type) -> None:
    start = np.array([0, 2, 3])
    items: NDArray[Any] = np.array([3, 60_000, 1], dtype=dtype)
    own = PrivateCoins.derive(5)
    how = Coding(0.25, 15, True, own.key).scalars
    values = np.array([0.33, 1.1, 2.9])
    found = code_rows(start, items, values, how, np.array([4, 2**40]))
    at = [(4, int(items[0])), (4, int(items[1])), (2**40, int(items[2]))]
    scaled = values / 0.25
    up = [toss_coin(own.key, *who) < part % 1 for part, who in zip(scaled, at, strict=True)]
    assert found.tolist() == (np.floor(scaled) + up).tolist()


def test_keys_tell_their_parts_apart() -> None:
    parts = list(product([-3, -1, 0, 1, 2, 2**64 - 1], repeat=2))
    keys = {key_of(*pair) for pair in parts} | {key_of(one) for one, _ in parts} | {key_of()}
    assert len(keys) == 25 + 5 + 1  # pairs, single parts, nothing; −1 and 2^64 − 1 are the same part
    assert all(0 <= key <= MASK64 for key in keys)
    assert key_of(1, 2) != key_of(2, 1)
    assert key_of(key_of(1, 2), 3) != key_of(1, 2, 3)


def fair(counts: NDArray[Any]) -> bool:
    """Pearson's test: all cells alike."""
    expected = counts.sum() / counts.size
    return float(((counts - expected) ** 2 / expected).sum()) <= float(chdtri(counts.size - 1, CHANCE))


def toss_one(key: int, item: int) -> float:
    return float(coins(np.uint64(key), np.array([3]), item)[0])


def along(name: str, count: int) -> Array:
    """Coins whose names differ in one part only."""
    if name == "clients":
        return coins(np.uint64(key_of(1)), np.arange(count), 3)
    if name == "items":
        return np.array([toss_one(key_of(1), item) for item in range(count)])
    if name == "rounds":
        return np.array([toss_one(key_of(1, number), 3) for number in range(count)])
    return np.array([toss_one(key, 3) for key in range(count)])


@pytest.mark.parametrize("name", ["clients", "items", "rounds", "keys"])
def test_coins_are_fair_and_do_not_know_their_neighbours(name: str) -> None:
    """Fails by chance with probability below 3e-9."""
    tossed = along(name, 40_000)
    assert tossed.min() >= 0
    assert tossed.max() < 1
    assert fair(np.histogram(tossed, 100, (0, 1))[0])
    assert fair(np.histogram2d(tossed[:-1:2], tossed[1::2], 16, ((0, 1), (0, 1)))[0])
    low_bits = (tossed * 2.0**53).astype(np.uint64) & np.uint64(63)
    assert fair(np.bincount(low_bits.astype(np.int64), minlength=64))


def test_coins_fall_alike_in_any_order() -> None:
    ids, order = np.arange(500) * 7, np.random.default_rng(1).permutation(500)
    key = np.uint64(key_of(5))
    tossed = coins(key, ids, 2)
    np.testing.assert_array_equal(coins(key, ids[order], 2), tossed[order])
    np.testing.assert_array_equal(np.concatenate((coins(key, ids[:9], 2), coins(key, ids[9:], 2))), tossed)
    assert tossed.tolist() == [coin_in_python(key_of(5), int(client), 2) for client in ids]


def how(unit: float, limit: int, *, stochastic: bool, seed: int = 1) -> CodingScalars:
    return Coding(unit, limit, stochastic, PrivateCoins.derive(seed).key).scalars


@pytest.mark.parametrize("stochastic", [False, True])
def test_what_is_no_number_in_range_is_cut_off(stochastic: bool) -> None:
    rule = how(0.5, 7, stochastic=stochastic)
    for value in (np.nan, -np.inf, -1.0, -5e-324, -0.0, 0.0):
        assert encode_number(value, rule, 1, 1) == 0
    for value in (3.5, 3.6, 1e300, np.inf):
        assert encode_number(value, rule, 1, 1) == 7
    column = np.array([np.nan, -1.0, 1e300])
    assert code_column(column, rule, np.arange(3), 0).tolist() == [0, 0, 7]


@pytest.mark.parametrize("limit", [1, 15, 2**20 - 1, 2**24 - 1, 2**32 - 1])
def test_no_coin_leads_above_the_limit(limit: int) -> None:
    """Just below the limit, where any sum of number and coin is rounded itself."""
    rule = how(1.0, limit, stochastic=True)
    below = np.full(2000, np.nextafter(float(limit), 0.0))
    found = code_column(below, rule, np.arange(2000), 0)
    assert found.max() == limit
    assert found.min() >= limit - 1
    nearest = how(1.0, limit, stochastic=False)
    assert encode_number(float(np.nextafter(float(limit), 0.0)), nearest, 0, 0) == limit


def test_numbers_are_rounded_to_the_nearest_unit() -> None:
    values = np.random.default_rng(3).random(300) * 2
    unit = 1.7 / (2**20 - 1)
    found = code_column(values, how(unit, 2**20 - 1, stochastic=False), np.arange(300), 0)
    assert (np.abs(found * unit - np.minimum(values, 1.7)) <= unit * 0.500001).all()
    whole = np.arange(16.0)
    assert code_column(whole, how(1.0, 15, stochastic=False), np.arange(16), 0).tolist() == list(range(16))
    assert encode_number(2.5, how(1.0, 15, stochastic=False), 0, 0) == 3  # half-way: up


def test_coins_round_up_or_down_and_leave_whole_numbers_alone() -> None:
    ids = np.arange(400)
    rule = how(0.125, 15, stochastic=True, seed=6)
    for number in range(16):
        assert (code_column(np.full(400, number / 8), rule, ids, 0) == number).all()
    found = code_column(np.full(400, 5.25 / 8), rule, ids, 9)
    tossed = PrivateCoins.derive(6).toss(ids, 9)
    assert found.tolist() == np.where(tossed < 0.25, 6, 5).tolist()


def rows_of(rng: np.random.Generator, rows: int, items: int) -> tuple[Ids, Ids, Ids]:
    counts = rng.integers(0, items + 1, rows)
    start = np.concatenate(([0], np.cumsum(counts)))
    held = np.concatenate([rng.permutation(items)[:count] for count in counts])
    return start, held, rng.integers(0, 4, len(held))


def test_ranks_are_by_gain_and_then_by_coin() -> None:
    rng = np.random.default_rng(4)
    for client in range(30):
        items, gains = rng.permutation(12), rng.integers(0, 4, 12)
        expected = sorted(range(12), key=lambda k: (-gains[k], toss_bits(KEY, client, int(items[k]))))
        assert rank(items, gains, KEY, client).tolist() == expected


def test_groups_are_filled_best_first() -> None:
    rng = np.random.default_rng(5)
    group, capacity = np.arange(12) % 4, np.array([1, 2, 0, 5])
    start, items, gains = rows_of(rng, 40, 12)
    ids = rng.permutation(1000)[:40]
    chosen: NDArray[np.bool_] = np.zeros(len(items), dtype=bool)
    choose_best(start, items, gains, Limits(np.arange(13), group, capacity), KEY, ids, chosen)
    for row in range(40):
        places = range(int(start[row]), int(start[row + 1]))
        client, room, expected = int(ids[row]), capacity.copy(), set()
        for at in sorted(places, key=lambda k: (-gains[k], toss_bits(KEY, client, int(items[k])))):
            if gains[at] > 0 and room[group[items[at]]] > 0:
                room[group[items[at]]] -= 1
                expected.add(at)
        assert {at for at in places if chosen[at]} == expected

"""What a server learns of single clients by choosing the coins that a question names, the range and the rounds.

Rounding coins that a server can compute turn every sum into questions about single clients. Each program here is such a
server; it reads single entries if coins follow from what it knows, and no more than a guess if they do not.
"""

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import folkmoot as fm
from folkmoot.conversation.rounds import Ask, read_reply
from folkmoot.engines import FolderStore
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.private_coins import SIMULATED, PrivateCoins
from folkmoot.foundation.sets import Array, Mask
from folkmoot.questions import Gains, Gradient, Participation, Within
from tests.engines.pools import POLICY, ask_all, make_engine, make_parties
from tests.foundation.test_private_coins import undo_mix

SIZES = (12, 12, 12, 12, 12)
CLIENTS, ITEMS = sum(SIZES), 12
EXCESS = 20  # the range that the server names is so many times too large
Asker = Callable[[Ask], NDArray[np.int64]]


def find_key(client: int, item: int, coin: float, rest: int) -> int:
    """A key of public coins with which this client's coin for this item is this one; rest: 11 bits to choose."""
    wanted = int(coin * 2**53) << 11 | rest
    return undo_mix(undo_mix(wanted) ^ item) ^ client


def question(key: int, most: float) -> Gradient:
    """One bit per item: whether the client's coin lies below its value, as a share of a range that is too large."""
    single = EXCESS * most
    return Gradient(x=np.zeros(ITEMS), whole=single, single=single, bits=1, stochastic=True, coins=PublicCoins(key))


def open_parties(values: Array) -> Asker:
    """Sums of the whole population, round by round, from five parties on their usual terms."""
    objective = fm.FacilityLocation(values)
    parties = make_parties(objective, sizes=SIZES, coins=lambda number: PrivateCoins.derive(number))
    engine = make_engine(parties)

    def ask(question: Ask) -> NDArray[np.int64]:
        said = engine(question)
        assert not said.lost, {refusal.why for party in parties.values() for refusal in party.refusals}
        return said.total[:ITEMS]

    return ask


def predict_coins(key: int, item: int) -> Array:
    """What a server believes of everybody's coins for an item."""
    return PublicCoins(key).toss(np.arange(CLIENTS), item)


def bisect(ask: Asker, client: int, item: int, most: float, first: int) -> float:
    """A client's value of an item, in 16 rounds: its coin is put on a threshold, and nobody else's below any value."""
    low, high = 0.0, 1.0 / EXCESS
    for step in range(16):
        threshold = (low + high) / 2
        for rest in range(2048):
            key = find_key(client, item, threshold, rest)
            others = np.delete(predict_coins(key, item), client)
            if others.min() > 1.0 / EXCESS:
                break
        above = ask(ask_all(question(key, most), first + step))[item] > 0
        low, high = (threshold, high) if above else (low, threshold)
    return (low + high) / 2 * EXCESS * most


def test_bisection_finds_no_value() -> None:
    """Of six values, a guess is within 1 % of the range of each with probability 2 % at most: three or more are with
    probability 2e-4. With coins that the server can compute, all six are found to four digits.
    """
    rng = np.random.default_rng(3)
    values = rng.uniform(0.5, 4.5, (CLIENTS, ITEMS)) * (rng.random((CLIENTS, ITEMS)) < 0.5)
    most = float(values.max())
    targets = [(int(client), int(np.flatnonzero(values[client])[0])) for client in rng.choice(CLIENTS, 6, False)]
    ask = open_parties(values)
    found = [bisect(ask, client, item, most, 16 * at) for at, (client, item) in enumerate(targets)]
    off = np.abs(np.array(found) - [values[client, item] for client, item in targets]) / most
    assert (off < 0.01).sum() < 3


def test_facts_about_single_clients_are_guesses() -> None:
    """94 rounds with a range that is too large, each with coins of its own. Whoever knows them has 94 equations in 60
    unknowns for each item, and solves them. A guess of who likes what is right half of the time: 60 % of 720 are right
    with probability 1e-8.
    """
    rng = np.random.default_rng(5)
    likes = rng.random((CLIENTS, ITEMS)) < 0.5
    ask = open_parties(np.where(likes, 3.0, 0.0))
    sums, candidates = [], []
    for at in range(94):
        key = int(rng.integers(2**63))
        sums.append(ask(ask_all(question(key, 3.0), at)))
        candidates.append([predict_coins(key, item) < 1.0 / EXCESS for item in range(ITEMS)])
    right = 0
    for item in range(ITEMS):
        system = np.array([one[item] for one in candidates], dtype=np.float64)
        solved = np.linalg.lstsq(system, np.array([one[item] for one in sums], dtype=np.float64), rcond=None)[0]
        right += int(((solved > 0.5) == likes[:, item]).sum())
    assert right < 0.6 * likes.size


def test_parties_draw_secrets_of_their_own_and_keep_them(tmp_path: Path) -> None:
    """A party that is started again answers with the same coins; no two parties have the same, nor a simulation's."""
    objective = fm.FacilityLocation(np.random.default_rng(1).random((CLIENTS, ITEMS)))
    secrets = []
    for _ in range(2):
        with ExitStack() as stack:

            def open_store(number: int, stack: ExitStack = stack) -> FolderStore:
                return stack.enter_context(closing(FolderStore(tmp_path / str(number))))

            parties = make_parties(objective, POLICY, open_store, sizes=SIZES, coins=lambda _: None)
            secrets.append([party.coins.secret for party in parties.values()])
    assert secrets[0] == secrets[1]
    assert len({*secrets[0], SIMULATED.secret}) == len(SIZES) + 1


def test_sums_by_private_coins_are_right_on_average() -> None:
    """400 rounds of four parties with secrets of their own: each of 12 means within five standard errors, which chance
    breaks with probability 1e-5.
    """
    objective = fm.FacilityLocation(np.random.default_rng(1).random((CLIENTS, ITEMS)))
    exact = objective.mean_gains(())
    engine = make_engine(make_parties(objective, sizes=SIZES, coins=lambda number: PrivateCoins.derive(number)))
    rounds = []
    for at in range(400):
        said = engine(ask_all(question(at, 1.0), at))
        rounds.append(read_reply(question(at, 1.0), said).mean)
    error = np.std(rounds, axis=0) / 20
    assert (np.abs(np.mean(rounds, axis=0) - exact) < 5 * error).all()
    assert (error < 0.2 * exact).all()


def test_a_kept_coin_is_compared_with_one_chance_only() -> None:
    """Whoever answers one question answers all others with this number, where chances are the same. Clients who know
    only some of the items have other chances, so other coins: 140 of 200 agree with probability 1e-8.
    """
    clients = fm.FacilityLocation(np.random.default_rng(1).random((200, 4)))
    who = Participation(even=0.5, slope=1e-9, own="single")

    def volunteer(draw: int, *some: int) -> Mask:
        gains = Gains(members=np.zeros(2, dtype=bool), items=np.arange(2), most=9.0, who=who, draw=draw, sample=1)
        inner = Within(items=np.array(some), question=gains)
        willing = inner.takes_part(clients, np.arange(200), np.ones(200, dtype=np.int64), PrivateCoins.derive(draw))
        assert willing is not None
        return willing

    first = volunteer(1, 0, 1)
    np.testing.assert_array_equal(first, volunteer(1, 0, 1))
    assert (first == volunteer(1, 2, 3)).sum() < 140

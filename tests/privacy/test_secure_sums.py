"""Noise in sums by the whole protocol: the same as in a simulation, as much as is stated, and enough against attacks.

Where chance decides, a test fails with a probability of at most CHANCE if all is right; seeds are fixed.
"""

from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, chi2, norm

from folkmoot import Coverage, FacilityLocation, Objective, Privacy, Simulation, solve
from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.population import Cohort
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.foundation.sets import Array
from folkmoot.privacy.noise import KeyedNoise, choose_sd
from folkmoot.questions.hidden import Direction
from folkmoot.secagg import Policy
from tests.coins import toss_for
from tests.conversation.around import Around
from tests.conversation.test_exposure import homes

CHANCE = 1e-6


class Server(Around):
    """Keeps to the protocol, and remembers what it was told."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.view: list[tuple[Ask, Sum]] = []

    def add_up(self, ask: Ask, control: Control) -> Sum:
        self.view.append((ask, super().add_up(ask, control)))
        return self.view[-1][1]


def tastes(clients: int, items: int, seed: int = 0) -> Objective:
    rng = np.random.default_rng(seed)
    stars = rng.integers(1, 6, (clients, items)) * (rng.random((clients, items)) < np.linspace(0.6, 0.05, items))
    return FacilityLocation(stars.astype(float), most=5.0, keep_empty=True)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["zero-out", "replace-one"])
def test_the_protocol_gives_the_same_noisy_sums_as_a_simulation(adjacency: str) -> None:
    """A whole run with a tenth of the clients dropping out in any exchange: bit for bit, round by round."""
    objective = tastes(80, 24)
    servers = [
        Server(Simulation(objective, secure, dropout=0.1, seed=3, noise=KeyedNoise(b"both", by_share=True)))
        for secure in ("ideal", "real")
    ]
    privacy = Privacy(8.0, adjacency=adjacency)
    ideal, real = (solve(None, 2, privacy=privacy, engine=server, seed=3, progress=False) for server in servers)
    assert len(servers[0].view) == len(servers[1].view) >= 4
    for (ask, one), (again, other) in zip(servers[0].view, servers[1].view, strict=True):
        assert one.equals(other)
        assert (one.noise, one.honest, ask.label) == (other.noise, other.honest, again.label)
    assert ideal.selected == real.selected
    assert ideal.estimate == real.estimate
    assert ideal.privacy == real.privacy
    assert ideal.privacy is not None
    assert any(one.clients < 80 for _, one in servers[1].view)
    assert len({one.honest for _, one in servers[1].view}) > 1  # rolls differ, and shares with them


def ask_all(clients: int, length: int, honest: int, mu: float = 0.3) -> Ask:
    query = Direction(
        members=np.zeros(length, dtype=bool),
        items=np.arange(length),
        most=5.0,
        mu=mu,
        sd=choose_sd(mu, honest),
        honest=honest,
    )
    return Ask(query, Cohort(None, None, clients, clients, everyone=True), Purpose.SEARCH, "a step", 0)


@pytest.mark.slow
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_sums_have_the_noise_that_they_state(dropout: float) -> None:
    """Real sums with the operating system's noise, less what clients said: chi-square of 4,000 numbers."""
    clients, length = 60, 4_000
    objective = tastes(clients, length)
    engine = Simulation(objective, "real", dropout=dropout, seed=5)
    ask = ask_all(clients, length, 10)
    said = engine(ask)
    assert not said.lost
    ids = np.arange(clients) if said.present is None else np.flatnonzero(said.present)
    truth = ask.query.total(objective[ids], ids, np.ones(len(ids), dtype=np.int64), toss_for(ask.query))
    noise = (said.total - truth) / said.noise
    assert chi2.ppf(CHANCE / 2, length) < float((noise**2).sum()) < chi2.isf(CHANCE / 2, length)
    assert abs(float(noise.mean())) < float(norm.isf(CHANCE / 4)) / sqrt(length)
    assert said.honest == engine.policy.protection(clients - dropped_before_roll(said, engine, ask), clients).honest
    added = ask.query.added_noise
    assert added is not None
    assert said.noise == pytest.approx(added.find_total_sd(len(ids), said.honest))
    assert said.noise > added.sd * sqrt(len(ids) / clients)


def dropped_before_roll(said: Sum, engine: Simulation, ask: Ask) -> int:
    if said.present is None:
        return 0
    from folkmoot.engines.attendance import Attendance

    gone = np.flatnonzero(~said.present)
    return Attendance(np.flatnonzero(said.present), gone).count_gone_before_roll(ask, engine.seed)


def test_a_simulation_that_adds_up_at_once_has_the_same_noise() -> None:
    """The sum of all shares drawn as one, which is what large simulations do."""
    clients, length = 200, 20_000
    objective = Coverage(np.eye(clients, length), keep_empty=True)
    for by_share in (False, True):
        engine = Simulation(objective, noise=KeyedNoise(b"at once", by_share))
        ask = ask_all(clients, length, 50)
        said = engine(ask)
        truth = ask.query.total(objective, np.arange(clients), np.ones(clients, dtype=np.int64), toss_for(ask.query))
        noise = (said.total - truth) / said.noise
        assert chi2.ppf(CHANCE / 2, length) < float((noise**2).sum()) < chi2.isf(CHANCE / 2, length)


# The attack of tests/conversation/test_exposure.py, on noisy sums.

CLIENTS, ITEMS, EPSILON = 60, 200, 1.0


def attack(held: Any, mu: float, seed: int, sd: float | None = None) -> tuple[Array, Array]:
    """Two sums over the same clients but one, who is missing in the first. What the server believes of each item: the
    difference, for the items that the client holds, and for the others. sd: less noise than there should be.
    """
    objective, victim = Coverage(held, keep_empty=True), seed % CLIENTS
    honest = Policy().protection(CLIENTS).honest
    ask = ask_all(CLIENTS, ITEMS, honest, mu)
    everyone = np.arange(CLIENTS)
    sums = []
    for turn, ids in enumerate((np.delete(everyone, victim), everyone)):
        total = ask.query.total(objective[ids], ids, np.ones(len(ids), dtype=np.int64), toss_for(ask.query))
        noise, source = ask.query.added_noise, KeyedNoise(b"attack")
        assert noise is not None
        shares = [noise.draw_share(ITEMS, honest, source.find_private(2 * seed + turn, one)) for one in range(honest)]
        sums.append(total + np.sum(shares, axis=0) * (1.0 if sd is None else sd))
    believed = sums[1] - sums[0]
    return believed[held[victim]], believed[~held[victim]]


@pytest.mark.parametrize("rounds", [2, 12])
def test_subtracting_noisy_sums_shows_nothing_of_single_clients(rounds: int) -> None:
    """The server of the attack, which read items of single clients without a mistake, at ε = 1: for a pair of an item
    that a client holds and one that it does not, it says which is which, and is right about half of the time. The
    best it may do by the promise, at all rounds' budget in two: P[right] ≤ Φ(μ/√2).
    """
    held = homes()
    mu = Privacy(EPSILON).find_mu(CLIENTS) / sqrt(rounds)
    right = pairs = 0
    for seed in range(600):
        mine, others = attack(held, mu, seed)
        count = min(len(mine), len(others))
        right += int((mine[:count] > others[:count]).sum())
        pairs += count
    assert pairs > 2_000
    at_most = float(norm.cdf(mu / sqrt(2)))
    assert binomtest(right, pairs, at_most, alternative="greater").pvalue > CHANCE
    assert right / pairs < 0.62
    if rounds == 12:  # as many rounds as the attack had: chance level, within 4.5 %
        assert abs(right / pairs - 0.5) < 0.045


def test_the_same_attack_without_noise_reads_everything() -> None:
    """So what protects above is the noise."""
    held = homes()
    for seed in range(20):
        mine, others = attack(held, Privacy(EPSILON).find_mu(CLIENTS), seed, sd=0.0)
        assert (mine > others.max()).all()

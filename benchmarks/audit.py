"""An audit: what somebody who knows everybody else learns about one client from all noisy sums of adaptive runs.

The real code is run: `PrivateGreedy` with its funnel, picks and appraisal, its questions, the whole-number answers of
clients, shares of noise by `DiscreteGaussian`, the ring. In one world the victim answers, in the other it says nothing
(zero-out). The attacker is told everything else: the data of all others, and every share but those of the h honest
clients that any sum must hold. Its statistic is the log-likelihood ratio of the two worlds, than which no test is more
powerful (Neyman and Pearson).

A threshold is chosen on one half of the runs, and rates are bounded on the other half (Clopper and Pearson). If the
lower bound on ε lies above the claim, the claim is wrong. The reverse proves nothing: an audit finds mistakes in one
world and in one victim, of the size that so many runs can show. That bugs of this kind would be found is shown by
planting three.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil, exp, log, sqrt
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import beta, norm

import folkmoot as fm
from benchmarks.table import Floor, show
from folkmoot.algorithms.federated import purse
from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask, Sum, drive
from folkmoot.conversation.talk import Talk
from folkmoot.foundation.private_coins import SIMULATED
from folkmoot.foundation.randomness import PrivateRandomness
from folkmoot.foundation.sets import Array, Ids
from folkmoot.privacy.accounting import find_delta, find_epsilon
from folkmoot.questions import hidden
from folkmoot.secagg import Policy

CLIENTS, ITEMS, CHOSEN = 100, 16, 2
RUNS = 100_000  # a world
SURE = 0.999  # of each bound
BUGS = ("shares for N instead of h", "budget not split", "rounding up")
COARSE, MANY = 32, 256  # σ in units, and items: there rounding up shows, and honest code must pass as well


@dataclass
class World:
    """Clients of whom the last is the victim, and one noisy sum after another.

    The victim likes all items alike, and still does after two were picked: its answers have norm 1 in every round.
    """

    epsilon: float
    present: bool
    seed: int
    bug: str = ""
    coarse: bool = False
    ratio: float = 0.0  # log-likelihood ratio of this run so far
    _known: dict[bytes, tuple[Ids, Ids]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng, items = np.random.default_rng(0), MANY if self.coarse else ITEMS
        scores = (rng.random((CLIENTS, items)) < 0.15).astype(float)
        scores[-1] = 1.0
        self.objective = fm.ConcaveOverModular(scores, 3.0, most=3.0, keep_empty=True)
        self.others, self.victim = self.objective[:-1], self.objective[-1:]
        self.policy = Policy()
        self.honest = self.policy.protection(CLIENTS).honest
        self.population, self.matroid = Population.of(self.objective), fm.Uniform(items, CHOSEN)
        bits = np.random.Generator(np.random.SFC64([self.seed, self.present]))
        self.random = PrivateRandomness.for_tests(bits.bytes)

    def run(self, count: int) -> Array:
        """The statistic of so many runs."""
        method, found = fm.PrivateGreedy(epsilon=self.epsilon), np.empty(count)
        with plant(self.bug, self.coarse):
            for at in range(count):
                self.ratio = 0.0
                drive(method.run(Talk(self.population, self.matroid, 0, self.policy)), self.add_up)
                found[at] = self.ratio
        return found

    def add_up(self, ask: Ask) -> Sum:
        noise = ask.query.added_noise
        assert noise is not None
        others, mine = self.answer(ask.query)
        shares = CLIENTS if self.bug == BUGS[0] else self.honest
        drawn = noise.draw_share(self.honest * len(others), shares, self.random)  # each share by itself
        total = others + mine * self.present + drawn.reshape(self.honest, -1).sum(axis=0)
        least = ask.find_lowest(CLIENTS, CLIENTS)
        total = ((total - least) & (2**ask.ring_bits - 1)) + least
        rest = total - others
        sd = noise.find_share_sd(shares) * sqrt(self.honest)
        self.ratio += float(rest @ mine - mine @ mine / 2) / sd**2
        stated = noise.find_total_sd(CLIENTS, self.honest)
        return Sum(total, CLIENTS, CLIENTS, CLIENTS, noise=stated, honest=self.honest)

    def answer(self, query: Any) -> tuple[Ids, Ids]:
        """What all others say together, and what the victim says. The same question is asked in many runs."""
        about = getattr(query, "items", np.empty(0, dtype=np.int64))
        numbers = [query.mu, getattr(query, "cap", 0.0), getattr(query, "centred", False)]
        key = query.members.tobytes() + about.tobytes() + np.array(numbers).tobytes() + type(query).__name__.encode()
        if key not in self._known:
            if len(self._known) > 100_000:
                self._known.clear()
            both = []
            for clients in (self.others, self.victim):
                ids = np.arange(clients.n_clients)
                both.append(query.total_of_block(clients, ids, np.ones(len(ids), dtype=np.int64), SIMULATED))
            self._known[key] = both[0], both[1]
        return self._known[key]


@contextmanager
def plant(bug: str, coarse: bool) -> Iterator[None]:
    """A mistake in the real code, for a while; and units in which rounding matters."""
    right: Callable[..., Ids] = hidden.scale_rows

    def round_up(ends: Ids, data: Array, most: float, cap: float, scales: Array, *more: Any) -> Ids:
        fine = right(ends, data, most, cap, scales * 2.0**20, *more) / 2.0**20
        return np.ceil(fine).astype(np.int64)

    def spend_all(self: purse.Purse, share: float) -> float:  # noqa: ARG001
        return self.mu

    def choose_coarse(mu: float, honest: int) -> int:  # noqa: ARG001
        return COARSE

    patches: list[Any] = []
    if bug == BUGS[1]:
        patches.append(patch.object(purse.Purse, "_allot", spend_all))
    if bug == BUGS[2]:
        patches.append(patch.object(hidden, "scale_rows", round_up))
    if coarse:
        patches.append(patch.object(purse, "choose_sd", choose_coarse))
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()


@dataclass(frozen=True)
class Found:
    """claimed: ε. by_counts: a lower bound on ε from how often a test is right, for the δ of the claim. by_curve: one
    from μ, which the claim of Gaussian privacy implies. mu: the estimate of μ, beside the claimed one.
    """

    claimed: float
    by_counts: float
    by_curve: float
    mu: float
    claimed_mu: float

    @property
    def worst(self) -> float:
        return max(self.by_counts, self.by_curve)


def audit(epsilon: float, runs: int, bug: str = "", *, coarse: bool = False, seed: int = 1) -> Found:
    there = World(epsilon, True, seed, bug, coarse).run(runs)
    away = World(epsilon, False, seed, bug, coarse).run(runs)
    promise = fm.Privacy(epsilon)
    delta = promise.find_delta(CLIENTS)
    by_counts = max(bound_epsilon(there, away, delta), bound_epsilon(-away, -there, delta))
    mu, least = bound_mu(there, away)
    by_curve = find_epsilon(least, delta) if least > 0 else 0.0
    return Found(epsilon, by_counts, by_curve, mu, promise.find_mu(CLIENTS))


def bound_rates(there: Array, away: Array, threshold: float) -> tuple[float, float]:
    """The least rate of right alarms and the largest rate of false ones, each except with probability (1 − SURE)/2."""
    n, hits, false = len(there), int((there > threshold).sum()), int((away > threshold).sum())
    low = float(beta.ppf((1 - SURE) / 2, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.ppf((1 + SURE) / 2, false + 1, n - false)) if false < n else 1.0
    return low, high


def bound_epsilon(there: Array, away: Array, delta: float) -> float:
    """ε of any (ε, δ)-private mechanism that allows these rates, at least: hits ≤ e^ε · false alarms + δ."""
    half = len(there) // 2

    def gain(threshold: float) -> float:
        low, high = bound_rates(there[:half], away[:half], threshold)
        return (low - delta) / high

    thresholds = np.quantile(np.concatenate((there[:half], away[:half])), np.linspace(0.3, 0.999, 120))
    best = max(thresholds.tolist(), key=gain)
    low, high = bound_rates(there[half:], away[half:], best)
    return max(log(max((low - delta) / high, exp(-1.0))), 0.0)


def bound_mu(there: Array, away: Array) -> tuple[float, float]:
    """The estimate of μ by the rates at one threshold, and its lower bound; μ ≥ z(hits) − z(false alarms)."""
    half = len(there) // 2
    threshold = float(np.median(np.concatenate((there[:half], away[:half]))))
    low, high = bound_rates(there[half:], away[half:], threshold)
    rates = [float(norm.ppf(np.clip((one[half:] > threshold).mean(), 1e-9, 1 - 1e-9))) for one in (there, away)]
    return rates[0] - rates[1], float(norm.ppf(low) - norm.ppf(high))


def main(runs: int = RUNS) -> list[Floor]:
    floors, rows = [], []
    for epsilon, bug, coarse in (
        (1.0, "", False),
        (3.0, "", False),
        (8.0, "", False),
        (1.0, "", True),
        *((1.0, one, one == BUGS[2]) for one in BUGS),
    ):
        start = perf_counter()
        found = audit(epsilon, ceil(runs / (50 if coarse else 5 if bug else 1)), bug, coarse=coarse)
        name = f"{bug or 'as it is'}{', coarse units' if coarse else ''}"
        rows.append(
            [
                name,
                f"{epsilon:g}",
                f"{found.by_counts:.3f}",
                f"{found.by_curve:.3f}",
                f"{found.mu:.4f}",
                f"{found.claimed_mu:.4f}",
                f"{perf_counter() - start:.0f} s",
            ]
        )
        print(" | ".join(rows[-1]), flush=True)
        if bug:
            floors.append(Floor(f"audit, {bug}: ε found (1 is claimed)", found.worst, at_least=1.0 + 1e-9))
        else:
            floors.append(Floor(f"audit, ε = {epsilon:g}, {name}: ε found", found.worst, at_most=epsilon))
    assert find_delta(found.claimed_mu, 1.0) <= CLIENTS**-1.5
    title = f"What is found of ε in {runs:,} runs a world, {CLIENTS} clients, {SURE:.1%} sure"
    show(title, ["", "claimed", "by counts ≥", "by curve ≥", "μ about", "μ claimed", ""], rows)
    return floors

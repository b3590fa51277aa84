"""Other ways to choose under differential privacy: with noise in secure sums, and with a server that is trusted.

One-shot popularity and noisy greedy use the same answers and the same noise as `PrivateGreedy`, and less of its wits.
The exponential mechanism is central: a trusted server sees everybody's data, and adds noise only to what it chooses.
"""

from dataclasses import dataclass
from math import e, exp, log, log1p, sqrt

import numpy as np
from scipy.optimize import minimize_scalar

import folkmoot as fm
from folkmoot.foundation.sets import Array, Mask
from folkmoot.privacy.noise import choose_sd
from folkmoot.questions.hidden import Direction
from folkmoot.secagg import Policy
from tests.coins import toss_for


@dataclass(frozen=True)
class Setting:
    """An objective whose clients weigh the same, how many items are chosen, and what everybody is promised."""

    objective: fm.Objective
    chosen: int
    epsilon: float

    @property
    def most(self) -> float:
        assert self.objective.most is not None
        return self.objective.most

    @property
    def delta(self) -> float:
        return float(self.objective.n_clients**-1.5)

    @property
    def mu(self) -> float:
        return fm.Privacy(self.epsilon).find_mu(self.objective.n_clients)

    def value(self, members: Mask) -> float:
        return float(self.objective.mean_values(members))


def hear(setting: Setting, members: Mask, mu: float, rng: np.random.Generator) -> Array:
    """A noisy sum over everyone, as in the malicious setting."""
    objective, clients = setting.objective, setting.objective.n_clients
    honest = Policy().protection(clients).honest
    items = np.arange(objective.n_items)
    query = Direction(
        members=members.copy(), items=items, most=setting.most, mu=mu, sd=choose_sd(mu, honest), honest=honest
    )
    total = query.total(objective, np.arange(clients), np.ones(clients, dtype=np.int64), toss_for(query))
    noise = np.rint(rng.standard_normal(len(items)) * query.added_noise.find_total_sd(clients, honest))
    return np.asarray((total + noise) / query.norm)


def choose_at_once(setting: Setting, rng: np.random.Generator) -> Mask:
    """One round with all of the budget: the most popular items."""
    members = np.zeros(setting.objective.n_items, dtype=bool)
    members[np.argsort(-hear(setting, members, setting.mu, rng))[: setting.chosen]] = True
    return members


def choose_greedily(setting: Setting, rng: np.random.Generator) -> Mask:
    """A round over all items for every pick; nothing is remembered."""
    members = np.zeros(setting.objective.n_items, dtype=bool)
    for _ in range(setting.chosen):
        found = hear(setting, members, setting.mu / sqrt(setting.chosen), rng)
        found[members] = -np.inf
        members[int(found.argmax())] = True
    return members


def choose_centrally(setting: Setting, range_of_step: float, rng: np.random.Generator) -> Mask:
    """The exponential mechanism at every step of greedy, as the largest of gains with Gumbel noise.

    range_of_step: η, by how much one client changes the log-odds of two items, at most.
    """
    objective = setting.objective
    members = np.zeros(objective.n_items, dtype=bool)
    scale = setting.most / range_of_step / objective.n_clients
    for _ in range(setting.chosen):
        found = objective.mean_gains(members) + rng.gumbel(size=objective.n_items) * scale
        found[members] = -np.inf
        members[int(found.argmax())] = True
    return members


def find_published_range(setting: Setting) -> float:
    """η by composing η²/8-zCDP and its first conversion, ε = ρ + 2√(ρ ln 1/δ); or basic composition."""
    k, logs = setting.chosen, log(1 / setting.delta)
    return max(setting.epsilon / k, sqrt(8 / k) * (sqrt(logs + setting.epsilon) - sqrt(logs)))


def find_best_range(setting: Setting) -> float:
    """η by the best of what is known: the sharp conversion of zCDP (Canonne, Kamath and Steinke 2020), basic
    composition, and the analysis of Gupta et al. (2010) for greedy, whose cost does not grow with k.
    """
    epsilon, delta, k = setting.epsilon, setting.delta, setting.chosen
    low, high = 0.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if convert_zcdp(middle, epsilon) <= delta else (low, middle)
    return max(sqrt(8 * low / k), epsilon / k, epsilon / ((e - 1) * log(e / delta)))


def convert_zcdp(rho: float, epsilon: float) -> float:
    """The smallest δ for which ρ-zCDP is known to be (ε, δ)-private."""

    def find_log_delta(log_order: float) -> float:
        order = 1 + exp(log_order)
        return (order - 1) * (order * rho - epsilon) + order * log1p(-1 / order) - log_order

    found = minimize_scalar(find_log_delta, bounds=(-15.0, 20.0), method="bounded", options={"xatol": 1e-9})
    return exp(min(float(found.fun), 0.0))


def choose_at_random(setting: Setting, rng: np.random.Generator) -> Mask:
    members = np.zeros(setting.objective.n_items, dtype=bool)
    members[rng.choice(setting.objective.n_items, setting.chosen, replace=False)] = True
    return members

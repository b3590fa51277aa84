"""What to expect of each method on some data: measured on a sample of the clients, with what theory needs to know."""

from dataclasses import dataclass

import numpy as np

from folkmoot.algorithms import Auto, DiscreteGreedy, FedCG, FedCGPlus, Greedy, Popularity, RandomSet
from folkmoot.algorithms.central.methods import Method
from folkmoot.algorithms.federated.method import Federated
from folkmoot.application.solve import solve
from folkmoot.conversation.population import Population
from folkmoot.conversation.progress import Steps
from folkmoot.foundation.errors import InputError
from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.objective import Objective
from folkmoot.questions.gains import find_importance
from folkmoot.report.facts import cost_of

SAMPLE = 2_000  # clients that the methods are tried on
COHORT = 100


@dataclass(frozen=True)
class ClientSpread:
    """How different clients are."""

    largest: float  # γ: no item is worth more to a client
    mean_best: float  # m_F: the item that is worth most to all of them, on average
    importance: float  # Σ w_i: so many answers a round keep discrete greedy's promise, times a factor of theory
    most_important: float  # the largest w_i
    n_clients: int

    @property
    def apart(self) -> float:
        """γ / m_F: 1 where all are alike."""
        return self.largest / self.mean_best if self.mean_best > 0 else 1.0


@dataclass(frozen=True)
class Expected:
    """One method, tried on the sample."""

    method: str
    ratio: float | None  # to greedy; None where it could not be run
    rounds: int = 0
    bytes_up: float = 0.0
    theory: str = ""
    problem: str = ""


def measure_spread(objective: Objective) -> ClientSpread:
    """γ, m_F and the importance factors of Algorithm 4, over every client."""
    alone = objective.mean_gains(())
    inverse = np.divide(1.0, alone, out=np.zeros_like(alone), where=alone > 0)
    factors = find_importance(objective, objective.weights, inverse)
    largest = float(objective.find_largest_shares(np.ones(objective.n_items)).max())
    best = float(alone.max())
    return ClientSpread(largest, best, float(factors.sum()), float(factors.max()), objective.n_clients)


def describe_plan(objective: Objective, matroid: Matroid, cohort: int) -> str:
    """What the default would do with everybody, and why."""
    return Auto(cohort=cohort).plan(Population.of(objective), matroid).why


def try_methods(objective: Objective, matroid: Matroid, seed: int, watch: Steps) -> tuple[list[Expected], int]:
    """Every kind of method on a sample of the clients; and how many they were."""
    count = min(SAMPLE, objective.n_clients)
    ids = np.sort(np.random.default_rng(seed).choice(objective.n_clients, count, replace=False))
    some = objective if count == objective.n_clients else objective[ids]
    methods: dict[str, Method | Federated] = {
        "greedy": Greedy(),
        "auto": Auto(cohort=COHORT),
        "fedcg": FedCG(cohort=COHORT),
        "fedcg+": FedCGPlus(cohort=COHORT),
        "discrete": DiscreteGreedy(expected_answers=COHORT),
        "popularity": Popularity(),
        "random": RandomSet(),
    }
    best, out = 0.0, []
    for place, (name, method) in enumerate(methods.items()):
        watch(name, place, len(methods))
        try:
            result = solve(some, matroid, method, seed=seed, progress=False)
        except InputError as error:
            out.append(Expected(name, None, problem=str(error)))
            continue
        best = best or result.value
        cost, theory = cost_of(result), result.guarantee
        promise = "" if theory is None else "nothing" if theory.vacuous else f"{theory.promised / result.value:.2f}"
        asked = (0, 0.0) if cost is None else (cost.rounds, cost.mean_up)
        out.append(Expected(name, result.value / best if best > 0 else 1.0, *asked, promise))
    return out, count

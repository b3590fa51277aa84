"""Methods: central ones, which see every client's function, and federated ones, which see only sums."""

from folkmoot.algorithms import paper
from folkmoot.algorithms.central import (
    ContinuousGreedy,
    Exhaustive,
    Greedy,
    Method,
    Popularity,
    RandomSet,
    Selection,
    StochasticGreedy,
)
from folkmoot.algorithms.federated.adaptive import AdaptiveSequencing
from folkmoot.algorithms.federated.auto import Auto, Plan
from folkmoot.algorithms.federated.baselines import FederatedFrankWolfe, RandGreeDi
from folkmoot.algorithms.federated.discrete import DiscreteGreedy
from folkmoot.algorithms.federated.fedcg import FedCG, FedCGPlus
from folkmoot.algorithms.federated.method import Federated
from folkmoot.algorithms.federated.private import PrivateGreedy

__all__ = [
    "AdaptiveSequencing",
    "Auto",
    "ContinuousGreedy",
    "DiscreteGreedy",
    "Exhaustive",
    "FedCG",
    "FedCGPlus",
    "Federated",
    "FederatedFrankWolfe",
    "Greedy",
    "Method",
    "Plan",
    "Popularity",
    "PrivateGreedy",
    "RandGreeDi",
    "RandomSet",
    "Selection",
    "StochasticGreedy",
    "paper",
]

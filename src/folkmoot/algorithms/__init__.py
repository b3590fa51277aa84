"""Ways to choose: central ones that see every function, federated ones that see sums."""

from folkmoot.algorithms.adaptive import AdaptiveSequencing
from folkmoot.algorithms.auto import Auto, Plan
from folkmoot.algorithms.baselines import FederatedFrankWolfe, RandGreeDi
from folkmoot.algorithms.central import (
    Choice,
    ContinuousGreedy,
    Exhaustive,
    Greedy,
    Method,
    Popularity,
    RandomSet,
    StochasticGreedy,
)
from folkmoot.algorithms.discrete import DiscreteGreedy
from folkmoot.algorithms.fedcg import FedCG, FedCGPlus
from folkmoot.algorithms.federated import Federated

__all__ = [
    "AdaptiveSequencing",
    "Auto",
    "Choice",
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
    "RandGreeDi",
    "RandomSet",
    "StochasticGreedy",
]

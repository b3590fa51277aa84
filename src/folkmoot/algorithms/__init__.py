"""Ways to choose a set."""

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

__all__ = [
    "Choice",
    "ContinuousGreedy",
    "Exhaustive",
    "Greedy",
    "Method",
    "Popularity",
    "RandomSet",
    "StochasticGreedy",
]

"""Folkmoot picks the best set of things for everyone, without anyone showing what they like."""

from folkmoot import multilinear, rounding
from folkmoot.algorithms import (
    ContinuousGreedy,
    Exhaustive,
    Greedy,
    Method,
    Popularity,
    RandomSet,
    StochasticGreedy,
)
from folkmoot.certificate import upper_bound
from folkmoot.checks import check_submodular
from folkmoot.errors import FolkmootError, InputError, NotSubmodular
from folkmoot.front import solve
from folkmoot.matroids import (
    Free,
    Graphic,
    Laminar,
    Linear,
    Matroid,
    Oracle,
    Partition,
    Transversal,
    Truncation,
    Uniform,
)
from folkmoot.multilinear import samples_needed
from folkmoot.objectives import (
    ConcaveOverModular,
    Coverage,
    FacilityLocation,
    Functions,
    Information,
    LogDet,
    Mixture,
    Objective,
    ProbabilisticCoverage,
)
from folkmoot.result import Result
from folkmoot.welfare import welfare

__version__ = "0.1.0"

__all__ = [
    "ConcaveOverModular",
    "ContinuousGreedy",
    "Coverage",
    "Exhaustive",
    "FacilityLocation",
    "FolkmootError",
    "Free",
    "Functions",
    "Graphic",
    "Greedy",
    "Information",
    "InputError",
    "Laminar",
    "Linear",
    "LogDet",
    "Matroid",
    "Method",
    "Mixture",
    "NotSubmodular",
    "Objective",
    "Oracle",
    "Partition",
    "Popularity",
    "ProbabilisticCoverage",
    "RandomSet",
    "Result",
    "StochasticGreedy",
    "Transversal",
    "Truncation",
    "Uniform",
    "check_submodular",
    "multilinear",
    "rounding",
    "samples_needed",
    "solve",
    "upper_bound",
    "welfare",
]

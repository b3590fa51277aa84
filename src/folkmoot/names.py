"""The public names. The package loads them when the first of them is asked for."""

from folkmoot import secagg
from folkmoot.algorithms import (
    AdaptiveSequencing,
    Auto,
    ContinuousGreedy,
    DiscreteGreedy,
    Exhaustive,
    FedCG,
    FedCGPlus,
    Federated,
    FederatedFrankWolfe,
    Greedy,
    Method,
    Plan,
    Popularity,
    PrivateGreedy,
    RandGreeDi,
    RandomSet,
    StochasticGreedy,
    paper,
)
from folkmoot.application.load import load
from folkmoot.application.problem import Problem
from folkmoot.application.solve import resume, solve, verify
from folkmoot.conversation.engine import Cancelled, Control, Engine
from folkmoot.conversation.result import Result
from folkmoot.engines import Simulation
from folkmoot.engines.dask import DaskCluster
from folkmoot.foundation.errors import FolkmootError, InputError, NotSubmodular, RoundFailed, TranscriptError
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
    store,
)
from folkmoot.privacy import Privacy
from folkmoot.theory import multilinear, rounding
from folkmoot.theory.certificate import upper_bound
from folkmoot.theory.checks import check_submodular
from folkmoot.theory.multilinear import samples_needed
from folkmoot.theory.welfare import welfare
from folkmoot.version import __version__

__all__ = [
    "AdaptiveSequencing",
    "Auto",
    "Cancelled",
    "ConcaveOverModular",
    "ContinuousGreedy",
    "Control",
    "Coverage",
    "DaskCluster",
    "DiscreteGreedy",
    "Engine",
    "Exhaustive",
    "FacilityLocation",
    "FedCG",
    "FedCGPlus",
    "Federated",
    "FederatedFrankWolfe",
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
    "Plan",
    "Popularity",
    "Privacy",
    "PrivateGreedy",
    "ProbabilisticCoverage",
    "Problem",
    "RandGreeDi",
    "RandomSet",
    "Result",
    "RoundFailed",
    "Simulation",
    "StochasticGreedy",
    "TranscriptError",
    "Transversal",
    "Truncation",
    "Uniform",
    "__version__",
    "check_submodular",
    "load",
    "multilinear",
    "paper",
    "resume",
    "rounding",
    "samples_needed",
    "secagg",
    "solve",
    "store",
    "upper_bound",
    "verify",
    "welfare",
]

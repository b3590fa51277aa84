"""The private functions that clients hold, one file per family."""

from folkmoot.objectives.concave import ConcaveOverModular
from folkmoot.objectives.coverage import Coverage
from folkmoot.objectives.facility import FacilityLocation
from folkmoot.objectives.functions import Functions
from folkmoot.objectives.information import Information
from folkmoot.objectives.logdet import LogDet
from folkmoot.objectives.mixture import Mixture
from folkmoot.objectives.objective import Objective, Walk
from folkmoot.objectives.probabilistic import ProbabilisticCoverage

__all__ = [
    "ConcaveOverModular",
    "Coverage",
    "FacilityLocation",
    "Functions",
    "Information",
    "LogDet",
    "Mixture",
    "Objective",
    "ProbabilisticCoverage",
    "Walk",
]

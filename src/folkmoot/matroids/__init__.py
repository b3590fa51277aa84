"""The constraints that a server can set, one file per kind."""

from folkmoot.matroids.derived import Oracle, Truncation
from folkmoot.matroids.graphic import Graphic
from folkmoot.matroids.laminar import Laminar
from folkmoot.matroids.linear import Linear
from folkmoot.matroids.matroid import Blocks, Matroid, Validity
from folkmoot.matroids.simple import Free, Partition, Uniform
from folkmoot.matroids.transversal import Transversal

__all__ = [
    "Blocks",
    "Free",
    "Graphic",
    "Laminar",
    "Linear",
    "Matroid",
    "Oracle",
    "Partition",
    "Transversal",
    "Truncation",
    "Uniform",
    "Validity",
]

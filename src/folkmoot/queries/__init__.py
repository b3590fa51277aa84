"""Everything a client can be asked."""

from folkmoot.queries.along import GainsAlong
from folkmoot.queries.gains import Gains, Importance, Singletons
from folkmoot.queries.gradient import Gradient, Votes
from folkmoot.queries.local import LocalBase, LocalWalk, ShardBase
from folkmoot.queries.magnitude import Magnitude, Ranges
from folkmoot.queries.query import Query
from folkmoot.queries.values import Appraisal, Spread, Values

__all__ = [
    "Appraisal",
    "Gains",
    "GainsAlong",
    "Gradient",
    "Importance",
    "LocalBase",
    "LocalWalk",
    "Magnitude",
    "Query",
    "Ranges",
    "ShardBase",
    "Singletons",
    "Spread",
    "Values",
    "Votes",
]

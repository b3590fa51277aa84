"""Everything a client can be asked."""

from folkmoot.queries.along import GainsAlong
from folkmoot.queries.differences import Differences
from folkmoot.queries.drift import Drift
from folkmoot.queries.gains import Gains, Importance, Singletons
from folkmoot.queries.gradient import Gradient, Votes
from folkmoot.queries.local import LocalBase, LocalWalk, ShardBase
from folkmoot.queries.magnitude import Magnitude, Ranges
from folkmoot.queries.pair import Pair
from folkmoot.queries.participation import Participation
from folkmoot.queries.query import Query
from folkmoot.queries.values import Appraisal, Values

__all__ = [
    "Appraisal",
    "Differences",
    "Drift",
    "Gains",
    "GainsAlong",
    "Gradient",
    "Importance",
    "LocalBase",
    "LocalWalk",
    "Magnitude",
    "Pair",
    "Participation",
    "Query",
    "Ranges",
    "ShardBase",
    "Singletons",
    "Values",
    "Votes",
]

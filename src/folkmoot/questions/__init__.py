"""Everything a client can be asked."""

from folkmoot.questions.along import GainsAlong
from folkmoot.questions.differences import Differences
from folkmoot.questions.drift import Drift
from folkmoot.questions.encoding import Encoding, Part, Rounding
from folkmoot.questions.folded import Folded
from folkmoot.questions.gains import Gains, Importance, Singletons
from folkmoot.questions.gradient import Gradient, Votes
from folkmoot.questions.local import LocalBase, LocalWalk, PartyBase, ShardBase, WholeBase, WholeWalk
from folkmoot.questions.magnitude import Magnitude, Ranges
from folkmoot.questions.pair import Pair
from folkmoot.questions.participation import Participation
from folkmoot.questions.query import Query, Reply
from folkmoot.questions.values import Appraisal, Values
from folkmoot.questions.within import Within

__all__ = [
    "Appraisal",
    "Differences",
    "Drift",
    "Encoding",
    "Folded",
    "Gains",
    "GainsAlong",
    "Gradient",
    "Importance",
    "LocalBase",
    "LocalWalk",
    "Magnitude",
    "Pair",
    "Part",
    "Participation",
    "PartyBase",
    "Query",
    "Ranges",
    "Reply",
    "Rounding",
    "ShardBase",
    "Singletons",
    "Values",
    "Votes",
    "WholeBase",
    "WholeWalk",
    "Within",
]

"""Secure aggregation: the server learns one sum of vectors. No network, no files, no clock.

`docs/secagg.md` is the specification. `step` is the client, `serve` the server; `aggregate` runs both in one process.
"""

from folkmoot.secagg.client import Refused, step
from folkmoot.secagg.faults import AggregationFailed, Fault
from folkmoot.secagg.member import Member, Policy, Roster
from folkmoot.secagg.messages import Announcement
from folkmoot.secagg.parameters import Parameters, choose
from folkmoot.secagg.server import Aggregate, serve
from folkmoot.secagg.sketch import SketchFailed
from folkmoot.secagg.together import aggregate
from folkmoot.secagg.wire import Malformed

__all__ = [
    "Aggregate",
    "AggregationFailed",
    "Announcement",
    "Fault",
    "Malformed",
    "Member",
    "Parameters",
    "Policy",
    "Refused",
    "Roster",
    "SketchFailed",
    "aggregate",
    "choose",
    "serve",
    "step",
]

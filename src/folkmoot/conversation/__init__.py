"""The conversation between a server and its clients: questions to cohorts, and sums."""

from folkmoot.conversation.engine import Cancelled, Control, Engine
from folkmoot.conversation.population import Cohort, Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask, Cost, Making, Sum, find_coins
from folkmoot.foundation.private_coins import PrivateCoins

__all__ = [
    "Ask",
    "Cancelled",
    "Cohort",
    "Control",
    "Cost",
    "Engine",
    "Making",
    "Population",
    "PrivateCoins",
    "Purpose",
    "Sum",
    "find_coins",
]

"""The coins of clients in tests: those of simulations."""

from typing import Any

from folkmoot.conversation.rounds import find_coins
from folkmoot.foundation.private_coins import SIMULATED, PrivateCoins
from folkmoot.questions import Query

__all__ = ["SIMULATED", "toss_for"]


def toss_for(query: Query[Any]) -> PrivateCoins:
    """With which clients answer a question."""
    return find_coins(SIMULATED, query)

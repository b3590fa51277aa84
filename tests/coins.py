"""The coins of clients in tests: those of simulations."""

from typing import Any

import numpy as np

from folkmoot.conversation.rounds import find_coins
from folkmoot.foundation.private_coins import SIMULATED, CoinKey, PrivateCoins, toss_each
from folkmoot.questions import Query

__all__ = ["SIMULATED", "toss_bits", "toss_for"]


def toss_for(query: Query[Any]) -> PrivateCoins:
    """With which clients answer a question."""
    return find_coins(SIMULATED, query)


def toss_bits(key: CoinKey, client: int, item: int) -> int:
    """The bits of one coin."""
    out = np.empty(1, dtype=np.uint64)
    toss_each(key, np.array([client]), item, out)
    return int(out[0])

"""Where items stand in an answer that is about some of them."""

import numpy as np
from scipy import sparse

from folkmoot.foundation.sets import Ids, Rows


def slots_of(n_items: int, items: Ids | None) -> Ids:
    """Where each item stands; -1 for items not asked about. `items` None: all are asked about."""
    if items is None:
        return np.arange(n_items)
    slots = np.full(n_items, -1)
    slots[items] = np.arange(len(items))
    return slots


def keep_slots(rows: Rows, slots: Ids, width: int) -> Rows:
    """Only the columns that have a slot, in their slots."""
    at = slots[rows.indices]
    kept = at >= 0
    start = np.concatenate(([0], np.cumsum(kept)))[rows.indptr]
    return sparse.csr_array((rows.data[kept], at[kept], start), shape=(rows.shape[0], width))

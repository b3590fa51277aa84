"""What each item is worth alone, as far as it may be known: to the server from its sums, to a central method from all
the data.
"""

from pathlib import Path

import numpy as np

from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.transcript import Transcript
from folkmoot.foundation.sets import Array
from folkmoot.objectives import Objective


def read_alone(transcript: Path, n_items: int) -> Array | None:
    """From the sums of a run, as shares of the largest; None where nobody was asked about every item by itself."""
    if not transcript.exists():
        return None
    with Transcript.reopen(transcript, reading=True) as store:
        totals = [one for one in store.read_totals(Purpose.SINGLETONS) if len(one) == n_items]
    return _divide_by_largest(np.sum(totals, axis=0, dtype=np.float64)) if totals else None


def compute_alone(objective: Objective) -> Array | None:
    """From the data, as shares of the largest."""
    return _divide_by_largest(objective.mean_gains(()))


def _divide_by_largest(sums: Array) -> Array | None:
    largest = float(sums.max(initial=0.0))
    return np.clip(sums / largest, 0.0, 1.0) if largest > 0 else None

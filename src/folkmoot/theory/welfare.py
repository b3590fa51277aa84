"""Welfare maximisation: split the items among the clients so that their total value is largest."""

import numpy as np

from folkmoot.matroids.simple import Partition
from folkmoot.objectives.lifted import lift
from folkmoot.objectives.objective import Objective, as_objective


def welfare(objective: Objective) -> tuple[Objective, Partition]:
    """The lifted objective and the matroid that gives every item to at most one client.

    Item e·N + i of the result means "item e goes to client i" (N clients). The function of client i depends
    only on its own pairs, and the partition matroid allows one pair per item, so a base is a split.
    """
    as_objective(objective)
    over_pairs = lift(objective)
    return over_pairs, Partition(np.repeat(np.arange(objective.n_items), objective.n_clients), 1)

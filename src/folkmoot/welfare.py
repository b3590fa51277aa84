"""Welfare maximisation: split the items among the clients so that they are happiest together."""

import numpy as np

from folkmoot.matroids.simple import Partition
from folkmoot.objectives.lifted import lifted
from folkmoot.objectives.objective import Objective


def welfare(objective: Objective) -> tuple[Objective, Partition]:
    """The lifted objective and the matroid that gives every item to at most one client.

    Item e·N + i of the result means "item e goes to client i" (N clients). The function of client i looks
    at its own pairs only, and the partition matroid allows one pair an item, so a base is a split.
    """
    groups = np.repeat(np.arange(objective.n_items), objective.n_clients)
    return lifted(objective), Partition(groups, 1)

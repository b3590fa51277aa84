"""A round that is run to be looked at."""

from dataclasses import replace

import numpy as np

from folkmoot.conversation.rounds import Ask
from folkmoot.engines.simulate import Simulation
from folkmoot.engines.witness import ABOUT_ITEMS, Seen, Witness
from folkmoot.objectives.objective import Objective
from folkmoot.questions.gains import singletons
from folkmoot.secagg import Policy

FEW = 24  # clients


def rehearse(objective: Objective, seed: int, policy: Policy) -> Seen | None:
    """One round of the whole protocol with a few of the clients, for a run whose sums were made without masks.

    None where there are too few for it, or nobody has anything to say.
    """
    count = min(FEW, objective.n_clients)
    ids = np.sort(np.random.default_rng(seed).choice(objective.n_clients, count, replace=False))
    few = objective[ids]
    single = float(few.find_largest_shares(np.ones(few.n_items)).max())
    if count < policy.quorum(count) or single <= 0:
        return None
    witness = Witness()
    engine = Simulation(few, "real", seed=seed, policy=policy, witness=witness)
    engine(Ask(singletons(few.n_items, single, 0), engine.population.everyone, ABOUT_ITEMS, 0))
    return None if witness.found is None else replace(witness.found, client=int(ids[witness.found.client]))

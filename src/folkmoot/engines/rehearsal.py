"""One round of the whole protocol, run only to be shown in a report."""

from dataclasses import replace

import numpy as np

from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.engines.simulate import Simulation
from folkmoot.engines.witness import Sighting, Witness
from folkmoot.objectives.objective import Objective
from folkmoot.questions.gains import ask_singletons
from folkmoot.secagg import Policy

FEW = 24  # clients


def rehearse(objective: Objective, seed: int, policy: Policy) -> Sighting | None:
    """One round of the whole protocol with a few of the clients, for a run whose sums were computed without masks.

    None if there are too few clients for it, or no item is worth anything to any of them.
    """
    count = min(FEW, objective.n_clients)
    ids = np.sort(np.random.default_rng(seed).choice(objective.n_clients, count, replace=False))
    few = objective[ids]
    single = float(few.find_largest_shares(np.ones(few.n_items)).max())
    if count < policy.quorum(count) or single <= 0:
        return None
    witness = Witness()
    engine = Simulation(few, "real", seed=seed, policy=policy, witness=witness)
    question = ask_singletons(few.n_items, single)
    engine(Ask(question, engine.population.everyone, Purpose.SINGLETONS, "each item alone", 0))
    return None if witness.found is None else replace(witness.found, client=int(ids[witness.found.client]))

"""What Theorems 1 to 3 bound beforehand, as it was in a run: only who has the data of all clients can measure it."""

from collections.abc import Sequence

import numpy as np

from folkmoot.conversation.rounds import find_coins
from folkmoot.foundation.private_coins import SIMULATED
from folkmoot.foundation.sets import Array, Ids, Rows, add_in_order
from folkmoot.objectives.objective import Objective
from folkmoot.questions.gradient import PointQuery
from folkmoot.questions.local import LocalWalk
from folkmoot.theory.guarantee import Sizes


def measure_sizes(asked: Sequence[PointQuery], clients: Objective) -> Sizes:
    """γ_t, L_t and σ over all clients, whoever was asked: the smallest numbers with which the assumptions hold.

    asked: the questions of all rounds, about all items; gradients must have a closed form. Norms of gradients are the
    largest entry, as in the paper's proofs; clients' local walks are those of a simulation.
    """
    rounds = [_measure_round(question, clients) for question in asked]
    gammas, slopes, errors = zip(*rounds, strict=True)
    return Sizes(max(gammas), add_in_order(gammas), max(slopes), add_in_order(slopes), max(errors))


def _measure_round(question: PointQuery, clients: Objective) -> tuple[float, float, float]:
    """γ_t, L_t and the largest error of a sampled gradient in one round."""
    mean, holders = clients.mean_gradient(question.x), np.zeros(clients.n_items, dtype=np.int64)
    gamma = slope = error = 0.0
    for lo, hi in clients.client_blocks():
        part, ids = clients[lo:hi], np.arange(lo, hi)
        gradients = part.gradients(question.x)
        gamma = max(gamma, _find_largest(gradients.data - mean[gradients.indices]))
        holders += np.bincount(gradients.indices, minlength=clients.n_items)
        if isinstance(question, LocalWalk):
            found = _measure_walks(question, part, gradients, ids)
            slope, error = max(slope, found[0]), max(error, found[1])
    return max(gamma, _find_largest(mean[holders < clients.n_clients])), slope, error


def _measure_walks(question: LocalWalk, clients: Objective, gradients: Rows, ids: Ids) -> tuple[float, float]:
    """The largest |∇f̂_i(x_i) − ∇f̂_i(x)|_∞ / |x_i − x| on the clients' local walks, and the largest sampling error."""
    own, slope, error, moved = find_coins(SIMULATED, question), 0.0, 0.0, np.zeros(clients.n_clients)
    for step in question.follow(clients, question.look_at_x(clients, ids, own)[0], ids, own):
        exact = gradients if step.points is None else clients.gradients_at_each(step.points)
        error = max(error, _find_largest((step.gradients - exact).data))
        change = abs(exact - gradients).max(axis=1).toarray().reshape(-1)
        slope = max(slope, _find_largest(np.divide(change, moved, out=np.zeros_like(moved), where=moved > 0)))
        moved = np.sqrt(np.asarray((step.counts**2).sum(axis=1)).reshape(-1)) / question.steps
    return slope, error


def _find_largest(numbers: Array) -> float:
    return float(np.abs(numbers).max(initial=0.0))

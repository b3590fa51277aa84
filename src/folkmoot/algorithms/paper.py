"""The algorithms of Rafiey, "Decomposable Submodular Maximization in Federated Setting" (ICML 2024), as printed.

To be read beside the paper, and to compare the federated methods with: no options, nothing fast, secure or private.
Every function sees all clients, and what the paper sends through a secure aggregator is a sum.

F is an objective: client i of the N has the function f_i and the weight p_i, and F(S) = Σ p_i f_i(S). M is a matroid of
rank r over n items, η the server's learning rate, and rng a numpy Generator. Algorithms 1 and 2 return x^(T), a point
of the matroid's polytope for η ≤ 1/T (Algorithm 2: τ/T), which `folkmoot.rounding` turns into a set.

The print cannot be followed to the letter in five places:

- Algorithm 2, line 2: m = O(log(TK/δ)/σ²) has no constant. It is 4 here, as its appendix has 1 − exp(−mσ²/4).
- Algorithm 2, line 3: t = 0, τ, 2τ, …, (T−1)/τ. Here there are T/τ rounds, as in its input and in its proof.
- Algorithm 2, line 8: x_i can leave the cube, where there is nothing to sample. An item above 1 is in every set here.
- Algorithm 3, line 2: κ = Õ(rn/ε²) has no constant. κ is an argument here, in place of ε.
- Section 5 has F = Σ f_i, without weights: its f_i is p_i·f_i here.

Ties of an argmax go to the lowest number. So a base always has r items, also where a client gains from fewer.
"""

from math import ceil, log

import numpy as np
from numpy.random import Generator

from folkmoot.foundation.sets import Array, Ids, Mask, add_each, indicator
from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.objective import Objective

__all__ = [
    "discrete_greedy",
    "fedcg",
    "fedcg_plus",
    "full_participation",
    "full_participation_by_gradients",
    "importance_for_coverage",
    "importance_for_facilities",
]


def full_participation_by_gradients(F: Objective, M: Matroid, T: int, eta: float) -> Array:
    """Section 3, the first case: everybody sends the gradient itself."""
    x = np.zeros(M.n_items)
    for _ in range(T):
        gradient = sum(p_i * find_gradient(f_i, x) for p_i, f_i in zip(F.weights, F, strict=True))
        v = find_best_vertex(M, np.asarray(gradient))
        x = x + eta * v
    return x


def full_participation(F: Objective, M: Matroid, T: int, eta: float) -> Array:
    """Section 3, the second case, and Theorem 3.2, proved in Appendix A: everybody sends a base (equations 3 and 4)."""
    x = np.zeros(M.n_items)
    for _ in range(T):
        Delta = sum(p_i * find_best_vertex(M, find_gradient(f_i, x)) for p_i, f_i in zip(F.weights, F, strict=True))
        x = x + eta * Delta
    return x


def fedcg(F: Objective, M: Matroid, T: int, eta: float, K: int, rng: Generator) -> Array:
    """Algorithm 1: Federated Continuous Greedy (FedCG)."""
    x = np.zeros(M.n_items)  # line 2
    for _ in range(T):  # 3
        A = sample_clients(F, K, rng)  # 4
        v = [find_best_vertex(M, find_gradient(F[int(i)], x)) for i in A]  # 5 to 8
        Delta = np.sum(v, axis=0) / len(A)  # 9
        x = x + eta * Delta  # 10
    return x


def fedcg_plus(
    F: Objective, M: Matroid, T: int, tau: int, eta: float, sigma: float, delta: float, K: int, rng: Generator
) -> Array:
    """Algorithm 2: Practical FedCG (FedCG+)."""
    x = np.zeros(M.n_items)  # line 2
    m = ceil(4 * log(T * K / delta) / sigma**2)
    for _ in range(T // tau):  # 3
        A = sample_clients(F, K, rng)  # 4
        Deltas = []
        for i in A:  # 5
            f_i, x_i = F[int(i)], x  # 6
            for _ in range(tau):  # 7
                zeta = rng.random((m, M.n_items)) < x_i  # 8
                gradient = estimate_gradient(f_i, zeta)  # 9
                v = find_best_vertex(M, gradient)  # 10
                x_i = x_i + v / tau  # 11
            Deltas.append(x_i - x)  # 13 and 14
        Delta = np.sum(Deltas, axis=0) / len(A)  # 16
        x = x + eta * Delta  # 17
    return x


def discrete_greedy(F: Objective, M: Matroid, w: Array, kappa: float, rng: Generator) -> list[int]:
    """Algorithm 3: Federated Discrete Greedy, with the importance factors w. Returns S in the order of its items."""
    S: list[int] = []  # line 2
    while (addable := np.flatnonzero(M.find_addable(indicator(M.n_items, S)))).size:  # 3: r rounds
        Delta = np.zeros(M.n_items)
        for i, f_i in enumerate(F):  # 5
            kappa_i = min(kappa * w[i], 1.0)  # 6
            if rng.random() < kappa_i:  # 10 and 11
                Delta[addable] += find_gains(F.weights[i], f_i, S, addable) / kappa_i  # 7 to 9, and 13
        S = [*S, int(addable[Delta[addable].argmax()])]  # 14
    return S


def importance_for_facilities(F: Objective) -> Array:
    """Algorithm 4: importance factors for Facility Location, where c(i, j) = f_i({j})."""
    O_i = F.weights[:, None] * F.gains(()).toarray()  # lines 3 to 6
    return find_largest_shares(O_i, O_i.sum(axis=0))  # 7 to 11


def importance_for_coverage(F: Objective) -> Array:
    """Algorithm 5: importance factors for Max Coverage. O_i says only in which groups client i is."""
    O_i = (F.gains(()).toarray() > 0).astype(np.float64)  # lines 2 to 5
    return find_largest_shares(O_i, O_i.sum(axis=0))  # 6 to 10


def find_largest_shares(O_i: Array, sums: Array) -> Array:
    """max_j O_i[j]/O[j] of every client, where `sums` is O. An item that nobody wants is no one's."""
    return np.asarray((O_i[:, sums > 0] / sums[sums > 0]).max(axis=1, initial=0.0))


def sample_clients(F: Objective, K: int, rng: Generator) -> Ids:
    """The Client Sampling Scheme of section 3.1: K independent draws, client i with probability p_i."""
    return rng.choice(F.n_clients, size=K, p=F.weights)


def find_best_vertex(M: Matroid, gradient: Array) -> Array:
    """argmax ⟨v, gradient⟩ over the polytope: the indicator of a base."""
    return indicator(M.n_items, M.best_base(gradient)).astype(np.float64)


def find_gradient(f_i: Objective, x: Array) -> Array:
    """∇f̂_i(x), of one client. x may exceed 1 in its last digit."""
    return np.asarray(f_i.gradients(np.minimum(x, 1.0)).toarray()[0])


def estimate_gradient(f_i: Objective, zeta: Mask) -> Array:
    """∇f̃_i(x, ζ): the mean of f_i(R ∪ {e}) − f_i(R ∖ {e}) over the sets R of ζ, for every item e."""
    gradient = np.zeros(zeta.shape[1])
    for e in range(len(gradient)):
        more, less = zeta.copy(), zeta.copy()
        more[:, e], less[:, e] = True, False
        gradient[e] = (f_i.values(more) - f_i.values(less)).mean()
    return gradient


def find_gains(p_i: float, f_i: Objective, S: list[int], items: Ids) -> Array:
    """p_i·(f_i(S ∪ {e}) − f_i(S)) for each of the items."""
    values = f_i.values(add_each(indicator(f_i.n_items, S), items))[0]
    return np.asarray(p_i * (values[:-1] - values[-1]))

"""Every family of objectives, listed once, each beside an independent definition in plain Python."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot import (
    ConcaveOverModular,
    Coverage,
    FacilityLocation,
    Functions,
    Information,
    LogDet,
    Mixture,
    Objective,
    ProbabilisticCoverage,
    welfare,
)
from folkmoot.foundation.sets import Array

ITEMS, CLIENTS = 6, 5
SetFunction = Callable[[frozenset[int]], float]


@dataclass(frozen=True)
class Case:
    objective: Objective
    truth: list[SetFunction]  # f_i as the textbook writes it


def sparse_matrix(rng: np.random.Generator, rows: int = CLIENTS, items: int = ITEMS) -> Array:
    """Half zeros, repeated values among the rest, no empty row."""
    matrix = np.round(rng.random((rows, items)), 1) * (rng.random((rows, items)) < 0.6)
    matrix[:, 0] = np.maximum(matrix[:, 0], 0.1)
    return matrix


def weights(rng: np.random.Generator, clients: int = CLIENTS) -> Array:
    return rng.random(clients) + 0.1


def by_row(matrix: NDArray[Any], function: Callable[[Any], float]) -> list[SetFunction]:
    def of(row: NDArray[Any]) -> SetFunction:
        return lambda s: function(row[sorted(s)])

    return [of(row) for row in matrix]


def facility(rng: np.random.Generator) -> Case:
    benefits = sparse_matrix(rng)
    return Case(FacilityLocation(benefits, weights=weights(rng)), by_row(benefits, lambda c: max(c, default=0.0)))


def facility_many_levels(rng: np.random.Generator) -> Case:
    benefits = rng.random((3, ITEMS))
    return Case(FacilityLocation(benefits), by_row(benefits, lambda c: max(c, default=0.0)))


def facility_owned(rng: np.random.Generator) -> Case:
    benefits, owners, share = sparse_matrix(rng, rows=9), np.array([2, 0, 1, 1, 0, 2, 2, 3, 4]), rng.random(9)
    objective = FacilityLocation(benefits, owners=owners, row_weights=share, weights=weights(rng))

    def of(client: int) -> SetFunction:
        mine = np.flatnonzero(owners == client)
        return lambda s: float(sum(share[r] * max(benefits[r, sorted(s)], default=0.0) for r in mine))

    return Case(objective, [of(client) for client in range(5)])


def coverage(rng: np.random.Generator) -> Case:
    membership = sparse_matrix(rng) > 0
    return Case(Coverage(membership, weights=weights(rng)), by_row(membership, lambda c: float(any(c))))


def coverage_plain(rng: np.random.Generator) -> Case:
    membership = sparse_matrix(rng) > 0
    membership[2] = False
    return Case(Coverage(membership, keep_empty=True), by_row(membership, lambda c: float(any(c))))


def probabilistic(rng: np.random.Generator) -> Case:
    chances = sparse_matrix(rng)
    chances[1, 2] = chances[1, 3] = 1.0
    truth = by_row(chances, lambda p: 1.0 - float(np.prod(1.0 - p)))
    return Case(ProbabilisticCoverage(chances, weights=weights(rng)), truth)


def concave(kind: str | float, phi: Callable[[float], float]) -> Callable[[np.random.Generator], Case]:
    def make(rng: np.random.Generator) -> Case:
        scores = sparse_matrix(rng)
        objective = ConcaveOverModular(scores, kind, weights=weights(rng))
        return Case(objective, by_row(scores, lambda s: float(phi(float(np.sum(s))))))

    return make


def information(rng: np.random.Generator) -> Case:
    tables = [rng.integers(0, 3, (20 + 5 * client, ITEMS + 1)) for client in range(3)]
    for table in tables:
        table[:, 1] = table[:, 3]  # a feature that tells the label
    objective = Information(tables, target=3, weights=weights(rng, 3))
    return Case(objective, [naive_bayes_information(np.delete(t, 3, axis=1), t[:, 3]) for t in tables])


def naive_bayes_information(features: NDArray[Any], label: NDArray[Any]) -> SetFunction:
    """I(X_S; Y) by listing every joint state of S under the naive Bayes model."""

    def value(chosen: frozenset[int]) -> float:
        items = sorted(chosen)
        classes, counts = np.unique(label, return_counts=True)
        prior = counts / counts.sum()
        levels = [np.unique(features[:, item]) for item in items]
        total = 0.0
        for state in product(*levels):
            both = prior.copy()
            for item, level in zip(items, state, strict=True):
                both *= [np.mean(features[label == c, item] == level) for c in classes]
            for share, p in zip(both, prior, strict=True):
                if share > 0:
                    total += share * np.log2(share / (both.sum() * p))
        return float(total)

    return value


def logdet(dimensions: int) -> Callable[[np.random.Generator], Case]:
    def make(rng: np.random.Generator) -> Case:
        features = rng.normal(size=(3, ITEMS, dimensions))

        def of(client: int) -> SetFunction:
            def value(chosen: frozenset[int]) -> float:
                phi = features[client, sorted(chosen)]
                return float(np.log(np.linalg.det(np.eye(len(phi)) + phi @ phi.T / 0.49)) / 2)

            return value

        return Case(LogDet(features, 0.7, weights=weights(rng, 3)), [of(client) for client in range(3)])

    return make


def functions(rng: np.random.Generator) -> Case:
    values = rng.random(ITEMS)
    truth: list[SetFunction] = [
        lambda s: float(np.sqrt(sum(values[e] for e in s))),
        lambda s: float(min(len(s), 3)),
        lambda s: float(len({e % 2 for e in s})),
    ]
    return Case(Functions(truth, ITEMS, weights=weights(rng, 3)), truth)


def mixture(*makers: Callable[[np.random.Generator], Case]) -> Callable[[np.random.Generator], Case]:
    def make(rng: np.random.Generator) -> Case:
        parts = [maker(rng) for maker in makers]
        shares = rng.random(len(parts)) + 0.1
        objective = Mixture([part.objective for part in parts], shares)

        def of(client: int) -> SetFunction:
            return lambda s: sum(a * p.truth[client](s) for a, p in zip(shares, parts, strict=True))

        return Case(objective, [of(client) for client in range(CLIENTS)])

    return make


def lifted(maker: Callable[[np.random.Generator], Case]) -> Callable[[np.random.Generator], Case]:
    """The pairs (item, client) of a case cut down to two clients and three items."""

    def make(rng: np.random.Generator) -> Case:
        case = maker(rng)
        objective, _ = welfare(case.objective[[0, 1]])
        pairs = objective.n_items

        def of(client: int) -> SetFunction:
            return lambda s: case.truth[client](frozenset(pair // 2 for pair in s if pair % 2 == client))

        assert pairs == 2 * case.objective.n_items
        return Case(objective, [of(0), of(1)])

    return make


FAMILIES: dict[str, Callable[[np.random.Generator], Case]] = {
    "facility": facility,
    "facility, many levels": facility_many_levels,
    "facility, owned rows": facility_owned,
    "coverage": coverage,
    "coverage, equal weights": coverage_plain,
    "probabilistic": probabilistic,
    "concave sqrt": concave("sqrt", np.sqrt),
    "concave log1p": concave("log1p", np.log1p),
    "concave cap": concave(0.9, lambda s: min(s, 0.9)),
    "information": information,
    "logdet, few dimensions": logdet(2),
    "logdet, many dimensions": logdet(9),
    "functions": functions,
    "mixture, closed form": mixture(facility, coverage, probabilistic),
    "mixture, sampled": mixture(facility, concave("sqrt", np.sqrt)),
}
LIFTED = {"welfare of facility": lifted(facility), "welfare of logdet": lifted(logdet(2))}

"""Information from tables: probabilities are counted client by client, however many clients there are."""

from typing import Any

import numpy as np
import pytest

from folkmoot import Information


@pytest.mark.parametrize("kind", ["whole", "float", "text", "object", "mixed"])
@pytest.mark.parametrize("smoothing", [0.0, 1.0, 0.1])
def test_probabilities_are_counted_at_each_client_by_itself(kind: str, smoothing: float) -> None:
    """By definition: P(y) and P(value | y), from one client's rows and from no other's."""
    rng = np.random.default_rng(5)
    whole = [rng.integers(0, rng.integers(1, 9), (int(rng.integers(1, 60)), 4)) for _ in range(6)]
    cast: dict[str, Any] = {"whole": int, "float": float, "text": str, "object": object}
    given = [table.astype(cast.get(kind, int if at % 2 else str)) for at, table in enumerate(whole)]
    labels = [rng.integers(0, 10, len(table)) for table in whole]
    objective = Information(given, labels, smoothing=smoothing)
    for client, (table, label) in enumerate(zip(whole, labels, strict=True)):
        classes = np.unique(label)
        prior = np.array([(label == one).sum() for one in classes]) + smoothing
        at = objective.prior_offset[client]
        assert objective.classes[client] == len(classes)
        assert objective.store[at : at + len(classes)].tolist() == (prior / prior.sum()).tolist()
        for item in range(4):
            values = np.unique(table[:, item])
            counts = np.array([[((table[:, item] == v) & (label == y)).sum() for y in classes] for v in values])
            chances = (counts + smoothing) / (counts + smoothing).sum(axis=0)
            at = objective.offset[client, item]
            assert objective.arity[client, item] == len(values)
            assert objective.store[at : at + chances.size].tolist() == pytest.approx(
                chances.ravel().tolist(), rel=1e-14
            )

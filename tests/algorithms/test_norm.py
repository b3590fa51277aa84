"""With a norm, no client moves the sum further than it."""

import numpy as np
import pytest

from folkmoot import FacilityLocation, FedCG, InputError, solve
from folkmoot.foundation.coins import PublicCoins
from folkmoot.questions import Gradient
from tests.coins import toss_for


def test_one_heavy_client_does_not_decide() -> None:
    """199 clients like items 0 and 1; one holds 10,000 times as much, in items 4 and 5."""
    benefits = np.zeros((200, 6))
    benefits[:, :2] = 1.0, 0.9
    benefits[:, 2:4] = 0.1
    benefits[-1] = (0, 0, 0, 0, 10_000, 9_000)
    clients = FacilityLocation(benefits)
    options = {"answer": "gradient", "roundings": 0, "polish": 0}
    free = solve(clients, 1, FedCG(2, **options))  # type: ignore[arg-type]
    held = solve(clients, 1, FedCG(2, norm=2.0, **options))  # type: ignore[arg-type]
    assert free.fractional is not None
    assert held.fractional is not None
    assert free.fractional.argmax() == 4
    assert held.fractional.argmax() == 0
    assert held.guarantee is None


@pytest.mark.parametrize("norm", [0.5, 2.0, 1_000.0])
def test_answers_are_shortened_to_the_norm_and_keep_their_direction(norm: float) -> None:
    rng = np.random.default_rng(0)
    clients = FacilityLocation(rng.random((40, 12)) * rng.pareto(1.0, (40, 1)))
    ids, once = np.arange(40), np.ones(40, dtype=np.int64)
    common = {"x": np.full(12, 0.2), "whole": 50.0, "single": 50.0, "bits": 20, "stochastic": False}
    whole, cut = (
        Gradient(**common, coins=PublicCoins(1), norm=one)  # type: ignore[arg-type]
        for one in (None, norm)
    )
    unit, width = cut.main.unit, cut.width
    before, after = (query.answers(clients, ids, once, toss_for(query)).toarray() for query in (whole, cut))
    assert (before[:, width:] == after[:, width:]).all(), "what x is worth is not a gradient"
    long, short = (np.linalg.norm(rows[:, :width], axis=1) * unit for rows in (before, after))
    assert (short <= norm).all()
    assert (short >= np.minimum(long, norm) - np.sqrt(width) * unit).all()
    assert (after[long <= norm] == before[long <= norm]).all()
    assert cut.main.l2 <= norm / unit
    if norm < 1_000.0:
        assert (long > norm).any(), "some were too long"
    cosines = (before[:, :width] * after[:, :width]).sum(axis=1) * unit**2 / np.maximum(long * short, 1e-12)
    assert cosines[short > 0].min() > 0.999
    np.testing.assert_array_equal(cut.total(clients, ids, 3 * once, toss_for(cut)), 3 * after.sum(axis=0))


def test_a_norm_is_for_gradients() -> None:
    clients = FacilityLocation(np.ones((5, 3)))
    with pytest.raises(InputError, match=r"^norm: is for gradients"):
        solve(clients, 1, FedCG(norm=1.0, answer="votes"))
    with pytest.raises(InputError, match=r"^norm: needs a number above 0"):
        solve(clients, 1, FedCG(norm=0.0))

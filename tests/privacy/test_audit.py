"""Full adaptive runs, audited by the best attack there is; and three planted bugs that the audit must find.

Each bound is right with probability 0.999; the seeds are fixed, and were not chosen. `python -m benchmarks audit` has
ten times as many runs.
"""

import numpy as np
import pytest

from benchmarks.audit import BUGS, audit, bound_epsilon, bound_mu
from folkmoot.foundation.sets import Array
from folkmoot.privacy.accounting import find_epsilon, find_mu

RUNS = 10_000


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 3.0, 8.0])
def test_no_attack_finds_more_than_was_promised(epsilon: float) -> None:
    """And the attack is strong: it finds nearly all of μ, so that larger mistakes would show."""
    found = audit(epsilon, RUNS)
    assert found.worst <= epsilon
    assert 0.9 * found.claimed_mu < found.mu < 1.1 * found.claimed_mu + 0.05


@pytest.mark.slow
def test_coarse_units_do_no_harm() -> None:
    assert audit(1.0, 500, coarse=True).worst <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("bug", "runs"), list(zip(BUGS, (RUNS, 2_000, 2_000), strict=True)))
def test_planted_bugs_are_found(bug: str, runs: int) -> None:
    assert audit(1.0, runs, bug, coarse=bug == "rounding up").worst > 1.0


def draw_normal(mu: float, count: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(4)
    return rng.normal(mu, 1.0, count), rng.normal(0.0, 1.0, count)


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 8.0])
def test_the_audit_measures_what_it_should(epsilon: float) -> None:
    """Two normal distributions, whose μ is known: bounds lie below, and not far below."""
    delta = 1e-3
    mu = find_mu(epsilon, delta)
    there, away = draw_normal(mu, 200_000)
    by_counts = max(bound_epsilon(there, away, delta), bound_epsilon(-away, -there, delta))
    estimate, least = bound_mu(there, away)
    assert 0.45 * epsilon < by_counts <= epsilon
    assert estimate == pytest.approx(mu, abs=0.025)
    assert 0.9 * epsilon < find_epsilon(least, delta) <= epsilon

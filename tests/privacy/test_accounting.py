"""From ε and δ to μ and back, against closed forms, extremes, and the accounting of privacy loss distributions."""

from itertools import pairwise
from math import ceil, inf, log, log2, sqrt

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.pld.privacy_loss_distribution import from_discrete_gaussian_mechanism
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from folkmoot import InputError, Privacy
from folkmoot.privacy.accounting import (
    LARGEST_MU,
    LEAST_DELTA,
    MOST_EPSILON,
    combine_mus,
    find_delta,
    find_epsilon,
    find_mu,
    find_reach,
)

NEAR = 0.002  # of ε, between closed form and numerical composition
epsilons = st.floats(1e-3, MOST_EPSILON)
deltas = st.floats(log(LEAST_DELTA), log(0.4)).map(lambda exponent: float(np.exp(exponent)))


@given(epsilons, deltas)
def test_mu_is_the_largest_that_is_private(epsilon: float, delta: float) -> None:
    mu = find_mu(epsilon, delta)
    assert find_delta(mu, epsilon) <= delta
    if mu < LARGEST_MU * 0.999:
        assert find_delta(mu * (1 + 1e-6), epsilon) > delta * (1 - 1e-9)


@given(epsilons, deltas)
def test_epsilon_of_mu_is_the_epsilon_it_came_from(epsilon: float, delta: float) -> None:
    assert find_epsilon(find_mu(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-6, abs=1e-7)


@given(st.floats(1e-3, 20.0), deltas)
def test_epsilon_is_enough_and_no_smaller_one_is(mu: float, delta: float) -> None:
    epsilon = find_epsilon(mu, delta)
    assert find_delta(mu, epsilon) <= delta * (1 + 1e-9)
    if epsilon > 1e-6:
        assert find_delta(mu, epsilon * (1 - 1e-4)) > delta * (1 - 1e-9)


@given(st.floats(1e-2, 10.0), st.floats(0.0, 30.0))
def test_delta_is_what_the_two_normal_distributions_say(mu: float, epsilon: float) -> None:
    """max over sets of P[A] − e^ε Q[A]: the best set is where the likelihood ratio exceeds e^ε."""
    x = np.linspace(-12.0, mu + 12.0, 400_001)
    p, q = norm.pdf(x - mu), norm.pdf(x)
    with np.errstate(over="ignore"):
        apart = np.maximum(p - np.exp(epsilon) * q, 0.0)
    assert find_delta(mu, epsilon) == pytest.approx(float(apart.sum() * (x[1] - x[0])), rel=1e-5, abs=1e-11)


def test_more_epsilon_or_delta_buys_more_mu() -> None:
    for delta in (1e-14, 1e-9, 1e-3, 0.1):
        assert all(a < b for a, b in pairwise(find_mu(e, delta) for e in (0.001, 0.01, 0.1, 1.0, 3.0, 10.0, 100.0)))
    for epsilon in (0.01, 1.0, 100.0):
        assert all(a < b for a, b in pairwise(find_mu(epsilon, d) for d in (1e-14, 1e-9, 1e-6, 1e-3, 0.4)))


def test_extremes() -> None:
    assert find_delta(1e-7, 1.0) == 0.0
    assert find_delta(50.0, 0.01) == pytest.approx(1.0)
    assert find_delta(5.0, 100.0) < 1e-60
    assert find_epsilon(0.0, 1e-6) == 0.0
    assert find_epsilon(1e-7, 1e-6) == 0.0  # even ε = 0 is kept
    assert 0 < find_mu(1e-3, LEAST_DELTA) < 1e-3
    assert find_mu(MOST_EPSILON, 0.49) < LARGEST_MU
    assert find_epsilon(LARGEST_MU, LEAST_DELTA) < inf


def test_published_values() -> None:
    """σ = 1/μ of the analytic Gaussian mechanism (Balle and Wang 2018), by an own computation at 50 digits."""
    assert 1 / find_mu(1.0, 1e-5) == pytest.approx(3.730631635, rel=1e-8)
    assert 1 / find_mu(0.1, 1e-6) == pytest.approx(36.30469043, rel=1e-8)


def plan_rounds(n: int, k: int, heard: int, picks: int) -> list[float]:
    """Shares of μ² as a private greedy run spends them: funnel, picks, appraisal."""
    funnel = 1 + ceil(log2(n / (4 * k)))
    early = [0.95 * 0.8 / funnel] * heard
    return [*early, *[(0.95 - sum(early)) / picks] * picks, 0.05]


PLANS = {  # clients, ε, shares of the budget
    "MovieLens 1M": (6_040, 1.0, plan_rounds(3_706, 20, 2, 20)),
    "MovieLens small": (610, 3.0, plan_rounds(9_724, 20, 8, 5)),
    "a crowd": (1_000_000, 0.1, plan_rounds(10_000, 20, 4, 20)),
}


@pytest.mark.parametrize("name", list(PLANS))
def test_closed_form_against_privacy_loss_distributions(name: str) -> None:
    clients, epsilon, shares = PLANS[name]
    assert sum(shares) == pytest.approx(1.0)
    delta = clients**-1.5
    mu = Privacy(epsilon).find_mu(clients)
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    for share in shares:
        accountant.compose(dp_accounting.GaussianDpEvent(1 / (mu * sqrt(share))))
    assert accountant.get_epsilon(delta) == pytest.approx(epsilon, abs=NEAR)
    assert find_epsilon(combine_mus([mu * sqrt(share) for share in shares]), delta) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("name", list(PLANS))
def test_closed_form_against_those_of_discrete_gaussians(name: str) -> None:
    """All of an answer in one number of 64 units, where the grid is the coarsest that matters: real answers have
    thousands of units. The discretisation here only ever errs upwards.
    """
    clients, epsilon, shares = PLANS[name]
    mu, units, composed = Privacy(epsilon).find_mu(clients), 64, None
    for share in shares:
        sd = units / (mu * sqrt(share))
        one = from_discrete_gaussian_mechanism(sd, sensitivity=units, value_discretization_interval=2e-5)
        composed = one if composed is None else composed.compose(one)
    assert composed is not None
    assert composed.get_epsilon_for_delta(clients**-1.5) == pytest.approx(epsilon, abs=NEAR)


def test_budget_of_people() -> None:
    assert Privacy(1.0).find_delta(10_000) == pytest.approx(1e-6)
    assert Privacy(1.0, 1e-5).find_delta(10_000) == 1e-5
    assert Privacy(1.0).find_delta(10**12) == LEAST_DELTA
    assert Privacy(1.0, 1e-5).find_mu(7) == find_mu(1.0, 1e-5)
    assert combine_mus([3.0, 4.0]) == 5.0
    assert combine_mus([]) == 0.0


@pytest.mark.parametrize(("clients", "delta"), [(1, 0.1), (5, 0.02), (30, 1 / 300), (100, 1e-3), (101, 101**-1.5)])
def test_unless_given_delta_leaves_one_client_in_ten_runs_at_most(clients: int, delta: float) -> None:
    """N^-1.5 alone would allow it every second run of five clients."""
    assert Privacy(1.0).find_delta(clients) == pytest.approx(delta)
    assert clients * Privacy(1.0).find_delta(clients) <= 0.1 * (1 + 1e-9)


def test_how_far_neighbours_lie_apart() -> None:
    assert find_reach("zero-out", signed=True) == find_reach("zero-out", signed=False) == 1.0
    assert find_reach("replace-one", signed=False) == sqrt(2.0)
    assert find_reach("replace-one", signed=True) == 2.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0.0},
        {"epsilon": -1.0},
        {"epsilon": float("nan")},
        {"epsilon": inf},
        {"epsilon": 101.0},
        {"epsilon": 1.0, "delta": 0.0},
        {"epsilon": 1.0, "delta": 0.5},
        {"epsilon": 1.0, "delta": float("nan")},
        {"epsilon": 1.0, "adjacency": "add-or-remove"},
    ],
    ids=str,
)
def test_what_cannot_be_promised_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Privacy(**wrong)  # type: ignore[arg-type]

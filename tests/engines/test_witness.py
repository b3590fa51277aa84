"""What is shown of one client is what was there: its answer, what was sent, and the sum."""

import numpy as np
import pytest

from folkmoot import FacilityLocation, FedCG, Simulation, solve
from folkmoot.engines.rehearsal import FEW, rehearse
from folkmoot.engines.witness import Witness
from folkmoot.secagg import Policy


def stars(clients: int) -> FacilityLocation:
    rng = np.random.default_rng(0)
    return FacilityLocation(rng.integers(0, 6, (clients, 8)), keep_empty=True)


def test_a_rehearsal_shows_one_client_and_the_sum() -> None:
    objective = stars(60)
    shown = rehearse(objective, 3, Policy())
    assert shown is not None
    assert shown.clients == FEW
    rows = objective.gains(()).toarray()
    expected = np.rint(rows[shown.client] / rows.max() * (2**20 - 1))
    assert np.abs(shown.said - expected).max() <= 1
    assert (shown.seen != shown.said).sum() >= 7  # eight numbers of 25 bits: all alike but for 2^-150
    assert (shown.seen < 2**shown.ring_bits).all()
    assert (shown.said <= shown.learned).all()


@pytest.mark.parametrize("clients", [3, 9])
def test_too_few_for_a_round_show_nothing(clients: int) -> None:
    assert rehearse(stars(clients), 0, Policy()) is None


def test_nothing_to_say_shows_nothing() -> None:
    assert rehearse(FacilityLocation(np.zeros((40, 3)), keep_empty=True), 0, Policy()) is None


def test_the_witness_of_a_run_sees_its_round() -> None:
    objective, witness = stars(40), Witness()
    engine = Simulation(objective, "real", witness=witness)
    result = solve(objective, 2, FedCG(rounds=2, cohort=20), engine=engine)
    assert result == solve(objective, 2, FedCG(rounds=2, cohort=20), engine=Simulation(objective))
    assert witness.found is not None
    assert (witness.found.clients, witness.found.label) == (40, "each item alone")
    totals = objective.gains(()).toarray().sum(axis=0)
    assert np.argmax(witness.found.learned) == np.argmax(totals)

"""A provisioned federation of five parties, with TLS on loopback: whole runs, with one fault of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import folkmoot as fm
from folkmoot.application.federation.loopback import Loopback
from tests.federation.deployments import PARTIES, Deployment, Recount, deploy
from tests.federation.faults import KINDS, Trial, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("federation")]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    made = deploy(tmp_path_factory.mktemp("federation"), cables=True)
    yield made
    made.close()


@pytest.fixture(scope="module")
def loopback(deployment: Deployment) -> Iterator[Loopback]:
    with deployment.start() as started:
        yield started


def check_sums(deployment: Deployment, run: Path) -> fm.Result:
    """Every sum of a finished run is exactly that of the clients whom it names."""
    return fm.verify(run / "transcript", engine=Recount(deployment.load_everything(), run / "transcript"))


def test_a_run_is_the_simulators_bit_for_bit(deployment: Deployment, loopback: Loopback) -> None:
    trial = Trial(deployment, loopback, deployment.folder / "whole")
    trial.begin(deployment.write_problem(seed=1, rounds=3, patience=20.0))
    assert trial.finish() == 0, trial.said
    result = check_sums(deployment, trial.folder)
    simulated = fm.solve(deployment.load_everything(), 5, fm.FedCG(rounds=3, cohort=150, polish=2), seed=1)
    assert (result.selected, result.estimate) == (simulated.selected, simulated.estimate)
    assert all(one.made is not None and one.made.parties == (0, 1, 2, 3, 4) for one in result.rounds or ())


def test_a_run_survives_one_fault_of_each_kind(deployment: Deployment, loopback: Loopback) -> None:
    """Nothing is lost, nothing is wrong, nothing hangs: the run ends by itself, and every sum is right."""
    trial = Trial(deployment, loopback, deployment.folder / "faulty")
    trial.begin(deployment.write_problem(seed=2, rounds=80, patience=4.0))
    try:
        for at, kind in enumerate(KINDS):
            trial.await_rounds(2)
            assert not trial.is_over(), (kind, trial.said)
            trial.make_fault(kind, PARTIES[at % len(PARTIES)], seconds=6.0)
            trial.await_rounds(2)
        assert trial.finish() == 0, trial.said
    finally:
        trial.close()
    result = check_sums(deployment, trial.folder)
    assert all(one.answered for one in result.rounds or ())  # no round was lost
    wait_until("all parties are back", lambda: all(process.poll() is None for process in loopback.processes.values()))

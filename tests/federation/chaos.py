"""`make chaos`: random faults in several runs of a federation; nothing may be lost, wrong, or hang.

`python -m tests.federation.chaos --faults 50 --seed 1` makes a federation of five parties on this machine, with TLS and
a cable of its own for each party, and starts one run after another. Faults come at random moments, some of them while
the last one is still felt. In the end every sum of every run is computed again from the parties' files, over exactly
the clients whom the run says to be in it.
"""

import argparse
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np

import folkmoot as fm
from tests.federation.deployments import PARTIES, Deployment, Recount, deploy
from tests.federation.faults import KINDS, Trial, wait_until

ROUNDS = 20  # of a search: a run lasts half a minute if nothing happens, and several minutes in chaos
MEAN_PAUSE = 8.0  # seconds between faults
MOST_RESUMED = 20  # times that somebody resumes one run by hand
# What a run says when somebody has to look after it: parties were away for too long.
WAIT = ("a stored run can be resumed", "go on with: folkmoot resume")


class Chaos:
    """Runs and faults, drawn from a seed."""

    def __init__(self, deployment: Deployment, faults: int, seed: int) -> None:
        self.deployment, self.left, self.rng = deployment, faults, np.random.default_rng(seed)
        self.start, self.made, self.runs = monotonic(), Counter[str](), list[Path]()
        self.kinds: list[str] = []

    def say(self, *words: object) -> None:
        print(f"{monotonic() - self.start:7.1f} s ", *words, flush=True)

    def go(self) -> None:
        with self.deployment.start() as loopback:
            while self.left > 0:
                trial = Trial(self.deployment, loopback, self.deployment.folder / f"run-{len(self.runs) + 1}")
                self.runs.append(trial.folder)
                try:
                    self._run(trial)
                finally:
                    trial.close()

    def _run(self, trial: Trial) -> None:
        number = len(self.runs)
        self.say(f"run {number} begins")
        trial.begin(self.deployment.write_problem(seed=100 + number, rounds=ROUNDS, patience=4.0))
        resumed = 0
        while True:
            while self.left > 0 and not trial.is_over():
                pause = float(self.rng.exponential(MEAN_PAUSE))
                until = monotonic() + pause
                wait_until("the next fault", lambda until=until: trial.is_over() or monotonic() > until)  # type: ignore[misc]
                if not trial.is_over():
                    self._make_fault(trial)
            if trial.finish() == 0:
                self.say(f"run {number} is over")
                return
            resumed += 1
            said = trial.said[-1].strip().splitlines()[-1]
            if not any(one in said for one in WAIT) or resumed > MOST_RESUMED:
                raise AssertionError(f"run {number} failed: {said}")
            self.say(f"run {number} waits for parties, and is resumed: {said}")
            trial.resume()

    def _make_fault(self, trial: Trial) -> None:
        self.kinds = self.kinds or self.rng.permutation(KINDS).tolist()  # every kind comes before any comes again
        kind, party = self.kinds.pop(), PARTIES[int(self.rng.integers(len(PARTIES)))]
        seconds = float(self.rng.uniform(1.0, 15.0))
        self.left -= 1
        self.made[kind] += 1
        self.say(f"{kind} ({party}, {seconds:.0f} s); {self.left} to come")
        trial.make_fault(kind, party, seconds)

    def check(self) -> None:
        """Every sum of every run, computed again in the clear."""
        everything, rounds, lost = self.deployment.load_everything(), 0, 0
        for run in self.runs:
            result = fm.verify(run / "transcript", engine=Recount(everything, run / "transcript"))
            rounds += len(result.rounds or ())
            lost += sum(not one.answered for one in result.rounds or ())
        self.say(f"{sum(self.made.values())} faults in {len(self.runs)} runs: {dict(sorted(self.made.items()))}")
        self.say(f"{rounds} rounds, {lost} of them asked again; every sum is right")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a new folder for everything, to look at it later")
    given = parser.parse_args()
    with TemporaryDirectory(prefix="folkmoot-chaos-") as room:
        folder = Path(room) if given.keep is None else given.keep
        folder.mkdir(exist_ok=True)
        deployment = deploy(folder, cables=True)
        chaos = Chaos(deployment, given.faults, given.seed)
        try:
            chaos.go()
            chaos.check()
        finally:
            deployment.close()


if __name__ == "__main__":
    main()

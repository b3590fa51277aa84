"""From a problem to its answer: read the data, check everything, choose; go on after a stop, and verify."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, cast

from folkmoot.algorithms import (
    AdaptiveSequencing,
    Auto,
    ContinuousGreedy,
    DiscreteGreedy,
    Exhaustive,
    FedCG,
    FedCGPlus,
    FederatedFrankWolfe,
    Greedy,
    Popularity,
    RandGreeDi,
    RandomSet,
    StochasticGreedy,
)
from folkmoot.algorithms.central.methods import Method
from folkmoot.algorithms.federated.method import Federated
from folkmoot.application.folder import Folder
from folkmoot.application.problem import Problem
from folkmoot.application.solve import resume, solve, verify
from folkmoot.conversation.conduct import drop_outside, is_run_of
from folkmoot.conversation.progress import Watcher
from folkmoot.conversation.result import Result
from folkmoot.data import Limit, Loaded, constraint, load
from folkmoot.engines.simulate import Simulation, bound_dropout
from folkmoot.engines.witness import Witness
from folkmoot.foundation.errors import InputError, TranscriptError
from folkmoot.matroids.matroid import Matroid
from folkmoot.secagg import Policy

METHODS: dict[str, type] = {
    "auto": Auto,
    "fedcg": FedCG,
    "fedcg+": FedCGPlus,
    "discrete": DiscreteGreedy,
    "few-rounds": AdaptiveSequencing,
    "frank-wolfe": FederatedFrankWolfe,
    "randgreedi": RandGreeDi,
    "greedy": Greedy,
    "continuous": ContinuousGreedy,
    "stochastic": StochasticGreedy,
    "popularity": Popularity,
    "random": RandomSet,
    "exhaustive": Exhaustive,
}
COHORT, SECURE_COHORT, SECURE_JURY = 1_000, 100, 200  # asked a round; whole protocols are slow
HOW_MANY = ("rounds", "cohort", "jury", "juries")
EXPECTED = 1_000  # answers a round of discrete greedy
Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Job:
    """A problem with its data: ready to be carried out."""

    problem: Problem
    loaded: Loaded
    matroid: Matroid
    method: Method | Federated
    witness: Witness = field(default_factory=Witness)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was read and what was done about it, and how groups were made of it."""
        remarks = [remark for limit in self.problem.limits for remark in self.loaded.items.remarks(limit.per)]
        return (*self.loaded.notes, *dict.fromkeys(remarks))

    @property
    def policy(self) -> Policy:
        """The terms of secure aggregation."""
        privacy = self.problem.privacy
        return Policy(
            corrupt=privacy.corrupt,
            dropout=bound_dropout(privacy.dropout, self.loaded.objective.n_clients),
            security=privacy.security,
        )

    def engine(self) -> Simulation:
        privacy = self.problem.privacy
        return Simulation(
            self.loaded.objective,
            cast(Literal["ideal", "plain", "real"], privacy.secure),
            dropout=privacy.dropout,
            seed=self.problem.seed,
            policy=self.policy,
            witness=self.witness,
        )


def prepare(problem: Problem, say: Say = lambda _: None) -> Job:
    """Read the data and check everything that can be wrong before anyone is asked."""
    say(f"reading {Path(problem.data.file).name}")
    with problem.locate_errors("data"):
        loaded = load(problem.data)
    with problem.locate_errors("limit", "choose", "data"):
        limits = [Limit(one.at_most, one.per, one.within) for one in problem.limits]
        matroid = constraint(loaded.items, problem.choose.count, limits)
    with problem.locate_errors("method", "privacy"):
        job = Job(problem, loaded, matroid, method_of(problem))
        if isinstance(job.method, Federated):
            job.method.check(matroid)
            asked = job.method.asked or loaded.objective.n_clients
            if problem.privacy.secure == "real":
                job.engine().check_protection(min(asked, loaded.objective.n_clients))
        job.engine()
    return job


def method_of(problem: Problem, *, only_what_fits: bool = False) -> Method | Federated:
    """The method that a problem names, with its settings; those that it does not have are refused, or left out."""
    how, kind = problem.method, METHODS[problem.method.name]
    known = {field.name for field in fields(kind)}
    given = {name: getattr(how, name) for name in HOW_MANY if getattr(how, name) is not None}
    given |= problem.settings
    if only_what_fits:
        given = {name: value for name, value in given.items() if name in known}
    for name in given:
        if name not in known:
            has = f"has {', '.join(sorted(known))}" if known else "has no settings"
            raise InputError(f"{problem.at('method', name)}: the method {how.name} {has}, not {name!r}")
    real = problem.privacy.secure == "real"
    if "cohort" in known:
        given.setdefault("cohort", SECURE_COHORT if real else COHORT)
    if kind is DiscreteGreedy and "epsilon" not in given:
        given.setdefault("expected_answers", SECURE_COHORT if real else EXPECTED)
    if "jury" in known and real:
        given.setdefault("jury", SECURE_JURY)
        given.setdefault("range_from", "jury")  # a protocol among everybody would take hours in one process
    made: Method | Federated = kind(**given)
    return made


def carry_out(job: Job, transcript: Path, progress: bool | Watcher | None = None) -> Result:
    """The answer; a run that was stopped is gone on with."""
    objective, problem = job.loaded.objective, job.problem
    if not isinstance(job.method, Federated):
        return solve(objective, job.matroid, job.method, seed=problem.seed)
    if transcript.exists():
        return resume(transcript, engine=job.engine(), progress=progress)
    engine, seed = job.engine(), problem.seed
    return solve(objective, job.matroid, job.method, engine=engine, seed=seed, transcript=transcript, progress=progress)


def verify_folder(folder: Folder, data: bool = True) -> Result:
    """The result of a finished run, computed again; from the sums alone where the data is not at hand."""
    problem, written = folder.asked(), folder.answer()
    if not data:
        if not folder.transcript.exists():
            raise InputError("a central method leaves no sums to verify; it needs the data", place=folder.path)
        again = verify(folder.transcript)
        if drop_outside(again) != drop_outside(written):
            raise TranscriptError("is not the result of its transcript", place=folder.result)
        return again
    job = prepare(problem)
    folder.check_same_data(problem)
    if isinstance(job.method, Federated):
        if not is_run_of(folder.transcript, job.method, job.matroid, problem.seed):
            raise TranscriptError("is not the problem that the transcript answers", place=folder.problem)
        again = verify(folder.transcript, engine=job.engine())
    else:
        again = carry_out(job, folder.transcript)
    if again != written:
        raise TranscriptError("is not what comes out when it is computed again", place=folder.result)
    return again

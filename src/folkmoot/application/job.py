"""A problem and all that is needed to carry it out: everything is read and checked before anyone is asked."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

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
    PrivateGreedy,
    RandGreeDi,
    RandomSet,
    StochasticGreedy,
)
from folkmoot.algorithms.central import Method
from folkmoot.algorithms.federated.census import MOST_PLACES
from folkmoot.algorithms.federated.purse import check_fresh
from folkmoot.application.answer_files import list_attributes
from folkmoot.application.outlook import Outlook, Trials
from folkmoot.application.problem import Problem
from folkmoot.application.solve import resume, solve, verify
from folkmoot.application.table_costs import check_table
from folkmoot.conversation.engine import Engine
from folkmoot.conversation.outcome import Conversation
from folkmoot.conversation.population import Population
from folkmoot.conversation.progress import Watcher
from folkmoot.conversation.result import Result
from folkmoot.conversation.transcript import Transcript
from folkmoot.data import Group, Items, Limit, Loaded, Subject, bind_groups, find_on_disk, load, make_groups
from folkmoot.data.records import LoadedTable
from folkmoot.engines.simulate import Simulation, bound_dropout
from folkmoot.engines.witness import Witness
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_number
from folkmoot.foundation.settings import PATIENCE, WAIT, PrivacySettings
from folkmoot.matroids.matroid import Matroid
from folkmoot.privacy.accounting import Privacy
from folkmoot.report.text import count_many
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
    "private": PrivateGreedy,
}
PRIVATE = "private"  # the method for noise: what auto is once there is an epsilon
PROMISE = ("epsilon", "delta", "adjacency")  # settings of that method that a problem has among those of privacy
COHORT, SECURE_COHORT, SECURE_JURY = 1_000, 100, 200  # asked per round; whole protocols are slow
HOW_MANY = ("rounds", "cohort", "jury", "juries", "shortlist")
EXPECTED = 1_000  # answers per round of discrete greedy
ASKED = ("cohort", "expected_answers")  # settings that say how many clients are asked
Announce = Callable[[Outlook], None]  # is told what to expect of a run, before anybody is asked


def announce_nothing(_outlook: Outlook) -> None:
    pass


@dataclass(frozen=True, eq=False)
class Task:
    """A problem with all about it that is public: whoever has the data can carry it out."""

    problem: Problem
    subject: Subject
    matroid: Matroid
    method: Method | Conversation

    @property
    def reach(self) -> float | None:
        """Beyond which an item is of no use, where that is a part of the problem."""
        return self.problem.data.reach

    @property
    def notes(self) -> tuple[str, ...]:
        """What was read and what was done about it, and how groups were made of it."""
        remarks = [remark for limit in self.problem.limits for remark in self.subject.items.remarks(limit.per)]
        return (*self.subject.notes, *dict.fromkeys(remarks), *self._note_count(), *self._note_noise())

    def _note_count(self) -> list[str]:
        asked, allowed = self.problem.choose.count, self.matroid.rank
        if asked is None or asked <= allowed:
            return []
        return [f"{asked:,} were asked for; the limits allow {allowed:,}."]

    def _note_noise(self) -> list[str]:
        data, epsilon = self.problem.data, self.problem.privacy.epsilon
        if epsilon is None:
            return []
        swapped = self.problem.method.name != find_method(self.problem)
        said = [f"Because of epsilon, the method is {PRIVATE}: auto has no noise."] if swapped else []
        if data.items is not None or data.file is None or self.subject.kind == "tables":
            return said
        return [
            *said,
            f"The list of {self.subject.items_called} was read from {self.problem.source}. Noise does not hide it: for "
            "real clients it must be public, as a file of items is.",
        ]


@dataclass(frozen=True, eq=False)
class Job(Task):
    """A problem with its data: ready to be carried out here."""

    subject: Loaded
    witness: Witness = field(default_factory=Witness)

    @property
    def loaded(self) -> Loaded:
        return self.subject

    @property
    def policy(self) -> Policy:
        """The terms of secure aggregation."""
        return find_policy(self.problem, self.loaded.objective.n_clients)

    @cached_property
    def outlook(self) -> Outlook | None:
        """What to expect under noise; None where there is none, or nothing to choose."""
        method, objective = self.method, self.loaded.objective
        if not isinstance(method, PrivateGreedy) or self.matroid.allows_all:
            return None
        trials = Trials(method, objective, self.matroid, self.policy, self.problem.privacy.dropout)
        known = Population.of(objective), method.cohort, self.matroid.rank, self.policy, trials
        return Outlook.of(method.privacy, *known, mapped=method.positions is not None)

    def engine(self) -> Simulation:
        """All clients in this process; its sums are also those of a cluster."""
        privacy = self.problem.privacy
        return Simulation(
            self.loaded.objective,
            cast(Literal["ideal", "plain", "real"], privacy.summing),
            dropout=privacy.dropout,
            seed=self.problem.seed if privacy.cluster is None else 0,
            policy=self.policy,
            witness=self.witness,
        )


def prepare_task(problem: Problem) -> Task:
    """Read and check everything that can be wrong before anyone is asked: the data, or a federation's list of items."""
    if problem.privacy.federation is None:
        return prepare(problem)
    from folkmoot.application.federation.networked import prepare_networked  # only if it is wanted

    return prepare_networked(problem)


def list_files(problem: Problem) -> dict[str, str]:
    """The files that a run must find unchanged when it is continued."""
    if problem.privacy.federation is None:
        return {name: find_on_disk(name) for name in (problem.data.file, problem.data.items) if name is not None}
    from folkmoot.application.federation.networked import list_public_files

    return list_public_files(problem)


def prepare(problem: Problem, *, only_what_fits: bool = False) -> Job:
    """Read the data and check everything that can be wrong before anyone is asked. only_what_fits: settings that the
    method does not have are for others that it is compared with.
    """
    with problem.locate_errors():
        check_has_data(problem)
        loaded = load(problem.data)
    matroid = constrain(problem, loaded.items, problem.choose.count)
    method = add_map(make_method(problem, only_what_fits=only_what_fits), loaded, problem.data.reach)
    job = Job(problem, loaded, matroid, method)
    check_job(job)
    return job


def check_job(job: Job) -> None:
    """Refuse what cannot be carried out, or would take hours, before anybody is asked."""
    problem, loaded, matroid = job.problem, job.loaded, job.matroid
    with problem.locate_errors(own_settings(problem)):
        if isinstance(loaded, LoadedTable):
            try:
                check_table(loaded, matroid.rank, job.method)
            except InputError as error:
                if error.argument != "method":
                    raise
                raise problem.origin.locate_at(error, "method", "name") from None
        if problem.privacy.cluster is not None:
            _check_cluster(problem, job.method)
        if isinstance(job.method, Conversation):
            job.method.check(job.matroid)
            if problem.privacy.secure == "real" or isinstance(job.method, PrivateGreedy):
                _check_cohort(job, job.method)
            if (outlook := find_outlook(job)) is not None:
                outlook.check()  # first: whoever is refused anyway need not find out anything else
            if isinstance(job.method, PrivateGreedy):
                _check_most(job)
                check_fresh(Population.of(loaded.objective), job.method.cohort, job.method.plan_rounds(matroid))
        job.engine()


def find_policy(problem: Problem, clients: int) -> Policy:
    """The terms of secure aggregation that a problem sets for so many clients."""
    privacy = problem.privacy
    terms = Policy(corrupt=privacy.corrupt, security=privacy.security)
    return replace(terms, dropout=bound_dropout(as_number(privacy.dropout, "dropout"), clients, terms.corrupt))


def find_outlook(job: Task) -> Outlook | None:
    """What to expect under noise; None also where parties have yet to say how many clients there are."""
    return job.outlook if isinstance(job, Job) else None


def _check_most(job: Job) -> None:
    """Refuse noise where it is not public how large values can be: nobody may be asked, and data is not public."""
    if job.loaded.objective.most is None:
        example = 1.0 if job.loaded.kind == "tables" else 5.0
        raise InputError(
            "is needed under noise, where nobody can be asked how large values are",
            argument="most",
            remedy="say what everybody knows, such as",
            settings=[("most", example)],
        )


def check_has_data(problem: Problem) -> None:
    """Refuse a federation where all the data is needed in one place."""
    if problem.privacy.federation is not None:
        raise InputError("the data stays at its parties, but this needs all of it here", argument="federation")
    for name, default in (("patience", PATIENCE), ("wait", WAIT)):
        if getattr(problem.privacy, name) != default:
            raise InputError("is for federations, whose parties are waited for", argument=name)


def constrain(problem: Problem, items: Items, count: int | None) -> Matroid:
    """The sets that a problem allows, `count` items at most."""
    families: list[list[Group]] = []
    for number, one in enumerate(problem.limits):
        with problem.locate_errors(number=number):
            families.append(make_groups(items, Limit(one.at_most, one.per, one.within), families))
    with problem.locate_errors():
        return bind_groups(len(items), count, families)


def find_method(problem: Problem) -> str:
    """The name of the method that a problem leads to."""
    return PRIVATE if problem.method.name == "auto" and problem.privacy.epsilon is not None else problem.method.name


def own_settings(problem: Problem) -> set[str]:
    """The names of the settings that the method has, beside those of privacy."""
    name = find_method(problem)
    return {one.name for one in fields(METHODS[name]) if name != PRIVATE or one.name not in PROMISE}


def add_map(method: Method | Conversation, subject: Subject, reach: float | None) -> Method | Conversation:
    """The method with the map of the places, where that is public and a private method can use it."""
    positions = subject.items.positions
    known = subject.kind == "places" and positions is not None and reach is not None
    if not known or not isinstance(method, PrivateGreedy) or len(subject.items) > MOST_PLACES:
        return method
    return replace(method, positions=positions, reach=float(reach or 0.0))


def make_method(problem: Problem, *, only_what_fits: bool = False) -> Method | Conversation:
    """The method that a problem names, with its settings; those that it does not have are refused, or left out."""
    how, chosen, known = problem.method, find_method(problem), own_settings(problem)
    promise = find_promise(problem)
    given = {name: getattr(how, name) for name in HOW_MANY if getattr(how, name) is not None}
    given |= problem.settings
    if only_what_fits:
        given = {name: value for name, value in given.items() if name in known}
    for name in given:
        if name not in known:
            has = f"has {', '.join(sorted(known))}" if known else "has no settings"
            about = (
                f"the method {chosen} {has}"
                if chosen == how.name
                else f"with epsilon, the method is {chosen} and {has}"
            )
            error = InputError(f"{about}, not {name!r}")
            raise problem.origin.locate_at(error, "settings" if name in problem.settings else "method", name)
    if chosen == PRIVATE:
        with problem.locate_errors(known):
            return PrivateGreedy(**promise, **given)
    kind = METHODS[chosen]
    real = problem.privacy.secure == "real"
    if "cohort" in known:
        given.setdefault("cohort", SECURE_COHORT if real else COHORT)
    if kind is DiscreteGreedy and not {"epsilon", "kappa"} & set(given):
        given.setdefault("expected_answers", SECURE_COHORT if real else EXPECTED)
    if "jury" in known and real:
        given.setdefault("jury", SECURE_JURY)
        given.setdefault("range_from", "jury")  # a protocol among everybody would take hours in one process
    with problem.locate_errors(known):
        made: Method | Conversation = kind(**given)
    return made


def find_promise(problem: Problem) -> dict[str, Any]:
    """What noise promises to every client, checked; nothing where there is no noise."""
    privacy = problem.privacy
    promise = {name: getattr(privacy, name) for name in PROMISE}
    with problem.locate_errors():
        if privacy.epsilon is None:
            for name in PROMISE[1:]:
                if promise[name] != getattr(PrivacySettings, name):
                    raise InputError(
                        "is about noise", argument=name, remedy="say how much", settings=[("epsilon", 1.0)]
                    )
            if problem.method.name == PRIVATE:
                raise InputError(
                    f"is needed: the method {PRIVATE} adds noise, and this says how much",
                    argument="epsilon",
                    settings=[("epsilon", 1.0)],
                )
            return {}
        if find_method(problem) != PRIVATE:
            raise problem.origin.locate_at(
                InputError(
                    f"{problem.method.name} works without noise, so it cannot keep an epsilon",
                    remedy="leave it out, or epsilon",
                ),
                *("method", "name"),
            )
        Privacy(**promise)
        if privacy.summing == "plain":
            name = "secure" if privacy.cluster is None else "cluster"
            raise InputError(
                "noise is made of shares that clients add to secure sums, and these would be in the clear",
                argument=name,
                remedy="leave it out, or epsilon",
            )
    return promise


def _check_cluster(problem: Problem, method: Method | Conversation) -> None:
    if not isinstance(method, Conversation):
        raise InputError(f"{problem.method.name} asks nobody, so there is nothing to add up", argument="cluster")
    if isinstance(method, RandGreeDi):
        raise InputError(
            f"{problem.method.name} deals clients to groups at random, but on a cluster they stay in their files",
            argument="cluster",
        )
    if problem.privacy.secure == "real" or problem.privacy.dropout:
        raise InputError(
            "a cluster adds up in the clear, and nobody drops out",
            remedy="leave out secure and dropout, which are for simulations",
            argument="cluster",
        )


def _check_cohort(job: Job, method: Conversation) -> None:
    """Refuse rounds too small for the whole protocol; the setting that makes them small is named, or the file."""
    present = job.loaded.objective.n_clients
    asked = min(getattr(method, "cohort_size", None) or present, present)
    try:
        job.engine().check_protection(asked)
    except InputError as error:
        if error.argument != "clients":
            raise
        setting = next((name for name in ASKED if hasattr(method, name)), None) if asked < present else None
        if setting is None and present < (needed := job.policy.quorum(0)):
            noise = ", and noise is added in these" if isinstance(method, PrivateGreedy) else ""
            who = count_many(present, job.loaded.clients_called)
            few = f"{who} {'is' if present == 1 else 'are'} too few: secure sums need {needed}, among whom each hides"
            raise InputError(few + noise, place=job.problem.source) from None
        place = None if setting else job.problem.source
        raise error.rename(setting, place=place) from None


def carry_out(
    job: Task,
    transcript: Path | None = None,
    progress: bool | Watcher | None = None,
    announce: Announce = announce_nothing,
) -> Result:
    """The answer; a run that was stopped is continued. `announce` is told what to expect under noise, where that is
    known only once parties have said how many clients they have.
    """
    objective, problem = job.loaded.objective if isinstance(job, Job) else None, job.problem
    with problem.locate_errors(own_settings(problem)):
        if not isinstance(job.method, Conversation):
            return name_chosen(solve(objective, job.matroid, job.method, seed=problem.seed), job)
        if objective is None and transcript is not None and is_finished(transcript):
            return name_chosen(verify(transcript), job)  # what is over needs no party
        folder, seed = None if transcript is None else transcript.parent, problem.seed
        with open_engine(job, folder, announce) as engine:
            if transcript is not None and transcript.exists():
                result = resume(transcript, engine=engine, progress=progress)
            else:
                result = solve(
                    *(objective, job.matroid, job.method),
                    engine=engine,
                    seed=seed,
                    transcript=transcript,
                    progress=progress,
                )
    return name_chosen(result, job)


def name_chosen(result: Result, job: Task) -> Result:
    """The result with all that is publicly known of its items, which no engine knows."""
    items = job.subject.items
    names = tuple(items.names[item] for item in result.chosen)
    return replace(result, names=names, attributes=list_attributes(items, result.chosen))


def is_finished(transcript: Path) -> bool:
    """Whether a transcript has all rounds of its run."""
    if not transcript.exists():
        return False
    with Transcript.reopen(transcript) as store:
        return store.read_entry("result") is not None


@contextmanager
def open_engine(job: Task, folder: Path | None, announce: Announce = announce_nothing) -> Iterator[Engine]:
    """What adds up, for the time of a run."""
    if not isinstance(job, Job):
        from folkmoot.application.federation.networked import NetworkedTask, open_federation

        assert isinstance(job, NetworkedTask)
        with open_federation(job, folder, announce) as network:
            yield network
        return
    address = job.problem.privacy.cluster
    if address is None:
        yield job.engine()
        return
    from folkmoot.application.cluster import open_cluster  # only if it is wanted

    with open_cluster(address, job.loaded.objective, folder) as engine:
        yield engine

"""A federated run from start to end: ask, store, show progress; replay what was stored, and verify it."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import numpy as np

from folkmoot.conversation.codec import pack, unpack
from folkmoot.conversation.engine import Control, Engine, never
from folkmoot.conversation.exposure import SumMembers, smallest_difference
from folkmoot.conversation.heterogeneity import measure_sizes
from folkmoot.conversation.outcome import Conversation, Outcome
from folkmoot.conversation.population import Population
from folkmoot.conversation.progress import Watcher, show_progress
from folkmoot.conversation.result import Exclusion, Result, Round
from folkmoot.conversation.rounds import Ask, Cost, Sum, drive, read_reply
from folkmoot.conversation.talk import Talk
from folkmoot.conversation.transcript import ANSWERING, REVEALING, Transcript
from folkmoot.foundation.errors import InputError, TranscriptError
from folkmoot.foundation.inputs import as_number
from folkmoot.foundation.registry import check_storable, find_kinds
from folkmoot.matroids.matroid import Matroid, as_matroid
from folkmoot.objectives.objective import Objective
from folkmoot.secagg import Policy
from folkmoot.secagg.traffic import count_bytes
from folkmoot.theory.checks import refuse_broken
from folkmoot.theory.guarantee import Continuous
from folkmoot.version import __version__

DATA = "data"  # the entry of `Engine.describe` that identifies the clients' data


@dataclass(frozen=True)
class Steering:
    """How a caller follows and limits a run.

    progress: a function of (rounds done, rounds planned, last round), or False; None: a bar on terminals.
    deadline: seconds that a round may take. cancelled: returns whether to stop; it is called while a round runs.
    """

    progress: bool | Watcher | None = None
    deadline: float | None = None
    cancelled: Callable[[], bool] = never

    def __post_init__(self) -> None:
        if self.deadline is not None:
            as_number(self.deadline, "deadline", above=True)

    def begin_round(self, inside: Callable[[str, int, int], None]) -> Control:
        until = None if self.deadline is None else monotonic() + self.deadline
        return Control(until, self.cancelled, inside)


def conduct(
    method: Conversation,
    matroid: Matroid,
    engine: Engine,
    seed: int,
    transcript: str | Path | None = None,
    steering: Steering | None = None,
) -> Result:
    """Run a method with an engine; with a transcript, every round is stored as soon as it is over."""
    method.check(matroid)
    steering = steering or Steering()
    if transcript is None:
        return _conduct(method, matroid, engine, seed, None, engine.terms, steering)
    about = {
        "version": __version__.encode(),
        "run": _describe_run(method, matroid, seed),
        "population": pack(_describe_engine(engine)),
        "terms": pack(None if engine.terms is None else asdict(engine.terms)),
        "seen": b"everything" if engine.everything is not None else b"sums",
    }
    with Transcript.create(transcript, about) as store:
        return _conduct(method, matroid, engine, seed, store, engine.terms, steering)


def continue_transcript(
    path: str | Path, engine: Engine, matroid: Matroid | None = None, steering: Steering | None = None
) -> Result:
    """Continue a run that was stopped: stored sums are replayed, and every question must be the same as before."""
    with Transcript.reopen(path) as store:
        method, constraint, seed = _read_run(store, matroid)
        _check_same_population(store, engine)
        if method.adds_noise and engine.terms != _read_terms(store):
            raise TranscriptError("was made on other terms of secure aggregation; noise depends on them", place=path)
        store.forget_lost()
        return _conduct(method, constraint, engine, seed, store, _read_terms(store), steering or Steering())


def _conduct(
    method: Conversation,
    matroid: Matroid,
    engine: Engine,
    seed: int,
    store: Transcript | None,
    terms: Policy | None,
    steering: Steering,
) -> Result:
    start = perf_counter()
    log, planned = Log(terms), method.plan_rounds(matroid)
    with show_progress(steering.progress, planned) as shown:

        def answer(ask: Ask) -> Sum:
            known = store.recall(ask) if store is not None else None
            if known is None:
                known = _ask_or_give_up(engine, ask, steering.begin_round(shown.inside), store)
                if store is not None:
                    store.note(ask, known)
            engine.leave_out(known.caught)
            shown.watch(len(log.rounds) + 1, planned, log.add(ask, known))
            return known

        outcome = drive(method.run(Talk(engine.population, matroid, seed, terms)), answer)
    seconds = perf_counter() - start
    result = _make_result(method, matroid, engine.everything, engine.population, seed, outcome, log, seconds)
    if store is not None:
        store.finish(result.to_json())
    return result


def _ask_or_give_up(engine: Engine, ask: Ask, control: Control, store: Transcript | None) -> Sum:
    """The sum of a round. Lost if a process that died had begun it, real clients may have answered, and the engine
    cannot continue it.
    """
    if store is None or engine.can_recompute:
        return _ask_engine(engine, ask, control)
    broken = store.recall_broken(ask)
    if broken is not None and not engine.can_continue(ask):
        return replace(broken, old=True)

    def warn(revealing: bool) -> None:
        store.intend(ask, REVEALING if revealing else ANSWERING)

    return _ask_engine(engine, ask, replace(control, warn=warn))


def _ask_engine(engine: Engine, ask: Ask, control: Control) -> Sum:
    """The sum of a round, with the time it took."""
    start = perf_counter()
    said = engine.add_up(ask, control)
    if not isinstance(said, Sum):  # `drive` raises the error
        return said
    cost = Cost(0.0, 0.0, measured=False) if said.cost is None else said.cost
    return replace(said, cost=replace(cost, seconds=perf_counter() - start))


class Log:
    """What is kept of every round: its cost, and who is in its sum."""

    def __init__(self, terms: Policy | None) -> None:
        self.terms, self.rounds, self.sums = terms, list[Round](), list[SumMembers]()

    def add(self, ask: Ask, said: Sum) -> Round:
        self.rounds.append(_describe_round(ask, said, self.terms))
        if said.clients and not said.lost:
            self.sums.append(SumMembers.of(ask, said))
        return self.rounds[-1]


def _describe_round(ask: Ask, said: Sum, terms: Policy | None) -> Round:
    """A round with the mean bytes that a client receives and sends: as measured; otherwise computed from the packed
    question and secure aggregation on these terms (None: the vector alone).
    """
    query = ask.query
    clients = ask.cohort.size if query.all_speak else said.clients
    if said.cost is not None and said.cost.measured:
        down, up = round(said.cost.down), round(said.cost.up)
    else:
        nonzero = query.count_nonzero(clients) if ask.can_be_repeated else query.length
        down, up = count_bytes(clients, query.length, ask.span, nonzero, terms)
        down += len(pack(query))
    return Round(
        label=ask.label,
        asked=ask.cohort.size if query.all_speak or query.voluntary else said.clients,
        answered=0 if said.lost else said.clients,
        down=down,
        up=up,
        value=read_reply(query, said).value if said.count else None,
        voluntary=query.voluntary,
        purpose=ask.purpose,
        seconds=0.0 if said.cost is None else said.cost.seconds,
        measured=said.cost is not None and said.cost.measured,
        made=said.made,
        excluded=tuple(Exclusion(one, fault) for one, fault in sorted(said.excluded.items())),
    )


def _make_result(
    method: Conversation,
    matroid: Matroid,
    everything: Objective | None,
    population: Population,
    seed: int,
    outcome: Outcome,
    log: Log,
    seconds: float,
) -> Result:
    """What the sums say, and what only a simulator can know (`value`, `names` and `guarantee`)."""
    members, estimate, order, gains, broken = outcome.appraised
    largest = m_F = outcome.ranges.single
    value = estimate.value if estimate.everyone else None
    names = None
    selected = tuple(np.flatnonzero(members).tolist())
    if everything is not None:
        refuse_broken(everything, members)
        largest = float(everything.find_largest_shares(np.ones(everything.n_items)).max())
        m_F = float(everything.mean_gains(()).max())
        value = float(everything.mean_values(members))
        names = tuple(everything.item_names[item] for item in order.tolist()) if everything.item_names else None
    complete = all(one.voluntary or one.answered == one.asked for one in log.rounds)
    promise, guarantee = outcome.promise, None
    if everything is not None and isinstance(promise, Continuous) and outcome.asked:
        promise = replace(promise, measured=measure_sizes(outcome.asked, everything))
    if promise is not None:
        guarantee = promise.guarantee(largest, m_F, estimate.low)
        if not (outcome.covered and complete) or broken:
            guarantee = guarantee.mark_not_covered()
    return Result(
        method=repr(method),
        n_items=matroid.n_items,
        selected=selected,
        value=value,
        upper_bound=estimate.bound_high,
        seconds=seconds,
        seed=seed,
        order=tuple(order.tolist()),
        gains=None if gains is None else tuple(gains.tolist()),
        fractional=outcome.x,
        names=names,
        estimate=estimate,
        guarantee=guarantee,
        rounds=tuple(log.rounds),
        smallest_difference=smallest_difference(log.sums, population.n_clients),
        why=outcome.why,
        privacy=outcome.privacy,
        broken=broken,
    )


def verify_transcript(path: str | Path, engine: Engine | None = None, matroid: Matroid | None = None) -> Result:
    """Recompute a finished run: every question from the sums before it, and the result from all sums.

    If the engine can recompute its sums, every sum is recomputed too. Other engines are never asked anything: their
    sums are replayed. Raises `TranscriptError` that says what does not match. Nothing is written.
    """
    with Transcript.reopen(path, reading=True) as store:
        written = store.read_entry("result")
        if written is None:
            raise TranscriptError(
                f"the run is not finished ({len(store)} rounds)", remedy="call resume() to continue it", place=path
            )
        method, constraint, seed = _read_run(store, matroid)
        if engine is not None:
            _check_same_population(store, engine)
        recorded = Result.from_json(written.decode())
        population = unpack(store.read_entry("population") or b"", find_kinds(Population))["population"]
        log = Log(_read_terms(store))

        def answer(ask: Ask) -> Sum:
            known = store.recall(ask)
            if known is None:
                raise TranscriptError(f"round {ask.number} ({ask.label}) is missing", place=path)
            recomputed = engine is not None and engine.can_recompute and ask.query.added_noise is None
            if engine is not None and recomputed and not engine(ask).equals(known):
                raise TranscriptError(
                    f"round {ask.number} ({ask.label}) has a different sum when it is computed again", place=path
                )
            log.add(ask, known)
            return known

        outcome = drive(method.run(Talk(population, constraint, seed, log.terms)), answer)
        if len(log.rounds) != len(store):
            raise TranscriptError(f"contains {len(store)} rounds, but the run has {len(log.rounds)}", place=path)
        everything = None if engine is None or store.read_entry("seen") == b"sums" else engine.everything
        again = _make_result(method, constraint, everything, population, seed, outcome, log, recorded.seconds)
        alike = again == recorded if everything is not None else drop_outside(again) == drop_outside(recorded)
        if not alike:
            raise TranscriptError("its rounds lead to a different result from the one stored", place=path)
        return again


def drop_outside(result: Result) -> Result:
    """What the sums say, without what only a simulator can know."""
    return replace(result, value=None, names=None, attributes=None, guarantee=None)


def read_population(path: str | Path) -> Population:
    """The clients of a transcript."""
    with Transcript.reopen(path, reading=True) as store:
        known: Population = unpack(store.read_entry("population") or b"", find_kinds(Population))["population"]
        return known


def read_terms(path: str | Path) -> Policy | None:
    """The terms of secure aggregation on which a run was made; None: its sums were not hidden."""
    with Transcript.reopen(path, reading=True) as store:
        return _read_terms(store)


def is_run_of(path: str | Path, method: Conversation, matroid: Matroid, seed: int) -> bool:
    """Whether a transcript was started with this method, constraint and seed."""
    with Transcript.reopen(path, reading=True) as store:
        return store.read_entry("run") == _describe_run(method, matroid, seed)


def _describe_run(method: Conversation, matroid: Matroid, seed: int) -> bytes:
    """A run as bytes; what could not be read back is refused."""
    check_storable(method, "method")
    return pack({"method": method, "matroid": _make_storable(matroid), "seed": seed})


def _make_storable(matroid: Matroid) -> Matroid | str:
    """A matroid given as a function cannot be stored; its name is, and the caller must pass it again."""
    try:
        parameters = matroid.parameters()
    except InputError:
        return repr(matroid)
    check_storable(matroid, "matroid")
    try:
        type(matroid)(**parameters)
    except TypeError as error:
        raise InputError(
            f"{matroid!r} cannot be rebuilt from its parameters() ({error}), so a stored run could not be read back",
            remedy="return the arguments of its constructor from parameters()",
            argument="matroid",
        ) from None
    return matroid


def _read_run(store: Transcript, matroid: Matroid | None) -> tuple[Conversation, Matroid, int]:
    version = (store.read_entry("version") or b"").decode()
    if version != __version__:
        raise TranscriptError(f"was written by folkmoot {version}, but this is {__version__}", place=store.path)
    run = unpack(store.read_entry("run") or b"", find_kinds(Conversation, Matroid), place=store.path)
    written = run["matroid"]
    if isinstance(written, str):
        if matroid is None:
            raise InputError(
                f"{written} is a function, which is not stored", remedy="pass it again", argument="matroid"
            )
        as_matroid(matroid)
        if repr(matroid) != written:
            raise TranscriptError(f"was made under {written}, not under {matroid!r}", place=store.path)
        written = matroid
    elif matroid is not None and pack(matroid) != pack(written):
        raise TranscriptError(f"was made under {written!r}, not under the matroid given", place=store.path)
    return run["method"], written, run["seed"]


def _read_terms(store: Transcript) -> Policy | None:
    written = unpack(store.read_entry("terms") or b"", {})
    return None if written is None else Policy(**written)


def _describe_engine(engine: Engine) -> Mapping[str, Any]:
    """What distinguishes these clients from others: number, weights, and what the engine says about itself."""
    return {"population": engine.population, "engine": dict(engine.describe())}


def _check_same_population(store: Transcript, engine: Engine) -> None:
    written = store.read_entry("population") or b""
    now = pack(_describe_engine(engine))
    if written == now:
        return
    before, after = (unpack(data, find_kinds(Population)) for data in (written, now))
    if pack(before["population"]) != pack(after["population"]):
        was, given = before["population"], after["population"]
        raise TranscriptError(
            f"was made with {was.n_clients} clients and {was.n_items} items, but {given.n_clients} and {given.n_items} "
            "were given (or the weights differ)",
            place=store.path,
        )
    was, given = ({k: v for k, v in one["engine"].items() if k != DATA} for one in (before, after))
    if was != given:
        raise TranscriptError(f"the engine was {was}, but {given} was given", place=store.path)
    raise TranscriptError("was made with different data of the same size", place=store.path)

"""A federated run from start to end: ask, store, show, resume, verify."""

from collections.abc import Callable
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from folkmoot.algorithms.federated.adaptive import AdaptiveSequencing
from folkmoot.algorithms.federated.auto import Auto
from folkmoot.algorithms.federated.baselines import FederatedFrankWolfe, RandGreeDi
from folkmoot.algorithms.federated.discrete import DiscreteGreedy
from folkmoot.algorithms.federated.fedcg import FedCG, FedCGPlus
from folkmoot.algorithms.federated.method import Federated, Outcome
from folkmoot.conversation.codec import pack, unpack
from folkmoot.conversation.exposure import Summed, smallest_difference
from folkmoot.conversation.progress import Watcher, show_progress
from folkmoot.conversation.result import Result, Round
from folkmoot.conversation.rounds import Ask, Engine, Population, Sum, Talk, drive
from folkmoot.conversation.transcript import Transcript
from folkmoot.engines.simulate import Simulation
from folkmoot.foundation.errors import InputError, TranscriptError
from folkmoot.matroids import Free, Graphic, Laminar, Linear, Partition, Transversal, Truncation, Uniform
from folkmoot.matroids.matroid import Matroid, as_matroid
from folkmoot.objectives.objective import Objective
from folkmoot.secagg import Policy
from folkmoot.secagg.traffic import count_bytes
from folkmoot.version import __version__

METHODS = (Auto, FedCG, FedCGPlus, DiscreteGreedy, AdaptiveSequencing, FederatedFrankWolfe, RandGreeDi)
MATROIDS = (Free, Graphic, Laminar, Linear, Partition, Transversal, Truncation, Uniform)
KINDS: dict[str, type] = {kind.__name__: kind for kind in (*METHODS, *MATROIDS, Population)}
PROBED = 256  # clients looked at, to tell one population from another


def conduct(
    method: Federated,
    matroid: Matroid,
    engine: Engine,
    seed: int,
    transcript: str | Path | None = None,
    progress: bool | Watcher | None = None,
) -> Result:
    """Run a method against an engine; with a transcript, every round is stored as it comes."""
    method.check(matroid)
    if transcript is None:
        return _conduct(method, matroid, engine, seed, None, _terms(engine), progress)
    about = {
        "version": __version__.encode(),
        "run": _run(method, matroid, seed),
        "population": pack(_describe_engine(engine)),
        "terms": pack(None if (terms := _terms(engine)) is None else asdict(terms)),
    }
    with Transcript.create(transcript, about) as store:
        return _conduct(method, matroid, engine, seed, store, _terms(engine), progress)


def _conduct(
    method: Federated,
    matroid: Matroid,
    engine: Engine,
    seed: int,
    store: Transcript | None,
    terms: Policy | None,
    progress: bool | Watcher | None,
) -> Result:
    start = perf_counter()
    talk = Talk(engine.population, matroid, seed)
    log = Log(terms)
    planned = method.plan_rounds(matroid)
    with show_progress(progress, planned) as watch:

        def answer(ask: Ask) -> Sum:
            known = store.recall(ask) if store is not None else None
            said = engine(ask) if known is None else known
            if store is not None and known is None:
                store.note(ask, said)
            watch(len(log.rounds) + 1, planned, log.add(ask, said))
            return said

        outcome = drive(method.run(talk), answer)
    result = _result(method, matroid, engine, engine.population, seed, outcome, log, perf_counter() - start)
    if store is not None:
        store.finish(result.to_json())
    return result


class Log:
    """What is kept of every round: what it took, and who was in its sum."""

    def __init__(self, terms: Policy | None) -> None:
        self.terms, self.rounds, self.sums = terms, list[Round](), list[Summed]()

    def add(self, ask: Ask, said: Sum) -> Round:
        self.rounds.append(_log_round(ask, said, self.terms))
        if said.clients and not said.lost:
            self.sums.append(Summed.of(ask, said))
        return self.rounds[-1]


def _log_round(ask: Ask, said: Sum, terms: Policy | None) -> Round:
    """Bytes a client receives and sends on average: the packed question, and secure aggregation on these terms (none:
    the vector alone).
    """
    query = ask.query
    clients = ask.cohort.size if query.all_speak else said.clients
    weight = said.asked if query.voluntary else said.count  # who volunteers speaks for those who do not
    value = query.value(said.total, weight) if said.count else None
    hit = query.hit(clients) if ask.can_be_repeated else query.length
    down, up = count_bytes(clients, query.length, ask.span, hit, terms)
    return Round(
        label=ask.label,
        asked=ask.cohort.size if query.all_speak or query.voluntary else said.clients,
        answered=0 if said.lost else said.clients,
        down=len(pack(query)) + down,
        up=up,
        value=value,
        voluntary=query.voluntary,
    )


def _result(
    method: Federated,
    matroid: Matroid,
    engine: Engine | None,
    population: Population,
    seed: int,
    outcome: Outcome,
    log: Log,
    seconds: float,
) -> Result:
    """What the sums say; and what only a simulator can know, marked as such by its place."""
    members, estimate, order, gains = outcome.appraised
    outside = engine.objective if isinstance(engine, Simulation) else None
    largest = m_F = outcome.ranges.single
    value = estimate.value if estimate.everyone else None
    names = None
    selected = tuple(np.flatnonzero(members).tolist())
    if outside is not None:
        largest = float(outside.find_largest_shares(np.ones(outside.n_items)).max())
        m_F = float(outside.mean_gains(()).max())
        value = float(outside.mean_values(members))
        names = tuple(outside.item_names[item] for item in selected) if outside.item_names else None
    complete = all(one.voluntary or one.answered == one.asked for one in log.rounds)
    promise, guarantee = outcome.promise, None
    if promise is not None:
        guarantee = promise.guarantee(largest, m_F, estimate.low)
        if not (outcome.covered and complete):
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
        gains=tuple(gains.tolist()),
        fractional=outcome.x,
        names=names,
        estimate=estimate,
        guarantee=guarantee,
        rounds=tuple(log.rounds),
        smallest_difference=smallest_difference(log.sums, population.n_clients),
        why=outcome.why,
    )


def resume(
    path: str | Path,
    objective: Objective | None = None,
    *,
    engine: Engine | None = None,
    matroid: Matroid | None = None,
    progress: bool | Watcher | None = None,
) -> Result:
    """Go on with a run that was stopped: recorded sums are replayed, every regenerated question must be the same.

    The transcript holds no private data, so the clients are given again: an objective, or an engine.
    """
    if engine is None:
        if objective is None:
            raise InputError(
                "the transcript holds no private data",
                remedy="pass the objective or an engine again",
                argument="objective",
            )
        engine = Simulation(objective)
    as_engine(engine)
    with Transcript.reopen(path) as store:
        method, constraint, seed = _read_run(store, matroid)
        _same_population(store, engine)
        store.forget_lost()
        return _conduct(method, constraint, engine, seed, store, _read_terms(store), progress)


def verify(
    path: str | Path,
    objective: Objective | None = None,
    *,
    engine: Engine | None = None,
    matroid: Matroid | None = None,
) -> Result:
    """Recompute a finished run: every question from the sums before it, and the result from all of them.

    With the objective (or an engine) every sum is computed again too, and the result is the one written down.
    Without, it says what the sums say: the value over every client is not among it. Raises `TranscriptError`
    with what does not fit. Nothing is written to the file.
    """
    if engine is None and objective is not None:
        engine = Simulation(objective)
    if engine is not None:
        as_engine(engine)
    with Transcript.reopen(path, reading=True) as store:
        written = store.about("result")
        if written is None:
            raise TranscriptError(
                f"the run is not finished ({len(store)} rounds)", remedy="resume() goes on with it", place=path
            )
        method, constraint, seed = _read_run(store, matroid)
        if engine is not None:
            _same_population(store, engine)
        recorded = Result.from_json(written.decode())
        population = unpack(store.about("population") or b"", KINDS)["population"]
        terms = _read_terms(store)
        log = Log(terms)

        def answer(ask: Ask) -> Sum:
            known = store.recall(ask)
            if known is None:
                raise TranscriptError(f"round {ask.number} ({ask.label}) is missing", place=path)
            if engine is not None:
                again = engine(ask)
                if not again.same(known):
                    raise TranscriptError(f"round {ask.number} ({ask.label}) has another sum than it had", place=path)
            log.add(ask, known)
            return known

        talk = Talk(population, constraint, seed)
        outcome = drive(method.run(talk), answer)
        if len(log.rounds) != len(store):
            raise TranscriptError(f"holds {len(store)} rounds, the run has {len(log.rounds)}", place=path)
        again = _result(method, constraint, engine, population, seed, outcome, log, recorded.seconds)
        told = again if engine is not None else from_sums(again)
        if told != (recorded if engine is not None else from_sums(recorded)):
            raise TranscriptError("its rounds lead to another result than the one written down", place=path)
        return again


def from_sums(result: Result) -> Result:
    """What the sums say, without what only a simulator can know."""
    return replace(result, value=None, names=None, guarantee=None)


def is_run_of(path: str | Path, method: Federated, matroid: Matroid, seed: int) -> bool:
    """Whether a transcript was begun with this method, constraint and seed."""
    with Transcript.reopen(path, reading=True) as store:
        return store.about("run") == _run(method, matroid, seed)


def _run(method: Federated, matroid: Matroid, seed: int) -> bytes:
    return pack({"method": method, "matroid": _storable(matroid), "seed": seed})


def as_engine(given: Any) -> Engine:
    if isinstance(given, type) or not callable(given) or not isinstance(getattr(given, "population", None), Population):
        raise InputError(f"needs an engine such as Simulation(objective), got {given!r}", argument="engine")
    engine: Engine = given
    return engine


def _read_run(store: Transcript, matroid: Matroid | None) -> tuple[Federated, Matroid, int]:
    version = (store.about("version") or b"").decode()
    if version != __version__:
        raise TranscriptError(f"was written by folkmoot {version}, this is {__version__}", place=store.path)
    run = unpack(store.about("run") or b"", KINDS)
    written = run["matroid"]
    if isinstance(written, str):
        if matroid is None:
            raise InputError(f"{written} is a function and was not stored", remedy="pass it again", argument="matroid")
        as_matroid(matroid)
        if repr(matroid) != written:
            raise TranscriptError(f"was made under {written}, not under {matroid!r}", place=store.path)
        written = matroid
    elif matroid is not None and pack(matroid) != pack(written):
        raise TranscriptError(f"was made under {written!r}, not under the matroid given", place=store.path)
    method: Federated = run["method"]
    return method, written, run["seed"]


def _terms(engine: Engine) -> Policy | None:
    """What clients ask of a round; the usual where an engine does not say."""
    terms: Policy | None = getattr(engine, "policy", Policy())
    return terms


def _read_terms(store: Transcript) -> Policy | None:
    written = unpack(store.about("terms") or b"", KINDS)
    return None if written is None else Policy(**written)


def _storable(matroid: Matroid) -> Matroid | str:
    """An oracle cannot be stored; its name is, and the caller passes it again."""
    try:
        matroid.parameters()
    except InputError:
        return repr(matroid)
    return matroid


def _describe_engine(engine: Engine) -> dict[str, Any]:
    """What tells these clients from others: their number and weights, the engine's settings, a few probes."""
    settings: Callable[[], dict[str, Any]] = getattr(engine, "settings", dict)
    probe = fingerprint(engine.objective) if isinstance(engine, Simulation) else ""
    return {"population": engine.population, "settings": settings(), "probe": probe}


def _same_population(store: Transcript, engine: Engine) -> None:
    written = store.about("population") or b""
    now = pack(_describe_engine(engine))
    if written == now:
        return
    before, after = unpack(written, KINDS), unpack(now, KINDS)
    if pack(before["population"]) != pack(after["population"]):
        was, given = before["population"], after["population"]
        raise TranscriptError(
            f"was made with {was.n_clients} clients and {was.n_items} items, given are "
            f"{given.n_clients} and {given.n_items} (or other weights)",
            place=store.path,
        )
    if before["settings"] != after["settings"]:
        raise TranscriptError(f"the engine was {before['settings']}, given is {after['settings']}", place=store.path)
    raise TranscriptError("was made with other data of the same size", place=store.path)


def fingerprint(objective: Objective) -> str:
    """A hash of what some clients think of some sets: cheap, and different for different data."""
    clients = np.unique(np.linspace(0, objective.n_clients - 1, PROBED).astype(np.int64))
    sets = np.random.default_rng(0).random((4, objective.n_items)) < 0.1
    return sha256(objective[clients].values_at(sets).tobytes()).hexdigest()

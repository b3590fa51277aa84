"""A look at a problem's data: what is in it, and what to expect of each method, measured on a sample of the clients."""

from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from folkmoot.algorithms import Auto, DiscreteGreedy, FedCG, FedCGPlus, Greedy, Popularity, PrivateGreedy, RandomSet
from folkmoot.algorithms.central import Method
from folkmoot.algorithms.federated.method import Federated
from folkmoot.application.job import COHORT, add_map, check_has_data, constrain, find_policy, find_promise
from folkmoot.application.outlook import Outlook, Trials
from folkmoot.application.problem import Problem
from folkmoot.application.rarity import list_rare_numbers
from folkmoot.application.solve import solve
from folkmoot.application.suggestion import find_example, suggest
from folkmoot.application.table_costs import find_excess, find_fit, predict_seconds
from folkmoot.conversation.population import Population
from folkmoot.conversation.progress import Steps
from folkmoot.data import FileLook, Loaded, look
from folkmoot.data.records import RARE, LoadedTable
from folkmoot.engines.leading import check_protection
from folkmoot.foundation.errors import InputError, OpenQuestion
from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.information import Information
from folkmoot.objectives.objective import Objective
from folkmoot.questions.gains import find_importance
from folkmoot.report.facts import cost_of
from folkmoot.report.sections.rarity import find_worst
from folkmoot.report.story import RareNumbers

SAMPLE, SAMPLE_COHORT = 2_000, 100  # clients that the methods are tried on, and of them in a round
CHOSEN = 20  # items, where nobody says how many
ENOUGH, ENOUGH_SAMPLES = 10.0, 10.0  # seconds that a method may take at most on the sample; one that samples sets


@dataclass(frozen=True)
class ClientSpread:
    """How different clients are."""

    largest: float  # γ: no item is worth more to a client
    mean_best: float  # m_F: the item that is worth most to all of them, on average
    importance: float  # Σ w_i: so many answers per round keep discrete greedy's promise, times a factor of theory
    most_important: float  # the largest w_i
    n_clients: int

    @property
    def disparity(self) -> float:
        """γ / m_F: 1 where all are alike."""
        return self.largest / self.mean_best if self.mean_best > 0 else 1.0


@dataclass(frozen=True)
class Trial:
    """One method, tried on the sample."""

    method: str
    ratio: float | None  # to greedy; None where it could not be run
    rounds: int = 0
    bytes_up: float = 0.0
    theory: str = ""
    problem: str = ""


@dataclass(frozen=True, eq=False)
class Expectation:
    """What methods would do with the data."""

    matroid: Matroid
    spread: ClientSpread
    trials: tuple[Trial, ...]
    tried_on: int  # clients
    plan: str  # what the default would do with everybody, and why
    outlook: Outlook | None = None  # what noise would cost, where there is an epsilon
    lacking: str = ""  # why no outlook can be had, or what else noise needs
    rare: RareNumbers | None = None  # how many numbers of a round's sum would rest on few clients; None: noise hides it
    changed: str = ""  # what was wanted and cannot be, and what was tried instead


@dataclass(frozen=True, eq=False)
class Inspection:
    """What is in a file; and what to expect, where something can be chosen from it."""

    seen: FileLook
    expected: Expectation | None
    next: Mapping[str, Any] | None = None  # what to add to the settings for a run that works; None: not known

    @property
    def question(self) -> tuple[dict[str, Any], ...]:
        """Settings, one of which has to be chosen before anything can be made of the file; none: nothing is asked."""
        problem = self.seen.problem
        return tuple({name: value} for name, value in problem.ways) if isinstance(problem, OpenQuestion) else ()

    def document(self) -> dict[str, Any]:
        """What `folkmoot inspect --json` prints."""
        seen, loaded, expected = self.seen, self.seen.loaded, self.expected
        return {
            **{name: getattr(seen, name) for name in ("file", "rows", "kind", "why", "notes", "warnings")},
            "problem": None if seen.problem is None else str(seen.problem),
            "question": list(self.question) or None,
            "columns": [asdict(one) for one in seen.columns],
            "items_columns": [asdict(one) for one in seen.items_columns],
            "taken": dict(seen.taken),
            "faults": [asdict(one) for one in seen.faults],
            "per_client": asdict(seen.per_client) if seen.per_client else None,
            "values": asdict(seen.values) if seen.values else None,
            "clients": loaded.objective.n_clients if loaded else None,
            "items": loaded.objective.n_items if loaded else None,
            "chosen": expected.matroid.rank if expected else None,
            "spread": asdict(expected.spread) if expected else None,
            "tried_on": expected.tried_on if expected else 0,
            "methods": [asdict(one) for one in expected.trials] if expected else [],
            "plan": expected.plan if expected else None,
            "noise": document_outlook(expected.outlook) if expected and expected.outlook else None,
            "lacking": (expected.lacking if expected else "") or None,
            "changed": (expected.changed if expected else "") or None,
            "next": None if self.next is None else dict(self.next),
            "rare": asdict(expected.rare) if expected and expected.rare else None,
        }


def document_outlook(outlook: Outlook) -> dict[str, Any]:
    """What is forecast for several ε, as `folkmoot inspect --json` prints it."""
    return {
        **asdict(outlook.privacy),
        "delta": outlook.delta,
        "refused": outlook.forecast.is_hopeless,
        "signal": outlook.forecast.signal,
        "low": outlook.forecast.low,
        "high": outlook.forecast.high,
        "trials": outlook.forecast.trials,
        "curve": [
            {"epsilon": epsilon, "signal": one.signal, "low": one.low, "high": one.high, "refused": one.is_hopeless}
            for epsilon, one in outlook.curve
        ],
    }


def inspect(problem: Problem, watch: Steps = lambda *_: None) -> Inspection:
    """Read the files, faults counted rather than refused, and try every kind of method on a sample."""
    find_promise(problem)  # refuses what cannot be
    with problem.locate_errors():
        check_has_data(problem)
        seen = look(problem.data)
    if seen.problem is not None:
        seen = replace(seen, problem=problem.origin.locate(seen.problem))
    if seen.loaded is None:
        return Inspection(seen, None)
    choice = choose_sensibly(problem, seen.loaded)
    expected = _expect(problem, choice, watch)
    best = max((one for one in expected.trials if one.rounds), key=lambda one: one.ratio or 0.0, default=None)
    if best is None:
        return Inspection(seen, expected)
    changes = choice.changes if best.method == "auto" else {**choice.changes, "method": best.method}
    return Inspection(seen, expected, suggest(problem, seen, choice.loaded, choice.matroid, changes, expected.outlook))


@dataclass(frozen=True, eq=False)
class SensibleChoice:
    """What can be chosen from the data, and what had to be changed for it."""

    loaded: Loaded
    matroid: Matroid
    changes: Mapping[str, Any] = field(default_factory=dict)  # settings by their keywords
    why: str = ""


def choose_sensibly(problem: Problem, loaded: Loaded) -> SensibleChoice:
    """As many items as are wanted, if a run could choose them; otherwise fewer, or rare values of tables merged. Half
    of them at most where nobody says how many: to choose everything, nobody need be asked.
    """
    n_items, free = len(loaded.items), problem.choose.count is None and not problem.limits
    half, changes, why = max(n_items // 2, 1), dict[str, Any](), list[str]()

    def limit(count: int | None) -> Matroid:
        if count is not None and count != problem.choose.count:
            changes["choose"] = count
        return constrain(problem, loaded.items, count)

    matroid = limit(min(CHOSEN, half) if free else problem.choose.count)
    if matroid.allows_all and n_items > 1:
        why.append(f"All {n_items:,} {loaded.items_called} would be chosen, and there would be nothing to decide.")
        matroid = limit(half)
    if not isinstance(loaded, LoadedTable):
        return SensibleChoice(loaded, matroid, changes, " ".join(why))
    chancy = loaded.records.list_chancy()
    rank, wanted = matroid.rank, None if free else matroid.rank
    plain = find_fit(loaded, wanted)
    fit = find_fit(loaded, wanted, RARE) if chancy else plain
    if fit.count < rank or (free and fit.count != rank):
        matroid = limit(fit.count)
    if fit.least:
        changes["merge_rare"] = fit.least
    if plain.least or fit.count < rank:
        why.append(_explain_fit(loaded, rank, fit.count, fit.least))
    table = loaded.merge_rare(fit.least) if fit.least else loaded
    return SensibleChoice(table, matroid, changes, " ".join(why))


def _explain_fit(table: LoadedTable, wanted: int, count: int, least: int) -> str:
    """Why less is chosen, or values are merged."""
    objective = table.objective
    most = objective.describe_width(objective.measure_width(wanted), table.site_called)
    merged = f", if values with fewer than {least:,} rows at a {table.site_called} are merged" if least else ""
    return f"{wanted} {table.items_called} can have {most}, too many to look at; {count} can be chosen{merged}."


def _expect(problem: Problem, choice: SensibleChoice, watch: Steps) -> Expectation:
    loaded, matroid = choice.loaded, choice.matroid
    watch("what clients hold", 0, 1)
    spread = measure_spread(loaded.objective)
    trials, tried_on = try_methods(loaded.objective, matroid, problem.seed, watch)
    plan = describe_plan(loaded.objective, matroid, COHORT)
    noise = _look_ahead(problem, loaded, matroid)
    if noise[0] is not None:
        watch("what noise costs", 0, 1)
        _ = noise[0].curve  # kept
    rare = None if problem.privacy.epsilon is not None else _find_rare(loaded.objective, matroid)
    return Expectation(matroid, spread, tuple(trials), tried_on, plan, *noise, rare, choice.why)


def _find_rare(objective: Objective, matroid: Matroid) -> RareNumbers | None:
    """What one round of the default's search would show of whoever is alone with an item."""
    cohort = min(COHORT, objective.n_clients)
    return find_worst(list_rare_numbers(objective, matroid, Auto(cohort=cohort), {"one round": cohort}))


def _look_ahead(problem: Problem, loaded: Loaded, matroid: Matroid) -> tuple[Outlook | None, str]:
    """What noise would cost, and what it needs that is not there."""
    promise = find_promise(problem)
    if not promise or matroid.allows_all:
        return None, ""
    objective, known = loaded.objective, loaded.objective.most is not None
    if not known:  # what might be: a run asks for it
        objective = copy(objective)
        objective.most = find_example(loaded)
    population, method = Population.of(objective), add_map(PrivateGreedy(**promise), loaded, problem.data.reach)
    terms = find_policy(problem, population.n_clients)
    assert isinstance(method, PrivateGreedy)
    try:
        check_protection(terms, population.n_clients)
        trials = Trials(method, objective, matroid, terms, problem.privacy.dropout)
        numbers, mapped = (population, None, matroid.rank, terms, trials), method.positions is not None
        outlook = Outlook.of(method.privacy, *numbers, mapped=mapped)
    except InputError as error:  # too few clients to hide among
        return None, error.problem
    return outlook, "" if known else "most"


def measure_spread(objective: Objective) -> ClientSpread:
    """γ, m_F and the importance factors of Algorithm 4, over every client."""
    alone = objective.mean_gains(())
    inverse = np.divide(1.0, alone, out=np.zeros_like(alone), where=alone > 0)
    factors = find_importance(objective, objective.weights, inverse)
    largest = float(objective.find_largest_shares(np.ones(objective.n_items)).max())
    best = float(alone.max())
    return ClientSpread(largest, best, float(factors.sum()), float(factors.max()), objective.n_clients)


def describe_plan(objective: Objective, matroid: Matroid, cohort: int) -> str:
    """What the default would do with everybody, and why."""
    return Auto(cohort=cohort).plan(Population.of(objective), matroid).why


def try_methods(objective: Objective, matroid: Matroid, seed: int, watch: Steps) -> tuple[list[Trial], int]:
    """Every kind of method on a sample of the clients; and how many they were."""
    count = min(SAMPLE, objective.n_clients)
    if isinstance(objective, Information):
        seconds = predict_seconds(objective.arity, objective.classes, matroid.rank)
        count = max(min(count, int(objective.n_clients * ENOUGH / seconds)), 1)
    ids = np.sort(np.random.default_rng(seed).choice(objective.n_clients, count, replace=False))
    some = objective if count == objective.n_clients else objective[ids]
    methods: dict[str, Method | Federated] = {
        "greedy": Greedy(),
        "auto": Auto(cohort=SAMPLE_COHORT),
        "fedcg": FedCG(cohort=SAMPLE_COHORT),
        "fedcg+": FedCGPlus(cohort=SAMPLE_COHORT),
        "discrete": DiscreteGreedy(expected_answers=SAMPLE_COHORT),
        "popularity": Popularity(),
        "random": RandomSet(),
    }
    best, out = 0.0, []
    for place, (name, method) in enumerate(methods.items()):
        watch(name, place, len(methods))
        if too_long := find_excess(some, matroid.rank, method, ENOUGH_SAMPLES):
            out.append(
                Trial(name, None, problem=f"not tried, because it samples sets: it could take {too_long:,.0f} s")
            )
            continue
        try:
            result = solve(some, matroid, method, seed=seed, progress=False)
        except InputError as error:
            out.append(Trial(name, None, problem=str(error)))
            continue
        best = best or result.value
        cost, theory = cost_of(result), result.guarantee
        promise = "" if theory is None else "nothing" if theory.vacuous else f"{theory.promised / result.value:.2f}"
        asked = (0, 0.0) if cost is None else (cost.rounds, cost.mean_up)
        out.append(Trial(name, result.value / best if best > 0 else 1.0, *asked, promise))
    return out, count

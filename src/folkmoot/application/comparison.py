"""Several methods on one problem, with the same seeds."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean
from typing import Any

from folkmoot.application.account import versions
from folkmoot.application.baselines import value_random_sets
from folkmoot.application.folder import make_folder, write
from folkmoot.application.job import METHODS, PRIVATE, PROMISE, Job, add_map, carry_out, make_method, prepare
from folkmoot.application.problem import Problem
from folkmoot.application.reporting import render_comparison
from folkmoot.application.table_costs import COMFORTABLE, find_excess
from folkmoot.conversation.progress import Steps
from folkmoot.conversation.result import Result
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.settings import PrivacySettings
from folkmoot.report.facts import cost_of
from folkmoot.report.story import Comparison, Entry
from folkmoot.report.text import count_many

USUAL = ("auto", "fedcg", "fedcg+", "discrete", "frank-wolfe", "greedy", "popularity", "random")
WITHOUT_NOISE: dict[str, Any] = {name: getattr(PrivacySettings, name) for name in PROMISE}
RANDOM = "random"
FROM_SUMS = ("popularity", RANDOM)  # need no more than sums, though they are computed from the data here
UNDER_NOISE = (PRIVATE, "auto", "greedy", "popularity", "random")  # the usual ones where there is an epsilon


def compare(problem: Problem, methods: Sequence[str] | None = None, seeds: int = 3) -> Comparison:
    """Every method with as many seeds, from that of the problem on."""
    return compare_methods(prepare(problem, only_what_fits=True), *check_contest(problem, methods, seeds))


def check_contest(problem: Problem, methods: Sequence[str] | None, seeds: int) -> tuple[Sequence[str], int]:
    """Names of methods, and how many seeds. Of all methods, one adds noise; the others show what noise costs."""
    noisy = problem.privacy.epsilon is not None
    names = (UNDER_NOISE if noisy else USUAL) if methods is None else tuple(methods)
    for name in names:
        if name not in METHODS:
            raise InputError(f"{name!r} is not one of {', '.join(METHODS)}", argument="methods")
    if not names:
        raise InputError("needs the name of at least one method", argument="methods")
    if noisy and PRIVATE not in names:
        raise InputError(
            f"needs {PRIVATE} among them: no other adds the noise that epsilon is about", argument="methods"
        )
    return names, as_count(seeds, "seeds")


def compare_methods(
    job: Job, methods: Sequence[str], n_seeds: int, command: str = "", watch: Steps = lambda *_: None
) -> Comparison:
    """Every method with every seed; values are over every client, as only a simulator can know."""
    seeds = range(job.problem.seed, job.problem.seed + n_seeds)
    loaded, n = job.loaded, job.matroid.n_items
    methods, slow = _leave_out_slow(job, methods)
    entries, bound = [], float("inf")
    for place, name in enumerate(methods):
        results = []
        for at, seed in enumerate(seeds):
            watch(f"{name}, seed {seed}", place * len(seeds) + at, len(methods) * len(seeds))
            results.append(_solve_once(job, name, seed))
        bound = min([bound, *(one.upper_bound for one in results if one.estimate is None)])
        entries.append(_entry(job, name, results))
    count = f"{job.matroid.rank:,} of {count_many(n, loaded.items_called)}"
    whom = count_many(loaded.objective.n_clients, loaded.clients_called)
    return Comparison(
        title=job.problem.output.title or f"Ways to choose {count}",
        question=f"Which method chooses {count} best for {whom}?",
        meaning=loaded.meaning,
        clients_called=loaded.clients_called,
        items_called=loaded.items_called,
        n_clients=loaded.objective.n_clients,
        n_items=n,
        seeds=tuple(seeds),
        entries=tuple(entries),
        bound=bound if bound < float("inf") else None,
        notes=(*job.notes, *_note_noise(job), *slow),
        command=command,
        versions=versions(),
    )


def write_comparison(found: Comparison, problem: Problem) -> list[Path]:
    """The page, and what else is wanted, in a folder of its own; the names of the files for people."""
    content = render_comparison(found, png=problem.output.png, markdown=problem.output.markdown)
    folder = make_folder(problem, "compare")
    write(folder / "comparison.json", json.dumps(asdict(found), allow_nan=False))
    for name, text in content.items():
        write(folder / name, text)
    return [folder / name for name in content]


def _leave_out_slow(job: Job, methods: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Of the usual methods, those that take no longer than is comfortable; and what to say of the others."""
    rank, kept, slow = job.matroid.rank, list[str](), list[str]()
    for name in methods:
        one = replace(job.problem, method=replace(job.problem.method, name=name))
        usual = name in USUAL and tuple(methods) == USUAL
        method = make_method(one, only_what_fits=True) if usual else None
        seconds = find_excess(job.loaded.objective, rank, method, COMFORTABLE) if method is not None else 0.0
        (slow if seconds else kept).append(name)
    said = f"Left out, because they sample sets, which takes minutes on this table: {', '.join(slow)}."
    return kept, [said] if slow else []


def _note_noise(job: Job) -> list[str]:
    if job.problem.privacy.epsilon is None:
        return []
    return [
        f"Only {PRIVATE} adds noise, which never follows from a seed: with the same seed it chooses something else the "
        "next time."
    ]


def _solve_once(job: Job, name: str, seed: int) -> Result:
    problem = replace(job.problem, method=replace(job.problem.method, name=name), seed=seed)
    if name != PRIVATE:
        problem = replace(problem, privacy=replace(problem.privacy, **WITHOUT_NOISE))
    method = add_map(make_method(problem, only_what_fits=True), job.loaded, problem.data.reach)
    return carry_out(replace(job, problem=problem, method=method), progress=False)


def _entry(job: Job, name: str, results: list[Result]) -> Entry:
    first, names = results[0], job.loaded.items.names
    costs = [cost for cost in map(cost_of, results) if cost is not None]  # none of a central method
    answers = sum(cost.answers for cost in costs)
    promise = first.privacy
    return Entry(
        name=name,
        about="" if promise is None else f"ε = {promise.epsilon:g}",
        epsilon=None if promise is None else promise.epsilon,
        delta=None if promise is None else promise.delta,
        federated=first.estimate is not None or name in FROM_SUMS,
        # Of a random choice, the same sets whose mean every report of a run shows: they do not depend on a method.
        values=value_random_sets(job) if name == RANDOM else tuple(one.value for one in results),
        seconds=mean(one.seconds for one in results),
        rounds=round(sum(cost.rounds for cost in costs) / len(results)),
        bytes_up=sum(cost.up for cost in costs) / max(answers, 1),
        answers=round(answers / len(results)),
        smallest=min((cost.smallest for cost in costs), default=None),
        selected=tuple(names[item] for item in first.chosen),
    )

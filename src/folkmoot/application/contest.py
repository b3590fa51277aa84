"""Several methods on one problem, with the same seeds."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

from folkmoot.algorithms.federated.method import Federated
from folkmoot.application.account import versions
from folkmoot.application.job import Job, method_of
from folkmoot.application.solve import solve
from folkmoot.conversation.progress import Steps
from folkmoot.conversation.result import Result
from folkmoot.report.facts import cost_of
from folkmoot.report.story import Comparison, Entry

USUAL = ("auto", "fedcg", "fedcg+", "discrete", "frank-wolfe", "greedy", "popularity", "random")


def compare_methods(job: Job, methods: Sequence[str], seeds: Sequence[int], command: str, watch: Steps) -> Comparison:
    """Every method with every seed; values are over every client, as only a simulator can know."""
    loaded, n = job.loaded, job.matroid.n_items
    entries, bound = [], float("inf")
    for place, name in enumerate(methods):
        results = []
        for at, seed in enumerate(seeds):
            watch(f"{name}, seed {seed}", place * len(seeds) + at, len(methods) * len(seeds))
            results.append(_once(job, name, seed))
        bound = min([bound, *(one.upper_bound for one in results if one.estimate is None)])
        entries.append(_entry(job, name, results))
    count = f"{job.matroid.rank:,} of {n:,} {loaded.items_called}"
    return Comparison(
        title=job.problem.output.title or f"Ways to choose {count}",
        question=f"Which method chooses {count} best for {loaded.objective.n_clients:,} {loaded.clients_called}?",
        meaning=loaded.meaning,
        clients_called=loaded.clients_called,
        items_called=loaded.items_called,
        n_clients=loaded.objective.n_clients,
        n_items=n,
        seeds=tuple(seeds),
        entries=tuple(entries),
        bound=bound if bound < float("inf") else None,
        notes=job.notes,
        command=command,
        versions=versions(),
    )


def _once(job: Job, name: str, seed: int) -> Result:
    problem = replace(job.problem, method=replace(job.problem.method, name=name), seed=seed)
    method = method_of(problem, only_what_fits=True)
    with problem.locate_errors("method", "privacy"):
        if not isinstance(method, Federated):
            return solve(job.loaded.objective, job.matroid, method, seed=seed)
        engine = replace(job, problem=problem).engine()
        return solve(job.loaded.objective, job.matroid, method, engine=engine, seed=seed, progress=False)


def _entry(job: Job, name: str, results: list[Result]) -> Entry:
    first, names = results[0], job.loaded.items.names
    costs = [cost for cost in map(cost_of, results) if cost is not None]  # none of a central method
    answers = sum(cost.answers for cost in costs)
    return Entry(
        name=name,
        federated=first.estimate is not None,
        values=tuple(one.value for one in results),
        seconds=mean(one.seconds for one in results),
        rounds=round(sum(cost.rounds for cost in costs) / len(results)),
        bytes_up=sum(cost.up for cost in costs) / max(answers, 1),
        answers=round(answers / len(results)),
        smallest=min((cost.smallest for cost in costs), default=None),
        selected=tuple(names[item] for item in first.order or first.selected),
    )

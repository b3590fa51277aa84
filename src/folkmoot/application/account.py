"""The account of a run: from its job and its result to the story that reports are made of."""

import platform
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np
import polars

from folkmoot.application.alone import compute_alone, read_alone
from folkmoot.application.baselines import find_baselines
from folkmoot.application.folder import Participants
from folkmoot.application.job import Job, Task
from folkmoot.application.problem import Problem
from folkmoot.application.rarity import find_rare_numbers
from folkmoot.conversation.outcome import Conversation
from folkmoot.conversation.result import Result
from folkmoot.data import Items
from folkmoot.data.columns import require_column
from folkmoot.data.items import SEVERAL
from folkmoot.engines.rehearsal import rehearse
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Array
from folkmoot.report.facts import list_speakers
from folkmoot.report.story import Benefit, Item, LimitUse, PartyFacts, RareNumbers, Story, View
from folkmoot.report.text import count_many
from folkmoot.version import __version__

SHOWN = 6  # numbers of one client
MOST_DETAILS, LONGEST = 2, 60
DIGITS = 4  # of what an item is worth alone: it is only a shade
WITH_REACH = ("places", "distances")
WITH_NOTHING = (*WITH_REACH, "ratings", "memberships")
SIZES = ("population", "pop", "inhabitants", "size")
PACKAGES = ("numpy", "scipy", "numba", "polars", "cryptography")


def tell_story(
    job: Task,
    result: Result,
    command: str,
    members: Participants | None = None,
    *,
    compare: bool = True,
    transcript: Path | None = None,
) -> Story:
    """Everything about a finished run; `members`: of the federation that it asked. `compare`: also what takes longer,
    where the data is here: what a central solver finds, and a round that is run to be looked at.
    `transcript`: of the run, which says what the server knows of each item.
    """
    subject, problem = job.subject, job.problem
    n, clients, items = result.n_items, subject.clients_called, subject.items_called
    n_clients = count_clients(job, members)
    federated = isinstance(job.method, Conversation)
    chosen = result.chosen
    gains = result.gains or (None,) * len(chosen)
    count, whom = f"{len(chosen):,} of {count_many(n, items)}", count_many(n_clients, clients)
    protection = describe_protection(job, result, members) if federated else ""
    shown = _describe_items(
        subject.items, [limit.per for limit in problem.limits], _find_alone(job, transcript if federated else None)
    )
    taken = set(chosen)
    others = [at for at in range(n) if at not in taken] if subject.items.positions is not None else []
    here = job if isinstance(job, Job) else None
    return Story(
        title=problem.output.title or f"{count}, chosen for {whom}",
        question=f"Which {count} are best for {f'all {whom} together' if n_clients != 1 else whom}"
        + (", from sums alone?" if federated else "?"),
        meaning=subject.meaning,
        clients_called=clients,
        items_called=items,
        n_clients=n_clients,
        result=result,
        chosen=tuple(replace(shown(item), gain=gain) for item, gain in zip(chosen, gains, strict=True)),
        others=tuple(shown(item) for item in others),
        baselines=tuple(find_baselines(here, result.selected, central=compare)) if here is not None else (),
        secure=problem.privacy.summing if federated else "none",
        protection=protection,
        view=_view(here) if compare and protection and here is not None and result.privacy is None else None,
        notes=job.notes,
        command=command,
        versions=versions(),
        size_called=_size(subject.items) or "",
        credits=(problem.data.credit,) if problem.data.credit else (),
        parties=list_parties(members, result),
        corrupt=find_corrupt(problem, result, members),
        limits=list_limits(problem, result, subject.items),
        kind=subject.kind,
        reach=job.reach if subject.kind in WITH_REACH else None,
        benefit=_count_benefit(job, result) if isinstance(job, Job) else None,
        rare=_find_rare(job, result, transcript) if isinstance(job, Job) else (),
        forecast=None if here is None or here.outlook is None else here.outlook.forecast,
    )


def list_limits(problem: Problem, result: Result, items: Items | None) -> tuple[LimitUse, ...]:
    """Every limit, and how many of each group were chosen, where it is known what groups items belong to."""
    found = []
    for limit in problem.limits:
        asked = limit.at_most, limit.per, limit.within or ""
        if items is None:
            found.append(LimitUse(*asked))
            continue
        groups = items.groups(limit.per, limit.within)
        used = Counter(groups[item] for item in result.chosen)
        free = used.pop(None, 0)
        fullest = sorted(((str(name), count) for name, count in used.items()), key=lambda one: (-one[1], one[0]))
        found.append(LimitUse(*asked, tuple(fullest), free, *_find_several(items, limit.per, result)))
    return tuple(found)


def _find_several(items: Items, attribute: str, result: Result) -> tuple[int, str]:
    """How many of the chosen have more than one value of an attribute, and which one counts, by an example."""
    column = require_column(attribute, items.attributes.columns, items.file or "", "per")
    cells = items.attributes[column].cast(polars.String).to_list()
    firsts = items.list_counted(column)
    counted = [(cells[item], firsts[item]) for item in result.chosen if firsts[item] is not None]
    return len(counted), f"“{counted[0][0]}” is {counted[0][1]}"[:LONGEST] if counted else ""


def count_clients(job: Task, members: Participants | None) -> int:
    if isinstance(job, Job):
        return job.loaded.objective.n_clients
    return 0 if members is None else members.n_clients


def find_corrupt(problem: Problem, result: Result, members: Participants | None) -> float | None:
    """The share that may work for the server while noise still keeps its promise; None: there is no noise."""
    if result.privacy is None:
        return None
    return problem.privacy.corrupt if members is None else members.terms.corrupt


def list_parties(members: Participants | None, result: Result) -> tuple[PartyFacts, ...]:
    """The parties of a federation, and in how many sums each of them is."""
    if members is None:
        return ()
    sums = [speakers for one in result.rounds or () if (speakers := list_speakers(one)) is not None]
    return tuple(
        PartyFacts(name, size, sum(at in one for one in sums) if sums else None, len(sums) or None)
        for at, (name, size) in enumerate(zip(members.parties, members.sizes, strict=True))
    )


def versions() -> tuple[tuple[str, str], ...]:
    """What the numbers depend on."""
    return (
        ("folkmoot", __version__),
        ("python", platform.python_version()),
        *((name, metadata.version(name)) for name in PACKAGES),
    )


def _find_alone(job: Task, transcript: Path | None) -> Array | None:
    """What places are worth alone, for the map: from the sums that the server has, or from all data where a central
    method had it.
    """
    if job.subject.items.positions is None:
        return None
    if transcript is not None:
        return read_alone(transcript, len(job.subject.items))
    if isinstance(job, Job) and not isinstance(job.method, Conversation):
        return compute_alone(job.loaded.objective)
    return None


def _find_rare(job: Job, result: Result, transcript: Path | None) -> tuple[RareNumbers, ...]:
    """How many numbers of sums rest on few clients."""
    if not isinstance(job.method, Conversation):
        return ()
    return find_rare_numbers(job.loaded.objective, job.matroid, job.method, result, transcript)


def _count_benefit(job: Job, result: Result) -> Benefit | None:
    """Who has something from the answer; only a simulator can count them, and not every kind of data has such a thing
    as nothing.
    """
    objective = job.loaded.objective
    if job.subject.kind not in WITH_NOTHING or not result.selected:
        return None
    has = objective.values(list(result.selected)) > 0
    return Benefit(int(has.sum()), float(objective.weights[has].sum()))


def _describe_items(items: Items, wanted: list[str], alone: Array | None) -> Callable[[int], Item]:
    """What is publicly known about an item: its group where groups are limited, and a few other attributes."""
    table = items.attributes
    words = [name for name in table.columns if table[name].dtype == polars.String]
    size = _size(items)
    wanted = [require_column(name, table.columns, items.file or "", "per") for name in wanted]
    columns = [name for name in dict.fromkeys([*wanted, *words]) if name in table.columns]
    columns = [
        name for name in columns if name in wanted or 2 * table[name].n_unique() <= len(table)
    ]  # not a second name
    columns = columns[: max(len(wanted), MOST_DETAILS)]
    details = {name: table[name].to_list() for name in columns}
    counted = {name: items.list_counted(name) for name in wanted}
    sizes = table[size].to_list() if size is not None else None

    def describe(item: int) -> Item:
        known = [(name, values[item]) for name, values in details.items() if values[item] is not None]
        details_of = [(name, str(value).replace(SEVERAL, ", ")[:LONGEST]) for name, value in known]
        firsts = [(name, first) for name, values in counted.items() if (first := values[item]) is not None]
        here = Item(
            items.names[item],
            details=tuple(details_of),
            size=None if sizes is None else float(sizes[item] or 0),
            counted=tuple((name, first[:LONGEST]) for name, first in firsts),
        )
        if items.positions is None or not np.isfinite(items.positions[item]).all():
            return here
        latitude, longitude = items.positions[item].tolist()
        worth = None if alone is None else round(float(alone[item]), DIGITS)
        return replace(here, latitude=latitude, longitude=longitude, alone=worth)

    return describe


def _size(items: Items) -> str | None:
    """The column that says how large a place is."""
    known = {name.lower(): name for name in items.attributes.columns}
    numbers = [known[name] for name in SIZES if name in known and items.attributes[known[name]].dtype.is_numeric()]
    return numbers[0] if numbers else None


def describe_protection(job: Task | None, result: Result, members: Participants | None) -> str:
    """The terms of the round with the fewest clients; nothing where none protect so few, or none were asked for."""
    fewest = min((one.answered for one in result.rounds or () if one.answered), default=0)
    if members is not None:
        terms, fewest = members.terms, len(members.parties)  # all of them are asked in every round
    elif isinstance(job, Job) and job.problem.privacy.summing != "plain":
        terms = job.policy
    else:
        return ""
    if fewest < terms.quorum(0):
        return ""
    try:
        said = str(terms.protection(fewest))
    except InputError:
        return ""
    return said if members is None else said.replace("clients", "parties")


def _view(job: Job) -> View | None:
    """What the server saw of one client: in the run, or in a round that is run for it (without noise, so not for runs
    that have it).
    """
    loaded = job.loaded
    rehearsal = job.witness.found is None
    try:
        seen = rehearse(loaded.objective, job.problem.seed, job.policy) if rehearsal else job.witness.found
    except InputError:  # no terms like these protect as few clients as a rehearsal has
        return None
    if seen is None:
        return None
    names = loaded.objective.client_names
    n = len(loaded.items.names)
    said = seen.said if job.problem.output.show_client else seen.learned  # by the sum: what a client likes is private
    shown = np.argsort(-said[:n], kind="stable")[:SHOWN]
    return View(
        client=names[seen.client] if names else f"number {seen.client + 1:,}",
        clients=seen.clients,
        label=seen.label,
        items=tuple(loaded.items.names[at] for at in shown),
        said=tuple(seen.said[shown].tolist()) if job.problem.output.show_client else None,
        seen=tuple(seen.seen[shown].tolist()),
        learned=tuple(seen.learned[shown].tolist()),
        ring_bits=seen.ring_bits,
        rehearsed=rehearsal,
    )

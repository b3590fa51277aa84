"""What it takes to look at several columns of a table together, and what to do where that is too much.

A set of columns has as many joint states as the product of the numbers of their values. How many there are, and so how
long a run takes, is known before it begins: at most those of the columns that have most values.
"""

from dataclasses import dataclass

import numpy as np

from folkmoot.algorithms import Auto, ContinuousGreedy, FedCG, FedCGPlus, FederatedFrankWolfe
from folkmoot.algorithms.central import Method
from folkmoot.algorithms.federated.auto import MOST_PICKS
from folkmoot.conversation.outcome import Conversation
from folkmoot.data.records import LoadedTable
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Ids
from folkmoot.objectives.information import MOST_STATES, Information, count_states, find_largest_set
from folkmoot.objectives.objective import Objective
from folkmoot.objectives.sampling import DEFAULT_SAMPLES

STEP = 5e-9  # seconds: one joint state, one value of another column, one label
POLISHING = 3  # rounds of swaps, as they usually are
MOST_SWAPS = 2_048
MOST_SECONDS = 3_600.0  # beyond this, a run is refused
COMFORTABLE = 60.0  # what is suggested takes no longer
USUAL, MOST_CHOSEN = 6, 20  # columns that a look at a table aims at, and the most that it suggests
SERIES = tuple(digit * 10**power for power in range(6) for digit in (1, 2, 5))[1:]
SHARE = 0.1  # of the rows of a middling site: what is rarer may be merged
MOST_DROPPED = 5  # columns that an error advises to drop


@dataclass(frozen=True)
class TableFit:
    """How many columns can be chosen, if values with fewer than `least` rows at a site are merged (0: none are)."""

    count: int
    least: int


def predict_seconds(values: Ids, classes: Ids, size: int, samples: int = 0) -> float:
    """How long choosing so many columns takes at most: by greedy steps and swaps, or by `samples` sets at a time.
    `values`: of each column at each site. `classes`: of the label at each site.
    """
    n_items = values.shape[1]
    each = count_states(values, size) * classes * STEP
    swaps = min(MOST_SWAPS, size * (n_items - size))
    return float((each * (max(samples, 2) * values.sum(axis=1) + POLISHING * swaps)).sum())


def count_samples(method: Method | Conversation, rank: int) -> int:
    """How many sets are looked at by a method that follows a gradient, which has to be sampled here; 0 for others.
    Discrete greedy finds the same columns from a small part of that work.
    """
    steps = 0
    if isinstance(method, ContinuousGreedy):
        steps = method.steps
    elif isinstance(method, FedCG | FedCGPlus | FederatedFrankWolfe) or _is_continuous(method, rank):
        steps = int(getattr(method, "rounds", None) or 1)
    return DEFAULT_SAMPLES * steps


def _is_continuous(method: Method | Conversation, rank: int) -> bool:
    """Whether the default has so few rounds that it follows a gradient."""
    return isinstance(method, Auto) and method.rounds is not None and method.rounds * MOST_PICKS < rank


def find_excess(objective: Objective, rank: int, method: Method | Conversation, most: float) -> float:
    """The seconds that a method could take because it samples sets, if they are more than `most`; otherwise 0."""
    samples = count_samples(method, rank) if isinstance(objective, Information) else 0
    if not samples or not isinstance(objective, Information):
        return 0.0
    seconds = predict_seconds(objective.arity, objective.classes, rank, samples)
    return seconds if seconds > most else 0.0


def find_most(values: Ids, classes: Ids, seconds: float) -> int:
    """The most columns that can be chosen in this time, whichever they are."""
    largest = find_largest_set(values, classes)
    most = values.shape[1] if largest is None else largest
    while most > 1 and predict_seconds(values, classes, most) > seconds:
        most -= 1
    return most


def find_fit(table: LoadedTable, wanted: int | None, fewest: int = 0) -> TableFit:
    """What to choose, and what to merge for it: as little as lets the wanted number of columns be chosen, or the usual
    one where none is wanted; otherwise whatever lets most be chosen. Values with fewer than `fewest` rows are merged
    anyway.
    """
    records, classes = table.records, table.objective.classes
    n_items = table.objective.n_items
    goal = min(USUAL, max(n_items // 2, 1)) if wanted is None else wanted
    seconds = COMFORTABLE if wanted is None else MOST_SECONDS
    ceiling = SHARE * float(np.median(records.sizes))
    best = TableFit(0, fewest)
    for least in (fewest, *(one for one in SERIES if fewest < one <= ceiling)):
        most = find_most(records.count_values(least), classes, seconds)
        if most >= goal:
            count = min(most, MOST_CHOSEN, max(n_items // 2, 1)) if wanted is None else wanted
            return TableFit(count, least)
        best = TableFit(most, least) if most > best.count else best
    return best


def check_table(table: LoadedTable, rank: int, method: Method | Conversation) -> None:
    """Refuse at once what would fail, or take hours; with the site, the columns, and what would do instead."""
    objective = table.objective
    most = find_most(objective.arity, objective.classes, MOST_SECONDS)
    samples = count_samples(method, rank)
    seconds = predict_seconds(objective.arity, objective.classes, rank, samples)
    if rank <= most and samples and seconds > MOST_SECONDS:
        raise InputError(
            f"{method!r} looks at samples of sets, which could take {_say_time(seconds)} on this table",
            argument="method",
            remedy="auto and discrete choose the same from a fraction of the work",
        )
    if rank <= most:
        return
    width = objective.measure_width(rank)
    found = objective.describe_width(width, table.site_called)
    why = f"and {MOST_STATES:,} can be looked at" if width.states > MOST_STATES else f"which takes {_say_time(seconds)}"
    ways, fit = _list_ways(table, rank), find_fit(table, None)
    remedy = f"choose {most} or fewer, or merge or leave out something" if ways else f"choose {most} or fewer"
    if not ways and fit.least and fit.count > most:
        ways, remedy = [("merge_rare", fit.least)], f"{remedy}, or up to {fit.count} with"
    raise InputError(
        f"{rank} of these features can have {found}, {why}", argument="count", remedy=remedy, settings=ways
    )


def _list_ways(table: LoadedTable, rank: int) -> list[tuple[str, object]]:
    """Settings any of which lets so many columns be chosen."""
    records, classes, ways = table.records, table.objective.classes, list[tuple[str, object]]()
    fit = find_fit(table, rank)
    if fit.count >= rank and fit.least:
        ways.append(("merge_rare", fit.least))
    order = np.argsort(-records.count_values(0).max(axis=0), kind="stable")
    for count in range(1, min(MOST_DROPPED, len(order) - rank) + 1):
        if find_most(records.count_values(0)[:, np.sort(order[count:])], classes, MOST_SECONDS) >= rank:
            ways.append(("drop", tuple(records.columns[at] for at in np.sort(order[:count]))))
            break
    return ways


def _say_time(seconds: float) -> str:
    hours = seconds / 3_600
    return f"{seconds / 60:,.0f} minutes" if hours < 2 else f"{hours:,.0f} hours" if hours < 48 else "days"

"""What the tests of questions measure with: bounds that hold but for chance, and answers written out."""

from typing import Any

import numpy as np

from folkmoot import (
    Objective,
)
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Ids
from folkmoot.questions import (
    Magnitude,
    Query,
    Ranges,
)
from folkmoot.questions.query import FINE_BITS, ReplyT
from tests.coins import toss_for
from tests.objectives.families import FAMILIES, Case
from tests.questions.kinds import (
    EVERY,
)

LIMIT = 2**FINE_BITS - 1
CHANCE = 1e-9
CLOSED = [name for name, make in FAMILIES.items() if make(np.random.default_rng(7)).objective.closed_form]


def within(trials: int, compared: int, spread: Any = 1.0) -> Any:
    """How far means of so many numbers, each within `spread`, may lie from what is expected."""
    return spread * np.sqrt(np.log(2 * compared / CHANCE) / (2 * trials))


def case_of(family: str) -> Case:
    return EVERY[family](np.random.default_rng(7))


def once(objective: Objective) -> tuple[Ids, Ids]:
    return np.arange(objective.n_clients), np.ones(objective.n_clients, dtype=np.int64)


def dense(query: Query[Any], objective: Objective, ids: Ids, times: Ids, own: PrivateCoins | None = None) -> Ids:
    """What they answer, with these coins of their own (None: those of a simulation)."""
    return np.asarray(query.answers(objective, ids, times, toss_for(query) if own is None else own).toarray())


def reply_of(query: Query[ReplyT], objective: Objective, ids: Ids, times: Ids) -> ReplyT:
    """What the server can read when all of these answer."""
    count = int(times.sum())
    return query.make_reply(query.total(objective, ids, times, toss_for(query)), count, len(ids), count)


def ranges_of(objective: Objective) -> Ranges:
    return reply_of(Magnitude(), objective, *once(objective)).find_ranges()


def crowd(objective: Objective, copies: int) -> tuple[Objective, Ids, Ids]:
    """Every client many times over, each copy with a number of its own."""
    batch = objective[np.repeat(np.arange(objective.n_clients), copies)]
    return batch, *once(batch)


def fixed_point(values: Any, unit: float) -> Ids:
    return np.clip(np.floor(np.asarray(values) / unit + 0.5), 0, LIMIT).astype(np.int64)

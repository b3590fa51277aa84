"""How many clients add something to each number of a sum: counted from the questions of a run, and the data."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from folkmoot.conversation.codec import unpack
from folkmoot.conversation.population import Cohort, Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask, find_coins
from folkmoot.conversation.transcript import Transcript
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.errors import InputError, TranscriptError
from folkmoot.foundation.private_coins import SIMULATED, PrivateCoins
from folkmoot.foundation.registry import find_kinds
from folkmoot.foundation.sets import Ids
from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.objective import CLIENTS_PER_BLOCK, Objective
from folkmoot.objectives.sparse import SparseRows
from folkmoot.questions.participation import Participation
from folkmoot.questions.query import Query

# Rounds of one purpose that are looked at, and answers in them; the first round is, however many answered. Families
# other than sparse ones take far longer to answer, and so do questions with several times as many numbers as items.
MOST_ROUNDS, MOST_ANSWERS, MOST_SLOW_ANSWERS, LONG = 100, 10_000, 1_000, 4


def count_in_rounds(objective: Objective, transcript: Path, purpose: Purpose) -> Iterator[tuple[int, Ids]]:
    """Of some rounds that were for this, how many clients are in the sum, and add something to each of its numbers.
    Nothing where one client speaks for others: their answers are not its own.
    """
    with Transcript.reopen(transcript, reading=True) as store:
        sums = store.list_sums(purpose)
        if not sums:
            return
        most = MOST_ANSWERS if isinstance(objective, SparseRows) else MOST_SLOW_ANSWERS
        length = read_question(store, sums[0][0], objective)[0].length
        for number in choose_rounds(sums, most // max(length // (LONG * objective.n_items), 1)):
            query, ids, times = read_question(store, number, objective)
            if query.group_clients() is None:
                own = find_coins(SIMULATED, query)
                yield len(ids), count_contributors(query, objective, ids, times, own)


def choose_rounds(sums: list[tuple[int, int]], most_answers: int) -> list[int]:
    """All rounds, or some from the first to the last: by their numbers, and how many clients answered."""
    largest = max((clients for _, clients in sums), default=1)
    count = min(MOST_ROUNDS, len(sums), max(most_answers // largest, 1))
    return [sums[place][0] for place in np.linspace(0, len(sums) - 1, count).round().astype(int)]


def read_question(store: Transcript, number: int, objective: Objective) -> tuple[Query[Any], Ids, Ids]:
    """The question of a round, who is in its sum, and how often each of them counts."""

    def find_cohort(everyone: bool, **named: Any) -> Cohort:
        return Population.of(objective).everyone if everyone else Cohort(**named)  # who everyone is, is not stored

    kinds: dict[str, Any] = {**find_kinds(Ask, Query, Matroid, Participation, PublicCoins), "Cohort": find_cohort}
    stored, answered = store.read_asked(number)
    try:
        ask = unpack(stored, kinds)
        ask.query.check(objective.n_items, objective.n_clients)
        ids, times = ask.cohort.list_members()
        if answered:
            bits = np.frombuffer(zlib.decompress(answered), dtype=np.uint8)
            present = np.unpackbits(bits, count=len(ids)).astype(bool)
            ids, times = ids[present], times[present]
        fits = len(ids) == len(times) and 0 <= int(ids.min()) <= int(ids.max()) < objective.n_clients
    except (InputError, AttributeError, TypeError, ValueError, IndexError, zlib.error):
        fits = False
    if not fits:
        raise TranscriptError(f"the question of round {number} does not fit the data", place=store.path)
    return ask.query, ids, times


def count_contributors(query: Query[Any], objective: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
    """To each number of the sum of these clients' answers, how many of them add something other than 0."""
    found = np.zeros(query.length, dtype=np.int64)
    size = max(CLIENTS_PER_BLOCK * objective.n_items // max(query.length, objective.n_items), 1)  # rows may be long
    for lo in range(0, len(ids), size):
        some = ids[lo : lo + size]
        rows = query.answers(objective[some], some, times[lo : lo + size], own)
        found += np.bincount(rows.indices[rows.data != 0], minlength=query.length)
    return found

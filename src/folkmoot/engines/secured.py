"""Sums by the whole protocol: every client and the server in this process, every byte of every message."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.conversation.codec import digest_of
from folkmoot.conversation.rounds import Ask
from folkmoot.conversation.streams import Chance
from folkmoot.engines.witness import Witness
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Ids, Rows
from folkmoot.secagg import Aggregate, AggregationFailed, Announcement, Member, Policy, aggregate
from folkmoot.secagg.client import Answer
from folkmoot.secagg.primitives import digest
from folkmoot.secagg.sketch import SketchFailed
from folkmoot.secagg.state import State
from folkmoot.secagg.together import STAGES, members_of
from folkmoot.secagg.traffic import room_for

BEFORE, AFTER = STAGES[: STAGES.index("vector") + 1], STAGES[STAGES.index("vector") + 1 :]


@dataclass(frozen=True, eq=False)
class Attendance:
    """Who begins a round, who is gone before its vector is in, and who falls silent after that."""

    ids: Ids
    gone: Ids
    silent: Ids

    def vanishes(self, seed: int, number: int) -> dict[int, str]:
        """The exchange in which each is gone, by a coin of its own."""
        coins = PublicCoins.of(seed, number, Chance.STAGE)
        out: dict[int, str] = {}
        for clients, stages in ((self.gone, BEFORE), (self.silent, AFTER)):
            places = (coins.toss(clients) * len(stages)).astype(np.int64)
            out |= {client: stages[place] for client, place in zip(clients.tolist(), places.tolist(), strict=True)}
        return out


@dataclass(frozen=True)
class Lost:
    """A round that came to nothing: after clients had sent their vectors, or before."""

    answered: bool


class SecureRounds:
    """Rounds of secure aggregation, one for each question. Identities follow from the seed; keys are fresh."""

    def __init__(self, seed: int, policy: Policy, witness: Witness | None = None) -> None:
        self.seed, self.policy, self.witness = seed, policy, witness
        self.written_out = False  # after a sketch that did not decode, the next vector is
        self.states: dict[int, State] = {}  # what clients have stored: with their ledgers, from round to round
        self.last = -1  # the round asked last

    def check(self, clients: int) -> None:
        """Refuse what could never work, before anyone is asked."""
        needed = self.policy.quorum(0)
        if clients < needed:
            raise InputError(
                f"{clients} clients are asked in a round, but under real secure aggregation a client hides "
                f"among {needed} or more",
                remedy="ask more clients per round",
                argument="clients",
            )
        self.policy.protection(clients)

    def __call__(self, ask: Ask, there: Attendance, speakers: Ids, rows: Rows) -> Aggregate | Lost:
        """The sum of the speakers' rows, if there is one."""
        members = members_of({one: identity(self.seed, one) for one in there.ids.tolist()}, self.policy)
        place = {client: at for at, client in enumerate(speakers.tolist())}
        announcement = self._announcement(ask, members, len(speakers))
        self.written_out = False

        def answers(client: int) -> Answer:
            return lambda asked: _write_out(rows, place[client], asked.length)

        gone = there.vanishes(self.seed, ask.number)
        watch = None if self.witness is None else self.witness.watch_round(ask, announcement, speakers, rows)
        if ask.number <= self.last:  # another run begins, with clients who have answered nothing yet
            self.states = {}
        self.last = ask.number
        states = {one: self.states.get(one, State()) for one in members}
        try:
            result = aggregate(
                announcement, members, answers, lambda stage, client: gone.get(client) == stage, watch, states=states
            )
            if self.witness is not None:
                self.witness.learned(ask, announcement, result.total, len(result.survivors))
            return result
        except AggregationFailed as failed:
            return Lost(failed.answered)
        except SketchFailed:
            self.written_out = True
            return Lost(answered=True)
        finally:
            self.states |= states

    def _announcement(self, ask: Ask, members: dict[int, Member], answers: int) -> Announcement:
        query, most, room = ask.query, ask.span, 0
        if ask.can_be_repeated and not self.written_out:
            room = room_for(query.length, most, query.count_nonzero(answers))
        return Announcement(
            session=digest(b"simulation", str(self.seed).encode())[:16],
            round=ask.number,
            question=bytes.fromhex(digest_of(ask.query)),
            roster=next(iter(members.values())).roster.digest,
            clients=len(members),
            length=query.length,
            most=most,
            room=room,
            largest=ask.largest_answer,
        )


def _write_out(rows: Rows, row: int, length: int) -> Ids:
    vector = np.zeros(length, dtype=np.int64)
    span = slice(rows.indptr[row], rows.indptr[row + 1])
    vector[rows.indices[span]] = rows.data[span]
    return vector


@lru_cache(maxsize=100_000)
def identity(seed: int, client: int) -> Ed25519PrivateKey:
    """A simulated client's own; a real one would never follow from a number."""
    return Ed25519PrivateKey.from_private_bytes(digest(b"identity", str(seed).encode(), str(client).encode()))

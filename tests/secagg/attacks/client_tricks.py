"""Rounds in which some clients lie: each is handed what an honest one would have said, and says what it likes.

Every client's coins follow from its number, so that a round can be played again to the byte.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from folkmoot.foundation.randomness import PrivateRandomness
from folkmoot.secagg.client import Answer, Refused, deal_shares, step
from folkmoot.secagg.dealing import CONTENT, SHARE, challenge_of, mark
from folkmoot.secagg.keys import channel_private
from folkmoot.secagg.messages import Announcement, Boxes, Neighbours, Unmasking
from folkmoot.secagg.parameters import Parameters
from folkmoot.secagg.primitives import KEY, agree, seal
from folkmoot.secagg.server import Aggregate, serve
from folkmoot.secagg.state import State
from folkmoot.secagg.wire import U64
from folkmoot.secagg.work import SharedWork
from tests.secagg.cohorts import (
    SHARES,
    UNMASKING,
    Edge,
    Federation,
    Meddle,
    Outbox,
    Vector,
    exchange_of,
)

MANY = 1_000  # more clients than any test has


@dataclass(frozen=True)
class Moment:
    """One client at one exchange: what it was sent, what it remembers, and what it says if it is honest."""

    exchange: int
    client: int
    message: bytes
    before: bytes
    after: bytes
    reply: bytes


Trick = Callable[[Moment], bytes | None]  # what is sent instead; None: nothing
Lie = Callable[[Moment, int, bytes], bytes]  # of (moment, owner, share): what is given for it
Contents = dict[int, bytes]  # by holder: both shares, as they go into a box


def reply_honestly(moment: Moment) -> bytes:
    return moment.reply


def coins(client: int, seed: int = 0) -> PrivateRandomness:
    return PrivateRandomness.for_tests(np.random.default_rng([seed, client]).bytes)


def play(
    federation: Federation,
    trick: Trick = reply_honestly,
    *,
    to_clients: Meddle | None = None,
    to_server: Meddle | None = None,
    announcement: Announcement | None = None,
    asked: list[int] | None = None,
    vectors: dict[int, Vector] | None = None,
    seed: int = 0,
    sent: dict[int, Outbox] | None = None,
) -> Aggregate:
    """A round; who refuses is silent. `to_clients` and `to_server` change messages on the way, `sent` collects what
    the server sends, by exchange.
    """
    server = serve(
        announcement or federation.announcement, federation.roster, asked or federation.ids, federation.policy
    )
    states = dict.fromkeys(federation.ids, b"")
    drawn = {client: coins(client, seed) for client in federation.ids}
    outbox, work = next(server), SharedWork()
    while True:
        exchange = exchange_of(outbox) if outbox else UNMASKING  # where nobody is left to unmask
        if sent is not None:
            sent[exchange] = outbox
        replies: Outbox = {}
        for client, message in (to_clients(exchange, dict(outbox)) if to_clients else outbox).items():
            answer = federation.answer(client) if vectors is None else answer_with(vectors[client])
            before = states[client]
            try:
                states[client], reply = step(federation.members[client], before, message, answer, drawn[client], work)
            except Refused:
                continue
            said = trick(Moment(exchange, client, message, before, states[client], reply))
            if said is not None:
                replies[client] = said
        try:
            outbox = server.send(to_server(exchange, replies) if to_server else replies)
        except StopIteration as end:
            result: Aggregate = end.value
            return result


def answer_with(vector: Vector) -> Answer:
    return lambda _: vector


@cache
def rehearsal(federation: Federation, rounds: int = 0, seed: int = 0) -> dict[tuple[int, int], Moment]:
    """An honest round, so many rounds later: what happens at (exchange, client) when it is played."""
    seen: dict[tuple[int, int], Moment] = {}

    def watching(moment: Moment) -> bytes:
        seen[moment.exchange, moment.client] = moment
        return moment.reply

    play(federation, watching, announcement=federation.announce_later(rounds), seed=seed)
    return seen


def terms(federation: Federation) -> Parameters:
    """What the server chooses when everybody is there."""
    return federation.policy.protection(federation.clients)


def spare(federation: Federation) -> int:
    """Holders that every client can do without."""
    return terms(federation).degree - terms(federation).threshold


def read_boxes(federation: Federation, reply: bytes) -> Boxes:
    return Boxes.decode(reply, MANY, terms(federation).threshold)


def holders(federation: Federation, owner: int) -> list[int]:
    """Who holds this client's shares, in the order of the points; read off its boxes."""
    return sorted(read_boxes(federation, rehearsal(federation)[SHARES, owner].reply).boxes)


def lose(at: Collection[tuple[int, int]]) -> Trick:
    """Replies of these (exchange, client) do not arrive."""
    return lambda moment: None if (moment.exchange, moment.client) in at else moment.reply


def say(client: int, exchange: int, message: bytes) -> Trick:
    """One client says this at one exchange, and is honest at all others."""
    return lambda now: message if (now.exchange, now.client) == (exchange, client) else now.reply


def lie_about_shares(liars: Collection[int], lie: Lie) -> Trick:
    """At the end these holders give something else for every share they hold."""

    def trick(moment: Moment) -> bytes:
        if moment.exchange != UNMASKING or moment.client not in liars:
            return moment.reply
        told = Unmasking.decode(moment.reply, MANY)
        return replace(told, shares={one: lie(moment, one, share) for one, share in told.shares.items()}).encode()

    return trick


@dataclass(frozen=True)
class Table:
    """Where a client sits when it deals: what it would deal, and keys to seal anything else with."""

    moment: Moment

    @property
    def state(self) -> State:
        return State.decode(self.moment.after)

    @property
    def contents(self) -> Contents:
        """As an honest client deals."""
        chosen = list(self.state.sealed)
        return dict(zip(chosen, deal_shares(self.state, len(chosen)).contents, strict=True))

    def key(self, holder: int) -> bytes:
        """What the box of a holder is sealed with."""
        shown = Neighbours.decode(self.moment.message, MANY).adverts[holder]
        secret = agree(channel_private(self.state.seed), shown[:KEY])
        assert secret is not None
        return Edge.derive(secret, self.state.roll_hash, self.moment.client, holder).box

    def seal_box(self, holder: int, content: bytes) -> bytes:
        """A box that opens, and marks that fit what is in it."""
        marks = mark(self.state.roll_hash, self.moment.client, holder, content)
        return seal(self.key(holder), content, self.state.roll_hash) + marks

    def dealing(self, boxes: dict[int, bytes], lines: Callable[[int], bytes] | None = None) -> bytes:
        """Boxes with marks, and the honest polynomials' lines under the challenge of these; or others."""
        challenge = challenge_of(self.state.roll_hash, self.moment.client, boxes)
        lines = lines or deal_shares(self.state, len(boxes)).lines
        announcement = self.state.announcement
        return Boxes(announcement.session, announcement.round, lines(challenge), boxes).encode()


def dealing(owners: Collection[int], deal: Callable[[Table], bytes]) -> Trick:
    """These owners deal as they like."""

    def trick(moment: Moment) -> bytes:
        return deal(Table(moment)) if moment.exchange == SHARES and moment.client in owners else moment.reply

    return trick


def shift(content: bytes, which: int = 0) -> bytes:
    """A number of one of both shares, the first of its limbs, is one more: no longer where it was dealt."""
    at = which * SHARE
    number = (U64.unpack_from(content, at)[0] + 1) % (2**61 - 1)
    return content[:at] + U64.pack(number) + content[at + U64.size :]


def rubbish(*seed: int, size: int = CONTENT) -> bytes:
    return np.random.default_rng(seed).bytes(size)

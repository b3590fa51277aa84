"""Rounds in which some clients lie: each is handed what an honest one would have said, and says what it likes.

Every client's coins follow from its number, so that a round can be played again to the byte.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from folkmoot.secagg import shamir
from folkmoot.secagg.client import Answer, Random, Refused, step
from folkmoot.secagg.keys import box_key, channel_pair
from folkmoot.secagg.messages import Announcement, Boxes, Neighbours, Unmasking
from folkmoot.secagg.parameters import Parameters, choose
from folkmoot.secagg.primitives import sealed
from folkmoot.secagg.server import Aggregate, serve
from folkmoot.secagg.state import State
from tests.secagg.cohorts import Federation, Meddle, Outbox, Vector

KEYS, CHOICE, SHARES, VECTOR, CONSENT, UNMASKING = EXCHANGES = range(1, 7)
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
Deal = Callable[[State, int, int], tuple[shamir.Numbers, shamir.Numbers]]  # of (state, degree, threshold): both shares
Lie = Callable[[Moment, int, bytes], bytes]  # of (moment, owner, share): what is given for it


def honest(moment: Moment) -> bytes:
    return moment.reply


def coins(client: int, seed: int = 0) -> Random:
    return np.random.default_rng([seed, client]).bytes


def play(
    federation: Federation,
    trick: Trick = honest,
    *,
    to_clients: Meddle | None = None,
    to_server: Meddle | None = None,
    announcement: Announcement | None = None,
    asked: list[int] | None = None,
    vectors: dict[int, Vector] | None = None,
    seed: int = 0,
    sent: list[Outbox] | None = None,
) -> Aggregate:
    """A round; who refuses is silent. `to_clients` and `to_server` change messages on the way, `sent` collects what
    the server sends.
    """
    server = serve(
        announcement or federation.announcement, federation.roster, asked or federation.ids, federation.policy
    )
    states = dict.fromkeys(federation.ids, b"")
    drawn = {client: coins(client, seed) for client in federation.ids}
    outbox = next(server)
    for exchange in EXCHANGES:
        if sent is not None:
            sent.append(outbox)
        replies: Outbox = {}
        for client, message in (to_clients(exchange, dict(outbox)) if to_clients else outbox).items():
            answer = federation.answer(client) if vectors is None else answering(vectors[client])
            before = states[client]
            try:
                states[client], reply = step(federation.members[client], before, message, answer, drawn[client])
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
    raise AssertionError("a round has six exchanges")


def answering(vector: Vector) -> Answer:
    return lambda _: vector


@cache
def rehearsal(federation: Federation, rounds: int = 0, seed: int = 0) -> dict[tuple[int, int], Moment]:
    """An honest round, so many rounds later: what happens at (exchange, client) when it is played."""
    seen: dict[tuple[int, int], Moment] = {}

    def watching(moment: Moment) -> bytes:
        seen[moment.exchange, moment.client] = moment
        return moment.reply

    play(federation, watching, announcement=federation.later(rounds), seed=seed)
    return seen


def terms(federation: Federation) -> Parameters:
    """What the server chooses when everybody is there."""
    policy = federation.policy
    return choose(federation.clients, corrupt=policy.corrupt, dropout=policy.dropout, malicious=policy.malicious)


def correctable(federation: Federation) -> int:
    """Wrong shares of a secret that are put right, if all of them come back."""
    return (terms(federation).degree - terms(federation).threshold) // 2


def holders(federation: Federation, owner: int) -> list[int]:
    """Who holds this client's shares, in the order of the points; read off its boxes."""
    return sorted(Boxes.decode(rehearsal(federation)[SHARES, owner].reply, MANY).boxes)


def lost(at: Collection[tuple[int, int]]) -> Trick:
    """Replies of these (exchange, client) do not arrive."""
    return lambda moment: None if (moment.exchange, moment.client) in at else moment.reply


def lying(liars: Collection[int], lie: Lie) -> Trick:
    """At the end these holders give something else for every share they hold."""

    def trick(moment: Moment) -> bytes:
        if moment.exchange != UNMASKING or moment.client not in liars:
            return moment.reply
        told = Unmasking.decode(moment.reply, MANY)
        return replace(told, shares={one: lie(moment, one, share) for one, share in told.shares.items()}).encode()

    return trick


def dealing(federation: Federation, owners: Collection[int], deal: Deal) -> Trick:
    """These owners deal shares of their own making, in boxes that open."""

    def trick(moment: Moment) -> bytes:
        if moment.exchange != SHARES or moment.client not in owners:
            return moment.reply
        state = State.decode(moment.after)
        shown = Neighbours.decode(moment.message, MANY)
        own, masking = deal(state, len(shown.adverts), state.needed)
        content = [shamir.to_bytes(a) + shamir.to_bytes(b) for a, b in zip(own, masking, strict=True)]
        return boxes_with(federation, moment, dict(zip(sorted(shown.adverts), content, strict=True)))

    return trick


def boxes_with(federation: Federation, moment: Moment, content: dict[int, bytes]) -> bytes:
    """The Boxes of a client that seals this for each of its neighbours."""
    state, shown = State.decode(moment.after), Neighbours.decode(moment.message, MANY)
    private, _ = channel_pair(state.channel_seed)
    boxes = {}
    for receiver, plain in content.items():
        key = box_key(private, shown.entry(receiver).channel_key, state.said, moment.client, receiver)
        assert key is not None
        boxes[receiver] = sealed(key, plain, state.said)
    return Boxes(federation.announcement.session, federation.announcement.round, boxes).encode()

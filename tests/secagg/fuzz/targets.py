"""What must hold for any bytes whatever: a function for each decoder, and one for each place where bytes come in.

A target takes bytes and returns, or something is wrong. The first byte says what the rest is read as: a size that the
reader knows from elsewhere, or the exchange that it belongs to. Everybody's coins are fixed.
"""

from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Protocol

import numpy as np

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.randomness import PrivateRandomness
from folkmoot.secagg.client import Refused, step
from folkmoot.secagg.faults import AggregationFailed, Fault
from folkmoot.secagg.keys import complaint
from folkmoot.secagg.ledger import Ledger
from folkmoot.secagg.member import Policy
from folkmoot.secagg.messages import (
    Accusations,
    Advertisement,
    Announcement,
    Answers,
    Boxes,
    Choice,
    Complaints,
    Consent,
    Consents,
    Delivery,
    MaskedVector,
    Neighbours,
    Parcel,
    Roll,
    Sharers,
    Survivors,
    Unmasking,
)
from folkmoot.secagg.primitives import sign
from folkmoot.secagg.server import Aggregate, serve
from folkmoot.secagg.state import State
from folkmoot.secagg.wire import Malformed, bitmap, bitmap_size, read_bitmap
from tests.secagg import cohorts
from tests.secagg.cohorts import EXCHANGES, RECEIPT, SESSION, UNMASKING, VECTOR, Federation, Outbox

Target = Callable[[bytes], None]


class Written(Protocol):
    """A message or a state."""

    def encode(self) -> bytes: ...


Decoder = Callable[[bytes, int], Written]  # of bytes, and of a size that is known from elsewhere

COHORT = Federation(6, length=8, policy=Policy(fewest=3, dropout=0.34))
CLIENT, GRUMBLER = COHORT.ids[2], COHORT.ids[4]  # who complains of the client, so that it has something to answer
TERMS = COHORT.policy.protection(COHORT.clients)
VECTOR_SIZE = COHORT.announcement.vector_size
SENDS = [Announcement, Roll, Neighbours, Delivery, Accusations, Sharers, Survivors, Consents]  # the server, in order
REPLIES = [Advertisement, Choice, Boxes, Complaints, Answers, MaskedVector, Consent, Unmasking]  # a client
DECODERS: dict[str, Decoder] = {
    "announcement": lambda data, _: Announcement.decode(data),
    "advertisement": lambda data, _: Advertisement.decode(data),
    "roll": lambda data, _: Roll.decode(data),
    "choice": Choice.decode,
    "neighbours": Neighbours.decode,
    "boxes": lambda data, size: Boxes.decode(data, size, TERMS.threshold),
    "delivery": Delivery.decode,
    "complaints": Complaints.decode,
    "accusations": Accusations.decode,
    "answers": Answers.decode,
    "sharers": Sharers.decode,
    "maskedvector": lambda data, size: MaskedVector.decode(data, VECTOR_SIZE, size),
    "survivors": Survivors.decode,
    "consent": Consent.decode,
    "consents": lambda data, size: Consents.decode(data, size, size),
    "unmasking": Unmasking.decode,
    "ledger": lambda data, _: Ledger.decode(data),
    "state": lambda data, _: State.decode(data),
}
STORED = ("ledger", "state")  # by a client; all others are sent


def check_decoder(decode: Decoder, data: bytes) -> None:
    """What decodes is written in the one way there is; what does not is malformed, and nothing else."""
    if len(data) < 2:  # an empty state or ledger is that of a client that was never asked
        return
    size, content = data[0], data[1:]
    try:
        found = decode(content, size)
    except Malformed:
        return
    assert found.encode() == content, "there are two ways to write a message"
    if isinstance(found, Roll):
        assert (np.diff(found.ids) > 0).all(), "somebody stands on the roll twice"
        assert 1 <= found.threshold <= found.degree < len(found.ids)


def check_bitmap(data: bytes) -> None:
    if not data:
        return
    order = 3 * np.arange(data[0], dtype=np.int64) + 1
    try:
        found = read_bitmap(data[1:], order)
    except Malformed:
        return
    assert found <= set(order.tolist())
    assert bitmap(found, order) == data[1:], "there are two ways to write a bitmap"


def check_client(data: bytes) -> None:
    """Bytes as a message to an honest client at some exchange."""
    if data:
        exchange = exchange_of(data)
        check_step(exchange, honest_round()[exchange, CLIENT][0], data[1:])


def check_stored_state(data: bytes) -> None:
    """Bytes as what a client finds in its store, when an honest message comes in."""
    if data:
        exchange = exchange_of(data)
        check_step(exchange, data[1:], honest_round()[exchange, CLIENT][1])


def check_server(data: bytes) -> None:
    """Bytes as one client's answer at some exchange, while all others are honest."""
    if data:
        check_round(exchange_of(data), data[1:])


def check_edited_message(data: bytes) -> None:
    """Bytes as changes of an honest message to a client: lengths and counts stay, so that more of it is looked at."""
    if data:
        state, message, _ = honest_round()[exchange_of(data), CLIENT]
        check_step(exchange_of(data), state, edit(message, data[1:]))


def check_edited_answer(data: bytes) -> None:
    """Bytes as changes of an honest client's answer."""
    if data:
        check_round(exchange_of(data), edit(honest_round()[exchange_of(data), CLIENT][2], data[1:]))


def exchange_of(data: bytes) -> int:
    return EXCHANGES[data[0] % len(EXCHANGES)]


def edit(honest: bytes, edits: bytes) -> bytes:
    """Three bytes an edit: a place, and what is changed there."""
    out = bytearray(honest)
    for at in range(0, len(edits) - 2, 3):
        out[int.from_bytes(edits[at : at + 2], "little") % len(out)] ^= edits[at + 2]
    return bytes(out)


def check_step(exchange: int, state: bytes, message: bytes) -> None:
    vector = COHORT.vector(CLIENT)
    try:
        after, reply = step(COHORT.members[CLIENT], state, message, lambda _: vector, coins(CLIENT, exchange))
    except (Refused, Malformed):
        return
    except InputError as why:
        if "answer" not in str(why):  # a stored announcement may be of another length
            raise
        return
    assert State.decode(after).encode() == after
    assert reply


def check_round(exchange: int, instead: bytes) -> None:
    result, excluded = None, dict[int, Fault]()
    try:
        result = play(exchange, instead)
    except AggregationFailed as why:
        excluded = why.excluded
    if result is not None:
        excluded = result.excluded
        if exchange != VECTOR:  # a vector is believed
            COHORT.check(result)
    assert excluded.keys() <= {CLIENT}, "somebody is named for what another did"


TARGETS: dict[str, Target] = {
    **{name: partial(check_decoder, decode) for name, decode in DECODERS.items()},
    "bitmap": check_bitmap,
    "client": check_client,
    "stored_state": check_stored_state,
    "server": check_server,
    "edited_message": check_edited_message,
    "edited_answer": check_edited_answer,
}


def coins(client: int, exchange: int) -> PrivateRandomness:
    return PrivateRandomness.for_tests(np.random.default_rng([client, exchange]).bytes)


@lru_cache(maxsize=10_000)
def answer(client: int, exchange: int, state: bytes, message: bytes) -> tuple[bytes, bytes] | None:
    """An honest client's new state and reply, or None where it refuses. With fixed coins it is always the same."""
    try:
        return step(COHORT.members[client], state, message, COHORT.answer(client), coins(client, exchange))
    except Refused:
        return None


Seen = dict[tuple[int, int], tuple[bytes, bytes, bytes]]  # at (exchange, client): state before, message, reply


def play(changed: int = 0, instead: bytes = b"", seen: Seen | None = None) -> Aggregate:
    """A round in which one client says something else at one exchange, and is honest at all others; another one
    complains of it for nothing.
    """
    server = serve(COHORT.announcement, COHORT.roster, COHORT.ids, COHORT.policy)
    states = dict.fromkeys(COHORT.ids, b"")
    outbox = next(server)
    while True:
        exchange = cohorts.exchange_of(outbox) if outbox else UNMASKING
        replies: Outbox = {}
        for client, message in outbox.items():
            before = states[client]
            said = answer(client, exchange, before, message)
            if said is not None:
                states[client], replies[client] = said
                if (exchange, client) == (RECEIPT, GRUMBLER):
                    replies[client] = complain(before, message)
                if seen is not None:
                    seen[exchange, client] = (before, message, replies[client])
        if exchange == changed:
            replies[CLIENT] = instead
        try:
            outbox = server.send(replies)
        except StopIteration as end:
            result: Aggregate = end.value
            return result


def complain(state: bytes, message: bytes) -> bytes:
    """Of the client, if it dealt anything."""
    dealt = Delivery.decode(message, COHORT.clients).dealt
    roll_hash, identity = State.decode(state).roll_hash, COHORT.identities[GRUMBLER]
    made = {
        one: sign(identity, *complaint(roll_hash, one, GRUMBLER, Parcel.read(body).case()))
        for one, body in dealt.items()
        if one == CLIENT
    }
    return Complaints(SESSION, 1, made).encode()


@cache
def honest_round() -> Seen:
    seen: Seen = {}
    play(seen=seen)
    return seen


@cache
def honest_inputs() -> dict[str, list[bytes]]:
    """For each target the bytes of an honest round, to start from."""
    moments = [honest_round()[exchange, CLIENT] for exchange in EXCHANGES]
    complaints = honest_round()[RECEIPT, GRUMBLER]  # the client's own are none
    sizes = {Neighbours: TERMS.degree, Boxes: TERMS.degree, MaskedVector: TERMS.degree, Consents: TERMS.degree}
    inputs: dict[str, list[bytes]] = {name: [] for name in TARGETS}
    for place, (state, message, reply) in enumerate(moments):
        for kind, content in ((SENDS[place], message), (REPLIES[place], reply)):
            inputs[kind.__name__.lower()].append(bytes([sizes.get(kind, COHORT.clients)]) + content)
        inputs["state"].append(b"\0" + state)
        inputs["client"].append(bytes([place]) + message)
        inputs["stored_state"].append(bytes([place]) + state)
        inputs["server"].append(bytes([place]) + reply)
        for name in ("edited_message", "edited_answer"):
            inputs[name].append(bytes([place]))
    inputs["complaints"].insert(0, bytes([COHORT.clients]) + complaints[2])
    begun = Ledger().begin()
    answered = begun.answer(COHORT.announcement)
    for ledger in (begun, answered, answered.finish(), answered.forgive(1)):
        inputs["ledger"].append(b"\0" + ledger.encode())
    for clients in (0, 5, 8, 12):
        inputs["bitmap"].append(bytes([clients]) + bytes([5] * bitmap_size(clients)))
    return inputs

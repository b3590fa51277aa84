"""What must hold for any bytes whatever: a function for each decoder, and one for each place where bytes come in.

A target takes bytes and returns, or something is wrong. The first byte says what the rest is read as: a size that the
reader knows from elsewhere, or the exchange that it belongs to. Everybody's coins are fixed.
"""

from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Protocol

import numpy as np

from folkmoot.secagg.client import Refused, step
from folkmoot.secagg.member import Policy
from folkmoot.secagg.messages import (
    Advertisement,
    Announcement,
    Boxes,
    Choice,
    Consent,
    Consents,
    Delivery,
    Masked,
    Neighbours,
    Roll,
    Survivors,
    Unmasking,
)
from folkmoot.secagg.server import Aggregate, AggregationFailed, serve
from folkmoot.secagg.state import State
from folkmoot.secagg.wire import Malformed, bitmap, bitmap_size, marked
from tests.secagg.cohorts import Federation, Outbox

Target = Callable[[bytes], None]


class Written(Protocol):
    """A message or a state."""

    def encode(self) -> bytes: ...


Decoder = Callable[[bytes, int], Written]  # of bytes, and of a size that is known from elsewhere

EXCHANGES = range(1, 7)
SENDS = [Announcement, Roll, Neighbours, Delivery, Survivors, Consents]  # the server, exchange by exchange
ANSWERS = [Advertisement, Choice, Boxes, Masked, Consent, Unmasking]  # a client
DECODERS: dict[str, Decoder] = {
    "announcement": lambda data, _: Announcement.decode(data),
    "advertisement": lambda data, _: Advertisement.decode(data),
    "roll": lambda data, _: Roll.decode(data),
    "choice": Choice.decode,
    "neighbours": Neighbours.decode,
    "boxes": Boxes.decode,
    "delivery": Delivery.decode,
    "masked": Masked.decode,
    "survivors": Survivors.decode,
    "consent": lambda data, _: Consent.decode(data),
    "consents": lambda data, size: Consents.decode(data, size, size),
    "unmasking": Unmasking.decode,
    "state": lambda data, _: State.decode(data),
}
COHORT = Federation(6, length=8, policy=Policy(fewest=3, dropout=0.34))
CLIENT = COHORT.ids[2]


def check_decoder(decode: Decoder, data: bytes) -> None:
    """What decodes is written in the one way there is; what does not is malformed, and nothing else."""
    if len(data) < 2:  # an empty state is a client that was never asked
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
        found = marked(data[1:], order)
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
        check_step(exchange_of(data), state, edited(message, data[1:]))


def check_edited_answer(data: bytes) -> None:
    """Bytes as changes of an honest client's answer."""
    if data:
        check_round(exchange_of(data), edited(honest_round()[exchange_of(data), CLIENT][2], data[1:]))


def exchange_of(data: bytes) -> int:
    return EXCHANGES[data[0] % len(EXCHANGES)]


def edited(honest: bytes, edits: bytes) -> bytes:
    """Three bytes an edit: a place, and what is changed there."""
    out = bytearray(honest)
    for at in range(0, len(edits) - 2, 3):
        out[int.from_bytes(edits[at : at + 2], "little") % len(out)] ^= edits[at + 2]
    return bytes(out)


def check_step(exchange: int, state: bytes, message: bytes) -> None:
    try:
        after, reply = step(COHORT.members[CLIENT], state, message, COHORT.answer(CLIENT), coins(CLIENT, exchange))
    except (Refused, Malformed):
        return
    assert State.decode(after).encode() == after
    assert reply


def check_round(exchange: int, instead: bytes) -> None:
    try:
        result = play(exchange, instead)
    except AggregationFailed:
        return
    if ANSWERS[exchange - 1] is not Masked:  # a vector is believed
        COHORT.check(result)


TARGETS: dict[str, Target] = {
    **{name: partial(check_decoder, decode) for name, decode in DECODERS.items()},
    "bitmap": check_bitmap,
    "client": check_client,
    "stored_state": check_stored_state,
    "server": check_server,
    "edited_message": check_edited_message,
    "edited_answer": check_edited_answer,
}


def coins(client: int, exchange: int) -> Callable[[int], bytes]:
    return np.random.default_rng([client, exchange]).bytes


@lru_cache(maxsize=10_000)
def answer(client: int, exchange: int, state: bytes, message: bytes) -> tuple[bytes, bytes] | None:
    """An honest client's new state and reply, or None where it refuses. With fixed coins it is always the same."""
    try:
        return step(COHORT.members[client], state, message, COHORT.answer(client), coins(client, exchange))
    except Refused:
        return None


Seen = dict[tuple[int, int], tuple[bytes, bytes, bytes]]  # at (exchange, client): state before, message, reply


def play(changed: int = 0, instead: bytes = b"", seen: Seen | None = None) -> Aggregate:
    """A round in which one client says something else at one exchange, and is honest at all others."""
    server = serve(COHORT.announcement, COHORT.roster, COHORT.ids, COHORT.policy)
    states = dict.fromkeys(COHORT.ids, b"")
    outbox = next(server)
    for exchange in EXCHANGES:
        replies: Outbox = {}
        for client, message in outbox.items():
            before = states[client]
            said = answer(client, exchange, before, message)
            if said is not None:
                states[client], replies[client] = said
                if seen is not None:
                    seen[exchange, client] = (before, message, said[1])
        if exchange == changed:
            replies[CLIENT] = instead
        try:
            outbox = server.send(replies)
        except StopIteration as end:
            result: Aggregate = end.value
            return result
    raise AssertionError("a round has six exchanges")


@cache
def honest_round() -> Seen:
    seen: Seen = {}
    play(seen=seen)
    return seen


@cache
def honest_inputs() -> dict[str, list[bytes]]:
    """For each target the bytes of an honest round, to start from."""
    moments = [honest_round()[exchange, CLIENT] for exchange in EXCHANGES]
    degree = len(Boxes.decode(moments[2][2], COHORT.clients).boxes)
    size = {Masked: COHORT.announcement.vector_size, Neighbours: degree, Boxes: degree, Consents: degree}
    inputs: dict[str, list[bytes]] = {name: [] for name in TARGETS}
    for place, (state, message, reply) in enumerate(moments):
        for kind, content in ((SENDS[place], message), (ANSWERS[place], reply)):
            inputs[kind.__name__.lower()].append(bytes([size.get(kind, COHORT.clients)]) + content)
        inputs["state"].append(b"\0" + state)
        inputs["client"].append(bytes([place]) + message)
        inputs["stored_state"].append(bytes([place]) + state)
        inputs["server"].append(bytes([place]) + reply)
        for name in ("edited_message", "edited_answer"):
            inputs[name].append(bytes([place]))
    for clients in (0, 5, 8, 12):
        inputs["bitmap"].append(bytes([clients]) + bytes([5] * bitmap_size(clients)))
    return inputs

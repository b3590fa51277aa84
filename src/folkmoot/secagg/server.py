"""The server's side: a generator of messages to clients. It is sent what came back; who is missing has dropped out.

The same six exchanges as in client.py, in the same order. What a client sends that is not well-formed, not signed or
not of this round counts as not sent.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any, TypeAlias, TypeVar

import numpy as np

from folkmoot.errors import FolkmootError, InputError
from folkmoot.kernels import on_threads, thread_count
from folkmoot.secagg.keys import agreed_on, fingerprint, mask_pair, own_mask_key, pair_mask_key, said, sketch_seed
from folkmoot.secagg.masks import Words, add_masks, as_words
from folkmoot.secagg.member import Policy, Roster
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
from folkmoot.secagg.packing import add_packed
from folkmoot.secagg.parameters import Parameters
from folkmoot.secagg.primitives import is_of_full_order, is_signed
from folkmoot.secagg.recovery import Recovery, Unrecoverable
from folkmoot.secagg.wire import Malformed, bitmap, marked
from folkmoot.sets import Ids

T = TypeVar("T")
Outbox: TypeAlias = dict[int, bytes]
Inbox: TypeAlias = dict[int, bytes]


class AggregationFailed(FolkmootError):
    """Too few clients were left, or too many lied, to bring the sum out. There is none."""


@dataclass(frozen=True, eq=False)
class Aggregate:
    """The sum, who is in it, how it was protected, and who gave wrong shares (or was dealt them)."""

    total: Ids
    survivors: tuple[int, ...]
    parameters: Parameters
    liars: tuple[int, ...]


def serve(
    announcement: Announcement, roster: Roster, clients: list[int], policy: Policy | None = None
) -> Generator[Outbox, Inbox, Aggregate]:
    """Lead a round over these clients, on terms that they accept. May raise AggregationFailed or SketchFailed."""
    policy = Policy() if policy is None else policy
    if len(set(clients)) != announcement.clients or not roster.keys.keys() >= set(clients):
        raise InputError(
            f"clients: {announcement.clients} of the roster are announced, each once; given are {clients!r:.60}"
        )
    announced, mark = announcement.encode(), (announcement.session, announcement.round)

    inbox = yield dict.fromkeys(clients, announced)
    adverts = dict(sorted(read_adverts(announcement, announced, roster, set(clients), inbox)))
    enough(len(adverts), policy.enough(announcement.clients), "gave their keys")
    chosen = protected(len(adverts), announcement.clients, policy)
    order = np.array(list(adverts), dtype=np.int64)
    bodies = {one: advert.body() for one, advert in adverts.items()}
    prints = b"".join(fingerprint(one, body) for one, body in bodies.items())
    roll = Roll(*mark, chosen.degree, chosen.threshold, order.astype("<u4").tobytes(), prints).encode()

    inbox = yield dict.fromkeys(adverts, roll)
    graph = dict(read_choices(announcement, order, chosen.degree, inbox))

    inbox = yield {
        one: Neighbours(*mark, {other: bodies[other] for other in neighbours}).encode()
        for one, neighbours in graph.items()
    }
    boxes = dict(read_boxes(announcement, chosen.degree, graph, inbox))
    enough(len(boxes), policy.enough(0), "shared their secrets")
    sharing = bitmap(set(boxes), order)
    state = agreed_on(said(announced, roll), sharing)
    delivered: dict[int, dict[int, bytes]] = {one: {} for one in boxes}
    for sender, sent in boxes.items():
        for receiver in sent.keys() & delivered.keys():
            delivered[receiver][sender] = bodies[sender] + sent[receiver]

    inbox = yield {one: Delivery(*mark, sharing, items).encode() for one, items in delivered.items()}
    vectors = dict(read_vectors(announcement, roster, state, boxes, inbox))
    alive = set(vectors)
    enough(len(alive), policy.enough(0), "sent their vectors")
    total = added_up(announcement, [sent.vector for sent in vectors.values()])
    survivors = Survivors(*mark, bitmap(alive, order))
    masked = {one: sent.signature for one, sent in vectors.items()}
    owners = {one: {other: masked[other] for other in delivered[one].keys() & alive} for one in alive}
    del vectors, delivered

    inbox = yield dict.fromkeys(sorted(alive), survivors.encode())
    consents = dict(read_consents(announcement, roster, state, survivors, alive, inbox))
    signatures = {one: {other: consents[other] for other in boxes[one].keys() & consents.keys()} for one in consents}

    inbox = yield {one: Consents(*mark, mine, owners[one]).encode() for one, mine in signatures.items()}
    given = read(inbox, consents, lambda data: Unmasking.decode(data, len(order)).of(announcement))
    recovery = Recovery(announced, chosen.threshold, adverts, boxes, {holder: one.shares for holder, one in given})
    try:
        added, taken = masks_left(recovery, adverts, boxes, alive, state)
    except Unrecoverable as why:
        raise AggregationFailed(str(why)) from None
    add_masks(total, added, taken)
    return Aggregate(decoded(announcement, total, state), tuple(sorted(alive)), chosen, tuple(sorted(recovery.liars)))


def protected(clients: int, asked: int, policy: Policy) -> Parameters:
    try:
        return policy.protection(clients, asked)
    except InputError as why:
        raise AggregationFailed(str(why)) from None


def enough(count: int, needed: int, what: str) -> None:
    if count < needed:
        raise AggregationFailed(f"{count} clients {what}; {needed} are needed")


def read(inbox: Inbox, expected: dict[int, Any] | set[int], decode: Callable[[bytes], T]) -> Iterator[tuple[int, T]]:
    """What came from those from whom something may come, as far as it is well-formed."""
    for sender, data in inbox.items():
        if sender in expected:
            try:
                yield sender, decode(data)
            except Malformed:
                continue


def read_adverts(
    announcement: Announcement, announced: bytes, roster: Roster, clients: set[int], inbox: Inbox
) -> Iterator[tuple[int, Advertisement]]:
    """Those that no client would refuse: one bad key on the roll, and everybody stays away."""
    entries = list(read(inbox, clients, lambda data: Advertisement.decode(data).of(announcement)))
    signed = are_signed(
        [(roster.keys[one], entry.signature, "advertisement", announced, *entry.content()) for one, entry in entries]
    )
    seen: set[bytes] = set()
    for (sender, entry), good in zip(entries, signed, strict=True):
        keys = {entry.channel_key, entry.mask_key}
        if entry.id == sender and good and len(keys - seen) == 2 and all(map(is_of_full_order, keys)):
            seen |= keys
            yield sender, entry


def are_signed(checks: list[tuple[Any, ...]]) -> list[bool]:
    """`is_signed` of each, in threads."""
    return on_threads(lambda at, _: is_signed(*checks[at]), [(at, at + 1) for at in range(len(checks))])


def read_choices(announcement: Announcement, order: Ids, degree: int, inbox: Inbox) -> Iterator[tuple[int, set[int]]]:
    def decode(data: bytes) -> set[int]:
        return marked(Choice.decode(data, len(order)).of(announcement).bits, order)

    for sender, chosen in read(inbox, set(order.tolist()), decode):
        if len(chosen) == degree and sender not in chosen:
            yield sender, chosen


def read_boxes(
    announcement: Announcement, degree: int, graph: dict[int, set[int]], inbox: Inbox
) -> Iterator[tuple[int, dict[int, bytes]]]:
    for sender, sent in read(inbox, graph, lambda data: Boxes.decode(data, degree).of(announcement)):
        if sent.boxes.keys() == graph[sender]:
            yield sender, sent.boxes


def read_vectors(
    announcement: Announcement, roster: Roster, state: bytes, boxes: dict[int, dict[int, bytes]], inbox: Inbox
) -> Iterator[tuple[int, Masked]]:
    size = announcement.vector_size
    entries = list(read(inbox, boxes, lambda data: Masked.decode(data, size).of(announcement)))
    signed = are_signed([(roster.keys[one], sent.signature, "masked", state) for one, sent in entries])
    return compress(entries, signed)


def read_consents(
    announcement: Announcement, roster: Roster, state: bytes, survivors: Survivors, alive: set[int], inbox: Inbox
) -> Iterator[tuple[int, bytes]]:
    entries = list(read(inbox, alive, lambda data: Consent.decode(data).of(announcement).signature))
    signed = are_signed([(roster.keys[one], sent, "consent", state, survivors.bits) for one, sent in entries])
    return compress(entries, signed)


def added_up(announcement: Announcement, vectors: list[bytes | memoryview]) -> Words:
    """The sum of the masked vectors, a part of them a thread."""
    share = -(-len(vectors) // thread_count())

    def some(lo: int, hi: int) -> Words:
        total = as_words(np.zeros(announcement.words, dtype=np.uint32), announcement.ring_bits)
        for vector in vectors[lo:hi]:
            add_packed(vector, announcement.ring_bits, total)
        return total

    parts = on_threads(some, [(at, min(at + share, len(vectors))) for at in range(0, len(vectors), share)])
    for part in parts[1:]:
        parts[0] += part
    return parts[0]


def masks_left(
    recovery: Recovery,
    adverts: dict[int, Advertisement],
    boxes: dict[int, dict[int, bytes]],
    alive: set[int],
    state: bytes,
) -> tuple[list[bytes], list[bytes]]:
    """The keys of masks to add and to take: own masks of those in the sum, pair masks with those who are not."""
    added, taken = list[bytes](), list[bytes]()
    for owner in sorted(boxes):
        if owner in alive:
            taken.append(own_mask_key(recovery.own_seed(owner), state))
            continue
        left = sorted(other for other in alive if owner in boxes[other] or other in boxes[owner])
        if left:
            private, _ = mask_pair(recovery.mask_seed(owner))
        for other in left:
            key = pair_mask_key(private, adverts[other].mask_key, state, owner, other)
            assert key is not None, "keys of low order are not on the roll"
            (taken if other < owner else added).append(key)  # `other` added it if its number is the lower
    return added, taken


def decoded(announcement: Announcement, total: Words, state: bytes) -> Ids:
    """The vector again, from words of the ring."""
    if announcement.room:
        return announcement.sketch(sketch_seed(state)).decode(total.astype(np.uint64))
    mask = total.dtype.type(2**announcement.ring_bits - 1)
    return (total & mask).astype(np.int64)

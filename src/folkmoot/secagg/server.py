"""The server's side: a generator of messages to clients. It is sent what came back; who is missing has dropped out."""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from folkmoot.errors import FolkmootError
from folkmoot.secagg import shamir
from folkmoot.secagg.client import Roster, agreed_state, commitment, mask_key
from folkmoot.secagg.masks import Words, add_masks, word_of
from folkmoot.secagg.messages import (
    SHARE,
    Advertisement,
    Announcement,
    Boxes,
    Consents,
    Masked,
    Roll,
    Survivors,
    Unmasking,
)
from folkmoot.secagg.packing import unpacked
from folkmoot.secagg.primitives import SEED, derived, is_signed, key_pair
from folkmoot.secagg.wire import Malformed, bitmap

Outbox, Inbox = dict[int, bytes], dict[int, bytes]
MASK_KEY, TRIES = 16, 64


class AggregationFailed(FolkmootError):
    """Too few clients were left to bring the sum out."""


@dataclass(frozen=True, eq=False)
class Aggregate:
    """The sum, and who is in it."""

    total: Words
    survivors: tuple[int, ...]


def serve(announcement: Announcement, roster: Roster, clients: list[int]) -> Generator[Outbox, Inbox, Aggregate]:
    """Lead a round. What a client sends that is not well-formed counts as not sent."""
    said = announcement.encode()
    adverts = read_adverts(announcement, roster, (yield dict.fromkeys(clients, said)))
    if len(adverts) <= announcement.degree:
        raise AggregationFailed(f"{len(adverts)} clients gave their keys; {announcement.degree + 1} are needed")
    roll = Roll(announcement.session, announcement.round, tuple(adverts[one] for one in sorted(adverts)))
    order = sorted(adverts)

    boxes = read_boxes(announcement, adverts, (yield dict.fromkeys(order, roll.encode())))
    sharing = bitmap(set(boxes), order)
    state = agreed_state(announcement, roll, sharing)
    delivered: dict[int, dict[int, bytes]] = {one: {} for one in boxes}
    for sender, sent in boxes.items():
        for receiver in sent.keys() & delivered.keys():
            delivered[receiver][sender] = sent[receiver]
    outbox = {
        one: Boxes(announcement.session, announcement.round, mine, sharing).encode() for one, mine in delivered.items()
    }

    vectors = read_vectors(announcement, set(boxes), (yield outbox))
    alive = set(vectors)
    total = np.zeros(announcement.length, dtype=word_of(announcement.ring_bits))
    for vector in vectors.values():
        total += unpacked(vector, announcement.length, announcement.ring_bits)
    del vectors
    survivors = Survivors(announcement.session, announcement.round, bitmap(alive, order))

    consents = read_consents(
        announcement, roster, state, survivors, (yield dict.fromkeys(sorted(alive), survivors.encode()))
    )
    outbox = {}
    for one in consents:
        signatures = {other: consents[other] for other in boxes[one].keys() & consents.keys()}
        outbox[one] = Consents(announcement.session, announcement.round, signatures).encode()

    shares = read_shares(announcement, boxes, (yield outbox))
    unmask(total, announcement, adverts, boxes, alive, state, shares)
    if announcement.ring_bits < 8 * total.itemsize:
        total &= total.dtype.type(2**announcement.ring_bits - 1)
    return Aggregate(total, tuple(sorted(alive)))


def read_adverts(announcement: Announcement, roster: Roster, inbox: Inbox) -> dict[int, Advertisement]:
    adverts = {}
    for sender, data in inbox.items():
        try:
            entry = Advertisement.decode(data).belongs_to(announcement)
        except Malformed:
            continue
        key = roster.keys.get(sender)
        if entry.id == sender and key is not None:
            if is_signed(key, entry.signature, "advertisement", announcement.encode(), *entry.content()):
                adverts[sender] = entry
    return adverts


def read_boxes(
    announcement: Announcement, adverts: dict[int, Advertisement], inbox: Inbox
) -> dict[int, dict[int, bytes]]:
    boxes = {}
    for sender, data in inbox.items():
        try:
            sent = Boxes.decode(data).belongs_to(announcement)
        except Malformed:
            continue
        known = adverts.keys() - {sender} >= sent.boxes.keys()
        if sender in adverts and known and len(sent.boxes) == announcement.degree and not sent.sharing:
            boxes[sender] = sent.boxes
    return boxes


def read_vectors(announcement: Announcement, sharing: set[int], inbox: Inbox) -> dict[int, bytes]:
    vectors = {}
    for sender, data in inbox.items():
        try:
            if sender in sharing:
                vectors[sender] = Masked.decode(data, announcement.packed_size).belongs_to(announcement).vector
        except Malformed:
            continue
    return vectors


def read_consents(
    announcement: Announcement, roster: Roster, state: bytes, survivors: Survivors, inbox: Inbox
) -> dict[int, bytes]:
    consents = {}
    for sender, data in inbox.items():
        try:
            sent = Consents.decode(data, 1).belongs_to(announcement)
        except Malformed:
            continue
        signature = sent.signatures.get(sender)
        if signature and is_signed(roster.keys[sender], signature, "consent", state, survivors.bits):
            consents[sender] = signature
    return consents


def read_shares(
    announcement: Announcement, boxes: dict[int, dict[int, bytes]], inbox: Inbox
) -> dict[int, dict[int, bytes]]:
    """By owner: the shares that came back, at the point where each holder stands among the owner's neighbours."""
    place = {owner: {holder: at + 1 for at, holder in enumerate(sorted(sent))} for owner, sent in boxes.items()}
    shares: dict[int, dict[int, bytes]] = {owner: {} for owner in boxes}
    for holder, data in inbox.items():
        try:
            sent = Unmasking.decode(data, len(boxes)).belongs_to(announcement)
        except Malformed:
            continue
        for owner, share in sent.shares.items():
            if holder in place.get(owner, {}):
                shares[owner][place[owner][holder]] = share
    return shares


def unmask(
    total: Words,
    announcement: Announcement,
    adverts: dict[int, Advertisement],
    boxes: dict[int, dict[int, bytes]],
    alive: set[int],
    state: bytes,
    shares: dict[int, dict[int, bytes]],
) -> None:
    """Take out the own masks of those who are in the sum, and the pair masks with those who are not."""
    added, taken = [], []
    for owner in sorted(boxes):
        if owner in alive:
            seed = recovered(
                announcement, shares[owner], lambda s, o=owner: commitment(announcement, o, s) == adverts[o].commitment
            )
            if seed is None:
                raise AggregationFailed(f"the shares of client {owner}'s own mask do not bring it back")
            taken.append(derived(seed, "own mask", state, size=MASK_KEY))
            continue
        left = {other for other in alive if owner in boxes[other] or other in boxes[owner]}
        if not left:
            continue
        seed = recovered(announcement, shares[owner], lambda s, o=owner: key_pair(s, "mask")[1] == adverts[o].mask_key)
        if seed is None:
            raise AggregationFailed(f"the shares of client {owner}'s mask key do not bring it back")
        private, _ = key_pair(seed, "mask")
        for other in sorted(left):
            key = mask_key(private, adverts[other].mask_key, state, owner, other)
            if key is None:
                raise AggregationFailed(f"client {other} has a key of low order")
            (taken if other < owner else added).append(key)  # `other` added it if its number is the lower
    add_masks(total, added, taken)


def recovered(announcement: Announcement, shares: dict[int, bytes], fits: object) -> bytes | None:
    """A secret from any `threshold` of its shares that fit what was committed to; wrong shares are left out."""
    if len(shares) < announcement.threshold:
        return None
    points = np.array(sorted(shares))
    values = np.array([np.frombuffer(shares[int(p)], dtype="<u8") for p in points], dtype=np.uint64)
    rng = np.random.default_rng(0)  # which shares are tried is nobody's secret
    for attempt in range(TRIES):
        order = np.arange(len(points)) if attempt == 0 else rng.permutation(len(points))
        some = order[: announcement.threshold]
        seed = shamir.combine(points[some], values[some], SEED)
        if seed is not None and fits(seed):  # type: ignore[operator]
            return seed
        if len(points) == announcement.threshold:
            return None
    return None


assert SHARE == 40

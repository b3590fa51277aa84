"""The client's side: a state and a message in, a state and a reply out. No network, no files, no clock.

1. Announcement → Advertisement: fresh keys, signed.
2. Roll → Boxes: neighbours chosen by the client's own coins, a share of both secrets for each.
3. Boxes → Masked: the vector under a mask of its own and one with every neighbour. The secrets are forgotten.
4. Survivors → Consents: a signature under who is in the sum.
5. Consents → Unmasking: one share for everybody whose shares it holds.

The state after a step is stored before the reply is sent; then no key is ever used twice, not even after a crash.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.errors import FolkmootError
from folkmoot.secagg import shamir
from folkmoot.secagg.masks import Words, add_masks, word_of
from folkmoot.secagg.messages import (
    BOX,
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
from folkmoot.secagg.packing import packed
from folkmoot.secagg.parameters import FEWEST, is_safe
from folkmoot.secagg.primitives import (
    SEED,
    agreed,
    derived,
    digest,
    is_signed,
    key_pair,
    opened,
    sealed,
    signed,
)
from folkmoot.secagg.wire import U8, U32, Malformed, Reader, bitmap, marked

MASK_KEY = 16
Random = Callable[[int], bytes]
NEW, ADVERTISED, SHARED, MASKED, CONSENTED, DONE = range(6)


class Refused(FolkmootError):
    """The client will not go on: what it was shown could cost it its secret."""


def refuse(why: str) -> NoReturn:
    raise Refused(why)


@dataclass(frozen=True)
class Roster:
    """Who may take part, and the key that each signs with."""

    keys: dict[int, bytes]

    @cached_property
    def digest(self) -> bytes:
        return digest(b"roster", *(U32.pack(one) + key for one, key in sorted(self.keys.items())))


@dataclass(frozen=True)
class Policy:
    """What a client asks of a round before it takes part: how many must be in the sum, and what it must withstand."""

    fewest: int = 10
    corrupt: float = 0.1
    dropout: float = 0.1
    malicious: bool = True


@dataclass(frozen=True)
class Member:
    """A client as it is from round to round."""

    id: int
    identity: Ed25519PrivateKey = field(repr=False)
    roster: Roster = field(repr=False)
    policy: Policy = Policy()


@dataclass(frozen=True)
class State:
    """What a client remembers between two messages; what it no longer needs is empty."""

    stage: int = NEW
    announcement: bytes = b""
    roll: bytes = b""
    channel_seed: bytes = field(default=b"", repr=False)
    mask_seed: bytes = field(default=b"", repr=False)
    own_seed: bytes = field(default=b"", repr=False)
    chosen: bytes = b""  # ids, four bytes each
    sharing: bytes = b""
    held: bytes = field(default=b"", repr=False)  # whose shares it holds: id, share of the own seed, of the mask seed
    survivors: bytes = b""

    def encode(self) -> bytes:
        parts = [getattr(self, name) for name in list(self.__dataclass_fields__)[1:]]
        return U8.pack(self.stage) + b"".join(U32.pack(len(part)) + part for part in parts)

    @classmethod
    def decode(cls, data: bytes) -> "State":
        if not data:
            return cls()
        reader = Reader(data)
        stage = reader.u8()
        parts = [reader.take(reader.count(1, len(data))) for _ in range(len(cls.__dataclass_fields__) - 1)]
        reader.end()
        if stage > DONE:
            raise Malformed("a stored state is of no known stage")
        return cls(stage, *parts)

    @property
    def chosen_ids(self) -> list[int]:
        return [int.from_bytes(self.chosen[at : at + 4], "little") for at in range(0, len(self.chosen), 4)]


def step(
    member: Member, state: bytes, message: bytes, random: Random, vector: Words | None = None
) -> tuple[bytes, bytes]:
    """One message. `random` gives that many random bytes; `vector` is needed when it is to be masked."""
    now = State.decode(state)
    if now.stage == NEW:
        after, reply = advertise(member, message, random)
    elif now.stage == ADVERTISED:
        after, reply = share(member, now, message, random)
    elif now.stage == SHARED:
        if vector is None:
            raise Malformed("the vector to be masked was not given")
        after, reply = mask(member, now, message, vector)
    elif now.stage == MASKED:
        after, reply = consent(member, now, message)
    elif now.stage == CONSENTED:
        after, reply = unmask(member, now, message)
    else:
        refuse("this round is over for the client: its keys are spent")
    return after.encode(), reply


def advertise(member: Member, message: bytes, random: Random) -> tuple[State, bytes]:
    announcement = Announcement.decode(message)
    policy = member.policy
    if announcement.roster != member.roster.digest:
        refuse("the server goes by another roster")
    if announcement.clients < max(policy.fewest, FEWEST):
        refuse(f"only {announcement.clients} clients are asked, {policy.fewest} are the fewest this client hides among")
    if not is_safe(announcement.clients, announcement.degree, announcement.threshold, policy.corrupt, policy.malicious):
        refuse("degree and threshold are too small for what this client wants to withstand")
    channel_seed, mask_seed, own_seed = random(SEED), random(SEED), random(SEED)
    (_, channel), (_, masking) = key_pair(channel_seed, "channel"), key_pair(mask_seed, "mask")
    content = (U32.pack(member.id), channel, masking, commitment(announcement, member.id, own_seed))
    signature = signed(member.identity, "advertisement", message, *content)
    reply = Advertisement(announcement.session, announcement.round, member.id, *content[1:], signature)
    return State(ADVERTISED, message, b"", channel_seed, mask_seed, own_seed), reply.encode()


def commitment(announcement: Announcement, client: int, own_seed: bytes) -> bytes:
    return digest(b"commitment", announcement.encode(), U32.pack(client), own_seed)


def share(member: Member, now: State, message: bytes, random: Random) -> tuple[State, bytes]:
    announcement = Announcement.decode(now.announcement)
    roll = Roll.decode(message).belongs_to(announcement)
    by_id = {entry.id: entry for entry in roll.entries}
    check_roll(member, now, announcement, roll, by_id)
    state = roll.state(announcement)
    # Its own coins decide, so that the server cannot: the first in the order of a keyed hash.
    coins = random(SEED)
    others = sorted(set(by_id) - {member.id}, key=lambda one: derived(coins, "neighbours", U32.pack(one)))
    chosen = sorted(others[: announcement.degree])
    for other in chosen:
        check_advertisement(member.roster, announcement, by_id[other])
    own = shamir.split(now.own_seed, len(chosen), announcement.threshold, random(needed(announcement)))
    masking = shamir.split(now.mask_seed, len(chosen), announcement.threshold, random(needed(announcement)))
    private, _ = key_pair(now.channel_seed, "channel")
    boxes = {}
    for other, own_share, mask_share in zip(chosen, own, masking, strict=True):
        key = channel(private, by_id[other].channel_key, state, member.id, other)
        boxes[other] = sealed(key, own_share.astype("<u8").tobytes() + mask_share.astype("<u8").tobytes(), state)
    after = replace(now, stage=SHARED, roll=message, chosen=b"".join(U32.pack(one) for one in chosen))
    return after, Boxes(announcement.session, announcement.round, boxes).encode()


def needed(announcement: Announcement) -> int:
    return shamir.bytes_needed(SEED, announcement.threshold)


def check_roll(
    member: Member, now: State, announcement: Announcement, roll: Roll, by_id: dict[int, Advertisement]
) -> None:
    policy, count = member.policy, len(roll.entries)
    if count < max(policy.fewest, FEWEST, announcement.degree + 1):
        refuse(f"only {count} clients are left, too few to hide among")
    if count > announcement.clients:
        refuse("there are more clients than were announced")
    if not is_safe(count, announcement.degree, announcement.threshold, policy.corrupt, policy.malicious):
        refuse("degree and threshold are too small for the clients that are left")
    mine = by_id.get(member.id)
    expected = (key_pair(now.channel_seed, "channel")[1], key_pair(now.mask_seed, "mask")[1])
    if mine is None or (mine.channel_key, mine.mask_key) != expected:
        refuse("the roll lacks this client, or has other keys for it")
    if mine.commitment != commitment(announcement, member.id, now.own_seed):
        refuse("the roll has another commitment for this client")
    if not member.roster.keys.keys() >= by_id.keys():
        refuse("the roll names somebody who is not on the roster")
    keys = [key for entry in roll.entries for key in (entry.channel_key, entry.mask_key)]
    if len(set(keys)) != len(keys):
        refuse("two keys on the roll are the same")


def check_advertisement(roster: Roster, announcement: Announcement, entry: Advertisement) -> None:
    if not is_signed(roster.keys[entry.id], entry.signature, "advertisement", announcement.encode(), *entry.content()):
        refuse("an advertisement is not signed by the client it names, or is of another session")


def channel(private: object, public: bytes, state: bytes, sender: int, receiver: int) -> bytes:
    key = agreed(private, public, "channel", state, U32.pack(sender), U32.pack(receiver))  # type: ignore[arg-type]
    return key if key is not None else refuse("a key on the roll is of low order")


def mask(member: Member, now: State, message: bytes, vector: Words) -> tuple[State, bytes]:
    announcement = Announcement.decode(now.announcement)
    roll = Roll.decode(now.roll)
    order = [entry.id for entry in roll.entries]
    by_id = {entry.id: entry for entry in roll.entries}
    delivery = Boxes.decode(message).belongs_to(announcement)
    if len(delivery.sharing) != -(-len(order) // 8):
        raise Malformed("the bits of who shares do not fit the roll")
    sharing = marked(delivery.sharing, order)
    if member.id not in sharing:
        refuse("the server calls this client gone")
    if not sharing - {member.id} >= delivery.boxes.keys():
        refuse("a box comes from somebody who shares nothing, or from this client itself")
    chosen = set(now.chosen_ids)
    if len(chosen & sharing) < announcement.threshold:
        refuse("too few of the neighbours that hold this client's shares are left")
    state = roll.state(announcement)
    private, _ = key_pair(now.channel_seed, "channel")
    held = b""
    for other, box in sorted(delivery.boxes.items()):
        if other not in chosen:
            check_advertisement(member.roster, announcement, by_id[other])
        content = opened(channel(private, by_id[other].channel_key, state, other, member.id), box, state)
        if content is not None:  # else there is nothing to give back; its mask is added all the same
            held += U32.pack(other) + content
    neighbours = (chosen & sharing) | delivery.boxes.keys()
    words = masked_vector(
        member.id, now, announcement, by_id, neighbours, digest(b"sharing", state, delivery.sharing), vector
    )
    reply = Masked(announcement.session, announcement.round, packed(words, announcement.ring_bits))
    after = State(MASKED, now.announcement, now.roll, chosen=now.chosen, sharing=delivery.sharing, held=held)
    return after, reply.encode()


def masked_vector(
    client: int,
    now: State,
    announcement: Announcement,
    by_id: dict[int, Advertisement],
    neighbours: set[int],
    state: bytes,
    vector: Words,
) -> Words:
    """The vector, plus its own mask, plus the masks with neighbours of a higher number, minus those of a lower."""
    if vector.shape != (announcement.length,):
        raise Malformed("the vector is not as long as announced")
    words = vector.astype(word_of(announcement.ring_bits))
    private, _ = key_pair(now.mask_seed, "mask")
    added, taken = [derived(now.own_seed, "own mask", state, size=MASK_KEY)], []
    for other in sorted(neighbours):
        key = mask_key(private, by_id[other].mask_key, state, client, other)
        (added if client < other else taken).append(key if key is not None else refuse("a key is of low order"))
    add_masks(words, added, taken)
    return words


def mask_key(private: object, public: bytes, state: bytes, one: int, other: int) -> bytes | None:
    low, high = sorted((one, other))
    return agreed(private, public, "pair mask", state, U32.pack(low), U32.pack(high), size=MASK_KEY)  # type: ignore[arg-type]


def consent(member: Member, now: State, message: bytes) -> tuple[State, bytes]:
    announcement = Announcement.decode(now.announcement)
    roll = Roll.decode(now.roll)
    order = [entry.id for entry in roll.entries]
    shown = Survivors.decode(message, -(-len(order) // 8)).belongs_to(announcement)
    alive, sharing = marked(shown.bits, order), marked(now.sharing, order)
    if member.id not in alive:
        refuse("the server calls this client gone, though its vector was sent")
    if not alive <= sharing:
        refuse("somebody is in the sum who was gone before")
    if len(alive) < max(member.policy.fewest, FEWEST):
        refuse(f"only {len(alive)} clients are in the sum, too few to hide among")
    signature = signed(member.identity, "consent", agreed_state(announcement, roll, now.sharing), shown.bits)
    reply = Consents(announcement.session, announcement.round, {member.id: signature})
    return replace(now, stage=CONSENTED, survivors=shown.bits), reply.encode()


def agreed_state(announcement: Announcement, roll: Roll, sharing: bytes) -> bytes:
    """Everything that was broadcast, in one hash."""
    return digest(b"sharing", roll.state(announcement), sharing)


def unmask(member: Member, now: State, message: bytes) -> tuple[State, bytes]:
    announcement = Announcement.decode(now.announcement)
    roll = Roll.decode(now.roll)
    shown = Consents.decode(message, announcement.degree).belongs_to(announcement)
    chosen = set(now.chosen_ids)
    state = agreed_state(announcement, roll, now.sharing)
    good = sum(
        one in chosen and is_signed(member.roster.keys[one], signature, "consent", state, now.survivors)
        for one, signature in shown.signatures.items()
    )
    if good < announcement.threshold:
        refuse(f"only {good} neighbours signed the same state and survivors, {announcement.threshold} must")
    alive = marked(now.survivors, [entry.id for entry in roll.entries])
    size = 4 + 2 * SHARE
    shares = {}
    for at in range(0, len(now.held), size):
        entry = now.held[at : at + size]
        owner = int.from_bytes(entry[:4], "little")
        shares[owner] = entry[4 : 4 + SHARE] if owner in alive else entry[4 + SHARE :]
    return State(DONE), Unmasking(announcement.session, announcement.round, shares).encode()


assert BOX == 2 * SHARE + 16
__all__ = ["Member", "Policy", "Refused", "Roster", "State", "bitmap", "step"]
_ = np

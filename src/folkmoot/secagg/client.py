"""The client's side: a state and a message in, a state and a reply out. No network, no files, no clock.

1. Announcement → Advertisement: fresh keys, signed.
2. Roll → Choice: neighbours, drawn by the client's own coins.
3. Neighbours → Boxes: a share of both secrets for each.
4. Delivery → Masked: the vector under a mask of its own and one with every neighbour. The secrets are forgotten.
5. Survivors → Consent: a signature under all that was said, and under who is in the sum.
6. Consents → Unmasking: one share for everybody whose shares it holds.

Whoever runs this stores the state after a step before it sends the reply; then no key is ever used twice, not even
after a crash. What a client refuses leaves its state as it was: refusals depend on what the server knows anyway.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from folkmoot.errors import FolkmootError, InputError
from folkmoot.secagg import shamir
from folkmoot.secagg.keys import (
    agreed_on,
    box_key,
    channel_pair,
    commitment,
    fingerprint,
    mask_pair,
    own_mask_key,
    pair_mask_key,
    said,
    sketch_seed,
)
from folkmoot.secagg.masks import Words, add_masks, as_words
from folkmoot.secagg.member import Member
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
    is_announcement,
)
from folkmoot.secagg.packing import packed
from folkmoot.secagg.parameters import is_safe, part_of
from folkmoot.secagg.primitives import SEED, is_signed, opened, sealed, signed
from folkmoot.secagg.state import Stage, State
from folkmoot.secagg.wire import U32, U64, bitmap, marked

Random = Callable[[int], bytes]
Answer = Callable[[Announcement], NDArray[np.int64]]


class Refused(FolkmootError):
    """The client will not go on: what it was shown could cost it its secret."""


def refuse(why: str) -> NoReturn:
    raise Refused(why)


@dataclass(frozen=True)
class Turn:
    """One call: who the client is, what it remembers, what it was sent, and what it may draw on."""

    member: Member
    now: State
    message: bytes
    answer: Answer = field(repr=False)
    random: Random = field(repr=False)


def step(
    member: Member, state: bytes, message: bytes, answer: Answer, random: Random = os.urandom
) -> tuple[bytes, bytes]:
    """One message. `answer` gives the client's vector, when it comes to that; `random` that many random bytes."""
    turn = Turn(member, State.decode(state), message, answer, random)
    if is_announcement(message):
        after, reply = advertise(turn)
    elif turn.now.stage in MOVES:
        after, reply = MOVES[turn.now.stage](turn)
    else:
        refuse("this client is in no round: its keys are spent, or not yet made")
    return after.encode(), reply


def advertise(turn: Turn) -> tuple[State, bytes]:
    """Announcement → Advertisement. Whatever round the client was in is over; its keys are gone."""
    member, announcement = turn.member, Announcement.decode(turn.message)
    if turn.now.announced:
        last = turn.now.announcement
        if announcement.session == last.session and announcement.round <= last.round:
            refuse("rounds of a session go up, and this one is not beyond the last: its keys are spent")
    if announcement.roster != member.roster.digest:
        refuse("the server goes by another roster")
    if announcement.clients < member.policy.enough(0):
        refuse(f"{announcement.clients} clients are asked; this one hides among {member.policy.enough(0)} or more")
    channel_seed, mask_seed, own_seed = turn.random(SEED), turn.random(SEED), turn.random(SEED)
    content = (
        U32.pack(member.id),
        channel_pair(channel_seed)[1],
        mask_pair(mask_seed)[1],
        commitment(turn.message, member.id, own_seed),
    )
    signature = signed(member.identity, "advertisement", turn.message, *content)
    reply = Advertisement(announcement.session, announcement.round, member.id, *content[1:], signature)
    mark = fingerprint(member.id, reply.body())
    return State(Stage.ADVERTISED, turn.message, channel_seed, mask_seed, own_seed, mark), reply.encode()


def choose(turn: Turn) -> tuple[State, bytes]:
    """Roll → Choice."""
    now, announcement = turn.now, turn.now.announcement
    roll = Roll.decode(turn.message).of(announcement)
    check_roll(turn.member, announcement, roll)
    now = replace(now, roll=roll.clients, prints=roll.prints)
    if now.fingerprints[turn.member.id] != now.fingerprint:
        refuse("the roll has other keys for this client")
    chosen = bitmap(drawn(roll, turn.member.id, turn.random), roll.ids)
    after = replace(
        now,
        stage=Stage.CHOSE,
        said=said(now.announced, turn.message),
        threshold=U32.pack(roll.threshold),
        chosen=chosen,
    )
    return after, Choice(announcement.session, announcement.round, chosen).encode()


def check_roll(member: Member, announcement: Announcement, roll: Roll) -> None:
    policy, count = member.policy, len(roll.ids)
    if count > announcement.clients:
        refuse("there are more clients than were announced")
    if count < policy.enough(announcement.clients):
        refuse(f"{count} of {announcement.clients} clients are left, too few to hide among")
    if not member.roster.knows(roll.ids):
        refuse("the roll names somebody who is not on the roster")
    if member.id not in roll.ids:
        refuse("the roll lacks this client")
    bad = part_of(policy.corrupt, announcement.clients)
    if not is_safe(count, roll.degree, roll.threshold, bad, policy.malicious):
        refuse("degree and threshold are too small for what this client wants to withstand")


def drawn(roll: Roll, client: int, random: Random) -> set[int]:
    """`degree` others at random, by the client's own coins, so that the server cannot choose for it (Floyd's sample).

    A 64-bit number modulo at most 2^22 is uniform to 2^-42.
    """
    others = roll.ids[roll.ids != client]
    coins = U64.iter_unpack(random(U64.size * roll.degree))
    places: set[int] = set()
    for top, (coin,) in zip(range(len(others) - roll.degree, len(others)), coins, strict=True):
        place = coin % (top + 1)
        places.add(top if place in places else place)
    return set(others[list(places)].tolist())


def share(turn: Turn) -> tuple[State, bytes]:
    """Neighbours → Boxes."""
    member, now, announcement = turn.member, turn.now, turn.now.announcement
    chosen, threshold = marked(now.chosen, now.order), now.needed
    shown = Neighbours.decode(turn.message, len(chosen)).of(announcement)
    if shown.adverts.keys() != chosen:
        refuse("these are not the neighbours that this client chose")
    channel, _ = channel_pair(now.channel_seed)
    coins = shamir.bytes_needed(SEED, threshold)
    own = shamir.split(now.own_seed, len(chosen), threshold, turn.random(coins))
    masking = shamir.split(now.mask_seed, len(chosen), threshold, turn.random(coins))
    keys, boxes, check = b"", {}, Checked(member, now)
    for one, own_share, mask_share in zip(shown.adverts, own, masking, strict=True):
        entry = check(shown.entry(one))
        key = known(box_key(channel, entry.channel_key, now.said, member.id, one))
        boxes[one] = sealed(key, shamir.to_bytes(own_share) + shamir.to_bytes(mask_share), now.said)
        keys += entry.mask_key
    after = replace(now, stage=Stage.SHARED, mask_keys=keys)
    return after, Boxes(announcement.session, announcement.round, boxes).encode()


class Checked:
    """Advertisements that may be believed: signed by whom they name for this announcement, the ones on the roll, with
    keys of their own.
    """

    def __init__(self, member: Member, now: State) -> None:
        self.member, self.now, self.prints = member, now, now.fingerprints
        self.seen = {channel_pair(now.channel_seed)[1], mask_pair(now.mask_seed)[1]}

    def __call__(self, entry: Advertisement) -> Advertisement:
        if fingerprint(entry.id, entry.body()) != self.prints[entry.id]:
            refuse("an advertisement is not the one on the roll")
        key, announced = self.member.roster.keys[entry.id], self.now.announced
        if not is_signed(key, entry.signature, "advertisement", announced, *entry.content()):
            refuse("an advertisement is not signed by the client it names, or is of another session or round")
        keys = {entry.channel_key, entry.mask_key}
        if len(keys - self.seen) < 2:
            refuse("a key is this client's own, or stands there twice")
        self.seen |= keys
        return entry


def known(key: bytes | None) -> bytes:
    return key if key is not None else refuse("a key is of low order, or not in its one form")


def mask(turn: Turn) -> tuple[State, bytes]:
    """Delivery → Masked."""
    member, now, announcement = turn.member, turn.now, turn.now.announcement
    delivery = Delivery.decode(turn.message, len(now.order)).of(announcement)
    sharing, chosen = marked(delivery.sharing, now.order), now.neighbours
    if member.id not in sharing:
        refuse("the server calls this client gone")
    if not sharing - {member.id} >= delivery.boxes.keys():
        refuse("a box comes from somebody who shares nothing, or from this client itself")
    if len(chosen.keys() & sharing) < now.needed:
        refuse("too few of the neighbours that hold this client's shares are left")
    mask_keys = {one: key for one, key in chosen.items() if one in sharing}
    channel, _ = channel_pair(now.channel_seed)
    held, check = b"", Checked(member, now)
    for sender in delivery.boxes:
        entry, box = delivery.opened_item(sender)
        mask_keys[sender] = check(entry).mask_key  # the one on the roll, as for those it chose
        content = opened(known(box_key(channel, entry.channel_key, now.said, sender, member.id)), box, now.said)
        if content is not None:  # else there is nothing to give back; its mask is added all the same
            held += U32.pack(sender) + content
    if len(set(mask_keys.values())) < len(mask_keys):
        refuse("two neighbours have the same key")
    state = agreed_on(now.said, delivery.sharing)
    words = encoded(announcement, turn.answer(announcement), state)
    masking, _ = mask_pair(now.mask_seed)
    added, taken = [own_mask_key(now.own_seed, state)], list[bytes]()
    for other, public in mask_keys.items():
        key = known(pair_mask_key(masking, public, state, member.id, other))
        (added if member.id < other else taken).append(key)
    add_masks(words, added, taken)
    signature = signed(member.identity, "masked", state)
    reply = Masked(announcement.session, announcement.round, signature, packed(words, announcement.ring_bits))
    forgotten = dict.fromkeys(("channel_seed", "mask_seed", "own_seed", "fingerprint", "prints", "mask_keys"), b"")
    return replace(now, stage=Stage.MASKED, sharing=delivery.sharing, held=held, **forgotten), reply.encode()


def encoded(announcement: Announcement, vector: NDArray[np.int64], state: bytes) -> Words:
    """The vector as words of the ring: written out, or in a sketch."""
    vector = np.asarray(vector)
    if vector.shape != (announcement.length,) or vector.dtype.kind not in "iu":
        raise InputError(f"answer: needs an array of {announcement.length:,} whole numbers")
    # To refuse a number that is too large would tell the server of it.
    vector = np.clip(vector, 0, announcement.largest or announcement.most).astype(np.int64)
    if announcement.room:
        places = np.flatnonzero(vector)
        return announcement.sketch(sketch_seed(state)).encode(places, vector[places])
    return as_words(vector, announcement.ring_bits)


def consent(turn: Turn) -> tuple[State, bytes]:
    """Survivors → Consent."""
    member, now, announcement = turn.member, turn.now, turn.now.announcement
    shown = Survivors.decode(turn.message, len(now.order)).of(announcement)
    alive = marked(shown.bits, now.order)
    if member.id not in alive:
        refuse("the server calls this client gone, though its vector was sent")
    if not alive <= marked(now.sharing, now.order):
        refuse("somebody is in the sum who was gone before")
    if len(alive) < member.policy.enough(0):
        refuse(f"{len(alive)} clients are in the sum, too few to hide among")
    signature = signed(member.identity, "consent", agreed_on(now.said, now.sharing), shown.bits)
    reply = Consent(announcement.session, announcement.round, signature)
    return replace(now, stage=Stage.CONSENTED, survivors=shown.bits), reply.encode()


def unmask(turn: Turn) -> tuple[State, bytes]:
    """Consents → Unmasking. A share of one secret or of the other, and then nothing is left."""
    member, now, announcement = turn.member, turn.now, turn.now.announcement
    chosen, threshold = marked(now.chosen, now.order), now.needed
    shown = Consents.decode(turn.message, len(chosen), len(now.order)).of(announcement)
    if not chosen >= shown.signatures.keys():
        refuse("a consent is of somebody whom this client did not choose")
    state, good = agreed_on(now.said, now.sharing), 0
    for one, signature in shown.signatures.items():
        good += is_signed(member.roster.keys[one], signature, "consent", state, now.survivors)
        if good == threshold:
            break
    else:
        refuse(f"{good} neighbours signed the same roll and survivors; {threshold} must")
    alive, shares = marked(now.survivors, now.order), {}
    for owner, (own, masking) in now.shares.items():
        if owner not in alive:
            shares[owner] = masking
        elif is_signed(member.roster.keys[owner], shown.owners.get(owner, b""), "masked", state):
            shares[owner] = own  # it was told the same, and so masked with this client too
    return State(announced=now.announced), Unmasking(announcement.session, announcement.round, shares).encode()


MOVES: dict[Stage, Callable[[Turn], tuple[State, bytes]]] = {
    Stage.ADVERTISED: choose,
    Stage.CHOSE: share,
    Stage.SHARED: mask,
    Stage.MASKED: consent,
    Stage.CONSENTED: unmask,
}

"""The client's side: a state and a message in, a state and a reply out. No network, no files, no clock.

1. Announcement → Advertisement: fresh keys, signed.
2. Roll → Choice: the client draws its neighbours with its own coins.
3. Neighbours → Boxes: a share of both secrets for each neighbour.
4. Delivery → Complaints: it checks the shares that others dealt to it.
   Accusations → Answers: what it dealt to those who complain about it; only if somebody does.
5. Sharers → MaskedVector: its vector under a mask of its own and one mask per neighbour. It forgets its secrets.
6. Survivors → Consent: a tag on who is in the sum, for each neighbour whose shares it holds.
7. Consents → Unmasking: one share of each client whose shares it holds.

Whoever runs this stores the new state before sending the reply, and never restores an older one. All coins of a round
come from one seed in the state, drawn together with the keys: a later step that runs twice gives the same reply twice,
if the answer is the same. A refusal leaves the state unchanged, and depends only on what the server knows anyway.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hmac import compare_digest
from typing import NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.errors import FolkmootError, InputError
from folkmoot.foundation.randomness import SYSTEM, PrivateRandomness, as_private
from folkmoot.secagg.dealing import (
    SHARE,
    Dealing,
    are_on_lines,
    case_of,
    challenge_of,
    count_coins,
    deal,
    values_of,
)
from folkmoot.secagg.keys import (
    CHECK,
    EDGE,
    MASK_KEY,
    channel_private,
    choice_seed,
    commitment,
    complaint,
    edge_purpose,
    fingerprint,
    hash_consent,
    hash_roll,
    hash_sharers,
    keys_in,
    mask_private,
    mask_seed,
    own_digest,
    own_mask_key,
    own_seed,
    pair_purpose,
    sketch_seed,
)
from folkmoot.secagg.masks import Words, add_masks, as_words
from folkmoot.secagg.member import Member, Policy
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
    kind_of,
)
from folkmoot.secagg.neighbours import draw_neighbours
from folkmoot.secagg.packing import pack_bits
from folkmoot.secagg.parameters import count_share, fewest_honest, is_safe
from folkmoot.secagg.primitives import KEY, SEED, TAG, expand, is_signed, public_of, sign, tag
from folkmoot.secagg.state import Stage, State
from folkmoot.secagg.wire import U32, Malformed, bitmap, read_bitmap
from folkmoot.secagg.work import Work

Random: TypeAlias = PrivateRandomness


@dataclass(frozen=True)
class Crowd:
    """Those among whom a client hides in a round, as it saw them itself. A vector may depend on it: on how many honest
    clients any sum must hold.
    """

    announcement: Announcement
    clients: int  # on the roll
    degree: int
    threshold: int
    corrupt: int
    security: int

    @property
    def honest(self) -> int:
        """The fewest honest clients in any sum that the server can learn."""
        return fewest_honest(self.clients, self.corrupt, self.degree, self.threshold, self.security)


Answer = Callable[[Crowd], NDArray[np.int64]]


class Refused(FolkmootError):
    """The client does not answer: what it was sent could expose its vector."""


def refuse(why: str) -> NoReturn:
    raise Refused(why)


@dataclass(frozen=True)
class Turn:
    """One call: the client, its state, the message it was sent, and what it may use to reply."""

    member: Member
    now: State
    message: bytes
    answer: Answer = field(repr=False)
    random: Random = field(repr=False)
    work: Work = field(repr=False)

    def __post_init__(self) -> None:
        as_private(self.random)

    def edge(self, secret: bytes, dealer: int, holder: int) -> tuple[bytes, bytes]:
        """The keys of a dealer and a holder, from their shared secret: for the box, and for word and consent."""
        keys = self.work.keys(secret, edge_purpose(self.now.roll_hash, dealer, holder), EDGE)
        return keys[:KEY], keys[KEY:]


def step(
    member: Member,
    state: bytes,
    message: bytes,
    answer: Answer,
    random: Random = SYSTEM,
    work: Work | None = None,
) -> tuple[bytes, bytes]:
    """One message in, the new state and the reply out. `answer` is called for the client's vector when it is time to
    mask it; keys are drawn from `random`. `work` is for many clients in one process: what two of them share is
    computed once.
    """
    after, reply = take(Turn(member, State.decode(state), message, answer, random, work or Work()))
    return after.encode(), reply


def take(turn: Turn) -> tuple[State, bytes]:
    """The same, for a state that is not stored in between."""
    kind = kind_of(turn.message)
    if kind == Announcement.kind:
        return advertise(turn)
    if turn.now.stage is Stage.IDLE:
        refuse("this client is in no round: its keys are used up, or not made yet")
    if (turn.now.stage, kind) not in MOVES:
        raise Malformed("a message is of another kind, protocol or version than expected")
    return MOVES[turn.now.stage, kind](turn)


def advertise(turn: Turn) -> tuple[State, bytes]:
    """Announcement → Advertisement. The client's previous round is over, and its keys are gone."""
    member, announcement, ledger = turn.member, Announcement.decode(turn.message), turn.now.record
    if turn.now.announced:
        last = turn.now.announcement
        if announcement.session == last.session and announcement.round <= last.round:
            refuse("this round is not later than the last one in this session, whose keys are used up")
    if announcement.roster != member.roster.digest:
        refuse("the server uses another roster")
    if announcement.clients < member.policy.quorum(0):
        refuse(f"{announcement.clients} clients are asked, too few to hide among; {member.policy.quorum(0)} are needed")
    if ledger.has_answered(announcement):
        refuse("this client has already answered this question; two sums could reveal who is in only one of them")
    if ledger.excess >= member.policy.unfinished:
        refuse(f"{ledger.begun - ledger.finished} rounds were broken off and only {ledger.finished} finished")
    seed = turn.random.random(SEED)
    content = (
        U32.pack(member.id),
        public_of(channel_private(seed)),
        public_of(mask_private(mask_seed(seed))),
        commitment(turn.message, member.id, own_digest(own_seed(seed)), choice_seed(seed)),
    )
    signature = sign(member.identity, "advertisement", turn.message, *content)
    reply = Advertisement(announcement.session, announcement.round, member.id, *content[1:], signature)
    after = State(Stage.ADVERTISED, turn.now.ledger, turn.message, seed, reply.body())
    return after, reply.encode()


def choose(turn: Turn) -> tuple[State, bytes]:
    """Roll → Choice."""
    member, now, announcement = turn.member, turn.now, turn.now.announcement
    roll = Roll.decode(turn.message).check_round(announcement)
    check_roll(member, announcement, roll)
    now = replace(now, roll=roll.clients, prints=roll.prints)
    if fingerprint(member.id, keys_in(now.advert)) != now.fingerprint(*now.places([member.id])):
        refuse("the roll has other keys for this client")
    state = hash_roll(now.announced, turn.message)
    coins = choice_seed(now.seed)
    chosen = bitmap(draw_neighbours(roll, member.id, state, coins), roll.ids)
    after = replace(
        now,
        stage=Stage.CHOSE,
        ledger=now.record.begin().encode(),
        roll_hash=state,
        packed_threshold=U32.pack(roll.threshold),
        chosen=chosen,
    )
    reply = Choice(announcement.session, announcement.round, chosen, coins, own_digest(own_seed(now.seed)))
    return after, reply.encode()


def check_roll(member: Member, announcement: Announcement, roll: Roll) -> None:
    policy, count = member.policy, len(roll.ids)
    if count > announcement.clients:
        refuse("there are more clients than were announced")
    if count < policy.quorum(announcement.clients):
        refuse(f"{count} of {announcement.clients} clients are left, too few to hide among")
    if not member.roster.knows(roll.ids):
        refuse("the roll names somebody who is not on the roster")
    if member.id not in roll.ids:
        refuse("this client is not on the roll")
    bad = count_share(policy.corrupt, announcement.clients)
    if not is_safe(count, roll.degree, roll.threshold, bad, policy.security):
        refuse("degree or threshold is too small for this client's policy")


def share(turn: Turn) -> tuple[State, bytes]:
    """Neighbours → Boxes."""
    member, now, announcement = turn.member, turn.now, turn.now.announcement
    chosen = sorted(read_bitmap(now.chosen, now.order))
    shown = Neighbours.decode(turn.message, len(chosen)).check_round(announcement)
    if list(shown.adverts) != chosen:
        refuse("these are not the neighbours that this client chose")
    for (one, body), place in zip(shown.adverts.items(), now.places(chosen), strict=True):
        found = turn.work.fingerprint(now.announced, member.roster.keys[one], one, body)
        if found is None:
            refuse("an advertisement is not signed by the client it names, or is of another session or round")
        if found != now.fingerprint(place):
            refuse("an advertisement does not match the roll")
    check_distinct([now.advert, *shown.adverts.values()])
    publics = [body[:KEY] for body in shown.adverts.values()]
    secrets = agree_with_each(turn, channel_private(now.seed), now.channel_key, publics)
    dealing = deal_shares(now, len(chosen))
    boxes, holders = dict[int, bytes](), dict[int, bytes]()
    for one, secret, content in zip(chosen, secrets, dealing.contents, strict=True):
        box_key, checks = turn.edge(secret, member.id, one)
        boxes[one] = turn.work.mark_box(box_key, content, now.roll_hash, member.id, one)
        holders[one] = checks
    mask_keys = {one: body[KEY : 2 * KEY] for one, body in shown.adverts.items()}
    after = replace(now, stage=Stage.SHARED, sealed=boxes, mask_keys=mask_keys, holders=holders)
    lines = dealing.lines(challenge_of(now.roll_hash, member.id, boxes))
    return after, Boxes(announcement.session, announcement.round, lines, boxes).encode()


def deal_shares(now: State, holders: int) -> Dealing:
    """The client's own shares; every call gives the same."""
    coins = expand(now.seed, count_coins(now.threshold), "shares", now.roll_hash)
    return deal(own_seed(now.seed), mask_seed(now.seed), holders, now.threshold, coins)


def check_distinct(bodies: Sequence[bytes]) -> None:
    """Refuse if any two of these keys are the same."""
    keys = {key for body in bodies for key in (body[:KEY], body[KEY : 2 * KEY])}
    if len(keys) < 2 * len(bodies):
        refuse("a key is this client's own, or occurs twice")


def agree_with_each(turn: Turn, private: bytes, mine: bytes, publics: Sequence[bytes]) -> list[bytes]:
    """A shared secret with each of these keys, all different."""
    secrets = [turn.work.secret(private, mine, public) for public in publics]
    found = [secret for secret in secrets if secret is not None]
    if len(found) < len(secrets):
        refuse("a key has low order, or is not in canonical form")
    if len(set(found)) < len(found):
        refuse("two keys differ only by a point of low order, so they are one key")
    return found


def check(turn: Turn) -> tuple[State, bytes]:
    """Delivery → Complaints.

    Keys of those who chose this client are compared with the roll, and their signatures are not checked: an honest
    client has found its own keys on the roll, and a dishonest one may deal this client anything (docs/secagg.md).
    """
    member, now, announcement = turn.member, turn.now, turn.now.announcement
    delivery = Delivery.decode(turn.message, len(now.order)).check_round(announcement)
    dealers = list(delivery.dealt)
    if member.id in delivery.dealt or -1 in (places := now.places(dealers)):
        refuse("a box comes from somebody who is not on the roll, or from this client itself")
    items = {dealer: Parcel.read(body) for dealer, body in delivery.dealt.items()}
    for (dealer, item), place in zip(items.items(), places, strict=True):
        if fingerprint(dealer, item.keys) != now.fingerprint(place):
            refuse("a key does not match the roll")
    check_distinct([now.advert, *delivery.dealt.values()])
    mask_keys = now.mask_keys | {dealer: body[KEY : 2 * KEY] for dealer, body in delivery.dealt.items()}
    if len(set(mask_keys.values())) < len(mask_keys):
        refuse("two neighbours have the same key")
    publics = [body[:KEY] for body in delivery.dealt.values()]
    secrets = agree_with_each(turn, channel_private(now.seed), now.channel_key, publics)
    held, keyed = dict[int, bytes](), dict[int, bytes]()
    for (dealer, item), secret in zip(items.items(), secrets, strict=True):
        box_key, checks = turn.edge(secret, dealer, member.id)
        content = turn.work.content(box_key, item.box + item.marks, now.roll_hash, dealer, member.id)
        if content is not None:
            held[dealer], keyed[dealer] = content, checks
    for dealer, fits in zip(list(held), check_lines([items[one] for one in held], held), strict=True):
        if not fits:
            del held[dealer], keyed[dealer]
    complaints = {
        dealer: sign(member.identity, *complaint(now.roll_hash, dealer, member.id, item.case()))
        for dealer, item in items.items()
        if dealer not in held
    }
    after = replace(
        now,
        stage=Stage.CHECKED,
        mask_keys=dict(sorted(mask_keys.items())),
        dealers=keyed,
        held=held,
        prints=b"",
    )
    return after, Complaints(announcement.session, announcement.round, complaints).encode()


def check_lines(items: list[Parcel], held: dict[int, bytes]) -> list[bool]:
    """For each dealer, whether both of its shares lie on its lines."""
    halves = [half for content in held.values() for half in (content[:SHARE], content[SHARE:])]
    challenges = [item.challenge for item in items for _ in range(2)]
    fits = are_on_lines(halves, challenges, [item.values for item in items])
    return list((fits[0::2] & fits[1::2]).tolist())


def answer_complaints(turn: Turn) -> tuple[State, bytes]:
    """Accusations → Answers. A holder that complains about exactly what this client dealt works for the server, so its
    shares are no secret.
    """
    member, now, announcement = turn.member, turn.now, turn.now.announcement
    boxes = now.sealed
    shown = Accusations.decode(turn.message, len(boxes)).check_round(announcement)
    if not boxes.keys() >= shown.signatures.keys() or len(shown.signatures) >= now.threshold:
        refuse("somebody complains who holds no share, or enough complain to reconstruct a secret")
    dealing, challenge = deal_shares(now, len(boxes)), challenge_of(now.roll_hash, member.id, boxes)
    values = dict(zip(boxes, values_of(dealing.lines(challenge), len(boxes)) or (), strict=True))
    for one, signature in shown.signatures.items():
        case = case_of(boxes[one], values[one], challenge)
        if not is_signed(member.roster.keys[one], signature, *complaint(now.roll_hash, member.id, one, case)):
            refuse("a complaint is not signed by the client it names, or is about something this client did not deal")
    contents = dict(zip(boxes, dealing.contents, strict=True))
    answers = {one: contents[one] for one in shown.signatures}
    after = replace(now, stage=Stage.ANSWERED, sealed={})
    return after, Answers(announcement.session, announcement.round, answers).encode()


def mask(turn: Turn) -> tuple[State, bytes]:
    """Sharers → MaskedVector."""
    member, now, announcement = turn.member, turn.now, turn.now.announcement
    shown = Sharers.decode(turn.message, len(now.order)).check_round(announcement)
    sharing = read_bitmap(shown.bits, now.order)
    if member.id not in sharing:
        refuse("the server says that this client has dropped out")
    holders = {one: keys for one, keys in now.holders.items() if one in sharing}
    if len(holders) < now.threshold:
        refuse("too few of the neighbours that hold this client's shares are left")
    neighbours = {one: key for one, key in now.mask_keys.items() if one in sharing}
    private = mask_private(mask_seed(now.seed))
    secrets = agree_with_each(turn, private, now.mask_key, list(neighbours.values()))
    state = hash_sharers(now.roll_hash, shown.bits)
    words = encode_vector(announcement, turn.answer(find_crowd(member, now)), state)
    added, taken = [own_mask_key(own_seed(now.seed), state)], list[bytes]()
    for other, secret in zip(neighbours, secrets, strict=True):
        key = turn.work.keys(secret, pair_purpose(state, member.id, other), MASK_KEY)
        (added if member.id < other else taken).append(key)
    add_masks(words, added, taken)
    reply = MaskedVector(
        announcement.session,
        announcement.round,
        sign(member.identity, "masked", state),
        {one: tag(keys[:CHECK], state) for one, keys in holders.items()},
        pack_bits(words, announcement.ring_bits),
    )
    dealers = {one: tag(keys[:CHECK], state) + keys[CHECK:] for one, keys in now.dealers.items() if one in sharing}
    held = {one: both for one, both in now.held.items() if one in sharing}
    after = replace(
        now,
        stage=Stage.MASKED,
        ledger=now.record.answer(announcement).encode(),
        sharing=shown.bits,
        dealers=dealers,
        held=held,
        seed=b"",
        advert=b"",
        sealed={},
        mask_keys={},
    )
    return after, reply.encode()


def find_crowd(member: Member, now: State) -> Crowd:
    """What this client knows of those it hides among, once it has chosen its neighbours."""
    degree = int.from_bytes(now.chosen, "little").bit_count()
    return make_crowd(member.policy, now.announcement, len(now.order), degree, now.threshold)


def foresee_crowd(member: Member, announcement: Announcement, roll: Roll) -> Crowd:
    """The same before it chooses any, so that it can refuse without showing them. A roll that it would refuse anyway is
    refused here, too.
    """
    check_roll(member, announcement, roll)
    return make_crowd(member.policy, announcement, len(roll.ids), roll.degree, roll.threshold)


def make_crowd(policy: Policy, announcement: Announcement, clients: int, degree: int, threshold: int) -> Crowd:
    bad = count_share(policy.corrupt, announcement.clients)
    return Crowd(announcement, clients, degree, threshold, bad, policy.security)


def encode_vector(announcement: Announcement, vector: NDArray[np.int64], state: bytes) -> Words:
    """The vector as words of the ring: dense, or in a sketch."""
    vector = np.asarray(vector)
    if vector.shape != (announcement.length,) or vector.dtype.kind not in "iu":
        raise InputError(f"needs an array of {announcement.length:,} whole numbers", argument="answer")
    # Refusing a number that is too large would tell the server about it.
    vector = np.clip(vector, 0, announcement.largest or announcement.most).astype(np.int64)
    if announcement.room:
        places = np.flatnonzero(vector)
        return announcement.sketch(sketch_seed(state)).encode(places, vector[places])
    return as_words(vector, announcement.ring_bits)


def consent(turn: Turn) -> tuple[State, bytes]:
    """Survivors → Consent."""
    member, now, announcement = turn.member, turn.now, turn.now.announcement
    shown = Survivors.decode(turn.message, len(now.order)).check_round(announcement)
    alive = read_bitmap(shown.bits, now.order)
    if member.id not in alive:
        refuse("the server says that this client has dropped out, though its vector was sent")
    if not alive <= read_bitmap(now.sharing, now.order):
        refuse("somebody is in the sum who had dropped out before")
    if len(alive) < member.policy.quorum(0):
        refuse(f"{len(alive)} clients are in the sum, too few to hide among")
    agreed = hash_consent(hash_sharers(now.roll_hash, now.sharing), shown.bits)
    words = {one: tag(keys[CHECK:], agreed) for one, keys in now.dealers.items() if one in alive}
    reply = Consent(announcement.session, announcement.round, words)
    return replace(now, stage=Stage.CONSENTED, survivors=shown.bits), reply.encode()


def unmask(turn: Turn) -> tuple[State, bytes]:
    """Consents → Unmasking. One share per client, of one secret or of the other; then the client forgets them all."""
    member, now, announcement = turn.member, turn.now, turn.now.announcement
    holders, threshold = now.holders, now.threshold
    shown = Consents.decode(turn.message, len(holders), len(now.order)).check_round(announcement)
    if not holders.keys() >= shown.words.keys():
        refuse("a consent comes from somebody whom this client did not choose")
    state = hash_sharers(now.roll_hash, now.sharing)
    agreed = hash_consent(state, now.survivors)
    good = sum(compare_digest(tag(holders[one][CHECK:], agreed), word) for one, word in shown.words.items())
    if good < threshold:
        refuse(f"{good} neighbours vouch for the same roll and survivors; {threshold} are needed")
    alive, shares = read_bitmap(now.survivors, now.order), {}
    for owner, (own, masking) in now.shares.items():
        if owner not in alive:
            shares[owner] = masking
            continue
        vouched = shown.owners.get(owner, b"")
        word, signature = vouched[:TAG], vouched[TAG:]
        key = member.roster.keys[owner]
        if compare_digest(now.dealers[owner][:CHECK], word) or is_signed(key, signature, "masked", state):
            shares[owner] = own  # it was told of the same sharers, so it masked with this client too
    after = State(ledger=now.record.finish().encode(), announced=now.announced)
    return after, Unmasking(announcement.session, announcement.round, shares).encode()


MOVES: dict[tuple[Stage, int], Callable[[Turn], tuple[State, bytes]]] = {
    (Stage.ADVERTISED, Roll.kind): choose,
    (Stage.CHOSE, Neighbours.kind): share,
    (Stage.SHARED, Delivery.kind): check,
    (Stage.CHECKED, Accusations.kind): answer_complaints,
    (Stage.CHECKED, Sharers.kind): mask,
    (Stage.ANSWERED, Sharers.kind): mask,
    (Stage.MASKED, Survivors.kind): consent,
    (Stage.CONSENTED, Consents.kind): unmask,
}

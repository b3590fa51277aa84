"""The server's side: a generator of messages to clients. It is sent the replies; who is missing has dropped out.

The same exchanges as in client.py, in the same order. A reply that is malformed, wrongly signed or of another round
counts as missing, and its sender is recorded.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import numpy as np

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.kernels import run_on_threads, thread_count
from folkmoot.foundation.sets import Ids
from folkmoot.secagg.dealing import SHARE, are_on_lines, challenge_of, mark, values_of
from folkmoot.secagg.faults import AggregationFailed, Fault
from folkmoot.secagg.keys import (
    MASK_KEY,
    commitment,
    complaint,
    hash_roll,
    hash_sharers,
    keys_in,
    mask_private,
    own_mask_key,
    pair_purpose,
    sketch_seed,
)
from folkmoot.secagg.masks import Words, add_masks, as_words
from folkmoot.secagg.member import Policy, Roster
from folkmoot.secagg.messages import (
    BOX,
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
from folkmoot.secagg.neighbours import draw_neighbours
from folkmoot.secagg.packing import add_packed
from folkmoot.secagg.parameters import Parameters
from folkmoot.secagg.primitives import ANY_KEY, TAG, agree, is_signed, keyed_hash
from folkmoot.secagg.recovery import Dealer, Recovery
from folkmoot.secagg.wire import U64, Malformed, bitmap

T = TypeVar("T")
Outbox: TypeAlias = dict[int, bytes]
Inbox: TypeAlias = dict[int, bytes]
PAIRS_AT_ONCE = 64  # key agreements per task of a thread
Graph: TypeAlias = dict[int, dict[int, bytes]]  # by one client and another: what passes between them
NO_WORD = bytes(TAG)


@dataclass(frozen=True, eq=False)
class Aggregate:
    """The sum, who is in it, how it was protected, and who was caught doing what."""

    total: Ids
    survivors: tuple[int, ...]
    parameters: Parameters
    excluded: dict[int, Fault]


def serve(
    announcement: Announcement, roster: Roster, clients: list[int], policy: Policy | None = None
) -> Generator[Outbox, Inbox, Aggregate]:
    """Run a round over these clients, under a policy that they accept. May raise AggregationFailed or SketchFailed."""
    policy = Policy() if policy is None else policy
    if len(set(clients)) != announcement.clients or not roster.keys.keys() >= set(clients):
        raise InputError(
            f"needs the {announcement.clients} clients announced, all different and on the roster, got {clients!r:.60}",
            argument="clients",
        )
    clerk = Clerk(announcement, roster, policy)
    mark = (announcement.session, announcement.round)

    inbox = yield dict.fromkeys(clients, clerk.announcement_bytes)
    adverts = clerk.read_adverts(set(clients), inbox)
    clerk.require(len(adverts), policy.quorum(announcement.clients), "gave their keys")
    chosen = clerk.protection(len(adverts))
    order = np.array(list(adverts), dtype=np.int64)
    prints = b"".join(advert.fingerprint() for advert in adverts.values())
    roll = Roll(*mark, chosen.degree, chosen.threshold, order.astype("<u4").tobytes(), prints)
    state = hash_roll(clerk.announcement_bytes, roll.encode())

    inbox = yield dict.fromkeys(adverts, roll.encode())
    graph, digests = clerk.read_choices(roll, state, adverts, inbox)
    bodies = {one: advert.body() for one, advert in adverts.items()}

    inbox = yield {
        one: Neighbours(*mark, {other: bodies[other] for other in neighbours}).encode()
        for one, neighbours in graph.items()
    }
    dealers = clerk.read_boxes(state, chosen, graph, inbox)
    delivered = deliveries(adverts, dealers)

    inbox = yield {one: Delivery(*mark, dealt).encode() for one, dealt in delivered.items()}
    checked, accused = clerk.read_complaints(state, delivered, inbox)
    asked = sorted(one for one in accused.keys() & checked if len(accused[one]) < chosen.threshold)
    inbox = (yield {dealer: Accusations(*mark, accused[dealer]).encode() for dealer in asked}) if asked else {}
    shown = clerk.read_answers(state, chosen.threshold, dealers, accused, asked, inbox)
    sharers = {one for one in checked if one not in accused or one in shown}
    clerk.require(len(sharers), policy.quorum(0), "shared their secrets")
    sharing = bitmap(sharers, order)
    agreed_state = hash_sharers(state, sharing)

    inbox = yield dict.fromkeys(sorted(sharers), Sharers(*mark, sharing).encode())
    vectors = clerk.read_vectors(agreed_state, sharers, chosen.degree, inbox)
    clerk.answered = bool(inbox)
    alive = set(vectors)
    clerk.require(len(alive), policy.quorum(0), "sent their vectors")
    total = add_vectors(announcement, [sent.vector for sent in vectors.values()])
    survivors = Survivors(*mark, bitmap(alive, order)).encode()
    owners: Graph = {one: {} for one in alive}
    for owner, sent in vectors.items():
        for holder in alive & dealers[owner].sealed.keys():  # where there is no word, the signature has to do
            owners[holder][owner] = sent.words.get(holder, NO_WORD) + sent.signature
    del vectors, delivered

    inbox = yield dict.fromkeys(sorted(alive), survivors)
    spoke = dict(clerk.read(inbox, alive, lambda data: Consent.decode(data, len(order))))
    consents: Graph = {one: {} for one in sorted(spoke)}
    for holder, consent in spoke.items():
        for dealer in consent.words.keys() & consents.keys():
            if holder in dealers[dealer].sealed:
                consents[dealer][holder] = consent.words[dealer]

    inbox = yield {one: Consents(*mark, words, owners[one]).encode() for one, words in consents.items()}
    given = clerk.read(inbox, consents, lambda data: Unmasking.decode(data, len(order)))
    held = {holder: one.shares for holder, one in given}
    sharing_dealers = {one: dealers[one] for one in sharers}
    recovery = Recovery(state, chosen.threshold, adverts, digests, sharing_dealers, held, shown, clerk.excluded)
    add_masks(total, *find_remaining_masks(recovery, alive, agreed_state))
    excluded = dict(sorted(clerk.excluded.items()))
    return Aggregate(decode_total(announcement, total, agreed_state), tuple(sorted(alive)), chosen, excluded)


@dataclass
class Clerk:
    """Reads replies, and records who sent an impossible one."""

    announcement: Announcement
    roster: Roster
    policy: Policy
    excluded: dict[int, Fault] = field(default_factory=dict)
    answered: bool = False  # whether anybody sent a vector

    @cached_property
    def announcement_bytes(self) -> bytes:
        return self.announcement.encode()

    def require(self, count: int, needed: int, what: str) -> None:
        if count < needed:
            raise AggregationFailed(f"{count} clients {what}; {needed} are needed", self.excluded, self.answered)

    def protection(self, clients: int) -> Parameters:
        try:
            return self.policy.protection(clients, self.announcement.clients)
        except InputError as why:
            raise AggregationFailed(str(why), self.excluded) from None

    def read(self, inbox: Inbox, expected: Any, decode: Callable[[bytes], T]) -> Iterator[tuple[int, T]]:
        """The replies of those expected to reply, if well-formed and of this round."""
        for sender, data in inbox.items():
            if sender in expected:
                try:
                    message: Any = decode(data)
                    yield sender, message.check_round(self.announcement)
                except Malformed:
                    self.excluded[sender] = Fault.UNREADABLE

    def are_signed(self, checks: list[tuple[int, Any]]) -> list[bool]:
        """Whether each signature is right; computed in threads. A check is a client, a signature and what it signs."""

        def one(at: int, _: int) -> bool:
            client, (signature, *under) = checks[at]
            return is_signed(self.roster.keys[client], signature, *under)

        good = run_on_threads(one, [(at, at + 1) for at in range(len(checks))])
        self.excluded |= {client: Fault.UNSIGNED for (client, _), fine in zip(checks, good, strict=True) if not fine}
        return good

    def read_adverts(self, clients: set[int], inbox: Inbox) -> dict[int, Advertisement]:
        """Advertisements that no client would refuse: with one bad key on the roll, everybody would refuse the roll."""
        entries = sorted(self.read(inbox, clients, Advertisement.decode))
        announced = self.announcement_bytes
        signed = self.are_signed(
            [(one, (entry.signature, "advertisement", announced, *entry.content())) for one, entry in entries]
        )
        tried = run_on_threads(
            lambda at, _: canonical_keys(entries[at][1]), [(at, at + 1) for at in range(len(entries))]
        )
        good = dict[int, tuple[Advertisement, set[bytes | None]]]()
        for (sender, entry), fine, keys in zip(entries, signed, tried, strict=True):
            if fine and entry.id == sender and None not in keys and len(keys) == 2:
                good[sender] = entry, keys
            elif fine:
                self.excluded[sender] = Fault.KEYS
        # Nobody can tell who made a key and who copied it: both are left off, and neither is named.
        seen = Counter(key for _, keys in good.values() for key in keys)
        return {sender: entry for sender, (entry, keys) in good.items() if all(seen[key] == 1 for key in keys)}

    def read_choices(
        self, roll: Roll, state: bytes, adverts: dict[int, Advertisement], inbox: Inbox
    ) -> tuple[dict[int, set[int]], dict[int, bytes]]:
        """Each client's neighbours, and the digest of its own mask's seed; both must match its commitment."""
        graph, digests = dict[int, set[int]](), dict[int, bytes]()
        for sender, sent in self.read(inbox, adverts, lambda data: Choice.decode(data, len(roll.ids))):
            chosen = draw_neighbours(roll, sender, state, sent.seed)
            committed = commitment(self.announcement_bytes, sender, sent.own_digest, sent.seed)
            if committed == adverts[sender].commitment and bitmap(chosen, roll.ids) == sent.bits:
                graph[sender], digests[sender] = chosen, sent.own_digest
            else:
                self.excluded[sender] = Fault.CHOICE
        return graph, digests

    def read_boxes(
        self, state: bytes, chosen: Parameters, graph: dict[int, set[int]], inbox: Inbox
    ) -> dict[int, Dealer]:
        dealers = dict[int, Dealer]()
        for sender, sent in self.read(inbox, graph, lambda data: Boxes.decode(data, chosen.degree, chosen.threshold)):
            values = values_of(sent.lines, chosen.degree)
            if sent.boxes.keys() == graph[sender] and values is not None:
                challenge = challenge_of(state, sender, sent.boxes)
                dealers[sender] = Dealer(sent.boxes, dict(zip(sent.boxes, values, strict=True)), challenge)
            else:
                self.excluded[sender] = Fault.DEALING
        return dealers

    def read_complaints(self, state: bytes, delivered: Graph, inbox: Inbox) -> tuple[set[int], Graph]:
        """Who has received its shares; and by dealer, who complains about it."""
        entries = list(self.read(inbox, delivered, lambda data: Complaints.decode(data, len(delivered))))
        made = [
            (holder, dealer, signature, Parcel.read(delivered[holder][dealer]).case())
            for holder, sent in entries
            for dealer, signature in sent.signatures.items()
            if dealer in delivered[holder]
        ]
        signed = self.are_signed(
            [(holder, (word, *complaint(state, dealer, holder, case))) for holder, dealer, word, case in made]
        )
        accused: Graph = {}
        for (holder, dealer, signature, _), good in zip(made, signed, strict=True):
            if good:
                accused.setdefault(dealer, {})[holder] = signature
        return {holder for holder, _ in entries}, accused

    def read_answers(
        self,
        state: bytes,
        threshold: int,
        dealers: dict[int, Dealer],
        accused: Graph,
        asked: list[int],
        inbox: Inbox,
    ) -> Graph:
        """By dealer, the correct shares that it showed for all of its accusers; other accused dealers are left out.

        A silent dealer may have dropped out and be accused falsely. It is named only if it has so many accusers that
        some of them must be honest. It is not asked then: an honest client would not show so many shares, so whoever
        did would only be somebody who speaks in its name.
        """
        shown = dict[int, dict[int, bytes]]()
        for dealer, sent in self.read(inbox, asked, lambda data: Answers.decode(data, len(data))):
            if sent.contents.keys() == accused[dealer].keys() and all(
                matches_dealing(state, dealer, holder, content, dealers[dealer])
                for holder, content in sent.contents.items()
            ):
                shown[dealer] = sent.contents
            else:
                self.excluded[dealer] = Fault.DEALING
        silent = accused.keys() - shown.keys()
        self.excluded |= {dealer: Fault.DEALING for dealer in silent if len(accused[dealer]) >= threshold}
        return shown

    def read_vectors(self, state: bytes, sharers: set[int], degree: int, inbox: Inbox) -> dict[int, MaskedVector]:
        size = self.announcement.vector_size
        entries = list(self.read(inbox, sharers, lambda data: MaskedVector.decode(data, size, degree)))
        signed = self.are_signed([(one, (sent.signature, "masked", state)) for one, sent in entries])
        return {one: sent for (one, sent), good in zip(entries, signed, strict=True) if good}


def canonical_keys(entry: Advertisement) -> set[bytes | None]:
    """The secrets of both keys with a known key: the same for keys that differ only by a point of low order."""
    return {agree(ANY_KEY, entry.channel_key), agree(ANY_KEY, entry.mask_key)}


def deliveries(adverts: dict[int, Advertisement], dealers: dict[int, Dealer]) -> Graph:
    """What every dealer receives from the others, by holder and dealer."""
    delivered: Graph = {one: {} for one in dealers}
    for one, dealer in dealers.items():
        keys, challenge = keys_in(adverts[one].body()), U64.pack(dealer.challenge)
        for holder in dealer.sealed.keys() & delivered.keys():
            delivered[holder][one] = b"".join((keys, dealer.sealed[holder], dealer.values[holder], challenge))
    return delivered


def matches_dealing(state: bytes, owner: int, holder: int, content: bytes, dealer: Dealer) -> bool:
    """Whether both shares match the marks that were dealt, and lie on the dealer's lines."""
    if mark(state, owner, holder, content) != dealer.sealed[holder][BOX:]:
        return False
    return bool(are_on_lines([content[:SHARE], content[SHARE:]], [dealer.challenge] * 2, [dealer.values[holder]]).all())


def add_vectors(announcement: Announcement, vectors: list[bytes | memoryview]) -> Words:
    """The sum of the masked vectors, which are split among threads."""
    share = -(-len(vectors) // thread_count())

    def some(lo: int, hi: int) -> Words:
        total = as_words(np.zeros(announcement.words, dtype=np.uint32), announcement.ring_bits)
        for vector in vectors[lo:hi]:
            add_packed(vector, announcement.ring_bits, total)
        return total

    parts = run_on_threads(some, [(at, min(at + share, len(vectors))) for at in range(0, len(vectors), share)])
    for part in parts[1:]:
        parts[0] += part
    return parts[0]


def find_remaining_masks(recovery: Recovery, alive: set[int], state: bytes) -> tuple[list[bytes], list[bytes]]:
    """Keys of the masks to add and to subtract: own masks of those in the sum, pair masks with those who are not."""
    dealers = recovery.dealers
    own_seeds = [recovery.own_seed(owner) for owner in sorted(alive)]
    pairs = list[tuple[int, int, bytes]]()
    for owner in sorted(dealers.keys() - alive):
        left = sorted(one for one in alive if owner in dealers[one].sealed or one in dealers[owner].sealed)
        if left:
            private = mask_private(recovery.mask_seed(owner))
            pairs += [(owner, other, private) for other in left]
    recovery.check()
    taken = [own_mask_key(seed, state) for seed in own_seeds]

    def keys(lo: int, hi: int) -> list[bytes]:
        return [pair_key(recovery.adverts, state, *pair) for pair in pairs[lo:hi]]

    found = run_on_threads(
        keys, [(at, min(at + PAIRS_AT_ONCE, len(pairs))) for at in range(0, len(pairs), PAIRS_AT_ONCE)]
    )
    added = list[bytes]()
    for (owner, other, _), key in zip(pairs, chain.from_iterable(found), strict=True):
        (taken if other < owner else added).append(key)  # `other` added it if its number is lower
    return added, taken


def pair_key(adverts: dict[int, Advertisement], state: bytes, owner: int, other: int, private: bytes) -> bytes:
    """The key of the mask between `owner`, whose private key was recovered, and another client."""
    secret = agree(private, adverts[other].mask_key)
    assert secret is not None, "no key on the roll has low order"
    return keyed_hash(secret, pair_purpose(state, owner, other), MASK_KEY)


def decode_total(announcement: Announcement, total: Words, state: bytes) -> Ids:
    """The sum as a vector, from words of the ring."""
    if announcement.room:
        return announcement.sketch(sketch_seed(state)).decode(total.astype(np.uint64))
    mask = total.dtype.type(2**announcement.ring_bits - 1)
    return (total & mask).astype(np.int64)

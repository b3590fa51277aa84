"""A server that may say anything to anybody: honest as far as an attack wants it to be, and it keeps what it sees."""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import cached_property
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest

from folkmoot.foundation.errors import FolkmootError
from folkmoot.foundation.randomness import PrivateRandomness
from folkmoot.secagg import client as client_side
from folkmoot.secagg.client import Answer, Refused, step
from folkmoot.secagg.dealing import challenge_of, values_of
from folkmoot.secagg.keys import (
    MASK_KEY,
    channel_private,
    complaint,
    hash_consent,
    hash_roll,
    hash_sharers,
    keys_in,
    mask_private,
    own_mask_key,
    pair_purpose,
)
from folkmoot.secagg.masks import add_masks, as_words
from folkmoot.secagg.messages import (
    BOX,
    Accusations,
    Advertisement,
    Announcement,
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
from folkmoot.secagg.packing import add_packed
from folkmoot.secagg.primitives import TAG, agree, keyed_hash, sign, tag
from folkmoot.secagg.recovery import Dealer, Recovery
from folkmoot.secagg.state import State
from folkmoot.secagg.wire import U32, Malformed, bitmap, read_bitmap
from tests.secagg.cohorts import (
    CHOICE,
    CONSENT,
    KEYS,
    RECEIPT,
    REGULAR,
    SHARES,
    VECTOR,
    Edge,
    Federation,
    Outbox,
    Vector,
    body_of,
)

Shares = dict[int, dict[int, bytes]]  # by holder, by owner
Words = dict[int, dict[int, bytes]]  # by holder, by dealer: consents


class Coins:
    """Random bytes that follow from a seed; all that were drawn are remembered."""

    def __init__(self, *seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.drawn: list[bytes] = []

    def __call__(self, size: int) -> bytes:
        self.drawn.append(self.generator.bytes(size))
        return self.drawn[-1]

    @property
    def private(self) -> PrivateRandomness:
        """The same, as a client takes it."""
        return PrivateRandomness.for_tests(self)


class EvilServer:
    """One round. `states` go on from another; a client's coins follow from `seed` and its number. `terms` are degree
    and threshold, if others than an honest server's. `planted`: neighbours that a client draws, as it rarely would.
    """

    def __init__(
        self,
        federation: Federation,
        announcement: Announcement | None = None,
        states: dict[int, bytes] | None = None,
        seed: int = 0,
        answers: Callable[[int], Answer] | None = None,
        terms: tuple[int, int] | None = None,
        planted: Mapping[int, set[int]] | None = None,
    ) -> None:
        self.federation, self.announcement = federation, announcement or federation.announcement
        self.mark = (self.announcement.session, self.announcement.round)
        self.states = dict(states or dict.fromkeys(federation.ids, b""))
        self.coins = {one: Coins(seed, one) for one in federation.ids}
        self.answers, self.terms, self.planted = answers or federation.answer, terms, planted or {}
        self.sent: dict[int, Outbox] = {}
        self.replies: dict[int, Outbox] = {}
        self.masked: dict[int, MaskedVector] = {}  # all that clients masked, in any exchange

    def advance_to(self, exchange: int, silent: Iterable[int] = ()) -> Outbox:
        """Honest until then, but that the silent say nothing in the exchange before: what it would send now."""
        self.sent[KEYS] = dict.fromkeys(self.federation.ids, self.announcement.encode())
        for now, then in pairwise(one for one in REGULAR if one <= exchange):
            there = sorted(self.sent[now].keys() - (set(silent) if then == exchange else set()))
            self.replies[now] = {one: self.ask(one, self.sent[now][one]) for one in there}
            self.sent[then] = self.compose(then)
        return self.sent[exchange]

    def compose(self, exchange: int) -> Outbox:
        """What an honest server says after all that it heard, if nobody complained."""
        heard = self.replies[REGULAR[REGULAR.index(exchange) - 1]]
        if exchange == CHOICE:
            degree, threshold = self.terms or self.usual_terms()
            return dict.fromkeys(heard, self.make_roll(sorted(heard), degree, threshold).encode())
        if exchange == SHARES:
            return {one: self.neighbours(one) for one in heard}
        if exchange == RECEIPT:
            return {one: self.delivery(one, heard) for one in heard}
        if exchange == VECTOR:
            return dict.fromkeys(heard, self.sharers(heard))
        if exchange == CONSENT:
            return dict.fromkeys(heard, self.survivors(heard))
        spoken = {one: self.consent_of(reply) for one, reply in heard.items()}
        return {one: self.consents(one, spoken) for one in heard}

    def usual_terms(self) -> tuple[int, int]:
        chosen = self.federation.policy.protection(len(self.replies[KEYS]), self.announcement.clients)
        return chosen.degree, chosen.threshold

    def trial(self, client: int, message: bytes) -> tuple[bytes, bytes]:
        """What the client would do; it is asked again from where it was."""
        member, answer = self.federation.members[client], self.answers(client)

        def falling(roll: Roll, who: int, state: bytes, seed: bytes) -> set[int]:
            return self.planted[who] if who in self.planted else draw_neighbours(roll, who, state, seed)

        with patch.object(client_side, "draw_neighbours", falling):
            return step(member, self.states[client], message, answer, self.coins[client].private)

    def ask(self, client: int, message: bytes) -> bytes:
        self.states[client], reply = self.trial(client, message)
        if kind_of(reply) == MaskedVector.kind:
            self.masked[client] = self.masked_of(reply)
        return reply

    def is_refused(self, client: int, message: bytes, why: str) -> None:
        """For this reason and no other; and asking once more does not help."""
        for _ in range(2):
            with pytest.raises((Refused, Malformed), match=why):
                self.trial(client, message)

    def fork(self) -> "EvilServer":
        """The same moment once more, for another attack from here on."""
        other = copy(self)
        for name in ("states", "sent", "replies", "masked", "coins", "planted"):
            setattr(other, name, dict(getattr(self, name)))
        return other

    # What it saw.

    @cached_property
    def adverts(self) -> dict[int, Advertisement]:
        return {one: Advertisement.decode(reply) for one, reply in self.replies[KEYS].items()}

    @cached_property
    def roll(self) -> Roll:
        return Roll.decode(next(iter(self.sent[CHOICE].values())))

    @cached_property
    def graph(self) -> dict[int, set[int]]:
        order = self.roll.ids
        return {
            one: read_bitmap(Choice.decode(data, len(order)).bits, order) for one, data in self.replies[CHOICE].items()
        }

    @cached_property
    def dealers(self) -> dict[int, Dealer]:
        return {one: self.dealer(one, data) for one, data in self.replies[SHARES].items()}

    def dealer(self, one: int, boxes: bytes) -> Dealer:
        sent = Boxes.decode(boxes, self.roll.degree, self.roll.threshold)
        values = values_of(sent.lines, self.roll.degree) or ()
        challenge = challenge_of(self.roll_hash, one, sent.boxes)
        return Dealer(sent.boxes, dict(zip(sent.boxes, values, strict=True)), challenge)

    @property
    def roll_hash(self) -> bytes:
        return hash_roll(self.announcement.encode(), self.roll.encode())

    def masked_of(self, reply: bytes) -> MaskedVector:
        return MaskedVector.decode(reply, self.announcement.vector_size, len(self.federation.ids))

    def consent_of(self, reply: bytes) -> dict[int, bytes]:
        return Consent.decode(reply, len(self.roll.ids)).words

    def read_shares(self, reply: bytes) -> dict[int, bytes]:
        return Unmasking.decode(reply, len(self.roll.ids)).shares

    def complaints(self, reply: bytes) -> dict[int, bytes]:
        return Complaints.decode(reply, len(self.roll.ids)).signatures

    # What it says.

    def bits(self, clients: Iterable[int]) -> bytes:
        return bitmap(set(clients), self.roll.ids)

    def advert(
        self, one: int, channel: bytes, mask: bytes, announced: bytes | None = None, signer: int | None = None
    ) -> bytes:
        """The body of an advertisement with these keys, signed by a corrupt client for itself, or as told."""
        content = (U32.pack(one), channel, mask, self.adverts[one].commitment)
        identity = self.federation.identities[one if signer is None else signer]
        signature = sign(identity, "advertisement", announced or self.announcement.encode(), *content)
        return b"".join(content[1:]) + signature

    def read_body(self, one: int, body: bytes) -> Advertisement:
        return Advertisement.read_body(*self.mark, one, body)

    def make_roll(
        self,
        clients: Iterable[int] | None = None,
        degree: int | None = None,
        threshold: int | None = None,
        forged: dict[int, bytes] | None = None,
    ) -> Roll:
        """A roll that says anything: by default what the honest one says. Its fingerprints are those of what the
        clients advertised, or of what will be shown instead.
        """
        ids = self.roll.ids.tolist() if clients is None else list(clients)
        bodies = {one: advert.body() for one, advert in self.adverts.items()} | (forged or {})
        prints = b"".join(self.read_body(one, bodies.get(one, b"")).fingerprint() for one in ids)
        terms = degree or self.roll.degree, threshold or self.roll.threshold
        return Roll(*self.mark, *terms, np.array(ids, dtype="<u4").tobytes(), prints)

    def neighbours(self, client: int) -> bytes:
        return Neighbours(*self.mark, {one: self.adverts[one].body() for one in self.graph[client]}).encode()

    def parcel(self, dealer: int, holder: int) -> Parcel:
        """What an honest server gives the holder."""
        of, sealed = self.dealers[dealer], self.dealers[dealer].sealed[holder]
        return Parcel(keys_in(self.adverts[dealer].body()), sealed[:BOX], sealed[BOX:], of.values[holder], of.challenge)

    def delivery(self, holder: int, dealers: Iterable[int], instead: Mapping[int, Parcel] | None = None) -> bytes:
        """As if only these had dealt anything; of some, something else than they dealt."""
        of = [one for one in set(dealers) - {holder} if holder in self.dealers[one].sealed]
        dealt = {one: self.parcel(one, holder) for one in of} | dict(instead or {})
        return Delivery(*self.mark, {one: body_of(item) for one, item in dealt.items()}).encode()

    def accusations(self, signatures: dict[int, bytes]) -> bytes:
        return Accusations(*self.mark, signatures).encode()

    def false_complaint(self, dealer: int, corrupt: int) -> bytes:
        """A corrupt holder was given what was dealt to it, and complains."""
        case = self.parcel(dealer, corrupt).case()
        return sign(self.federation.identities[corrupt], *complaint(self.roll_hash, dealer, corrupt, case))

    def sharers(self, sharing: Iterable[int]) -> bytes:
        return Sharers(*self.mark, self.bits(sharing)).encode()

    def survivors(self, alive: Iterable[int]) -> bytes:
        return Survivors(*self.mark, self.bits(alive)).encode()

    def sharers_hash(self, sharing: Iterable[int]) -> bytes:
        return hash_sharers(self.roll_hash, self.bits(sharing))

    def seed(self, corrupt: int) -> bytes:
        """Which all secrets of a corrupt client come from."""
        return self.coins[corrupt].drawn[0]

    def edge(self, corrupt: int, dealer: int, holder: int) -> Edge:
        """The keys of two neighbours, one of whom is corrupt."""
        other = holder if corrupt == dealer else dealer
        secret = agree(channel_private(self.seed(corrupt)), self.adverts[other].channel_key)
        assert secret is not None
        return Edge.derive(secret, self.roll_hash, dealer, holder)

    def forge_consents(self, corrupt: int, sharing: Iterable[int], alive: Iterable[int]) -> dict[int, bytes]:
        """The consents of a corrupt client, who vouches for anything."""
        about = hash_consent(self.sharers_hash(sharing), self.bits(alive))
        dealers = [one for one, chosen in self.graph.items() if corrupt in chosen]
        return {one: tag(self.edge(corrupt, one, corrupt).consent, about) for one in dealers}

    def consents(self, client: int, spoken: Words) -> bytes:
        """As many of these as the client wants to see, and all that owners vouched for to it."""
        holders = self.graph[client] & spoken.keys()
        words = {one: spoken[one][client] for one in holders if client in spoken[one]}
        return Consents(*self.mark, words, self.vouchers(client)).encode()

    def vouchers(self, client: int) -> dict[int, bytes]:
        """What came with the vectors of those who chose this client."""
        return {
            owner: sent.words.get(client, bytes(TAG)) + sent.signature
            for owner, sent in self.masked.items()
            if client in self.graph[owner]
        }

    def views(self, shown: dict[int, set[int]], sharing: set[int], corrupt: set[int]) -> Shares:
        """The last two exchanges with other survivors for everyone; the corrupt vouch for whatever helps. What clients
        give.
        """
        words = {one: self.consent_of(self.ask(one, self.survivors(alive))) for one, alive in shown.items()}
        false = dict[frozenset[int], Words]()
        given: Shares = {}
        for one, alive in shown.items():
            if (story := frozenset(alive)) not in false:
                false[story] = {other: self.forge_consents(other, sharing, alive) for other in corrupt}
            same = {other: words[other] for other in shown if shown[other] == alive} | false[story]
            try:
                given[one] = self.read_shares(self.ask(one, self.consents(one, same)))
            except Refused:
                continue
        return given

    # What it makes of it.

    def held_shares(self, clients: Iterable[int], kind: int) -> Shares:
        """What corrupt clients hold: of seeds of own masks (0), of mask keys (1)."""
        return {
            one: {who: both[kind] for who, both in State.decode(self.states[one]).shares.items()} for one in clients
        }

    def recovery(self, held: Shares) -> Recovery:
        """Of both kinds of seeds: a mark says which kind a share is of."""
        clients, choices = len(self.roll.ids), self.replies[CHOICE]
        digests = {one: Choice.decode(data, clients).own_digest for one, data in choices.items()}
        return Recovery(self.roll_hash, self.roll.threshold, self.adverts, digests, self.dealers, held, {}, {})

    def expose(
        self, vectors: Mapping[int, MaskedVector], state: bytes, own: dict[int, bytes], masking: dict[int, bytes]
    ) -> Vector:
        """The sum of these masked vectors, without the own masks and the pair masks whose seeds are known. Masks
        between two of them cancel.
        """
        ring, total = self.announcement.ring_bits, np.zeros(self.announcement.words)
        words = as_words(total, ring)
        for sent in vectors.values():
            add_packed(sent.vector, ring, words)
        added, taken = list[bytes](), [own_mask_key(seed, state) for seed in own.values()]
        pairs = [(one, other) for one, chosen in self.graph.items() for other in chosen]
        for client, other in {
            (a, b) for pair in pairs for a, b in (pair, pair[::-1]) if a in vectors and b not in vectors
        }:
            known, public = (client, other) if client in masking else (other, client)
            if known in masking:  # the key of either brings the mask out
                secret = agree(mask_private(masking[known]), self.adverts[public].mask_key)
                assert secret is not None
                key = keyed_hash(secret, pair_purpose(state, client, other), MASK_KEY)
                (taken if client < other else added).append(key)
        add_masks(words, added, taken)
        return (words & words.dtype.type(2**ring - 1)).astype(np.int64)


def recover_seed(recover: Callable[[int], bytes], owner: int) -> bytes | None:
    """None where the shares do not bring it back."""
    try:
        return recover(owner)
    except FolkmootError:
        return None

"""A server that may say anything to anybody: honest as far as an attack wants it to be, and it keeps what it sees."""

from collections.abc import Callable, Iterable
from copy import copy
from functools import cached_property

import numpy as np
import pytest

from folkmoot.errors import FolkmootError
from folkmoot.secagg.client import Answer, Refused, step
from folkmoot.secagg.keys import agreed_on, fingerprint, mask_pair, own_mask_key, pair_mask_key, said
from folkmoot.secagg.masks import add_masks, as_words
from folkmoot.secagg.messages import (
    HEAD,
    NAME,
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
from folkmoot.secagg.parameters import choose
from folkmoot.secagg.primitives import SIGNATURE, signed
from folkmoot.secagg.recovery import Recovery
from folkmoot.secagg.state import State
from folkmoot.secagg.wire import U32, Malformed, bitmap, marked
from tests.secagg.cohorts import Federation, Outbox, Vector

Shares = dict[int, dict[int, bytes]]  # by holder, by owner


class Coins:
    """Random bytes that follow from a seed; all that were drawn are remembered."""

    def __init__(self, *seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.drawn: list[bytes] = []

    def __call__(self, size: int) -> bytes:
        self.drawn.append(self.generator.bytes(size))
        return self.drawn[-1]


class EvilServer:
    """One round. `states` go on from another; a client's coins follow from `seed` and its number. `terms` are degree
    and threshold, if others than an honest server's.
    """

    def __init__(
        self,
        federation: Federation,
        announcement: Announcement | None = None,
        states: dict[int, bytes] | None = None,
        seed: int = 0,
        answers: Callable[[int], Answer] | None = None,
        terms: tuple[int, int] | None = None,
    ) -> None:
        self.federation, self.announcement = federation, announcement or federation.announcement
        self.mark = (self.announcement.session, self.announcement.round)
        self.states = dict(states or dict.fromkeys(federation.ids, b""))
        self.coins = {one: Coins(seed, one) for one in federation.ids}
        self.answers, self.terms = answers or federation.answer, terms
        self.sent: dict[int, Outbox] = {}
        self.replies: dict[int, Outbox] = {}
        self.masked: dict[int, bytes] = {}  # what clients signed with their vectors

    def up_to(self, exchange: int, silent: Iterable[int] = ()) -> Outbox:
        """Honest until then, but that the silent say nothing in the exchange before: what it would send now."""
        self.sent[1] = dict.fromkeys(self.federation.ids, self.announcement.encode())
        for now in range(1, exchange):
            there = sorted(self.sent[now].keys() - (set(silent) if now == exchange - 1 else set()))
            self.replies[now] = {one: self.ask(one, self.sent[now][one]) for one in there}
            self.sent[now + 1] = self.honest(now + 1)
        return self.sent[exchange]

    def honest(self, exchange: int) -> Outbox:
        """What an honest server says after all that it heard."""
        heard = self.replies[exchange - 1]
        if exchange == 2:
            degree, threshold = self.terms or self.usual_terms()
            return dict.fromkeys(heard, self.rolled(sorted(heard), degree, threshold).encode())
        if exchange == 3:
            return {one: self.neighbours(one) for one in heard}
        if exchange == 4:
            return {one: self.delivery(one, heard) for one in heard}
        if exchange == 5:
            return dict.fromkeys(heard, self.survivors(heard))
        signatures = {one: Consent.decode(reply).signature for one, reply in heard.items()}
        return {one: self.consents(one, signatures) for one in heard}

    def usual_terms(self) -> tuple[int, int]:
        policy, asked = self.federation.policy, self.announcement.clients
        corrupt, dropout, malicious = policy.corrupt, policy.dropout, policy.malicious
        chosen = choose(len(self.replies[1]), asked=asked, corrupt=corrupt, dropout=dropout, malicious=malicious)
        return chosen.degree, chosen.threshold

    def trial(self, client: int, message: bytes) -> tuple[bytes, bytes]:
        """What the client would do; it is asked again from where it was."""
        member, answer = self.federation.members[client], self.answers(client)
        return step(member, self.states[client], message, answer, self.coins[client])

    def ask(self, client: int, message: bytes) -> bytes:
        self.states[client], reply = self.trial(client, message)
        if reply[len(NAME) + 1] == Masked.kind:
            self.masked[client] = reply[HEAD : HEAD + SIGNATURE]
        return reply

    def is_refused(self, client: int, message: bytes, why: str) -> None:
        """For this reason and no other; and asking once more does not help."""
        for _ in range(2):
            with pytest.raises((Refused, Malformed), match=why):
                self.trial(client, message)

    def fork(self) -> "EvilServer":
        """The same moment once more, for another attack from here on."""
        other = copy(self)
        other.states, other.sent, other.replies = dict(self.states), dict(self.sent), dict(self.replies)
        other.masked = dict(self.masked)
        other.coins = dict(self.coins)
        return other

    # What it saw.

    @cached_property
    def adverts(self) -> dict[int, Advertisement]:
        return {one: Advertisement.decode(reply) for one, reply in self.replies[1].items()}

    @cached_property
    def roll(self) -> Roll:
        return Roll.decode(next(iter(self.sent[2].values())))

    @cached_property
    def graph(self) -> dict[int, set[int]]:
        order = self.roll.ids
        return {one: marked(Choice.decode(data, len(order)).bits, order) for one, data in self.replies[2].items()}

    @cached_property
    def boxes(self) -> dict[int, dict[int, bytes]]:
        return {one: Boxes.decode(data, self.roll.degree).boxes for one, data in self.replies[3].items()}

    # What it says.

    def bits(self, clients: Iterable[int]) -> bytes:
        return bitmap(set(clients), self.roll.ids)

    def advert(
        self, one: int, channel: bytes, mask: bytes, announced: bytes | None = None, signer: int | None = None
    ) -> bytes:
        """The body of an advertisement with these keys, signed by a corrupt client for itself, or as told."""
        content = (U32.pack(one), channel, mask, self.adverts[one].commitment)
        identity = self.federation.identities[one if signer is None else signer]
        signature = signed(identity, "advertisement", announced or self.announcement.encode(), *content)
        return b"".join(content[1:]) + signature

    def rolled(
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
        prints = b"".join(fingerprint(one, bodies.get(one, b"")) for one in ids)
        terms = degree or self.roll.degree, threshold or self.roll.threshold
        return Roll(*self.mark, *terms, np.array(ids, dtype="<u4").tobytes(), prints)

    def neighbours(self, client: int) -> bytes:
        return Neighbours(*self.mark, {one: self.adverts[one].body() for one in self.graph[client]}).encode()

    def delivery(self, receiver: int, sharing: Iterable[int]) -> bytes:
        """As if only these had shared anything."""
        senders = (one for one in set(sharing) - {receiver} if receiver in self.boxes[one])
        items = {one: self.adverts[one].body() + self.boxes[one][receiver] for one in senders}
        return Delivery(*self.mark, self.bits(sharing), items).encode()

    def survivors(self, alive: Iterable[int]) -> bytes:
        return Survivors(*self.mark, self.bits(alive)).encode()

    def agreed(self, sharing: Iterable[int]) -> bytes:
        return agreed_on(said(self.announcement.encode(), self.roll.encode()), self.bits(sharing))

    def forged(self, corrupt: int, sharing: Iterable[int], alive: Iterable[int]) -> bytes:
        """The consent of a corrupt client, who signs anything."""
        identity = self.federation.identities[corrupt]
        return signed(identity, "consent", self.agreed(sharing), self.bits(alive))

    def consents(self, client: int, signatures: dict[int, bytes]) -> bytes:
        """As many of these as the client wants to see, and all that owners signed."""
        wanted = {one: signatures[one] for one in self.graph[client] & signatures.keys()}
        return Consents(*self.mark, wanted, self.masked).encode()

    def views(self, shown: dict[int, set[int]], sharing: set[int], corrupt: set[int]) -> Shares:
        """Exchanges 5 and 6 with other survivors for everyone; the corrupt sign whatever helps. What clients give."""
        signatures = {
            one: Consent.decode(self.ask(one, self.survivors(alive))).signature for one, alive in shown.items()
        }
        given: Shares = {}
        for one, alive in shown.items():
            same = {other: signatures[other] for other in shown if shown[other] == alive}
            same |= {other: self.forged(other, sharing, alive) for other in corrupt}
            try:
                given[one] = Unmasking.decode(self.ask(one, self.consents(one, same)), len(self.roll.ids)).shares
            except Refused:
                continue
        return given

    # What it makes of it.

    def held(self, clients: Iterable[int], kind: int) -> Shares:
        """What corrupt clients hold: of seeds of own masks (0), of mask keys (1)."""
        return {
            one: {who: both[kind] for who, both in State.decode(self.states[one]).shares.items()} for one in clients
        }

    def recovery(self, held: Shares) -> Recovery:
        return Recovery(self.announcement.encode(), self.roll.threshold, self.adverts, self.boxes, held)

    def bare(self, vectors: Outbox, state: bytes, own: dict[int, bytes], masking: dict[int, bytes]) -> Vector:
        """The sum of these masked vectors, without the own masks and the pair masks whose seeds are known. Masks
        between two of them cancel.
        """
        ring, total = self.announcement.ring_bits, np.zeros(self.announcement.words)
        words = as_words(total, ring)
        for data in vectors.values():
            add_packed(Masked.decode(data, self.announcement.vector_size).vector, ring, words)
        added, taken = list[bytes](), [own_mask_key(seed, state) for seed in own.values()]
        pairs = [(one, other) for one, chosen in self.graph.items() for other in chosen]
        for client, other in {
            (a, b) for pair in pairs for a, b in (pair, pair[::-1]) if a in vectors and b not in vectors
        }:
            known, public = (client, other) if client in masking else (other, client)
            if known in masking:  # the key of either brings the mask out
                private, _ = mask_pair(masking[known])
                key = pair_mask_key(private, self.adverts[public].mask_key, state, client, other)
                assert key is not None
                (taken if client < other else added).append(key)
        add_masks(words, added, taken)
        return (words & words.dtype.type(2**ring - 1)).astype(np.int64)


def known_seed(recover: Callable[[int], bytes], owner: int) -> bytes | None:
    """None where the shares do not bring it back."""
    try:
        return recover(owner)
    except FolkmootError:
        return None

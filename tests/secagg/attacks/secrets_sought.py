"""A round whose secrets are known to the test, to look for them where they must not be."""

from functools import cached_property

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.secagg.client import deal_shares, step
from folkmoot.secagg.keys import channel_private, mask_private, mask_seed, own_seed
from folkmoot.secagg.messages import Announcement
from folkmoot.secagg.state import State
from tests.secagg.attacks.server_tricks import Coins, EvilServer
from tests.secagg.cohorts import KEYS, RECEIPT, UNMASKING, VECTOR, Federation, Vector


class Hidden(Federation):
    """Identities that do not look like zeros."""

    @cached_property
    def identities(self) -> dict[int, Ed25519PrivateKey]:
        keys = (np.random.default_rng(one).bytes(32) for one in range(self.clients))
        return {7 * one + 3: Ed25519PrivateKey.from_private_bytes(key) for one, key in enumerate(keys)}


FEDERATION = Hidden(12, length=3, largest=10**12)  # numbers that are not met by chance
VICTIM = FEDERATION.ids[5]
MEMBER = FEDERATION.members[VICTIM]


class Round:
    """An honest one, the victim's states and replies, and what nobody else may see."""

    def __init__(self) -> None:
        self.server = EvilServer(FEDERATION)
        self.server.advance_to(UNMASKING)
        self.messages = {exchange: outbox[VICTIM] for exchange, outbox in self.server.sent.items()}
        self.before, self.replies, coins = {KEYS: b""}, dict[int, bytes](), Coins(0, VICTIM)
        for exchange, message in self.messages.items():
            state, self.replies[exchange] = step(
                MEMBER, self.before[exchange], message, FEDERATION.answer(VICTIM), coins.private
            )
            self.before[exchange + 1 if exchange != RECEIPT else VECTOR] = state
        self.states = list(self.before.values())
        (seed,) = coins.drawn
        self.seeds = [seed, channel_private(seed), own_seed(seed), mask_seed(seed), mask_private(mask_seed(seed))]
        self.raw = [MEMBER.identity.private_bytes_raw(), *self.seeds]
        checked = State.decode(self.before[VECTOR])
        dealing = deal_shares(checked, len(checked.sealed))
        self.edges = {
            (dealer, holder): self.server.edge(VICTIM, dealer, holder)
            for dealer, chosen in self.server.graph.items()
            for holder in chosen
            if VICTIM in (dealer, holder)
        }
        self.dealt, self.held = dealing.contents, checked.shares

    @cached_property
    def fragments(self) -> list[bytes]:
        """Any eight bytes of a secret, a share or a key of two in the ways they are written, and the numbers."""
        shares = [*self.dealt, *(share for both in self.held.values() for share in both)]
        secrets = [*self.raw, *shares, *(key for keys in self.edges.values() for key in keys)]
        pieces = [secret[at : at + 8] for secret in secrets for at in range(0, len(secret) - 7, 8)]
        forms = [form for piece in pieces for form in (piece, piece.hex().encode(), repr(piece)[2:-1].encode())]
        return forms + [str(one).encode() for one in FEDERATION.vector(VICTIM)]

    def shows(self, what: object) -> bool:
        text = what if isinstance(what, bytes) else f"{what!r} {what!s}".encode()
        return any(form in text for form in self.fragments)


def answer_anything(vector: Vector, _: Announcement) -> Vector:
    """An answer, but for its first argument."""
    return vector

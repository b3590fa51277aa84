"""A client looks at the signatures of the neighbours it chose, not of those who chose it: for these the server may put
keys of its own on the roll. That gains it nothing. Whoever is honest finds other keys than its own on that roll and
stays away, so whoever chose the victim under such keys is the server itself: it deals what it knows, and has masks with
the victim that a corrupt client might have as well. Masks with the honest neighbours that the victim chose are left.
"""

import numpy as np
import pytest

from folkmoot.secagg.dealing import count_coins, deal, mark, values_of
from folkmoot.secagg.keys import (
    MASK_KEY,
    channel_private,
    choice_seed,
    commitment,
    hash_sharers,
    keys_in,
    mask_private,
    mask_seed,
    own_digest,
    own_mask_key,
    own_seed,
    pair_purpose,
)
from folkmoot.secagg.masks import add_masks, as_words
from folkmoot.secagg.messages import Parcel
from folkmoot.secagg.packing import add_packed
from folkmoot.secagg.primitives import SIGNATURE, agree, keyed_hash, public_of, seal, tag
from folkmoot.secagg.state import State
from tests.secagg.attacks.server_tricks import Coins, EvilServer
from tests.secagg.cohorts import CHOICE, SHARES, Edge, Federation, Vector

FEDERATION, TERMS = Federation(16), (10, 8)
VICTIM, *OTHERS = FEDERATION.ids
CHOSEN, REPLACED = OTHERS[:10], OTHERS[10:]  # the victim's neighbours; those whose keys are the server's own


def seed_of(one: int) -> bytes:
    """Which the server makes a client's keys from."""
    return bytes([one] * 32)


class Puppets:
    """A round for the victim and its neighbours, with keys of the server for all whom the victim did not choose."""

    def __init__(self) -> None:
        self.server = EvilServer(FEDERATION, terms=TERMS, planted={VICTIM: set(CHOSEN)})
        server = self.server
        server.advance_to(CHOICE)
        self.bodies = {one: self.body(one) for one in REPLACED}
        server.roll = server.make_roll(forged=self.bodies)

    def body(self, one: int) -> bytes:
        seed, announced = seed_of(one), self.server.announcement.encode()
        keys = public_of(channel_private(seed)), public_of(mask_private(mask_seed(seed)))
        return (
            b"".join(keys)
            + commitment(announced, one, own_digest(own_seed(seed)), choice_seed(seed))
            + bytes(SIGNATURE)
        )

    def secret(self, one: int) -> bytes:
        """That a puppet and the victim agree on for boxes and words."""
        found = agree(channel_private(seed_of(one)), self.server.adverts[VICTIM].channel_key)
        assert found is not None
        return found

    def edge(self, one: int) -> Edge:
        return Edge.derive(self.secret(one), self.server.roll_hash, one, VICTIM)

    def parcel(self, one: int) -> Parcel:
        """A share of the puppet's secrets, as good as any."""
        server, seed, (degree, threshold) = self.server, seed_of(one), TERMS
        dealing = deal(own_seed(seed), mask_seed(seed), degree, threshold, Coins(one)(count_coins(threshold)))
        challenge, content = 5, dealing.contents[3]
        values = values_of(dealing.lines(challenge), degree)
        assert values is not None
        box = seal(self.edge(one).box, content, server.roll_hash)
        keys = keys_in(self.bodies[one])
        return Parcel(keys, box, mark(server.roll_hash, one, VICTIM, content), values[3], challenge)

    def mask(self) -> EvilServer:
        """The victim has masked with ten neighbours and five puppets."""
        server, there = self.server, [VICTIM, *CHOSEN]
        # Only the victim is shown this roll up to its end: its neighbours may choose puppets, and would refuse them.
        server.replies[CHOICE] = {one: server.ask(one, server.roll.encode()) for one in there}
        server.replies[SHARES] = {VICTIM: server.ask(VICTIM, server.neighbours(VICTIM))}
        reply = server.ask(VICTIM, server.delivery(VICTIM, [], {one: self.parcel(one) for one in REPLACED}))
        assert not server.complaints(reply)
        server.ask(VICTIM, server.sharers(FEDERATION.ids))
        return server

    def unmask(self, neighbours: dict[int, bytes], own: bytes | None) -> Vector:
        """The victim's vector without the masks of puppets, and of neighbours whose mask seeds are given."""
        server, ring = self.server, self.server.announcement.ring_bits
        words = as_words(np.zeros(server.announcement.words), ring)
        add_packed(server.masked[VICTIM].vector, ring, words)
        state = hash_sharers(server.roll_hash, server.bits(FEDERATION.ids))
        added, taken = list[bytes](), list[bytes]() if own is None else [own_mask_key(own, state)]
        for one, seed in neighbours.items():
            secret = agree(mask_private(seed), server.adverts[VICTIM].mask_key)
            assert secret is not None
            key = keyed_hash(secret, pair_purpose(state, VICTIM, one), MASK_KEY)
            (taken if one > VICTIM else added).append(key)
        add_masks(words, added, taken)
        return (words & words.dtype.type(2**ring - 1)).astype(np.int64)


@pytest.fixture(scope="module")
def puppets() -> Puppets:
    found = Puppets()
    found.mask()
    return found


def test_the_honest_client_stays_away() -> None:
    """It finds other keys than its own. With a roll of its own it is in another conversation."""
    server = Puppets().server
    for one in REPLACED:
        server.is_refused(one, server.roll.encode(), "other keys for this client")
    for one in [VICTIM, *CHOSEN]:
        assert server.trial(one, server.roll.encode())


def test_whoever_chose_a_puppet_stays_away_too() -> None:
    """The signature of a chosen neighbour is looked at: one that is missing, or is somebody else's."""
    puppets = Puppets()
    server, one = puppets.server, CHOSEN[0]
    fresh = [server.advert(REPLACED[0], b"c" * 32, b"m" * 32, signer=other) for other in (VICTIM, CHOSEN[1])]
    for body in (puppets.bodies[REPLACED[0]], *fresh):
        again = Puppets().server
        again.planted = {one: {VICTIM, *CHOSEN[1:9], REPLACED[0]}}
        again.roll = again.make_roll(forged=puppets.bodies | {REPLACED[0]: body})
        again.replies[CHOICE] = {one: again.ask(one, again.roll.encode())}
        again.adverts[REPLACED[0]] = again.read_body(REPLACED[0], body)
        again.is_refused(one, again.neighbours(one), "not signed by the client it names")


def test_the_victim_believes_the_roll_and_no_other_keys() -> None:
    puppets = Puppets()
    server = puppets.server
    server.replies[CHOICE] = {VICTIM: server.ask(VICTIM, server.roll.encode())}
    server.replies[SHARES] = {VICTIM: server.ask(VICTIM, server.neighbours(VICTIM))}
    one, other = REPLACED[:2]
    for wrong in (keys_in(server.adverts[one].body()), keys_in(puppets.bodies[other])):
        told = server.delivery(VICTIM, [], {one: puppets.parcel(one)._replace(keys=wrong)})
        server.is_refused(VICTIM, told, "does not match the roll")
    state, _ = server.trial(VICTIM, server.delivery(VICTIM, [], {one: puppets.parcel(one)}))
    assert State.decode(state).shares.keys() == {one}


def test_the_server_learns_masks_of_its_own_making_and_nothing_else(puppets: Puppets) -> None:
    """Without those of the puppets the vector is as hidden as before. With the own mask gone, and all but one of the
    honest neighbours, still; only with all of them it comes out (the puppets' masks are what they should be).
    """
    server, plain = puppets.server, FEDERATION.vector(VICTIM)
    theirs = {one: mask_seed(seed_of(one)) for one in REPLACED}
    honest = {one: mask_seed(server.seed(one)) for one in CHOSEN}
    mine = own_seed(server.seed(VICTIM))
    for known, own in (
        (theirs, None),
        (theirs | honest, None),
        (theirs, mine),
        *((theirs | {one: seed for one, seed in honest.items() if one != left}, mine) for left in CHOSEN),
    ):
        assert (puppets.unmask(known, own) == plain).mean() < 0.2
    np.testing.assert_array_equal(puppets.unmask(theirs | honest, mine), plain)


def test_puppets_vouch_for_nothing_that_counts(puppets: Puppets) -> None:
    """They hold no share of the victim, who did not choose them: their consents are of strangers, and all that the
    victim gives for words of puppets is shares of what they dealt themselves.
    """
    server = puppets.server.fork()
    server.ask(VICTIM, server.survivors(FEDERATION.ids))
    state = server.sharers_hash(FEDERATION.ids)
    server.graph = server.graph | {VICTIM: set(REPLACED)}
    spoken = {one: {VICTIM: tag(puppets.edge(one).consent, state)} for one in REPLACED}
    server.is_refused(VICTIM, server.consents(VICTIM, spoken), "did not choose")
    server.graph = server.graph | {VICTIM: set(CHOSEN)}
    server.is_refused(VICTIM, server.consents(VICTIM, {}), "0 neighbours vouch")
    held = State.decode(server.states[VICTIM]).shares
    assert held.keys() == set(REPLACED)

"""A client is shown the keys of others twice, after their fingerprints on the roll: of neighbours it chose with a
signature, of clients that chose it without. Here the server has a corrupt client sign whatever helps, and puts that on
the roll.
"""

from folkmoot.secagg.dealing import MARKS, VALUES
from folkmoot.secagg.keys import channel_private, keys_in, mask_private, mask_seed
from folkmoot.secagg.messages import BOX, Delivery, Neighbours, Parcel
from folkmoot.secagg.primitives import SEED, public_of
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import CHOICE, Federation, body_of

FEDERATION, TERMS = Federation(12), (10, 6)  # each chooses ten of the eleven others
VICTIM, STRANGER = FEDERATION.ids[5], FEDERATION.ids[8]  # whom the victim does not choose
FRESH = public_of(channel_private(bytes(SEED))), public_of(mask_private(mask_seed(bytes(SEED))))


class Place:
    """Where a client is shown a key: of a neighbour it chose, or of one that chose it and that it did not choose."""

    def __init__(self, delivered: bool) -> None:
        chosen = set(FEDERATION.ids) - {VICTIM, STRANGER}
        self.delivered = delivered
        self.server = EvilServer(FEDERATION, terms=TERMS, planted={VICTIM: chosen})
        self.server.advance_to(CHOICE)
        self.adverts = self.server.adverts
        self.corrupt, self.other = STRANGER if delivered else FEDERATION.ids[2], FEDERATION.ids[7]

    def begin(self, forged: dict[int, bytes]) -> EvilServer:
        """A round in which the victim was shown a roll with these advertisements on it."""
        server = self.server.fork()
        server.roll = server.make_roll(forged=forged)
        server.replies[CHOICE] = {VICTIM: server.ask(VICTIM, server.roll.encode())}
        return server

    def show(self, body: bytes, on_roll: bytes | None = None, who: int | None = None) -> tuple[EvilServer, bytes]:
        """Somebody's advertisement (the corrupt client's) as this, and on the roll as this or as another: the round,
        and the message in which the victim is shown it.
        """
        who = self.corrupt if who is None else who
        server = self.begin({who: body if on_roll is None else on_roll})
        bodies = {one: advert.body() for one, advert in self.adverts.items()}
        mine = {one: bodies[one] for one in server.graph[VICTIM]}
        if not self.delivered:
            return server, Neighbours(*server.mark, mine | {who: body}).encode()
        honest = mine if on_roll is None or who not in mine else mine | {who: on_roll}
        server.ask(VICTIM, Neighbours(*server.mark, honest).encode())
        del bodies[VICTIM]
        return server, deliver(server, bodies | {who: body})

    def check_accepted(self, body: bytes) -> None:
        server, message = self.show(body)
        assert server.trial(VICTIM, message)

    def check_refused(self, body: bytes, why: str, on_roll: bytes | None = None) -> None:
        server, message = self.show(body, on_roll)
        server.is_refused(VICTIM, message, why)

    def check_mask_key_refused(self, key: bytes, why: str) -> None:
        """When it is used: once it is said who shares."""
        server, message = self.show(self.server.advert(self.corrupt, FRESH[0], key))
        server.ask(VICTIM, message)
        if not self.delivered:
            server.ask(VICTIM, deliver(server, {}))
        everyone = set(FEDERATION.ids)
        server.is_refused(VICTIM, server.sharers(everyone), why)
        assert server.trial(VICTIM, server.sharers(everyone - {self.corrupt}))


def deliver(server: EvilServer, bodies: dict[int, bytes]) -> bytes:
    """From these come boxes, which do not open."""
    return Delivery(*server.mark, {one: append_box(body) for one, body in bodies.items()}).encode()


def append_box(body: bytes) -> bytes:
    return body_of(Parcel(keys_in(body), bytes(BOX), bytes(MARKS), bytes(VALUES), 0))

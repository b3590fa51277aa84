"""A client is shown the keys of others twice, after their fingerprints on the roll. Here the server has a corrupt
client sign whatever helps, and puts that on the roll.
"""

from folkmoot.secagg.keys import channel_pair, mask_pair
from folkmoot.secagg.messages import BOX, Delivery, Neighbours
from folkmoot.secagg.primitives import SEED
from tests.secagg.attacks.server_tricks import Coins, EvilServer
from tests.secagg.cohorts import Federation

FEDERATION, TERMS = Federation(12), (10, 6)  # each chooses ten of the eleven others
VICTIM = FEDERATION.ids[5]
FRESH = channel_pair(bytes(SEED))[1], mask_pair(bytes(SEED))[1]


class Place:
    """Where a client is shown a key: of a neighbour it chose, or of one that chose it and that it did not choose."""

    def __init__(self, delivered: bool) -> None:
        self.delivered, self.server = delivered, EvilServer(FEDERATION, terms=TERMS)
        self.server.up_to(2)
        self.adverts = self.server.adverts
        chosen = sorted(self.begun({}).graph[VICTIM])
        (stranger,) = set(FEDERATION.ids) - {VICTIM, *chosen}
        self.corrupt, self.other = stranger if delivered else chosen[2], chosen[6]

    def begun(self, forged: dict[int, bytes]) -> EvilServer:
        """A round in which the victim was shown a roll with these advertisements on it; its coins fall as always."""
        server = self.server.fork()
        server.coins[VICTIM], server.roll = Coins(1, VICTIM), server.rolled(forged=forged)
        server.replies[2] = {VICTIM: server.ask(VICTIM, server.roll.encode())}
        return server

    def shown(self, body: bytes, on_roll: bytes | None = None, who: int | None = None) -> tuple[EvilServer, bytes]:
        """Somebody's advertisement (the corrupt client's) as this, and on the roll as this or as another: the round,
        and the message in which the victim is shown it.
        """
        who = self.corrupt if who is None else who
        server = self.begun({who: body if on_roll is None else on_roll})
        bodies = {one: advert.body() for one, advert in self.adverts.items()}
        mine = {one: bodies[one] for one in server.graph[VICTIM]}
        if not self.delivered:
            return server, Neighbours(*server.mark, mine | {who: body}).encode()
        honest = mine if on_roll is None or who not in mine else mine | {who: on_roll}
        server.ask(VICTIM, Neighbours(*server.mark, honest).encode())
        del bodies[VICTIM]
        return server, delivered(server, bodies | {who: body})

    def takes(self, body: bytes) -> None:
        server, message = self.shown(body)
        assert server.trial(VICTIM, message)

    def refuses(self, body: bytes, why: str, on_roll: bytes | None = None) -> None:
        server, message = self.shown(body, on_roll)
        server.is_refused(VICTIM, message, why)

    def refuses_mask_key(self, key: bytes, why: str) -> None:
        """When it is used: that of a neighbour it chose one exchange after it is shown."""
        server, message = self.shown(self.server.advert(self.corrupt, FRESH[0], key))
        if not self.delivered:
            server.ask(VICTIM, message)
            message = delivered(server, {})
        server.is_refused(VICTIM, message, why)


def delivered(server: EvilServer, bodies: dict[int, bytes]) -> bytes:
    """All share, and from these come boxes, which do not open."""
    boxes = {one: body + bytes(BOX) for one, body in bodies.items()}
    return Delivery(*server.mark, server.bits(FEDERATION.ids), boxes).encode()

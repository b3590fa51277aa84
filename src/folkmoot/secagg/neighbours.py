"""Whom a client shares its secrets with: drawn by its own coins, and by nothing that it could still change."""

from folkmoot.secagg.messages import Roll
from folkmoot.secagg.primitives import expand
from folkmoot.secagg.wire import U64


def draw_neighbours(roll: Roll, client: int, state: bytes, seed: bytes) -> set[int]:
    """`degree` others at random, by the client's own coins, so that the server cannot choose for it (Floyd's sample).
    Nor can the client: it has committed to the seed, and the roll has the keys of all others in it.

    A 64-bit number modulo at most 2^22: none is likelier than it should be by a factor of more than 1 + 2^-42, so that
    what is unlikely stays so.
    """
    others = roll.ids[roll.ids != client]
    coins = expand(seed, U64.size * roll.degree, "choice", state)
    places: set[int] = set()
    tops = range(len(others) - roll.degree, len(others))
    for top, (coin,) in zip(tops, U64.iter_unpack(coins), strict=True):
        place = coin % (top + 1)
        places.add(top if place in places else place)
    return set(others[list(places)].tolist())

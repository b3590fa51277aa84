"""Whom a client shares its secrets with: drawn with its own coins, which it can no longer change."""

from folkmoot.secagg.messages import Roll
from folkmoot.secagg.primitives import expand
from folkmoot.secagg.wire import U64


def draw_neighbours(roll: Roll, client: int, state: bytes, seed: bytes) -> set[int]:
    """`degree` others at random, with the client's own coins, so that the server cannot choose them (Floyd's sampling).
    Nor can the client: it committed to the seed before it saw the roll.

    A 64-bit number modulo at most 2^22: no place is likelier than it should be by a factor of more than 1 + 2^-42, so
    that unlikely draws stay unlikely.
    """
    others = roll.ids[roll.ids != client]
    coins = expand(seed, U64.size * roll.degree, "choice", state)
    places: set[int] = set()
    tops = range(len(others) - roll.degree, len(others))
    for top, (coin,) in zip(tops, U64.iter_unpack(coins), strict=True):
        place = coin % (top + 1)
        places.add(top if place in places else place)
    return set(others[list(places)].tolist())

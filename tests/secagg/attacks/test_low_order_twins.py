"""Two keys that differ by a point of low order look different and agree on the same secret with everybody: X25519
multiplies by the cofactor. A corrupt client that advertises the twin of another's key would pass for it in whatever
goes by the secret alone. A client compares secrets, not keys; an honest server leaves the twin off the roll.
"""

from collections.abc import Callable

import pytest

from folkmoot.secagg.faults import Fault
from folkmoot.secagg.member import Policy
from folkmoot.secagg.messages import Advertisement, Roll
from folkmoot.secagg.primitives import ANY_KEY, FIELD, KEY, agree, public_of
from folkmoot.secagg.server import serve
from tests.secagg.attacks.keys_shown import FRESH, TERMS, VICTIM, Place, deliver
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import CHOICE, KEYS, Federation

Point = tuple[int, int]
A = 486662  # v² = u³ + A·u² + u
ROOT = pow(2, (FIELD - 1) // 4, FIELD)  # of −1
EIGHT = 325606250916557431795983626356110631294008115727848805560023387167927233504
LOW = "two keys differ only by a point of low order"


def find_point(u: int) -> Point:
    """One of the two points with this u."""
    square = (u * u * u + A * u * u + u) % FIELD
    v = pow(square, (FIELD + 3) // 8, FIELD)
    if v * v % FIELD != square:
        v = v * ROOT % FIELD
    assert v * v % FIELD == square, "on the twist"
    return u, v


def add_points(one: Point, other: Point) -> Point:
    """Of two that are not the same, nor each other's negative."""
    slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, FIELD) % FIELD
    u = (slope * slope - A - one[0] - other[0]) % FIELD
    return u, (slope * (one[0] - u) - one[1]) % FIELD


SMALL = {2: (0, 0), 4: find_point(1), 8: find_point(EIGHT)}  # points of these orders


def twin(key: bytes, order: int) -> bytes:
    u, _ = add_points(find_point(int.from_bytes(key, "little")), SMALL[order])
    return u.to_bytes(KEY, "little")


@pytest.fixture(scope="module", params=[False, True], ids=["chosen", "choosing"])
def place(request: pytest.FixtureRequest) -> Place:
    return Place(request.param)


orders = pytest.mark.parametrize("order", SMALL)


@orders
def test_twins_agree_on_the_same_with_everybody(order: int) -> None:
    for number in range(20):
        key = public_of(bytes([number] * KEY))
        other = twin(key, order)
        assert other != key
        for private in (ANY_KEY, bytes([7] * KEY), bytes(range(KEY))):
            assert agree(private, other) == agree(private, key) is not None
    if order == 2:  # whose sum with a point has the inverse of its u
        assert int.from_bytes(other, "little") * int.from_bytes(key, "little") % FIELD == 1


@orders
def test_a_client_refuses_twins_of_channel_keys(place: Place, order: int) -> None:
    """Among the neighbours it chose, and among those who chose it."""
    key = twin(place.adverts[place.other].channel_key, order)
    place.check_refused(place.server.advert(place.corrupt, key, FRESH[1]), LOW)


@orders
def test_a_client_refuses_twins_of_mask_keys(place: Place, order: int) -> None:
    place.check_mask_key_refused(twin(place.adverts[place.other].mask_key, order), LOW)


@orders
def test_a_twin_of_both_keys_of_one_client(place: Place, order: int) -> None:
    other = place.adverts[place.other]
    body = place.server.advert(place.corrupt, twin(other.channel_key, order), twin(other.mask_key, order))
    place.check_refused(body, LOW)


@orders
def test_a_twin_of_the_victims_own_key_is_bound_to_nobody_else(order: int) -> None:
    """The secret is one that the victim alone knows; and a box for another comes back as nothing."""
    place = Place(delivered=True)
    mine = place.adverts[VICTIM]
    body = place.server.advert(place.corrupt, twin(mine.channel_key, order), twin(mine.mask_key, order))
    server, message = place.show(body)
    _, reply = server.trial(VICTIM, message)
    assert place.corrupt in server.complaints(reply)


Forge = Callable[[dict[int, Advertisement], int, int], tuple[bytes, bytes]]
FORGED: dict[str, Forge] = {  # of adverts, somebody and an order: channel and mask key
    "another's channel key": lambda adverts, one, order: (twin(adverts[one].channel_key, order), FRESH[1]),
    "another's mask key": lambda adverts, one, order: (FRESH[0], twin(adverts[one].mask_key, order)),
    "crosswise": lambda adverts, one, order: (twin(adverts[one].mask_key, order), FRESH[1]),
    "its own": lambda _, __, order: (FRESH[0], twin(FRESH[0], order)),
    "the same key": lambda adverts, one, _: (adverts[one].channel_key, FRESH[1]),
    "one key for both": lambda _, __, ___: (FRESH[0], FRESH[0]),
}


@orders
@pytest.mark.parametrize("forge", FORGED)
def test_an_honest_server_leaves_twins_off_the_roll(order: int, forge: str) -> None:
    """And says so in the end, if nobody else can have made them; the round goes on without."""
    federation = Federation(12, policy=Policy(fewest=5, dropout=0.2))
    evil = EvilServer(federation, terms=TERMS)
    evil.advance_to(CHOICE)
    corrupt, other = federation.ids[9], federation.ids[2]
    body = evil.advert(corrupt, *FORGED[forge](evil.adverts, other, order))
    server = serve(federation.announcement, federation.roster, federation.ids, federation.policy)
    next(server)
    outbox = server.send(evil.replies[KEYS] | {corrupt: evil.read_body(corrupt, body).encode()})
    roll = Roll.decode(outbox[VICTIM])
    alone = forge in ("its own", "one key for both")  # else nobody can tell who copied whom
    assert set(roll.ids.tolist()) == set(federation.ids) - ({corrupt} if alone else {corrupt, other})
    try:
        while True:
            replies = {one: evil.ask(one, message) for one, message in outbox.items()}
            outbox = server.send(replies)
    except StopIteration as end:
        result = end.value
    assert result.excluded == ({corrupt: Fault.KEYS} if alone else {})
    federation.check(result)


@orders
def test_the_secret_is_the_same_but_not_what_follows_from_it(order: int) -> None:
    """Where a dealer's key is the twin of a neighbour's that deals nothing, the client does not see it. The secret is
    that neighbour's and nobody else's; and all keys that follow from it have the numbers of both clients in them.
    """
    place = Place(delivered=True)
    body = place.server.advert(place.corrupt, twin(place.adverts[place.other].channel_key, order), FRESH[1])
    server, _ = place.show(body)
    _, reply = server.trial(VICTIM, deliver(server, {place.corrupt: body}))
    assert server.complaints(reply).keys() == {place.corrupt}
    server.adverts = server.adverts | {place.corrupt: server.read_body(place.corrupt, body)}
    pairs = [(one, VICTIM) for one in (place.corrupt, place.other)]
    keys = [key for dealer, holder in pairs for key in server.edge(VICTIM, dealer, holder)]
    keys += [key for holder, dealer in pairs for key in server.edge(VICTIM, dealer, holder)]
    assert len(set(keys)) == 12

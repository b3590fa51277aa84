"""The server names clients twice, or clients that are not there: to be counted twice, to fill a roll with nobody, or to
have one client both alive and dead and so get both of its secrets. Lists have one order and no repetitions, survivors
are one bit a client, and every number must be one that the client knows from before.
"""

import pytest

from folkmoot.secagg.messages import SHARE, Consents, Delivery, Neighbours, Survivors, Unmasking
from folkmoot.secagg.primitives import SIGNATURE
from folkmoot.secagg.state import State
from folkmoot.secagg.wire import U32, Malformed
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import Federation

FEDERATION = Federation(20)  # four bits of a bitmap's last byte are nobody's
IDS, VICTIM = FEDERATION.ids, FEDERATION.ids[7]
UNKNOWN = 4  # between two clients' numbers
Entries = dict[int, bytes]


@pytest.fixture(scope="module")
def at() -> dict[int, EvilServer]:
    """By exchange: the same round when it has come to it."""
    found = {exchange: EvilServer(FEDERATION, terms=(18, 11)) for exchange in range(2, 7)}
    for exchange, server in found.items():
        server.up_to(exchange)
    return found


def listed(entries: list[tuple[int, bytes]]) -> bytes:
    """A list as no honest sender writes it."""
    return U32.pack(len(entries)) + b"".join(U32.pack(one) + data for one, data in entries)


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        (IDS[:8] + IDS[7:], "twice"),
        ([IDS[1], IDS[0], *IDS[2:]], "not in order"),
        (sorted([*IDS[:-1], UNKNOWN]), "not on the roster"),
        ([*IDS[:-1], 2**32 - 1], "not on the roster"),
        ([one for one in IDS if one != VICTIM], "lacks this client"),
    ],
)
def test_on_the_roll(at: dict[int, EvilServer], ids: list[int], why: str) -> None:
    server = at[2]
    server.is_refused(VICTIM, server.rolled(ids).encode(), why)
    assert server.trial(VICTIM, server.sent[2][VICTIM])


@pytest.mark.parametrize("exchange", [4, 5])
@pytest.mark.parametrize("bit", range(20, 24))
def test_bits_beyond_the_roll(at: dict[int, EvilServer], exchange: int, bit: int) -> None:
    server = at[exchange]
    honest, size = server.sent[exchange][VICTIM], len(Survivors(*server.mark, b"").encode())
    forged = bytearray(honest)
    forged[size + bit // 8] |= 1 << bit % 8
    server.is_refused(VICTIM, bytes(forged), "bitmap does not fit")
    server.is_refused(VICTIM, honest[:size] + honest[size + 1 :], "ends before|more entries|not in order")
    server.is_refused(
        VICTIM, honest[: size + 3] + b"\0" + honest[size + 3 :], "goes on after|more entries|not in order"
    )
    assert server.trial(VICTIM, honest)


@pytest.mark.parametrize("exchange", [3, 4, 6])
def test_in_lists(at: dict[int, EvilServer], exchange: int) -> None:
    """Neighbours, boxes, consents: somebody twice, in another order, too many, or from nowhere."""
    server, degree = at[exchange], at[exchange].roll.degree
    honest = server.sent[exchange][VICTIM]
    entries = {
        3: lambda: Neighbours.decode(honest, degree).adverts,
        4: lambda: Delivery.decode(honest, len(IDS)).boxes,
        6: lambda: Consents.decode(honest, degree, len(IDS)).signatures,
    }[exchange]()
    items = sorted(entries.items())
    tail = listed(sorted(Consents.decode(honest, degree, len(IDS)).owners.items())) if exchange == 6 else b""
    head = honest[: len(honest) - len(listed(items) + tail)]
    assert head + listed(items) + tail == honest
    assert server.trial(VICTIM, honest)
    server.is_refused(VICTIM, head + listed([items[0], *items[:-1]]) + tail, "twice")
    server.is_refused(VICTIM, head + listed(items[::-1]) + tail, "not in order")
    server.is_refused(VICTIM, head + listed([*items, *items]) + tail, "more entries")
    for strange in (UNKNOWN, VICTIM):
        replaced = sorted([*items[1:], (strange, items[0][1])])
        server.is_refused(VICTIM, head + listed(replaced) + tail, "not the neighbours|shares nothing|did not choose")


def test_neighbours_are_those_that_were_chosen(at: dict[int, EvilServer]) -> None:
    server = at[3]
    adverts = Neighbours.decode(server.sent[3][VICTIM], len(IDS)).adverts
    (other,) = set(IDS) - {VICTIM} - adverts.keys()
    one = min(adverts)
    fewer = {who: body for who, body in adverts.items() if who != one}
    for forged in (fewer, fewer | {other: server.adverts[other].body()}):
        server.is_refused(VICTIM, Neighbours(*server.mark, forged).encode(), "not the neighbours")


def test_consents_of_strangers_do_not_count(at: dict[int, EvilServer]) -> None:
    server = at[6]
    shown = Consents.decode(server.sent[6][VICTIM], len(IDS), len(IDS))
    few = dict(sorted(shown.signatures.items())[: server.roll.threshold - 1])
    server.is_refused(VICTIM, Consents(*server.mark, few, shown.owners).encode(), "neighbours signed")
    (other,) = set(IDS) - {VICTIM} - server.graph[VICTIM]
    signature = server.forged(other, IDS, IDS)
    assert len(signature) == SIGNATURE
    server.is_refused(VICTIM, Consents(*server.mark, few | {other: signature}, shown.owners).encode(), "did not choose")


def test_nobody_is_both_alive_and_dead(at: dict[int, EvilServer]) -> None:
    """Whatever the survivors, one share goes out for each owner, of the one kind or the other."""
    server = at[5].fork()
    alive = set(IDS[2:])
    given = server.views(dict.fromkeys(alive, alive), set(IDS), set())
    assert given.keys() == alive
    for holder, shares in given.items():
        both = State.decode(at[5].states[holder]).shares
        assert shares == {owner: both[owner][owner not in alive] for owner in both}
    twice = Unmasking(*server.mark, {}).encode()[: -U32.size] + listed([(3, bytes(SHARE)), (3, bytes(SHARE))])
    with pytest.raises(Malformed, match="twice"):
        Unmasking.decode(twice, len(IDS))

"""The server names clients twice, or clients that are not there: to be counted twice, to fill a roll with nobody, or to
have one client both alive and dead and so get both of its secrets. Lists have one order and no repetitions, survivors
are one bit a client, and every number must be one that the client knows from before.
"""

import pytest

from folkmoot.secagg.dealing import SHARE
from folkmoot.secagg.messages import HEAD, Accusations, Consents, Delivery, Neighbours, Unmasking
from folkmoot.secagg.primitives import SIGNATURE, TAG
from folkmoot.secagg.state import State
from folkmoot.secagg.wire import U32, Malformed
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import CHOICE, CONSENT, RECEIPT, REGULAR, SHARES, UNMASKING, VECTOR, Federation

FEDERATION = Federation(20)  # four bits of a bitmap's last byte are nobody's
IDS, VICTIM = FEDERATION.ids, FEDERATION.ids[7]
UNKNOWN = 4  # between two clients' numbers
Entries = dict[int, bytes]


@pytest.fixture(scope="module")
def at() -> dict[int, EvilServer]:
    """By exchange: the same round when it has come to it."""
    found = {exchange: EvilServer(FEDERATION, terms=(18, 11)) for exchange in REGULAR[1:]}
    for exchange, server in found.items():
        server.advance_to(exchange)
    return found


def write_list(entries: list[tuple[int, bytes]]) -> bytes:
    """A list as no honest sender writes it."""
    return U32.pack(len(entries)) + b"".join(U32.pack(one) + data for one, data in entries)


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        (IDS[:8] + IDS[7:], "twice"),
        ([IDS[1], IDS[0], *IDS[2:]], "not in order"),
        (sorted([*IDS[:-1], UNKNOWN]), "not on the roster"),
        ([*IDS[:-1], 2**32 - 1], "not on the roster"),
        ([one for one in IDS if one != VICTIM], "this client is not on the roll"),
    ],
)
def test_on_the_roll(at: dict[int, EvilServer], ids: list[int], why: str) -> None:
    server = at[CHOICE]
    server.is_refused(VICTIM, server.make_roll(ids).encode(), why)
    assert server.trial(VICTIM, server.sent[CHOICE][VICTIM])


@pytest.mark.parametrize("exchange", [VECTOR, CONSENT])
@pytest.mark.parametrize("bit", range(20, 24))
def test_bits_beyond_the_roll(at: dict[int, EvilServer], exchange: int, bit: int) -> None:
    server = at[exchange]
    honest, size = server.sent[exchange][VICTIM], HEAD
    forged = bytearray(honest)
    forged[size + bit // 8] |= 1 << bit % 8
    server.is_refused(VICTIM, bytes(forged), "bitmap does not match")
    server.is_refused(VICTIM, honest[:size] + honest[size + 1 :], "ends before|more entries|not in order")
    server.is_refused(
        VICTIM, honest[: size + 3] + b"\0" + honest[size + 3 :], "continues after|more entries|not in order"
    )
    assert server.trial(VICTIM, honest)


@pytest.mark.parametrize("exchange", [SHARES, RECEIPT, UNMASKING])
def test_in_lists(at: dict[int, EvilServer], exchange: int) -> None:
    """Neighbours, boxes, consents: somebody twice, in another order, too many, or from nowhere."""
    server, degree = at[exchange], at[exchange].roll.degree
    honest = server.sent[exchange][VICTIM]
    entries = {
        SHARES: lambda: Neighbours.decode(honest, degree).adverts,
        RECEIPT: lambda: Delivery.decode(honest, len(IDS)).dealt,
        UNMASKING: lambda: Consents.decode(honest, degree, len(IDS)).words,
    }[exchange]()
    items = sorted(entries.items())
    tail = (
        write_list(sorted(Consents.decode(honest, degree, len(IDS)).owners.items())) if exchange == UNMASKING else b""
    )
    head = honest[: len(honest) - len(write_list(items) + tail)]
    assert head + write_list(items) + tail == honest
    assert server.trial(VICTIM, honest)
    server.is_refused(VICTIM, head + write_list([items[0], *items[:-1]]) + tail, "twice")
    server.is_refused(VICTIM, head + write_list(items[::-1]) + tail, "not in order")
    server.is_refused(VICTIM, head + write_list([*items, *items]) + tail, "more entries")
    for strange in (UNKNOWN, VICTIM):
        replaced = sorted([*items[1:], (strange, items[0][1])])
        server.is_refused(
            VICTIM, head + write_list(replaced) + tail, "not the neighbours|not on the roll|did not choose"
        )


def test_neighbours_are_those_that_were_chosen(at: dict[int, EvilServer]) -> None:
    server = at[SHARES]
    adverts = Neighbours.decode(server.sent[SHARES][VICTIM], len(IDS)).adverts
    (other,) = set(IDS) - {VICTIM} - adverts.keys()
    one = min(adverts)
    fewer = {who: body for who, body in adverts.items() if who != one}
    for forged in (fewer, fewer | {other: server.adverts[other].body()}):
        server.is_refused(VICTIM, Neighbours(*server.mark, forged).encode(), "not the neighbours")


def test_consents_of_strangers_do_not_count(at: dict[int, EvilServer]) -> None:
    server = at[UNMASKING]
    shown = Consents.decode(server.sent[UNMASKING][VICTIM], len(IDS), len(IDS))
    few = dict(sorted(shown.words.items())[: server.roll.threshold - 1])
    server.is_refused(VICTIM, Consents(*server.mark, few, shown.owners).encode(), "neighbours vouch")
    (other,) = set(IDS) - {VICTIM} - server.graph[VICTIM]
    for word in (bytes(TAG), *shown.words.values()):
        strange = Consents(*server.mark, few | {other: word}, shown.owners)
        server.is_refused(VICTIM, strange.encode(), "did not choose")


def test_complaints_of_strangers_or_repeated(at: dict[int, EvilServer]) -> None:
    """As if they held a share: of somebody the victim did not choose, of nobody, of itself, or twice."""
    server = at[RECEIPT].fork()
    server.ask(VICTIM, server.sent[RECEIPT][VICTIM])
    (other,) = set(IDS) - {VICTIM} - server.graph[VICTIM]
    for strange in (other, UNKNOWN, VICTIM):
        server.is_refused(VICTIM, server.accusations({strange: bytes(SIGNATURE)}), "who holds no share")
    one = min(server.graph[VICTIM])
    head = Accusations(*server.mark, {}).encode()[: -U32.size]
    server.is_refused(VICTIM, head + write_list([(one, bytes(SIGNATURE))] * 2), "twice")
    server.is_refused(
        VICTIM,
        head + write_list([(max(one, other), bytes(SIGNATURE)), (min(one, other), bytes(SIGNATURE))]),
        "not in order",
    )
    everybody = [(who, bytes(SIGNATURE)) for who in IDS]
    server.is_refused(VICTIM, head + write_list(everybody), "more entries")


def test_nobody_is_both_alive_and_dead(at: dict[int, EvilServer]) -> None:
    """Whatever the survivors, one share goes out for each owner, of the one kind or the other."""
    server = at[CONSENT].fork()
    alive = set(IDS[2:])
    given = server.views(dict.fromkeys(alive, alive), set(IDS), set())
    assert given.keys() == alive
    for holder, shares in given.items():
        both = State.decode(at[CONSENT].states[holder]).shares
        assert shares == {owner: both[owner][owner not in alive] for owner in both}
    twice = Unmasking(*server.mark, {}).encode()[: -U32.size] + write_list([(3, bytes(SHARE)), (3, bytes(SHARE))])
    with pytest.raises(Malformed, match="twice"):
        Unmasking.decode(twice, len(IDS))

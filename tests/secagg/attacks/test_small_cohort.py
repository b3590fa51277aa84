"""The server gathers few clients around its victim, or gives it few neighbours, or lets few of them suffice: then its
own clients are enough to bring the victim's secrets back, or the sum is over hardly anybody. A client has a policy, and
computes from the roll what it needs: one client, neighbour or share less than that, and it stays away.
"""

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.secagg.faults import AggregationFailed
from folkmoot.secagg.member import Policy, Roster
from folkmoot.secagg.messages import Roll
from folkmoot.secagg.parameters import choose, is_safe
from folkmoot.secagg.server import serve
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import CONSENT, KEYS, VECTOR, Federation

FEDERATION = Federation(60)  # large enough for fewer neighbours than there are clients
IDS, VICTIM = FEDERATION.ids, FEDERATION.ids[0]


def announce(clients: int) -> EvilServer:
    """So many are said to be asked; the victim has given its keys."""
    server = EvilServer(FEDERATION, replace(FEDERATION.announcement, clients=clients))
    server.replies[KEYS] = {VICTIM: server.ask(VICTIM, server.announcement.encode())}
    return server


def roll(server: EvilServer, clients: int, degree: int | None = None, threshold: int | None = None) -> bytes:
    terms = choose(clients)
    return server.make_roll(IDS[:clients], degree or terms.degree, threshold or terms.threshold).encode()


@pytest.mark.parametrize("fewest", [0, 3, 5, 17])
def test_too_few_are_asked(fewest: int) -> None:
    federation = Federation(60, policy=Policy(fewest=fewest))
    least = max(fewest, 3)  # a sum of two is no secret to either
    for clients in (0, 1, least - 1):
        few = replace(federation.announcement, clients=clients)
        EvilServer(federation).is_refused(VICTIM, few.encode(), "clients are asked, too few to hide among")
    assert EvilServer(federation).trial(VICTIM, replace(federation.announcement, clients=least).encode())


def test_a_roster_of_its_own() -> None:
    """With one client more, whose identity the server made up, or with another key for somebody."""
    keys, server = dict(FEDERATION.roster.keys), EvilServer(FEDERATION)
    made_up = Ed25519PrivateKey.from_private_bytes(bytes([1] * 32)).public_key().public_bytes_raw()
    for forged in (Roster(keys | {1: made_up}), Roster(keys | {IDS[1]: made_up})):
        announcement = replace(FEDERATION.announcement, roster=forged.digest)
        server.is_refused(VICTIM, announcement.encode(), "another roster")
    assert server.trial(VICTIM, replace(FEDERATION.announcement, roster=Roster(keys).digest).encode())


@pytest.mark.parametrize(("asked", "least"), [(60, 54), (40, 36), (15, 14), (6, 6), (5, 5)])
def test_the_roll_shrinks_or_grows(asked: int, least: int) -> None:
    """Nine of ten that were asked must be there; nobody else."""
    server = announce(asked)
    for clients in range(least, asked + 1):
        terms = choose(clients, asked=asked)
        assert server.trial(VICTIM, roll(server, clients, terms.degree, terms.threshold))
    for clients in range(5, least):
        server.is_refused(VICTIM, roll(server, clients), "too few to hide among")
    if asked < len(IDS):
        server.is_refused(VICTIM, roll(server, asked + 1), "more clients than were announced")


@pytest.mark.parametrize("clients", [55, 60])
@pytest.mark.parametrize(("corrupt", "dropout"), [(0.1, 0.1), (0.05, 0.05), (0.2, 0.1)])
def test_degree_or_threshold_is_lowered(clients: int, corrupt: float, dropout: float) -> None:
    federation = Federation(60, policy=Policy(5, corrupt, dropout))
    server, terms = EvilServer(federation), choose(clients, corrupt=corrupt, dropout=dropout)
    server.announcement = replace(server.announcement, clients=clients)
    server.replies[KEYS] = {VICTIM: server.ask(VICTIM, server.announcement.encode())}
    assert server.trial(VICTIM, roll(server, clients, terms.degree, terms.threshold))
    server.is_refused(VICTIM, roll(server, clients, terms.degree, terms.threshold - 1), "too small")
    bad = int(corrupt * clients)
    for degree in range(2, clients, 3):  # thresholds that two sets of neighbours, with the corrupt in both, could reach
        for threshold in {1, (degree + 1) // 2, (degree + min(bad, degree)) // 2}:
            server.is_refused(VICTIM, roll(server, clients, degree, threshold), "too small")
        if degree <= bad:  # neighbours who may all be corrupt
            server.is_refused(VICTIM, roll(server, clients, degree, degree), "too small")


@pytest.mark.parametrize(("asked", "clients"), [(60, 54), (60, 57), (50, 49), (30, 29)])
def test_the_honest_are_left_off_the_roll(asked: int, clients: int) -> None:
    """The corrupt are all still there: they are a tenth of those announced, not of those on the roll."""
    server, bad = announce(asked), asked // 10
    every = [(degree, threshold) for degree in range(8, clients) for threshold in range(degree // 2, degree + 1)]
    enough = [terms for terms in every if is_safe(clients, *terms, bad)]
    nearly = [terms for terms in every if is_safe(clients, *terms, bad - 1) and terms not in enough]
    assert len(enough) > 3
    assert nearly
    for terms in nearly:
        server.is_refused(VICTIM, roll(server, clients, *terms), "too small")
    for terms in enough[::20]:
        assert server.trial(VICTIM, roll(server, clients, *terms))


@pytest.mark.parametrize("security", [1, 20, 40, 63])
def test_terms_of_less_security_are_not_enough(security: int) -> None:
    """The client computes with the bits that it wants itself."""
    server = announce(60)
    every = [(degree, threshold) for degree in range(2, 60) for threshold in range(1, degree + 1)]
    lower = [terms for terms in every if is_safe(60, *terms, 6, security) and not is_safe(60, *terms, 6)]
    assert lower
    for terms in lower:
        server.is_refused(VICTIM, roll(server, 60, *terms), "too small")


def test_terms_that_hold_against_a_curious_server_only() -> None:
    """Half of the neighbours and no more: two sets of them could give both secrets of one client."""
    server = announce(60)
    for degree in (30, 58, 59):
        for threshold in (degree // 2, degree // 2 + 3):
            server.is_refused(VICTIM, roll(server, 60, degree, threshold), "too small")


@pytest.mark.parametrize("fewest", [5, 12])
def test_the_sum_is_small(fewest: int) -> None:
    federation = Federation(16, policy=Policy(fewest=fewest))
    server = EvilServer(federation)
    server.advance_to(CONSENT)
    server.is_refused(VICTIM, server.survivors(IDS[:1]), "too few to hide among")
    server.is_refused(VICTIM, server.survivors(IDS[: fewest - 1]), "too few to hide among")
    assert server.trial(VICTIM, server.survivors(IDS[:fewest]))


@pytest.mark.parametrize("left", [7, 8])
def test_too_few_holders_of_its_shares_are_left(left: int) -> None:
    federation = Federation(16)
    server = EvilServer(federation, terms=(14, 8))
    server.advance_to(VECTOR)
    sharing = {VICTIM, *sorted(server.graph[VICTIM])[:left]}
    if left < 8:
        server.is_refused(VICTIM, server.sharers(sharing), "too few of the neighbours")
    else:
        assert server.trial(VICTIM, server.sharers(sharing))


def test_an_honest_server_goes_by_those_who_were_asked() -> None:
    """Six of sixty are silent: those that are left take its terms, which bear as many corrupt clients as before."""
    evil, server = EvilServer(FEDERATION), serve(FEDERATION.announcement, FEDERATION.roster, IDS, FEDERATION.policy)
    rolls = server.send({one: evil.ask(one, message) for one, message in sorted(next(server).items())[:54]})
    told, terms = Roll.decode(rolls[VICTIM]), choose(54, asked=60)
    assert (told.degree, told.threshold) == (terms.degree, terms.threshold)
    assert evil.trial(VICTIM, rolls[VICTIM])


def test_an_honest_server_ends_a_round_that_bears_too_little() -> None:
    federation = Federation(12, policy=Policy(3, corrupt=0.4, dropout=0.4))
    evil, server = (
        EvilServer(federation),
        serve(federation.announcement, federation.roster, federation.ids, federation.policy),
    )
    with pytest.raises(AggregationFailed, match="too few to withstand"):
        server.send({one: evil.ask(one, message) for one, message in next(server).items()})

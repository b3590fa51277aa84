"""A client draws its neighbours by its own coins, and the server sees which. It breaks the round off and begins
another, in a session that nobody else needs to know of, until all neighbours are its own: twenty tries where one in
twenty draws is to its liking. A client counts the rounds that were broken off, over all sessions, and then takes part
in no more, but for one for each round that it is forgiven.
"""

from dataclasses import replace

import pytest

from folkmoot.secagg.client import Refused
from folkmoot.secagg.ledger import Ledger
from folkmoot.secagg.member import Policy
from folkmoot.secagg.messages import Announcement
from folkmoot.secagg.state import State
from tests.secagg.attacks.server_tricks import Coins, EvilServer
from tests.secagg.cohorts import CHOICE, CONSENT, REGULAR, SHARES, UNMASKING, VECTOR, Federation

LIMIT = 4
FEDERATION, TERMS = Federation(12, policy=Policy(fewest=5, unfinished=LIMIT)), (8, 6)
VICTIM, *OTHERS = FEDERATION.ids
WANTED = set(OTHERS[2:])  # that all eight are among these nine has a chance of 9 / 165
BROKEN = "rounds were broken off"


def session(number: int) -> Announcement:
    """A question of its own in a session of its own."""
    return replace(FEDERATION.announcement, session=bytes([number] * 16), question=bytes([number] * 32))


class Grinding:
    """The victim alone; what the server says of the others it makes up: they need not know."""

    def __init__(self, state: bytes = b"") -> None:
        self.states = dict.fromkeys(FEDERATION.ids, b"") | {VICTIM: state}
        self.draws = list[set[int]]()

    def draw(self) -> set[int]:
        """One more round, up to the choice."""
        number = len(self.draws) + 1
        server = EvilServer(FEDERATION, session(number), self.states, seed=number, terms=TERMS)
        for one in OTHERS:
            server.states[one] = b""
        outbox = server.advance_to(CHOICE)
        server.replies[CHOICE] = {VICTIM: server.ask(VICTIM, outbox[VICTIM])}
        self.states = server.states
        self.draws.append(server.graph[VICTIM])
        return server.graph[VICTIM]

    def grind(self, tries: int) -> bool:
        """Whether the victim's neighbours are all to the server's liking in the end."""
        return any(self.draw() <= WANTED for _ in range(tries))

    def grind_fully(self) -> None:
        """To whatever end."""
        while True:
            self.draw()

    @property
    def ledger(self) -> Ledger:
        return State.decode(self.states[VICTIM]).record


def test_a_client_that_does_not_count_is_ground(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "excess", 0)
    grinding = Grinding()
    assert grinding.grind(200)
    assert len(grinding.draws) > LIMIT


def test_one_that_counts_is_not() -> None:
    grinding = Grinding()
    with pytest.raises(Refused, match=f"{LIMIT} {BROKEN} and only 0 finished"):
        grinding.grind(200)
    assert len(grinding.draws) == LIMIT
    assert grinding.ledger.excess == LIMIT
    for number in range(100, 110):  # in no session, however the server calls it
        server = EvilServer(FEDERATION, states=grinding.states)
        server.is_refused(VICTIM, session(number).encode(), BROKEN)
        server.is_refused(VICTIM, replace(session(1), round=number).encode(), BROKEN)


def test_the_count_is_in_what_is_stored() -> None:
    """A client that is started again from its stored state counts on."""
    states = [b""]
    for _ in range(LIMIT):
        grinding = Grinding(states[-1])
        grinding.draw()
        states.append(grinding.states[VICTIM])
        if len(states) <= LIMIT:  # a session between, in which it draws nothing
            server = EvilServer(FEDERATION, session(200 + len(states)), {VICTIM: states[-1]})
            server.ask(VICTIM, server.announcement.encode())
            states[-1] = server.states[VICTIM]
    assert State.decode(states[-1]).record.begun == LIMIT
    EvilServer(FEDERATION, states={VICTIM: states[-1]}).is_refused(VICTIM, session(99).encode(), BROKEN)


def test_announcements_and_rolls_that_it_refuses_show_no_neighbours_and_do_not_count() -> None:
    """Else anybody could send a client away with nothing."""
    server = EvilServer(FEDERATION, session(1), terms=TERMS)
    server.advance_to(CHOICE)
    for number in range(2, 5 * LIMIT):
        server.ask(VICTIM, session(number).encode())
    server.announcement = session(5 * LIMIT - 1)
    server.mark = server.announcement.session, server.announcement.round
    server.is_refused(VICTIM, server.make_roll().encode(), "other keys for this client")
    assert State.decode(server.states[VICTIM]).record == Ledger()


@pytest.mark.parametrize("exchange", [SHARES, VECTOR, CONSENT, UNMASKING])
def test_wherever_a_round_is_broken_off_it_counts_once(exchange: int) -> None:
    states = dict.fromkeys(FEDERATION.ids, b"")
    for number in range(1, LIMIT + 1):
        server = EvilServer(FEDERATION, session(number), states, seed=number, terms=TERMS)
        server.advance_to(exchange)
        states = server.states
        assert State.decode(states[VICTIM]).record.excess == number
    EvilServer(FEDERATION, states=states).is_refused(VICTIM, session(99).encode(), BROKEN)


def test_finished_rounds_earn_back() -> None:
    """Two rounds to the end, and two more may be broken off."""
    states = dict.fromkeys(FEDERATION.ids, b"")
    for number in (201, 202):
        server = EvilServer(FEDERATION, session(number), states, seed=number, terms=TERMS)
        for one, message in server.advance_to(UNMASKING).items():
            server.ask(one, message)
        states = server.states
    record = State.decode(states[VICTIM]).record
    assert (record.begun, record.finished, record.excess) == (2, 2, -2)
    grinding = Grinding(states[VICTIM])
    with pytest.raises(Refused, match=f"{LIMIT + 2} {BROKEN} and only 2 finished"):
        grinding.grind_fully()
    assert len(grinding.draws) == LIMIT + 2


def test_a_round_that_is_forgiven_is_one_more_draw() -> None:
    """Whatever the client has stored of the round in which it was locked out."""
    grinding = Grinding()
    with pytest.raises(Refused, match=BROKEN):
        grinding.grind_fully()
    for forgiven in range(1, 4):
        state = State.decode(grinding.states[VICTIM])
        grinding.states[VICTIM] = replace(state, ledger=grinding.ledger.forgive(1).encode()).encode()
        with pytest.raises(Refused, match=BROKEN):
            grinding.grind_fully()
        assert len(grinding.draws) == LIMIT + forgiven


def test_a_round_is_finished_only_with_its_last_answer() -> None:
    """Refused at the end, the round counts as broken off."""
    server = EvilServer(FEDERATION, session(1), terms=TERMS)
    server.advance_to(UNMASKING)
    server.is_refused(VICTIM, server.consents(VICTIM, {}), "0 neighbours vouch")
    assert State.decode(server.states[VICTIM]).record.finished == 0
    server.ask(VICTIM, server.sent[UNMASKING][VICTIM])
    assert State.decode(server.states[VICTIM]).record.finished == 1


def test_within_a_round_the_choice_is_made_once() -> None:
    """The roll follows from the server; the choice from the client's seed and the roll. No second roll is looked at."""
    server = EvilServer(FEDERATION, terms=TERMS)
    server.advance_to(CHOICE)
    rolls = [server.make_roll(threshold=threshold).encode() for threshold in (6, 7, 8)]
    choices = {server.trial(VICTIM, roll)[1] for roll in rolls}
    assert len(choices) == 3  # coins fall otherwise for each
    assert server.trial(VICTIM, rolls[0]) == server.trial(VICTIM, rolls[0])
    server.ask(VICTIM, rolls[0])
    for roll in rolls:
        server.is_refused(VICTIM, roll, "another kind")


def test_coins_of_the_server_play_no_part() -> None:
    """Neighbours are spread evenly: 300 draws, a chi-square of 10 degrees of freedom below its quantile of 1 - 1e-9
    (coins are fixed: the same every time).
    """
    counts, server = dict.fromkeys(OTHERS, 0), EvilServer(FEDERATION, terms=TERMS)
    server.advance_to(CHOICE)
    for number in range(300):
        again = EvilServer(FEDERATION, terms=TERMS)
        again.coins[VICTIM] = Coins(number)
        again.replies[REGULAR[0]] = server.replies[REGULAR[0]] | {
            VICTIM: again.ask(VICTIM, again.announcement.encode())
        }
        again.sent[CHOICE] = again.compose(CHOICE)
        again.replies[CHOICE] = {VICTIM: again.ask(VICTIM, again.sent[CHOICE][VICTIM])}
        for one in again.graph[VICTIM]:
            counts[one] += 1
    expected = 300 * 8 / 11
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 64

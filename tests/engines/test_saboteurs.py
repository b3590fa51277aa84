"""Parties that lie inside secure aggregation: who is caught is named and never asked again, and nobody pays twice."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.engines import Bundle, PartyPolicy, PooledParty
from folkmoot.engines.memory_store import MemoryStore
from folkmoot.foundation.errors import RoundFailed
from folkmoot.privacy.accounting import Privacy
from folkmoot.secagg import client
from folkmoot.secagg.dealing import Dealing, count_coins, deal
from folkmoot.secagg.faults import Fault
from folkmoot.secagg.keys import mask_seed
from folkmoot.secagg.messages import (
    Announcement,
    Consents,
    Delivery,
    Neighbours,
    Roll,
    Sharers,
    Survivors,
    Unmasking,
    kind_of,
)
from folkmoot.secagg.state import State
from tests.engines.crowds import crowd, gradient
from tests.engines.pools import CLIENTS, ITEMS, TERMS, VICTIM, ask_all, make_engine, make_parties

AGAIN = PartyPolicy(TERMS, again=True)
LIAR = VICTIM
Twist = Callable[[PooledParty, Bundle], Bundle]


class Twisted:
    """A party that replies as it likes; `asked` counts the questions that reach it."""

    def __init__(self, party: PooledParty, twist: Twist) -> None:
        self.party, self.twist, self.asked = party, twist, 0

    def reply(self, sent: Bundle) -> Bundle:
        self.asked += bool(sent.question)
        return self.twist(self.party, sent)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.party, name)


def deal_another_secret(party: PooledParty, sent: Bundle) -> Bundle:
    """Shares that fit in every way that can be looked at, of a secret that is not its own."""

    def another(now: State, holders: int) -> Dealing:
        coins = np.random.default_rng(7).bytes(count_coins(now.threshold))
        return deal(sha256(now.seed).digest(), mask_seed(now.seed), holders, now.threshold, coins)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "deal_shares", another)
        return party.reply(sent)


def return_wrong_shares(party: PooledParty, sent: Bundle) -> Bundle:
    """At the end, shares other than those that were dealt; whoever carries the message could do the same."""
    reply = party.reply(sent)
    letters = dict(reply.letters)
    for one, letter in letters.items():
        if kind_of(letter) == Unmasking.kind:
            said = Unmasking.decode(letter, 100)
            letters[one] = type(said)(
                said.session, said.round, {who: bytes(len(of)) for who, of in said.shares.items()}
            ).encode()
    return Bundle(letters)


def garble(kind: int, up: bool, rng: np.random.Generator) -> Twist:
    """A relay that changes a few bytes of what a party sends, or is sent: of the message of this kind, or the one that
    replies to it.
    """

    def change(box: Bundle) -> Bundle:
        letters = {one: bytearray(letter) for one, letter in box.letters.items()}
        for letter in letters.values():
            first = int(rng.integers(len(letter)))
            letter[first : first + 20] = rng.bytes(len(letter[first : first + 20]))
        return Bundle({one: bytes(letter) for one, letter in letters.items()})

    def carry(party: PooledParty, sent: Bundle) -> Bundle:
        if sent.question or kind not in map(kind_of, sent.letters.values()):
            return party.reply(sent)
        return change(party.reply(sent)) if up else party.reply(change(sent))

    return carry


def twist(parties: dict[int, PooledParty], how: Twist, *liars: int) -> dict[int, Any]:
    return {one: Twisted(party, how) if one in liars else party for one, party in parties.items()}


def without_liar(result: fm.Result) -> bool:
    return all(one.made is None or LIAR not in (one.made.parties or ()) for one in result.rounds or ())


def test_an_exact_run_goes_on_without_the_party_that_is_caught(tmp_path: Path) -> None:
    """Everyone was asked, and nobody else could be asked instead: without this, the run would stop."""
    parties = twist(make_parties(crowd(CLIENTS), AGAIN), deal_another_secret, LIAR)
    result = fm.solve(None, 3, fm.Auto(), engine=make_engine(parties, run=b"one"), transcript=tmp_path / "run")
    assert result.excluded == {LIAR: Fault.SECRET}
    assert f"Party {LIAR} dealt shares" in str(result)  # not the client of that number, who did nothing
    assert parties[LIAR].asked == 1
    assert without_liar(result)
    assert [bool(one.excluded) for one in result.rounds or ()].count(True) == 1
    assert fm.Result.from_json(result.to_json()) == result
    assert fm.verify(tmp_path / "run") == result


def test_strict_parties_answer_once_and_the_run_says_who_it_was() -> None:
    parties = twist(make_parties(crowd(CLIENTS)), deal_another_secret, LIAR)
    with pytest.raises(RoundFailed, match=f"number {LIAR} dealt shares of a secret that is not its own"):
        fm.solve(None, 3, fm.Auto(), engine=make_engine(parties))


@pytest.mark.parametrize("liars", [(LIAR,), (0, 1)])
def test_noise_is_paid_for_at_most_once_per_liar(liars: tuple[int, ...]) -> None:
    """Otherwise three rounds are paid for, which is 76 % of every honest client's budget, and there is no answer."""
    parties = twist(make_parties(crowd(CLIENTS, most=5.0), AGAIN), deal_another_secret, *liars)
    method = fm.PrivateGreedy(epsilon=40.0)
    if len(liars) > 1:  # more than may be gone
        with pytest.raises(RoundFailed, match=r"number 0 dealt shares .*; number 1 dealt shares"):
            fm.solve(None, 3, method, engine=make_engine(parties))
        assert sum(entry.mu > 0 for entry in parties[3].ledger) == 1
        return
    result = fm.solve(None, 3, method, engine=make_engine(parties))
    assert result.excluded == {LIAR: Fault.SECRET}
    assert result.privacy is not None
    assert [one.lost for one in result.privacy.spendings].count(True) == 1
    assert result.privacy.spent <= result.privacy.mu * (1 + 1e-9)
    assert parties[LIAR].asked == 1


@pytest.mark.parametrize("method", [fm.Auto(), fm.PrivateGreedy(epsilon=40.0)], ids=repr)
def test_what_a_relay_could_have_done_is_told_apart_and_stops_the_run(method: fm.Federated) -> None:
    """Three parties that return wrong shares end a round; nobody can tell whether they or a relay did it."""
    parties = twist(make_parties(crowd(CLIENTS, most=5.0), AGAIN), return_wrong_shares, 0, 1, 2)
    with pytest.raises(RoundFailed, match=r"number 1 returned a share .* \(or whoever carries its messages"):
        fm.solve(None, 3, method, engine=make_engine(parties))
    assert parties[0].asked == 1
    assert len({entry.round for entry in parties[3].ledger}) == 1


def test_a_run_that_was_stopped_is_resumed_once_messages_are_right(tmp_path: Path) -> None:
    """It says so; the stored round must not stop it a second time. What was paid for that round stays paid."""
    parties = twist(make_parties(crowd(CLIENTS, most=5.0), AGAIN), return_wrong_shares, 0, 1, 2)
    method = fm.PrivateGreedy(epsilon=40.0)
    with pytest.raises(RoundFailed, match="a stored run can be resumed"):
        fm.solve(None, 3, method, engine=make_engine(parties, run=b"one"), transcript=tmp_path / "run")
    for one in (0, 1, 2):
        parties[one].twist = PooledParty.reply
    account = fm.resume(tmp_path / "run", engine=make_engine(parties, run=b"one")).privacy
    assert account is not None
    assert [one.lost for one in account.spendings] == [True, *[False] * (len(account.spendings) - 1)]
    assert account.spent <= account.mu * (1 + 1e-9)


@pytest.mark.parametrize("up", [True, False], ids=["replies", "messages"])
def test_no_relay_can_have_an_honest_party_caught(up: bool) -> None:
    """Whatever it changes: the party may be suspected, or missing, and is asked again."""
    rng, suspected, clients = np.random.default_rng(up), set[Fault](), crowd(CLIENTS)
    for kind in (
        Announcement.kind,
        Roll.kind,
        Neighbours.kind,
        Delivery.kind,
        Sharers.kind,
        Survivors.kind,
        Consents.kind,
    ):
        for _ in range(5):
            said = make_engine(twist(make_parties(clients), garble(kind, up, rng), LIAR))(ask_all(gradient(ITEMS)))
            assert not said.caught
            assert not said.lost
            suspected |= set(said.excluded.values())
    assert suspected >= ({Fault.UNSIGNED, Fault.CHOICE, Fault.DEALING, Fault.SHARE} if up else set())


def test_a_wrong_share_that_is_borne_is_in_the_result(tmp_path: Path) -> None:
    parties = twist(make_parties(crowd(CLIENTS), AGAIN), return_wrong_shares, LIAR)
    engine = make_engine(parties)
    result = fm.solve(None, 3, fm.Auto(), engine=engine, transcript=tmp_path / "run")
    assert result.excluded == {LIAR: Fault.SHARE}
    assert parties[LIAR].asked == len(result.rounds or ())  # not certain, so it is asked again
    assert fm.verify(tmp_path / "run").excluded == result.excluded


class Dying(Exception):
    pass


def test_another_process_does_not_ask_who_was_caught(tmp_path: Path) -> None:
    clients = crowd(CLIENTS)
    parties = twist(make_parties(clients, AGAIN), deal_another_secret, LIAR)
    engine, lost = make_engine(parties, run=b"one"), list[Sum]()
    add_up = engine.add_up

    def die_later(ask: Ask, control: Any) -> Sum:
        if lost:
            raise Dying
        said = add_up(ask, control)
        lost.extend([said] * said.lost)
        return said

    engine.add_up = die_later  # type: ignore[method-assign]
    with pytest.raises(Dying):
        fm.solve(None, 3, fm.Auto(), engine=engine, transcript=tmp_path / "run")
    result = fm.resume(tmp_path / "run", engine=make_engine(parties, run=b"one"))
    assert parties[LIAR].asked == 1
    assert result.excluded == {LIAR: Fault.SECRET}


def test_budgets_are_charged_for_one_lost_round() -> None:
    policy = PartyPolicy(TERMS, again=True, budget=Privacy(60.0, 1e-5))
    stores = {number: MemoryStore() for number in range(5)}
    parties = twist(make_parties(crowd(CLIENTS, most=5.0), policy, stores.__getitem__), deal_another_secret, LIAR)
    result = fm.solve(None, 3, fm.PrivateGreedy(epsilon=20.0, delta=1e-5), engine=make_engine(parties))
    assert result.privacy is not None
    paid = sum(one.mu**2 for one in result.privacy.spendings)
    assert stores[0].read_mileage().largest[0] == pytest.approx(paid)
    assert without_liar(result)


def test_unusable_keys_are_signed_so_their_owner_is_asked_once() -> None:
    """A point of low order in place of both keys: everybody knows what is agreed with it."""

    def advertise_nothing(party: PooledParty, sent: Bundle) -> Bundle:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(client, "public_of", lambda _: bytes(32))
            return party.reply(sent)

    parties = twist(make_parties(crowd(CLIENTS), AGAIN), advertise_nothing, LIAR)
    result = fm.solve(None, 3, fm.Auto(), engine=make_engine(parties))
    assert result.excluded == {LIAR: Fault.KEYS}
    assert parties[LIAR].asked == 1
    assert not any(one.answered == 0 for one in result.rounds or ())  # it was left off the roll, and nothing was lost

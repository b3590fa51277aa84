"""The server announces a round, then one of another session, then the first again, word for word; or it finds clients
that lost their state. It gathers consents to many survivor sets, and keys whose seeds it learnt the last time, from
clients that each behaved well in each run: and would bring out with these the vector of one client alone. What stops
it: a client answers a question once; and where it forgot that it did, everybody's fresh keys are on the roll, all that
is sealed or masked is bound to the roll, and neighbours vouch for things under keys that are as fresh.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from folkmoot.secagg import client, messages, work
from folkmoot.secagg.client import Refused
from folkmoot.secagg.keys import FINGERPRINT, mask_seed
from folkmoot.secagg.ledger import Ledger
from folkmoot.secagg.messages import Neighbours
from folkmoot.secagg.primitives import tag
from folkmoot.secagg.state import State
from tests.secagg.attacks import server_tricks
from tests.secagg.attacks.server_tricks import EvilServer, Shares, Words
from tests.secagg.cohorts import CHOICE, CONSENT, SHARES, VECTOR, Federation, Vector

FEDERATION, ALL = Federation(11), (10, 6)  # all are neighbours of all
CORRUPT, VICTIM, *REST = FEDERATION.ids
SPENT, FRESH, EVERYONE = set(REST[:4]), REST[4:], set(FEDERATION.ids)
VIEWS = {one: {CORRUPT, VICTIM, one} | SPENT for one in FRESH}  # each has but one of `FRESH` in it
Stale = Callable[[int], set[int]]  # of a client: those whose keys are of the first run, as it is told


def nobody(_: int) -> set[int]:
    return set()


def everybody(_: int) -> set[int]:
    return EVERYONE


def all_others(one: int) -> set[int]:
    return EVERYONE - {one}


def spent_clients(one: int) -> set[int]:
    """Those whose seeds are known; they themselves find their fresh keys."""
    return SPENT - {one}


def spent_to_the_victim(one: int) -> set[int]:
    return SPENT if one == VICTIM else set()


def join_another_session(states: dict[int, bytes], number: int) -> dict[int, bytes]:
    """Into a round of another session, and out of it at once."""
    between = replace(FEDERATION.announcement, session=bytes(16), round=number, question=bytes([1] * 32))
    other = EvilServer(FEDERATION, between, states)
    other.advance_to(CHOICE)
    return other.states


def forget_states(states: dict[int, bytes], _: int) -> dict[int, bytes]:
    return dict.fromkeys(states, b"")


Between = Callable[[dict[int, bytes], int], dict[int, bytes]]


@dataclass(frozen=True)
class Hopping:
    """What happens between two runs, and whose old keys a client is shown: on the roll, and then for neighbours."""

    between: Between
    on_roll: Stale
    shown: Stale

    def run(self, first: EvilServer, states: dict[int, bytes], number: int) -> EvilServer:
        """The first run announced once more, up to the masked vectors."""
        run = EvilServer(FEDERATION, states=self.between(states, number), seed=number, terms=ALL)
        run.advance_to(CHOICE)

        def bodies(stale: set[int]) -> dict[int, bytes]:
            return {one: (first if one in stale else run).adverts[one].body() for one in FEDERATION.ids}

        rolls = {one: run.make_roll(forged=bodies(self.on_roll(one))).encode() for one in FEDERATION.ids}
        run.replies[CHOICE] = {one: run.ask(one, roll) for one, roll in rolls.items()}
        for one in FEDERATION.ids:
            adverts = {other: body for other, body in bodies(self.shown(one)).items() if other in run.graph[one]}
            run.replies.setdefault(SHARES, {})[one] = run.ask(one, Neighbours(*run.mark, adverts).encode())
        for one in FEDERATION.ids:  # a box under keys that its receiver was not shown is not sent
            for other in self.shown(one):
                run.dealers[other].sealed.pop(one, None)
        for one in FEDERATION.ids:
            run.ask(one, run.delivery(one, EVERYONE))
        for one in FEDERATION.ids:
            run.ask(one, run.sharers(EVERYONE))
        return run

    def vector_of_one(self) -> Vector:
        """The attack; Refused where a client sees through it."""
        first = EvilServer(FEDERATION, terms=ALL)
        first.advance_to(CONSENT)
        gone = first.views(dict.fromkeys([VICTIM, *FRESH], EVERYONE - SPENT), EVERYONE, {CORRUPT})
        known = first.recovery(gone | first.held_shares([CORRUPT], 1))
        seeds = {one: known.mask_seed(one) for one in SPENT}  # of keys that the victim will be shown once more

        states, spoken = first.states, dict[int, Words]()
        for number, (one, view) in enumerate(VIEWS.items(), start=1):
            run = replace(self, shown=self.on_roll).run(first, states, number)
            asked = {two: run.consent_of(run.ask(two, run.survivors(view))) for two in view - {CORRUPT}}
            spoken[one], states = asked | {CORRUPT: run.forge_consents(CORRUPT, EVERYONE, view)}, run.states

        last = self.run(first, states, 99)
        given: Shares = {}
        dead: Shares = {}
        for one, told in (dict(zip(FRESH, FRESH, strict=True)) | dict(zip(SPENT, FRESH, strict=False))).items():
            last.ask(one, last.survivors(VIEWS[told]))
            given[one] = last.read_shares(last.ask(one, last.consents(one, spoken[told])))
            dead[one] = {owner: share for owner, share in given[one].items() if owner not in VIEWS[told]}
        own = last.recovery(given | last.held_shares([CORRUPT], 0)).own_seed(VICTIM)
        mask_seed_of = last.recovery(dead | last.held_shares([CORRUPT], 1)).mask_seed
        seeds |= {one: mask_seed_of(one) for one in FRESH} | {CORRUPT: mask_seed(last.seed(CORRUPT))}
        return last.expose({VICTIM: last.masked[VICTIM]}, last.sharers_hash(EVERYONE), {VICTIM: own}, seeds)


@pytest.fixture(params=[join_another_session, forget_states], ids=["session between", "state lost"])
def between(request: pytest.FixtureRequest) -> Between:
    found: Between = request.param
    return found


@pytest.mark.parametrize(
    ("on_roll", "shown", "why"),
    [
        (nobody, nobody, "0 neighbours vouch"),
        (nobody, spent_to_the_victim, "does not match the roll"),
        (spent_to_the_victim, spent_to_the_victim, "0 neighbours vouch"),
        (spent_clients, spent_clients, "0 neighbours vouch"),
        (spent_clients, nobody, "does not match the roll"),
        (all_others, all_others, "0 neighbours vouch"),
        (all_others, nobody, "does not match the roll"),
        (everybody, spent_to_the_victim, "other keys for this client"),
    ],
)
def test_no_vector_comes_out_alone(
    between: Between, on_roll: Stale, shown: Stale, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if between is join_another_session:
        with pytest.raises(Refused, match="has already answered this question"):
            Hopping(between, on_roll, shown).vector_of_one()
    disable_memory(monkeypatch)
    with pytest.raises(Refused, match=why):
        Hopping(between, on_roll, shown).vector_of_one()


def disable_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients do not know what they have answered."""
    monkeypatch.setattr(Ledger, "has_answered", lambda *_: False)


@pytest.mark.parametrize("keyless", [False, True])
def test_it_would_with_rolls_that_look_alike_and_words_without_keys(
    between: Between, keyless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same program, with fingerprints that say nothing. Then only the keys are left that neighbours vouch under,
    and without these nothing.
    """
    disable_memory(monkeypatch)
    for module, name in ((work, "fingerprint"), (client, "fingerprint"), (messages, "fingerprint_of")):
        monkeypatch.setattr(module, name, lambda *_: bytes(FINGERPRINT))
    if not keyless:
        with pytest.raises(Refused, match=r"[01] neighbours vouch"):
            Hopping(between, nobody, spent_to_the_victim).vector_of_one()
        return
    for module in (client, server_tricks):
        monkeypatch.setattr(module, "tag", lambda _, about: tag(bytes(16), about))
    vector = Hopping(between, nobody, spent_to_the_victim).vector_of_one()
    assert (vector == FEDERATION.vector(VICTIM)).all()


def test_the_same_announcement_is_a_new_round(between: Between) -> None:
    """After another session, or with nothing remembered, it is answered: with fresh keys, and what is old is gone."""
    server = EvilServer(FEDERATION, terms=ALL)
    server.advance_to(VECTOR)  # nobody has masked anything
    if between is join_another_session:
        server.is_refused(VICTIM, FEDERATION.announcement.encode(), "keys are used up")
    again = EvilServer(FEDERATION, states=between(server.states, 1), seed=1, terms=ALL)
    again.advance_to(CHOICE)
    for one in FEDERATION.ids:
        old, new = server.adverts[one], again.adverts[one]
        assert {old.channel_key, old.mask_key, old.commitment}.isdisjoint(
            {new.channel_key, new.mask_key, new.commitment}
        )
        again.is_refused(one, server.sent[CHOICE][one], "other keys for this client")
        assert again.trial(one, again.sent[CHOICE][one])


def test_one_waits_while_the_others_begin_again(between: Between) -> None:
    """Its keys are fresh on the rolls of three runs. It takes one of them; and in each of the others those who hold
    its boxes hold nothing.
    """
    waiting = EvilServer(FEDERATION, terms=ALL)
    waiting.advance_to(CHOICE)
    runs, states = list[EvilServer](), waiting.states
    for number in range(3):
        run = EvilServer(FEDERATION, states=between(states, number), seed=number + 1, terms=ALL)
        run.advance_to(CHOICE)
        states = run.states
        run.adverts[VICTIM], run.states[VICTIM] = waiting.adverts[VICTIM], waiting.states[VICTIM]
        run.roll = run.make_roll()
        run.replies[CHOICE] = {one: run.ask(one, run.roll.encode()) for one in FEDERATION.ids}
        run.replies[SHARES] = {one: run.ask(one, run.neighbours(one)) for one in FEDERATION.ids}
        runs.append(run)
    for run in runs:
        for taken in runs:
            taken.is_refused(VICTIM, run.roll.encode(), "another kind")
            held = run.fork()
            held.dealers = run.dealers | {VICTIM: taken.dealers[VICTIM]}
            for one in FRESH:
                held.ask(one, held.delivery(one, EVERYONE))
                assert (VICTIM in State.decode(held.states[one]).shares) == (run is taken)

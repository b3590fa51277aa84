"""One client in ten wants there to be no sum, and does whatever it can think of: at every exchange there is something
that it could spoil. In earlier versions one client that dealt rubbish ended every round.
What a client sends is checked before anybody relies on it. Saboteurs cost a round themselves and nobody else: the sum
is that of the survivors, whoever certainly did something is named for it, and no honest client ever is.

Chance of failure: a client may draw too few honest neighbours, with probability 2^-20 a round; the seeds are fixed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from folkmoot.secagg.dealing import MARKS, SHARE, count_coins, deal, mark
from folkmoot.secagg.faults import AggregationFailed, Fault
from folkmoot.secagg.keys import complaint, mask_seed
from folkmoot.secagg.member import Policy
from folkmoot.secagg.messages import (
    BOX,
    Accusations,
    Answers,
    Boxes,
    Choice,
    Complaints,
    Consent,
    Delivery,
    MaskedVector,
    Parcel,
    Roll,
    Unmasking,
)
from folkmoot.secagg.neighbours import draw_neighbours
from folkmoot.secagg.parameters import count_share
from folkmoot.secagg.primitives import SEED, SIGNATURE, TAG, sign
from folkmoot.secagg.shamir import PRIME
from folkmoot.secagg.state import State
from folkmoot.secagg.wire import bitmap
from tests.secagg.attacks.client_tricks import MANY, Moment, Table, dealing, play, rubbish, shift
from tests.secagg.cohorts import (
    ANSWERS,
    CHOICE,
    CONSENT,
    KEYS,
    RECEIPT,
    REGULAR,
    SESSION,
    SHARES,
    UNMASKING,
    VECTOR,
    Federation,
    Outbox,
)

ROUNDS = 100


@dataclass(frozen=True)
class Scene:
    """A round: who is in it, and who of them is honest."""

    federation: Federation
    honest: frozenset[int]


Act = Callable[[Scene, Moment], bytes]


@dataclass(frozen=True)
class Kind:
    """What a saboteur says at one exchange; whether it costs it its place in the sum, and what it is named for."""

    exchange: int
    act: Act
    leaves: bool = False
    fault: Fault | None = None


def shut_boxes(_: Scene, moment: Moment) -> bytes:
    table = Table(moment)
    boxes = {one: rubbish(one, size=BOX) + table.seal_box(one, text)[BOX:] for one, text in table.contents.items()}
    return table.dealing(boxes)


def rubbish_in_boxes(_: Scene, moment: Moment) -> bytes:
    table = Table(moment)
    pairs = {
        one: (table.seal_box(one, rubbish(one)), table.seal_box(one, text)) for one, text in table.contents.items()
    }
    return table.dealing({one: box[:BOX] + marks[BOX:] for one, (box, marks) in pairs.items()})


def marked_rubbish_in_boxes(_: Scene, moment: Moment) -> bytes:
    table = Table(moment)
    return table.dealing({one: table.seal_box(one, rubbish(one)) for one in table.contents})


def rubbish_marks(_: Scene, moment: Moment) -> bytes:
    table = Table(moment)
    boxes = {one: table.seal_box(one, text)[:BOX] + rubbish(one, size=MARKS) for one, text in table.contents.items()}
    return table.dealing(boxes)


def misplaced_shares(_: Scene, moment: Moment) -> bytes:
    table = Table(moment)
    return table.dealing({one: table.seal_box(one, shift(text, one % 2)) for one, text in table.contents.items()})


def rubbish_lines(_: Scene, moment: Moment) -> bytes:
    table = Table(moment)
    boxes = {one: table.seal_box(one, text) for one, text in table.contents.items()}
    numbers = np.random.default_rng(moment.client).integers(0, PRIME, 2 * table.state.threshold, dtype=np.uint64)
    return table.dealing(boxes, lambda _: numbers.tobytes())


def misplaced_shares_for_a_few(scene: Scene, moment: Moment) -> bytes:
    """Fewer honest ones than would be believed at once."""
    table = Table(moment)
    victims = sorted(scene.honest & table.contents.keys())[: 1 + moment.client % 3]
    boxes = {one: table.seal_box(one, shift(text) if one in victims else text) for one, text in table.contents.items()}
    return table.dealing(boxes)


def too_few_boxes(_: Scene, moment: Moment) -> bytes:
    sent = Boxes.decode(moment.reply, MANY, State.decode(moment.after).threshold)
    return replace(sent, boxes=dict(list(sent.boxes.items())[1:])).encode()


def false_complaints(scene: Scene, moment: Moment) -> bytes:
    roll_hash, me = State.decode(moment.before).roll_hash, moment.client
    delivery = Delivery.decode(moment.message, MANY)
    cases = {one: Parcel.read(body).case() for one, body in delivery.dealt.items()}
    identity = scene.federation.identities[me]
    made = {one: sign(identity, *complaint(roll_hash, one, me, case)) for one, case in cases.items()}
    return Complaints(SESSION, 1, made).encode()


def unsigned_complaints(_: Scene, moment: Moment) -> bytes:
    dealers = Delivery.decode(moment.message, MANY).dealt
    return Complaints(SESSION, 1, {one: rubbish(one, size=SIGNATURE) for one in dealers}).encode()


def complaints_of_strangers(scene: Scene, moment: Moment) -> bytes:
    others = scene.honest - Delivery.decode(moment.message, MANY).dealt.keys() - {moment.client}
    few = sorted(others)[: len(scene.federation.ids) // 4]
    return Complaints(SESSION, 1, {one: rubbish(one, size=SIGNATURE) for one in few}).encode()


def read_masked(scene: Scene, moment: Moment) -> MaskedVector:
    return MaskedVector.decode(moment.reply, scene.federation.announcement.vector_size, MANY)


def rubbish_words(scene: Scene, moment: Moment) -> bytes:
    sent = read_masked(scene, moment)
    return replace(sent, words={one: rubbish(one, size=TAG) for one in sent.words}).encode()


def no_words(scene: Scene, moment: Moment) -> bytes:
    return replace(read_masked(scene, moment), words={}).encode()


def unsigned_vector(scene: Scene, moment: Moment) -> bytes:
    return replace(read_masked(scene, moment), signature=bytes(SIGNATURE)).encode()


def rubbish_consents(_: Scene, moment: Moment) -> bytes:
    sent = Consent.decode(moment.reply, MANY)
    return replace(sent, words={one: rubbish(one, size=TAG) for one in sent.words}).encode()


def wrong_shares(_: Scene, moment: Moment) -> bytes:
    """All of them, or one."""
    sent = Unmasking.decode(moment.reply, MANY)
    wrong = {one: rubbish(one, size=SHARE) for one in list(sent.shares)[: 1 if moment.client % 2 else None]}
    return replace(sent, shares=sent.shares | wrong).encode()


def unreadable_reply(_: Scene, moment: Moment) -> bytes:
    """Nothing, too little, too much, or noise."""
    noise = rubbish(moment.client, size=200)
    return [b"", moment.reply[:-1], moment.reply + b"\0", noise][moment.client % 4]


def unsigned_keys(_: Scene, moment: Moment) -> bytes:
    return moment.reply[:-SIGNATURE] + bytes(SIGNATURE)


def nobody_chosen(_: Scene, moment: Moment) -> bytes:
    sent = Choice.decode(moment.reply, len(State.decode(moment.after).order))
    return replace(sent, bits=bytes(len(sent.bits))).encode()


KINDS = {
    "unsigned keys": Kind(KEYS, unsigned_keys, True, Fault.UNSIGNED),
    "nobody chosen": Kind(CHOICE, nobody_chosen, True, Fault.CHOICE),
    "shut boxes": Kind(SHARES, shut_boxes, True, Fault.DEALING),
    "rubbish in boxes": Kind(SHARES, rubbish_in_boxes, True, Fault.DEALING),
    "marked rubbish in boxes": Kind(SHARES, marked_rubbish_in_boxes, True, Fault.DEALING),
    "rubbish marks": Kind(SHARES, rubbish_marks, True, Fault.DEALING),
    "off the line": Kind(SHARES, misplaced_shares, True, Fault.DEALING),
    "rubbish lines": Kind(SHARES, rubbish_lines, True, Fault.DEALING),
    "too few boxes": Kind(SHARES, too_few_boxes, True, Fault.DEALING),
    "wrong answers": Kind(SHARES, misplaced_shares_for_a_few, True, Fault.DEALING),
    "answers for others": Kind(SHARES, misplaced_shares_for_a_few, True, Fault.DEALING),
    "unreadable answers": Kind(SHARES, misplaced_shares_for_a_few, True, Fault.UNREADABLE),
    "silent": Kind(SHARES, misplaced_shares_for_a_few, True),  # it may have dropped out, falsely accused
    "false complaints": Kind(RECEIPT, false_complaints),  # who is right, it or the dealer, nobody can tell
    "unsigned complaints": Kind(RECEIPT, unsigned_complaints, False, Fault.UNSIGNED),
    "complaints of strangers": Kind(RECEIPT, complaints_of_strangers),
    "rubbish words": Kind(VECTOR, rubbish_words),  # only holders can tell
    "no words": Kind(VECTOR, no_words),
    "unsigned vector": Kind(VECTOR, unsigned_vector, True, Fault.UNSIGNED),
    "rubbish consents": Kind(CONSENT, rubbish_consents),  # only dealers can tell
    "wrong shares": Kind(UNMASKING, wrong_shares, False, Fault.SHARE),
    **{f"unreadable {one}": Kind(one, unreadable_reply, one <= VECTOR, Fault.UNREADABLE) for one in REGULAR},
}


def answers_of(kind: str, message: bytes) -> bytes | None:
    """What is said to those who rightly complain."""
    accusers = Accusations.decode(message, MANY).signatures
    if kind == "wrong answers":
        return Answers(SESSION, 1, {one: rubbish(one) for one in accusers}).encode()
    if kind == "answers for others":
        return Answers(SESSION, 1, {one + 1: rubbish(one) for one in accusers}).encode()
    return b"nothing" if kind == "unreadable answers" else None


@cache
def cohort(clients: int) -> Federation:
    return Federation(clients, length=4)


def check_round(federation: Federation, kinds: dict[int, str], seed: int) -> None:
    scene = Scene(federation, frozenset(federation.ids) - kinds.keys())
    sent: dict[int, Outbox] = {}

    def trick(moment: Moment) -> bytes:
        name = kinds.get(moment.client)
        if name is None or KINDS[name].exchange != moment.exchange:
            return moment.reply
        return KINDS[name].act(scene, moment)

    def to_server(exchange: int, replies: Outbox) -> Outbox:
        if exchange == ANSWERS:
            for one in kinds.keys() & sent[ANSWERS].keys() - replies.keys():
                said = answers_of(kinds[one], sent[ANSWERS][one])
                if said is not None:
                    replies[one] = said
        return replies

    result = play(federation, trick, to_server=to_server, sent=sent, seed=seed)
    gone = {one for one, name in kinds.items() if KINDS[name].leaves}
    assert result.survivors == tuple(one for one in federation.ids if one not in gone)
    assert result.excluded == {one: KINDS[name].fault for one, name in sorted(kinds.items()) if KINDS[name].fault}
    federation.check(result)


@pytest.mark.parametrize("kind", KINDS)
def test_one_kind(kind: str) -> None:
    """As many of it as may be."""
    federation = cohort(20)
    check_round(federation, dict.fromkeys(federation.ids[4:6], kind), 0)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_one_in_ten_of_any_kind(seed: int) -> None:
    rng = np.random.default_rng(seed)
    federation = cohort(int(rng.integers(20, 41)))
    saboteurs = rng.choice(federation.ids, count_share(0.1, federation.clients), replace=False).tolist()
    check_round(federation, {one: str(rng.choice(list(KINDS))) for one in saboteurs}, seed)


@pytest.mark.parametrize("seed", range(3))
def test_a_secret_of_another_is_the_only_way_left_and_names_its_dealer(seed: int) -> None:
    """It fits in every way that can be looked at before it is needed. Beside it there are saboteurs of other kinds,
    which are borne; it is named, and can be left out from then on.
    """
    federation = cohort(30)
    owner, other = federation.ids[7], federation.ids[11]

    def another(table: Table) -> bytes:
        state, coins = table.state, rubbish(seed, size=count_coins(table.state.threshold))
        made = deal(rubbish(seed, 1, size=SEED), mask_seed(state.seed), len(state.sealed), state.threshold, coins)
        boxes = {one: table.seal_box(one, text) for one, text in zip(state.sealed, made.contents, strict=True)}
        return table.dealing(boxes, made.lines)

    def trick(moment: Moment) -> bytes | None:
        if moment.client == other and moment.exchange == CONSENT:
            return rubbish_consents(Scene(federation, frozenset()), moment)
        return dealing([owner], another)(moment)

    with pytest.raises(AggregationFailed, match=f"client {owner} dealt") as failed:
        play(federation, trick, seed=seed)
    assert failed.value.excluded == {owner: Fault.SECRET}
    assert failed.value.answered


def test_a_relay_cannot_make_an_honest_client_look_like_a_saboteur() -> None:
    """Whoever carries an honest client's messages deals shares of another secret in its name, in boxes that nobody can
    open, and answers all complaints. The client itself would never show enough shares to bring its secret back, so
    whoever does is not believed, and no certain fault is recorded.
    """
    federation = cohort(30)
    owner, made, sent = federation.ids[7], dict[int, bytes](), dict[int, Outbox]()

    def instead(table: Table) -> bytes:
        state, coins = table.state, rubbish(5, size=count_coins(table.state.threshold))
        dealt = deal(rubbish(6, size=SEED), rubbish(7, size=SEED), len(state.sealed), state.threshold, coins)
        made.update(zip(state.sealed, dealt.contents, strict=True))
        marks = {one: mark(state.roll_hash, owner, one, content) for one, content in made.items()}
        return table.dealing({one: rubbish(one, size=BOX) + marks[one] for one in marks}, dealt.lines)

    def to_server(exchange: int, replies: Outbox) -> Outbox:
        if exchange == ANSWERS and owner in sent[ANSWERS]:
            accusers = Accusations.decode(sent[ANSWERS][owner], MANY).signatures
            replies[owner] = Answers(SESSION, 1, {one: made[one] for one in accusers}).encode()
        return replies

    result = play(federation, dealing([owner], instead), to_server=to_server, sent=sent)
    assert result.excluded == {owner: Fault.DEALING}
    assert not Fault.DEALING.is_certain
    assert result.survivors == tuple(one for one in federation.ids if one != owner)
    federation.check(result)


@pytest.mark.parametrize("honest_coins", [True, False])
def test_saboteurs_cannot_choose_each_other(honest_coins: bool) -> None:
    """If one had its accomplices for neighbours, and they said nothing when its share is wanted, nobody could be named.
    But it has committed to its coins before it knew the roll: with other neighbours than those, or with other coins, it
    is left out, and its accomplices are only a few who are silent.
    """
    federation = cohort(60)
    chosen = federation.policy.protection(federation.clients)
    owner, *others = federation.ids
    silent = others[: count_share(federation.policy.dropout, federation.clients) - 1]

    def trick(moment: Moment) -> bytes | None:
        if moment.exchange == CHOICE and moment.client == owner:
            bits = bitmap(set(others[: chosen.degree]), State.decode(moment.after).order)
            sent = Choice.decode(moment.reply, federation.clients)
            return replace(sent, bits=bits, seed=sent.seed if honest_coins else rubbish(1, size=SEED)).encode()
        return None if moment.exchange == UNMASKING and moment.client in silent else moment.reply

    result = play(federation, trick)
    assert result.survivors == tuple(others)
    assert result.excluded == {owner: Fault.CHOICE}
    federation.check(result)


def test_other_coins_that_were_not_committed_to() -> None:
    """Neighbours that follow from coins of its liking: they are not the ones it committed to."""
    federation = cohort(20)
    owner = federation.ids[3]

    def trick(moment: Moment) -> bytes | None:
        if moment.exchange != CHOICE or moment.client != owner:
            return moment.reply
        sent, roll, roll_hash = (
            Choice.decode(moment.reply, 20),
            Roll.decode(moment.message),
            State.decode(moment.after).roll_hash,
        )
        seed = rubbish(2, size=SEED)
        return replace(sent, bits=bitmap(draw_neighbours(roll, owner, roll_hash, seed), roll.ids), seed=seed).encode()

    assert play(federation, trick).excluded == {owner: Fault.CHOICE}


@pytest.mark.parametrize("gone", [SHARES, RECEIPT, ANSWERS])
def test_an_honest_client_that_falls_silent_is_not_blamed_for_what_saboteurs_say_of_it(gone: int) -> None:
    """All who complain of it lie, and it cannot say so."""
    federation = Federation(20, length=4, policy=Policy(fewest=5, dropout=0.2))
    liars, silent = federation.ids[:2], federation.ids[9]
    scene = Scene(federation, frozenset(federation.ids) - set(liars))

    def trick(moment: Moment) -> bytes | None:
        if (moment.exchange, moment.client) == (gone, silent):
            return None
        if moment.exchange == RECEIPT and moment.client in liars:
            return false_complaints(scene, moment)
        return moment.reply

    result = play(federation, trick)
    assert result.survivors == tuple(one for one in federation.ids if one != silent)
    assert result.excluded == {}
    federation.check(result)

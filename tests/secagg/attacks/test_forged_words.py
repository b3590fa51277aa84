"""Neighbours vouch for things to each other under keys that only the two have: a dealer for who shares (its word), a
holder for who is in the sum (its consent). The server forges them, swaps them, turns them round, or brings those of
another time. A word that does not fit counts for nothing; then the owner's signature decides.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from folkmoot.secagg.keys import hash_consent
from folkmoot.secagg.messages import Consents, MaskedVector
from folkmoot.secagg.primitives import SIGNATURE, TAG, sign, tag
from folkmoot.secagg.state import State
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import RECEIPT, UNMASKING, VECTOR, Federation, Outbox, conversation

FEDERATION, ALL = Federation(12), (11, 7)  # all are neighbours of all
IDS, (ONE, TWO, THREE, *_) = FEDERATION.ids, FEDERATION.ids  # `ONE` is shown the words
EVERYONE, FEWER = set(IDS), set(IDS[:-1])
NOW = FEDERATION.announcement
ELSEWHERE = [FEDERATION.announce_later(), replace(NOW, session=bytes(16)), replace(NOW, question=bytes([1] * 32))]


@pytest.fixture(scope="module")
def server() -> EvilServer:
    found = EvilServer(FEDERATION, terms=ALL)
    found.advance_to(UNMASKING)
    return found


@pytest.fixture(scope="module")
def elsewhere() -> list[EvilServer]:
    """Other rounds in which everybody's coins fall as here: the keys advertised are the same."""
    found = [EvilServer(FEDERATION, other, terms=ALL) for other in ELSEWHERE]
    for other in found:
        other.advance_to(UNMASKING)
    return found


def show_consents(server: EvilServer) -> Consents:
    return Consents.decode(server.sent[UNMASKING][ONE], len(IDS), len(IDS))


Forge = Callable[[EvilServer], bytes]
CONSENTS: dict[str, Forge] = {  # what the server may have, or dream up, instead of TWO's consent to ONE
    "zeros": lambda _: bytes(TAG),
    "of another edge: to somebody else": lambda s: s.forge_consents(TWO, EVERYONE, EVERYONE)[THREE],
    "of another edge: by somebody else": lambda s: show_consents(s).words[THREE],
    "in the other direction": lambda s: s.forge_consents(ONE, EVERYONE, EVERYONE)[TWO],
    "a word": lambda s: show_consents(s).owners[TWO][:TAG],
    "the key of a word": lambda s: tag(s.edge(TWO, ONE, TWO).word, consent_hash(s)),
    "the key of a box": lambda s: tag(s.edge(TWO, ONE, TWO).box, consent_hash(s)),
    "other sharers": lambda s: s.forge_consents(TWO, FEWER, EVERYONE)[ONE],
    "other survivors": lambda s: s.forge_consents(TWO, EVERYONE, FEWER)[ONE],
    "about sharers alone": lambda s: tag(s.edge(TWO, ONE, TWO).consent, s.sharers_hash(EVERYONE)),
}
WORDS: dict[str, Forge] = {  # instead of TWO's word to ONE
    "zeros": lambda _: bytes(TAG),
    "of another edge: to somebody else": lambda s: s.masked[TWO].words[THREE],
    "of another edge: by somebody else": lambda s: s.masked[THREE].words[ONE],
    "in the other direction": lambda s: s.masked[ONE].words[TWO],
    "a consent": lambda s: show_consents(s).words[TWO],
    "the key of a consent": lambda s: tag(s.edge(TWO, TWO, ONE).consent, s.sharers_hash(EVERYONE)),
    "other sharers": lambda s: tag(s.edge(TWO, TWO, ONE).word, s.sharers_hash(FEWER)),
    "about survivors": lambda s: tag(s.edge(TWO, TWO, ONE).word, consent_hash(s)),
}


def consent_hash(server: EvilServer) -> bytes:
    """What all consent to."""
    return hash_consent(server.sharers_hash(EVERYONE), server.bits(EVERYONE))


def add_consent(server: EvilServer, word: bytes) -> bytes:
    """TWO's, and others' up to the threshold."""
    told = show_consents(server)
    others = [one for one in sorted(told.words) if one != TWO][: server.roll.threshold - 1]
    return replace(told, words={TWO: word} | {one: told.words[one] for one in others}).encode()


@pytest.mark.parametrize("forge", CONSENTS)
def test_a_forged_consent_does_not_count(server: EvilServer, forge: str) -> None:
    good, forged = show_consents(server).words[TWO], CONSENTS[forge](server)
    assert good == server.forge_consents(TWO, EVERYONE, EVERYONE)[ONE]  # whoever has the key can
    assert server.trial(ONE, add_consent(server, good))
    why = "6 neighbours vouch for the same roll and survivors; 7 are needed"
    server.is_refused(ONE, add_consent(server, forged), why)


def test_nor_one_of_another_round_session_or_question(server: EvilServer, elsewhere: list[EvilServer]) -> None:
    for other in elsewhere:
        assert other.adverts[TWO].channel_key == server.adverts[TWO].channel_key
        server.is_refused(ONE, add_consent(server, show_consents(other).words[TWO]), "6 neighbours vouch")
        everything = replace(show_consents(other), session=NOW.session, round=NOW.round)
        server.is_refused(ONE, everything.encode(), "0 neighbours vouch")


def test_any_bit_of_a_consent(server: EvilServer) -> None:
    good = show_consents(server).words[TWO]
    for bit in range(8 * TAG):
        wrong = (int.from_bytes(good, "little") ^ 1 << bit).to_bytes(TAG, "little")
        server.is_refused(ONE, add_consent(server, wrong), "6 neighbours vouch")


def test_consents_of_two_swapped(server: EvilServer) -> None:
    words = show_consents(server).words
    crossed = replace(show_consents(server), words=words | {TWO: words[THREE], THREE: words[TWO]})
    assert server.trial(ONE, crossed.encode())  # nine of eleven are left
    turned = dict(zip(words, list(words.values())[1:] + list(words.values())[:1], strict=True))
    server.is_refused(ONE, replace(show_consents(server), words=turned).encode(), "0 neighbours vouch")


@pytest.mark.parametrize("count", range(12))
def test_the_threshold(server: EvilServer, count: int) -> None:
    """So many good ones, and all the others rubbish or not there."""
    words = show_consents(server).words
    few = dict(sorted(words.items())[:count])
    for told in (few, dict.fromkeys(words, bytes(TAG)) | few):
        message = replace(show_consents(server), words=told).encode()
        if count < 7:
            server.is_refused(ONE, message, f"{count} neighbours vouch")
        else:
            assert server.trial(ONE, message)


def opens(server: EvilServer, vouched: bytes) -> bool:
    """Whether ONE gives a share to open TWO; all others it gives in any case."""
    told = show_consents(server)
    _, reply = server.trial(ONE, replace(told, owners=told.owners | {TWO: vouched}).encode())
    given = server.read_shares(reply)
    assert given.keys() >= set(IDS) - {ONE, TWO}
    assert all(share == State.decode(server.states[ONE]).shares[owner][0] for owner, share in given.items())
    return TWO in given


@pytest.mark.parametrize("forge", WORDS)
def test_a_forged_word_opens_nobody(server: EvilServer, forge: str) -> None:
    told = show_consents(server).owners[TWO]
    word, signature = told[:TAG], told[TAG:]
    forged = WORDS[forge](server)
    assert opens(server, word + signature)
    assert opens(server, word + bytes(SIGNATURE))  # a good word is enough
    assert opens(server, forged + signature)  # so is a good signature
    assert not opens(server, forged + bytes(SIGNATURE))


def test_a_forged_signature_opens_nobody(server: EvilServer, elsewhere: list[EvilServer]) -> None:
    identity, state = FEDERATION.identities[TWO], server.sharers_hash(EVERYONE)
    good = show_consents(server).owners[TWO][TAG:]
    assert sign(identity, "masked", state) == good
    wrong = [
        sign(identity, "masked", server.sharers_hash(FEWER)),
        sign(identity, "consent", state),
        sign(identity, "masked", consent_hash(server)),
        sign(FEDERATION.identities[THREE], "masked", state),
        server.adverts[TWO].signature,
        *(other.masked[TWO].signature for other in elsewhere),
    ]
    for signature in wrong:
        assert not opens(server, bytes(TAG) + signature)
    for other in elsewhere:
        assert not opens(server, other.masked[TWO].words[ONE] + bytes(SIGNATURE))
    assert opens(server, bytes(TAG) + good)


@pytest.mark.parametrize("words", ["none", "zeros", "turned round"])
def test_a_client_that_spoils_its_words_is_in_the_sum_all_the_same(words: str) -> None:
    """Its signature goes to everybody who holds its shares."""

    def spoiled(exchange: int, replies: Outbox) -> Outbox:
        if exchange != VECTOR:
            return replies
        sent = MaskedVector.decode(replies[TWO], NOW.vector_size, len(IDS))
        turned = dict(zip(sent.words, reversed(sent.words.values()), strict=True))
        told = {"none": {}, "zeros": dict.fromkeys(sent.words, bytes(TAG)), "turned round": turned}[words]
        return replies | {TWO: replace(sent, words=told).encode()}

    result, _ = conversation(FEDERATION, to_server=spoiled)
    assert result.survivors == tuple(IDS)
    assert not result.excluded
    FEDERATION.check(result)


def test_the_server_asks_of_others_what_only_survivors_have() -> None:
    """A dealer left off the sharers after its box was checked: no word of it opens it, and nobody consents to it."""
    server, gone = EvilServer(FEDERATION, terms=ALL), TWO
    server.advance_to(RECEIPT)
    for one in IDS:
        server.ask(one, server.sent[RECEIPT][one])
    left = EVERYONE - {gone}
    for one in left:
        server.ask(one, server.sharers(left))
    assert gone not in State.decode(server.states[ONE]).shares
    given = server.views(dict.fromkeys(left, left), left, set())
    assert given.keys() == left
    assert not any(gone in shares for shares in given.values())

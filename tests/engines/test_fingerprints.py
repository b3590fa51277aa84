"""Fingerprints of rosters, against whoever holds the root key.

Such a server shows every party another roster: the party's own key is right in it, and all other keys are the server's.
People compare fingerprints, so two of these rosters must have the same. The server tries keys for both until they do: a
birthday search, which takes about as many rosters as the square root of the number of fingerprints.
"""

from hashlib import sha256
from math import log, pi, sqrt
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.engines import enrolment
from folkmoot.engines.desk import Code, Desk, DeskSetup, MessageKind, write_request
from folkmoot.engines.enrolment import (
    DIGITS,
    FORMER_DIGITS,
    GROUPS,
    Enrolment,
    RosterBook,
    Statement,
    arrange_fingerprint,
    format_fingerprint,
    read_fingerprint,
)
from folkmoot.foundation.errors import InputError
from tests.engines.certificates import CHARTER, MOMENT, PARTIES, enrol, make_registrar, state

NUMBER = " ".join(f"{one:05d}" for one in range(GROUPS))
VICTIMS = PARTIES[:2]
ROSTERS = 2_000  # that the server tries


def count_rosters(digits: int) -> float:
    """How many rosters it takes on average until any two of them have the same fingerprint."""
    return sqrt(pi / 2 * 10.0**digits)


def bound_success(rosters: float, digits: int) -> float:
    """The probability that among so many rosters any two have the same fingerprint, at most."""
    return rosters**2 / 2 / 10.0**digits


def invent_key(*words: str) -> bytes:
    seed = sha256(" ".join(words).encode()).digest()
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


class Forger:
    """A server that holds the root key, and makes up every party but the one that it shows the roster to."""

    def __init__(self) -> None:
        self.begun = {one: [self.speak_for(party, one) for party in PARTIES[:-1]] for one in VICTIMS}
        self.made: dict[str, dict[str, tuple[Statement, ...]]] = {one: {} for one in VICTIMS}

    def speak_for(self, party: str, victim: str) -> Statement:
        return state(party) if party == victim else state(party, key=invent_key(victim, party))

    def invent(self, victim: str, number: int) -> tuple[Statement, ...]:
        """A roster that this victim finds itself on. The last party's key is tried anew each time."""
        return (*self.begun[victim], state(PARTIES[-1], key=invent_key(victim, str(number))))

    def search(self, rosters: int) -> dict[str, tuple[Statement, ...]] | None:
        """A roster for each victim, with one fingerprint; None: there was none among so many."""
        for number in range(rosters // len(VICTIMS)):
            for victim in VICTIMS:
                said = self.invent(victim, number)
                read_out = RosterBook(CHARTER, tuple(Enrolment(one, "", b"") for one in said)).fingerprint
                self.made[victim][read_out] = said
                if all(read_out in known for known in self.made.values()):
                    return {one: known[read_out] for one, known in self.made.items()}
        return None


def write_roster(folder: Path, victim: str, said: tuple[Statement, ...]) -> RosterBook:
    """Signed by the victim itself, and by the server in all other names: it has the root."""
    return RosterBook(CHARTER, tuple(enrol(folder / victim, one) for one in said))


def open_desk(folder: Path, book: RosterBook, victim: str, expect: str) -> Desk:
    own = book.enrolments[book.find(victim)].encode()
    setup = DeskSetup(own, make_registrar(), folder / f"{victim}.json", lambda _: None, lambda _: None, expect)  # type: ignore[arg-type,return-value]
    return Desk(setup, lambda _: None, clock=lambda: MOMENT)


def test_few_digits_do_not_tell_two_rosters_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 6 digits, both parties accept a roster whose fingerprint the other reads out, alone among keys of the
    server's own.
    """
    monkeypatch.setattr(enrolment, "GROUPS", 2)
    monkeypatch.setattr(enrolment, "DIGITS", 3)
    found = Forger().search(ROSTERS)
    assert found is not None
    books = {victim: write_roster(tmp_path, victim, said) for victim, said in found.items()}
    one, other = books.values()
    assert one.fingerprint == other.fingerprint
    assert not set(one.roster.keys.values()) & set(other.roster.keys.values())
    for victim, book in books.items():
        desk = open_desk(tmp_path, book, victim, one.fingerprint)
        assert desk.answer(write_request(MessageKind.ROSTER, book.encode()))[0] == Code.OK


def test_as_many_rosters_do_not_find_two_with_the_same_fingerprint() -> None:
    assert Forger().search(ROSTERS) is None


def test_what_it_takes_to_find_two() -> None:
    """60 digits: 2^100 rosters on average, and after 2^96 a chance below 1 in 300. With 40 digits it was 2^67."""
    assert 1_000 < count_rosters(6) < ROSTERS  # as in the attack above
    digits = GROUPS * DIGITS
    assert digits == 60
    assert log(count_rosters(digits), 2) == pytest.approx(99.98, abs=0.01)
    assert bound_success(2.0**96, digits) < 1 / 300
    assert log(count_rosters(FORMER_DIGITS), 2) == pytest.approx(66.76, abs=0.01)
    assert 10.0**digits < 2.0**200  # a SHA-256 digest is much larger, so that all digits are as good as random


# How they are written and read.


def test_a_fingerprint_is_twelve_groups_of_five_digits() -> None:
    assert format_fingerprint(bytes(32)) == " ".join(["00000"] * 12)
    assert format_fingerprint((10**60 - 1).to_bytes(32, "big")) == " ".join(["99999"] * 12)
    assert format_fingerprint((10**60 + 7).to_bytes(32, "big")) == " ".join([*["00000"] * 11, "00007"])
    assert arrange_fingerprint(NUMBER).splitlines() == [
        "00000 00001 00002 00003",
        "00004 00005 00006 00007",
        "00008 00009 00010 00011",
    ]
    assert arrange_fingerprint("") == ""


@pytest.mark.parametrize(
    "typed",
    [
        NUMBER,
        f"  {NUMBER}\n",
        NUMBER.replace(" ", ""),
        NUMBER.replace(" ", "-"),
        NUMBER.replace(" ", "\u2013"),
        NUMBER.replace(" ", "\u00a0"),
        NUMBER.replace(" ", "\r\n"),
        NUMBER.replace("0", "0 "),
        arrange_fingerprint(NUMBER),
    ],
)
def test_spaces_line_ends_and_hyphens_do_not_matter(typed: str) -> None:
    assert read_fingerprint(typed) == NUMBER


@pytest.mark.parametrize("typed", ["", "12345 67890", NUMBER[:-1], f"{NUMBER}0", NUMBER.replace("0", "o"), "٠" * 60])
def test_anything_else_is_no_fingerprint(typed: str) -> None:
    with pytest.raises(InputError, match=r"^expect: needs 12 groups of 5 digits, got "):
        read_fingerprint(typed)


@pytest.mark.parametrize("typed", [" ".join(["12345"] * 8), "1" * 40, "-".join(["12345"] * 8) + "\n"])
def test_those_of_older_versions_are_refused_in_one_sentence(typed: str) -> None:
    with pytest.raises(InputError) as told:
        read_fingerprint(typed)
    assert str(told.value) == (
        "expect: is a fingerprint of an older version, with 40 digits; let the others read theirs to you anew: it has "
        "60 digits now"
    )

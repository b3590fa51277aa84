"""The server shows keys that nobody signed, or that somebody signed for another session, round or question, or under
another name. It would know the secrets to such keys, or know them one day, and stand between two clients. The key of a
neighbour that a client chose is taken only with a signature, by the one it names, under this very announcement,
whatever is on the roll; and nobody takes a roll that has other keys for itself. (Clients that chose this one are
believed by the roll: test_unsigned_choosers.py has what that is worth to the server.)
"""

from dataclasses import replace

import pytest

from tests.secagg.attacks.keys_shown import FEDERATION, FRESH, VICTIM, Place
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import CHOICE


@pytest.fixture(scope="module")
def place() -> Place:
    return Place(delivered=False)


def test_what_is_signed_is_taken(place: Place) -> None:
    place.check_accepted(place.server.advert(place.corrupt, *FRESH))


@pytest.mark.parametrize("flipped", range(0, 160, 9))
def test_changed_after_signing(place: Place, flipped: int) -> None:
    body = bytearray(place.adverts[place.corrupt].body())
    assert len(body) == 160
    body[flipped] ^= 4
    place.check_refused(bytes(body), "not signed")
    place.check_refused(bytes(body), "not signed", on_roll=place.adverts[place.corrupt].body())


def test_signed_for_another_time_place_or_name(place: Place) -> None:
    server, now, corrupt = place.server, FEDERATION.announcement, place.corrupt
    elsewhere = [
        replace(now, session=bytes(16)),
        replace(now, round=2),
        replace(now, question=bytes([1] * 32)),
        replace(now, most=now.most + 1),
        replace(now, clients=now.clients + 1),
    ]
    for announcement in elsewhere:
        place.check_refused(server.advert(corrupt, *FRESH, announced=announcement.encode()), "another session or round")
    place.check_refused(server.advert(corrupt, *FRESH, signer=place.other), "not signed by the client it names")
    place.check_refused(place.adverts[place.other].body(), "not signed by the client it names")
    place.check_refused(place.adverts[VICTIM].body(), "not signed by the client it names")


def test_a_roll_with_other_keys_for_the_client() -> None:
    """Of somebody else, that it signed at another time, that it did not sign, or hers in another's place."""
    server = Place(delivered=False).server
    again = EvilServer(FEDERATION, seed=1)
    again.advance_to(CHOICE)
    mine, other = server.adverts[VICTIM], FEDERATION.ids[8]
    changed = [
        again.adverts[VICTIM].body(),
        server.adverts[other].body(),
        server.advert(VICTIM, *FRESH),
        server.advert(VICTIM, mine.channel_key, FRESH[1]),
        mine.body()[:-1] + bytes([mine.body()[-1] ^ 1]),
        b"",
    ]
    for body in changed:
        server.is_refused(VICTIM, server.make_roll(forged={VICTIM: body}).encode(), "other keys for this client")
    roll = server.make_roll()
    moved = replace(roll, prints=roll.prints[16:] + roll.prints[:16])
    server.is_refused(VICTIM, moved.encode(), "other keys for this client")
    assert server.trial(VICTIM, roll.encode())
    assert roll.encode() == server.sent[CHOICE][VICTIM]

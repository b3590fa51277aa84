"""The server, with a corrupt client who signs what it likes, shows keys that protect nothing: cut short, of low order
(the secret agreed on is known to all), somebody else's or the client's own (a mask that cancels another, a box that
comes back), or other keys than those on the roll. The client checks every key before it uses it: those of neighbours
it chose, and of clients that chose it.
"""

import pytest

from folkmoot.secagg.keys import keys_in
from folkmoot.secagg.messages import Delivery
from folkmoot.secagg.primitives import ANY_KEY, KEY, agree
from folkmoot.secagg.state import State
from tests.secagg.attacks.keys_shown import FEDERATION, FRESH, TERMS, VICTIM, Place, append_box, deliver
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import RECEIPT

P, TOP = 2**255 - 19, 1 << 255
EIGHT = (  # of order 8
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
)
OTHER_FORMS = [P + 9, P + 18, TOP + 9, 2 * TOP - 1]  # of numbers below P
LOW_ORDER = [point + top for point in (0, 1, P - 1, P, P + 1, *EIGHT) for top in (0, TOP)]


@pytest.fixture(scope="module", params=[False, True], ids=["chosen", "choosing"])
def place(request: pytest.FixtureRequest) -> Place:
    return Place(request.param)


def test_good_keys_are_taken(place: Place) -> None:
    place.check_accepted(place.adverts[place.corrupt].body())
    place.check_accepted(place.server.advert(place.corrupt, *FRESH))


@pytest.mark.parametrize("point", LOW_ORDER + OTHER_FORMS, ids=hex)
def test_of_low_order_or_not_in_its_one_form(place: Place, point: int) -> None:
    wrong, why = point.to_bytes(KEY, "little"), "low order, or is not in canonical form"
    assert agree(ANY_KEY, wrong) is None
    place.check_refused(place.server.advert(place.corrupt, wrong, FRESH[1]), why)
    place.check_mask_key_refused(wrong, why)


def test_the_clients_own_or_repeated(place: Place) -> None:
    advert, mine, other = place.server.advert, place.adverts[VICTIM], place.adverts[place.other]
    for key in (mine.channel_key, mine.mask_key):
        place.check_refused(advert(place.corrupt, key, FRESH[1]), "own, or occurs twice")
        place.check_refused(advert(place.corrupt, FRESH[0], key), "own, or occurs twice")
    place.check_refused(advert(place.corrupt, FRESH[0], FRESH[0]), "own, or occurs twice")
    for key in (other.channel_key, other.mask_key):
        place.check_refused(advert(place.corrupt, key, FRESH[1]), "own, or occurs twice")
        place.check_refused(advert(place.corrupt, FRESH[0], key), "own, or occurs twice")
    place.check_refused(advert(place.corrupt, mine.mask_key, mine.channel_key), "own, or occurs twice")


def test_the_clients_own_or_repeated_written_in_another_way(place: Place) -> None:
    """The same point on the curve in other bytes."""
    for one in (VICTIM, place.other):
        for key in (place.adverts[one].channel_key, place.adverts[one].mask_key):
            same = key[:-1] + bytes([key[-1] | 128])
            place.check_refused(place.server.advert(place.corrupt, same, FRESH[1]), "not in canonical form")
            place.check_mask_key_refused(same, "not in canonical form")


def test_signed_but_not_on_the_roll(place: Place) -> None:
    """Two advertisements of the corrupt client, both in order: one is shown, the other is on the roll."""
    server, honest = place.server, place.adverts[place.corrupt]
    others = [
        server.advert(place.corrupt, *FRESH),
        server.advert(place.corrupt, FRESH[0], honest.mask_key),
        server.advert(place.corrupt, honest.channel_key, FRESH[1]),
    ]
    for other in others:
        place.check_accepted(other)
        place.check_refused(other, "does not match the roll", on_roll=honest.body())
        place.check_refused(honest.body(), "does not match the roll", on_roll=other)
    place.check_refused(honest.body(), "does not match the roll", on_roll=place.adverts[place.other].body())


def test_a_neighbours_key_does_not_change() -> None:
    """Of a neighbour that the victim chose, when its box comes."""
    place = Place(delivered=True)
    honest, forged = place.adverts[place.other].body(), place.server.advert(place.other, *FRESH)
    server, message = place.show(forged, on_roll=honest, who=place.other)
    server.is_refused(VICTIM, message, "does not match the roll")
    server, message = place.show(honest, on_roll=honest, who=place.other)
    assert server.trial(VICTIM, message)


def test_a_key_of_a_neighbour_that_sent_no_box() -> None:
    """The victim chose it and masks with it; another comes with the same key."""
    place = Place(delivered=True)
    for key, taken in ((FRESH[1], True), (place.adverts[place.other].mask_key, False)):
        body = place.server.advert(place.corrupt, FRESH[0], key)
        server, _ = place.show(body)
        message = deliver(server, {place.corrupt: body})
        if taken:
            assert server.trial(VICTIM, message)
        else:
            server.is_refused(VICTIM, message, "two neighbours have the same key")


@pytest.mark.parametrize("cut", [1, 16, 31, 32, 64])
def test_of_wrong_length(place: Place, cut: int) -> None:
    body = place.adverts[place.corrupt].body()
    server, message = place.show(body)
    whole = append_box(body) if place.delivered else body
    assert message.count(whole) == 1
    for wrong in (whole[cut:], whole + bytes(cut)):
        why = "more entries|continues after|not in order|ends before"
        server.is_refused(VICTIM, message.replace(whole, wrong), why)


def test_a_box_that_comes_back_opens_nothing() -> None:
    """The victim's own box for a neighbour, sent back as that neighbour's: keys have a direction."""
    server = EvilServer(FEDERATION, terms=TERMS)
    honest = server.advance_to(RECEIPT)[VICTIM]
    dealers = Delivery.decode(honest, len(FEDERATION.ids)).dealt.keys()
    other = min(server.graph[VICTIM] & dealers)
    back = server.parcel(VICTIM, other)._replace(keys=keys_in(server.adverts[other].body()))
    state, reply = server.trial(VICTIM, server.delivery(VICTIM, dealers, {other: back}))
    before, _ = server.trial(VICTIM, honest)
    assert State.decode(before).shares.keys() - State.decode(state).shares.keys() == {other}
    assert server.complaints(reply).keys() == {other}

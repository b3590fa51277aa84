"""Parties may refuse to say what single items are worth: which questions say it, and which do not."""

from typing import Any

import numpy as np
import pytest

from folkmoot import FacilityLocation
from folkmoot.conversation.rounds import read_reply
from folkmoot.engines import PartyPolicy
from folkmoot.foundation.coins import PublicCoins
from folkmoot.questions import Gains, GainsAlong, Gradient, Pair, Query, Values
from folkmoot.questions.gains import ask_singletons
from tests.engines.crowds import crowd
from tests.engines.pools import CLIENTS, ITEMS, TERMS, ask_all, make_engine, make_parties, reasons

COINS = PublicCoins(5)


def gains(*members: int) -> Gains:
    mask = np.zeros(ITEMS, dtype=bool)
    mask[list(members)] = True
    return Gains(members=mask, items=np.arange(ITEMS), most=5.0)


def gradient(x: float) -> Gradient:
    return Gradient(x=np.full(ITEMS, x), whole=5.0, coins=COINS, single=5.0, bits=4, stochastic=True)


def values(*sizes: int) -> Values:
    return Values(items=np.arange(ITEMS), sets=np.arange(ITEMS) < np.array(sizes)[:, None], whole=5.0)


def along(first: int) -> GainsAlong:
    order, items = np.arange(4), np.arange(4, ITEMS)
    marks = np.array([first, 3])
    return GainsAlong(order=order, marks=marks, items=items, others=items[:0], wide=3, single=5.0, whole=5.0)


@pytest.mark.parametrize(
    ("query", "shows"),
    [
        (ask_singletons(ITEMS, 5.0), True),
        (gains(), True),
        (gains(2), False),
        (gradient(0.0), True),
        (gradient(0.05), True),  # nearly nothing: less than one item in expectation
        (gradient(0.2), False),
        (values(3, 1), True),
        (values(3, 2), False),
        (along(0), True),
        (along(1), False),
        (Pair(first=values(3, 2), second=gains()), True),
        (Pair(first=values(3, 2), second=gains(1)), False),
    ],
    ids=lambda given: given if isinstance(given, bool) else type(given).__name__,
)
def test_questions_that_start_from_nothing_are_known(query: Query[Any], shows: bool) -> None:
    assert query.shows_singletons == shows


def test_a_set_of_one_unwanted_item_walks_around_the_refusal() -> None:
    """It guards against accidents. What items add to an item that nobody wants is what they are worth alone."""
    worth = crowd(CLIENTS, most=5.0).gains(()).toarray()
    worth[:, 2] = 0.0
    parties = make_parties(FacilityLocation(worth, keep_empty=True, most=5.0), PartyPolicy(TERMS, singletons=False))
    said = make_engine(parties)(ask_all(gains(2)))
    np.testing.assert_allclose(read_reply(gains(2), said).mean, worth.mean(axis=0), atol=1e-5)


def test_a_party_may_refuse_them() -> None:
    parties = make_parties(crowd(CLIENTS, most=5.0), PartyPolicy(TERMS, singletons=False))
    assert make_engine(parties)(ask_all(gains())).lost
    assert reasons(parties) == {"this party does not say what single items are worth by themselves"}
    assert not make_engine(parties)(ask_all(gains(2), 1)).lost

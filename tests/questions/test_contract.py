"""The laws every question keeps, whatever functions the clients have."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from folkmoot import Objective
from folkmoot.conversation.codec import digest_of, pack, unpack
from folkmoot.foundation.coins import key_of
from folkmoot.foundation.sets import Ids
from folkmoot.questions import PartyBase, Query
from tests.coins import toss_for
from tests.questions.kinds import BY_TIMES, EVERY, KEY, KINDS, SHARDS, WIRE


@dataclass(frozen=True)
class Asked:
    """A question, those it was put to, and what they said."""

    query: Query[Any]
    objective: Objective
    ids: Ids
    times: Ids
    rows: Ids

    def total(self, some: Ids) -> Ids:
        return self.query.total(self.objective[some], self.ids[some], self.times[some], toss_for(self.query))


def dense(query: Query[Any], objective: Objective, ids: Ids, times: Ids) -> Ids:
    rows = query.answers(objective, ids, times, toss_for(query))
    assert rows.dtype == np.int64
    assert rows.shape == (objective.n_clients, query.length)
    return np.asarray(rows.toarray())


@cache
def put(kind: str, family: str) -> Asked:
    """Clients have numbers that are not their places, and count several times."""
    objective = EVERY[family](np.random.default_rng(7)).objective
    query = (KINDS | SHARDS)[kind](objective)
    ids = np.array([40, 3, 900_001, 17, 0])[: objective.n_clients]
    times = np.array([3, 1, 2, 7, 5])[: objective.n_clients]
    return Asked(query, objective, ids, times, dense(query, objective, ids, times))


@pytest.fixture(params=list(EVERY))
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=list(KINDS))
def asked(request: pytest.FixtureRequest, family: str) -> Asked:
    return put(request.param, family)


@pytest.fixture(params=list(SHARDS))
def dealt(request: pytest.FixtureRequest, family: str) -> Asked:
    return put(request.param, family)


def test_a_sum_is_what_clients_answer_one_by_one(asked: Asked) -> None:
    query, objective, ids, times = asked.query, asked.objective, asked.ids, asked.times
    total = query.total(objective, ids, times, toss_for(query))
    assert total.dtype == np.int64
    assert total.shape == (query.length,)
    alone = [dense(query, objective[[i]], ids[[i]], times[[i]])[0] for i in range(objective.n_clients)]
    np.testing.assert_array_equal(asked.rows, alone)
    np.testing.assert_array_equal(total, asked.rows.sum(axis=0))
    if type(query).total is not Query.total:  # the fused way and the plain one
        np.testing.assert_array_equal(Query.total(query, objective, ids, times, toss_for(query)), total)


def test_numbers_are_whole_and_within_the_bound(asked: Asked) -> None:
    assert asked.rows.any()
    assert (asked.rows >= asked.query.encoding.lowest * asked.times[:, None]).all()
    assert (asked.rows <= asked.query.encoding.limit * asked.times[:, None]).all()
    assert np.count_nonzero(asked.rows.sum(axis=0)) <= asked.query.count_nonzero(len(asked.ids))
    assert max(np.count_nonzero(row) for row in asked.rows) <= asked.query.count_nonzero(1)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in BY_TIMES])
def test_who_counts_more_often_says_the_same_more_often(kind: str, family: str) -> None:
    asked = put(kind, family)
    once = dense(asked.query, asked.objective, asked.ids, np.ones_like(asked.times))
    np.testing.assert_array_equal(asked.rows, once * asked.times[:, None])


def test_a_question_survives_the_wire(asked: Asked) -> None:
    again = unpack(pack(asked.query), WIRE)
    assert type(again) is type(asked.query)
    assert digest_of(again) == digest_of(asked.query)
    assert again.encoding == asked.query.encoding
    np.testing.assert_array_equal(dense(again, asked.objective, asked.ids, asked.times), asked.rows)


@pytest.mark.slow
def test_a_batch_can_be_cut_in_two(asked: Asked) -> None:
    backwards = np.arange(asked.objective.n_clients)[::-1]
    halves = asked.total(backwards[::2]) + asked.total(backwards[1::2])
    np.testing.assert_array_equal(halves, asked.rows.sum(axis=0))


@pytest.mark.slow
def test_shards_answer_in_ones_and_survive_the_wire(dealt: Asked) -> None:
    assert set(np.unique(dealt.rows)) <= {0, 1}
    total = dealt.query.total(dealt.objective, dealt.ids, dealt.times, toss_for(dealt.query))
    np.testing.assert_array_equal(total, dealt.rows.sum(axis=0))
    again = unpack(pack(dealt.query), WIRE)
    assert digest_of(again) == digest_of(dealt.query)
    np.testing.assert_array_equal(dense(again, dealt.objective, dealt.ids, dealt.times), dealt.rows)


@pytest.mark.slow
def test_a_shard_answers_the_same_whoever_else_is_there(dealt: Asked) -> None:
    """Whose shard is whose follows from the client's number alone, not from the largest number asked."""
    hand = np.random.default_rng(key_of(KEY, 1)).permutation(1_000_000)[dealt.ids] % 2
    if isinstance(dealt.query, PartyBase):
        hand = np.where(dealt.ids >= 20, 1, 0)
    for shard in range(2):
        members = np.flatnonzero(hand == shard)
        if members.size:
            np.testing.assert_array_equal(dealt.total(members), dealt.rows[members[0]])
            assert not dealt.rows[members[1:]].any()

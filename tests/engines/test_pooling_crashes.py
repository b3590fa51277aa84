"""A server that dies, and rounds that are lost, where everybody is asked in every round."""

from pathlib import Path
from typing import Any

import pytest

import folkmoot as fm
from folkmoot.engines import (
    Bundle,
    InProcess,
)
from tests.engines.crowds import crowd
from tests.engines.pools import CLIENTS, make_engine, make_parties

# A server that dies, and rounds that are lost.


class Dying(InProcess):
    """The server dies in some exchange of some round: before it, or when replies have come."""

    stage, number, after, seen = "", 0, False, 0

    def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
        here = next(iter(outbox.values())).stage == self.stage
        self.seen += here
        if here and self.seen == self.number and not self.after:
            raise KeyboardInterrupt
        inbox = super().__call__(outbox, deadline)
        if here and self.seen == self.number:
            raise KeyboardInterrupt
        return inbox


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("stage", ["question", "keys", "choice", "shares", "receipt", "vector", "consent"])
def test_a_run_goes_on_after_the_server_died(stage: str, after: bool, tmp_path: Path) -> None:
    """Everybody is asked in every round. Where answers had been sent, the round is lost and asked with other coins."""
    clients, method = crowd(CLIENTS, most=5.0), fm.FedCG(3, polish=0)
    parties = make_parties(clients)
    exchange = Dying(parties)
    exchange.stage, exchange.number, exchange.after = stage, 2, after
    with pytest.raises(KeyboardInterrupt):
        fm.solve(None, 3, method, engine=make_engine(parties, exchange), seed=2, transcript=tmp_path / "run")
    result = fm.resume(tmp_path / "run", engine=make_engine(parties))
    lost = [one.answered == 0 for one in result.rounds or ()]
    again = stage in ("vector", "consent")  # answers had been sent, or were about to be
    assert sum(lost) == again
    assert fm.verify(tmp_path / "run").estimate == result.estimate
    if not again:
        assert result.estimate == fm.solve(clients, 3, method, seed=2).estimate
    answered = [entry.question for entry in parties[0].ledger]
    assert len(set(answered)) == len(answered)  # no question was answered twice


def test_a_round_whose_sum_may_be_known_is_not_asked_again(tmp_path: Path) -> None:
    clients, method = crowd(CLIENTS, most=5.0), fm.FedCG(3, polish=0)
    parties = make_parties(clients)
    exchange = Dying(parties)
    exchange.stage, exchange.number, exchange.after = "unmasking", 2, True
    with pytest.raises(KeyboardInterrupt):
        fm.solve(None, 3, method, engine=make_engine(parties, exchange), seed=2, transcript=tmp_path / "run")
    with pytest.raises(fm.RoundFailed, match="lost after clients had sent their answers, and everyone was asked"):
        fm.resume(tmp_path / "run", engine=make_engine(parties))


class Failing(InProcess):
    """Two parties are gone in some exchange of some rounds."""

    stage, seen = "", 0
    numbers: tuple[int, ...] = ()

    def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
        here = next(iter(outbox.values())).stage == self.stage
        self.seen += here
        inbox = super().__call__(outbox, deadline)
        return (
            {name: reply for name, reply in inbox.items() if name > 1} if here and self.seen in self.numbers else inbox
        )


@pytest.mark.parametrize("stage", ["keys", "vector", "consent", "unmasking"])
def test_a_lost_round_is_asked_again_unless_its_sum_may_be_known(stage: str) -> None:
    clients, method = crowd(CLIENTS, most=5.0), fm.FedCG(3, polish=0)
    parties = make_parties(clients)
    exchange = Failing(parties)
    exchange.stage, exchange.numbers = stage, (2,)
    engine = make_engine(parties, exchange)
    if stage in ("consent", "unmasking"):  # those who are left are asked for their shares
        with pytest.raises(fm.RoundFailed, match="everyone was asked"):
            fm.solve(None, 3, method, engine=engine, seed=2)
        return
    result = fm.solve(None, 3, method, engine=engine, seed=2)
    assert [one.answered == 0 for one in result.rounds or ()] == [
        False,
        True,
        *[False] * (len(result.rounds or ()) - 2),
    ]

"""How much noise parties add, and whole runs among parties with a budget."""

from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import folkmoot as fm
from folkmoot.conversation.population import Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.engines import Bundle, InProcess
from folkmoot.privacy.accounting import find_mu
from folkmoot.privacy.noise import KeyedNoise
from tests.engines.noisy import KINDS, MU, Site, ask_noise, close, limit, make_site
from tests.engines.pools import CLIENTS, ITEMS

# How much noise there is.


def test_any_pooled_sum_has_the_noise_that_was_promised() -> None:
    """Nobody has anything to say, so sums are noise. Without one party that is gone and one that tells its own share,
    at least σ is left. 4,000 numbers: an estimate is within 6 % except with probability 10^-7.
    """
    items, noise = 4_000, KeyedNoise(b"test")
    nothing = fm.FacilityLocation(sparse.csr_array((CLIENTS, items)), keep_empty=True, most=1.0)
    fields: dict[str, Any] = {"members": np.zeros(items, dtype=bool), "items": np.arange(items), "most": 1.0}
    query = ask_noise(MU, **fields)
    for gone in (set[int](), {4}):
        site = make_site("pooled", limit("pooled", budget=None), noise=noise, clients=nothing)

        class Leaving(InProcess):
            def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
                late = gone if next(iter(outbox.values())).stage == "vector" else set()  # noqa: B023
                inbox = super().__call__(outbox, deadline)
                return {one: reply for one, reply in inbox.items() if one not in late}

        ask = Ask(query, Population.of(nothing).everyone, Purpose.SEARCH, "test", 0)
        said = site.engine(Leaving(site.parties))(ask)
        assert not said.lost
        assert said.honest == 3
        left = 5 - len(gone)
        assert said.noise == pytest.approx(query.sd * sqrt(left / 3))
        assert np.std(said.total) == pytest.approx(said.noise, rel=0.06)
        share = query.added_noise.draw_share(items, 3, noise.find_private(0, 1))
        assert np.std(said.total - share) == pytest.approx(query.sd * sqrt((left - 1) / 3), rel=0.06)
        assert np.std(said.total - share) >= 0.94 * query.sd
        assert abs(np.corrcoef(said.total, share)[0, 1] - sqrt(1 / left)) < 0.1


def test_every_client_of_a_pool_is_scaled_by_itself() -> None:
    """One client with a hundred times the values of all others adds no more than they do."""
    worth = np.zeros((CLIENTS, ITEMS))
    worth[:, 0], worth[7] = 1.0, 0.0
    worth[7, 1] = 100.0
    clients = fm.FacilityLocation(sparse.csr_array(worth), keep_empty=True, most=100.0)
    site = make_site("pooled", limit("pooled", budget=None), noise=KeyedNoise(b"k"), clients=clients)
    query = ask_noise(50.0, most=1.0)
    said = site.engine()(site.ask(query))
    found = said.total / query.norm
    assert found[0] == pytest.approx(CLIENTS - 1, abs=1.0)
    assert found[1] == pytest.approx(1.0, abs=0.2)


# Whole runs.


GENEROUS = fm.Privacy(8.0, 1e-3)


def run_privately(site: Site, exchange: Any = None, run: bytes = b"run", **how: Any) -> fm.Result:
    return fm.solve(None, 3, privacy=GENEROUS, engine=site.engine(exchange, run=run), seed=3, **how)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_spends_what_it_says_and_verifies(kind: str, tmp_path: Path) -> None:
    """Parties whose budget is that of the run answer all of it, and nothing after it."""
    site = make_site(kind, limit(kind, budget=GENEROUS))
    result = run_privately(site, transcript=tmp_path / "run")
    assert result.privacy is not None
    assert close(site.paid, sum(one.mu**2 for one in result.privacy.spendings))
    assert max(site.paid) <= find_mu(8.0, 1e-3) ** 2 * (1 + 1e-9)
    assert fm.verify(tmp_path / "run").selected == result.selected
    again = Site(kind, limit(kind, budget=GENEROUS), site.stores)
    with pytest.raises(fm.RoundFailed):
        run_privately(again, run=b"another")
    assert all("the answer would go beyond a client's budget of ε = 8" in why for why in again.reasons)


class Dying(InProcess):
    """The server dies in the vector exchange of the third round, when replies have come or before."""

    stage, number, after, seen = "vector", 3, True, 0

    def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
        self.seen += next(iter(outbox.values())).stage == self.stage
        if self.seen < self.number:
            return super().__call__(outbox, deadline)
        if self.after:
            super().__call__(outbox, deadline)
        raise KeyboardInterrupt


@pytest.mark.parametrize(("stage", "after"), [("vector", True), ("vector", False), ("keys", True), ("consent", True)])
def test_a_run_goes_on_after_a_crash_and_all_that_left_was_paid(stage: str, after: bool, tmp_path: Path) -> None:
    site = make_site("pooled", limit("pooled", budget=GENEROUS))
    exchange = Dying(site.parties)
    exchange.stage, exchange.after = stage, after
    with pytest.raises(KeyboardInterrupt):
        run_privately(site, exchange, transcript=tmp_path / "run")
    before = site.paid
    result = fm.resume(tmp_path / "run", engine=site.engine(run=b"run"))
    assert result.privacy is not None
    assert max(site.paid) > max(before)
    spent = sum(one.mu**2 for one in result.privacy.spendings)
    assert max(site.paid) <= spent * (1 + 1e-9) <= find_mu(8.0, 1e-3) ** 2 * (1 + 2e-9)
    left = (stage, after) in (("vector", True), ("consent", True))
    assert (max(site.paid) == pytest.approx(spent)) or not left
    assert fm.verify(tmp_path / "run").selected == result.selected
    digests = [entry.question for entry in site.parties[0].ledger]
    assert len(set(digests)) == len(digests)


def test_a_round_that_is_lost_in_a_run_is_paid_by_all(tmp_path: Path) -> None:
    """The run divides what is left; together it stays within its budget, and within that of the parties."""
    site = make_site("pooled", limit("pooled", budget=GENEROUS))

    class Failing(InProcess):
        seen = 0

        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            inbox = super().__call__(outbox, deadline)
            here = next(iter(outbox.values())).stage == "vector"
            Failing.seen += here
            return {one: reply for one, reply in inbox.items() if one > 1} if here and Failing.seen == 2 else inbox

    result = run_privately(site, Failing(site.parties), transcript=tmp_path / "run")
    assert result.privacy is not None
    assert [one.lost for one in result.privacy.spendings].count(True) == 1
    assert close(site.paid, sum(one.mu**2 for one in result.privacy.spendings))
    assert max(site.paid) <= find_mu(8.0, 1e-3) ** 2 * (1 + 1e-9)
    assert fm.verify(tmp_path / "run").selected == result.selected


@pytest.mark.parametrize("kind", KINDS)
def test_answers_that_never_arrive_are_paid_on_both_sides(kind: str) -> None:
    """The server cannot know that they left, and counts them; otherwise it would ask for more than is left."""
    site = make_site(kind, limit(kind, budget=GENEROUS))

    class Forgetting(InProcess):
        seen = 0

        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            inbox = super().__call__(outbox, deadline)
            here = next(iter(outbox.values())).stage == "vector"
            Forgetting.seen += here
            return {} if here and Forgetting.seen == 2 else inbox

    result = run_privately(site, Forgetting(site.parties))
    assert result.privacy is not None
    assert [one.lost for one in result.privacy.spendings].count(True) == 1
    assert close(site.paid, sum(one.mu**2 for one in result.privacy.spendings))
    assert not site.reasons

"""An engine over any exchange: costs are counted, and nobody can speak for another party's clients."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot import FedCG, InputError, Simulation, solve, verify
from folkmoot.conversation.engine import Cancelled, Control
from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask
from folkmoot.engines import Bundle, Federation, InProcess
from folkmoot.engines.answering import write_question
from folkmoot.engines.exchange import QUESTION
from folkmoot.engines.leading import EXCHANGES
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Ids
from folkmoot.questions import Differences, Gradient, Query
from folkmoot.secagg import Announcement
from folkmoot.secagg.together import STAGES
from folkmoot.secagg.traffic import traffic
from tests.coins import toss_for
from tests.engines.crowds import (
    TERMS,
    Listener,
    ask_everyone,
    crowd,
    gradient,
    make_federation,
    make_party,
    make_roster,
    voluntary,
)

CLIENTS = 16
EVEN, ODD = np.arange(0, CLIENTS, 2), np.arange(1, CLIENTS, 2)


def two_parties() -> Federation:
    clients = crowd(CLIENTS)
    return make_federation(clients, [make_party(clients, EVEN), make_party(clients, ODD)])


def test_sums_are_the_simulator_s_wherever_clients_live() -> None:
    clients, federation = crowd(CLIENTS), two_parties()
    compared = Differences(
        items=np.arange(12),
        sets=np.random.default_rng(0).random((4, 12)) < 0.3,
        most=5.0,
        standing=5.0,
        draw=1,
    )
    assert compared.encoding.lowest < 0
    queries: list[Query[Any]] = [gradient(12), voluntary(12), compared]
    for number, query in enumerate(queries):
        ask = ask_everyone(CLIENTS, query, number)
        said, expected = federation(ask), Simulation(clients)(ask)
        assert said.equals(expected)
        assert (said.clients, said.asked) == (expected.clients, expected.asked)


def test_bytes_are_those_that_were_sent() -> None:
    carried = {"down": 0, "up": 0}

    class Weighing(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            inbox = super().__call__(outbox, deadline)
            for way, bundles in (("down", outbox), ("up", inbox)):
                for bundle in bundles.values():
                    carried[way] += len(bundle.question) + sum(map(len, bundle.letters.values()))
            return inbox

    clients = crowd(CLIENTS)
    parties = [make_party(clients, EVEN), make_party(clients, ODD)]
    ask = ask_everyone(CLIENTS, gradient(12))
    said = make_federation(clients, parties, Weighing(dict(enumerate(parties))))(ask)
    assert said.cost is not None
    assert said.cost.measured
    assert said.cost.down * CLIENTS == pytest.approx(carried["down"])
    assert said.cost.up * CLIENTS == pytest.approx(carried["up"])


def test_a_simulation_counts_what_devices_of_their_own_would_receive() -> None:
    """The protocol's computed bytes, and the question to each."""
    clients, ask = crowd(CLIENTS), ask_everyone(CLIENTS, gradient(12))
    said = Simulation(clients, "real", policy=TERMS)(ask)
    size = ask.query.length, ask.span
    announcement = Announcement(bytes(16), 0, bytes(32), bytes(32), CLIENTS, *size, largest=ask.largest_answer)
    down, up = traffic(announcement, TERMS.protection(CLIENTS)).total
    question = len(write_question(ask, bytes(16)))  # sessions differ, and so does what they are compressed to
    assert said.cost is not None
    assert said.cost.down == pytest.approx(down + question + 8, abs=32)
    assert said.cost.up == pytest.approx(up + 4)


def test_lost_rounds_cost_too() -> None:
    clients = crowd(CLIENTS)
    said = make_federation(clients, [make_party(clients, EVEN), make_party(clients, ODD)], lambda _out, _until: {})(
        ask_everyone(CLIENTS, gradient(12))
    )
    assert (said.lost, said.spent, said.clients) == (True, False, 0)
    assert said.cost is not None
    assert said.cost.down > 0
    assert said.cost.up == 0


@pytest.mark.parametrize("stage", [QUESTION, *STAGES])
def test_a_party_cannot_speak_for_the_clients_of_another(stage: str) -> None:
    """Its word about them counts for nothing, and changes nothing."""

    class Lying(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            inbox = super().__call__(outbox, deadline)
            if next(iter(outbox.values())).stage == stage:
                stolen = dict(inbox[0].letters) | dict.fromkeys(ODD.tolist(), b"mine")
                inbox |= {0: Bundle(stolen), 9: Bundle(dict.fromkeys(range(CLIENTS), b"whose"))}
            return dict(reversed(inbox.items()))

    clients, ask = crowd(CLIENTS), ask_everyone(CLIENTS, gradient(12))
    parties = [make_party(clients, EVEN), make_party(clients, ODD)]
    said = make_federation(clients, parties, Lying(dict(enumerate(parties))))(ask)
    assert said.equals(Simulation(clients)(ask))


@pytest.mark.parametrize("word", [b"", bytes(4), (3).to_bytes(4, "little"), bytes(9)])
def test_nobody_speaks_for_others_unless_the_question_is_for_groups(word: bytes) -> None:
    """Whoever is said to be spoken for, or to say something else, does not take part."""

    class Mumbling(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            inbox = super().__call__(outbox, deadline)
            if next(iter(outbox.values())).stage == QUESTION:
                inbox[0] = Bundle({**inbox[0].letters, 2: word})
            return inbox

    clients, ask = crowd(CLIENTS), ask_everyone(CLIENTS, gradient(12))
    parties = [make_party(clients, EVEN), make_party(clients, ODD)]
    said = make_federation(clients, parties, Mumbling(dict(enumerate(parties))))(ask)
    others = np.delete(np.arange(CLIENTS), 2)
    assert (said.clients, said.count) == (CLIENTS - 1, CLIENTS - 1)
    np.testing.assert_array_equal(
        said.total, ask.query.total(clients[others], others, np.ones_like(others), toss_for(ask.query))
    )


def test_progress_tells_the_exchange() -> None:
    steps: list[tuple[str, int, int]] = []
    control = Control(progress=lambda *step: steps.append(step))
    two_parties().add_up(ask_everyone(CLIENTS, gradient(12)), control)
    assert steps == [(stage, done, EXCHANGES) for done, stage in enumerate((QUESTION, *STAGES, "sum"))]


@pytest.mark.parametrize("exchange", range(EXCHANGES))
def test_a_cancelled_round_ends_before_the_next_exchange(exchange: int) -> None:
    steps: list[str] = []
    control = Control(cancelled=lambda: len(steps) > exchange, progress=lambda what, *_: steps.append(what))
    if exchange == EXCHANGES - 1:  # the last has begun
        assert not two_parties().add_up(ask_everyone(CLIENTS, gradient(12)), control).lost
    else:
        with pytest.raises(Cancelled):
            two_parties().add_up(ask_everyone(CLIENTS, gradient(12)), control)
    last = ["sum"] if exchange == EXCHANGES - 1 else []
    assert steps == [QUESTION, *STAGES][: exchange + 1] + last


@pytest.mark.parametrize("stage", [QUESTION, *STAGES])
def test_a_round_that_is_not_over_at_its_deadline_is_lost(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr(Control, "is_over", lambda _: steps[-1] == stage)
    said = two_parties().add_up(
        ask_everyone(CLIENTS, gradient(12)), Control(progress=lambda what, *_: steps.append(what))
    )
    assert said.lost
    assert said.spent == (stage in STAGES[STAGES.index("vector") + 1 :])


def test_verifying_asks_nobody(tmp_path: Path) -> None:
    clients, federation = crowd(CLIENTS), two_parties()
    method = FedCG(1, cohort=12)
    result = solve(clients, 2, method, engine=federation, seed=5, transcript=tmp_path / "run")
    listener = Listener(federation)
    assert not listener.can_recompute
    again = verify(tmp_path / "run", engine=listener)
    assert again.selected == result.selected
    assert not listener.asks


def test_a_second_run_is_another_session() -> None:
    """Round numbers begin again; other questions are answered, and the same are not."""
    federation = two_parties()
    assert not federation(ask_everyone(CLIENTS, gradient(12, 1), 5)).lost
    assert not federation(ask_everyone(CLIENTS, gradient(12, 2), 0)).lost
    assert federation(ask_everyone(CLIENTS, gradient(12, 1), 1)).lost


def test_nobody_volunteers() -> None:
    said = two_parties()(ask_everyone(CLIENTS, voluntary(12, share=1e-9)))
    assert (said.lost, said.count, said.clients) == (False, 0, 0)
    assert said.present is not None
    assert not said.present.any()


def test_clients_that_no_party_holds_are_missing() -> None:
    clients = crowd(CLIENTS)
    ids = np.arange(12)
    said = make_federation(clients, [make_party(clients, ids)])(ask_everyone(CLIENTS, gradient(12)))
    assert said.clients == 12
    few = make_federation(clients, [make_party(clients, ids[:7])])(ask_everyone(CLIENTS, gradient(12)))
    assert (few.lost, few.spent, few.clients) == (True, False, 7)


class Odd(Gradient):
    """A question that nobody should answer."""

    def check(self, n_items: int, n_clients: int | None = None) -> None:  # noqa: ARG002
        raise InputError("is odd")


def test_a_question_that_clients_would_refuse_is_not_asked() -> None:
    query = Odd(x=np.full(12, 0.1), whole=5.0, coins=PublicCoins(1), single=5.0, bits=4, stochastic=True)
    with pytest.raises(InputError, match=r"^query: clients would refuse this Odd \(is odd\)"):
        two_parties()(ask_everyone(CLIENTS, query))


@pytest.mark.parametrize(
    ("parties", "sentence"),
    [
        ({0: EVEN, 1: np.arange(4)}, "^parties: two parties hold the same client"),
        ({0: np.array([3, CLIENTS])}, "^parties: needs client numbers below 16"),
    ],
)
def test_a_client_is_at_one_party(parties: dict[int, Ids], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Federation(Population.of(crowd(CLIENTS)), make_roster(CLIENTS), parties, InProcess({}), TERMS)


def test_asks_may_be_for_any_of_the_roster() -> None:
    """One roster for all: a cohort is some of it."""
    clients, federation = crowd(CLIENTS), two_parties()
    for number in range(2):
        cohort = federation.population.draw(11, PublicCoins(number))
        ask = Ask(gradient(12, number), cohort, ask_everyone(CLIENTS, gradient(12)).purpose, "some", number)
        assert federation(ask).equals(Simulation(clients)(ask))

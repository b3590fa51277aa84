"""What reports say of runs with noise."""

from dataclasses import replace

import pytest

from folkmoot.report import markdown
from folkmoot.report.describe import describe
from folkmoot.report.document import Figure, Paragraph, Table, Tone, walk_document
from folkmoot.report.sections.noise import bound_guess, state_promise
from folkmoot.report.stored_story import from_json, to_json
from tests.report.stories import ACCOUNT, BASELINES, SHAPES, make_story

NOISY = ("noise", "noise that drowns", "noise of parties")


@pytest.mark.parametrize("name", NOISY)
def test_it_is_read_back(name: str) -> None:
    assert from_json(to_json(SHAPES[name])) == SHAPES[name]


@pytest.mark.parametrize("name", NOISY)
def test_differences_and_small_sums_are_no_danger_under_noise(name: str) -> None:
    told = markdown(SHAPES[name])
    assert "not differential privacy" not in told
    assert "Smallest difference" not in told
    assert "shows nothing beyond the promise above" in told
    assert "That one took part" in told


def test_only_a_simulation_warns_that_it_protects_nobody() -> None:
    def warnings(name: str) -> list[str]:
        parts = walk_document(describe(SHAPES[name]))
        return [part.text for part in parts if isinstance(part, Paragraph) and part.tone is Tone.WARNING]

    assert any("protects nobody here" in text for text in warnings("noise"))
    assert any("protects nobody here" in text for text in warnings("noise that drowns"))
    assert any("much is lost in noise" in text for text in warnings("noise that drowns"))
    assert not warnings("noise of parties")


def test_a_forecast_is_held_against_what_was_reached() -> None:
    low = make_story(replace(SHAPES["noise"].result, value=2.0), baselines=BASELINES)
    for story, sentence in (
        (SHAPES["noise"], "This run reached 98.5 % of central greedy (which sees all data); the forecast was 96 %."),
        (low, "This run reached 47 % of central greedy (which sees all data), less than the forecast of 96 %"),
    ):
        assert sentence in markdown(story).replace("\u202f", " ")


def test_the_promise_is_the_definition() -> None:
    promise, conditions = state_promise(SHAPES["noise"], ACCOUNT)
    for part in ("each single one of the 2,000 users", "2.72 times", "nothing to say", "the other way round"):
        assert part in promise
    assert "breaks every rule" in conditions
    assert (
        "anyone else, with any other data"
        in state_promise(SHAPES["noise"], replace(ACCOUNT, adjacency="replace-one"))[0]
    )
    assert "parties on its side" in state_promise(SHAPES["noise of parties"], ACCOUNT)[1]


def test_a_guess_is_bounded_from_above() -> None:
    assert bound_guess(replace(ACCOUNT, mu=0.3)) == 0.56  # Φ(0.15) = 0.5596…
    assert bound_guess(replace(ACCOUNT, mu=1e-6)) == 0.501
    assert bound_guess(replace(ACCOUNT, mu=40.0)) == 1.0


def test_every_round_is_in_the_budget() -> None:
    parts = list(walk_document(describe(SHAPES["noise"])))
    table = next(part for part in parts if isinstance(part, Table) and part.title == "The budget, round by round")
    assert [row[1] for row in table.rows][1] == "narrowing, round 2 (lost)"
    drawn = next(part for part in parts if isinstance(part, Figure) and part.name == "budget")
    assert len(drawn.wide["data"]["values"]) == len(ACCOUNT.spendings)
    assert not any(isinstance(part, Figure) and part.name == "answer" for part in parts)  # gains are not known


def test_without_noise_nothing_is_promised() -> None:
    assert "promises to each one" not in markdown(SHAPES["full"])

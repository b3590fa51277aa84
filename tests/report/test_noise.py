"""What reports say of runs with noise."""

from dataclasses import replace

import pytest

from folkmoot.privacy.accounting import find_epsilon, find_mu
from folkmoot.privacy.forecast import expect
from folkmoot.report import markdown, markdown_of
from folkmoot.report.describe import describe
from folkmoot.report.document import Fact, Figure, Paragraph, Table, Tone, walk_document
from folkmoot.report.numbers import percent, round_up
from folkmoot.report.sections.noise import (
    bound_guess,
    list_unhidden,
    state_promise,
    summarise_spending,
    warn_of_noise,
)
from folkmoot.report.stored_story import from_json, to_json
from tests.report.stories import ACCOUNT, COMPARISON, SHAPES, make_story

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
    """That of trials on the data; without them, what was reached on data of all kinds."""
    low = replace(SHAPES["noise"], result=replace(SHAPES["noise"].result, value=2.0))
    unknown, all_kinds = replace(low, forecast=None), expect(ACCOUNT.signal)
    reached = "This run reached 47 % of central greedy (which sees all data), less than the forecast of"
    for story, sentence in (
        (SHAPES["noise"], "98.5 % of central greedy (which sees all data); the forecast was 94 % to 99 %."),
        (low, f"{reached} 94 % to 99 %."),
        (unknown, f"the forecast was {percent(all_kinds.low)} to {percent(all_kinds.high)}."),
    ):
        assert sentence.replace("\u202f", " ") in markdown(story).replace("\u202f", " ")


def test_there_is_one_signal() -> None:
    """The number that `inspect` prints; how far the best items stood out is called something else."""
    facts = {part.name: part.value for part in walk_document(describe(SHAPES["noise"])) if isinstance(part, Fact)}
    assert getattr(facts["Signal"], "value", None) == ACCOUNT.signal
    assert "Before picking, the best items stood 6.5 deviations above it" in markdown(SHAPES["noise"])


def test_the_promise_is_the_definition() -> None:
    promise, conditions = state_promise(SHAPES["noise"], ACCOUNT)
    for part in ("each single one of the 2,000 users", "2.72 times", "nothing to say", "the other way round"):
        assert part in promise
    assert "breaks every rule" in conditions
    assert (
        "anyone else, with any other data"
        in state_promise(SHAPES["noise"], replace(ACCOUNT, adjacency="replace-one"))[0]
    )


def test_the_promise_says_how_many_may_be_corrupt() -> None:
    def tell(name: str, corrupt: float | None) -> str:
        return state_promise(replace(SHAPES[name], corrupt=corrupt), ACCOUNT)[1].replace("\u202f", " ")

    assert "on its side 10 % of the clients that it asks, but no more" in tell("noise", 0.1)
    assert "on its side none of the clients" in tell("noise", 0.0)
    assert "as many of the clients as the terms of secure aggregation allow" in tell("noise", None)
    assert "on its side 1 of the 5 parties, but no more" in tell("noise of parties", 0.3)


@pytest.mark.parametrize(
    ("clients", "delta", "warned"),
    [(30, 0.49, "one in 2 "), (2000, 1 / 2000, "one in 2,000 "), (2000, 0.9 / 2000, None), (0, 0.01, "one in 100 ")],
)
def test_a_delta_of_one_client_is_no_promise(clients: int, delta: float, warned: str | None) -> None:
    """Where nobody says how many clients there are, those who were asked are counted."""
    account = replace(ACCOUNT, delta=delta)
    told = [one.text for one in warn_of_noise(replace(SHAPES["noise of parties"], n_clients=clients), account)]
    assert [f"is no promise: as good as {warned}may be exposed" in one for one in told] == [True] * bool(warned)


def test_the_headline_hides_nobody_who_is_not_hidden() -> None:
    parties, simulated = SHAPES["noise of parties"], SHAPES["noise"]
    assert summarise_spending(parties, ACCOUNT).endswith(": noise hides every single one")
    for weak in (replace(ACCOUNT, epsilon=9.0), replace(ACCOUNT, delta=0.1)):
        assert summarise_spending(parties, weak).endswith(": this promises little")
        assert summarise_spending(simulated, weak).endswith("which promises little; a simulation protects nobody")
    assert summarise_spending(simulated, ACCOUNT).endswith("noise as it would be; a simulation protects nobody")


def test_groups_and_weights_are_not_hidden_as_well() -> None:
    account = replace(ACCOUNT, mu=find_mu(1.0, 1e-5), delta=1e-5)
    lines = list_unhidden(SHAPES["noise"], account)
    groups = next(one for one in lines if one.startswith("Groups"))
    both = find_epsilon(2 * account.mu, account.delta)
    assert both > 2.0  # two are hidden less than half as well at the same δ
    assert f"ε = {round_up(both, 3)} at the same δ" in groups
    assert any("where weights differ" in one for one in lines)
    assert any("twice the δ" in one for one in lines)


def test_rounds_of_fresh_cohorts_cost_only_those_asked() -> None:
    drawn = [part for part in walk_document(describe(SHAPES["noise that drowns"])) if isinstance(part, Figure)]
    budget = next(part for part in drawn if part.name == "budget")
    assert "those who were asked in it" in budget.title
    assert "those who were asked in it" in budget.wide["description"]
    told = markdown(SHAPES["noise that drowns"])
    assert "answered at most once" in told
    assert "cost everyone" not in told


def test_a_bound_from_sums_says_how_sure_it_is() -> None:
    for name, sure in (("noise", " (with 95 % confidence)"), ("everyone", ""), ("central", "")):
        facts = [part for part in walk_document(describe(SHAPES[name])) if isinstance(part, Fact)]
        note = next(fact.note for fact in facts if fact.name == "Upper bound")
        assert note.replace("\u202f", " ") == f"no allowed set is worth more{sure}"


def test_one_round_is_one() -> None:
    why = "Private greedy: items were picked in 1 rounds."
    assert "picked in 1 round." in markdown(make_story(replace(SHAPES["noise"].result, why=why)))


def test_a_comparison_with_noise_warns_too() -> None:
    first, *others = COMPARISON.entries
    noisy = replace(COMPARISON, entries=(replace(first, epsilon=9.0, delta=0.25), *others))
    told = markdown_of(noisy)
    for part in ("only if you could pass on the data", "ε = 9 promises little", "one in 4 may be exposed", "δ = 0.25"):
        assert part in told
    assert "pass this comparison on" not in markdown_of(COMPARISON)


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

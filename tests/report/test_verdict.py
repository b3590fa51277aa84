"""One sentence that says whether the choice is worth having."""

from dataclasses import replace
from typing import Any

import pytest

from folkmoot.conversation.result import Result, Round
from folkmoot.report import Baseline, LimitUse, Story, markdown, result_text, state_verdict
from folkmoot.report.describe import story_of
from folkmoot.report.document import Fact, Level
from folkmoot.report.sections.answer import explain_total
from folkmoot.report.sections.headline import describe_headline, describe_limit
from tests.report.stories import ACCOUNT, BASELINES, ESTIMATE, SHAPES, make_central, make_federated, make_story

NAMES, GAINS = ("Alien", "Brazil", "Clue"), (2.5, 1.25, 0.44)


def compare_with(popular: float, **changed: Any) -> str:
    """The verdict on a choice worth 4.19, where all the data is here."""
    told = make_story(make_federated(NAMES, GAINS), baselines=(Baseline("most popular", popular, ""),), **changed)
    return state_verdict(told).replace("\u202f", " ")


@pytest.mark.parametrize(
    ("popular", "verdict"),
    [
        (3.7, "13 % above the most popular films."),
        (4.05, "3.4 % above the most popular films."),
        (4.18, "0.23 % above the most popular films."),
        (4.19, "No better than the most popular films: use those."),
        (4.1895, "No better than the most popular films: use those."),  # no number could say by how much
        (4.3, "2.6 % below the most popular films: use those."),
        (0.0, "The most popular films are worth nothing, and these are."),
    ],
)
def test_with_the_data_it_is_exact(popular: float, verdict: str) -> None:
    assert compare_with(popular) == verdict


def test_a_bad_answer_is_not_praised() -> None:
    """To be above the most popular items is little where far more is possible, or may be."""
    popular, central = Baseline("most popular", 3.248, ""), Baseline("central greedy", 10.475, "", sees_everything=True)
    made = make_federated(NAMES, GAINS)
    low = replace(made, estimate=replace(ESTIMATE, bound=400.0, bound_high=419.0))

    def tell(result: Result, *baselines: Baseline) -> str:
        return state_verdict(make_story(result, baselines=baselines)).replace("\u202f", " ")

    praise = "29 % above the most popular films."
    assert tell(made, popular, central) == f"Only 40 % of what central greedy finds, although {praise}"
    assert tell(low, popular) == f"No more than 0.9 % of the best possible is sure, although {praise}"
    assert tell(low, popular, replace(central, value=4.2)) == praise  # what is possible is known
    assert tell(made, popular) == praise


def test_under_noise_nobody_is_sent_to_what_cannot_be_known() -> None:
    private = replace(make_federated(NAMES, GAINS), privacy=ACCOUNT)
    told = make_story(private, baselines=(Baseline("most popular", 4.3, ""),))
    said = "2.6 % below the most popular films (noise hides which these are)."
    assert state_verdict(told).replace("\u202f", " ") == said


@pytest.mark.parametrize(
    ("random", "verdict"),
    [
        (2.0, "109 % above a random choice, which beats the most popular films."),
        (4.19, "No better than a random choice, which beats the most popular films."),
        (4.3, "2.6 % below a random choice, which beats the most popular films."),
        (1.0, "179 % above the most popular films."),
    ],
)
def test_the_better_of_popular_and_random_is_what_it_is_measured_by(random: float, verdict: str) -> None:
    others = (Baseline("most popular", 1.5, ""), Baseline("random", random, ""))
    told = state_verdict(make_story(make_federated(NAMES, GAINS), baselines=others))
    assert told.replace("\u202f", " ") == verdict


def test_where_random_is_better_by_an_estimate_it_says_so() -> None:
    estimate = replace(ESTIMATE, popularity=1.0, random=2.0)
    told = state_verdict(make_story(make_federated(NAMES, GAINS, value=None, estimate=estimate)))
    assert told.endswith("above a random choice, which beats the most popular films, by an estimate from sums.")
    unsure = replace(ESTIMATE, popularity=1.0, random=2.0, high=9.0)
    told = state_verdict(make_story(make_federated(NAMES, GAINS, value=None, estimate=unsure)))
    assert told.endswith("above the most popular films, by an estimate from sums.")
    near = replace(ESTIMATE, popularity=1.0, random=4.16)
    told = state_verdict(make_story(make_federated(NAMES, GAINS, value=None, estimate=near)))
    assert told.startswith(
        "No better than a random choice, which beats the most popular films, as far as sums can tell: 0.96\u202f% above"
    )


def test_what_is_the_most_popular_is_called_so() -> None:
    same = (Baseline("most popular", 4.19, "", same=True),)
    limits = (LimitUse(2, "genre"),)
    told = state_verdict(make_story(make_federated(NAMES, GAINS), baselines=same, limits=limits))
    assert told == "These are the most popular films that the limits allow."


def test_limits_are_in_it() -> None:
    limits = (LimitUse(2, "genre", used=(("Comedy", 2),)),)
    assert compare_with(3.7, limits=limits) == "13 % above the most popular films that the limits allow."


@pytest.mark.parametrize(
    ("popular", "verdict"),
    [
        (3.7, "13 % above the most popular films, by an estimate from sums."),
        (4.16, "No better than the most popular films, as far as sums can tell: 0.96 % above, but within the error of"),
        (4.21, "No better than the most popular films, as far as sums can tell: 0.24 % below, but within the error of"),
        (6.0, "30 % below the most popular films: use those."),
        (None, "At least 93.2 % of the best possible (with 95 % confidence)."),
    ],
)
def test_an_estimate_is_told_as_one(popular: float | None, verdict: str) -> None:
    """The estimate is 4.2, at least 4.15."""
    estimate = replace(ESTIMATE, popularity=popular)
    told = state_verdict(make_story(make_federated(NAMES, GAINS, value=None, estimate=estimate)))
    assert told.replace("\u202f", " ").startswith(verdict)


def test_sums_over_everyone_are_exact() -> None:
    everyone = replace(ESTIMATE, everyone=True, low=4.2, high=4.2, popularity=4.1)
    told = state_verdict(make_story(make_federated(NAMES, GAINS, value=4.2, estimate=everyone)))
    assert told.replace("\u202f", " ") == "2.4 % above the most popular films."


def test_the_most_popular_are_called_so() -> None:
    result = replace(make_central(NAMES, GAINS, 4.5), method="Popularity()")
    assert state_verdict(make_story(result, baselines=BASELINES)) == "These are the most popular films."


def test_what_is_not_known_is_not_told() -> None:
    assert state_verdict(SHAPES["no names"]) == "What this choice is worth is not known."
    assert state_verdict(SHAPES["central, no bound"]) == "How far this choice is from the best possible is not known."


@pytest.mark.parametrize("name", SHAPES)
def test_it_heads_every_report(name: str) -> None:
    story: Story = SHAPES[name]
    verdict = state_verdict(story)
    assert verdict.endswith(".")
    assert verdict.count(". ") == 0
    if name != "hostile":
        head = markdown(story).split("| Fact |")[0]
        assert verdict in head


def test_a_result_by_itself_says_how_it_compares_where_it_knows() -> None:
    assert "above the most popular items, by an estimate from sums" in result_text(SHAPES["full"].result)
    assert "of the best possible." not in result_text(SHAPES["central"].result)
    assert state_verdict(story_of(SHAPES["central"].result)) == "At least 100\u202f% of the best possible."


def test_a_total_that_is_not_the_value_is_explained_where_both_are_shown() -> None:
    """Gains are of the estimate, 4.2; the value, 4.19, is exact. Terminals show the summary."""
    result = make_federated(NAMES, GAINS)
    [told] = explain_total(make_story(result))
    assert told.level == Level.SUMMARY
    said = "Gains come from sums over 3,000 users and add up to the estimate, 4.2, not to the exact value, 4.19."
    assert told.text == said
    everyone = make_federated(NAMES, GAINS, estimate=replace(ESTIMATE, everyone=True))
    assert explain_total(make_story(everyone)) == []


def test_one_is_told_as_one() -> None:
    alone = replace(make_federated(NAMES, GAINS), rounds=(Round("each item alone", 1, 1, 10, 10, None),))
    facts = {one.name: one.note for one in describe_headline(make_story(alone, n_clients=1)) if isinstance(one, Fact)}
    assert facts["User"] == "could be asked"
    assert facts["Smallest sum"] == "user in the sum over the fewest"
    assert describe_limit(LimitUse(2, "genres")) == "At most 2 per genre."
    assert describe_limit(LimitUse(2, "status", "Countries")) == "At most 2 per status within Countries."

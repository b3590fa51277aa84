"""What a report of a federation says, and what it must not say."""

import pytest

from folkmoot.report import markdown, page, result_text
from folkmoot.report.facts import cost_of
from folkmoot.report.sections.exposure import explain_threat, list_unprotected
from folkmoot.report.stored_story import from_json, to_json
from tests.report.stories import PARTIES, SHAPES

NETWORKED = [name for name in SHAPES if name.startswith("federation")]


@pytest.mark.parametrize("name", NETWORKED)
def test_it_is_read_back(name: str) -> None:
    assert from_json(to_json(SHAPES[name])) == SHAPES[name]


@pytest.mark.parametrize("name", NETWORKED)
def test_nobody_simulated_anything(name: str) -> None:
    told = markdown(SHAPES[name])
    assert "simulat" not in told
    assert "docs/deployment.md" in told
    assert all(party in told for party in PARTIES)


@pytest.mark.parametrize("name", ["federation", "no value"])
def test_an_estimate_is_called_one_wherever_it_is_shown(name: str) -> None:
    pytest.importorskip("vl_convert", reason="pages need vl-convert-python")
    story = SHAPES[name]
    for told in (markdown(story), page(story), result_text(story.result)):
        assert "Estimated value" in told
        assert "4.15 to 4.25 with 95" in told


def test_a_value_that_all_clients_gave_is_no_estimate() -> None:
    story = SHAPES["federation, everyone"]
    assert "Estimated value" not in markdown(story)
    assert "over every client, all of whom answered" in result_text(story.result)


def test_bytes_are_those_of_parties_where_they_speak_for_clients() -> None:
    story = SHAPES["federation"]
    cost = cost_of(story.result)
    assert cost is not None
    assert cost.vectors == 5 * 12 - 1
    assert cost.up == sum(one.up * (4 if at == 3 else 5) for at, one in enumerate(story.result.rounds or ()))
    told = markdown(story)
    assert "Sent per party" in told
    assert "11 of 12" in told
    assert "Fewest parties" in told


def test_what_is_protected_is_a_party_among_others() -> None:
    story = SHAPES["federation"]
    assert "Each party is one client of the secure sum" in explain_threat(story)
    assert any(one.startswith("A party as a whole") for one in list_unprotected(story))


def test_a_party_that_is_missing_is_not_missing_by_chance() -> None:
    told = markdown(SHAPES["federation"])
    assert "missing: west from 1 of 12" in told
    assert "The estimate speaks for the parties that answered" in told
    assert "counted as unknown" not in markdown(SHAPES["federation, everyone"])


def test_who_was_left_out_is_named_and_what_is_certain_is_told_apart() -> None:
    story = SHAPES["federation, liars"]
    for told in (markdown(story), page(story)):
        words = " ".join(told.split())
        assert "west dealt shares of a secret that is not its own. Nobody else could have done that" in words
        assert "north returned a share other than the one it was dealt. Whoever carries its messages could" in words

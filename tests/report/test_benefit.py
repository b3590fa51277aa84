"""What clients have from an answer, in units that people know."""

from dataclasses import replace

from folkmoot.report import markdown
from folkmoot.report.document import Quantity
from folkmoot.report.sections.benefit import explain_benefits, list_benefits
from folkmoot.report.story import Benefit, Story
from folkmoot.report.text import count_many, name_one_of
from tests.report.stories import make_federated, make_story


def make(kind: str, value: float | None, **changed: object) -> Story:
    story = make_story(make_federated(("Alien", "Brazil"), (0.4, 0.2), value=value))
    return replace(story, kind=kind, **changed)  # type: ignore[arg-type]


def tell(story: Story) -> dict[str, tuple[str, str]]:
    return {
        fact.name: (fact.value.text().replace("\u202f", " "), fact.note)
        for fact in list_benefits(story)
        if isinstance(fact.value, Quantity)
    }


def test_places_are_kilometres_away() -> None:
    told = tell(make("places", 0.6, reach=100.0, benefit=Benefit(1800, 0.9)))
    assert told == {
        "Mean distance": ("40 km", "to the nearest chosen one (beyond 100 km counts as 100 km)"),
        "Within reach": ("90 %", "of the users have one within 100 km"),
        "With nothing": ("200", "users have none of the chosen within reach"),
    }


def test_a_server_knows_the_mean_distance_and_no_more() -> None:
    told = tell(make("places", None, reach=10.0, secure="federation"))
    assert set(told) == {"Mean distance"}
    assert "estimated" in told["Mean distance"][1]
    assert explain_benefits(make("places", None, reach=10.0, secure="federation")) == []


def test_short_ways_are_told_in_metres() -> None:
    assert tell(make("places", 0.6, reach=1.5))["Mean distance"][0] == "600 m"


def test_distances_have_the_unit_of_their_file() -> None:
    assert tell(make("distances", 0.5, reach=5000.0))["Mean distance"][0] == "2,500"


def test_ratings_are_told_by_those_who_have_one() -> None:
    told = tell(make("ratings", 3.6, benefit=Benefit(1800, 0.9)))
    assert told["Mean best"] == ("4", "over 1,800 users with one")
    assert told["With nothing"][0] == "200"


def test_one_client_with_nothing_is_one() -> None:
    told = tell(make("memberships", 0.9, benefit=Benefit(1999, 0.9995)))
    assert told == {"With nothing": ("1", "user has none of the chosen")}


def test_tables_have_no_such_unit() -> None:
    assert tell(make("tables", 0.5)) == {}
    assert tell(make("", 0.5)) == {}


def test_a_simulation_says_that_it_counted() -> None:
    story = make("memberships", 0.9, benefit=Benefit(1800, 0.9))
    assert "which a simulation has and a server does not" in markdown(story)
    assert explain_benefits(replace(story, secure="none")) == []


def test_singular_and_plural() -> None:
    assert [count_many(at, "people") for at in (0, 1, 1200)] == ["0 people", "1 person", "1,200 people"]
    for many, one in (
        ("movies", "movie"),
        ("boxes", "box"),
        ("cities", "city"),
        ("classes", "class"),
        ("news", "news"),
    ):
        assert name_one_of(many) == one


def test_where_clients_have_weights_all_shares_count_them() -> None:
    """So that two numbers beside each other are of the same people."""
    told = tell(make("places", 0.3, reach=100.0, benefit=Benefit(500, 0.489)))
    assert told["Within reach"] == ("48.9 %", "of the users have one within 100 km")
    assert told["With nothing"] == ("51.1 %", "of the users have none of the chosen within reach")
    rated = tell(make("ratings", 3.6, benefit=Benefit(500, 0.9)))
    assert rated["Mean best"] == ("4", "over 500 users with one, by their weights")

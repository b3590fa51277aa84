"""What is forecast under noise, before anybody is asked."""

from pathlib import Path

import pytest

import folkmoot as fm
from folkmoot.application.job import find_outlook
from folkmoot.application.outlook import Outlook, round_up
from folkmoot.conversation.population import Population
from folkmoot.foundation.errors import InputError
from folkmoot.privacy.forecast import find_enough_clients
from folkmoot.secagg import Policy


def look_ahead(epsilon: float, clients: int = 610, adjacency: str = "zero-out") -> Outlook:
    return Outlook.of(fm.Privacy(epsilon, adjacency=adjacency), Population(100, clients), None, 20, Policy())


@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.1])
def test_what_is_said_to_be_enough_is_enough(epsilon: float) -> None:
    outlook = look_ahead(epsilon)
    with pytest.raises(InputError, match="noise would drown the answers of 610 clients; it takes") as caught:
        outlook.check()
    enough = find_enough_clients(outlook.privacy, 20, outlook.inflation)
    assert enough is not None
    assert f"{round_up(enough, 2):,.0f} clients" in str(caught.value)
    look_ahead(epsilon, enough).check()  # also with the share of honest ones that so many have
    with pytest.raises(InputError):
        look_ahead(epsilon, int(0.85 * enough)).check()
    stated = float(str(caught.value).partition("an epsilon of ")[2].partition(",")[0])
    look_ahead(stated).check()
    with pytest.raises(InputError):
        look_ahead(0.9 * stated).check()


def test_more_noise_is_never_forecast_to_cost_less() -> None:
    curve = look_ahead(0.7).list_curve()
    assert [epsilon for epsilon, _ in curve] == sorted({0.7, *(epsilon for epsilon, _ in curve)})
    shares = [one.expected for _, one in curve]
    assert shares == sorted(shares)
    assert look_ahead(1.0, adjacency="replace-one").forecast.signal < look_ahead(1.0).forecast.signal


def test_a_forecast_is_that_of_the_run(tmp_path: Path) -> None:
    lines = ["user,film,rating", *(f"{user},{(user * user) % 7},{1 + user % 5}" for user in range(200))]
    (tmp_path / "ratings.csv").write_text("\n".join(lines))
    problem = fm.Problem.from_data(tmp_path / "ratings.csv", choose=2, most=5, epsilon=2.0, folder=tmp_path / "run")
    run = problem.run(report=False)
    outlook = find_outlook(problem.prepare())
    assert outlook is not None
    assert run.result.privacy is not None
    assert run.result.privacy.strength == pytest.approx(outlook.forecast.signal, rel=1e-12)


@pytest.mark.parametrize(
    ("number", "digits", "rounded"), [(1, 2, 1), (1501, 2, 1600), (0.1234, 2, 0.13), (100, 2, 100)]
)
def test_enough_is_rounded_up(number: float, digits: int, rounded: float) -> None:
    assert round_up(number, digits) == pytest.approx(rounded, rel=1e-12)


def test_who_does_not_know_the_largest_value_is_told_how_to_say_it(tmp_path: Path) -> None:
    lines = ["user,film,rating", *(f"{user},{user % 7},{1 + user % 5}" for user in range(60))]
    (tmp_path / "ratings.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"most: is needed under noise.*such as: most=5\.0"):
        fm.Problem.from_data(tmp_path / "ratings.csv", choose=2, epsilon=9.0).prepare()
    counted = fm.Problem.from_data(tmp_path / "ratings.csv", choose=2, epsilon=9.0, kind="memberships")
    assert counted.prepare().loaded.objective.most == 1.0  # known by what it is


def test_tables_are_told_how_many_bits_a_target_has(tmp_path: Path) -> None:
    lines = ["site,a,b,sick", *(f"{row % 40},{row % 3},{row % 5},{row // 40 % 2}" for row in range(400))]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    known = {"kind": "tables", "client": "site", "target": "sick", "choose": 1, "epsilon": 20.0}
    with pytest.raises(InputError, match=r"most: is needed under noise.*such as: most=1\.0"):
        fm.Problem.from_data(tmp_path / "rows.csv", **known).prepare()
    with pytest.raises(InputError, match=r"most: is 0\.5, but the target has 1 bits at a client"):
        fm.Problem.from_data(tmp_path / "rows.csv", most=0.5, **known).prepare()
    assert fm.Problem.from_data(tmp_path / "rows.csv", most=1, **known).prepare().loaded.objective.most == 1.0


@pytest.mark.parametrize(("kind", "believed"), [("ratings", True), ("places", True), ("similarity", False)])
def test_a_forecast_says_where_it_does_not_hold(kind: str, believed: bool) -> None:
    outlook = Outlook.of(fm.Privacy(1.0), Population(100, 610), None, 20, Policy(), kind)
    assert (outlook.caveat == "") is believed

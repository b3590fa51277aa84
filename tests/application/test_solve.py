"""The front door and what it returns."""

import json

import numpy as np
import pytest

import folkmoot as fm


@pytest.fixture
def objective() -> fm.FacilityLocation:
    rng = np.random.default_rng(0)
    return fm.FacilityLocation(rng.random((50, 12)), item_names=[f"film {e}" for e in range(12)])


def test_a_number_means_that_many(objective: fm.FacilityLocation) -> None:
    assert fm.solve(objective, 3).selected == fm.solve(objective, fm.Uniform(12, 3), fm.Greedy()).selected
    assert fm.solve(objective, np.int64(3)).selected == fm.solve(objective, 3).selected


@pytest.mark.parametrize("method", [fm.Greedy(), fm.ContinuousGreedy(7), fm.Popularity()], ids=repr)
def test_json_goes_round_to_the_last_bit(objective: fm.FacilityLocation, method: fm.Method) -> None:
    result = fm.solve(objective, 4, method, seed=3)
    text = result.to_json()
    again = fm.Result.from_json(text)
    assert again == result
    assert hash(again) == hash(result)
    assert again.to_json() == text
    assert again.value == result.value
    document = json.loads(text)
    assert document["selected"] == list(result.selected)
    assert document["ratio"] == result.ratio
    if result.fractional is not None:
        assert again.fractional is not None
        np.testing.assert_array_equal(again.fractional, result.fractional)


@pytest.mark.parametrize("text", ["", "[]", "3", '{"format": "folkmoot-result-1"}', '{"format": "other"}', "null"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(fm.InputError, match="is not a result"):
        fm.Result.from_json(text)


def test_it_prints_well(objective: fm.FacilityLocation) -> None:
    result = fm.solve(objective, 3)
    lines = str(result).splitlines()
    assert lines[0] == "Greedy(ties='lowest'): 3 of 12 items"
    assert lines[1].startswith("Value ")
    assert float(lines[1].split()[1]) == pytest.approx(result.value, rel=1e-5)
    assert lines[2].startswith("At least ")
    assert "of the best possible" in lines[2]
    assert result.order is not None
    items = lines[lines.index("The answer") + 2 :][:4]
    assert [f"film {item}" in line for item, line in zip(result.order, items[:3], strict=True)] == [True] * 3
    assert items[3] == ""
    assert float(items[2].split()[-1]) == pytest.approx(result.value, rel=1e-5)
    assert "and 10 more" in str(fm.solve(fm.Coverage(np.eye(50)), 40))


def test_results_cannot_be_changed(objective: fm.FacilityLocation) -> None:
    result = fm.solve(objective, 3, fm.ContinuousGreedy(5))
    with pytest.raises(AttributeError):
        result.value = 0.0  # type: ignore[misc]
    assert result.fractional is not None
    with pytest.raises(ValueError, match="read-only"):
        result.fractional[0] = 1.0


def test_names_go_along(objective: fm.FacilityLocation) -> None:
    result = fm.solve(objective, 3)
    assert result.names == tuple(f"film {item}" for item in result.order or ())
    assert objective[:7].item_names == objective.item_names
    named = fm.FacilityLocation(np.eye(3), client_names=["a", "b", "c"])
    assert named[[2, 0]].client_names == ("c", "a")
    pairs, _ = fm.welfare(named)
    assert pairs.item_names is not None
    assert pairs.item_names[1] == "item 0 → b"


def test_a_seed_repeats(objective: fm.FacilityLocation) -> None:
    for method in (fm.RandomSet(), fm.StochasticGreedy(0.5), fm.ContinuousGreedy(3)):
        one, two = (fm.solve(objective, 4, method, seed=5) for _ in range(2))
        assert one.selected == two.selected
        assert one.value == two.value
    sets = {fm.solve(objective, 4, fm.RandomSet(), seed=seed).selected for seed in range(10)}
    assert len(sets) > 1


def test_welfare_splits_the_items() -> None:
    """Three items, two agents: the optimum by listing every split."""
    for seed in range(4):
        benefits = np.random.default_rng(seed).random((2, 3))
        objective = fm.ConcaveOverModular(benefits)
        pairs, matroid = fm.welfare(objective)
        result = fm.solve(pairs, matroid, fm.Exhaustive())
        splits = [np.sqrt((benefits[0] * ~s).sum()) + np.sqrt((benefits[1] * s).sum()) for s in masks(3)]
        assert result.value * 2 == pytest.approx(max(splits))
        assert len({pair // 2 for pair in result.selected}) == 3
        assert fm.solve(pairs, matroid).value >= result.value / 2


def masks(n: int) -> list[np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    return [np.array([bool(code >> e & 1) for e in range(n)]) for code in range(1 << n)]


def test_numpy_seeds_are_numbers_too(objective: fm.FacilityLocation) -> None:
    result = fm.solve(objective, 3, fm.RandomSet(), seed=np.int64(4))  # type: ignore[arg-type]
    assert fm.Result.from_json(result.to_json()) == result
    assert result.selected == fm.solve(objective, 3, fm.RandomSet(), seed=4).selected


def test_a_batch_can_be_gone_through(objective: fm.FacilityLocation) -> None:
    one_by_one = [float(client.mean_values([0, 1])) for client in objective]
    np.testing.assert_array_equal(one_by_one, objective.values([0, 1]))
    assert repr(objective) == "FacilityLocation(50 clients, 12 items)"


def test_many_features_can_be_mixed_and_split() -> None:
    """What all 30 features tell together is out of reach; no answer needs it."""
    tables = [np.random.default_rng(client).integers(0, 3, (40, 31)) for client in range(2)]
    features = fm.Information(tables, target=0)
    assert fm.solve(fm.Mixture([features]), 3).selected == fm.solve(features, 3).selected
    pairs, split = fm.welfare(features)
    assert len(fm.solve(pairs, fm.Truncation(split, 3)).selected) == 3
    fm.check_submodular(features, trials=20, most=5)

"""DataFrames of polars and pandas go in as they are, and their names come out again."""

import importlib
from typing import Any

import numpy as np
import polars
import pytest

import folkmoot as fm
from tests.data.writing import MATRIX, dense

RATINGS = {"userId": [1, 2, 2, 3], "movieId": ["a", "a", "c", "b"], "rating": [5.0, 3.0, 4.0, 2.5]}
FILMS = {"movieId": ["a", "b", "c"], "title": ["Alien", "Brazil", "Clue"], "genre": ["horror", "comedy", "comedy"]}


@pytest.fixture(params=["polars", "pandas"])
def library(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param) if request.param == "polars" else pytest.importorskip("pandas")


def test_a_matrix_keeps_the_names_of_its_columns(library: Any) -> None:
    frame = library.DataFrame({"Alien": [5, 3, 0], "Brazil": [0.0, 0.0, 2.5], "Clue": [0, 4, 0]})
    objective = fm.FacilityLocation(frame)
    assert objective.item_names == ("Alien", "Brazil", "Clue")
    assert objective.client_names is None
    assert np.array_equal(dense(objective), MATRIX)
    assert fm.solve(objective, 1, fm.Greedy()).names == ("Alien",)
    assert fm.FacilityLocation(frame, item_names=["x", "y", "z"]).item_names == ("x", "y", "z")
    assert fm.FacilityLocation(frame, owners=[0, 0, 1]).n_clients == 2
    assert fm.ConcaveOverModular(frame).item_names == objective.item_names
    assert fm.ProbabilisticCoverage(library.DataFrame({"a": [0.5, 1], "b": [0.1, 0]})).item_names == ("a", "b")
    assert fm.Coverage(library.DataFrame({"a": [True, False], "b": [False, True]})).item_names == ("a", "b")


def test_a_first_column_of_text_names_the_clients(library: Any) -> None:
    frame = library.DataFrame({"who": ["anna", "ben"], "Alien": [5, 3], "Clue": [0, 4]})
    objective = fm.FacilityLocation(frame)
    assert (objective.client_names, objective.item_names) == (("anna", "ben"), ("Alien", "Clue"))
    with pytest.raises(fm.InputError, match=r"^benefits: column mood holds text; numbers are needed; leave it out"):
        fm.FacilityLocation(library.DataFrame({"who": ["anna"], "Alien": [5], "mood": ["good"]}))
    with pytest.raises(fm.InputError, match=r"there are no items \(no column of numbers\)"):
        fm.FacilityLocation(library.DataFrame({"who": ["anna"]}))
    gaps = library.DataFrame({"who": ["anna", "ben"], "Alien": [5.0, None]})
    with pytest.raises(fm.InputError, match=r"row 1, item 0 is nan; fill or drop it"):
        fm.FacilityLocation(gaps)


def test_an_index_names_the_clients() -> None:
    pandas = pytest.importorskip("pandas")
    long = pandas.DataFrame(RATINGS)
    wide = long.pivot_table(index="userId", columns="movieId", values="rating", fill_value=0)
    objective = fm.FacilityLocation(wide)
    assert (objective.client_names, objective.item_names) == (("1", "2", "3"), ("a", "b", "c"))
    assert np.array_equal(dense(objective), MATRIX)
    assert fm.FacilityLocation(wide.astype("Float64")).item_names == ("a", "b", "c")


def test_loading_a_table(library: Any) -> None:
    frame, films = library.DataFrame(RATINGS), library.DataFrame(FILMS)
    read = fm.load(frame)
    assert (read.kind, read.clients_called) == ("ratings", "users")
    assert read.objective.client_names == ("1", "2", "3")
    assert read.items.names == ("a", "b", "c")
    assert np.array_equal(dense(read.objective), MATRIX)
    named = fm.load(frame, items=films, least=4)
    assert (named.kind, named.items.names) == ("memberships", ("Alien", "Brazil", "Clue"))
    assert named.items.groups("genre") == ["horror", "comedy", "comedy"]
    with pytest.raises(fm.InputError, match=r"^data: 1 cell of rating is negative, in row 2; say what to do"):
        fm.load(library.DataFrame({**RATINGS, "rating": [5.0, -3.0, 4.0, 2.5]}))
    with pytest.raises(fm.InputError, match=r"^stars: is no setting of data"):
        fm.load(frame, stars=5)
    with pytest.raises(fm.InputError, match=r"^client: data has no column who"):
        fm.load(frame, client="who")
    with pytest.raises(fm.InputError, match=r"^data: has no columns"):
        fm.load(library.DataFrame())


def test_what_pandas_holds() -> None:
    """Large whole numbers, gaps, categories and an index with names."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "user": pandas.array([2**60 + 1, None, 2**60 + 3], dtype="Int64"),
            "item": pandas.Categorical(["x", "y", "x"]),
            "liked": pandas.array([True, False, True], dtype="boolean"),
            "when": pandas.to_datetime(["2024-01-01", "2024-01-02", None]),
        }
    )
    read = fm.load(frame, missing="drop")
    assert read.objective.client_names == (str(2**60 + 1), str(2**60 + 3))
    assert (read.kind, read.items.names) == ("memberships", ("x",))
    mixed = pandas.DataFrame({"user": [1, 2], "item": ["a", "b"], "stars": pandas.Series([1, 2.5], dtype=object)})
    assert dense(fm.load(mixed).objective).tolist() == [[1, 0], [0, 2.5]]
    indexed = pandas.DataFrame(RATINGS).set_index(["userId", "movieId"])
    assert np.array_equal(dense(fm.load(indexed).objective), MATRIX)
    with pytest.raises(fm.InputError, match="column item holds lists"):
        fm.load(pandas.DataFrame({"user": [1], "item": [[1, 2]]}))


def test_files_as_ever(tmp_path: Any) -> None:
    polars.DataFrame(RATINGS).write_csv(tmp_path / "r.csv")
    assert fm.load(tmp_path / "r.csv", least=4).kind == "memberships"
    assert fm.load("r.csv", tmp_path).kind == "ratings"
    with pytest.raises(fm.InputError, match="data: needs the name of a file or a DataFrame, got 7"):
        fm.load(7)


def test_tables_of_sites(library: Any) -> None:
    north = library.DataFrame({"smokes": ["yes", "no", "yes", "no"], "age": [1, 1, 2, 2], "ill": ["y", "n", "y", "n"]})
    south = library.DataFrame({"ill": ["y", "n"], "age": [2, 2], "smokes": ["yes", "no"]})  # in another order
    objective = fm.Information([north, south], "ill")
    assert objective.item_names == ("smokes", "age")
    assert objective.values([0]).tolist() == [1.0, 1.0]
    assert objective.values([1]).tolist() == [0.0, 0.0]
    features = north[["smokes", "age"]], south[["smokes", "age"]]
    same = fm.Information(features, [north["ill"], south["ill"]])
    assert same.item_names == objective.item_names
    assert same.values([0, 1]).tolist() == objective.values([0, 1]).tolist()
    with pytest.raises(fm.InputError, match="client 1 and client 0 do not both have the column smokes"):
        fm.Information([north, south[["ill", "age"]]], "ill")
    with pytest.raises(fm.InputError, match="target: the tables have no column 'sick'"):
        fm.Information([north, south], "sick")
    with pytest.raises(fm.InputError, match="client 1 has a ndarray, client 0 a DataFrame"):
        fm.Information([north, np.eye(3)], "ill")
    gaps = library.DataFrame({"smokes": ["yes", None], "ill": ["y", "n"]})
    with pytest.raises(fm.InputError, match="client 0, row 1, column 0 is missing"):
        fm.Information([gaps], "ill")


def test_features_of_items(library: Any) -> None:
    frame = library.DataFrame({"item": ["red", "white"], "acid": [1.0, 2.0], "sugar": [3.0, 1.0]})
    objective = fm.LogDet(frame, noise=1.0)
    assert objective.item_names == ("red", "white")
    assert objective.values([0, 1]).tolist() == fm.LogDet([[1.0, 3.0], [2.0, 1.0]], noise=1.0).values([0, 1]).tolist()


def test_a_problem_is_about_files(library: Any) -> None:
    with pytest.raises(fm.InputError, match=r"^file: needs the name of a file, got DataFrame; folkmoot.load and"):
        fm.Problem.from_data(library.DataFrame(RATINGS))


def test_ratings_and_ids_are_no_items(library: Any) -> None:
    long = library.DataFrame({**RATINGS, "movieId": [1, 1, 3, 2], "timestamp": [1, 2, 3, 4]})
    with pytest.raises(fm.InputError, match=r"^benefits: has columns userId and movieId, so it looks like one row per"):
        fm.FacilityLocation(long)
    with pytest.raises(fm.InputError, match=r"^benefits: has columns user and book, so it looks like one row per"):
        fm.FacilityLocation(library.DataFrame({"user": [1, 2], "book": [1, 2], "stars": [4, 5]}))
    wide = library.DataFrame({"userId": [1, 2], "Alien": [5, 3], "Clue": [0, 4]})
    with pytest.raises(fm.InputError, match=r"^benefits: column userId is no item by its name, .*; make it the index"):
        fm.FacilityLocation(wide)
    named = library.DataFrame({"userId": ["anna", "ben"], "Alien": [5, 3], "Clue": [0, 4]})
    assert fm.FacilityLocation(named).client_names == ("anna", "ben")
    things = library.DataFrame({"book": [1, 2], "device": [1, 2], "account": [0, 3]})
    assert fm.FacilityLocation(things).item_names == ("book", "device", "account")

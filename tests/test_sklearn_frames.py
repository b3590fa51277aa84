"""The selector with DataFrames as people have them: text, gaps, categories; and a word where no sites are given."""

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'folkmoot[sklearn]'")

from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import folkmoot as fm
from folkmoot.data.bins import Categories, bin_column
from folkmoot.sklearn import FederatedSelector, NotFederated


@pytest.fixture(params=["polars", "pandas"])
def library(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param) if request.param == "polars" else pytest.importorskip("pandas")


def people(library: Any, rows: int = 400) -> tuple[Any, Any, Any]:
    """Whether somebody smokes and their age tell whether they are ill; the town and the shoes tell nothing."""
    rng = np.random.default_rng(0)
    ill = rng.integers(0, 2, rows)
    smokes = np.where(rng.random(rows) < 0.1 + 0.8 * ill, "yes", "no").astype(object)
    smokes[rng.random(rows) < 0.05] = None
    columns = {
        "town": [f"town {at}" for at in rng.integers(0, 40, rows)],
        "smokes": list(smokes),
        "age": 40.0 + 15 * ill + rng.normal(size=rows) * 5,
        "shoes": rng.integers(36, 46, rows),
        "member": rng.random(rows) < 0.5,
    }
    labels = library.Series(["ill" if one else "well" for one in ill])
    return library.DataFrame(columns), labels, library.Series([f"clinic {at % 3}" for at in range(rows)])


def test_text_becomes_categories(library: Any) -> None:
    frame, ill, clinics = people(library)
    selector = FederatedSelector(2, random_state=0).fit(frame, ill, sites=clinics)
    assert selector.get_feature_names_out().tolist() == ["smokes", "age"]
    assert selector.result_.names is not None
    assert set(selector.result_.names) == {"smokes", "age"}
    assert selector.sites_ == ["clinic 0", "clinic 1", "clinic 2"]
    assert [None if words is None else len(words) for words in selector.categories_] == [40, 2, None, None, None]
    assert [len(edges) for edges in selector.edges_] == [4, 1, 4, 4, 1]
    shown = selector.transform(frame)
    assert shown.shape == (400, 2)
    assert set(shown[:, 0]) - {None} >= {"yes", "no"}


def test_the_same_in_either_library() -> None:
    results = []
    for name in ("polars", "pandas"):
        frame, ill, clinics = people(pytest.importorskip(name))
        results.append(FederatedSelector(3, random_state=0).fit(frame, ill, sites=clinics).result_)
    assert results[0] == results[1]


def test_numbers_in_a_frame_are_the_numbers_of_an_array(library: Any) -> None:
    frame, ill, clinics = people(library)
    numbers = frame[["age", "shoes"]]
    by_frame = FederatedSelector(1, random_state=0).fit(numbers, ill, sites=clinics)
    by_array = FederatedSelector(1, random_state=0).fit(numbers.to_numpy(), ill, sites=clinics)
    assert by_frame.support_.tolist() == by_array.support_.tolist()
    assert by_frame.result_.value == by_array.result_.value


def test_names_stay_in_the_output(library: Any) -> None:
    frame, ill, clinics = people(library)
    selector = FederatedSelector(2, random_state=0).fit(frame, ill, sites=clinics)
    shown = selector.set_output(transform=library.__name__).transform(frame)
    assert isinstance(shown, library.DataFrame)
    assert list(shown.columns) == ["smokes", "age"]
    assert shown["smokes"].dtype == frame["smokes"].dtype


def test_in_a_pipeline() -> None:
    pandas = pytest.importorskip("pandas")
    frame, ill, clinics = people(pandas)
    selector = FederatedSelector(2, random_state=0).set_output(transform="pandas")
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["smokes"]), remainder="passthrough")
    pipeline = make_pipeline(selector, encode, LogisticRegression())
    pipeline.fit(frame, ill, federatedselector__sites=clinics)
    assert pipeline.score(frame, ill) > 0.85


def test_edges_are_for_numbers(library: Any) -> None:
    frame, ill, clinics = people(library)
    frame = frame[["smokes", "age"]]
    cuts: list[Any] = [{"age": [50.0]}, [None, [50.0]]]
    for edges in cuts:
        selector = FederatedSelector(1, edges=edges, random_state=0).fit(frame, ill, sites=clinics)
        assert [one.tolist() for one in selector.edges_] == [[1.0], [50.0]]
    with pytest.raises(fm.InputError, match="edges: feature 0: holds text, which has no edges; give None"):
        FederatedSelector(1, edges=[[0.5], [50.0]]).fit(frame, ill, sites=clinics)


def test_what_cannot_be_encoded_is_named(library: Any) -> None:
    frame, ill, clinics = people(library, 20)
    times = np.array(["2024-01-01"] * 20, dtype="datetime64[us]")
    added = library.DataFrame({**{name: frame[name] for name in frame.columns}, "visited": times})
    with pytest.raises(fm.InputError, match=r"^X: column 'visited' holds times; give numbers, such as days since"):
        FederatedSelector(1).fit(added, ill, sites=clinics)
    array = np.array([["a", "1"], ["b", "2"]] * 10, dtype=object)
    with pytest.raises(fm.InputError, match=r"^X: holds text \('a'\); pass a DataFrame"):
        FederatedSelector(1).fit(array, ill, sites=clinics)
    endless = library.DataFrame({"who": ["a", "b"] * 10, "age": [np.inf] * 20})
    with pytest.raises(ValueError, match="infinity"):
        FederatedSelector(1).fit(endless, ill, sites=clinics)


def test_rare_words_share_a_bin() -> None:
    cells = np.array(["b", "a", "c", "a", None, "b", "a", "d"], dtype=object)
    words = Categories(cells)
    assert words.words == ["a", "b", "c", "d"]
    numbers = words.number(cells)
    assert bin_column(numbers, words.edges(3)).tolist() == [1, 0, 2, 0, 3, 1, 0, 2]
    assert bin_column(numbers, words.edges(9)).tolist() == [1, 0, 2, 0, 4, 1, 0, 3]


def test_without_sites_nothing_is_federated(library: Any) -> None:
    frame, ill, clinics = people(library)
    with pytest.warns(NotFederated, match="one site holds all rows, and nothing is federated"):
        FederatedSelector(2, random_state=0).fit(frame, ill)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FederatedSelector(2, random_state=0).fit(frame, ill, sites=clinics)
        FederatedSelector(2, method=fm.Greedy()).fit(frame, ill)  # sees everything by its nature
        warnings.simplefilter("ignore", NotFederated)
        FederatedSelector(2, random_state=0).fit(frame, ill)

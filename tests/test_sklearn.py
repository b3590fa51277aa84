"""The selector for scikit-learn: its host's own checks, sites in a pipeline, and what it refuses."""

import pickle
import subprocess
import sys
from math import comb
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'folkmoot[sklearn]'")

import sklearn
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import folkmoot as fm
from folkmoot.data.bins import Quantiles, bin_column
from folkmoot.foundation.sets import Array, Ids
from folkmoot.sklearn import FederatedSelector

Table = tuple[Array, Ids, Any]
pytestmark = pytest.mark.filterwarnings("ignore::folkmoot.sklearn.NotFederated")


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        FederatedSelector(1),
        FederatedSelector(2, smoothing=0.0, bins=2),
        FederatedSelector(1, method=fm.FedCG(rounds=2)),
        FederatedSelector(1, method=fm.Greedy()),
    ]
)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def noisy(n_rows: int = 400, n_features: int = 12, telling: int = 4, seed: int = 0) -> Table:
    """The first features tell the label, the later of them less; three sites of different size."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_features))
    X[:, :telling] += y[:, None] * np.linspace(2.0, 1.0, telling)
    return X, y, rng.choice(["north", "south", "west"], n_rows, p=[0.5, 0.3, 0.2])


def test_finds_what_tells_something() -> None:
    X, y, sites = noisy()
    selector = FederatedSelector(4, random_state=0).fit(X, y, sites=sites)
    assert selector.get_support(indices=True).tolist() == [0, 1, 2, 3]
    assert selector.support_.dtype == bool
    assert selector.sites_ == ["north", "south", "west"]
    assert (selector.transform(X) == X[:, :4]).all()
    back = selector.inverse_transform(selector.transform(X))
    assert (back[:, :4] == X[:, :4]).all()
    assert not back[:, 4:].any()
    assert selector.scores_[:4].min() > selector.scores_[4:].max()
    assert selector.result_.n_items == 12


def test_is_information_of_the_sites_weighted_by_their_rows() -> None:
    X, y, sites = noisy()
    selector = FederatedSelector(3, bins=4, smoothing=0.5).fit(X, y, sites=sites)
    cut = np.column_stack([np.searchsorted(edges, X[:, at], side="right") for at, edges in enumerate(selector.edges_)])
    assert set(cut.ravel().tolist()) == {0, 1, 2, 3}
    mine = [np.flatnonzero(sites == site) for site in selector.sites_]
    objective = fm.Information([cut[m] for m in mine], [y[m] for m in mine], smoothing=0.5, weights=[*map(len, mine)])
    assert selector.result_.value == pytest.approx(objective.mean_values(selector.result_.selected), rel=1e-9)
    assert selector.scores_ == pytest.approx(objective.mean_gains(()), rel=1e-9)
    best = fm.solve(objective, 3, fm.Exhaustive())
    assert comb(12, 3) == 220
    assert 0.95 * best.value <= selector.result_.value <= best.value + 1e-12


def test_default_is_greedy_without_seeing_rows() -> None:
    X, y, sites = noisy(seed=3)
    for k in (1, 3, 6):
        federated = FederatedSelector(k, random_state=1).fit(X, y, sites=sites)
        central = FederatedSelector(k, method=fm.Greedy()).fit(X, y, sites=sites)
        assert federated.get_support(True).tolist() == central.get_support(True).tolist()
        assert federated.result_.estimate is not None
        assert federated.result_.estimate.everyone
        assert central.result_.rounds is None


@pytest.mark.parametrize("method", [fm.FedCG(rounds=3), fm.FedCG(answer="gradient"), fm.Popularity(), fm.Exhaustive()])
def test_other_methods(method: Any) -> None:
    X, y, sites = noisy()
    selector = FederatedSelector(2, method=method, random_state=0).fit(X, y, sites=sites)
    assert selector.get_support(True).tolist() == [0, 1]
    assert selector.method_ is method


def test_one_site_where_none_are_named() -> None:
    X, y, sites = noisy()
    alone = FederatedSelector(3, random_state=0).fit(X, y)
    named = FederatedSelector(3, random_state=0).fit(X, y, sites=np.full(len(y), "only"))
    assert alone.result_ == named.result_
    assert len(alone.sites_) == 1
    assert alone.result_ != FederatedSelector(3, random_state=0).fit(X, y, sites=sites).result_


def test_names_of_sites_do_not_matter() -> None:
    X, y, sites = noisy()
    numbers = {"north": 7, "south": 8, "west": 11}
    by_name = FederatedSelector(3, random_state=0).fit(X, y, sites=sites)
    as_numbers = np.array([numbers[site] for site in sites])
    for same in (sites.tolist(), sites.astype(object), as_numbers):
        assert FederatedSelector(3, random_state=0).fit(X, y, sites=same).result_ == by_name.result_
    order = np.random.default_rng(1).permutation(len(y))
    shuffled = FederatedSelector(3, random_state=0).fit(X[order], y[order], sites=sites[order])
    assert shuffled.result_ == by_name.result_


def test_secure_aggregation_gives_the_same() -> None:
    X, y, _ = noisy()
    sites = np.arange(len(y)) % 10
    ideal, real = (FederatedSelector(2, secure=how, random_state=0).fit(X, y, sites=sites) for how in ("ideal", "real"))
    assert ideal.result_ == real.result_
    with pytest.raises(ValueError, match="at least 10"):
        FederatedSelector(2, secure="real").fit(X, y, sites=sites % 4)
    with pytest.raises(fm.InputError, match="sees every row"):
        FederatedSelector(2, secure="real", method=fm.Greedy()).fit(X, y, sites=sites)


def test_same_state_same_features() -> None:
    X, y, sites = noisy()
    X[:, 4:] = 1.0  # all alike: which of them fills up is a coin's choice
    chosen = [
        FederatedSelector(6, random_state=state).fit(X, y, sites=sites).get_support(True).tolist() for state in (0, 0)
    ]
    assert chosen[0] == chosen[1]
    assert chosen[0][:4] == [0, 1, 2, 3]
    others = {
        tuple(FederatedSelector(6, random_state=state).fit(X, y, sites=sites).get_support(True)) for state in range(8)
    }
    assert len(others) > 1
    states = [np.random.RandomState(5), np.random.RandomState(5)]
    first, second = (FederatedSelector(6, random_state=state).fit(X, y, sites=sites) for state in states)
    assert first.result_ == second.result_


def test_copies_and_parameters() -> None:
    X, y, sites = noisy()
    selector = FederatedSelector(3, method=fm.FedCG(rounds=2), bins=3, random_state=4)
    twin = clone(selector)
    assert twin.get_params() == selector.get_params()
    assert twin.set_params(k=2, method=None).get_params()["k"] == 2
    assert selector.k == 3
    fitted = selector.fit(X, y, sites=sites)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.result_ == fitted.result_
    assert (again.transform(X) == fitted.transform(X)).all()
    assert not hasattr(clone(fitted), "support_")
    assert "FedCG(rounds=2)" in repr(selector)


def test_fewer_bins_where_k_is_large() -> None:
    X, y, sites = noisy(n_features=24)
    used = {k: FederatedSelector(k, random_state=0).fit(X, y, sites=sites).bins_ for k in (1, 6, 7, 8, 9, 10, 11, 16)}
    assert used == {1: 5, 6: 5, 7: 4, 8: 4, 9: 3, 10: 3, 11: 2, 16: 2}
    with pytest.raises(fm.InputError, match=r"23 features in 2 bins have 8\.39e\+06 joint states.*fewer features"):
        FederatedSelector(23).fit(X, y, sites=sites)
    with pytest.raises(fm.InputError, match=r"up to 24 features.*method=None"):
        FederatedSelector(12, method=fm.FedCG()).fit(X, y, sites=sites)
    few = np.sign(X)  # two values each: nothing is to be merged
    assert FederatedSelector(12, random_state=0).fit(few, y, sites=sites).bins_ == 5
    X[0] = np.nan
    with pytest.raises(fm.InputError, match=r"14 features in 2 bins .* fill missing values"):
        FederatedSelector(14).fit(X, y, sites=sites)


def test_edges_agreed_on_beforehand() -> None:
    X, y, sites = noisy(n_features=4)
    edges = [[-1.0, 0.0, 1.0, 2.0], [0.0], [0.5, 1.5], []]
    selector = FederatedSelector(2, edges=edges, random_state=0).fit(X, y, sites=sites)
    assert [found.tolist() for found in selector.edges_] == edges
    assert selector.bins_ == 5
    assert selector.scores_[3] == 0.0  # no edge, one bin, nothing to tell
    half = sites != "west"  # public edges: what one site has changes nothing in how others cut
    assert [*map(list, FederatedSelector(2, edges=edges).fit(X[half], y[half], sites[half]).edges_)] == edges
    refused: list[tuple[Any, str]] = [
        (edges[:3], r"edges: needs one list per feature \(4\), got 3"),
        ([[1.0, 0.0], [], [], []], "feature 0: needs a list of finite numbers"),
        ([[], ["low"], [], []], "feature 1: needs a list of numbers"),
        ({"a": [0.0]}, "X has no names"),
        (7, "needs a list"),
    ]
    for wrong, says in refused:
        with pytest.raises(fm.InputError, match=says):
            FederatedSelector(2, edges=wrong).fit(X, y, sites=sites)
    many = [np.arange(99) / 20 - 2] * 4
    with pytest.raises(fm.InputError, match=r"4 features in 100 bins.*give fewer edges"):
        FederatedSelector(4, edges=many).fit(X, y, sites=sites)


def test_bins_are_never_empty_and_tear_no_value_apart() -> None:
    rng = np.random.default_rng(2)
    zeros = np.where(rng.random(100) < 0.8, 0.0, rng.random(100))
    for column in (
        zeros,
        -zeros,
        rng.integers(0, 7, 100) / 3,
        rng.normal(size=100),
        np.ones(100),
        np.full(100, np.nan),
    ):
        for bins in (2, 3, 5, 9):
            edges = Quantiles(column).edges(bins)
            assert len(edges) < bins
            values = len(np.unique(column[~np.isnan(column)]))
            assert len(edges) >= min(values - 1, 1)
            numbers = bin_column(column, edges)
            if values:
                assert set(numbers.tolist()) == set(range(len(edges) + 1))
            for value in np.unique(column[~np.isnan(column)]):
                assert len(set(numbers[column == value].tolist())) == 1
    even = Quantiles(np.arange(100.0)).edges(4)
    assert even.tolist() == [25.0, 50.0, 75.0]


def test_missing_values_are_a_bin() -> None:
    X, y, sites = noisy(telling=1)
    X[:, 7] = np.where(y == 1, np.nan, 0.0)  # only that it is missing tells
    selector = FederatedSelector(1, random_state=0).fit(X, y, sites=sites)
    assert selector.get_support(True).tolist() == [7]
    assert np.isnan(selector.transform(X)).any()
    X[:, 5] = np.nan
    assert FederatedSelector(1, random_state=0).fit(X, y, sites=sites).scores_[5] == 0.0
    X[3, 3] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        FederatedSelector(1).fit(X, y, sites=sites)


def test_constant_features_come_last() -> None:
    X, y, sites = noisy()
    X[:, 5:] = 3.0
    selector = FederatedSelector(5, random_state=0).fit(X, y, sites=sites)
    assert selector.get_support(True).tolist() == [0, 1, 2, 3, 4]
    assert not selector.scores_[5:].any()
    assert FederatedSelector(12, random_state=0).fit(X, y, sites=sites).support_.all()


def test_labels_of_one_class() -> None:
    X, y, sites = noisy()
    with pytest.raises(fm.InputError, match="y: has only one class,"):
        FederatedSelector(2).fit(X, np.zeros(len(y)))
    with pytest.raises(fm.InputError, match="one class at every site"):
        FederatedSelector(2).fit(X, sites, sites=sites)
    y[sites == "west"] = 1  # one site that has nothing to say is no harm
    assert FederatedSelector(2, random_state=0).fit(X, y, sites=sites).get_support(True).tolist() == [0, 1]


def test_labels_of_any_kind() -> None:
    X, y, sites = noisy()
    plain = FederatedSelector(3, random_state=0).fit(X, y, sites=sites).result_
    text = np.array(["healthy", "ill"])[y]
    for same in (text, text.astype(object), y.astype(bool), y.astype(float), y * 7 - 3, text.tolist()):
        fitted = FederatedSelector(3, random_state=0).fit(X, same, sites=sites)
        assert fitted.result_ == plain
        assert fitted.target_edges_ is None
    with pytest.raises(fm.InputError, match="y: row 2 is missing"):
        FederatedSelector(3).fit(X, [*text[:2], None, *text[3:]])


def test_numbers_as_target_are_cut() -> None:
    X, _, sites = noisy(telling=0)
    y = X[:, 2] * 2 + X[:, 9] * 2 + np.random.default_rng(0).normal(size=len(X))
    selector = FederatedSelector(2, random_state=0).fit(X, y, sites=sites)
    assert selector.get_support(True).tolist() == [2, 9]
    assert len(selector.target_edges_) == 4
    counts = np.floor(y).astype(int)
    assert FederatedSelector(2).fit(X, counts, sites=sites).target_edges_ is None
    assert FederatedSelector(2, bins=3).fit(X, np.floor(y * 9), sites=sites).target_edges_.shape == (2,)
    agreed = FederatedSelector(2, target_edges=[0.0], random_state=0).fit(X, counts, sites=sites)
    assert agreed.target_edges_.tolist() == [0.0]
    labels = FederatedSelector(2, random_state=0).fit(X, counts >= 0, sites=sites)
    assert agreed.result_ == labels.result_
    with pytest.raises(fm.InputError, match="y holds text"):
        FederatedSelector(2, target_edges=[0.0]).fit(X, sites)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"k": 13}, "13 features cannot be chosen from n_features=12"),
        ({"k": 0}, "k: needs a whole number"),
        ({"k": 2.5}, "k: needs a whole number"),
        ({"bins": 1}, "bins: needs a whole number of at least 2"),
        ({"smoothing": -1}, "smoothing: needs a number of at least 0"),
        ({"secure": "yes"}, "secure: needs"),
        ({"method": fm.Greedy}, "method: needs a method with its brackets"),
        ({"method": "greedy"}, "method: needs a method"),
    ],
)
def test_refuses_settings(settings: dict[str, Any], says: str) -> None:
    X, y, sites = noisy()
    with pytest.raises(fm.InputError, match=says):
        FederatedSelector(**{"k": 3, **settings}).fit(X, y, sites=sites)


@pytest.mark.parametrize(
    ("sites", "says"),
    [
        (["a", "b"], r"needs one value per row \(400\)"),
        ([[1]] * 400, "needs one value per row"),
        ([1.0] * 399 + [np.nan], "row 399 is missing"),
        ([None] + ["a"] * 399, "row 0 is missing"),
    ],
)
def test_refuses_sites(sites: Any, says: str) -> None:
    X, y, _ = noisy()
    with pytest.raises(fm.InputError, match=f"sites: {says}"):
        FederatedSelector(3).fit(X, y, sites=sites)


def test_data_frames_in_names_out() -> None:
    pandas = pytest.importorskip("pandas")
    X, y, sites = noisy(n_features=5)
    frame = pandas.DataFrame(X, columns=["pulse", "age", "weight", "height", "shoes"])
    selector = FederatedSelector(2, random_state=0).fit(frame, pandas.Series(y), sites=pandas.Series(sites))
    assert selector.get_feature_names_out().tolist() == ["pulse", "age"]
    assert selector.result_.names == ("pulse", "age")
    shown = selector.set_output(transform="pandas").transform(frame)
    assert list(shown.columns) == ["pulse", "age"]
    edges = {name: [0.0] for name in frame}
    assert FederatedSelector(2, edges=edges).fit(frame, y, sites=sites).bins_ == 2
    with pytest.raises(fm.InputError, match="feature 'shoes' has none"):
        FederatedSelector(2, edges={name: [0.0] for name in frame if name != "shoes"}).fit(frame, y)
    categories = pandas.Series(sites, dtype="category")
    assert FederatedSelector(2, random_state=0).fit(frame, y, sites=categories).result_ == selector.result_


def gapped() -> Table:
    """Sites whose rows have gaps, as hospitals have; the last feature tells nothing."""
    X, y, sites = noisy()
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    return X, y, sites


def test_sites_choose_what_is_chosen_by_someone_who_sees_them_all() -> None:
    X, y, sites = gapped()
    federated = FederatedSelector(4, random_state=0).fit(X, y, sites=sites)
    seeing = FederatedSelector(4, method=fm.Greedy()).fit(X, y, sites=sites)
    pooled = FederatedSelector(4, method=fm.Greedy()).fit(X, y)
    exhaustive = FederatedSelector(4, method=fm.Exhaustive()).fit(X, y, sites=sites)
    for selector in (federated, seeing, pooled, exhaustive):
        assert selector.get_support(True).tolist() == [0, 1, 2, 3]
    assert federated.result_.value == pytest.approx(exhaustive.result_.value)
    assert "A sum over 3 hides little" in str(federated.result_)


def test_pipeline_with_routing() -> None:
    X, y, sites = gapped()
    tail = SimpleImputer(), StandardScaler(), LogisticRegression()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        selector = FederatedSelector(4, random_state=0).set_fit_request(sites=True)
        few = make_pipeline(selector, *tail)
        scores = cross_val_score(few, X, y, cv=folds, params={"sites": sites})
        assert few.fit(X, y, sites=sites)[0].sites_ == ["north", "south", "west"]
        grid = GridSearchCV(few, {"federatedselector__k": [1, 4]}, cv=folds).fit(X, y, sites=sites)
        assert grid.best_params_ == {"federatedselector__k": 4}
        unasked = make_pipeline(FederatedSelector(4), *tail)
        with pytest.raises(ValueError, match="sites"):
            unasked.fit(X, y, sites=sites)
    with_all = cross_val_score(make_pipeline(*tail), X, y, cv=folds)
    one = cross_val_score(make_pipeline(*tail), X[:, [11]], y, cv=folds)
    assert scores.mean() > 0.75 > one.mean()
    assert scores.mean() > with_all.mean() - 0.05


def test_pipeline_without_routing() -> None:
    X, y, sites = noisy()
    pipeline = make_pipeline(FederatedSelector(2, random_state=0), LogisticRegression())
    pipeline.fit(X, y, federatedselector__sites=sites)
    assert pipeline[0].sites_ == ["north", "south", "west"]
    assert pipeline.score(X, y) > 0.85


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_folkmoot_does_without_scikit_learn() -> None:
    assert run("import sys, folkmoot; print('sklearn' in sys.modules)").strip() == "False"
    missing = "import sys; sys.modules['sklearn'] = None\nimport folkmoot\n"
    said = run(missing + "try:\n  import folkmoot.sklearn\nexcept ImportError as error: print(error)")
    assert "pip install 'folkmoot[sklearn]'" in said


def test_noise_hides_sites() -> None:
    X, y, _ = noisy(n_rows=4000, n_features=6, telling=2)
    sites = np.arange(len(y)) % 200
    selector = FederatedSelector(1, epsilon=20.0, most=1.0, random_state=0, bins=2).fit(X, y, sites=sites)
    account = selector.result_.privacy
    assert account is not None
    assert account.epsilon == 20.0
    assert selector.support_.sum() == 1
    for changed, sentence in (
        ({"most": None}, "most: is needed under noise"),
        ({"most": 0.5}, "most: is 0.5, but the target has"),
        ({"epsilon": 0.001}, "epsilon: noise would drown"),
        ({"epsilon": 0.001, "most": None}, "epsilon: noise would drown"),  # what helps most is said first
        ({"epsilon": 0.0}, "epsilon: needs a number above 0"),
        ({"method": fm.FedCG()}, "method: FedCG"),
        ({"secure": "plain"}, "epsilon: noise is made of shares"),
    ):
        with pytest.raises(fm.InputError, match=sentence):
            clone(selector).set_params(**changed).fit(X, y, sites=sites)

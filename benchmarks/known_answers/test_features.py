"""Features of four real hospitals, chosen by the selector for scikit-learn: the folder that FOLKMOOT_DATA names."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'folkmoot[sklearn]'")

import sklearn
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import folkmoot as fm
from folkmoot.foundation.sets import Array, Ids
from folkmoot.sklearn import FederatedSelector

Hearts = tuple[Array, Ids, Any, list[str]]


@pytest.fixture
def hearts(found: Callable[[str], Path]) -> Hearts:
    with found("heart-disease-4-hospitals/heart4.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name not in ("hospital", "num")]
    X = np.array([[float(row[name]) if row[name] not in ("", "?") else np.nan for name in names] for row in rows])
    y = np.array([float(row["num"]) > 0 for row in rows], dtype=np.int64)
    return X, y, np.array([row["hospital"] for row in rows]), names


def test_four_hospitals(hearts: Hearts) -> None:
    """Five features that the hospitals choose by sums are those that someone who sees all their tables would choose,
    and nearly as good as those of pooled rows, judged by either side's measure.
    """
    X, y, hospitals, names = hearts
    federated = FederatedSelector(5, random_state=0).fit(X, y, sites=hospitals)
    seeing = FederatedSelector(5, method=fm.Greedy()).fit(X, y, sites=hospitals)
    pooled = FederatedSelector(5, method=fm.Greedy()).fit(X, y)
    assert federated.sites_ == ["cleveland", "hungarian", "switzerland", "va"]
    assert federated.bins_ == 5
    chosen = {names[at] for at in federated.get_support(True)}
    assert chosen == {"cp", "exang", "oldpeak", "slope", "thal"}
    assert federated.get_support(True).tolist() == seeing.get_support(True).tolist()
    assert {names[at] for at in pooled.get_support(True)} == {"cp", "exang", "oldpeak", "slope", "thalach"}
    assert federated.result_.ratio > 0.8
    exhaustive = FederatedSelector(5, method=fm.Exhaustive()).fit(X, y, sites=hospitals)
    assert federated.result_.value >= 0.98 * exhaustive.result_.value
    assert "A sum over 4 hides little" in str(federated.result_)


def test_pipeline_of_hospitals(hearts: Hearts) -> None:
    X, y, hospitals, _ = hearts
    tail = SimpleImputer(), StandardScaler(), LogisticRegression()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        selector = FederatedSelector(5, random_state=0).set_fit_request(sites=True)
        few = make_pipeline(selector, *tail)
        scores = cross_val_score(few, X, y, cv=folds, params={"sites": hospitals})
        assert few.fit(X, y, sites=hospitals)[0].sites_ == ["cleveland", "hungarian", "switzerland", "va"]
        grid = GridSearchCV(few, {"federatedselector__k": [1, 5]}, cv=folds).fit(X, y, sites=hospitals)
        assert grid.best_params_ == {"federatedselector__k": 5}
        unasked = make_pipeline(FederatedSelector(5), *tail)
        with pytest.raises(ValueError, match="sites"):
            unasked.fit(X, y, sites=hospitals)
    with_all = cross_val_score(make_pipeline(*tail), X, y, cv=folds)
    one = cross_val_score(make_pipeline(*tail), X[:, [5]], y, cv=folds)  # fasting blood sugar tells little
    assert scores.mean() > 0.75 > one.mean()
    assert scores.mean() > with_all.mean() - 0.05

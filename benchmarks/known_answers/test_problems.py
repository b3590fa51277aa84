"""Problems with real data, solved: the folder that FOLKMOOT_DATA names."""

import csv
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import folkmoot as fm

Find = Callable[[str], Path]


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_four_hospitals_agree_on_features(found: Find) -> None:
    """A panel of four features that tells most about heart disease in all four hospitals."""
    rows = read(found("heart-disease-4-hospitals/heart4.csv"))
    features = [name for name in rows[0] if name not in ("hospital", "num")]
    numbers = {"age", "trestbps", "chol", "thalach", "oldpeak"}
    hospitals = sorted({row["hospital"] for row in rows})
    assert len(rows) == 920
    tables, labels = [], []
    for hospital in hospitals:
        mine = [row for row in rows if row["hospital"] == hospital]
        tables.append(np.array([[binned(row[f], f in numbers) for f in features] for row in mine]))
        labels.append([row["num"] not in ("0", "0.0") for row in mine])
    sizes = [len(table) for table in tables]
    objective = fm.Information(tables, labels, weights=sizes, item_names=features, client_names=hospitals)
    best = fm.solve(objective, 4, fm.Exhaustive())
    greedy = fm.solve(objective, 4)
    assert greedy.value >= 0.98 * best.value
    assert greedy.upper_bound >= best.value
    assert fm.solve(objective, 4, fm.RandomSet()).value < greedy.value
    assert {"cp", "thal"} & set(greedy.names or ())  # chest pain and the thallium scan are known to tell most


def binned(value: str, number: bool) -> str:
    if value in ("", "?", "NA", "nan") or not number:
        return value
    scale = 2 if abs(float(value)) < 10 else 20
    return str(int(float(value) // scale))


def test_stores_in_san_francisco(found: Find) -> None:
    """Four of 16 sites for 205 census tracts weighted by population; the optimum by listing all 1,820 choices."""
    rows = read(found("sf-facility-spopt/SF_network_distance_candidateStore_16_censusTract_205_new.csv"))
    tracts = {row["DestinationName"]: float(row["demand"]) for row in rows}
    sites = sorted({row["name"] for row in rows})
    at, of = {tract: k for k, tract in enumerate(tracts)}, {site: k for k, site in enumerate(sites)}
    distance = np.full((len(at), len(of)), np.inf)
    for row in rows:
        distance[at[row["DestinationName"]], of[row["name"]]] = float(row["distance"])
    assert distance.shape == (205, 16)
    objective = fm.FacilityLocation(
        np.maximum(0, 1 - distance / 10_000), weights=list(tracts.values()), keep_empty=True, item_names=sites
    )
    best = fm.solve(objective, 4, fm.Exhaustive())
    for method in (fm.Greedy(), fm.ContinuousGreedy(100)):
        result = fm.solve(objective, 4, method)
        assert 0.95 * best.value <= result.value <= best.value <= result.upper_bound
    assert fm.solve(objective, 4, fm.Popularity()).value < fm.solve(objective, 4).value


def test_areas_of_a_web_site(found: Find) -> None:
    """Ten areas of a site that reach the most visitors: 32,711 people, 285 areas."""
    visits: list[tuple[int, int]] = []
    with gzip.open(found("msweb/anonymous-msweb.data.gz"), "rt", encoding="latin-1") as file:
        user = -1
        for line in file:
            kind, *fields = line.strip().split(",")
            if kind == "C":
                user += 1
            elif kind == "V":
                visits.append((user, int(fields[0]) - 1000))
    rows, items = np.array(visits).T
    matrix = sparse.coo_array((np.ones(len(rows)), (rows, items))).tocsr()
    assert (matrix.shape[0], matrix.nnz) == (32_711, 98_654)
    objective = fm.Coverage(matrix)
    greedy = fm.solve(objective, 10)
    reached = np.unique(rows[np.isin(items, greedy.selected)]).size
    assert greedy.value * 32_711 == pytest.approx(reached)
    assert greedy.ratio > 0.92
    assert fm.solve(objective, 10, fm.Popularity()).value < greedy.value

"""Bad input gets one sentence that names the argument, the place and what to do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import folkmoot as fm
from folkmoot import FolkmootError, InputError, NotSubmodular

GOOD = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])


def changed(row: int, item: int, value: float) -> Any:
    matrix = GOOD.copy()
    matrix[row, item] = value
    return matrix


def doubled() -> Any:
    return sparse.coo_array(([1.0, 2.0, 1.0], ([0, 1, 1], [0, 2, 2])), shape=(2, 3))


def raw(indices: list[int], indptr: list[int]) -> Any:
    matrix = sparse.csr_array((2, 3))
    matrix.data, matrix.indices = np.ones(len(indices)), np.array(indices, dtype=np.int32)
    matrix.indptr = np.array(indptr, dtype=np.int32)
    return matrix


TABLES = [np.array([[0, 1, 0], [1, 0, 1]]), np.array([[0, 0, 0], [1, 1, 1]])]

BAD: list[tuple[str, Callable[[], Any], str]] = [
    # matrices
    ("NaN", lambda: fm.FacilityLocation(changed(1, 1, np.nan)), r"^benefits: row 1, item 1 is nan; fill or drop it$"),
    ("infinity", lambda: fm.FacilityLocation(changed(0, 2, np.inf)), r"^benefits: row 0, item 2 is inf; fill"),
    ("minus infinity", lambda: fm.FacilityLocation(changed(0, 2, -np.inf)), r"^benefits: row 0, item 2 is -inf"),
    ("negative", lambda: fm.FacilityLocation(changed(1, 0, -2.0)), r"row 1, item 0 is -2; values must not be neg"),
    ("chance", lambda: fm.ProbabilisticCoverage(GOOD), r"^probabilities: row 0, item 2 is 2; .* \[0, 1\]$"),
    ("negative chance", lambda: fm.ProbabilisticCoverage(changed(0, 0, -0.1) / 3), r"row 0, item 0 is -0\.03"),
    ("degrees", lambda: fm.Coverage(GOOD / 3), r"^membership: row 0, item 0 is 0\.333333; membership is 0 or 1"),
    ("counts", lambda: fm.Coverage(GOOD), r"^membership: row 0, item 2 is 2; values must lie in \[0, 1\]$"),
    ("scores", lambda: fm.ConcaveOverModular(-GOOD), r"^scores: row 0, item 0 is -1"),
    ("twice in COO", lambda: fm.FacilityLocation(doubled()), r"^benefits: row 1, item 2 appears twice"),
    ("twice in CSR", lambda: fm.FacilityLocation(raw([0, 2, 2], [0, 1, 3])), r"row 1, item 2 appears twice"),
    ("item out of range", lambda: fm.FacilityLocation(raw([0, 7], [0, 1, 2])), r"row 1, item 7 is not one of the"),
    ("item below zero", lambda: fm.FacilityLocation(raw([0, -1], [0, 1, 2])), r"row 1, item -1 is not one of the"),
    ("damaged", lambda: fm.FacilityLocation(raw([0, 1], [0, 2, 1])), r"^benefits: its row pointers"),
    ("text", lambda: fm.FacilityLocation([["a", "b"]]), r"^benefits: holds <U1; real numbers"),
    ("complex", lambda: fm.FacilityLocation(GOOD * 1j), r"^benefits: holds complex128"),
    ("complex sparse", lambda: fm.FacilityLocation(sparse.csr_array(GOOD * 1j)), r"^benefits: holds complex128"),
    ("one dimension", lambda: fm.FacilityLocation([1.0, 2.0]), r"^benefits: needs two dimensions .* got 1 \(a list\)$"),
    ("ragged", lambda: fm.FacilityLocation([[1.0], [1.0, 2.0]]), r"^benefits: its parts differ in length$"),
    ("empty client", lambda: fm.FacilityLocation(np.eye(3)[:2] * [1, 0, 1]), r"^benefits: row 1 has no entry above 0"),
    ("no clients", lambda: fm.FacilityLocation(np.zeros((0, 3))), r"^benefits: there are no clients"),
    ("no items", lambda: fm.FacilityLocation(np.zeros((3, 0))), r"^benefits: there are no items"),
    # owners, weights, names
    ("owners length", lambda: fm.FacilityLocation(GOOD, owners=[0]), r"^owners: needs one client number per row \(2\)"),
    ("owners gap", lambda: fm.FacilityLocation(GOOD, owners=[0, 2]), r"^owners: client 1 owns no row; number"),
    ("owners huge", lambda: fm.FacilityLocation(GOOD, owners=[0, 2**60]), r"^owners: client 1 owns no row; number"),
    ("owners negative", lambda: fm.FacilityLocation(GOOD, owners=[0, -1]), r"^owners: row 1 has owner -1"),
    ("owners fractions", lambda: fm.FacilityLocation(GOOD, owners=[0.0, 1.0]), r"^owners: needs one client number"),
    (
        "weights length",
        lambda: fm.FacilityLocation(GOOD, weights=[1.0]),
        r"^weights: needs one number per client \(2\)",
    ),
    ("weights negative", lambda: fm.FacilityLocation(GOOD, weights=[1, -1]), r"^weights: client 1 has -1\.0"),
    ("weights NaN", lambda: fm.FacilityLocation(GOOD, weights=[np.nan, 1]), r"^weights: client 0 has nan"),
    ("weights zero", lambda: fm.FacilityLocation(GOOD, weights=[0, 0]), r"^weights: every client has weight 0"),
    ("row weights", lambda: fm.FacilityLocation(GOOD, row_weights=[1, -2]), r"^row_weights: row 1 has -2\.0"),
    ("item names", lambda: fm.FacilityLocation(GOOD, item_names=["a"]), r"^item_names: 1 names were given for 3 items"),
    ("client names", lambda: fm.Coverage(GOOD > 0, client_names=["a"]), r"^client_names: 1 names were given for 2 cl"),
    # other objectives
    ("concave", lambda: fm.ConcaveOverModular(GOOD, "cube"), r'^concave: needs "sqrt", "log1p" or a number'),
    ("cap", lambda: fm.ConcaveOverModular(GOOD, 0), r"^concave: needs a number above 0, got 0$"),
    ("no tables", lambda: fm.Information([], 0), r"^tables: there are no clients"),
    ("empty table", lambda: fm.Information([np.zeros((0, 3))], 0), r"^tables: client 0 needs a table"),
    ("columns", lambda: fm.Information([TABLES[0], np.zeros((2, 2))], 0), r"^tables: client 1 has 2 columns"),
    ("missing", lambda: fm.Information([[[0, np.nan]]], 0), r"^tables: client 0, row 0, column 1 is missing"),
    ("missing text", lambda: fm.Information([[["a", None], ["b", "c"]]], 0), r"client 0, row 0, column 1 is missing"),
    ("target", lambda: fm.Information(TABLES, 3), r"^target: column 3 is not one of the columns 0\.\.2$"),
    ("labels", lambda: fm.Information(TABLES, [[0, 1]]), r"^target: has 1 arrays of labels for 2 tables$"),
    ("labels length", lambda: fm.Information(TABLES, [[0, 1], [0]]), r"^target: client 1 needs 2 labels"),
    ("missing label", lambda: fm.Information(TABLES, [[0, 1], [np.nan, 1]]), r"^target: client 1, row 0"),
    ("only a label", lambda: fm.Information([[[0], [1]]], 0), r"^tables: there are no items"),
    ("smoothing", lambda: fm.Information(TABLES, 0, smoothing=-1), r"^smoothing: needs a number of at least 0"),
    ("states", lambda: fm.Information([np.arange(180).reshape(10, 18)], 0).values(range(17)), r"1e\+17 joint states"),
    ("noise", lambda: fm.LogDet(np.ones((2, 3)), 0), r"^noise: needs a number above 0, got 0$"),
    ("features NaN", lambda: fm.LogDet([[np.nan]], 1), r"^features: client 0, item 0, dimension 0 is nan"),
    ("features shape", lambda: fm.LogDet([1.0], 1), r"^features: needs clients × items × dimensions"),
    ("features ragged", lambda: fm.LogDet([[[1.0]], [[1.0, 2.0]]], 1), r"^features: clients differ in their numbers"),
    ("features text", lambda: fm.LogDet([["a"]], 1), r"^features: holds <U1"),
    ("no functions", lambda: fm.Functions([], 3), r"^callables: there are no clients"),
    ("not callable", lambda: fm.Functions([3], 3), r"^callables: client 0 has 3, which cannot be called$"),  # type: ignore[list-item]
    ("n_items", lambda: fm.Functions(len, 0), r"^n_items: needs a whole number of at least 1, got 0$"),
    ("function NaN", lambda: fm.solve(fm.Functions(lambda _: np.nan, 3), 1), r"^callables: client 0 returned nan for"),
    ("function None", lambda: fm.solve(fm.Functions(lambda _: None, 3), 1), r"client 0 returned None for the set"),  # type: ignore[arg-type,return-value]
    ("no parts", lambda: fm.Mixture([]), r"^parts: needs at least one objective"),
    ("parts", lambda: fm.Mixture([fm.Functions(len, 3), fm.Functions(len, 4)]), r"^parts: part 1 has 1 clients and 4"),
    ("coefficients", lambda: fm.Mixture([fm.Functions(len, 3)], [-1]), r"^coefficients: part 0 has -1\.0"),
    # sets and points
    ("set out of range", lambda: fm.Functions(len, 3).values([3]), r"^sets: item 3 is not one of the items 0\.\.2$"),
    ("set twice", lambda: fm.Functions(len, 3).values([1, 1]), r"^sets: item 1 is listed twice"),
    ("mask length", lambda: fm.Functions(len, 3).gains(np.ones(4, bool)), r"^members: has a mask of shape \(4,\)"),
    ("fractions as a set", lambda: fm.Functions(len, 3).gains([0.5]), r"^members: needs a boolean mask"),  # type: ignore[list-item]
    ("many sets", lambda: fm.Functions(len, 3).values(np.ones((2, 3))), r"^sets: needs a boolean matrix"),
    ("point", lambda: fm.Functions(len, 3).gradients([0, 2, 0]), r"^x: item 1 has 2\.0; every coordinate must lie"),
    ("point NaN", lambda: fm.Functions(len, 3).gradients([0, np.nan, 0]), r"^x: item 1 has nan"),
    ("point length", lambda: fm.Functions(len, 3).gradients([0.0]), r"^x: needs one number per item \(3\)"),
    ("client", lambda: fm.Functions(len, 3)[1], r"^clients: 1 is not one of the clients 0\.\.0$"),
    ("no client", lambda: fm.Functions(len, 3)[[]], r"^clients: selects nobody"),
    ("client kind", lambda: fm.Functions(len, 3)[["a"]], r"^clients: needs client ids"),  # type: ignore[list-item]
    # matroids
    ("k zero", lambda: fm.Uniform(5, 0), r"^k: needs a whole number of at least 1, got 0$"),
    ("k above n", lambda: fm.Uniform(5, 6), r"^k: 6 items cannot be chosen from 5; give k between 1 and 5$"),
    ("k fraction", lambda: fm.Uniform(5, 1.5), r"^k: needs a whole number, got 1\.5$"),  # type: ignore[arg-type]
    ("k bool", lambda: fm.Uniform(5, True), r"^k: needs a whole number, got True$"),
    ("n zero", lambda: fm.Free(0), r"^n_items: needs a whole number of at least 1"),
    ("no groups", lambda: fm.Partition([], 1), r"^groups: there are no items"),
    ("capacity", lambda: fm.Partition(["a", "b"], {"a": 1, "b": -1}), r"^capacities: group 'b': needs .* got -1$"),
    ("capacity missing", lambda: fm.Partition(["a", "b"], {"a": 1}), r"^capacities: group 'b' \(of item 1\) has none"),
    ("capacities short", lambda: fm.Partition([0, 1, 2], [1, 1]), r"capacities: group 2 \(of item 2\) has none$"),
    ("overlap", lambda: fm.Laminar(4, [([0, 1], 1), ([1, 2], 1)]), r"^limits: sets 0 and 1 overlap, but neither"),
    ("limit item", lambda: fm.Laminar(4, [([0, 9], 1)]), r"^limits: set 0: item 9 is not one of the items"),
    ("limit capacity", lambda: fm.Laminar(4, [([0], -1)]), r"^limits: capacity of set 0: needs a whole number"),
    ("limit twice", lambda: fm.Laminar(4, [([0, 0], 1)]), r"^limits: set 0: item 0 is listed twice"),
    ("no edges", lambda: fm.Graphic([]), r"^edges: there are no items"),
    ("edge", lambda: fm.Graphic([(0, 1), (1, 2, 3)]), r"^edges: item 1 has 3 vertices"),  # type: ignore[list-item]
    ("transversal", lambda: fm.Transversal(3, [[0, 3]]), r"^sets: set 0: item 3 is not one of"),
    ("matrix", lambda: fm.Linear([1.0, 2.0]), r"^matrix: needs numbers in rows × items"),
    ("matrix NaN", lambda: fm.Linear([[np.nan]]), r"^matrix: row 0, item 0 is nan"),
    ("field", lambda: fm.Linear([[1]], 4), r"^field: needs None \(real numbers\) or a prime"),
    ("field fractions", lambda: fm.Linear([[0.5]], 3), r"^matrix: over a finite field it must hold whole"),
    ("truncation", lambda: fm.Truncation(fm.Free(3), 4), r"^k: 4 items cannot be chosen from 3"),
    ("oracle", lambda: fm.Oracle(3, True), r"^independent: True cannot be called$"),  # type: ignore[arg-type]
    ("weights of items", lambda: fm.Uniform(3, 1).best_base([1, 2]), r"^weights: needs one number per item \(3\)"),
    ("weights of items NaN", lambda: fm.Uniform(2, 1).best_base([1, np.nan]), r"^weights: item 1 has nan"),
    # the front door
    ("objective", lambda: fm.solve(GOOD, 1), r"^objective: needs an objective such as .* got ndarray$"),  # type: ignore[arg-type]
    ("matroid", lambda: fm.solve(fm.Functions(len, 3), "2"), r"^matroid: needs a matroid or a whole number"),  # type: ignore[arg-type]
    ("sizes", lambda: fm.solve(fm.Functions(len, 3), fm.Partition([0, 1], 1)), r"^matroid: is over 2 items, the obj"),
    ("rank 0", lambda: fm.solve(fm.Functions(len, 2), fm.Partition([0, 0], 0)), r"^matroid: allows nothing but"),
    ("method", lambda: fm.solve(fm.Functions(len, 2), 1, fm.Greedy), r"^method: needs a method with its brackets"),  # type: ignore[arg-type]
    ("seed", lambda: fm.solve(fm.Functions(len, 2), 1, seed=-1), r"^seed: needs a whole number of at least 0"),
    ("sigma", lambda: fm.samples_needed(0, 0.1, 5), r"^sigma: needs a number above 0"),
    ("delta", lambda: fm.samples_needed(0.1, 1, 5), r"^delta: needs a probability below 1, got 1$"),
    ("not a number", lambda: fm.samples_needed("x", 0.1, 5), r"^sigma: needs a number, got 'x'$"),  # type: ignore[arg-type]
    ("json", lambda: fm.Result.from_json("{}"), r"^text: is not a result in the format"),
    # whatever has no parts, the wrong parts, or parts of the wrong kind
    ("set of nothing", lambda: fm.Functions(len, 3).values(None), r"^sets: needs a boolean mask"),  # type: ignore[arg-type]
    ("ragged sets", lambda: fm.Functions(len, 3).values([[0], [1, 2]]), r"^sets: its parts differ"),  # type: ignore[list-item]
    ("no sets", lambda: fm.Functions(len, 3).values(np.ones((0, 3), bool)), r"^sets: there are none"),
    (
        "sets of sets",
        lambda: fm.Functions(len, 3).values([{0}, {1}]),  # type: ignore[list-item]
        r"^sets: needs .* give a boolean matrix with one row",
    ),
    ("ragged weights", lambda: fm.FacilityLocation(GOOD, weights=[[1], [1, 2]]), r"^weights: its parts differ"),
    ("names text", lambda: fm.FacilityLocation(GOOD, item_names="abc"), r"^item_names: needs a list of 3 names"),
    ("names dict", lambda: fm.FacilityLocation(GOOD, item_names={0: "a"}), r"^item_names: needs .* got a dict$"),
    ("names number", lambda: fm.FacilityLocation(GOOD, item_names=5), r"^item_names: needs a list, got 5$"),
    ("groups none", lambda: fm.Partition(None, 1), r"^groups: needs a list, got None$"),  # type: ignore[arg-type]
    (
        "groups dict",
        lambda: fm.Partition({0: "a"}, 1),  # type: ignore[arg-type]
        r"^groups: needs a list with the group of each item, got a dict$",
    ),
    ("groups NaN", lambda: fm.Partition([1.0, np.nan], 1), r"^groups: item 1 has nan, which cannot name a group$"),
    ("groups lists", lambda: fm.Partition([[0], [1]], 1), r"^groups: item 0 has \[0\], which cannot name"),  # type: ignore[list-item]
    ("capacity half", lambda: fm.Partition([0, 1], 1.5), r"^capacities: needs a whole number, got 1\.5$"),  # type: ignore[arg-type]
    ("limits none", lambda: fm.Laminar(4, None), r"^limits: needs a list, got None$"),  # type: ignore[arg-type]
    ("limits flat", lambda: fm.Laminar(4, [1, 2]), r"^limits: set 0: needs a list, got 1$"),  # type: ignore[list-item]
    ("limits short", lambda: fm.Laminar(4, [([0],)]), r"^limits: set 0 has 1 parts; give its items and"),  # type: ignore[list-item]
    ("edges flat", lambda: fm.Graphic([1, 2]), r"^edges: item 0: needs a list, got 1$"),  # type: ignore[list-item]
    ("edges lists", lambda: fm.Graphic([([0], [1])]), r"^edges: item 0 joins .* must be hashable"),  # type: ignore[list-item]
    ("transversal none", lambda: fm.Transversal(3, None), r"^sets: needs a list, got None$"),  # type: ignore[arg-type]
    ("truncation of 3", lambda: fm.Truncation(3, 2), r"^matroid: needs a matroid such as .* got 3$"),  # type: ignore[arg-type]
    ("mixture of 1", lambda: fm.Mixture([1]), r"^parts: part 0: needs an objective such as .* got int$"),  # type: ignore[list-item]
    ("welfare of 3", lambda: fm.welfare(3), r"^objective: needs an objective"),  # type: ignore[arg-type]
    ("checking 3", lambda: fm.check_submodular(3), r"^objective: needs an objective"),  # type: ignore[arg-type]
    ("bound of 2", lambda: fm.upper_bound(fm.Functions(len, 3), 2, [0]), r"^matroid: needs a matroid"),  # type: ignore[arg-type]
    ("pipage of 3", lambda: fm.rounding.pipage(3, [1.0]), r"^matroid: needs a matroid"),  # type: ignore[arg-type]
    ("pipage seed", lambda: fm.rounding.pipage(fm.Uniform(2, 1), [1, 0], seed=-1), r"^seed: needs a whole number"),
    ("sampling seed", lambda: fm.Functions(len, 9).gradients(np.full(9, 0.5), seed=-1), r"^seed: needs a whole"),
    ("callables none", lambda: fm.Functions(None, 3), r"^callables: needs a list, got None$"),  # type: ignore[arg-type]
    ("huge answer", lambda: fm.Functions(lambda _: 10**400, 2).values([0]), r"^callables: client 0 returned 1000"),
    ("tables none", lambda: fm.Information(None, 0), r"^tables: needs a list, got None$"),  # type: ignore[arg-type]
    ("target text", lambda: fm.Information(TABLES, "num"), r"^target: needs the number of a column, got 'num'$"),
    ("too many samples", lambda: fm.samples_needed(1e-200, 0.1, 5), r"^sigma: .* needs more than 2\^63 samples$"),
    ("trials", lambda: fm.Uniform(30, 1).is_valid(trials=0), r"^trials: needs a whole number of at least 1"),
    ("k true", lambda: fm.solve(fm.Functions(len, 3), True), r"^k: needs a whole number, got True$"),
    ("client true", lambda: fm.Functions(len, 3)[True], r"^clients: needs client ids"),
    ("most", lambda: fm.solve(fm.Functions(len, 3), 1, fm.Exhaustive("a")), r"^most: needs a whole number"),  # type: ignore[arg-type]
    ("noise huge", lambda: fm.LogDet(np.ones((2, 3)), 1e-200), r"^features: client 0, item 0, dimension 0 is 1\.0"),
    ("too many pairs", lambda: fm.welfare(fm.Coverage(sparse.eye_array(50_000, 50_000))), r"has too many pairs"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "says"), [pytest.param(make, says, id=name) for name, make, says in BAD])
def test_bad_input_is_named(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        make()
    assert isinstance(caught.value, FolkmootError)
    assert isinstance(caught.value, ValueError)  # so that general code can catch it too
    assert "\n" not in str(caught.value)


def test_zeros_are_dropped_and_empty_clients_kept_when_wanted() -> None:
    explicit = sparse.csr_array((np.array([1.0, 0.0, 2.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    objective = fm.FacilityLocation(explicit)
    np.testing.assert_array_equal(objective.gains(()).toarray(), [[1.0, 0.0], [0.0, 2.0]])
    assert explicit.nnz == 3  # what was passed in is left alone
    quiet = fm.FacilityLocation([[1.0, 0.0], [0.0, 0.0]], keep_empty=True)
    assert quiet.mean_values([0]) == 0.5
    nobody = fm.Coverage(np.zeros((3, 4)), keep_empty=True)
    assert fm.solve(nobody, 2).value == 0.0
    assert fm.solve(nobody, 2).ratio == 1.0


def test_broken_functions_are_shown() -> None:
    def falling(s: frozenset[int]) -> float:
        return float(len(s) if len(s) < 3 else 0)

    def rising(s: frozenset[int]) -> float:
        return float(len(s) ** 2)

    with pytest.raises(NotSubmodular, match=r"client 1 \(b\) is not monotone: with S = \["):
        fm.check_submodular(fm.Functions([len, falling], 5, client_names=["a", "b"]))
    with pytest.raises(NotSubmodular, match=r"client 0 is not submodular: .*f\(T \+ e\) = .*correct the function"):
        fm.check_submodular(fm.Functions(rising, 5))
    with pytest.raises(NotSubmodular, match="negative on the empty set"):
        fm.check_submodular(fm.Functions(lambda s: len(s) - 1.0, 5))
    fm.check_submodular(fm.Functions(len, 5))


def test_rounding_errors_are_no_falling_functions() -> None:
    def noisy(s: frozenset[int]) -> float:
        return 1e6 + min(len(s), 2) + (sum(s) % 7) * 1e-10

    result = fm.solve(fm.Functions(noisy, 6), 3)
    assert len(result.selected) == len(set(result.order or ())) == 3
    assert 0 <= result.ratio <= 1


def test_wide_numbers_are_taken_as_doubles() -> None:
    tiny = np.array([[5.0, np.longdouble("1e-4900")]], dtype=np.longdouble)
    assert fm.FacilityLocation(tiny).values([1]).tolist() == [0.0]
    assert fm.FacilityLocation(GOOD.astype(np.float16)).values([2]).tolist() == [2.0, 0.0]

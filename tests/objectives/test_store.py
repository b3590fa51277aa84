"""Objectives on disk: what comes back is what was stored, mapped and not read; what cannot be is refused."""

import copy
import json
import mmap
import pickle
import struct
import weakref
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from folkmoot import ConcaveOverModular, Coverage, FacilityLocation, InputError, Objective, ProbabilisticCoverage
from folkmoot.objectives.sparse import SparseRows
from folkmoot.objectives.store import ALIGNMENT, FORMAT, HEADER, load, save, save_parts
from tests.objectives.families import FAMILIES, LIFTED, sparse_matrix

STORED = (FacilityLocation, Coverage, ProbabilisticCoverage, ConcaveOverModular)
KINDS: dict[str, tuple[type[SparseRows], dict[str, Any]]] = {
    "facility": (FacilityLocation, {}),
    "coverage": (Coverage, {}),
    "probabilistic": (ProbabilisticCoverage, {}),
    "concave sqrt": (ConcaveOverModular, {}),
    "concave log1p": (ConcaveOverModular, {"concave": "log1p"}),
    "concave cap": (ConcaveOverModular, {"concave": 0.7000000000000001}),
}


def matrix_for(family: type[SparseRows], rows: int = 9, items: int = 6) -> NDArray[Any]:
    """Rows with repeated values, one of them with many levels, the last but one empty."""
    rng = np.random.default_rng(3)
    matrix = sparse_matrix(rng, rows, items)
    matrix[2] = rng.random(items)
    matrix[-2] = 0.0
    return matrix > 0.3 if family is Coverage else matrix


def full(kind: str) -> SparseRows:
    """An objective with everything that can be said of it."""
    family, options = KINDS[kind]
    rng = np.random.default_rng(5)
    return family(
        matrix_for(family),
        owners=[2, 0, 1, 1, 0, 2, 2, 3, 4],
        row_weights=rng.random(9),
        weights=rng.random(5) * 1e3,
        keep_empty=True,
        item_names=["", "b", "ü → 猫", "new\nline", "nul\0", "lone \ud800"],
        client_names=range(5),
        **options,
    )


def arrays(objective: Objective) -> dict[str, NDArray[Any]]:
    assert isinstance(objective, SparseRows)
    layout: Any = objective.layout
    found: dict[str, NDArray[Any]] = layout._asdict()
    found |= {name: getattr(objective, name) for name in ("row_weight", "client_weights")}
    return found if objective.client_rows is None else found | {"client_rows": objective.client_rows}


def assert_same(one: Objective, other: Objective) -> None:
    """Not nearly the same: every answer, every array and every type."""
    assert type(one) is type(other)
    for name in ("n_items", "n_clients", "item_names", "client_names", "closed_form"):
        assert getattr(one, name) == getattr(other, name)
    mine, theirs = arrays(one), arrays(other)
    assert mine.keys() == theirs.keys()
    for name in mine:
        assert type(mine[name]) is type(theirs[name]) is np.ndarray
        assert mine[name].dtype == theirs[name].dtype
        np.testing.assert_array_equal(mine[name], theirs[name])
    rng = np.random.default_rng(11)
    sets, x = rng.random((70, one.n_items)) < 0.4, rng.random(one.n_items)
    ones, others = answers(one, sets, x), answers(other, sets, x)
    for answer, expected in zip(ones, others, strict=True):
        np.testing.assert_array_equal(answer, expected)


def answers(objective: Objective, sets: NDArray[np.bool_], x: NDArray[np.float64]) -> Iterator[Any]:
    yield objective.values(sets)
    yield objective.gains(sets[0]).toarray()
    yield objective.extension(x)
    yield objective.gradients(x).toarray()
    yield objective.mean_values(sets)
    yield objective.mean_gains(sets[1])
    yield objective.mean_gradient(x)
    yield objective.ceiling
    walk = objective.walk(np.flatnonzero(sets[2])[:1])
    for item in range(objective.n_items):
        yield walk.gains()
        walk.add(item)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "population.npz"


@pytest.mark.parametrize("kind", list(KINDS))
def test_what_comes_back_is_what_was_stored(kind: str, path: Path) -> None:
    objective = full(kind)
    save(objective, path)
    assert_same(load(path), objective)
    assert_same(load(str(path)), objective)
    assert [found.name for found in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", list(FAMILIES | LIFTED))
def test_every_family_is_stored_or_refused_in_a_sentence(name: str, path: Path) -> None:
    objective = (FAMILIES | LIFTED)[name](np.random.default_rng(7)).objective
    if type(objective) in STORED:
        save(objective, path)
        assert_same(load(path), objective)
    else:
        with pytest.raises(
            InputError,
            match=r"^objective: \w+ cannot be stored; these can: ConcaveOverModular, Coverage, ",
        ):
            save(objective, path)
        assert not list(path.parent.iterdir())


@pytest.mark.parametrize("items", [1 << 16, (1 << 16) + 1])
def test_two_bytes_an_item_or_four(items: int, path: Path) -> None:
    matrix = sparse.csr_array(([2.0, 1.0, 3.0], ([0, 0, 1], [0, items - 1, items - 1])), shape=(2, items))
    objective = FacilityLocation(matrix)
    save(objective, path)
    back = load(path)
    assert arrays(back)["items"].dtype == arrays(objective)["items"].dtype
    np.testing.assert_array_equal(back.mean_gradient(np.full(items, 0.5)), objective.mean_gradient(np.full(items, 0.5)))


def test_rows_without_any_entry(path: Path) -> None:
    for family, options in KINDS.values():
        objective = family(np.zeros((3, 4)), keep_empty=True, **options)
        save(objective, path)
        assert_same(load(path), objective)


@pytest.mark.parametrize("kind", list(KINDS))
def test_arrays_are_mapped_read_only_and_aligned(kind: str, path: Path) -> None:
    save(full(kind), path)
    for array in arrays(load(path)).values():
        assert isinstance(array.base, mmap.mmap)
        assert not array.flags.owndata
        assert not array.flags.writeable
        assert array.flags.c_contiguous
        assert array.ctypes.data % ALIGNMENT == 0


def test_entries_are_not_read_when_loading(path: Path) -> None:
    """Overwritten entries go unnoticed until they are used: proof that loading does not look at them."""
    objective = FacilityLocation(matrix_for(FacilityLocation), keep_empty=True)
    save(objective, path)
    for name in ("items", "run_end", "run_value"):
        overwrite(path, name, np.full(len(arrays(objective)[name]), 255, arrays(objective)[name].dtype))
    back = load(path)
    assert (arrays(back)["items"] == 255).all()
    assert repr(back) == repr(objective)


def test_numpy_and_unzip_read_the_file_too(path: Path) -> None:
    objective = full("facility")
    save(objective, path)
    with np.load(path, allow_pickle=False) as file:
        for name, array in arrays(objective).items():
            np.testing.assert_array_equal(file[name], array)
            assert file[name].dtype == array.dtype
        assert json.loads(bytes(file["about"]))["format"] == FORMAT
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    first = path.read_bytes()
    save(objective, path)
    assert path.read_bytes() == first  # no clock, no chance


@pytest.mark.parametrize("kind", list(KINDS))
def test_what_is_made_of_a_loaded_objective(kind: str, path: Path) -> None:
    objective = full(kind)
    save(objective, path)
    back = load(path)
    some: list[Any] = [2, slice(1, 4), [3, 0, 3], np.array([True, False, True, False, True])]
    for clients in some:
        assert_same(back[clients], objective[clients])
        save(back[clients], path.with_name("slice"))
        assert_same(load(path.with_name("slice")), objective[clients])
    assert_same(back.reweight([1, 2, 3, 4, 5]), objective.reweight([1, 2, 3, 4, 5]))
    assert_same(pickle.loads(pickle.dumps(back)), objective)
    assert_same(copy.deepcopy(back), objective)


def test_an_objective_may_replace_the_file_it_came_from(path: Path) -> None:
    objective = full("facility")
    save(objective, path)
    back = load(path)
    save(back[1:], path)
    assert_same(load(path), objective[1:])
    assert_same(back, objective)


# Part by part.


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, sparse.coo_array, sparse.csc_array])
@pytest.mark.parametrize("kind", list(KINDS))
def test_parts_are_the_same_as_all_at_once(kind: str, convert: Callable[[Any], Any], path: Path) -> None:
    family, options = KINDS[kind]
    matrix, shares = matrix_for(family, rows=40), np.random.default_rng(1).random(40) * 50
    every: list[dict[str, Any]] = [{}, {"weights": shares, "client_names": range(40), "item_names": range(6)}]
    for more in every:
        cuts = (convert(part) for part in np.split(matrix, [1, 7, 8, 20]))
        save_parts(path, family, cuts, keep_empty=True, **options, **more)
        assert_same(load(path), family(matrix, keep_empty=True, **options, **more))
        assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_weights_of_nothing_in_one_part(path: Path) -> None:
    matrix, shares = matrix_for(FacilityLocation)[:6], [0.0, 0.0, 3.0, 1e-3, 0.0, 200.0]
    save_parts(path, FacilityLocation, np.split(matrix, 3), weights=shares)
    assert_same(load(path), FacilityLocation(matrix, weights=shares))


def test_one_part_at_a_time_is_held(path: Path) -> None:
    seen: list[weakref.ref[Any]] = []

    def parts() -> Iterator[NDArray[Any]]:
        for _ in range(4):
            assert all(earlier() is None for earlier in seen)
            part = matrix_for(FacilityLocation)[:5].copy()
            seen.append(weakref.ref(part))
            yield part
            del part

    save_parts(path, FacilityLocation, parts())
    assert load(path).n_clients == 20


def test_item_names_may_be_used_up(path: Path) -> None:
    save_parts(path, FacilityLocation, [GOOD, GOOD], item_names=iter("abc"))
    assert load(path).item_names == ("a", "b", "c")


def failing(error: BaseException) -> Iterator[NDArray[Any]]:
    yield matrix_for(FacilityLocation)[:3]
    raise error


@pytest.mark.parametrize("error", [RuntimeError("no more"), KeyboardInterrupt(), InputError("their own")])
def test_a_failure_half_way_leaves_what_was_there(error: BaseException, path: Path) -> None:
    with pytest.raises(type(error)):
        save_parts(path, FacilityLocation, failing(error))
    assert not list(path.parent.iterdir())
    objective = full("facility")
    save(objective, path)
    before = path.read_bytes()
    with pytest.raises(type(error)) as raised:
        save_parts(path, FacilityLocation, failing(error))
    assert raised.value is error
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("step", ["os.fsync", "os.replace", "zipfile.ZipFile.open"])
def test_a_failing_disk_leaves_what_was_there(step: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(full("facility"), path)
    before = path.read_bytes()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(step, fail)
    with pytest.raises(OSError, match="No space left"):
        save(full("coverage"), path)
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == [path.name]


GOOD = np.eye(3)
BAD_PARTS: list[tuple[str, dict[str, Any], str]] = [
    ("none", {"parts": []}, r"^parts: there are none; give at least one matrix$"),
    ("other items", {"parts": [GOOD, np.eye(4)]}, r"^parts: part 1 has 4 items, part 0 has 3$"),
    ("NaN", {"parts": [GOOD, GOOD * np.nan]}, r"^parts: part 1: benefits: row 0, item 0 is nan; fill or drop it$"),
    ("a matrix", {"parts": GOOD}, r"^parts: part 0: benefits: needs two dimensions"),
    ("empty rows", {"parts": [GOOD, 0 * GOOD]}, r"^parts: part 1: benefits: row 0 has no entry above 0"),
    ("few weights", {"weights": [1, 2]}, r"^weights: needs one number per client \(6\), got shape \(2,\)$"),
    ("bad weights", {"parts": failing(AssertionError()), "weights": [1, -2]}, r"^weights: client 1 has -2\.0"),
    ("item names", {"item_names": ["a"]}, r"^parts: part 0: item_names: 1 names were given for 3 items"),
    ("client names", {"client_names": ["a"]}, r"^client_names: 1 names were given for 6 clients"),
    ("family", {"family": dict}, r"^family: dict cannot be stored; these can: ConcaveOverModular, Coverage"),
    ("family name", {"family": "Coverage"}, r"^family: 'Coverage' cannot be stored"),
    ("concave", {"family": ConcaveOverModular, "concave": "cube"}, r'^parts: part 0: concave: needs "sqrt"'),
]


@pytest.mark.parametrize(("changes", "says"), [row[1:] for row in BAD_PARTS], ids=[row[0] for row in BAD_PARTS])
def test_bad_parts_get_a_sentence(changes: dict[str, Any], says: str, path: Path) -> None:
    with pytest.raises(InputError, match=says) as raised:
        save_parts(path, **{"family": FacilityLocation, "parts": [GOOD, GOOD], **changes})
    assert "\n" not in str(raised.value)
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("words", [{"owners": [0, 0, 1]}, {"row_weights": [1, 2, 3]}, {"concave": "sqrt"}])
def test_options_that_make_no_sense_are_unknown(words: dict[str, Any], path: Path) -> None:
    with pytest.raises(TypeError, match=next(iter(words))):
        save_parts(path, FacilityLocation, [GOOD, GOOD], **words)
    assert not list(path.parent.iterdir())


def test_bad_targets_get_a_sentence(path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere/file: there is no directory .*nowhere$"):
        save(full("facility"), path.parent / "nowhere" / "file")
    with pytest.raises(InputError, match=r": is a directory; give a file name$"):
        save_parts(path.parent, FacilityLocation, failing(AssertionError()))
    with pytest.raises(InputError, match=r"^objective: needs an objective such as"):
        save(path, full("facility"))  # type: ignore[arg-type]


# Damaged files.


def place(path: Path, name: str) -> tuple[int, int]:
    """Where a member's content begins, and its size."""
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(f"{name}.npy")
    of_name, of_extra = struct.unpack_from("<26xHH", path.read_bytes(), info.header_offset)
    return info.header_offset + 30 + of_name + of_extra, info.file_size


def overwrite(path: Path, name: str, array: NDArray[Any]) -> None:
    """Other numbers in the same place."""
    start, size = place(path, name)
    assert array.nbytes == size - HEADER
    data = bytearray(path.read_bytes())
    data[start + HEADER : start + size] = array.tobytes()
    path.write_bytes(data)


def rewrite(path: Path, **changes: Any) -> None:
    """Write the file anew, some arrays changed (or dropped, if None): lengths and places are right for each."""
    with np.load(path) as file:
        members = {name: file[name] for name in file.files} | changes
    members = {name: array for name, array in members.items() if array is not None}
    with zipfile.ZipFile(path, "w") as archive:
        offset = 0
        for name, array in members.items():
            info = zipfile.ZipInfo(f"{name}.npy")
            padding = -(offset + 30 + len(info.filename) + 4 + 20) % ALIGNMENT
            info.extra = struct.pack("<HH", 0xD935, padding) + bytes(padding)
            with archive.open(info, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, array)
            assert archive.fp is not None
            offset = archive.fp.tell()


def say(**changes: Any) -> Callable[[Path], None]:
    """Change what the file says of itself."""

    def change(path: Path) -> None:
        with np.load(path) as file:
            about = json.loads(bytes(file["about"])) | changes
        rewrite(path, about=np.frombuffer(json.dumps(about).encode(), np.uint8))

    return change


def other(name: str, change: Callable[[NDArray[Any]], Any]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with np.load(path) as file:
            array = file[name]
        rewrite(path, **{name: change(array)})

    return write


def put(at: int, value: float) -> Callable[[NDArray[Any]], NDArray[Any]]:
    def change(array: NDArray[Any]) -> NDArray[Any]:
        changed = array.copy()
        changed[at] = value
        return changed

    return change


def cap(concave: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        save(full("concave cap"), path)
        say(concave=concave)(path)

    return write


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def compress(path: Path) -> None:
    with np.load(path) as file:
        members = {name: file[name] for name in file.files}
    np.savez_compressed(path, **members)


def resave(path: Path) -> None:
    with np.load(path) as file:
        members = {name: file[name] for name in file.files}
    np.savez(path, **members)


def plain_array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.eye(3))


def flip_about(path: Path) -> None:
    start, _ = place(path, "about")
    data = bytearray(path.read_bytes())
    data[start + HEADER + 5] ^= 1
    path.write_bytes(data)


def is_no_list(name: str) -> str:
    return rf"the array {name} is not a list of \w+ numbers$"


WHOLE = r"is not a stored objective, or is cut short or damaged$"
DAMAGED: list[tuple[str, Callable[[Path], Any], str]] = [
    ("missing", lambda p: p.unlink(), r"cannot be read \(No such file or directory\)$"),
    ("a directory", directory, r"cannot be read \(Is a directory\)$"),
    ("empty", lambda p: p.write_bytes(b""), WHOLE),
    ("text", lambda p: p.write_text("benefits\n" * 100), WHOLE),
    ("cut short", lambda p: p.write_bytes(p.read_bytes()[:-30]), WHOLE),
    ("half of it", lambda p: p.write_bytes(p.read_bytes()[: p.stat().st_size // 2]), WHOLE),
    ("beginning lost", lambda p: p.write_bytes(p.read_bytes()[64:]), WHOLE),
    ("a hole", lambda p: p.write_bytes(p.read_bytes()[:1000] + p.read_bytes()[1064:]), WHOLE),
    ("damaged about", flip_about, WHOLE),
    ("a plain npy", plain_array, WHOLE),
    ("someone's npz", lambda p: np.savez(p, a=np.eye(3)), r"is a zip file, but not an objective that Folkmoot"),
    ("someone's about", lambda p: np.savez(p, about=np.eye(3)), WHOLE),
    ("newer format", say(format="folkmoot objective 2"), r'is not in the format "folkmoot objective 1"; save it again'),
    ("about is a list", lambda p: rewrite(p, about=np.frombuffer(b"[]", np.uint8)), r"is not in the format"),
    ("unknown family", say(family="Mixture"), r"holds a Mixture; known are ConcaveOverModular, Coverage"),
    ("no family", say(family=None), r"holds a None; known are"),
    ("other layout", say(family="ConcaveOverModular"), r"the array items is not a list of int32 numbers$"),
    ("no concave", cap(None), r"concave: needs a number, got None"),
    ("bad cap", cap(-1), r"concave: needs a number above 0"),
    ("no items", say(n_items=0), r"n_items: needs a whole number between 1 and 2147483647, got 0$"),
    ("items in words", say(n_items="six"), r"n_items: needs a whole number, got 'six'$"),
    ("other items", say(n_items=7), r"item_names: 6 names were given for 7 items"),
    ("many items", say(n_items=70_000), is_no_list("items")),
    ("client names", say(client_names=["a"]), r"client_names: 1 names were given for 5 clients"),
    ("compressed", compress, r"the array items is compressed or misaligned and cannot be mapped; save the objective"),
    ("saved by numpy", resave, r"is compressed or misaligned and cannot be mapped; save the objective again$"),
    ("no scores", other("run_value", lambda _: None), r"the array run_value is missing$"),
    ("no owners", other("client_rows", lambda _: None), r"the array client_rows is missing$"),
    ("pickle", other("run_value", lambda a: a.astype(object)), is_no_list("run_value")),
    ("two dimensions", other("run_value", lambda a: a[:, None]), is_no_list("run_value")),
    ("single precision", other("run_value", lambda a: a.astype(np.float32)), is_no_list("run_value")),
    ("swapped bytes", other("run_value", lambda a: a.astype(">f8")), is_no_list("run_value")),
    ("an item fewer", other("items", lambda a: a[:-1]), r"lengths of row_start and items or scores differ$"),
    ("a run more", other("run_end", lambda a: np.append(a, a[-1:])), r"lengths of row_runs and run_end or run_value"),
    ("a row fewer", other("row_start", lambda a: a[:-1]), r"the lengths of row_start and items"),
    ("no rows", other("row_weight", lambda a: a[:0]), r"the lengths of row_start and items"),
    ("no clients", other("client_rows", lambda a: a[:1]), r"lengths of client_rows and row_weight differ$"),
    ("nothing at all", other("client_rows", lambda a: a[:0]), r"lengths of client_rows and row_weight differ$"),
    ("first row", other("row_start", put(0, 1)), r"the lengths of row_start and items"),
    ("last row", other("row_start", put(-1, 1 << 40)), r"the lengths of row_start and items"),
    ("falling rows", other("row_start", put(3, 1 << 40)), r"row_start falls where it must rise$"),
    ("falling runs", other("row_runs", put(3, -5)), r"row_runs falls where it must rise$"),
    ("client without rows", other("client_rows", put(1, 0)), r"client_rows falls where it must rise$"),
    ("negative row", other("row_weight", put(0, -1.0)), r"row_weight holds numbers that are negative or not finite$"),
    ("NaN row", other("row_weight", put(2, np.nan)), r"row_weight holds numbers that are negative or not finite$"),
    (
        "infinite client",
        other("client_weights", put(2, np.inf)),
        r"client_weights: client 2 has inf; weights must be finite",
    ),
    ("nobody counts", other("client_weights", np.zeros_like), r"client_weights: every client has weight 0"),
    ("few weights", other("client_weights", lambda a: a[1:]), r"client_weights: needs one number per client \(5\)"),
]


@pytest.mark.parametrize(("damage", "says"), [row[1:] for row in DAMAGED], ids=[row[0] for row in DAMAGED])
def test_damaged_files_get_a_sentence(damage: Callable[[Path], Any], says: str, path: Path) -> None:
    save(full("facility"), path)
    damage(path)
    with pytest.raises(InputError, match=says) as raised:
        load(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)


def test_the_hand_that_damages_is_not_the_damage(path: Path) -> None:
    objective = full("facility")
    save(objective, path)
    rewrite(path)
    assert_same(load(path), objective)


def test_no_single_byte_brings_loading_down(path: Path) -> None:
    """Any byte may be wrong: then the file is refused, or the byte was in an array that is not looked at."""
    save(full("coverage"), path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for at in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[at] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            load(path)
        except InputError:
            refused += 1
    assert refused > len(whole) / 6

"""Imports point one way: every room knows the rooms below it, and no other."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import folkmoot

ROOT = Path(folkmoot.__file__).parent
# From the ground up. Rooms of one layer do not know each other.
LAYERS: list[set[str]] = [
    {"version"},
    {"foundation"},
    {"objectives", "matroids", "secagg", "privacy"},
    {"theory", "data"},
    {"questions"},
    {"conversation"},
    {"algorithms", "engines"},
    {"report"},
    {"application"},
    {"sklearn", "demo"},
    {"cli"},
    {"names"},
    {"__main__", "__init__"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
SHOWN = ("conversation/result.py", "report")  # a result shows itself, when it is asked to


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def find_imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written out in full"
            if node.module == "folkmoot":
                found |= {f"folkmoot.{alias.name}" for alias in node.names}
            else:
                found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    room = room_of(path)
    for name in find_imports(path):
        if name.startswith("folkmoot.") and (other := name.split(".")[1]) != room:
            shown = (str(path.relative_to(ROOT)), other) == SHOWN
            assert shown or LEVEL[other] < LEVEL[room], f"{room} may not know {other}"


def test_every_room_has_a_layer() -> None:
    assert {room_of(path) for path in ROOT.rglob("*.py")} == set(LEVEL)


def test_public_names_exist_and_are_sorted() -> None:
    assert folkmoot.__all__ == sorted(folkmoot.__all__)
    for name in folkmoot.__all__:
        assert getattr(folkmoot, name) is not None


def test_no_numba_but_where_kernels_are_compiled() -> None:
    for path in ROOT.rglob("*.py"):
        if path.stem != "compiled":
            assert not any(name.split(".")[0] == "numba" for name in find_imports(path)), path


# Names.

PARTICIPLES = {
    *("told", "begun", "borne", "written", "drawn", "shown", "said", "taken", "given", "made", "found", "kept"),
    *("grown", "dealt", "held", "known", "sent", "built", "frozen"),
}
# Nouns and verbs that only look like participles.
FINE = {"seed", "embed", "need", "feed", "exceed", "speed"}


def list_definitions() -> Iterator[tuple[Path, ast.ClassDef | ast.FunctionDef]]:
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                yield path, node


def is_property(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(one).split(".")[-1] in ("property", "cached_property") for one in node.decorator_list)


def test_no_two_classes_share_a_name() -> None:
    classes = Counter(node.name for _, node in list_definitions() if isinstance(node, ast.ClassDef))
    assert [name for name, count in classes.items() if count > 1] == []


def test_functions_are_not_named_by_participles() -> None:
    """A property may say what something is; a function says what it does, or what it returns."""
    wrong = []
    for path, node in list_definitions():
        if isinstance(node, ast.FunctionDef) and not is_property(node):
            words = node.name.strip("_").split("_")
            alone = len(words) == 1 and words[0].endswith("ed") and words[0] not in FINE
            if alone or words[0] in PARTICIPLES:
                wrong.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert wrong == []

"""Imports point one way: solvers to constraints and functions, never back; the rooms do not know each other."""

import ast
from pathlib import Path

import pytest

import folkmoot

ROOT = Path(folkmoot.__file__).parent
# Each room, and the rooms it may open a door to.
MAY_IMPORT = {
    "errors": set(),
    "version": set(),
    "sets": {"errors"},
    "compiled": set(),
    "kernels": {"sets", "compiled"},
    "coding": {"kernels", "sets"},
    "codec": {"errors"},
    "confidence": {"sets"},
    "inputs": {"errors", "sets", "kernels"},
    "objectives": {"errors", "sets", "kernels", "inputs", "coding"},
    "matroids": {"errors", "sets", "inputs"},
    "multilinear": {"errors", "sets", "inputs", "objectives"},
    "rounding": {"errors", "sets", "inputs", "matroids"},
    "certificate": {"sets", "objectives", "matroids"},
    "welfare": {"objectives", "matroids"},
    "checks": {"errors", "sets", "inputs", "objectives"},
    "guarantee": set(),
    "result": {"errors", "sets", "guarantee", "report"},  # a result shows itself, when it is asked to
    "queries": {"errors", "sets", "kernels", "coding", "confidence", "objectives", "matroids"},
    "rounds": {"errors", "sets", "coding", "confidence", "objectives", "matroids", "queries"},
    "algorithms": {
        *("errors", "sets", "inputs", "objectives", "matroids", "rounding", "certificate"),
        *("coding", "confidence", "queries", "rounds", "guarantee", "result"),
    },
    "secagg": {"errors", "sets", "kernels", "coding", "inputs"},
    "engines": {"errors", "sets", "inputs", "kernels", "coding", "codec", "objectives", "queries", "rounds", "secagg"},
    "transcript": {"errors", "inputs", "codec", "rounds", "sets"},
    "exposure": {"result", "rounds", "sets"},
    "progress": {"errors", "result"},
    "federation": {
        *("errors", "codec", "objectives", "matroids", "algorithms", "rounds", "engines", "transcript"),
        *("progress", "result", "version", "secagg", "exposure"),
    },
    "settings": set(),
    "data": {"errors", "settings", "sets", "kernels", "inputs", "objectives", "matroids"},
    "problem": {"errors", "settings"},
    "folder": {"errors", "inputs", "problem", "result", "transcript"},
    "report": {"errors", "sets", "result", "guarantee", "version"},
    "job": {
        *("errors", "data", "problem", "folder", "matroids", "algorithms", "engines", "federation", "front"),
        *("progress", "result", "secagg"),
    },
    "account": {"errors", "algorithms", "data", "engines", "front", "job", "report", "result", "version"},
    "contest": {"account", "algorithms", "front", "job", "progress", "report", "result"},
    "expectation": {
        "errors",
        "algorithms",
        "front",
        "matroids",
        "objectives",
        "progress",
        "queries",
        "report",
        "rounds",
    },
    "demo": {"sets"},
    "__main__": {"cli"},
    "sklearn": {"errors", "sets", "inputs", "objectives", "algorithms", "engines", "front"},
    "cli": {
        *("errors", "inputs", "sets", "secagg", "settings", "problem", "folder", "job", "account", "contest"),
        *("expectation", "demo", "data", "report", "matroids", "version"),
    },
    "front": {
        *("errors", "inputs", "objectives", "matroids", "algorithms", "certificate", "result"),
        *("rounds", "engines", "federation", "progress"),
    },
}
OUTSIDE = {"numpy", "scipy", "numba"}


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem in MAY_IMPORT)


def imported(path: Path) -> set[str]:
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


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for name in imported(path):
        if name.startswith("folkmoot."):
            other = name.split(".")[1]
            assert other == room or other in MAY_IMPORT[room], f"{room} may not know {other}"


def test_every_room_is_listed() -> None:
    rooms = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")}
    assert rooms - set(MAY_IMPORT) == {"__init__", "names"}


def test_public_names_exist_and_are_sorted() -> None:
    assert folkmoot.__all__ == sorted(folkmoot.__all__)
    for name in folkmoot.__all__:
        assert getattr(folkmoot, name) is not None


def test_no_numba_but_where_kernels_are_compiled() -> None:
    for path in ROOT.rglob("*.py"):
        if path.stem != "compiled":
            assert not any(name.split(".")[0] == "numba" for name in imported(path)), path

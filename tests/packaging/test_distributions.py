"""An sdist and a wheel are built, and the wheel is installed where nothing else is."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

import folkmoot

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
OURS = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
LEFT_OUT = ignore_patterns(".*", "*.egg-info", "__pycache__", "build", "dist", "folkmoot-demo*")
SOLVE = """
import folkmoot as fm
assert fm.__file__.startswith({prefix!r}), fm.__file__
objective = fm.FacilityLocation([[5, 0, 3], [0, 4, 3], [1, 0, 3]])
print(fm.solve(objective, 2, fm.Greedy()).selected, fm.solve(objective, 1, fm.Exhaustive()).value)
"""
EXTRAS = """
import vl_convert
from folkmoot.sklearn import FederatedSelector
"""


def call(*words: object, at: Path) -> str:
    """What a program prints; its errors are the test's."""
    done = subprocess.run([*map(str, words)], cwd=at, env=OURS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of our own, where a package index can be reached."""
    folder = tmp_path_factory.mktemp("packaging")
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), "setuptools>=77"]
    if subprocess.run(words, cwd=folder, env=OURS, capture_output=True, check=False).returncode:
        pytest.skip("no package index can be reached: nothing can be built or installed")
    return folder


@pytest.fixture(scope="module")
def built(work: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    copytree(ROOT, work / "source", ignore=LEFT_OUT)
    call(sys.executable, "-m", "build", "--outdir", work / "dist", work / "source", at=work)
    (sdist,), (wheel,) = (work / "dist").glob("*.tar.gz"), (work / "dist").glob("*.whl")
    return sdist, wheel


def test_the_wheel_holds_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        names = set(wheel.namelist())
        (metadata,) = (wheel.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
    package = ROOT / "src" / "folkmoot"
    files = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    inside = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert inside == {path.relative_to(package.parent).as_posix() for path in files}
    assert "folkmoot/py.typed" in inside
    assert {Path(name).suffix for name in inside} == {".py", ".csv", ".css", ".js", ".typed"}
    for line in ("License-Expression: Apache-2.0", "License-File: LICENSE", "Author: the Folkmoot developers"):
        assert line in metadata.splitlines()
    extras = set(re.findall(r"^Provides-Extra: (.+)$", metadata, re.MULTILINE))
    assert extras == {"report", "sklearn", "excel", "cluster", "federation", "all", "dev"}


def test_the_sdist_can_be_read_and_tested(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert names >= {
        "LICENSE",
        "SECURITY.md",
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "README.md",
        "Makefile",
    }
    assert names >= {"conftest.py", "constraints.txt", "tests/packaging/test_distributions.py", "docs/secagg.md"}
    assert not [name for name in names if "__pycache__" in name]


def test_declared_dependencies_are_enough(built: tuple[Path, Path], work: Path) -> None:
    """The wheel with what it declares solves a problem and answers on the command line; [all] adds every extra."""
    venv.create(work / "empty")
    programs = work / "empty" / ("Scripts" if sys.platform == "win32" else "bin")
    install = (sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet", "--no-compile")
    pins = ("--constraint", ROOT / "constraints.txt")
    call(*install, *pins, built[1], at=work)
    said = call(programs / "python", "-W", "error", "-c", SOLVE.format(prefix=str(work / "empty")), at=work)
    assert said.split() == ["(0,", "2)", "3.0"]
    assert folkmoot.__version__ in call(programs / "folkmoot", "--version", at=work)
    call(*install, *pins, f"folkmoot[all] @ {built[1].as_uri()}", at=work)
    call(programs / "python", "-W", "error", "-c", EXTRAS, at=work)

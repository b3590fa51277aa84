"""The public names, however one asks for them; and nothing is loaded before."""

import subprocess
import sys

import pytest


def test_help_loads_nothing_heavy() -> None:
    """Nothing that takes long to import is needed to say what the commands are."""
    check = "import sys, folkmoot.cli; print(sorted({'numpy', 'numba', 'scipy', 'cryptography'} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import folkmoot; folkmoot.solve; folkmoot.engines",
        "import folkmoot.names, folkmoot; folkmoot.solve",
        "import folkmoot.algorithms.central, folkmoot; folkmoot.Greedy",
        "from folkmoot import rounding, solve",
        "from folkmoot import *; FedCG",
        "import folkmoot; assert 'solve' in dir(folkmoot)",
    ],
)
def test_public_names_are_there_however_one_asks(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_names_are_not() -> None:
    said = subprocess.run([sys.executable, "-c", "import folkmoot; folkmoot.slove"], capture_output=True, text=True)
    assert "AttributeError: module 'folkmoot' has no attribute 'slove'" in said.stderr


def test_no_name_is_listed_twice() -> None:
    code = "import folkmoot; folkmoot.solve; names = dir(folkmoot); assert len(names) == len(set(names)), names"
    subprocess.run([sys.executable, "-c", code], check=True)

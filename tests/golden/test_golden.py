"""Sums are those that were written down, to the last bit, and results to 12 digits; on every processor."""

import json
import os
import platform
import subprocess
import sys
from typing import Any

import pytest

from tests.golden.runs import WRITTEN, carry_out, cases

OLD: dict[str, Any] = json.loads(WRITTEN.read_text())
CASES = dict(cases())


def test_every_old_run_is_run_again() -> None:
    assert OLD.keys() == CASES.keys()
    assert sum(len(run["sums"]) for run in OLD.values()) > 1_000


@pytest.mark.parametrize("name", CASES)
def test_sums_and_result_are_the_old_ones(name: str) -> None:
    now, old = carry_out(CASES[name]), OLD[name]
    assert now["sums"] == old["sums"]
    assert now["selected"] == old["selected"]
    assert now["result"] == old["result"]
    if not name.startswith("real"):  # there, bytes are counted as they go; elsewhere they are computed
        assert now["up"] == old["up"]


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names a kernel for x86-64 processors")
@pytest.mark.parametrize("family", ["graphic", "linear", "truncation", "logdet", "information"])
def test_another_processors_linear_algebra_gives_the_same(family: str) -> None:
    """The oldest kernel of OpenBLAS adds up in another order than newer ones do, which every processor can run."""
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Nehalem"}
    child = subprocess.run(
        [sys.executable, "-m", "tests.golden.runs", family], env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(child.stdout)
    assert found == {name: run for name, run in OLD.items() if family in name}
    assert len(found) >= 3

"""Sums and results are what they were in version 0.6.0, to the last bit."""

import json
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

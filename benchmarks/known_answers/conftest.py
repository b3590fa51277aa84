"""Where real data is found."""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.instances import Missing, data_file


@pytest.fixture
def found() -> Callable[..., Path]:
    """The path of a file of the data folder; a test whose file is missing is skipped."""

    def find(name: str) -> Path:
        try:
            return data_file(name)
        except Missing as reason:
            pytest.skip(str(reason))

    return find

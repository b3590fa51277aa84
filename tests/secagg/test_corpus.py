"""Every input that the fuzzer once found worth keeping, through its target again. Needs no fuzzer."""

from pathlib import Path

import pytest

from tests.secagg.fuzz.targets import DECODERS, TARGETS, honest_inputs

CORPUS = Path(__file__).parent / "fuzz" / "corpus"
INPUTS = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_input(path: Path) -> None:
    TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_is_there_and_of_this_protocol(name: str) -> None:
    """If not: python -m tests.secagg.fuzz --honest"""
    kept = {path.read_bytes() for path in INPUTS if path.parent.name == name}
    assert set(honest_inputs()[name]) <= kept


@pytest.mark.parametrize("name", DECODERS)
def test_honest_inputs_decode(name: str) -> None:
    for data in honest_inputs()[name]:
        assert DECODERS[name](data[1:], data[0]).encode() == data[1:] or name == "state"


def test_the_corpus_is_small() -> None:
    assert 0 < sum(path.stat().st_size for path in INPUTS) < 200_000

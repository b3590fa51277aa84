"""`folkmoot secagg`, as a person would call it."""

import subprocess
import sys

import numpy as np
import pytest

from folkmoot.cli.secagg_demo import FILMS, run


def folkmoot(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from folkmoot.cli import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_demo_shows_noise_beside_the_sum() -> None:
    said = folkmoot("secagg", "demo", "--clients", "20", "--gone", "0.1", "--seed", "3")
    assert said.returncode == 0, said.stderr
    for words in ("the server saw", "the server learned", *FILMS, "exactly", "malicious server", "unmasking"):
        assert words in said.stdout


def test_what_the_demo_shows_is_what_happened() -> None:
    shown = run(30, 0.1, 1)
    assert shown.result is not None
    survivors = list(shown.result.survivors)
    np.testing.assert_array_equal(shown.result.total, shown.answers[survivors].sum(axis=0))
    ring = 2**shown.announcement.ring_bits
    noise = np.concatenate([(shown.seen[one] - shown.answers[one]) % ring for one in survivors])
    assert len(np.unique(noise)) > len(noise) // 4  # masks, not one number after another
    assert len(shown.vanished) == 3


def test_parameters_say_what_they_protect_against() -> None:
    said = folkmoot("secagg", "parameters", "1000")
    assert said.returncode == 0
    for words in ("112", "80", "595 or more", "2^-64", "malicious"):
        assert words in said.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["demo", "--clients", "5"], "--clients: needs a whole number between 10 and 2000, got 5"),
        (
            ["demo", "--clients", "1000000000000000000000"],
            "--clients: needs a whole number between 10 and 2000, got 1000",
        ),
        (
            ["demo", "--clients", "10", "--gone", "0.1"],
            "--clients: 10 minus 10% leaves fewer than the 10 that are needed",
        ),
        (["demo", "--gone", "0.5"], "--gone: a round tolerates 10% of its clients dropping out, got 50%"),
        (["demo", "--gone", "nan"], "--gone: needs a finite number, got nan"),
        (["demo", "--gone", "inf"], "--gone: needs a finite number, got inf"),
        (["parameters", "2"], "CLIENTS: needs a whole number of at least 3, got 2"),
        (
            ["parameters", "30", "--corrupt", "0.4", "--dropout", "0.4"],
            "CLIENTS: 30 are too few to withstand 40% corrupt",
        ),
        (["parameters", "9999999"], "CLIENTS: a round has at most"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_2(words: list[str], sentence: str) -> None:
    said = folkmoot("secagg", *words)
    assert said.returncode == 2
    assert said.stderr.startswith(f"folkmoot: {sentence}")
    assert said.stderr.count("\n") == 1
    assert not said.stdout


def test_unknown_options_are_refused() -> None:
    assert folkmoot("secagg", "demo", "--colour", "red").returncode == 2

"""Figures that documents quote are those of the file that benchmarks write, so that no two documents can differ.

A quoted figure has its name behind it, which readers do not see: `0.33<!-- figure: round.100 --> s`.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.table import FIGURES, Floor, write_figures

HERE = Path(__file__).resolve().parent.parent
DOCUMENTS = [HERE / "README.md", HERE / "CONTRIBUTING.md", *sorted((HERE / "docs").glob("*.md"))]
QUOTED = re.compile(r"([\d][\d,]*(?:\.\d+)?)?<!-- figure: ([^ ]*) -->")
CODE = re.compile(r"`[^`\n]*`")  # where a mark is only shown
KNOWN = json.loads(FIGURES.read_text())
NUMBERS = ("no", "one", "two", "three", "four")


def find_faults(text: str) -> Iterator[str]:
    """What is wrong with the figures of a document: other values than the file's, at the precision of the text; no such
    figure; times, where the text above, from the heading on, does not say how many cores.
    """
    text = CODE.sub("", text)
    for found in QUOTED.finditer(text):
        number, name = found.groups()
        if number is None or name not in KNOWN:
            yield f"{name}: {'no number stands before it' if number is None else 'is not in the file'}"
            continue
        figure, digits = KNOWN[name], len(number.partition(".")[2])
        if abs(float(number.replace(",", "")) - figure["value"]) > 0.5001 * 10.0**-digits:
            yield f"{name}: {number} in the text, {figure['value']} in the file"
        section = re.split(r"^#+ ", text[: found.start()], flags=re.M)[-1] + text[found.start() :].split("\n\n", 1)[0]
        cores = figure["cores"]
        said = rf"\b({cores}|{NUMBERS[cores] if cores < len(NUMBERS) else cores})( [\w-]+)* cores\b"
        if figure["unit"].startswith(("s", "ms")) and not re.search(said, " ".join(section.split())):
            yield f"{name}: the text does not say that the machine has {cores} cores"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_quote_what_was_measured(document: Path) -> None:
    assert list(find_faults(document.read_text())) == []


def test_some_figures_are_quoted() -> None:
    quoted = {name for one in DOCUMENTS for _, name in QUOTED.findall(one.read_text())}
    assert quoted >= {"round.100", "interval.100.widest"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("On two cores: 99<!-- figure: round.100 --> s", "99 in the text"),
        ("Nothing <!-- figure: round.100 -->", "no number stands before it"),
        ("On two cores: 1<!-- figure: round.101 -->", "is not in the file"),
        (f"Takes {KNOWN['round.100']['value']}<!-- figure: round.100 --> s", "does not say that the machine has"),
        (f"On 2 cores.\n\n# New\n\n{KNOWN['round.100']['value']}<!-- figure: round.100 -->", "does not say"),
    ],
)
def test_a_wrong_figure_is_found(text: str, fault: str) -> None:
    (found,) = find_faults(text)
    assert fault in found


def test_every_figure_says_where_it_is_from() -> None:
    for name, figure in KNOWN.items():
        assert {"value", "unit", "what", "command", "cores", "load", "day"} == set(figure), name
        assert figure["command"].startswith("python -m benchmarks ")


def test_a_part_that_is_written_replaces_its_own_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.table.FIGURES", tmp_path / "measured.json")
    write_figures("one", [Floor("first", 1.23456789, name="a"), Floor("old", 2, name="b"), Floor("not quoted", 3)])
    write_figures("other", [Floor("second", 4, at_most=5, name="c", unit="s")])
    write_figures("one", [Floor("first", 1.5, name="a")])
    written = json.loads((tmp_path / "measured.json").read_text())
    assert {name: figure["value"] for name, figure in written.items()} == {"a": 1.5, "c": 4.0}
    assert written["c"]["unit"] == "s"

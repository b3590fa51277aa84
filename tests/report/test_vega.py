"""The script that draws charts is made once, and kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from folkmoot.report import vega
from folkmoot.version import __version__

pytest.importorskip("vl_convert")


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """An empty place to keep scripts in, and a cheap one to make."""
    monkeypatch.setattr(vega, "KEPT", tmp_path / "scripts")
    monkeypatch.setattr(vega, "make_bundle", lambda _: "made\r\n")
    vega.bundle.cache_clear()
    yield tmp_path / "scripts"
    vega.bundle.cache_clear()


def test_the_script_is_made_once_and_then_read(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert vega.bundle() == "made\r\n"
    assert [one.name for one in kept.iterdir()] == [f"vega-{vega.converter().__version__}-{__version__}.js"]
    monkeypatch.setattr(vega, "make_bundle", lambda _: "made again")
    vega.bundle.cache_clear()
    assert vega.bundle() == "made\r\n"


def test_another_version_makes_its_own(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vega.bundle()
    monkeypatch.setattr(vega.converter(), "__version__", "0")
    monkeypatch.setattr(vega, "make_bundle", lambda _: "of another version")
    vega.bundle.cache_clear()
    assert vega.bundle() == "of another version"
    assert len(list(kept.iterdir())) == 2


def test_where_nothing_can_be_kept_it_is_made_each_time(kept: Path) -> None:
    kept.write_text("a file where the folder would be")
    assert vega.bundle() == "made\r\n"


def test_what_is_kept_is_what_was_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(vega, "KEPT", tmp_path)
    vega.bundle.cache_clear()
    made = vega.bundle()
    vega.bundle.cache_clear()
    assert vega.bundle() == made
    assert "</script" not in made

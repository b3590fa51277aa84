"""What `folkmoot` says of files: what they may hold, how they are packed, and where they come from."""

import io
import sys
import zipfile
from pathlib import Path

import pytest

from folkmoot.data import standard_input
from tests.cli.calling import folkmoot, is_one_sentence, ratings

CONSUMED = "member,product,consumed\n" + "".join(
    f"{member},{product},{1 + (member * product) % 4}\n" for member in range(12) for product in range(member % 3, 9, 2)
)


def test_a_question_comes_with_its_commands(tmp_path: Path) -> None:
    (tmp_path / "my shop.csv").write_text(CONSUMED)
    said = folkmoot(tmp_path, "run", "my shop.csv", "--choose", "2", "--no-report")
    assert said.code == 2
    sentence, first, second = said.err.splitlines()
    assert sentence.startswith("folkmoot: my shop.csv: consumed may say what each product is worth to a member")
    assert first == "    folkmoot run 'my shop.csv' --choose 2 --no-report --value consumed"
    assert second == "    folkmoot run 'my shop.csv' --choose 2 --no-report --value ''"
    assert [path.name for path in tmp_path.iterdir()] == ["my shop.csv"]
    for words, kind in (("consumed", "the consumed of the best"), ("", "who have at least one")):
        told = folkmoot(tmp_path, "inspect", "my shop.csv", "--value", words).out
        assert kind in " ".join(told.split())
    (tmp_path / "p.toml").write_text('[data]\nfile = "my shop.csv"\n[choose]\ncount = 2\n')
    said = folkmoot(tmp_path, "run", "p.toml")
    assert said.err.splitlines()[-1] == "    folkmoot run p.toml --value ''"


def test_inspecting_fails_where_a_run_would_ask(tmp_path: Path) -> None:
    """`folkmoot inspect FILE && folkmoot run FILE` stops at the first."""
    (tmp_path / "shop.csv").write_text(CONSUMED)
    said = folkmoot(tmp_path, "inspect", "shop.csv")
    assert said.code == 2
    assert "consumed may say what each product is worth to a member" in " ".join(said.out.split())
    said = folkmoot(tmp_path, "inspect", "shop.csv", "--json")
    assert (said.code, said.json["question"]) == (2, [{"value": "consumed"}, {"value": ""}])
    for words in ("consumed", ""):
        said = folkmoot(tmp_path, "inspect", "shop.csv", "--value", words, "--json")
        assert (said.code, said.json["question"]) == (0, None)


def test_inspecting_what_cannot_be_read_fails(tmp_path: Path) -> None:
    lines = [b"user,film,stars", *(b"%d,caf\xc3\xa9,3" % at for at in range(9)), b"10,caf\xe9,3"]
    (tmp_path / "mixed.csv").write_bytes(b"\n".join(lines) + b"\n")
    is_one_sentence(folkmoot(tmp_path, "inspect", "mixed.csv"), "mixed.csv: begins as UTF-8 but is not UTF-8")
    (tmp_path / "ragged.csv").write_bytes(b"\n".join([*lines[:-1], b"10,3"]) + b"\n")
    said = folkmoot(tmp_path, "inspect", "ragged.csv")
    assert said.code == 2
    assert "line 11 has 2 columns, not 3" in " ".join(said.out.split())
    assert folkmoot(tmp_path, "inspect", "ragged.csv", "--json").code == 2
    (tmp_path / "readable.csv").write_text("colour,shape\nred,round\nblue,square\n")
    assert folkmoot(tmp_path, "inspect", "readable.csv").code == 2


def pipe(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(standard_input, "_copies", [])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_a_run_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the data is kept; who has it can verify the run with it."""
    content = ratings(tmp_path).read_bytes()
    pipe(monkeypatch, content)
    said = folkmoot(tmp_path, "run", "-", "--choose", "2")
    assert said.code == 0, said.err
    run = tmp_path / "stdin-run"
    assert "came from standard input and was not kept" in " ".join(said.out.split())
    assert not any(content[200:400] in path.read_bytes() for path in run.iterdir())
    pipe(monkeypatch, content)
    assert folkmoot(tmp_path, "verify", "stdin-run").code == 0
    pipe(monkeypatch, content + b"99,1,5\n")
    said = folkmoot(tmp_path, "verify", "stdin-run")
    assert said.code == 1
    assert "is not the file that this run was begun with" in said.err
    pipe(monkeypatch, b"")
    is_one_sentence(folkmoot(tmp_path, "verify", "stdin-run"), "the data is to come from standard input, and nothing")
    assert folkmoot(tmp_path, "verify", "stdin-run", "--sums-only").code == 0
    pipe(monkeypatch, content)
    assert "was not kept" in folkmoot(tmp_path, "report", "stdin-run", "--json").json["lacking"]


def test_a_run_from_an_archive(tmp_path: Path) -> None:
    path = ratings(tmp_path)
    with zipfile.ZipFile(tmp_path / "films.zip", "w") as archive:
        archive.write(path, "ml/ratings.csv")
        archive.writestr("ml/movies.csv", "movieId,title\n" + "".join(f"{film},Film {film}\n" for film in range(10)))
    path.unlink()
    words = ("run", "films.zip/ratings.csv", "--items", "films.zip/movies.csv", "--choose", "2", "--no-report")
    assert folkmoot(tmp_path, *words).code == 0
    said = folkmoot(tmp_path, "verify", "ratings-run")
    assert said.code == 0, said.err
    sentence = "films.zip: holds ml/ratings.csv and ml/movies.csv; say which one, as films.zip/ml/ratings.csv"
    is_one_sentence(folkmoot(tmp_path, "run", "films.zip", "--choose", "2"), sentence)


def test_an_address_is_not_downloaded(tmp_path: Path) -> None:
    said = folkmoot(tmp_path, "run", "https://example.org/ratings.csv", "--choose", "2")
    is_one_sentence(said, "https://example.org/ratings.csv is an address, not a file; download it first")
    assert not list(tmp_path.iterdir())


def test_places_at_0_0_are_asked_about(tmp_path: Path) -> None:
    people = [f"{45 + at / 100},{9 + at / 100}" for at in range(95)] + ["0,0"] * 5
    (tmp_path / "people.csv").write_text("\n".join(["lat,lon", *people]) + "\n")
    (tmp_path / "shops.csv").write_text("id,lat,lon\na,45.1,9.1\nb,45.7,9.7\nc,0,0\n")
    words = ("people.csv", "--items", "shops.csv", "--reach", "50", "--kind", "places", "--choose", "1")
    asked = "5 places of people.csv (5\u202f%) lie at exactly 0, 0: are their coordinates missing?"
    assert f"! {asked}" in folkmoot(tmp_path, "inspect", *words).out
    said = folkmoot(tmp_path, "run", *words, "--no-report").out
    assert " ".join(asked.split()) in " ".join(said.split())

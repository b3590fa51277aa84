"""What `folkmoot` says of files: what they may hold, how they are packed, and where they come from."""

from pathlib import Path

from tests.cli.calling import folkmoot, is_one_sentence

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
    assert folkmoot(tmp_path, "inspect", "readable.csv").code == 0

"""Ranks: 1 is the best, so a column that may hold them is asked about, and never taken for an item or a rating."""

from pathlib import Path

import numpy as np
import pytest

from folkmoot.data import Data, Loaded, load, look
from folkmoot.foundation.errors import InputError, OpenQuestion
from tests.cli.calling import folkmoot

COLUMNS = ("Place", "Preference", "Rank", "Position", "final_rank", "Ranking")
WAYS = (("best", "lowest"), ("best", "highest"), ("value", ""))


def vote(column: str, item: str = "project", seed: int = 0) -> str:
    """30 people rank four of ten projects each; most put project 0 first where they rank it."""
    rng = np.random.default_rng(seed)
    rows = [f"voter,{item},{column}"]
    for voter in range(30):
        liked = np.sort(rng.choice(10, 4, replace=False))
        rows += [f"v{voter},p{project},{at}" for at, project in enumerate(liked, start=1)]
    return "\n".join(rows) + "\n"


def read(folder: Path, text: str, **settings: object) -> Loaded:
    (folder / "votes.csv").write_text(text)
    return load(Data(file="votes.csv", **settings), folder)  # type: ignore[arg-type]


@pytest.mark.parametrize("column", COLUMNS)
def test_ranks_are_asked_about(tmp_path: Path, column: str) -> None:
    with pytest.raises(OpenQuestion, match=rf"{column} may be ranks, of which 1 says which project a voter") as asked:
        read(tmp_path, vote(column))
    assert set(asked.value.ways) <= set(WAYS)
    assert set(asked.value.ways) >= set(WAYS[:2])
    seen = look(Data(file="votes.csv"), tmp_path)
    assert isinstance(seen.problem, OpenQuestion)
    assert dict(seen.taken)["item"] == "project"


@pytest.mark.parametrize("column", COLUMNS)
def test_the_first_choice_counts_most(tmp_path: Path, column: str) -> None:
    chosen = read(tmp_path, vote(column), best="lowest")
    assert chosen.kind == "ratings"
    assert chosen.meaning == f"the 1 / {column} of the best chosen project, averaged over voters"
    assert chosen.objective.most == 1.0
    worth = chosen.objective.gains(()).toarray()
    np.testing.assert_allclose(np.sort(worth, axis=1)[:, -4:], [[1 / 4, 1 / 3, 1 / 2, 1.0]] * 30)
    last = read(tmp_path, vote(column), best="highest").objective.gains(()).toarray()
    np.testing.assert_allclose(worth[worth > 0], 1 / last[worth > 0])


def test_ranks_may_be_left_out(tmp_path: Path) -> None:
    assert read(tmp_path, vote("Place"), value="").kind == "memberships"
    assert read(tmp_path, vote("Place"), least=2.0, value="Place").kind == "memberships"


def test_a_named_value_or_kind_does_not_say_which_end_is_the_best(tmp_path: Path) -> None:
    for settings in ({"value": "Rank"}, {"value": "Rank", "kind": "ratings"}):
        with pytest.raises(OpenQuestion, match="say which value is the best: best='lowest' or best='highest'"):
            read(tmp_path, vote("Rank"), **settings)
    assert read(tmp_path, vote("Rank"), value="Rank", best="lowest").objective.most == 1.0


def test_a_place_that_numbers_the_rows_of_each_client_is_no_item(tmp_path: Path) -> None:
    with pytest.raises(
        OpenQuestion, match="Place numbers the rows of each voter: it may be ranks, and no item"
    ) as asked:
        read(tmp_path, vote("Place", item="thing"))
    assert asked.value.ways == (("item", "thing"), ("item", "Place"))
    with pytest.raises(OpenQuestion, match="Place may be ranks, of which 1 says which item a voter likes best"):
        read(tmp_path, vote("Place", item="thing"), item="thing")
    assert read(tmp_path, vote("Place", item="thing"), item="thing", best="lowest").kind == "ratings"


def test_what_only_sounds_like_a_rank_is_not_asked_about(tmp_path: Path) -> None:
    """Grades that repeat, places that have names or are rated, and a rating beside a rank."""
    rng = np.random.default_rng(1)
    rows = [f"v{at // 5},p{at % 5},{rng.integers(1, 6)},{at % 5 + 1}" for at in range(200)]
    for column in ("preference", "rating"):
        text = "\n".join([f"voter,project,{column}", *(row.rpartition(",")[0] for row in rows)])
        assert read(tmp_path, text).kind == "ratings"
    assert read(tmp_path, "\n".join(["voter,project,rating,rank", *rows])).kind == "ratings"
    named = "user,place,rating\nu1,Rome,4\nu1,Oslo,3\nu2,Rome,5\nu2,Bari,1\n"
    assert read(tmp_path, named).items.names == ("Bari", "Oslo", "Rome")
    numbered = "user,place,rating\nu1,1,4\nu1,2,3\nu2,1,5\nu2,3,1\n"
    assert read(tmp_path, numbered).items.names == ("1", "2", "3")


def test_what_cannot_be_a_rank_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ranks begin at 1, but Rank has 0"):
        read(tmp_path, "voter,project,Rank\na,x,0\na,y,1\nb,x,0\n", best="lowest")
    with pytest.raises(InputError, match="best: is for ratings and ranks, not for memberships"):
        read(tmp_path, "voter,project\na,x\na,y\nb,x\n", best="lowest")
    with pytest.raises(InputError, match="best: 'first' is not one of lowest and highest"):
        read(tmp_path, vote("Rank"), best="first")


def test_the_command_line_says_which_commands_there_are(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text(vote("Place"))
    said = folkmoot(tmp_path, "run", "votes.csv", "--choose", "2", "--no-report")
    assert said.code == 2
    for way in ("--best lowest", "--best highest", "--value ''"):
        assert f"folkmoot run votes.csv --choose 2 --no-report {way}" in said.err
    done = folkmoot(tmp_path, "run", "votes.csv", "--choose", "2", "--no-report", "--best", "lowest", "--quiet")
    assert done.code == 0, done.err

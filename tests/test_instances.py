"""MovieLens 1M is read from either of its shapes; here from files of four ratings."""

import zipfile
from pathlib import Path

import pytest

from benchmarks import instances

STARS = [[0, 3, 0], [5, 0, 4], [0, 0, 1]]
TITLES = ["Alien (1979)", "Brazil (1985)", "Été, Un (1996)"]
RATINGS = "1::20::3::97\n2::10::5::98\n2::40::4::98\n3::40::1::99\n"
MOVIES = (
    "10::Alien (1979)::Horror|Sci-Fi\n20::Brazil (1985)::Comedy\n30::Clue (1985)::Comedy\n40::Été, Un (1996)::Drama\n"
)
INTER = (
    "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
    "1m_2\tÉté, Un (1996)\t4\t98\n1m_2\tAlien (1979)\t5\t98\n1m_1\tBrazil (1985)\t3\t97\n1m_3\tÉté, Un (1996)\t1\t99\n"
)
ITEM = (
    "item_id:token\tmovie_title:token\trelease_year:float\tgenre:token\n"
    "Alien (1979)\tAlien\t1979\tHorror Sci-Fi\nBrazil (1985)\tBrazil\t1985\tComedy\n"
    "Clue (1985)\tClue\t1985\tComedy\nÉté, Un (1996)\tÉté, Un\t1996\tDrama\n"
)


@pytest.fixture(autouse=True)
def nothing_at_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FOLKMOOT_MOVIELENS_1M", raising=False)
    monkeypatch.delenv("FOLKMOOT_DATA", raising=False)
    monkeypatch.setattr(instances, "WHEEL", tmp_path / "films.whl")


def check() -> None:
    matrix, names = instances.movielens_1m()
    assert matrix.toarray().tolist() == STARS
    assert names == TITLES
    assert instances.first_genres(names) == ["Horror", "Comedy", "Drama"]
    assert instances.five_stars(matrix).toarray().tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_a_folder_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ratings.dat").write_text(RATINGS, encoding="latin-1")
    (tmp_path / "movies.dat").write_text(MOVIES, encoding="latin-1")
    monkeypatch.setenv("FOLKMOOT_MOVIELENS_1M", str(tmp_path))
    check()


def test_a_wheel() -> None:
    with zipfile.ZipFile(instances.WHEEL, "w") as wheel:
        wheel.writestr(instances.MEMBER.format("inter"), INTER)
        wheel.writestr(instances.MEMBER.format("item"), ITEM)
    check()


def test_what_is_missing_is_named_with_the_variable_that_helps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(instances.Missing, match="set FOLKMOOT_MOVIELENS_1M to a folder"):
        instances.movielens_1m()
    with pytest.raises(instances.Missing, match=r"a/b\.csv is not here: set FOLKMOOT_DATA"):
        instances.data_file("a", "b.csv")
    monkeypatch.setenv("FOLKMOOT_DATA", str(tmp_path))
    with pytest.raises(instances.Missing, match=r"a/b\.csv is not here"):
        instances.data_file("a", "b.csv")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.csv").touch()
    assert instances.data_file("a", "b.csv") == tmp_path / "a" / "b.csv"

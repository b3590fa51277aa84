"""Letters beyond ASCII, in files that nobody said the encoding of."""

from pathlib import Path

import pytest

from folkmoot.data import Data, load, look
from folkmoot.foundation.errors import InputError
from tests.data.writing import loaded

HEAD = b"user,film,stars\n"
PLAIN = b"".join(b"%d,f%d,3\n" % (at, at % 7) for at in range(600))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of kilobytes are read in as many parts as real ones."""
    for module, name, size in (("lines", "CHUNK", 300), ("text", "SAMPLE", 500), ("letters", "BLOCK", 300)):
        monkeypatch.setattr(f"folkmoot.data.{module}.{name}", size)


def test_one_pair_that_fits_by_chance_does_not_make_it_unicode(tmp_path: Path) -> None:
    """Latin-1 of é is one byte, of Ã© two, which are é in UTF-8."""
    late = b"".join(b"%d,caf\xe9 %d,4\n" % (at, at % 3) for at in range(700, 740))
    read = loaded(tmp_path, HEAD + PLAIN + b"700,\xc3\xa9,5\n" + PLAIN.replace(b"f", b"g") + late)
    assert {"café 0", "café 1", "café 2", "Ã©"} <= set(read.items.names)
    assert (
        "ratings.csv is not UTF-8 and was read as Latin-1. (For 1 letter either would do, first in line 602.)"
        in read.notes
    )


def test_a_line_that_is_not_unicode_is_named(tmp_path: Path) -> None:
    names = "".join(f"{at},café {at % 3},4\n" for at in range(700, 740)).encode()
    text = HEAD + PLAIN + names + b"800,caf\xe9,1\n"
    with pytest.raises(InputError, match=r"ratings.csv: begins as UTF-8 .* line 642 is not; correct that line"):
        loaded(tmp_path, text)
    seen = look(Data(file="ratings.csv"), tmp_path)
    assert (seen.rows, seen.loaded) == (None, None)
    assert [column.name for column in seen.columns] == ["user", "film", "stars"]


def test_a_mark_at_the_beginning_means_unicode(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 602 is not"):
        loaded(tmp_path, b"\xef\xbb\xbf" + HEAD + PLAIN + b"700,caf\xe9,1\n701,caf\xe9,2\n")


def test_letters_of_windows(tmp_path: Path) -> None:
    read = loaded(tmp_path, HEAD + PLAIN + "700,“Amélie”,5\n".encode("cp1252"))
    assert "“Amélie”" in read.items.names
    assert "ratings.csv is not UTF-8 and was read as Windows-1252." in read.notes


def test_unicode_cut_anywhere(tmp_path: Path) -> None:
    text = "".join(f"{at},ａｂｃ{'é' * (at % 5)},4\n" for at in range(300))
    read = loaded(tmp_path, HEAD + text.encode())
    assert read.items.names == tuple(f"ａｂｃ{'é' * at}" for at in range(5))
    assert not any("UTF" in note for note in read.notes)
    assert load(Data(file="ratings.csv", items="ratings.csv", items_id="film"), tmp_path).objective.n_items == 5

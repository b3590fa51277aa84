"""Data from standard input (`-`): copied to a file that is gone when the process ends, so that nothing is kept."""

import atexit
import shutil
import sys
import zipfile
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock

from folkmoot.foundation.errors import InputError

DASH = "-"
NAME = "stdin"
BEGINNINGS = {  # of files whose suffix nobody says
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\x1f\x8b": ".csv.gz",
    b"BZh": ".csv.bz2",
    b"\xfd7zXZ": ".csv.xz",
    b"\x28\xb5\x2f\xfd": ".csv.zst",
    b"%%MatrixMarket": ".mtx",
    b"{": ".jsonl",
}
_one_at_a_time = Lock()
_copies: list[Path] = []


def is_standard_input(name: str) -> bool:
    """Whether a name means standard input; it still does where a folder was put before it."""
    path = Path(name)
    return path.name == DASH and not path.is_file()


def keep_input() -> Path:
    """The file that holds what came from standard input. It is read once: there is no second time."""
    with _one_at_a_time:
        if not _copies:
            _copies.append(_copy())
        return _copies[0]


def _copy() -> Path:
    nothing = InputError(
        "the data is to come from standard input, and nothing does",
        remedy="pipe it in, as in `folkmoot … < ratings.csv`, or name a file",
    )
    if sys.stdin is None or sys.stdin.isatty():
        raise nothing
    folder = Path(mkdtemp(prefix="folkmoot-"))  # for this user only
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = folder / NAME
    with copy.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    if not copy.stat().st_size:
        raise nothing
    return copy.rename(copy.with_suffix(_find_suffix(copy)))


def _find_suffix(copy: Path) -> str:
    """What a file seems to be: text in columns unless it begins as something else."""
    with copy.open("rb") as file:
        start = file.read(64)
    if start.startswith(b"PK") and zipfile.is_zipfile(copy):
        with zipfile.ZipFile(copy) as archive:
            names = archive.namelist()
        arrays = all(name.endswith(".npy") for name in names)
        return ".xlsx" if "xl/workbook.xml" in names else ".npz" if arrays else ".zip"
    return next((suffix for begin, suffix in BEGINNINGS.items() if start.lstrip().startswith(begin)), ".csv")

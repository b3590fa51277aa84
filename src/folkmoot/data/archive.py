"""Files within files: films.zip/ratings.csv is a table in an archive, book.xlsx/May a sheet of a workbook."""

import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import IO

from folkmoot.data.columns import list_words
from folkmoot.foundation.errors import InputError

ZIP, WORKBOOK = ".zip", ".xlsx"
ABOUT = ("readme", "license", "licence", "notice", "changes", "citation", "manifest")  # files that say something else


def split_path(path: Path) -> tuple[Path, str | None]:
    """The file on the disk that a path leads to, and the part of it that is meant; None: all of it."""
    for parent in (path, *path.parents):
        if parent.suffix.lower() in (ZIP, WORKBOOK) and parent.is_file():
            return parent, None if parent == path else path.relative_to(parent).as_posix()
    return path, None


def choose_member(path: Path, known: Collection[str]) -> Path:
    """The path of a table in an archive: the one that is named, or the only one with one of the known suffixes."""
    archive, given = split_path(path)
    names = [name for name in _list_names(archive) if _is_table(name, known)]
    if given is not None:
        chosen = [name for name in names if name == given] or [name for name in names if Path(name).name == given]
    else:
        chosen = [name for name in names if not Path(name).name.lower().startswith(ABOUT)] or names
    if len(chosen) == 1:
        return archive / chosen[0]
    if not names:
        raise InputError("holds no table that can be read", place=archive.name)
    what = f"holds no {given}, but" if given is not None and not chosen else "holds"
    raise InputError(
        f"{what} {list_words(names)}", remedy=f"say which one, as {archive.name}/{names[0]}", place=archive.name
    )


def _list_names(archive: Path) -> list[str]:
    try:
        with zipfile.ZipFile(archive) as opened:
            return [one.filename for one in opened.infolist() if not one.is_dir()]
    except (zipfile.BadZipFile, ValueError):
        raise InputError("is not a zip archive, or is damaged", place=archive.name) from None


def _is_table(name: str, known: Collection[str]) -> bool:
    parts = Path(name).parts
    hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
    return not hidden and any(suffix in known for suffix in Path(name.lower()).suffixes[-2:])


def open_member(archive: Path, name: str) -> IO[bytes]:
    """The bytes of a file in an archive, as a stream."""
    try:
        with zipfile.ZipFile(archive) as opened:
            return opened.open(name)
    except (zipfile.BadZipFile, KeyError):
        raise InputError(f"{name} is not in it, or it is damaged", place=archive.name) from None
    except (RuntimeError, NotImplementedError) as error:
        locked = "password" in str(error)
        why = "is locked with a password" if locked else "is compressed in a way that Python cannot read"
        raise InputError(f"{name} {why}", remedy="unpack it first", place=archive.name) from None

"""The command line, called in this process."""

import contextlib
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from folkmoot.cli import main


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Strict JSON: no NaN and no infinity."""

        def refuse(word: str) -> None:
            raise ValueError(word)

        return json.loads(self.out, parse_constant=refuse)


def folkmoot(folder: Path, *words: str) -> Said:
    """What `folkmoot WORDS` says in a folder."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["folkmoot", *words]
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = before
    return Said(code, out.getvalue(), err.getvalue())


def is_one_sentence(said: Said, sentence: str) -> None:
    """Wrong input: exit code 2, one line that says what and where, nothing else."""
    assert said.code == 2, said
    assert said.err.startswith(f"folkmoot: {sentence}"), said.err
    assert said.err.count("\n") == 1, said.err
    assert not said.out


def ratings(folder: Path, rows: Sequence[str] = (), name: str = "ratings.csv") -> Path:
    """Thirty people who rate ten films; and more rows, if wanted."""
    lines = ["userId,movieId,rating"]
    lines += [f"{user},{film},{1 + (user * film + film) % 5}" for user in range(30) for film in range(user % 3, 10, 2)]
    path = folder / name
    path.write_text("\n".join([*lines, *rows]) + "\n")
    return path


def films(folder: Path) -> Path:
    """Names, genres, and regions within countries."""
    path = folder / "movies.csv"
    lines = [
        f"{film},Film {film},{('Drama', 'Comedy|War')[film % 2]},{'NS'[film % 2]},{'AB'[film // 5]}"
        for film in range(10)
    ]
    path.write_text("\n".join(["movieId,title,genres,region,country", *lines]) + "\n")
    return path

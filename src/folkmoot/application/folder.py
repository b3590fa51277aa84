"""A run's folder. The problem is written first, so that a run can be continued from any point.

run.toml         what was asked, complete
files.json       what the files of data hold, as a hash: a run continues with the same data only
federation.json  who takes part, where parties on a network answer
roster.json      the public keys of all parties, signed by them
round.journal    the round that they are being asked, so that a run that was killed can continue it
about.json       what the data is about, in words
transcript       every question and sum of a federated run, as they come
answer.csv       the chosen items as a table, and answer.geojson on a map, where it is known where they are
result.json      the answer and all that is known of it; there once the run is finished
story.json       all that the last report was made from; there once one was wanted; nothing private, unless the problem
                 says to show one client. It is written for others to read, and never read to write another report
report.html      and report.md, *.png where wanted
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import file_digest
from pathlib import Path

from folkmoot.application.answer_files import MAP, TABLE
from folkmoot.application.problem import Problem
from folkmoot.conversation.result import Result
from folkmoot.foundation.documents import read_json
from folkmoot.foundation.errors import InputError, TranscriptError
from folkmoot.foundation.inputs import as_path
from folkmoot.secagg import Policy

MOST_NUMBERED = 10_000


@dataclass(frozen=True)
class About:
    """What a run is about, as far as words tell it: enough to describe a result without its data."""

    meaning: str
    clients_called: str
    items_called: str
    n_clients: int
    notes: tuple[str, ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


@dataclass(frozen=True)
class Participants:
    """Who takes part in a run whose parties are on a network: decided when it begins, the same until it ends."""

    run: bytes  # what parties know it by
    name: str  # of the federation
    parties: tuple[str, ...]  # in the order of their numbers
    sizes: tuple[int, ...]  # how many clients each of them holds
    fingerprint: str  # of the roster with their keys
    terms: Policy  # on which they take part

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "run": self.run.hex()}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Participants":
        document = read_json(text)
        known = {"run": bytes.fromhex(document["run"]), "terms": Policy(**document["terms"])}
        return cls(**{**document, **known, "parties": tuple(document["parties"]), "sizes": tuple(document["sizes"])})

    @property
    def n_clients(self) -> int:
        return sum(self.sizes)


@dataclass(frozen=True)
class Folder:
    """Where everything about one run is."""

    path: Path

    @property
    def problem(self) -> Path:
        return self.path / "run.toml"

    @property
    def transcript(self) -> Path:
        return self.path / "transcript"

    @property
    def files(self) -> Path:
        return self.path / "files.json"

    @property
    def about(self) -> Path:
        return self.path / "about.json"

    @property
    def federation(self) -> Path:
        return self.path / "federation.json"

    @property
    def roster(self) -> Path:
        return self.path / "roster.json"

    @property
    def journal(self) -> Path:
        return self.path / "round.journal"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    @property
    def story(self) -> Path:
        return self.path / "story.json"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def markdown(self) -> Path:
        return self.path / "report.md"

    @property
    def table(self) -> Path:
        return self.path / TABLE

    @property
    def map(self) -> Path:
        return self.path / MAP

    @property
    def told(self) -> tuple[Path, ...]:
        """All that follows from a result and its data."""
        return (self.table, self.map, self.about, self.story, self.report, self.markdown)

    @property
    def known(self) -> tuple[Path, ...]:
        """All that a run leaves, but for pictures."""
        begun = (self.problem, self.files, self.federation, self.roster, self.journal, self.transcript)
        return (*begun, self.result, *self.told)

    @classmethod
    def create(cls, problem: Problem) -> "Folder":
        """A new folder with the problem in it, every file name in full."""
        folder = cls(make_folder(problem, "run"))
        folder.write(folder.problem, _complete_paths(problem, folder.path).to_toml())
        return folder

    @classmethod
    def open(cls, path: str | Path) -> "Folder":
        """The folder of a run that was begun."""
        folder = cls(as_path(path, "folder"))
        if not folder.path.exists():
            raise InputError("there is no such run", place=folder.path)
        if not _is_run(folder.path):
            raise InputError("is not the folder of a run (it has no run.toml)", place=folder.path)
        return folder

    def read_problem(self) -> Problem:
        """What was asked."""
        return Problem.load(self.problem)

    def read_result(self) -> Result:
        """The answer of a finished run."""
        if not self.result.exists():
            raise InputError(
                "the run is not finished", remedy=f"go on with `folkmoot resume {self.path}`", place=self.path
            )
        try:
            return Result.from_json(self.result.read_text())
        except (InputError, UnicodeDecodeError):
            raise TranscriptError("is damaged, or was written by another version", place=self.result) from None

    def read_about(self) -> About | None:
        """What the run is about; None where that is not told, or damaged."""
        try:
            document = read_json(self.about.read_text())
            document.pop("command", None)  # was kept by older versions
            return About(**{**document, "notes": tuple(document["notes"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write_about(self, about: About) -> None:
        self.write(self.about, about.to_json())

    def read_participants(self) -> Participants | None:
        """Who is said to take part; None where nobody is, or parties were not reached yet."""
        if not self.federation.exists():
            return None
        try:
            return Participants.from_json(self.federation.read_text())
        except (ValueError, TypeError, KeyError):
            raise TranscriptError("is damaged, or was written by another version", place=self.federation) from None

    def refuse_strays(self, *, networked: bool, federated: bool) -> None:
        """Refuse files that a run of this kind never leaves: a report or a reader would believe them."""
        strays = (
            {} if networked else dict.fromkeys((self.federation, self.roster, self.journal), "without a federation")
        )
        strays |= {} if federated else {self.transcript: "of a central method"}
        for path, kind in strays.items():
            if path.exists() or path.is_symlink():
                raise TranscriptError(f"is not from this run: one {kind} leaves none", remedy="delete it", place=path)

    def write(self, path: Path, content: str | bytes) -> None:
        write(path, content)

    def check_same_data(self, files: Mapping[str, str]) -> None:
        """Refuse other files than the run was begun with; at its beginning, remember which they are. `files`: where
        they are, by the names that a run knows them by.
        """
        now = {name: hash_file(file) for name, file in files.items()}
        if not self.files.exists():
            self.write(self.files, json.dumps(now))
            return
        try:
            before = dict(read_json(self.files.read_text()))
        except (OSError, ValueError, TypeError):
            raise TranscriptError("is damaged", place=self.files) from None
        if more := sorted(before.keys() - now.keys()):
            raise TranscriptError(f"lists a file that this run does not read ({more[0]})", place=self.files)
        for name, digest in now.items():
            if before.get(name) != digest:
                raise TranscriptError("is not the file that this run was begun with", place=files[name])

    def drop_journal(self) -> None:
        """Forget the last round of a run that is over."""
        for path in self.path.glob(f"{self.journal.name}*"):
            path.unlink()

    def forget(self) -> None:
        """Take back a run that cannot be, because its input is wrong."""
        if not self.result.exists():
            self.drop_journal()
            for path in (self.transcript, self.files, self.federation, self.roster, *self.told, self.problem):
                path.unlink(missing_ok=True)
            if not any(self.path.iterdir()):
                self.path.rmdir()


def write(path: Path, content: str | bytes) -> None:
    """The whole file or nothing."""
    half = path.with_name(f".{path.name}.part")
    try:
        with half.open("wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, path)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None  # a full disk does not say which file it was
    except BaseException:
        half.unlink(missing_ok=True)
        raise


def make_folder(problem: Problem, what: str) -> Path:
    """A new folder: the one that is asked for, or one that is named after the data."""
    named = problem.origin.path if problem.data.file is None else None  # a federation is named by what is asked of it
    stem = (problem.source if named is None else named.name).split(".")[0] or "folkmoot"
    with problem.locate_errors():
        return number_folder(f"{stem}-{what}", problem.output.folder)


def number_folder(stem: str, given: str | None = None) -> Path:
    """A new folder of this name, with a number where there is one; or the one that is given."""
    for name in [given] if given else [stem, *(f"{stem}-{at}" for at in range(2, MOST_NUMBERED))]:
        path = as_path(name, "folder")
        try:
            path.mkdir(parents=bool(given))
        except FileExistsError:
            if given is None:
                continue
            if not path.is_dir() or any(path.iterdir()):
                raise InputError(
                    f"{path} {_describe_content(path)}", remedy="give another folder", argument="folder"
                ) from None
        except OSError as error:
            why = (error.strerror or "no reason given").lower()
            raise InputError(f"{path} cannot be made ({why})", argument="folder") from None
        return path
    raise InputError("there are too many of them here", remedy="give a folder", settings=[("folder", ...)], place=stem)


def _describe_content(path: Path) -> str:
    """What a folder holds that is not to be written to."""
    if not _is_run(path):
        return "exists and is not empty"
    if Folder(path).result.exists():
        return "holds a finished run; `folkmoot report` shows it"
    return "holds a run that is not finished; `folkmoot resume` continues it"


def _is_run(path: Path) -> bool:
    return path.is_dir() and (path / "run.toml").is_file()


def _complete_paths(problem: Problem, path: Path) -> Problem:
    """With file names that hold wherever one stands."""
    data, privacy = problem.data, problem.privacy
    return replace(
        problem,
        data=replace(data, file=_complete(data.file), items=_complete(data.items)),
        privacy=replace(privacy, federation=_complete(privacy.federation)),
        output=replace(problem.output, folder=str(path.absolute())),
    )


def _complete(name: str | None) -> str | None:
    return None if name is None else str(Path(name).absolute())


def hash_file(name: str | Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    try:
        with open(name, "rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read ({(error.strerror or 'no reason given').lower()})", place=name) from None

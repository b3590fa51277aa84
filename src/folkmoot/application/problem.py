"""A problem as people write it down: a file in TOML, options of a command, or keywords in Python."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from folkmoot.application.assembly import Changes, as_file, assemble, read_document
from folkmoot.application.origin import PYTHON, Origin, Wording
from folkmoot.application.toml import spell_toml
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import Choose, Data, How, Limited, Output, PrivacySettings

if TYPE_CHECKING:
    from folkmoot.application.inspection import Inspection
    from folkmoot.application.job import Job
    from folkmoot.application.run import FinishedRun
    from folkmoot.report.story import Comparison


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Everything that decides a run, and where each part of it was said.

    `Problem.load("problem.toml")` reads a file; `Problem.from_data("ratings.csv", choose=20)` needs none. Both take
    any setting as a keyword: those of a problem file by their names, `choose` for how many items, `method` for the
    name of the method, `at_most` and `per` for a limit, `limits` for a list such as [{"at_most": 2, "per": "genre"}],
    `settings` for any others of the method, and `seed`.
    """

    data: Data
    choose: Choose
    limits: tuple[Limited, ...]
    method: How
    settings: Mapping[str, Any]  # of the method, beyond those above
    privacy: PrivacySettings
    output: Output
    seed: int
    origin: Origin = field(repr=False, compare=False)

    @classmethod
    def load(cls, path: str | Path, **changes: Any) -> Self:
        """A problem file; changes go before what it says."""
        return cls.load_in_words(path, changes, PYTHON)

    @classmethod
    def from_data(cls, file: str | Path, **changes: Any) -> Self:
        """A file with data, and settings."""
        return cls.from_data_in_words(file, changes, PYTHON)

    @classmethod
    def from_kit(cls, kit: str | Path, **changes: Any) -> Self:
        """A federation, by the folder of its server's kit, and settings."""
        return cls.from_kit_in_words(kit, changes, PYTHON)

    @classmethod
    def load_in_words(cls, path: str | Path, changes: Mapping[str, Any], wording: Wording) -> Self:
        """As `load`, for a caller with names of its own: errors use its words."""
        given = Changes.from_keywords(changes)
        document, origin = read_document(as_file(path, "path"), given, wording)
        return cls(**assemble(document, given, origin))

    @classmethod
    def from_data_in_words(cls, file: str | Path, changes: Mapping[str, Any], wording: Wording) -> Self:
        """As `from_data`, for a caller with names of its own: errors use its words."""
        given = Changes.from_keywords({"file": as_file(file, "file"), **changes})
        return cls(**assemble({}, given, Origin(given=given.names, wording=wording)))

    @classmethod
    def from_kit_in_words(cls, kit: str | Path, changes: Mapping[str, Any], wording: Wording) -> Self:
        """As `from_kit`, for a caller with names of its own: errors use its words."""
        given = Changes.from_keywords({"federation": as_file(kit, "kit"), **changes})
        return cls(**assemble({}, given, Origin(given=given.names, wording=wording)))

    @property
    def source(self) -> str:
        """The name of the file with the data, or of a kit of a federation."""
        name = Path(self.data.file or self.privacy.federation or "").name
        return "stdin" if name == "-" else name

    @contextmanager
    def locate_errors(self, also: Collection[str] = (), number: int = 0) -> Iterator[None]:
        """Errors on the way name the line or the option of the setting that they are about.

        `also`: names of the method's own settings; `number`: which limit the work is about.
        """
        try:
            yield
        except InputError as error:
            raise self.origin.locate(error, also, number) from None

    def to_toml(self) -> str:
        """A file that says the same."""
        lines = [f"seed = {self.seed}"]
        parts: list[tuple[str, Any]] = [("[data]", self.data), ("[choose]", self.choose)]
        parts += [("[[limit]]", limit) for limit in self.limits]
        parts += [("[method]", self.method), ("[privacy]", self.privacy), ("[output]", self.output)]
        for head, part in parts:
            said = {name: value for name, value in asdict(part).items() if value is not None}
            if head == "[method]":
                said |= self.settings
            lines += ["", head, *(spell_toml(name, value) for name, value in said.items())]
        return "\n".join(lines) + "\n"

    def prepare(self) -> "Job":
        """Read the data and check everything that can be wrong before anyone is asked."""
        from folkmoot.application.job import prepare

        return prepare(self)

    def run(self, *, report: bool = True) -> "FinishedRun":
        """What `folkmoot run` does: choose, in a folder of its own, and write a report there."""
        from folkmoot.application.run import begin_run

        run = begin_run(self)
        return run.write_wanted_report() if report else run

    def compare(self, methods: Sequence[str] | None = None, seeds: int = 3) -> "Comparison":
        """What `folkmoot compare` computes: several methods on this problem, with the same seeds."""
        from folkmoot.application.comparison import compare

        return compare(self, methods, seeds)

    def inspect(self) -> "Inspection":
        """What `folkmoot inspect` shows: what is in the file, and what to expect of each method."""
        from folkmoot.application.inspection import inspect

        return inspect(self)

"""One family of errors, each in parts: which argument, where, what is wrong, and what to do about it."""

from typing import Self


class FolkmootError(Exception):
    """The root of everything Folkmoot raises on purpose.

    `problem` says what is wrong; `argument` names what was passed, as Python calls it; `place` is a file, a line or a
    row; `remedy` is what to do. As text: "argument: place: problem; remedy". Whoever calls a thing by another name (a
    command line has flags, a problem file has lines) says so from the parts, by `rename`, and never from the text.
    """

    def __init__(
        self, problem: str, *, argument: str | None = None, place: object | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(problem)
        self.problem, self.argument, self.remedy = problem, argument, remedy
        self.place = None if place is None else str(place)

    def __str__(self) -> str:
        sentence = ": ".join(part for part in (self.argument, self.place, self.problem) if part)
        return sentence if self.remedy is None else f"{sentence}; {self.remedy}"

    def rename(self, argument: str | None, place: object | None = None) -> Self:
        """The same error under another name of its argument, or at another place."""
        kept = self.place if place is None else place
        return type(self)(self.problem, argument=argument, place=kept, remedy=self.remedy)


class InputError(FolkmootError, ValueError):
    """An argument cannot be used as given."""


class NotSubmodular(FolkmootError):
    """A function that was promised to be monotone and submodular is not."""


class RoundFailed(FolkmootError):
    """Too few clients answered, however often they were asked."""


class TranscriptError(FolkmootError):
    """A transcript does not belong to this run, or was changed."""

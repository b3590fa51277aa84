"""One family of errors, each in parts: which argument, where, what is wrong, and what to do about it."""

from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType
from typing import Any, Self

Setting = tuple[str, object | EllipsisType]  # a name and its value; ... stands for whatever fits
SpellSetting = Callable[[str, object], str]


def spell_keyword(name: str, value: object) -> str:
    """A setting as Python writes it."""
    return f"{name}=…" if value is ... else f"{name}={value!r}"


class FolkmootError(Exception):
    """The root of everything Folkmoot raises on purpose.

    `problem` says what is wrong; `argument` names what was passed, as Python calls it; `place` is a file or a line of
    one; `within` is a part of the argument, such as "set 3"; `remedy` is what to do, and `settings` are settings any
    of which would do it. As text: "place: argument: within: problem; remedy: settings". Whoever calls things by other
    names (a command line has flags, a problem file has lines) says so from the parts, by `rename`, and never from the
    text.
    """

    def __init__(
        self,
        problem: str,
        *,
        argument: str | None = None,
        place: object | None = None,
        within: str | None = None,
        remedy: str | None = None,
        settings: Sequence[Setting] = (),
    ) -> None:
        super().__init__(problem)
        self.problem, self.argument, self.remedy, self.settings = problem, argument, remedy, tuple(settings)
        self.place, self.within = None if place is None else str(place), within

    def __str__(self) -> str:
        sentence = ": ".join(part for part in (self.place, self.argument, self.within, self.problem) if part)
        advice = self.advise(spell_keyword)
        return sentence if advice is None else f"{sentence}; {advice}"

    def advise(self, spell: SpellSetting) -> str | None:
        """What to do, with settings spelled as the reader would write them."""
        ways = " or ".join(spell(name, value) for name, value in self.settings)
        return f"{self.remedy or 'try'}: {ways}" if ways else self.remedy

    def rename(self, argument: str | None, *, place: object | None = None, spell: SpellSetting | None = None) -> Self:
        """The same error under another name of its argument; at a place around its own, if one is given; its settings
        spelled, if it is said how.
        """
        problem, where = self.problem, self.place
        if place is not None:
            problem, where = (problem if where is None else f"{where}: {problem}"), str(place)
        if spell is not None:
            return type(self)(problem, argument=argument, place=where, within=self.within, remedy=self.advise(spell))
        return type(self)(
            problem, argument=argument, place=where, within=self.within, remedy=self.remedy, settings=self.settings
        )


class InputError(FolkmootError, ValueError):
    """An argument cannot be used as given."""


class OpenQuestion(InputError):
    """The input can be understood in several ways, and only the person knows which: `ways` are settings that say it."""

    def __init__(self, problem: str, **parts: Any) -> None:
        super().__init__(problem, **parts)
        self.ways = self.settings

    def rename(self, argument: str | None, *, place: object | None = None, spell: SpellSetting | None = None) -> Self:
        error = super().rename(argument, place=place, spell=spell)
        error.ways = self.ways
        return error


class NotSubmodular(FolkmootError):
    """A function that was promised to be monotone and submodular is not."""


class RoundFailed(FolkmootError):
    """Too few clients answered, however often they were asked. `excluded`: who was left out for a fault, by number."""

    def __init__(self, problem: str, *, excluded: Mapping[int, Any] | None = None, **parts: Any) -> None:
        super().__init__(problem, **parts)
        self.excluded = dict(excluded or {})


class TranscriptError(FolkmootError):
    """A transcript does not belong to this run, or was changed."""

"""What is found while files are read: faults, what was done about them, and notes for people."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot.data.columns import list_words
from folkmoot.foundation.errors import InputError, SpellSetting
from folkmoot.foundation.sets import Array, Ids
from folkmoot.foundation.settings import IF_MISSING, IF_NEGATIVE, IF_TWICE

SHOWN = 3  # places that are named for each fault
CHOICES = {"missing": IF_MISSING, "negative": IF_NEGATIVE, "duplicates": IF_TWICE}


@dataclass(frozen=True)
class DataFault:
    """Something wrong with some rows of a file."""

    what: str  # missing, negative or duplicates: the setting that says what to do
    file: str
    count: int
    one: str  # "cell of rating is negative"
    many: str  # "cells of rating are negative"
    where: str  # "lines 5, 17 and 40"
    why: str = ""  # what else is known of these rows
    mend: str = ""  # what to do about it, where that depends on the data

    @property
    def problem(self) -> str:
        """What is wrong, and where: "3 cells of rating are negative, in lines 5, 17 and 40"."""
        first = "first in" if self.count > SHOWN else "in"
        return (
            f"{say_count(self.count, self.one, self.many)}, {first} {self.where}{f'; {self.why}' if self.why else ''}"
        )

    @property
    def brief(self) -> str:
        """The same among others: "3 cells of rating are negative (lines 5, 17 and 40)"."""
        first = "first in " if self.count > SHOWN else ""
        return f"{say_count(self.count, self.one, self.many)} ({first}{self.where})"

    def __str__(self) -> str:
        return f"{self.file}: {self.problem}"


class FaultyData(InputError):
    """Files with faults about which something is to be said: of the settings of each name, one."""

    def advise(self, spell: SpellSetting) -> str | None:
        if not self.settings:
            return self.remedy
        names = groupby(self.settings, key=lambda setting: setting[0])
        ways = [" or ".join(spell(name, value) for name, value in choices) for name, choices in names]
        return f"{self.remedy}: {', and '.join(ways)}"


@dataclass(frozen=True)
class ValueSpread:
    """The smallest, the median and the largest of some numbers, and how many different ones there are."""

    least: float
    median: float
    most: float
    levels: int

    @classmethod
    def measure(cls, numbers: Array | Ids) -> "ValueSpread | None":
        """The spread of these numbers; None if there are none."""
        if not len(numbers):
            return None
        levels = len(np.unique(numbers))
        return cls(float(numbers.min()), float(np.median(numbers)), float(numbers.max()), levels)


@dataclass
class Findings:
    """Collected while files are read. `strict`: faults are refused unless the settings say what to do about them."""

    strict: bool = True
    measuring: bool = False  # whether to compute spreads, which takes time
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # those of the notes about which somebody should do something
    mended: dict[str, Any] = field(default_factory=dict)  # settings that nobody gave, as they were taken
    faults: list[DataFault] = field(default_factory=list)
    refused: list[DataFault] = field(default_factory=list)
    choices: dict[str, set[str]] = field(default_factory=dict)  # for each kind of refused fault, what could be said
    taken: dict[str, str] = field(default_factory=dict)  # role → column
    rows: int = 0
    per_client: ValueSpread | None = None
    values: ValueSpread | None = None

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    def warn(self, sentence: str) -> None:
        """A note about which somebody who knows the file should do something."""
        self.note(sentence)
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def report(self, fault: DataFault, choice: str, done: str, *, category: bool = False) -> None:
        """Note what was done, or that it will be refused: `refuse` raises the error, so that it can name all faults.
        `category`: whether missing cells may be a category of their own.
        """
        if not fault.count:
            return
        self.faults.append(fault)
        if self.strict and choice == "refuse":
            self.refused.append(fault)
            others = {"refuse"} if category else {"refuse", "category"}
            others |= {"mean", "sum"} if fault.why else set()  # nobody should add up different things
            self.choices.setdefault(fault.what, set()).update(set(CHOICES[fault.what]) - others)
        else:
            self.note(f"{fault}: {done}.")

    def refuse(self) -> None:
        """Raise one error about all faults that nobody said what to do about."""
        if self.refused:
            raise self._describe_refused()

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Refuse all faults that are found within, rather than anything that may follow from them."""
        try:
            yield
        except InputError:
            if self.refused:
                raise self._describe_refused() from None
            raise
        self.refuse()

    def _describe_refused(self) -> FaultyData:
        first = self.refused[0]
        if len(self.refused) == 1:
            problem = first.problem
        else:
            files = groupby(self.refused, key=lambda fault: fault.file)
            said = [f"{file}: {list_words([fault.brief for fault in faults])}" for file, faults in files]
            problem = "; ".join(said).removeprefix(f"{first.file}: ")
        settings = [(what, way) for what, ways in CHOICES.items() for way in ways if way in self.choices.get(what, ())]
        return FaultyData(problem, place=first.file, remedy="say what to do", settings=settings)

    def record_columns(self, **columns: str | None) -> None:
        self.taken.update({role: column for role, column in columns.items() if column is not None})


def name_places(unit: str, numbers: Sequence[int] | NDArray[Any]) -> str:
    """ "lines 5, 17 and 40"; only the first few are named."""
    shown = [f"{int(number):,}" for number in numbers[:SHOWN]]
    return f"{unit}{'s' * (len(shown) > 1)} {list_words(shown)}"


def say_count(count: int, one: str, many: str | None = None) -> str:
    """ "1 row" or "2 rows"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"

"""What is found while files are read: faults, what was done about them, and notes for people."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot.data.columns import list_words
from folkmoot.foundation.errors import InputError
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

    @property
    def problem(self) -> str:
        """What is wrong, and where: "3 cells of rating are negative, in lines 5, 17 and 40"."""
        first = "first in" if self.count > SHOWN else "in"
        return f"{say_count(self.count, self.one, self.many)}, {first} {self.where}"

    def __str__(self) -> str:
        return f"{self.file}: {self.problem}"


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
    """Collected while files are read. `strict`: a fault is an error unless the settings say what to do about it."""

    strict: bool = True
    measuring: bool = False  # whether to compute spreads, which takes time
    notes: list[str] = field(default_factory=list)
    faults: list[DataFault] = field(default_factory=list)
    taken: dict[str, str] = field(default_factory=dict)  # role → column
    rows: int = 0
    per_client: ValueSpread | None = None
    values: ValueSpread | None = None

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    def report(self, fault: DataFault, choice: str, done: str, *, category: bool = False) -> None:
        """Raise an error, or note what was done. `category`: whether missing cells may be a category of their own."""
        if not fault.count:
            return
        self.faults.append(fault)
        if self.strict and choice == "refuse":
            others = [
                other for other in CHOICES[fault.what] if other not in ("refuse", *(() if category else ("category",)))
            ]
            raise InputError(
                fault.problem,
                place=fault.file,
                remedy="say what to do",
                settings=[(fault.what, other) for other in others],
            )
        self.note(f"{fault}: {done}.")

    def record_columns(self, **columns: str | None) -> None:
        self.taken.update({role: column for role, column in columns.items() if column is not None})


def name_places(unit: str, numbers: Sequence[int] | NDArray[Any]) -> str:
    """ "lines 5, 17 and 40"; only the first few are named."""
    shown = [f"{int(number):,}" for number in numbers[:SHOWN]]
    return f"{unit}{'s' * (len(shown) > 1)} {list_words(shown)}"


def say_count(count: int, one: str, many: str | None = None) -> str:
    """ "1 row" or "2 rows"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"

"""What turns up while files are read: faults, what was done about them, and sentences for people."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot.data.columns import list_words
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Array, Ids
from folkmoot.foundation.settings import IF_MISSING, IF_NEGATIVE, IF_TWICE

SHOWN = 3  # places named of each fault
CHOICES = {"missing": IF_MISSING, "negative": IF_NEGATIVE, "duplicates": IF_TWICE}


@dataclass(frozen=True)
class Fault:
    """Something wrong with some rows of a file."""

    what: str  # missing, negative or duplicates: the setting that says what to do
    file: str
    count: int
    one: str  # "cell of rating is negative"
    many: str  # "cells of rating are negative"
    where: str  # "lines 5, 17 and 40"

    @property
    def sentence(self) -> str:
        first = "first in" if self.count > SHOWN else "in"
        return f"{several(self.count, self.one, self.many)}, {first} {self.where}"

    def __str__(self) -> str:
        return f"{self.file}: {self.sentence}"


@dataclass(frozen=True)
class ValueSpread:
    """The smallest, the middle and the largest of some numbers, and how many different ones there are."""

    least: float
    median: float
    most: float
    levels: int

    @classmethod
    def of(cls, numbers: Array | Ids) -> "ValueSpread | None":
        if not len(numbers):
            return None
        levels = len(np.unique(numbers))
        return cls(float(numbers.min()), float(np.median(numbers)), float(numbers.max()), levels)


@dataclass
class Findings:
    """Collected on the way through the files. `strict`: a fault nobody has decided about is an error."""

    strict: bool = True
    measuring: bool = False  # whether spreads are worth their time
    notes: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    taken: dict[str, str] = field(default_factory=dict)  # role → column
    rows: int = 0
    per_client: ValueSpread | None = None
    values: ValueSpread | None = None

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    def report(self, fault: Fault, choice: str, done: str, *, category: bool = False) -> None:
        """Refuse, or say what was done. `category`: whether missing cells may be a category of their own."""
        if not fault.count:
            return
        self.faults.append(fault)
        if self.strict and choice == "refuse":
            others = [
                other for other in CHOICES[fault.what] if other not in ("refuse", *(() if category else ("category",)))
            ]
            raise InputError(
                fault.sentence,
                place=fault.file,
                remedy="say what to do",
                settings=[(fault.what, other) for other in others],
            )
        self.note(f"{fault}: {done}.")

    def took(self, **columns: str | None) -> None:
        self.taken.update({role: column for role, column in columns.items() if column is not None})


def places(unit: str, numbers: Sequence[int] | NDArray[Any]) -> str:
    """Lines 5, 17 and 40; the first few are named."""
    shown = [f"{int(number):,}" for number in numbers[:SHOWN]]
    return f"{unit}{'s' * (len(shown) > 1)} {list_words(shown)}"


def several(count: int, one: str, many: str | None = None) -> str:
    """1 row, 2 rows."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"

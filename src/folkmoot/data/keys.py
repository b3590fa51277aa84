"""Ids as numbers 0, 1, … in order: whole numbers by size, anything else alphabetically."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import polars
from numpy.typing import DTypeLike, NDArray

Codes = NDArray[np.int32]
BLOCK = 1 << 20  # cells numbered at a time


class GrowingColumn:
    """A column that is read part by part. It grows in place, and its type is as narrow as its numbers allow."""

    def __init__(self, narrow: DTypeLike, wide: DTypeLike) -> None:
        self.room: NDArray[Any] = np.empty(BLOCK, dtype=narrow)
        self.wide, self.used = np.dtype(wide), 0

    def add(self, part: NDArray[Any]) -> None:
        if self.room.dtype != self.wide and not self._fits(part):
            self.room = self.room[: self.used].astype(self.wide)
        end = self.used + len(part)
        if end > len(self.room):
            self.room.resize(max(end, len(self.room) * 9 // 8), refcheck=False)  # nobody else refers to it
        self.room[self.used : end] = part
        self.used = end

    def _fits(self, part: NDArray[Any]) -> bool:
        if self.wide.kind == "f":
            with np.errstate(over="ignore"):
                return bool((part.astype(self.room.dtype) == part).all())
        span = np.iinfo(self.room.dtype)
        return not len(part) or bool(part.min() >= span.min and part.max() <= span.max)

    def release(self) -> NDArray[Any]:
        """The column; this object is empty afterwards."""
        self.room.resize(self.used, refcheck=False)
        room, self.room, self.used = self.room, np.empty(0, dtype=self.wide), 0  # a view would keep it alive
        return room


class IdNames:
    """Ids in the order of their numbers, converted to text on request."""

    def __init__(self, ids: polars.Series) -> None:
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)

    def texts(self) -> list[str]:
        return self.ids.cast(polars.String).to_list()

    def text_at(self, number: int) -> str:
        return str(self.ids[number])


class Keys(ABC):
    """A column of ids, numbered when all of it was read."""

    @abstractmethod
    def add(self, part: polars.Series) -> None: ...

    @abstractmethod
    def number(self) -> tuple[Codes, IdNames]:
        """The number of each cell, and the ids in order; to be called once."""


class WholeKeys(Keys):
    """Whole numbers: looked up in a table if they lie close together, otherwise by binary search."""

    def __init__(self) -> None:
        self.cells = GrowingColumn(np.int32, np.int64)

    def add(self, part: polars.Series) -> None:
        self.cells.add(part.to_numpy())

    def number(self) -> tuple[Codes, IdNames]:
        cells = self.cells.release()
        parts = [cells[at : at + BLOCK] for at in range(0, len(cells), BLOCK)]
        low, high = int(cells.min()), int(cells.max())
        dense = high - low < max(4 * len(cells), BLOCK)
        codes = cells if cells.dtype == np.int32 else np.empty(len(cells), dtype=np.int32)  # in place if they fit
        if dense:
            occurs = np.zeros(high - low + 1, dtype=bool)
            for part in parts:
                occurs[part.astype(np.int64) - low] = True
            ids = np.flatnonzero(occurs) + low
            rank = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
        else:
            ids = np.unique(np.concatenate([np.unique(part) for part in parts])).astype(np.int64)
        for at, part in zip(range(0, len(cells), BLOCK), parts, strict=True):
            codes[at : at + BLOCK] = rank[part.astype(np.int64) - low] if dense else np.searchsorted(ids, part)
        return codes, IdNames(polars.Series(ids))


class TextKeys(Keys):
    """Text: polars' categories number the words in order of appearance; at the end they are renumbered by alphabet."""

    def __init__(self) -> None:
        self.categories = polars.Categories.random()
        self.kind = polars.Categorical(self.categories)
        self.alive = polars.Series([], dtype=self.kind)  # polars drops categories that no column uses
        self.cells = GrowingColumn(np.int32, np.int64)

    def add(self, part: polars.Series) -> None:
        self.cells.add(part.cast(self.kind).to_physical().to_numpy())

    def number(self) -> tuple[Codes, IdNames]:
        words = self.categories.to_series()
        order = words.arg_sort()
        rank = np.empty(len(words), dtype=np.int32)
        rank[order.to_numpy()] = np.arange(len(words), dtype=np.int32)
        codes = self.cells.release()
        for at in range(0, len(codes), BLOCK):
            codes[at : at + BLOCK] = rank[codes[at : at + BLOCK]]
        return codes, IdNames(words.gather(order))


def make_keys(whole: bool) -> Keys:
    return WholeKeys() if whole else TextKeys()


def is_empty(cells: polars.Series) -> polars.Series:
    """Cells that hold no id."""
    if cells.dtype == polars.String:
        return cells.is_null() | (cells == "").fill_null(False)
    return cells.is_null()


def number_cells(cells: polars.Series) -> tuple[Codes, IdNames]:
    """A whole column at once."""
    keys = make_keys(cells.dtype.is_integer())
    keys.add(cells if cells.dtype.is_integer() else cells.cast(polars.String))
    return keys.number()

"""Rows of categories, site by site: how many values each column has there, and what merging rare ones does to it."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from folkmoot.data.columns import list_words
from folkmoot.data.loaded import Loaded
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.objectives import Information

RARE = 10  # rows: what fewer have tells by chance
MANY = 20  # values at a site; with fewer, merging would leave nothing


@dataclass(frozen=True, eq=False)
class Records:
    """The rows of a table, sorted by site; every cell is the number of its value."""

    codes: NDArray[np.int32]  # rows × features
    labels: Ids
    sizes: Ids  # rows of each site
    mergeable: Mask  # which features are categories, and not bins of numbers
    weights: Array
    smoothing: float
    columns: tuple[str, ...]
    names: tuple[str, ...]  # of the features; the columns, unless an items file names them
    sites: tuple[str, ...] | None

    @cached_property
    def _tallies(self) -> list[tuple[Ids, Ids, Ids]]:
        """For each feature, its values at each site: the site, how many rows have the value, and where each row is."""
        owners = np.repeat(np.arange(len(self.sizes)), self.sizes)
        out = []
        for codes in self.codes.T:
            pairs, place, rows = np.unique(
                owners * (int(codes.max()) + 1) + codes, return_inverse=True, return_counts=True
            )
            out.append((pairs // (int(codes.max()) + 1), rows, place.reshape(-1)))
        return out

    def count_values(self, least: int) -> Ids:
        """Sites × features: how many values there are, if those with fewer than `least` rows at a site are one."""
        count = len(self.sizes)
        columns = []
        for (site, rows, _), mergeable in zip(self._tallies, self.mergeable, strict=True):
            rare = (rows < least) & mergeable
            columns.append(np.bincount(site[~rare], minlength=count) + (np.bincount(site[rare], minlength=count) > 0))
        return np.column_stack(columns)

    def list_chancy(self) -> list[str]:
        """What a reader should know of features with so many values that they tell much by chance.

        By chance alone, v values of n rows tell (v − 1)(c − 1)/2n nats about a label of c classes. Sites count by their
        rows, so that over all of them the values add up, and the rows.
        """
        owners, said = np.repeat(np.arange(len(self.sizes)), self.sizes), []
        for at in np.flatnonzero(self.mergeable & (self.codes.max(axis=0) >= MANY)):
            most = int(self.codes[:, at].max()) + 1
            pairs = np.unique(owners * most + self.codes[:, at])
            values = np.bincount(pairs // most, minlength=len(self.sizes))
            if values.sum() > max(self.sizes.sum() / RARE, MANY * len(self.sizes)):
                site = int(values.argmax())
                where = "a site" if self.sites is None else self.sites[site]
                said.append(
                    f"{self.columns[at]} has {values[site]:,} values in {self.sizes[site]:,} rows of {where}: what it "
                    f"tells may be chance (--merge-rare {RARE} makes one of the rare ones, --drop leaves it out)."
                )
        return said

    def merge_rare(self, least: int) -> "Records":
        """Values with fewer than `least` rows at a site become one value there. A site needs only its own rows for it:
        sites may merge different values, and nobody learns which.
        """
        codes = self.codes.copy()
        for feature in np.flatnonzero(self.mergeable):
            _, rows, place = self._tallies[feature]
            codes[rows[place] < least, feature] = codes[:, feature].max() + 1
        return replace(self, codes=codes)

    def list_changes(self, before: "Records") -> list[str]:
        """Columns in which values were merged."""
        changed = (self.codes != before.codes).any(axis=0)
        return [name for name, one in zip(self.columns, changed, strict=True) if one]

    def build(self) -> Information:
        """How many bits features tell about the label."""
        cuts = np.cumsum(self.sizes)[:-1]
        return Information(
            np.split(self.codes, cuts),
            np.split(self.labels, cuts),
            smoothing=self.smoothing,
            weights=self.weights,
            item_names=self.names,
            client_names=self.sites,
        )


@dataclass(frozen=True, eq=False, repr=False)
class LoadedTable(Loaded):
    """A table of several sites, with its rows."""

    objective: Information
    records: Records
    site_called: str  # what one of them is called: "hospital"

    def merge_rare(self, least: int) -> "LoadedTable":
        """The same table after rare values were merged."""
        records = self.records.merge_rare(least)
        objective = records.build()
        objective.most = self.objective.most
        notes = note_merging(least, records.list_changes(self.records))
        return replace(self, objective=objective, records=records, notes=(*self.notes, *notes))


def note_merging(least: int, changed: list[str]) -> list[str]:
    """What a reader should know about merged values."""
    if not changed:
        return []
    return [f"Values that fewer than {least:,} rows of a site have were made one value there: {list_words(changed)}."]

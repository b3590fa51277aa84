"""Why a client has an item twice: another column may say that the rows are of different kinds (bought, played)."""

from dataclasses import dataclass

import polars

from folkmoot.data.columns import list_words
from folkmoot.data.source import DataSource
from folkmoot.data.values import read_some

MOST_KINDS = 10  # values of a column that tells kinds of rows apart
DIFFERENT = 0.9  # share of the repeated pairs whose rows are all of different kinds
FEWEST = 3  # repeated pairs: fewer prove nothing


@dataclass(frozen=True)
class RowKinds:
    """A column that differs between rows of the same client and item, and its values, the most frequent first."""

    column: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.column} differs in them ({list_words(self.names)}): if one kind is meant, keep only its rows"


def find_kinds(source: DataSource, client: str, item: str, value: str | None) -> RowKinds | None:
    """The column that tells apart rows of the same client and item, as far as the first rows show."""
    others = [column for column in source.columns if column not in (client, item, value)]
    if not others:
        return None
    rows = read_some(source, (client, item, *others)).drop_nulls([client, item])
    rows = rows.filter(polars.len().over(client, item) > 1)
    few = [column for column in others if 2 <= rows[column].drop_nulls().n_unique() <= MOST_KINDS]
    pairs = rows.group_by(client, item).agg(polars.col(one).n_unique() == polars.len() for one in few)
    shares = {one: pairs.filter(polars.col(one)).height / max(pairs.height, 1) for one in few}
    best = max(few, key=lambda one: shares[one], default=None)
    if best is None or shares[best] < DIFFERENT or pairs.height < FEWEST:
        return None
    counts = rows.group_by(best).len().drop_nulls().sort(["len", best], descending=[True, False])
    return RowKinds(best, tuple(counts[best].to_list()))

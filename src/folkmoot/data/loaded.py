"""What loading needs, and what it returns."""

from dataclasses import dataclass

from folkmoot.data.findings import Findings
from folkmoot.data.items import Items
from folkmoot.data.source import DataSource, Matrix
from folkmoot.foundation.settings import Data
from folkmoot.objectives import Objective

MOST_CLIENT_NAMES = 1000  # nobody reads more


@dataclass(frozen=True, eq=False, repr=False)
class Subject:
    """What a problem is about, as far as it is public: the items that can be chosen, and words."""

    kind: str
    items: Items
    notes: tuple[str, ...]  # what was read, which columns have which role, what was done about faults
    meaning: str  # what F means: "the rating of the best chosen movie, averaged over users"
    clients_called: str
    items_called: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kind}: {len(self.items):,} {self.items_called})"


@dataclass(frozen=True, eq=False, repr=False)
class Loaded(Subject):
    """The data of a problem, read from files."""

    objective: Objective

    def __repr__(self) -> str:
        clients = f"{self.objective.n_clients:,} {self.clients_called}"
        return f"{type(self).__name__}({self.kind}: {clients}, {len(self.items):,} {self.items_called})"


@dataclass(frozen=True, eq=False)
class Request:
    """Open files, and how to read them."""

    settings: Data
    source: DataSource | Matrix
    about: DataSource | None  # the items file
    findings: Findings
    kind: str

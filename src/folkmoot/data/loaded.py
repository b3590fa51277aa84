"""What comes out of the files, and what goes in."""

from dataclasses import dataclass

from folkmoot.data.findings import Findings
from folkmoot.data.items import Items
from folkmoot.data.source import DataSource, Matrix
from folkmoot.foundation.settings import Data
from folkmoot.objectives import Objective

MOST_CLIENT_NAMES = 1000  # more than these nobody reads


@dataclass(frozen=True, eq=False)
class Loaded:
    """A problem as it stands in files."""

    kind: str
    objective: Objective
    items: Items
    notes: tuple[str, ...]  # what was read, which columns were taken for what, what was done about faults
    meaning: str  # what F means: "the rating of the best chosen movie, averaged over users"
    clients_called: str
    items_called: str


@dataclass(frozen=True, eq=False)
class Request:
    """Open files, and what is wanted of them."""

    settings: Data
    source: DataSource | Matrix
    about: DataSource | None  # the items file
    findings: Findings
    kind: str

"""`folkmoot.load`, which loads what reads files when it is called, and not before."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from folkmoot.data import Data, Loaded


def load(
    data: "Data | str | Path | Any", folder: Path | None = None, *, items: "str | Path | Any" = None, **settings: Any
) -> "Loaded":
    """The objective and the items of a file, or of a DataFrame (polars or pandas).

    `items`: what is known about the items, a file or a DataFrame. Settings follow by the names that a problem file has
    under [data]: `load(ratings, items=movies, least=4)`. The result has `objective`, `items`, `notes`, `meaning` and
    `kind`.
    """
    from folkmoot.data import load as read

    return read(data, folder, items=items, **settings)

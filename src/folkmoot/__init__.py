"""Folkmoot: choose the best set of items for a population without collecting individual data."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from folkmoot.version import __version__ as __version__

if TYPE_CHECKING:
    from folkmoot.names import *  # noqa: F403
    from folkmoot.names import __all__ as __all__
else:

    def __getattr__(name: str) -> Any:
        """The public names are loaded when the first of them is asked for, so that the command line answers at once."""
        loading = "folkmoot.names" in sys.modules and not hasattr(sys.modules["folkmoot.names"], "__all__")
        if not loading and (name == "__all__" or not name.startswith("__")):
            public = import_module("folkmoot.names")
            globals().update({one: getattr(public, one) for one in public.__all__}, __all__=public.__all__)
            if name in globals():
                return globals()[name]
        raise AttributeError(f"module 'folkmoot' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *import_module("folkmoot.names").__all__})

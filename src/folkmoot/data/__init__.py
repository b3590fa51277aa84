"""From files to objectives: data is read, checked and arranged."""

from folkmoot.data.findings import DataFault, ValueSpread
from folkmoot.data.items import Items
from folkmoot.data.limits import Limit, constraint
from folkmoot.data.load import load
from folkmoot.data.loaded import Loaded
from folkmoot.data.look import Column, FileLook, look
from folkmoot.foundation.settings import Data

__all__ = [
    "Column",
    "Data",
    "DataFault",
    "FileLook",
    "Items",
    "Limit",
    "Loaded",
    "ValueSpread",
    "constraint",
    "load",
    "look",
]

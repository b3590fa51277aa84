"""From files to objectives: data is read, checked and arranged."""

from folkmoot.data.findings import DataFault, ValueSpread
from folkmoot.data.items import Items
from folkmoot.data.limits import Group, Limit, bind_groups, constraint, make_groups
from folkmoot.data.load import load
from folkmoot.data.loaded import Loaded
from folkmoot.data.look import Column, FileLook, look
from folkmoot.foundation.settings import Data

__all__ = [
    "Column",
    "Data",
    "DataFault",
    "FileLook",
    "Group",
    "Items",
    "Limit",
    "Loaded",
    "ValueSpread",
    "bind_groups",
    "constraint",
    "load",
    "look",
    "make_groups",
]

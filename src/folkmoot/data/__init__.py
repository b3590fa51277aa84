"""From files to objectives: data is read, checked and arranged."""

from folkmoot.data.findings import DataFault, ValueSpread
from folkmoot.data.items import Items
from folkmoot.data.limits import Group, Limit, bind_groups, constraint, make_groups
from folkmoot.data.load import load
from folkmoot.data.loaded import Loaded, Subject
from folkmoot.data.look import Column, FileLook, look
from folkmoot.data.opening import find_on_disk
from folkmoot.data.public import load_items, load_subject, pin_columns
from folkmoot.data.standard_input import is_standard_input
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
    "Subject",
    "ValueSpread",
    "bind_groups",
    "constraint",
    "find_on_disk",
    "is_standard_input",
    "load",
    "load_items",
    "load_subject",
    "look",
    "make_groups",
    "pin_columns",
]

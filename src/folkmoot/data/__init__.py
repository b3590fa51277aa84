"""From files to objectives: what people have, read, checked and arranged."""

from folkmoot.application.settings import Data
from folkmoot.data.findings import Fault, Spread
from folkmoot.data.items import Items
from folkmoot.data.limits import Limit, constraint
from folkmoot.data.load import load
from folkmoot.data.loaded import Loaded
from folkmoot.data.look import Column, Look, look

__all__ = ["Column", "Data", "Fault", "Items", "Limit", "Loaded", "Look", "Spread", "constraint", "load", "look"]

"""Engines, which turn a question into the sum of the answers, and the parties that they reach."""

from folkmoot.engines.exchange import Bundle, Exchange, InProcess
from folkmoot.engines.federation import Federation
from folkmoot.engines.party import Party
from folkmoot.engines.policy import PartyPolicy
from folkmoot.engines.simulate import Simulation
from folkmoot.engines.store import FolderStore, MemoryStore

__all__ = [
    "Bundle",
    "Exchange",
    "Federation",
    "FolderStore",
    "InProcess",
    "MemoryStore",
    "Party",
    "PartyPolicy",
    "Simulation",
]

"""Engines, which turn a question into the sum of the answers, and the parties that they reach."""

from folkmoot.engines.census import Census
from folkmoot.engines.exchange import Bundle, Exchange, InProcess
from folkmoot.engines.federation import Federation
from folkmoot.engines.folder_store import FolderStore, open_logs
from folkmoot.engines.journal import RoundJournal
from folkmoot.engines.memory_store import MemoryStore
from folkmoot.engines.party import Party
from folkmoot.engines.policy import PartyPolicy
from folkmoot.engines.pooled_federation import PooledFederation
from folkmoot.engines.pooled_party import PooledParty
from folkmoot.engines.simulate import Simulation

__all__ = [
    "Bundle",
    "Census",
    "Exchange",
    "Federation",
    "FolderStore",
    "InProcess",
    "MemoryStore",
    "Party",
    "PartyPolicy",
    "PooledFederation",
    "PooledParty",
    "RoundJournal",
    "Simulation",
    "open_logs",
]

"""Who takes part, and on what terms."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_share
from folkmoot.foundation.sets import Ids
from folkmoot.secagg.parameters import FEWEST, SECURITY, Parameters, choose, part_of
from folkmoot.secagg.primitives import KEY, digest
from folkmoot.secagg.wire import U32

MOST_NUMBER = 2**32


@dataclass(frozen=True)
class Roster:
    """Who may take part, and the public key that each signs with; from a source that all of them trust."""

    keys: dict[int, bytes] = field(repr=False)

    def __post_init__(self) -> None:
        for client, key in self.keys.items():
            if not isinstance(client, int) or not 0 <= client < MOST_NUMBER or len(key) != KEY:
                raise InputError(
                    f"client {client!r} needs a number below 2^32 and a key of {KEY} bytes", argument="roster"
                )
        if len(set(self.keys.values())) < len(self.keys):
            raise InputError("two clients have the same key", argument="roster")

    @cached_property
    def digest(self) -> bytes:
        return digest(b"roster", *(U32.pack(one) + key for one, key in sorted(self.keys.items())))

    @cached_property
    def ids(self) -> Ids:
        return np.array(sorted(self.keys), dtype=np.int64)

    def knows(self, ids: Ids) -> bool:
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return bool((self.ids[places] == ids).all())


@dataclass(frozen=True)
class Policy:
    """What a client asks of a round before it takes part.

    fewest: clients that must be in the sum. corrupt: the share of those asked that may work for the server.
    dropout: the share that may fall silent, and that a server may leave out of the roll. Shares are rounded down.
    security: a round breaks these promises with probability 2^-security at most. unfinished: rounds that may be broken
    off, beyond those that were finished, before the client takes part in no more: each lets the server see other
    neighbours of this client.
    """

    fewest: int = 10
    corrupt: float = 0.1
    dropout: float = 0.1
    security: int = SECURITY
    unfinished: int = 16

    def __post_init__(self) -> None:
        as_count(self.fewest, "fewest", least=0)
        as_share(self.corrupt, "corrupt")
        as_share(self.dropout, "dropout")
        as_count(self.security, "security")
        as_count(self.unfinished, "unfinished")

    def enough(self, asked: int) -> int:
        """How many must be there, of so many asked."""
        return max(self.fewest, FEWEST, asked - part_of(self.dropout, asked))

    def protection(self, clients: int, asked: int | None = None) -> Parameters:
        """Degree and threshold for so many who are there, of so many asked."""
        return choose(clients, asked=asked, corrupt=self.corrupt, dropout=self.dropout, security=self.security)


@dataclass(frozen=True)
class Member:
    """A client as it is from round to round."""

    id: int
    identity: Ed25519PrivateKey = field(repr=False)
    roster: Roster = field(repr=False)
    policy: Policy = Policy()

    def __post_init__(self) -> None:
        if self.roster.keys.get(self.id) != self.identity.public_key().public_bytes_raw():
            raise InputError(f"client {self.id!r} is not on the roster with this identity's key", argument="member")

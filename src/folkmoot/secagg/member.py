"""Who takes part, and on what terms."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn, Self

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_share
from folkmoot.foundation.sets import Ids
from folkmoot.foundation.settings import SECURITY
from folkmoot.secagg.parameters import FEWEST, Parameters, choose, count_share
from folkmoot.secagg.primitives import KEY, digest
from folkmoot.secagg.wire import U32, U64

MOST_NUMBER = 2**32


class DerivedKeys(Mapping[int, bytes]):
    """Public keys of clients 0 … count − 1, each derived when it is first asked for, and checked then."""

    def __init__(self, name: str, count: int, derive: Callable[[int], bytes]) -> None:
        self.count = as_count(count, "count", most=MOST_NUMBER)
        self.name, self._derive = name, derive
        self._keys: dict[int, bytes] = {}
        self._owners: dict[bytes, int] = {}  # by key: two clients with one key are refused

    def __contains__(self, client: object) -> bool:
        return isinstance(client, int) and 0 <= client < self.count

    def __getitem__(self, client: int) -> bytes:
        known = self._keys.get(client)
        if known is not None:
            return known
        if client not in self:
            raise KeyError(client)
        key = self._derive(client)
        check_key(client, key)
        if self._owners.setdefault(key, client) != client:
            refuse_same_key()
        self._keys[client] = key
        return key

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.count))

    def __len__(self) -> int:
        return self.count


@dataclass(frozen=True)
class Roster:
    """Who may take part, and the public key that each signs with; from a source that all of them trust.

    One roster serves a whole population, whoever is asked in a round.
    """

    keys: Mapping[int, bytes] = field(repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.keys, DerivedKeys):  # which checks each key when it is used
            return
        for client, key in self.keys.items():
            check_key(client, key)
        if len(set(self.keys.values())) < len(self.keys):
            refuse_same_key()

    @classmethod
    def derive(cls, name: str, count: int, derive: Callable[[int], bytes]) -> Self:
        """Clients 0 … count − 1, whose keys are derived on demand: nobody derives a million key pairs to ask a hundred.

        The digest commits to `name` and `count` and not to the keys: whoever names two derivations alike cannot tell
        their rosters apart.
        """
        return cls(DerivedKeys(name, count, derive))

    @cached_property
    def digest(self) -> bytes:
        if isinstance(self.keys, DerivedKeys):
            return digest(b"derived roster", self.keys.name.encode(), U64.pack(self.keys.count))
        return digest(b"roster", *(U32.pack(one) + key for one, key in sorted(self.keys.items())))

    @cached_property
    def ids(self) -> Ids:
        return np.sort(np.fromiter(self.keys, dtype=np.int64, count=len(self.keys)))

    def knows(self, ids: Ids) -> bool:
        """Whether all of these are on the roster."""
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return bool((self.ids[places] == ids).all())


def check_key(client: object, key: bytes) -> None:
    if not isinstance(client, int) or not 0 <= client < MOST_NUMBER or len(key) != KEY:
        raise InputError(f"client {client!r} needs a number below 2^32 and a key of {KEY} bytes", argument="roster")


def refuse_same_key() -> NoReturn:
    raise InputError("two clients have the same key", argument="roster")


@dataclass(frozen=True)
class Policy:
    """The conditions on which a client takes part in a round.

    fewest: clients that must be in the sum. corrupt: the share of those asked that may work for the server.
    dropout: the share that may drop out, and that a server may leave off the roll. Both shares are rounded down.
    security: the protection fails with probability 2^-security at most. unfinished: how many more rounds may be broken
    off than finished; after that the client takes part in none, since each shows the server another draw of its
    neighbours, until a round is forgiven (`Ledger.forgive`).
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

    def quorum(self, asked: int) -> int:
        """The fewest clients that must be present, out of those asked."""
        return max(self.fewest, FEWEST, asked - count_share(self.dropout, asked))

    def bound_honest(self, asked: int) -> int:
        """The most honest clients that every sum can be sure to hold, out of those asked: others may be corrupt, and
        others again may be gone.
        """
        return asked - count_share(self.corrupt, asked) - count_share(self.dropout, asked)

    def protection(self, clients: int, asked: int | None = None) -> Parameters:
        """Degree and threshold for the clients that are present, out of those asked (None: all of them are)."""
        return choose(clients, asked=asked, corrupt=self.corrupt, dropout=self.dropout, security=self.security)


@dataclass(frozen=True)
class Member:
    """What stays the same about a client from round to round."""

    id: int
    identity: Ed25519PrivateKey = field(repr=False)
    roster: Roster = field(repr=False)
    policy: Policy = Policy()

    def __post_init__(self) -> None:
        if self.roster.keys.get(self.id) != self.identity.public_key().public_bytes_raw():
            raise InputError(f"client {self.id!r} is not on the roster with this identity's key", argument="member")

"""Private randomness: bytes that one client alone knows, in a type of their own.

Secrets (keys, masks, shares) come from here and from nowhere else. Coins that everyone can recompute are another type,
which is not accepted in its place: a secret that is drawn from public coins is no secret.
"""

import os
from collections.abc import Callable
from typing import NoReturn, Self, final

from folkmoot.foundation.errors import InputError


@final
class PrivateRandomness:
    """Random bytes from the operating system. There is nothing to configure: no seed, no state, nothing to store."""

    __slots__ = ("_source",)

    def __init__(self) -> None:
        self._source: Callable[[int], bytes] = os.urandom

    @classmethod
    def for_tests(cls, source: Callable[[int], bytes]) -> Self:
        """Bytes from a function that is given a size. Whoever knows the function knows every secret: for tests only."""
        if not callable(source):
            kind = type(source).__name__
            raise InputError(f"needs a function from a size to that many bytes, got {kind}", argument="source")
        made = cls()
        made._source = source
        return made

    def random(self, size: int) -> bytes:
        """`size` random bytes, different at every call."""
        drawn = self._source(size)
        if not isinstance(drawn, bytes) or len(drawn) != size:
            raise InputError(f"did not give the {size} bytes it was asked for", argument="source")
        return drawn

    def __repr__(self) -> str:
        return "PrivateRandomness()"

    def __reduce__(self) -> NoReturn:
        """Neither pickle nor copy gets at it."""
        raise InputError("private randomness is never copied, stored or sent", argument="random")


SYSTEM = PrivateRandomness()


def as_private(value: object, argument: str = "random") -> PrivateRandomness:
    """The value, if it is private randomness. The error names its type only: the value itself may be a secret."""
    if type(value) is PrivateRandomness:  # a subclass could draw its bytes from anywhere
        return value
    raise InputError(
        f"needs PrivateRandomness, which nobody but the client knows, got {type(value).__name__}",
        argument=argument,
        remedy="leave it out, and the operating system's is used",
    )

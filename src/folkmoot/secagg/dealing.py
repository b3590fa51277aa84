"""Shares that can be checked one by one: before anyone relies on them, and when they come back.

Besides the polynomials f_1 … f_5 whose values at 0 are the limbs of a secret, a dealer shares a random polynomial b,
the blind. It publishes a hash of every share (limbs and blind), its mark. A challenge γ is computed from all its boxes
and marks. It then publishes the line b + γ·f_1 + … + γ^5·f_5, which reveals nothing about the limbs, since b is
uniform. A holder checks its share against mark and line. Shares that do not lie on polynomials of that degree miss the
line except with probability 5 / 2^61 per dealing; a dealer that wants to cheat has to try about 2^58 dealings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.kernels import kernel
from folkmoot.secagg import shamir
from folkmoot.secagg.primitives import SEED, digest
from folkmoot.secagg.shamir import PRIME, Numbers, add, evaluate, multiply
from folkmoot.secagg.wire import U32, U64

COLUMNS = shamir.limbs_of(SEED) + 1  # limbs and blind
SHARE = U64.size * COLUMNS
CONTENT = 2 * SHARE  # of a box: a share of the own mask's seed, then one of the mask key's
MARK, CASE, CHALLENGE = 16, 16, U64.size
MARKS, VALUES = 2 * MARK, 2 * U64.size
OWN, MASKING = 0, 1  # which of the two secrets


@dataclass(frozen=True)
class Dealing:
    """Shares of both secrets of a client, and the polynomials that they lie on."""

    contents: list[bytes] = field(repr=False)  # one per holder, in their order
    coefficients: tuple[Numbers, Numbers] = field(repr=False)

    def lines(self, challenge: int) -> bytes:
        """The lines of both secrets, one after the other."""
        return b"".join(combine(half, challenge).astype("<u8").tobytes() for half in self.coefficients)


def count_coins(threshold: int) -> int:
    """Random bytes that `deal` needs."""
    return 2 * 16 * (COLUMNS * threshold - (COLUMNS - 1))


def deal(own_seed: bytes, mask_seed: bytes, holders: int, threshold: int, coins: bytes) -> Dealing:
    """Shares of both secrets for so many holders. `coins`: as many random bytes as `count_coins` says."""
    half = len(coins) // 2
    halves = polynomials(own_seed, threshold, coins[:half]), polynomials(mask_seed, threshold, coins[half:])
    shares = np.empty((holders, 2 * COLUMNS), dtype=np.uint64)
    evaluate(np.hstack(halves), shares)
    data = shares.astype("<u8").tobytes()
    return Dealing([data[at : at + CONTENT] for at in range(0, len(data), CONTENT)], halves)


def polynomials(secret: bytes, threshold: int, coins: bytes) -> Numbers:
    """Coefficients: one column per limb, which is the polynomial's value at 0, and one for the blind."""
    limbs = shamir.to_limbs(secret)
    return np.concatenate([limbs, shamir.field_elements(coins)]).reshape(threshold, COLUMNS)


def mark(state: bytes, dealer: int, holder: int, content: bytes) -> bytes:
    """The marks of both shares in a box."""
    own, masking = content[:SHARE], content[SHARE:]
    return mark_of(OWN, state, dealer, holder, own) + mark_of(MASKING, state, dealer, holder, masking)


def mark_of(which: int, state: bytes, dealer: int, holder: int, share: bytes) -> bytes:
    """The mark of one share."""
    name = b"mask" if which else b"own"
    return sha256(name + state + U32.pack(dealer) + U32.pack(holder) + share).digest()[:MARK]


def challenge_of(state: bytes, dealer: int, sealed: Mapping[int, bytes]) -> int:
    """The hash of all boxes and marks of a dealer, in the order of their holders."""
    everything = b"".join(sealed.values())
    return int.from_bytes(digest(b"challenge", state, U32.pack(dealer), everything)[:16], "little") % PRIME


def case_of(sealed: bytes, values: bytes, challenge: int) -> bytes:
    """A digest of what one holder is given: its box and marks, the values of the lines for it, and the challenge."""
    return sha256(b"case" + sealed + values + U64.pack(challenge)).digest()[:CASE]


def values_of(lines: bytes, holders: int) -> list[bytes] | None:
    """The values of both lines for each holder; None if a coefficient is not in the field."""
    coefficients = np.frombuffer(lines, dtype="<u8").astype(np.uint64).reshape(2, -1).T
    if (coefficients >= PRIME).any():
        return None
    out = np.empty((holders, 2), dtype=np.uint64)
    evaluate(np.ascontiguousarray(coefficients), out)
    data = out.astype("<u8").tobytes()
    return [data[at : at + VALUES] for at in range(0, len(data), VALUES)]


def are_on_lines(shares: Sequence[bytes], challenges: Sequence[int], values: Sequence[bytes]) -> NDArray[np.bool_]:
    """For each share, whether it lies on its line."""
    rows = np.frombuffer(b"".join(shares), dtype="<u8").astype(np.uint64).reshape(-1, COLUMNS)
    expected = np.frombuffer(b"".join(values), dtype="<u8").astype(np.uint64)
    gammas, out = np.array(challenges, dtype=np.uint64), np.empty(len(rows), dtype=np.uint64)
    combine_rows(rows, gammas, out)
    # A challenge outside the field overflows only for large shares: a miss only then would tell about the share.
    return np.asarray((out == expected) & (rows < PRIME).all(axis=1) & (gammas < PRIME))


def combine(rows: Numbers, challenge: int) -> Numbers:
    out = np.empty(len(rows), dtype=np.uint64)
    combine_rows(rows, np.full(len(rows), challenge, dtype=np.uint64), out)
    return out


@kernel
def combine_rows(rows: Numbers, challenges: Numbers, out: Numbers) -> None:
    """blind + γ·limb + γ²·limb + …, by Horner's rule; numbers outside the field give some result, not an error."""
    for k in range(len(rows)):
        value = np.uint64(0)
        for column in range(rows.shape[1] - 2, -1, -1):
            value = multiply(add(value, rows[k, column]), challenges[k])
        out[k] = add(value, rows[k, -1])

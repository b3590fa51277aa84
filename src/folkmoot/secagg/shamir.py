"""Secret sharing: any `threshold` shares reconstruct the secret, fewer reveal nothing about it (Shamir 1979).

The field is GF(2^61 − 1), whose products can be computed in 64-bit arithmetic. A secret is cut into limbs of seven
bytes; each is the value at 0 of its own random polynomial. A share is the values of all polynomials at one point x ≥ 1.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.kernels import kernel

Numbers = NDArray[np.uint64]

PRIME = 2**61 - 1
P = np.uint64(PRIME)
LIMB = 7  # bytes
MOST_SHARES = 2**30
LOW31, LOW30 = np.uint64(2**31 - 1), np.uint64(2**30 - 1)
S30, S31, S61 = np.uint64(30), np.uint64(31), np.uint64(61)
ZERO, ONE = np.uint64(0), np.uint64(1)


def limbs_of(size: int) -> int:
    return -(-size // LIMB)


def to_limbs(secret: bytes) -> Numbers:
    padded = secret.ljust(limbs_of(len(secret)) * LIMB, b"\0")
    pieces = [int.from_bytes(padded[at : at + LIMB], "little") for at in range(0, len(padded), LIMB)]
    return np.array(pieces, dtype=np.uint64)


def from_limbs(limbs: Numbers, size: int) -> bytes | None:
    """The bytes of some limbs; None if these limbs do not come from bytes."""
    if (limbs >= 2 ** (8 * LIMB)).any():
        return None
    whole = b"".join(int(limb).to_bytes(LIMB, "little") for limb in limbs)
    return whole[:size] if not any(whole[size:]) else None


def to_bytes(share: Numbers) -> bytes:
    return share.astype("<u8").tobytes()


def from_bytes(shares: Sequence[bytes]) -> Numbers:
    """Shares as rows of numbers."""
    return np.frombuffer(b"".join(shares), dtype="<u8").astype(np.uint64).reshape(len(shares), -1)


def field_elements(randomness: bytes) -> Numbers:
    """Field elements from 16 random bytes each: a 128-bit number modulo the prime is uniform up to 2^-67."""
    words = np.frombuffer(randomness, dtype="<u8").reshape(-1, 2)
    out = np.empty(len(words), dtype=np.uint64)
    reduce_wide(words, out)
    return out


def split(secret: bytes, shares: int, threshold: int, randomness: bytes) -> Numbers:
    """A matrix of shares × limbs: the shares at x = 1, 2, …. `count_random_bytes` is the length of `randomness`."""
    if not 1 <= threshold <= shares < MOST_SHARES:
        raise InputError(f"needs a number between 1 and the {shares} shares, got {threshold}", argument="threshold")
    limbs = to_limbs(secret)
    if len(randomness) != count_random_bytes(len(secret), threshold):
        raise InputError("has a wrong length", argument="randomness")
    coefficients = np.empty((threshold, len(limbs)), dtype=np.uint64)
    coefficients[0] = limbs
    coefficients[1:] = field_elements(randomness).reshape(threshold - 1, len(limbs))
    out = np.empty((shares, len(limbs)), dtype=np.uint64)
    evaluate(coefficients, out)
    return out


def count_random_bytes(size: int, threshold: int) -> int:
    return 16 * limbs_of(size) * (threshold - 1)


def combine(points: NDArray[np.int64], shares: Numbers, size: int) -> bytes | None:
    """The secret, from exactly `threshold` shares; None if they cannot be shares of one secret."""
    if len(set(points.tolist())) != len(points) or (points < 1).any() or (shares >= P).any():
        return None
    out = np.zeros(shares.shape[1], dtype=np.uint64)
    interpolate(points.astype(np.uint64), shares, out)
    return from_limbs(out, size)


@kernel
def multiply(a: np.uint64, b: np.uint64) -> np.uint64:
    """a·b modulo the prime, for a and b below it, since 2^61 ≡ 1."""
    a1, a0, b1, b0 = a >> S31, a & LOW31, b >> S31, b & LOW31
    middle = a1 * b0 + a0 * b1
    total = ((a1 * b1) << ONE) + (middle >> S30) + ((middle & LOW30) << S31) + a0 * b0
    total = (total & P) + (total >> S61)
    return total - P if total >= P else total


@kernel
def multiply_small(a: np.uint64, b: np.uint64) -> np.uint64:
    """The same for b below 2^30."""
    high = (a >> S31) * b
    total = (high >> S30) + ((high & LOW30) << S31) + (a & LOW31) * b
    total = (total & P) + (total >> S61)
    return total - P if total >= P else total


@kernel
def add(a: np.uint64, b: np.uint64) -> np.uint64:
    total = a + b
    return total - P if total >= P else total


@kernel
def power(a: np.uint64, exponent: np.uint64) -> np.uint64:
    out = ONE
    while exponent > ZERO:
        if exponent & ONE:
            out = multiply(out, a)
        a = multiply(a, a)
        exponent >>= ONE
    return out


@kernel
def reduce_wide(words: NDArray[np.uint64], out: Numbers) -> None:
    """low + 2^64·high modulo the prime, since 2^64 ≡ 8."""
    for k in range(len(words)):
        low = (words[k, 0] & P) + (words[k, 0] >> S61)
        high = (words[k, 1] & P) + (words[k, 1] >> S61)
        low = low - P if low >= P else low
        high = high - P if high >= P else high
        out[k] = add(low, multiply(high, np.uint64(8)))


@kernel
def evaluate(coefficients: Numbers, out: Numbers) -> None:
    """All polynomials at 1, 2, …, by Horner's rule. Limbs are the inner loop: they are independent."""
    for point in range(len(out)):
        x = np.uint64(point + 1)
        values = out[point]
        values[:] = ZERO
        for k in range(len(coefficients) - 1, -1, -1):
            for limb in range(len(values)):
                values[limb] = add(multiply_small(values[limb], x), coefficients[k, limb])


@kernel
def interpolate(points: Numbers, shares: Numbers, out: Numbers) -> None:
    """The polynomials' values at 0, by Lagrange interpolation."""
    for i in range(len(points)):
        above, below = ONE, ONE
        for j in range(len(points)):
            if j != i:
                above = multiply(above, points[j])
                below = multiply(below, add(points[j], P - points[i]))
        weight = multiply(above, power(below, P - np.uint64(2)))
        for limb in range(len(out)):
            out[limb] = add(out[limb], multiply(weight, shares[i, limb]))

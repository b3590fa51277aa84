"""Shares of which some are wrong: the secret comes back, and the wrong ones are named (Gao 2003).

Shares of a threshold t are values of a polynomial with t coefficients: a Reed–Solomon code. Out of m of them up to
(m − t) / 2 may be wrong. Needed only where somebody lies, so in plain whole numbers. Polynomials are lists of
coefficients, the constant first, with no zero at the end.
"""

from folkmoot.secagg.shamir import PRIME

Polynomial = list[int]


def polynomial_through(points: list[int], values: list[int], coefficients: int) -> Polynomial | None:
    """The polynomial with so many coefficients that most of the values lie on; None where there is none."""
    before, now = interpolated(points, values)
    factor_before, factor = [], [1]
    while 2 * (len(now) - 1) >= len(points) + coefficients:
        quotient, rest = divided(before, now)
        before, now = now, rest
        factor_before, factor = factor, minus(factor_before, times(quotient, factor))
    found, rest = divided(now, factor)
    return found if not rest and len(found) <= coefficients else None


def at(polynomial: Polynomial, point: int) -> int:
    value = 0
    for coefficient in reversed(polynomial):
        value = (value * point + coefficient) % PRIME
    return value


def interpolated(points: list[int], values: list[int]) -> tuple[Polynomial, Polynomial]:
    """Π (x − point), and the polynomial through all of the values, in Newton's form point by point."""
    product, through = [1], [0]
    for point, value in zip(points, values, strict=True):
        step = (value - at(through, point)) * pow(at(product, point), -1, PRIME) % PRIME
        through = minus(through, [-step * one % PRIME for one in product])
        product = times(product, [-point % PRIME, 1])
    return product, through


def minus(a: Polynomial, b: Polynomial) -> Polynomial:
    size = max(len(a), len(b))
    return trimmed([(x - y) % PRIME for x, y in zip(padded(a, size), padded(b, size), strict=True)])


def times(a: Polynomial, b: Polynomial) -> Polynomial:
    out = [0] * (len(a) + len(b))
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return trimmed([one % PRIME for one in out])


def divided(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Quotient and remainder."""
    rest, quotient, inverse = list(a), [0] * max(len(a) - len(b) + 1, 0), pow(b[-1], -1, PRIME)
    for shift in reversed(range(len(quotient))):
        factor = quotient[shift] = rest[shift + len(b) - 1] * inverse % PRIME
        for place, coefficient in enumerate(b):
            rest[shift + place] = (rest[shift + place] - factor * coefficient) % PRIME
    return trimmed(quotient), trimmed(rest)


def padded(a: Polynomial, size: int) -> Polynomial:
    return a + [0] * (size - len(a))


def trimmed(a: Polynomial) -> Polynomial:
    while a and not a[-1]:
        a.pop()
    return a

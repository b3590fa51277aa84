"""Numbers as people read them. A promise is never rounded in its own favour, and no infinity is ever printed."""

import re
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from math import floor, isfinite, log10

NOTHING = "–"
MINUS = "−"
NARROW = "\u202f"  # a space that does not break
DIGITS = 4
MOST_DIGITS = 6  # where fewer do not tell numbers apart
MOST_DECIMALS = 6  # smaller numbers are written with a power of ten
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LARGEST = 1e12
DUST = 9  # decimals of a share; what is smaller comes from the order of a sum
LITTLE = 1e-5  # of a number: the error of what was sent as whole numbers
ROUND = 2  # digits of a round number
SURE = 12  # digits that do not depend on the order of a sum
UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def number(value: float | None, digits: int = DIGITS, rounding: str = ROUND_HALF_UP) -> str:
    """At most so many significant digits, with commas: 4.751, 12,346, 1.2 × 10⁻⁹.

    >>> number(4.75), number(12345.678), number(1.2e-9), number(float("inf"))
    ('4.75', '12,346', '1.2 × 10⁻⁹', '–')
    """
    if value is None or not isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    exponent = floor(log10(abs(value)))
    exact = _read_exactly(value) if rounding == ROUND_HALF_UP else Decimal(repr(float(value)))
    if not 10.0 ** (1 - MOST_DECIMALS) <= abs(value) < LARGEST:
        mantissa = exact.scaleb(-exponent).quantize(Decimal(1).scaleb(1 - digits), rounding)
        return f"{_trim(mantissa)} × 10{str(exponent).translate(SUPERSCRIPT)}"
    return _trim(exact.quantize(Decimal(1).scaleb(min(exponent + 1 - digits, 0)), rounding))


def _read_exactly(value: float) -> Decimal:
    """Without the digits that the order of a sum decides: 3.8005 and 3.8004999999999995 are written alike."""
    return Decimal(f"{value:.{SURE}g}")


def round_down(value: float | None, digits: int = DIGITS) -> str:
    """Never more than it is."""
    return number(value, digits, ROUND_FLOOR)


def round_up(value: float | None, digits: int = DIGITS) -> str:
    """Never less than it is; with more digits where it is a round number but for a little.

    >>> round_up(5.0002), round_up(5.0000074), round_up(4.7010346)
    ('5.001', '5.000008', '4.702')
    """
    if value is not None and isfinite(value) and value > 0:
        near = float(f"{value:.{ROUND - 1}e}")
        if 0 < value - near < LITTLE * value:
            return number(value, digits + 3, ROUND_CEILING)
    return number(value, digits, ROUND_CEILING)


def percent(ratio: float) -> str:
    """One digit after the point, rounded down. Sums that are equal may differ in their last digits: these do not
    count.

    >>> [percent(ratio).replace(NARROW, " ") for ratio in (0.97399, 0.999996, 1 - 1e-12)]
    ['97.3 %', '99.9 %', '100 %']
    """
    exact = round(Decimal(repr(float(ratio))), DUST)
    exact = (exact * 100).quantize(Decimal("0.1"), ROUND_FLOOR)
    return f"{_trim(exact)}{NARROW}%"


def column(values: Iterable[float], digits: int = DIGITS) -> list[str]:
    """Numbers under each other: as many decimals as the largest needs, so that the points are in line.

    >>> column([12.5, 0.25, -1e-15]), column([3.8005])
    (['12.50', '0.25', '0.00'], ['3.801'])
    """
    listed = [float(value) for value in values]
    largest = max((abs(value) for value in listed if isfinite(value)), default=0.0)
    if largest and not 10.0 ** (1 - MOST_DECIMALS) <= largest < LARGEST:
        return [number(value, digits) for value in listed]
    decimals = max(digits - 1 - floor(log10(largest)), 0) if largest else 0
    unit = Decimal(1).scaleb(-decimals)
    shown = [
        f"{_read_exactly(value).quantize(unit, ROUND_HALF_UP):,f}" if isfinite(value) else NOTHING for value in listed
    ]
    return [text.removeprefix("-") if not text.strip("-0.,") else text.replace("-", MINUS) for text in shown]


def find_digits(values: Iterable[float], least: int = DIGITS, most: int = MOST_DIGITS) -> int:
    """How many digits tell numbers under each other apart.

    >>> find_digits([1.0131, 1.0128, 0.2]), find_digits([0.5, 0.2])
    (5, 4)
    """
    listed = [float(value) for value in values]
    apart = len({f"{value:.{SURE}g}" for value in listed})
    enough = (digits for digits in range(least, most) if len({*column(listed, digits)}) == apart)
    return next(enough, most)


def count(value: int | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def size(in_bytes: float) -> str:
    """
    >>> size(740), size(15850), size(3.1e9)
    ('740 B', '15.9 kB', '3.1 GB')
    """
    power = 0
    while in_bytes >= 999.5 and power < len(UNITS) - 1:
        in_bytes /= 1000
        power += 1
    return f"{number(in_bytes, 3)} {UNITS[power]}"


def _trim(exact: Decimal) -> str:
    text = f"{exact:,f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", MINUS) if text.strip("-0.,") else "0"


def raise_powers(text: str) -> str:
    """Powers in a text as they are printed.

    >>> raise_powers("except with probability 2^-40")
    'except with probability 2⁻⁴⁰'
    """
    return re.sub(r"(?<=\d)\^(-?\d+)", lambda found: found[1].translate(SUPERSCRIPT), text)

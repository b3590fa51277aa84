"""How far a party's odometer was when an answer last left, in a file beside its store: the store is never behind it,
unless somebody put an older copy in its place.
"""

import json
from pathlib import Path

from folkmoot.engines.keys import write_whole
from folkmoot.engines.odometer import Mileage
from folkmoot.foundation.errors import InputError

MARK = "party.odometer"
BEGIN_ANEW = "begin anew with new keys (folkmoot federation join --renew)"


def write_mark(path: Path, now: Mileage) -> None:
    said = {"charges": now.charges, "largest": now.largest}
    write_whole(path, json.dumps(said).encode())


def read_mark(path: Path) -> Mileage | None:
    """How many charges there were when an answer last left, and what the client who paid most had paid; None: it cannot
    be read.
    """
    try:
        said = json.loads(path.read_text(encoding="ascii"))
        return Mileage(int(said["charges"]), before=tuple(float(one) for one in said["largest"]))
    except FileNotFoundError:
        return Mileage()
    except (ValueError, KeyError, TypeError):
        return None


def check_mark(path: Path, mark: Mileage | None, store: Path, now: Mileage) -> None:
    """Refuse a store that is behind what was written beside it. path, store: where both are."""
    if mark is None or len(mark.before) != len(now.largest):
        raise InputError("is damaged", remedy=BEGIN_ANEW, place=path)
    if now.charges < mark.charges or any(one < other for one, other in zip(now.largest, mark.before, strict=True)):
        raise InputError(
            f"is older than {path.name} beside it: a copy was restored, which forgets what was answered since",
            remedy=f"put the newest back, or {BEGIN_ANEW}",
            place=store,
        )

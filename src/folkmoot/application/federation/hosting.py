"""Keeping a server or a party running from its kit, and what there is to say about it meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from signal import SIGINT, SIGTERM, signal
from threading import Event
from types import FrameType
from typing import Any

from folkmoot.application.federation.agreement import FILE, Agreement
from folkmoot.engines.flare.processes import LOG, is_server, run_parent
from folkmoot.engines.flare.renewal import read_expiry
from folkmoot.engines.folder_store import FILE as STORE_FILE
from folkmoot.engines.folder_store import open_logs
from folkmoot.engines.store import LedgerEntry, Refusal, SentMessage
from folkmoot.foundation.errors import InputError

STORE = "store"
SOON = timedelta(days=30)
REGISTERED = b"Successfully registered client"  # in FLARE's log


def check_kit(kit: Path, *, server: bool | None = None) -> Agreement:
    """Refuse a folder that is no kit, or the kit of the other side; what its parties agreed on."""
    if not kit.is_dir():
        raise InputError("there is no such folder", place=kit)
    if not (kit / FILE).is_file() or not (kit / "startup").is_dir():
        inside = [one.name for one in kit.iterdir() if (one / FILE).is_file()]
        hint = f"it is in one of {', '.join(sorted(inside))}" if inside else "ask whoever founded the federation for it"
        raise InputError("is not a kit", remedy=hint, place=kit)
    if server is not None and is_server(kit) != server:
        wanted = "`folkmoot federation join` is for parties" if not server else "this is for the server"
        raise InputError(f"is the kit of {'the server' if not server else 'a party'}; {wanted}", place=kit)
    return Agreement.load(kit)


def check_expiry(kit: Path, tell: Callable[[str], object]) -> None:
    """Refuse a kit whose certificate has expired, and warn of one that soon will."""
    left = read_expiry(kit) - datetime.now(UTC)
    how = "whoever holds the root renews it with `folkmoot federation certify`"
    if left < timedelta(0):
        raise InputError(f"its certificate expired {-left.days:,} days ago", remedy=how, place=kit)
    if left < SOON:
        tell(f"The certificate of this kit expires in {left.days:,} days; {how}.")


@contextmanager
def end_on_signals() -> Iterator[Event]:
    """An event that Ctrl-C and a request to terminate set."""
    stop = Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before: dict[int, Any] = {number: signal(number, end) for number in (SIGINT, SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal(number, handler)


def host(kit: Path, tell: Callable[[str], None], glance: Callable[[], None]) -> None:
    """Keep FLARE running for this kit until somebody stops it; `glance` is called again and again meanwhile."""
    with end_on_signals() as stop:
        run_parent(kit, stop, tell, glance)


@dataclass(frozen=True)
class Activity:
    """What a party has done."""

    ledger: list[LedgerEntry]
    outbox: list[SentMessage]
    refusals: list[Refusal]


def read_activity(kit: Path, since: float = 0.0) -> Activity:
    """What a party answered, sent and refused; it may be running."""
    if not (kit / STORE / STORE_FILE).exists():
        return Activity([], [], [])
    with open_logs(kit / STORE) as logs:
        return Activity(logs.read_ledger(since), logs.read_outbox(since), logs.read_refusals(since))


@dataclass
class Connection:
    """Whether FLARE's client says that it reached the server, by what it has logged since this was made."""

    kit: Path
    at: int = 0
    made: bool = False

    def __post_init__(self) -> None:
        path = self.kit / LOG
        self.at = path.stat().st_size if path.exists() else 0

    def look(self) -> bool:
        """Whether it has registered by now."""
        if not self.made:
            try:
                with (self.kit / LOG).open("rb") as log:
                    log.seek(self.at)
                    self.made = REGISTERED in log.read()
            except OSError:
                pass
        return self.made

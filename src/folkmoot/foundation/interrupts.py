"""Ctrl-C that waits: where an exception would be lost, it is raised afterwards."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import SIGINT, getsignal, signal
from threading import current_thread, main_thread
from types import FrameType
from typing import Any


class PendingInterrupts:
    """Takes the place of the handler of Ctrl-C, and remembers that it came."""

    def __init__(self, handler: Callable[[int, FrameType | None], Any]) -> None:
        self.handler = handler
        self.came = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.came = True


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Inside this context Ctrl-C does nothing; it is handled at the end. Only the main thread can and need do this."""
    handler = getsignal(SIGINT)
    if current_thread() is not main_thread() or not callable(handler) or isinstance(handler, PendingInterrupts):
        yield
        return
    pending = PendingInterrupts(handler)
    signal(SIGINT, pending)
    try:
        yield
    finally:
        signal(SIGINT, handler)
        if pending.came:
            handler(SIGINT, None)

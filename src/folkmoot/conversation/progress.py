"""Showing how far a run has come."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from folkmoot.conversation.result import Round
from folkmoot.foundation.errors import InputError

Steps = Callable[[str, int, int], None]  # what is being done, how much of it is done, of how much
Watcher = Callable[[int, int, Round], None]  # rounds done, rounds planned (about), the last round


@dataclass(frozen=True)
class ProgressHooks:
    """What to call during a run: after every round, and inside a round."""

    watch: Watcher
    inside: Steps


def ignore_round(done: int, planned: int, last: Round) -> None:
    """Progress that is not shown."""


def ignore_steps(what: str, done: int, of: int) -> None:
    """Progress inside a round that is not shown."""


@contextmanager
def show_progress(progress: bool | Watcher | None, planned: int) -> Iterator[ProgressHooks]:
    """A bar on a terminal, the caller's own function, or silence.

    True: a bar. False: silence. None: a bar if stderr is a terminal.
    """
    if callable(progress):
        yield ProgressHooks(progress, ignore_steps)
        return
    if progress is not None and not isinstance(progress, bool):
        raise InputError(f"needs True, False or a function of three arguments, got {progress!r}", argument="progress")
    if not progress and (progress is False or not sys.stderr.isatty()):
        yield ProgressHooks(ignore_round, ignore_steps)
        return
    from rich.console import Console  # imported only when needed: it takes a while
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("asking", total=planned, said="")

        def watch(done: int, planned: int, last: Round) -> None:
            value = "" if last.value is None else f"value {last.value:.4g}, "
            said = f"{value}{last.answered:,} clients, {last.up:,} bytes each"
            bar.update(task, completed=done, total=max(planned, done), description=last.label, said=said)

        def inside(what: str, done: int, of: int) -> None:
            bar.update(task, said=f"{what}, {done:,} of {of:,}")

        yield ProgressHooks(watch, inside)

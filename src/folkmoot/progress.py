"""Showing how far a run has come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from folkmoot.errors import InputError
from folkmoot.result import Round

Watcher = Callable[[int, int, Round], None]  # rounds done, rounds planned (about), what the last one was


@contextmanager
def shown(progress: bool | Watcher | None, planned: int) -> Iterator[Watcher]:
    """A bar on a terminal, the caller's own function, or silence.

    None: a bar where stderr is a terminal. True and False say so outright.
    """
    if callable(progress):
        yield progress
        return
    if progress is not None and not isinstance(progress, bool):
        raise InputError(f"progress: needs True, False or a function of three arguments, got {progress!r}")
    console = Console(stderr=True)
    if progress is False or (progress is None and not console.is_terminal):
        yield lambda *_: None
        return
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

        yield watch

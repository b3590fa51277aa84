"""What the compiler is doing, for whoever shows it. The first run on a machine compiles its kernels, later ones load
them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

USUAL = 40  # kernels that a first run compiles, more or less


@dataclass(frozen=True)
class Compiling:
    """Which of the kernels is being compiled; `of`: about how many there will be, if this is the first run ever."""

    number: int
    of: int | None


Tell = Callable[[Compiling | None], None]  # None: nothing is being compiled


@dataclass
class CompilerLog:
    """The kernels that this process has loaded and compiled. Only one thread compiles at a time."""

    loaded: int = 0
    compiled: int = 0
    first: bool = False  # nothing was on disk when the first kernel was compiled
    _open: int = 0  # kernels that are being compiled: one, and those that it calls
    _watchers: list[Tell] = field(default_factory=list)

    def begin(self) -> None:
        self.first = self.first or (self.loaded == 0 and self.compiled == 0)
        self._open += 1
        self.compiled += 1
        self._tell(Compiling(self.compiled, max(USUAL, self.compiled) if self.first else None))

    def end(self) -> None:
        self._open -= 1
        if self._open == 0:
            self._tell(None)

    def _tell(self, what: Compiling | None) -> None:
        for tell in tuple(self._watchers):
            tell(what)

    @contextmanager
    def watch(self, tell: Tell) -> Iterator[None]:
        """Inside this context `tell` is called whenever something else is compiled, and when nothing is any more."""
        self._watchers.append(tell)
        try:
            yield
        finally:
            self._watchers.remove(tell)


LOG = CompilerLog()

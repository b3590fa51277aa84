"""Where commands print. `folkmoot … | head -1` ends as other commands do: at once, silently, with their exit code."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO, cast

CLOSED = 141  # 128 + SIGPIPE: what a shell says of a command that wrote where nobody reads


class ReaderGone(Exception):
    """Nobody reads what is printed any more. (A `BrokenPipeError` may be that of a network, or taken for a failure.)"""


class GuardedStream:
    """A stream that says by `ReaderGone` that its reader has gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            raise ReaderGone from None

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            raise ReaderGone from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard_output(command: Callable[[], int]) -> int:
    """The exit code of a command, or CLOSED if it was still printing when its reader had gone."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_guard, streams)
    try:
        return command()
    except ReaderGone:
        return CLOSED
    finally:
        sys.stdout, sys.stderr = streams
        for stream in streams:
            _drop_rest(stream)


def _guard(stream: TextIO) -> TextIO:
    return cast(TextIO, GuardedStream(stream)) if stream else stream  # none where it was closed before


def _drop_rest(stream: TextIO) -> None:
    """What cannot be printed: otherwise Python would try again as it ends, and complain."""
    try:
        if stream:
            stream.flush()
    except OSError:
        with suppress(OSError), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())

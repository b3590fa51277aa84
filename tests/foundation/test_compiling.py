"""Kernels are compiled once per machine, in few forms; whoever waits for that is told."""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from signal import SIGINT, default_int_handler, getsignal, raise_signal, signal
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.registry import cpu_target
from numpy.typing import NDArray
from rich.console import Console

from folkmoot.cli import show
from folkmoot.foundation.compiled import KernelFiles
from folkmoot.foundation.compiling import USUAL, CompilerLog, Compiling
from folkmoot.foundation.interrupts import hold_interrupts
from folkmoot.foundation.kernels import Kernel, kernel
from folkmoot.foundation.sets import Ids, share

TWICE = {"folkmoot.data.entries.place", "folkmoot.data.entries.order_and_merge"}  # numbers of four bytes, and of eight


@kernel
def double(number: int) -> int:
    return 2 * number


@kernel
def double_all(numbers: NDArray[np.uint16], out: Ids) -> None:
    for at in range(len(numbers)):
        out[at] = double(numbers[at]) + double(at) + double(3)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CompilerLog:
    """A log of its own, on a machine where nothing was compiled yet."""
    from folkmoot.foundation import compiled

    log = CompilerLog()
    double.__dict__.pop("_part", None)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiled, "LOG", log)
    monkeypatch.setattr(show, "LOG", log)
    return log


def call_anew() -> list[int]:
    """Call the kernel as a new process would."""
    out = np.zeros(3, dtype=np.int64)
    Kernel(double_all.py_func)(np.array([5, 6, 7], dtype=np.uint16), out)  # type: ignore[attr-defined]
    return list(out)


def test_kernels_are_compiled_once_and_then_loaded(log: CompilerLog) -> None:
    told: list[Compiling | None] = []
    with log.watch(told.append):
        assert call_anew() == [16, 20, 24]
        assert told == [Compiling(1, USUAL), Compiling(2, USUAL), None]
        assert call_anew() == [16, 20, 24]
    assert len(told) == 3
    assert (log.compiled, log.loaded) == (2, 1)


def test_later_kernels_are_told_without_a_total(log: CompilerLog) -> None:
    told: list[Compiling | None] = []
    log.loaded = 5
    with log.watch(told.append):
        call_anew()
    assert told[0] == Compiling(1, None)
    assert told[-1] is None


@pytest.mark.usefixtures("log")
def test_a_kernel_that_others_call_has_one_form() -> None:
    call_anew()
    part = double.__dict__["_part"]  # called with two bytes, with eight and with a constant
    assert [str(types) for types in part.signatures] == ["(int64,)"]


def test_garbage_is_collected_again_afterwards(log: CompilerLog) -> None:
    assert gc.isenabled()
    during: list[bool] = []
    with log.watch(lambda now: during.append(gc.isenabled()) if now else None):
        call_anew()
    assert during
    assert not any(during)
    assert gc.isenabled()


@pytest.fixture(autouse=True)
def heed_ctrl_c() -> Iterator[None]:
    """A shell starts jobs in the background with Ctrl-C ignored."""
    before = signal(SIGINT, default_int_handler)
    yield
    signal(SIGINT, before)


@pytest.mark.parametrize("cached", [False, True])
def test_ctrl_c_is_raised_after_code_was_compiled_or_loaded(
    log: CompilerLog, monkeypatch: pytest.MonkeyPatch, cached: bool
) -> None:
    """LLVM hands over machine code by calling Python, and drops whatever is raised there."""
    if cached:
        call_anew()
    engine: Any = cpu_target.target_context.codegen()._engine._ee
    hook = "_object_cache_getbuffer" if cached else "_object_cache_notify"
    pressed: list[bool] = []
    work = getattr(engine, hook)

    def press_first(*handed: Any) -> Any:
        if not pressed:
            pressed.append(True)
            raise_signal(SIGINT)
        return work(*handed)

    before = getsignal(SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(engine, hook, press_first)
        with pytest.raises(KeyboardInterrupt):
            call_anew()
    assert pressed
    assert getsignal(SIGINT) is before
    assert call_anew() == [16, 20, 24]
    assert log.loaded >= 1


def test_ctrl_c_waits_once_and_only_in_the_main_thread() -> None:
    with pytest.raises(KeyboardInterrupt), hold_interrupts():  # noqa: PT012
        with hold_interrupts():
            raise_signal(SIGINT)
        reached = True
    assert reached
    before = getsignal(SIGINT)

    def look() -> Any:
        with hold_interrupts():
            return getsignal(SIGINT)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(look).result() is before
    handled: list[int] = []
    signal(SIGINT, lambda number, _: handled.append(number))
    try:
        with hold_interrupts():
            raise_signal(SIGINT)
            assert not handled
        assert handled == [SIGINT]
    finally:
        signal(SIGINT, before)


def test_what_is_shared_can_still_be_written_by_its_owner() -> None:
    mine = np.zeros(3)
    theirs = share(mine)
    mine[0] = 1.0
    assert theirs[0] == 1.0
    assert not theirs.flags.writeable
    assert mine.flags.writeable


def test_a_terminal_shows_how_far_the_compiler_has_come(log: CompilerLog, monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal, bars in ((True, 1), (False, 0)):
        seen = StringIO()
        out = Console(file=seen, force_terminal=terminal, width=80)
        monkeypatch.setattr(show, "console", lambda out=out, **_: out)
        with show.show_work("reading …", quiet=False):
            for _ in range(7):
                log.begin()
                log.end()
            log.begin()
            if terminal:
                out._live_stack[0].refresh()
            log.end()
        assert seen.getvalue().count("8 of about 40") == bars
        assert ("compiling for this machine, once" in seen.getvalue()) == terminal
        log.compiled, log.first = 0, False


@pytest.mark.slow
def test_no_kernel_is_compiled_in_more_forms_than_it_needs(tmp_path: Path) -> None:
    """After a run of each kind on a machine where nothing was compiled yet."""
    (tmp_path / "cache").mkdir()
    child = subprocess.run(
        [sys.executable, "-m", "tests.foundation.kernel_forms", str(tmp_path)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    forms = json.loads(child.stdout)
    assert {name for name, count in forms.items() if count > 1 + (name in TWICE)} == set()
    assert 30 < len(forms) < 55


def test_two_processes_that_compile_at_once_never_mix_machine_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have read the index before either writes it; numba's own files led one form to the code of the other."""
    one, other = (KernelFiles(str(tmp_path), "kernel", "stamp") for _ in range(2))  # type: ignore[no-untyped-call]
    for files, key in ((one, "whole numbers"), (other, "numbers")):
        monkeypatch.setattr(files, "_load_index", dict)
        files.save(key, f"code for {key}")
    later = KernelFiles(str(tmp_path), "kernel", "stamp")  # type: ignore[no-untyped-call]
    found = {key: later.load(key) for key in ("whole numbers", "numbers")}  # type: ignore[no-untyped-call]
    assert found == {"whole numbers": None, "numbers": "code for numbers"}  # what was lost is compiled again

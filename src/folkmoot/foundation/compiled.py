"""Machine code for kernels: loaded from disk where it is cached, compiled by numba otherwise."""

import gc
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from numba.core import types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.event import Event, Listener, register
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys

from folkmoot.foundation.compiling import LOG
from folkmoot.foundation.interrupts import hold_interrupts

# no_cfunc_wrapper skips a C wrapper that nobody calls
OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "boundscheck": None}

NARROW = types.int8, types.int16, types.int32, types.uint8, types.uint16, types.uint32


class KernelFiles(IndexDataCacheFile):
    """The files of one kernel. Each form has a file named by what it is for, which is written before the index names
    it: numba numbers files, so that two processes which compile at the same time could take the same number, and an
    index would lead to the machine code of another form.
    """

    def save(self, key: Any, data: Any) -> None:
        digest = sha256(repr((self._source_stamp, key)).encode()).hexdigest()
        name: Any = self._data_name(int(digest[:15], 16))  # type: ignore[no-untyped-call]
        self._save_data(name, data)  # type: ignore[no-untyped-call]
        known: Any = self._load_index()  # type: ignore[no-untyped-call]
        self._save_index({**known, key: name})  # type: ignore[no-untyped-call]


class KernelCache(FunctionCache):
    """Machine code on disk, loaded without setting up the compiler.

    Numba would first import and register everything it can compile, which takes ten times as long as loading what
    a run needs. It still does so before it compiles; cached code needs only the runtime.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        found = self._cache_file
        self._cache_file = KernelFiles(found._cache_path, self._impl.filename_base, found._source_stamp)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        LOG.loaded += found is not None
        return found


class KernelDispatcher(CPUDispatcher):
    """A function that compiles itself for the types it is called with."""

    def compile(self, sig: Any) -> Any:
        """Load or compile a form. LLVM calls Python meanwhile, and drops what is raised there, Ctrl-C among it."""
        with hold_interrupts():
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The form in which another kernel calls this one: whole numbers have 64 bits. Otherwise it would be compiled
        anew for each constant, and for item numbers of two bytes and of four.
        """
        return super().get_call_template(tuple(map(widen, args)), kws)


def widen(kind: Any) -> Any:
    """The type without its value; of 64 bits, if it is a whole number with fewer."""
    plain: Any = types.unliteral(kind)  # type: ignore[no-untyped-call]
    return types.int64 if plain in NARROW else plain


class CompileListener(Listener):
    """Logs what is compiled, and pauses the garbage collector meanwhile: all that the compiler makes is in use, and
    looking through it would take a seventh of the time.
    """

    def __init__(self) -> None:
        self.collects: list[bool] = []  # whether garbage was collected before each kernel that is being compiled

    def on_start(self, event: Event) -> None:
        if isinstance(event.data["dispatcher"], KernelDispatcher):
            self.collects.append(gc.isenabled())
            gc.disable()
            LOG.begin()

    def on_end(self, event: Event) -> None:
        if isinstance(event.data["dispatcher"], KernelDispatcher):
            LOG.end()
            if self.collects.pop():
                gc.enable()


register("numba:compile", CompileListener())  # type: ignore[no-untyped-call]


def make_function(kernel: Callable[..., Any]) -> Any:
    """For Python to call: cached on disk."""
    dispatcher: Any = KernelDispatcher(py_func=kernel, targetoptions=OPTIONS)
    dispatcher._cache = KernelCache(kernel)
    return dispatcher


def make_part(kernel: Callable[..., Any]) -> Any:
    """For other kernels to call: without what Python needs in order to call it, and cached as a part of them."""
    return KernelDispatcher(py_func=kernel, targetoptions=OPTIONS | {"no_cpython_wrapper": True})

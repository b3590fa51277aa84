"""Machine code for kernels: loaded from disk where it is cached, compiled by numba otherwise."""

from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys


class KernelCache(FunctionCache):
    """Machine code on disk, loaded without setting up the compiler.

    Numba would first import and register everything it can compile, which takes ten times as long as loading what
    a run needs. It still does so before it compiles; cached code needs only the runtime.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


def compile_kernel(function: Callable[..., Any]) -> Any:
    """A function that compiles itself for the types it is called with."""
    compiler: Any = numba.njit  # no_cfunc_wrapper skips a C wrapper that nobody calls; njit's types lack the option
    dispatcher = compiler(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function)
    dispatcher._cache = KernelCache(function)  # type: ignore[no-untyped-call]
    return dispatcher

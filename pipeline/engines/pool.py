"""A pool of processes on this machine, whoever asks for it.

Polars runs threads of its own, which a forked process would find dead: so they are spawned. Python
has a spawned process run the caller's script anew, for what it might be handed from there. Nothing
of ours comes from there, and a script without `if __name__ == "__main__":`, or one read from stdin,
would start all its work again in every process. So ours do without it.
"""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_starting = threading.Lock()


class _Process(SpawnProcess):
    """A process that does not run the script of the one that starts it."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802 - the name that multiprocessing looks for
        with _starting:
            script = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")
            try:
                return SpawnProcess._Popen(process_obj)  # noqa: SLF001 - same
            finally:
                sys.modules["__main__"] = script


class _Context(SpawnContext):
    Process = _Process


def pool_of(
    workers: int, initializer: Callable[..., object] | None = None, *given: Any
) -> ProcessPoolExecutor:
    """Return a pool of so many processes, each of which begins with `initializer(*given)`."""
    return ProcessPoolExecutor(
        workers, mp_context=_Context(), initializer=initializer, initargs=given
    )

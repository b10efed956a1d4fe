"""Progress: one changing line on stderr, only where a person sees it."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Tell = Callable[[str], None]


@contextmanager
def progress(doing: str) -> Iterator[Tell | None]:
    """Show what goes on; gives the function that says how far it is, None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - needed on a terminal only
    from rich.text import Text  # noqa: PLC0415 - same

    with Console(stderr=True).status(Text(doing)) as status:
        yield lambda how_far: status.update(Text(f"{doing}: {how_far}"))


def batches(tell: Tell) -> Callable[[int, int], None]:
    """Return the function that tells how many batches are done."""
    return lambda done, todo: tell(f"{done:,} of {counted(todo, 'batch')}")

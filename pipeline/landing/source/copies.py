"""Where copies of what is packed or streamed go: one temporary folder per landing."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.landing.source.spool import spool

if TYPE_CHECKING:
    from typing import Self

    from pipeline.landing.records.reader import Source


class Copies:
    """A temporary folder for copies: made when the first is, removed with all of them."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def folder(self) -> Path:
        """The folder."""
        return self._stack.enter_context(spool())

    @cached_property
    def beside(self) -> Path:
        """One folder for copies that stand to each other as their files do: some read neighbours."""
        return self.new()

    def new(self) -> Path:
        """Return an empty folder in it."""
        return Path(tempfile.mkdtemp(dir=self.folder))


def neighbour(source: Source, name: str, up: int = 1) -> Path | None:
    """Return a file in the folder `up` levels above a source; None where there is none.

    Of a source that was unpacked, a neighbour may be a copy too, or stand where it was named.
    """
    shown = Path(source.shown)
    for path in [source.path, shown] if shown.exists() else [source.path]:
        above = list(path.absolute().parents)[up - 1 : up]
        if above and (above[0] / name).is_file():
            return above[0] / name
    return None

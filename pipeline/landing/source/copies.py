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

    def new(self) -> Path:
        """Return an empty folder in it."""
        return Path(tempfile.mkdtemp(dir=self.folder))

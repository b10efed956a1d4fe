"""What may be given as one or as several."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")


def several(given: str | os.PathLike[str] | Iterable[T] | None) -> list[T]:
    """Return what was given as a list: a text or a path is one thing, None is nothing.

    A text is a sequence of texts, too: `metrics="f1"` would ask for the metrics f and 1.

    >>> several("f1"), several(("f1", "success")), several(None)
    (['f1'], ['f1', 'success'], [])
    """
    if given is None:
        return []
    if isinstance(given, str | os.PathLike):
        return [given]  # type: ignore[list-item] # one of several, so it is a T
    return list(given)

"""Calls of one tool whose arguments are nearly the same text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.errors import InputError
from pipeline.scoring.path.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pipeline.scoring.path.equals import Pairs

HALF = 1 << 31
"""A pair of texts is one integer: the smaller number above, the larger below."""


class Near(NamedTuple):
    """Which calls of one tool have arguments that are near enough."""

    texts: pl.Series
    """The number of each call's argument text; null where not captured."""
    tools: pl.Series
    pairs: pl.Series
    """The pairs of texts that are near enough."""
    compared: int
    """How many pairs of texts were compared: each distinct one once."""

    def tells(self, found: Pairs) -> pl.Series:
        """Tell of each pair of calls whether they are near."""
        close = _paired(self.texts, found).is_in(self.pairs.implode())
        same_tool = self.tools[found.later] == self.tools[found.earlier]
        return (close & same_tool).fill_null(value=False)


def near(calls: pl.DataFrame, windows: Iterable[Pairs], threshold: float) -> Near:
    """Find the near calls among those of one tool that lie within a window and are not equal.

    Args:
        calls: name_key, call_key and tool_args of each call.
        windows: pairs of calls to be looked at.
        threshold: the least similarity.

    Raises:
        InputError: rapidfuzz is not installed.
    """
    texts = Texts.of(calls["tool_args"])
    tool, key = calls["name_key"], calls["call_key"]
    numbers = [
        _paired(texts.numbers, found).filter(
            (tool[found.later] == tool[found.earlier]) & (key[found.later] != key[found.earlier])
        )
        for found in windows
    ]
    pairs = pl.concat([pl.Series(dtype=pl.Int64), *numbers]).drop_nulls().unique().sort()
    left = texts.distinct.gather(pairs // HALF)
    right = texts.distinct.gather(pairs % HALF)
    alike = _alike(threshold)
    kept = [alike(a, b) for a, b in zip(left.to_list(), right.to_list(), strict=True)]
    return Near(texts.numbers, tool, pairs.filter(pl.Series(kept, dtype=pl.Boolean)), len(pairs))


def _paired(texts: pl.Series, found: Pairs) -> pl.Series:
    """Return for each pair of calls that of their texts; null where a text is missing."""
    both = pl.DataFrame({"a": texts[found.later], "b": texts[found.earlier]})
    pair = pl.min_horizontal("a", "b") * HALF + pl.max_horizontal("a", "b")
    return both.select(
        pl.when(pl.col("b").is_not_null() & pl.col("a").is_not_null()).then(pair)
    ).to_series()


def _alike(threshold: float) -> Callable[[str, str], bool]:
    """Return the test of two texts: is 2·LCS / (sum of their lengths) at least `threshold`?

    The quotient is taken of whole numbers, so that four fifths are 0.8 and not a bit less.
    """
    try:
        from rapidfuzz.distance import Indel  # noqa: PLC0415 - an extra, loaded where it is used
    except ImportError as error:
        raise InputError(
            "backtracking.similarity needs rapidfuzz, which is not installed: `pip install 'trajtab[text]'`"
        ) from error

    def alike(a: str, b: str) -> bool:
        length = len(a) + len(b)
        # Below the cutoff, a whole number at most the needed one, the count comes back as 0.
        return Indel.similarity(a, b, score_cutoff=int(threshold * length)) / length >= threshold

    return alike

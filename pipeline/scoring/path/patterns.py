"""Regular expressions of the policy over a column of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence


def any_match(texts: pl.Series, patterns: Sequence[str], key: str) -> pl.Series:
    """Tell which texts hold a match of at least one pattern; null where there is no text.

    Raises:
        InputError: a pattern uses what the engine does not have; `key` says where it stands.

    >>> any_match(pl.Series(["Error: no", "fine", None]), ["(?i)error", "refused"], "key").to_list()
    [True, False, None]
    """
    for pattern in patterns:
        _check(pattern, key)
    text = pl.lit(texts)
    return pl.select(pl.any_horizontal(text.str.contains(p) for p in patterns)).to_series()


def _check(pattern: str, key: str) -> None:
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError as error:
        raise InputError(f"{key}: {pattern!r} cannot be searched for: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return the line of the engine's account that says why."""
    account = str(error).split("\n\n")[0]
    return account.splitlines()[-1].removeprefix("regex ").removeprefix("error: ")

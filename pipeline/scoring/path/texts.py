"""Distinct texts and their numbers: what is dear to read is read once per distinct text."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl


class Texts(NamedTuple):
    """A column of text, as numbers into its distinct values."""

    numbers: pl.Series
    """Of each row the number of its text; null where there is none."""
    distinct: pl.Series

    @classmethod
    def of(cls, texts: pl.Series) -> Texts:
        """Number the distinct texts by first occurrence.

        >>> Texts.of(pl.Series(["b", "a", None, "b"])).numbers.to_list()
        [0, 1, None, 0]
        """
        distinct = texts.rename("text").drop_nulls().unique(maintain_order=True)
        numbers = distinct.to_frame().with_row_index("number")
        numbered = (
            texts.rename("text")
            .to_frame()
            .join(numbers, on="text", how="left", maintain_order="left")
        )
        return cls(numbered["number"].cast(pl.Int64), distinct)

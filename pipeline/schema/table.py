"""How a table is declared: columns, each with its dtype, nullability and meaning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

UTC_MICROS = pl.Datetime("us", "UTC")

KEY = (
    "the landed copy of the run: batch and row in one integer; joins runs, steps and scores exactly"
)
"""What `run_key` means, in every table that has it."""


@dataclass
class Column:
    """One column: its dtype, whether it may be null, and what it means."""

    dtype: pl.DataType | type[pl.DataType]
    meaning: str
    nullable: bool = True
    name: str = field(default="", init=False)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class Table:
    """A table's declaration. Subclasses list their columns in order as class attributes."""

    columns: ClassVar[Mapping[str, Column]] = {}

    def __init_subclass__(cls) -> None:
        own = {k: v for k, v in vars(cls).items() if isinstance(v, Column)}
        cls.columns = {**cls.columns, **own}

    @classmethod
    def names(cls) -> list[str]:
        """Return the column names in order."""
        return list(cls.columns)

    @classmethod
    def polars(cls) -> pl.Schema:
        """Return the Polars schema."""
        return pl.Schema({name: column.dtype for name, column in cls.columns.items()})

    @classmethod
    def empty(cls) -> pl.DataFrame:
        """Return a frame with every column and no row."""
        return pl.DataFrame(schema=cls.polars())

    @classmethod
    def conform(cls, frame: pl.DataFrame) -> pl.DataFrame:
        """Return `frame` with exactly the declared columns, in order, cast; absent ones null."""
        present = set(frame.columns)
        return frame.select(
            pl.col(name).cast(column.dtype)
            if name in present
            else pl.lit(None, dtype=column.dtype).alias(name)
            for name, column in cls.columns.items()
        )

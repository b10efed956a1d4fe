"""What trajtab knows of a metric: name, meaning, range, direction, formula, and how to compute it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import polars as pl

NAMES = "_names"
"""The suffix of the columns that compare tool names only."""

LEVELS = ("", NAMES)

Family = Literal[
    "ordered", "overlap", "path", "recovery", "efficiency", "composite", "usage", "outcome",
    "response", "rules", "user", "opinion",
]  # fmt: skip
Kind = Literal["fraction", "flag", "count", "amount", "text"]
Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Metric:
    """One metric, one name: the registry's entry, the column, the macro and the docs heading.

    >>> from pipeline.metrics.registry import get
    >>> f1 = get("f1")
    >>> f1.family, f1.better, f1.low, f1.high, f1.formula
    ('overlap', 'higher', 0.0, 1.0, '2·tp / (n + m); 1 when n + m = 0')
    """

    name: str
    family: Family
    kind: Kind
    """fraction: in [0, 1]; flag: 0 or 1; count: whole numbers; amount: any number of a unit; text:
    words beside the numbers, in scores but in no table of figures."""
    better: Better
    meaning: str
    formula: str
    null: str
    """When it is null."""
    value: pl.Expr
    """Its value, over the columns of counts."""
    rests_on: str = "the calls logged"
    """The signal of the log that it rests on."""
    micro: tuple[str, str] | None = None
    """SQL of numerator and denominator over score columns, where pooling counts makes sense."""
    reference: bool = False
    """Does it need a reference (METRICS section 2)?"""
    headline: bool = False
    """Is it in the set tables show when none is named?"""
    unit: str = ""
    bounds: tuple[float, float] | None = None
    """Its range, where its kind does not say it."""

    @property
    def low(self) -> float | None:
        """The least value it can take, or None."""
        if self.bounds is not None:
            return self.bounds[0]
        return None if self.kind == "text" or (self.kind == "amount" and self.unit == "") else 0.0

    @property
    def high(self) -> float | None:
        """The greatest value it can take, or None."""
        if self.bounds is not None:
            return self.bounds[1]
        return 1.0 if self.kind in ("fraction", "flag") else None


NULL_NAMES = "null without a reference, and for a run whose status is error"
NULL_REFERENCE = (
    "null without a reference, for a run whose status is error, and where arguments that the "
    "reference gives were not captured"
)


def words(level: str) -> str:
    """Return what a level compares."""
    return "tool names" if level else "calls"


def of_calls(  # noqa: PLR0913 - a metric has as many fields
    family: Family,
    kind: Kind,
    level: str,
    name: str,
    meaning: str,
    formula: str,
    value: pl.Expr,
    *,
    better: Better = "higher",
    null: str = "",
    micro: tuple[str, str] | None = None,
    headline: bool = False,
) -> Metric:
    """Return a metric of calls held against a reference, at one level.

    `null` is what is said of nulls beside what holds for all of them.
    """
    null = (NULL_NAMES if level else NULL_REFERENCE) + null
    return Metric(
        name=f"{name}{level}", family=family, kind=kind, better=better, meaning=meaning,
        formula=formula, null=null, value=value, micro=micro, reference=True, headline=headline,
    )  # fmt: skip

"""What others say of runs, beside what is computed: columns of judges and of people.

A provider gives, for a lake, one Float64 column per opinion, keyed by run_key and null where there
is none, and the metric of each column. The columns join the view `scores` under their names
(`judge.NAME`, `human.NAME`), and the metrics the registry, wherever a lake has any: `aggregate`,
`percentiles`, `compare`, `gate`, `trend`, `scores`, the report and SQL know them like any other.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
from xxhash import xxh3_128_hexdigest

from pipeline.metrics.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Callable

    from duckdb import DuckDBPyConnection

    from pipeline.lake import Lake

TABLE = "opinions"


class Provider(NamedTuple):
    """Where opinions come from: a module, its function of a lake to columns, and to metrics."""

    module: str
    folder: str
    """The folder of a lake without which there are none: looked at first, for it costs nothing."""
    columns: str
    metrics: str | None = None
    """None: each column is an amount of which more is better."""
    whose: str = ""


PROVIDERS = (
    Provider("judged", "judgments", "judged_columns", "judged_metrics", "a model's judgment"),
    Provider("human", "annotations", "annotation_columns", None, "the mean of people's scores"),
)


class Opinions(NamedTuple):
    """All opinions of a lake."""

    columns: pl.DataFrame
    """run_key, once each, and one Float64 column per opinion."""
    metrics: tuple[Metric, ...] = ()

    @property
    def hash(self) -> str:
        """The hash of every value; empty without opinions."""
        if not self.metrics:
            return ""
        return xxh3_128_hexdigest(self.columns.sort("run_key").write_csv().encode())

    def joined(self, con: DuckDBPyConnection, scores: str) -> str:
        """Return the query `scores` (SQL that begins with FROM or SELECT) with the columns added."""
        if not self.metrics:
            return scores
        con.register(f"_{TABLE}", self.columns.to_arrow())
        return f"SELECT * FROM ({scores}) LEFT JOIN _{TABLE} USING (run_key)"  # noqa: S608 - our own


NONE = Opinions(pl.DataFrame(schema={"run_key": pl.UInt64}))


def opinions(lake: Lake) -> Opinions:
    """Return all opinions a lake holds."""
    columns, metrics = NONE.columns, []
    for provider in PROVIDERS:
        module = f"{__name__}.{provider.module}"
        if not lake.folders(provider.folder) or find_spec(module) is None:
            continue
        found = import_module(module)
        own: pl.DataFrame = getattr(found, provider.columns)(lake)
        columns = columns.join(own, on="run_key", how="full", coalesce=True)
        metrics += _metrics(provider, getattr(found, provider.metrics or "", None), lake, own)
    return Opinions(columns.sort("run_key"), tuple(metrics))


def _metrics(
    provider: Provider,
    own: Callable[[Lake], list[Metric]] | None,
    lake: Lake,
    columns: pl.DataFrame,
) -> list[Metric]:
    if own is not None:
        return own(lake)
    return [_amount(name, provider.whose) for name in columns.columns if name != "run_key"]


def _amount(name: str, whose: str) -> Metric:
    return Metric(
        name=name,
        family="opinion",
        kind="amount",
        better="higher",
        meaning=f"{whose}: {name.partition('.')[2].replace('_', ' ')}",
        formula="the sum of scores / their number, over those who gave one",
        null="null where nobody gave one",
        value=pl.col(name),
        rests_on=whose,
        headline=True,
    )

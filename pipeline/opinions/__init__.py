"""What others say of runs, beside what is computed: columns of judges and of people.

A provider gives, for a lake, one Float64 column per opinion, keyed by run_key and null where there
is none, and the metric of each column. The columns join the view `scores` under their names
(`judge.NAME`, `human.NAME`), and the metrics the registry, wherever a lake has any: `aggregate`,
`percentiles`, `compare`, `gate`, `trend`, `scores`, the report and SQL know them like any other.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
from xxhash import xxh3_128_hexdigest

from pipeline.duck import hand
from pipeline.metrics.metric import Metric

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from pipeline.lake import Lake

TABLE = "opinions"
OWN_KEY = "run_key"


class Provider(NamedTuple):
    """Where opinions come from: a module here, and what in it gives columns and metrics."""

    module: str
    folder: str
    """The folder of a lake without which there are none: looked at first, for it costs nothing."""
    columns: str
    """A function of a lake to run_key and one Float64 column per opinion."""
    metrics: str | None = None
    """A function of a lake to the metric of each column."""
    meanings: str | None = None
    """Where there is no such function: what each column means, by name."""
    bounds: tuple[float, float] | None = None
    """The range of such columns."""


PROVIDERS = (
    Provider("judged", "judgments", "judged_columns", "judged_metrics"),
    Provider("human", "annotations", "annotation_columns", meanings="COLUMNS", bounds=(1, 5)),
)

_asking: ContextVar[bool] = ContextVar("asking", default=False)
"""Is a provider asked right now? The views it may read then are without opinions."""


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
        hand(con, f"_{TABLE}", self.columns)
        return f"SELECT * FROM ({scores}) LEFT JOIN _{TABLE} USING (run_key)"  # noqa: S608 - our own


NONE = Opinions(pl.DataFrame(schema={"run_key": pl.UInt64}))


def opinions(lake: Lake) -> Opinions:
    """Return all opinions a lake holds."""
    holding = [provider for provider in PROVIDERS if _holds(lake, provider)]
    if not holding or _asking.get():
        return NONE
    token = _asking.set(True)
    try:
        found = [_ask(provider, lake) for provider in holding]
    finally:
        _asking.reset(token)
    columns = NONE.columns
    for own in found:
        columns = columns.join(own.columns, on=OWN_KEY, how="full", coalesce=True)
    metrics = (_shown(m, columns) for own in found for m in own.metrics)
    return Opinions(columns.sort(OWN_KEY), tuple(metrics))


def _shown(metric: Metric, columns: pl.DataFrame) -> Metric:
    """Take a metric without any value out of the headline set."""
    return replace(metric, headline=columns[metric.name].null_count() < columns.height)


def _holds(lake: Lake, provider: Provider) -> bool:
    """Tell whether a lake has what a provider reads."""
    return bool(lake.folders(provider.folder))


def _ask(provider: Provider, lake: Lake) -> Opinions:
    module = import_module(f"{__name__}.{provider.module}")
    columns: pl.DataFrame = getattr(module, provider.columns)(lake)
    if provider.metrics is not None:
        return Opinions(columns, tuple(getattr(module, provider.metrics)(lake)))
    meanings = getattr(module, provider.meanings) if provider.meanings is not None else {}
    names = [name for name in columns.columns if name != OWN_KEY]
    metrics = (_amount(name, meanings.get(name, name), provider.bounds) for name in names)
    return Opinions(columns, tuple(metrics))


def _amount(name: str, meaning: str, bounds: tuple[float, float] | None) -> Metric:
    return Metric(
        name=name,
        family="opinion",
        kind="amount",
        better="higher",
        meaning=meaning,
        formula="the sum of scores / their number, over those who gave one",
        null="null where nobody gave one",
        value=pl.col(name),
        rests_on=f"what {name.partition('.')[0]} annotators said of the run",
        headline=True,
        unit="points",
        bounds=bounds,
    )

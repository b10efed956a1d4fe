"""`trajtab metrics`: what every number means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click
import polars as pl

from pipeline import queries
from pipeline.cli import completion
from pipeline.cli.command import command as declare
from pipeline.cli.options import Outputs, output_options
from pipeline.cli.output import emit
from pipeline.metrics import registry
from pipeline.tables.result import Result

if TYPE_CHECKING:
    from pipeline.metrics.metric import Metric


@declare("metrics", example="trajtab metrics in_order")
@click.argument("name", required=False, shell_complete=completion.metric)
@output_options
def command(name: str | None, outputs: Outputs) -> None:
    """List the metrics, or define one.

    With NAME: its formula, range and direction, when it is null, the signal of the log it rests
    on, and how to call it in SQL.
    """
    if name is None:
        emit(listed(), outputs)
    else:
        full = defined(name)
        emit(full, outputs, cut=_upright(full))


def listed() -> Result:
    """Return all metrics, one row each."""
    rows = [
        {
            "name": metric.name,
            "family": metric.family,
            "range": spread(metric),
            "better": metric.better,
            "meaning": metric.meaning,
        }
        for metric in registry.metrics().values()
    ]
    return Result("metrics", pl.DataFrame(rows), [])


def defined(name: str) -> Result:
    """Return all there is to say of one metric, in one row.

    Raises:
        UnknownNameError: no metric has that name.
    """
    metric = registry.get(name)
    row: dict[str, Any] = {
        "name": metric.name,
        "family": metric.family,
        "kind": metric.kind,
        "unit": metric.unit or None,
        "range": spread(metric),
        "better": metric.better,
        "meaning": metric.meaning,
        "formula": metric.formula,
        "null": metric.null,
        "rests_on": metric.rests_on,
        "needs_reference": metric.reference,
        "headline": metric.headline,
        "sql": macro(metric.name),
    }
    return Result(
        "metric", pl.DataFrame([row], schema_overrides={"unit": pl.String, "sql": pl.String}), []
    )


def spread(metric: Metric) -> str:
    """Return a metric's range as text.

    >>> spread(registry.get("f1")), spread(registry.get("n_steps"))
    ('0 to 1', '0 and up')
    """
    if metric.kind == "flag":
        return "0 or 1"
    if metric.high is not None:
        return f"{metric.low or 0:g} to {metric.high:g}"
    return "any" if metric.low is None else f"{metric.low:g} and up"


def macro(name: str) -> str | None:
    """Return how a metric is called in SQL, or None where it has no macro.

    >>> macro("in_order")
    'in_order(expected, actual)'
    """
    pattern = re.compile(rf'MACRO ("?{re.escape(name)}"?\([^)]*\)) AS')
    found = (pattern.search(queries.read(file)) for file in queries.names(queries.MACROS))
    return next((" ".join(match[1].split()) for match in found if match), None)


def _upright(result: Result) -> Result:
    """Turn one row of many columns into one line each, to be read."""
    columns = result.rows.columns
    values = [result.rows[name].cast(pl.String).item() for name in columns]
    rows = pl.DataFrame({"property": columns, "value": values}).drop_nulls()
    return result._replace(rows=rows)

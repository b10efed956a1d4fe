"""`trajtab metrics`: what every number means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click
import polars as pl
from click.core import ParameterSource

from pipeline import queries
from pipeline.cli import completion
from pipeline.cli.command import command as declare
from pipeline.cli.options import Outputs, output_options, policy_option
from pipeline.cli.output import emit
from pipeline.cli.values import LakePath
from pipeline.current import policy_of
from pipeline.errors import UnknownNameError
from pipeline.judge import rubric
from pipeline.lake import Lake
from pipeline.metrics import registry, rules
from pipeline.opinions import human, opinions
from pipeline.opinions.judged import PREFIX, metric_of
from pipeline.policy import load
from pipeline.tables.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.metrics.metric import Metric


SAID = (PREFIX, human.PREFIX)
"""How the names of what judges and people say begin."""

_EXAMPLE = """\
trajtab metrics in_order
trajtab metrics judge.tool_relevance
trajtab metrics --lake lake"""


@declare("metrics", example=_EXAMPLE)
@click.argument("name", required=False, shell_complete=completion.metric)
@click.option(
    "--lake",
    type=LakePath(),
    metavar="LAKE",
    help="Also what judges and people say in this lake, judge.NAME and human.NAME, and what its "
    "policy adds.",
)
@policy_option
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    name: str | None,
    lake: Path | None,
    policy: str | None,
    outputs: Outputs,
) -> None:
    """List the metrics, or define one.

    With NAME: its formula, range and direction, when it is null, the signal of the log it rests
    on, and how to call it in SQL. The rubrics that ship with trajtab are known as judge.NAME.
    A policy's own metrics are among them; so are all others, whether it scores them or not.
    """
    typed = ctx.get_parameter_source("lake") is ParameterSource.COMMANDLINE
    # The configuration's lake need not be there yet: most metrics need none.
    known = lake is not None and (typed or Lake(lake).exists())
    more = _further(Lake.open(lake) if lake is not None and known else None, policy)
    if name is None:
        emit(listed(more), outputs)
    else:
        full = _defined(name, more, lake)
        emit(full, outputs, cut=_upright(full))


def _defined(name: str, more: Sequence[Metric], lake: Path | None) -> Result:
    try:
        return defined(name, [*_shipped(name), *more])
    except UnknownNameError as error:
        if lake is None and name.startswith(SAID):
            raise UnknownNameError(
                f"{error}; with --lake LAKE those of a lake are known"
            ) from error
        raise


def _further(lake: Lake | None, policy: str | None) -> list[Metric]:
    """Return what a policy adds, and what judges and people say in a lake."""
    used = load(policy) if lake is None else policy_of(lake, policy)
    added = rules.own(used, registry.metrics())
    return added if lake is None else [*added, *opinions(lake).metrics]


def _shipped(name: str) -> list[Metric]:
    """Return the metrics of the shipped rubrics, where one of that kind is asked for."""
    if not name.startswith(PREFIX):
        return []
    return [metric_of(rubric.load(f"preset:{preset}")) for preset in rubric.presets()]


def listed(more: Sequence[Metric] = ()) -> Result:
    """Return all metrics, one row each, `more` last."""
    rows = [
        {
            "name": metric.name,
            "family": metric.family,
            "range": spread(metric),
            "better": metric.better,
            "meaning": metric.meaning,
        }
        for metric in registry.metrics_for(None, more).values()
    ]
    return Result("metrics", pl.DataFrame(rows), [])


def defined(name: str, more: Sequence[Metric] = ()) -> Result:
    """Return all there is to say of one metric, in one row.

    Raises:
        UnknownNameError: no metric has that name.
    """
    metric = registry.get(name, None, more)
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
    >>> macro("call_accuracy")
    'call_accuracy(expected_keys, actual_keys, expected_names, actual_names)'
    """
    pattern = re.compile(rf'MACRO ("?{re.escape(name)}"?\([^)]*\)) AS')
    found = (pattern.search(queries.read(file)) for file in queries.names(queries.MACROS))
    return next(
        (re.sub(r"(?<=\()\s+|\s+(?=\))", "", " ".join(m[1].split())) for m in found if m), None
    )


def _upright(result: Result) -> Result:
    """Turn one row of many columns into one line each, to be read."""
    columns = result.rows.columns
    values = [result.rows[name].cast(pl.String).item() for name in columns]
    rows = pl.DataFrame({"property": columns, "value": values}).drop_nulls()
    return result._replace(rows=rows)

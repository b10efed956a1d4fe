"""`trajtab trend`: does a metric move, over time or from version to version?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipeline.cli import completion
from pipeline.cli.command import command as declare
from pipeline.cli.options import (
    Outputs,
    lake_argument,
    metric_option,
    output_options,
    policy_option,
    where_option,
)
from pipeline.cli.output import emit
from pipeline.cli.values import names
from pipeline.tables.trend import trend

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike


def one_name(value: str | Iterable[str]) -> str:
    """Read the one column that makes the buckets.

    >>> one_name("week")
    'week'
    """
    found = names(value)
    if len(found) != 1:
        raise click.BadParameter(f"{','.join(found)!r}: one column is wanted; --where narrows runs")
    return found[0]


_EXAMPLE = """\
trajtab trend lake --by agent_version --metric f1,n_steps
trajtab trend lake --by week --where "suite = 'support'" --format csv"""


@declare("trend", example=_EXAMPLE)
@lake_argument
@click.option(
    "--by",
    type=one_name,
    required=True,
    metavar="COL",
    shell_complete=completion.buckets,
    help="date, week, hour (of started_at, UTC), or a column; labels.NAME is a label.",
)
@metric_option
@where_option
@policy_option
@output_options
def command(
    *,
    lake: PathLike[str],
    by: str,
    metric: tuple[str, ...] | None,
    where: str | None,
    policy: str | None,
    outputs: Outputs,
) -> None:
    """Show metrics over time, and what changed.

    One row per bucket and metric: days, weeks or hours, or the versions or prompts in the order
    they first ran. Each is compared with the one before; changed tells whether the 95% interval of
    the difference, clustered by task, leaves out 0.
    """
    emit(trend(lake, by=by, metrics=metric, where=where, policy=policy), outputs)

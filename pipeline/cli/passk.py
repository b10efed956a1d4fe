"""`trajtab passk`: does one of k trials pass, and do all of them?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipeline.cli.command import command as declare
from pipeline.cli.options import (
    Outputs,
    by_option,
    engine_options,
    lake_argument,
    output_options,
    policy_option,
    where_option,
)
from pipeline.cli.output import emit
from pipeline.cli.values import listed
from pipeline.tables.passk import KS, MOST_DRAWN, passk

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from pipeline.engines import Engine


def numbers(value: str | int | Iterable[int]) -> tuple[int, ...]:
    """Read whole numbers from 1, separated by commas.

    >>> numbers("1,2,4")
    (1, 2, 4)
    """
    try:
        found = tuple(map(int, map(str, listed(value))))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of whole numbers like 1,2,4") from None
    if not all(1 <= number <= MOST_DRAWN for number in found):
        raise click.BadParameter(f"{value!r}: each number must be from 1 to {MOST_DRAWN}")
    return found


_EXAMPLE = """\
trajtab passk lake --k 1,2
trajtab passk lake --by labels.team --pass "in_order_match = 1 and n_violations = 0"
trajtab passk lake --tasks --format csv"""


@declare("passk", example=_EXAMPLE)
@lake_argument
@click.option(
    "--k",
    type=numbers,
    default=KS,
    metavar="K,...",
    help="How many trials are drawn; default: 1,2,4.",
)
@by_option
@click.option(
    "--pass",
    "rule",
    metavar="EXPR",
    help="A trial passes if this SQL over score columns is true; default: success.",
)
@click.option("--tasks", is_flag=True, help="One row per task and k, with its trials counted.")
@where_option
@policy_option
@engine_options
@output_options
def command(
    *,
    lake: PathLike[str],
    k: tuple[int, ...],
    by: tuple[str, ...],
    rule: str | None,
    tasks: bool,
    where: str | None,
    policy: str | None,
    engine: Engine | None,
    outputs: Outputs,
) -> None:
    """Show pass@k and pass^k per arm.

    pass_at_k: the chance that one of k trials of a task passes; pass_hat_k: that all do; the mean
    over the tasks with k trials. Infrastructure errors count as failures; the _scored columns
    leave them out. Trials of other agents, versions, models or suites are never pooled.
    """
    result = passk(
        lake, k=k, by=by, rule=rule, where=where, policy=policy, tasks=tasks, engine=engine
    )
    emit(result, outputs)

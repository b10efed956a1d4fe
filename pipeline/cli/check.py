"""`trajtab check`: what is not as it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipeline.checks import check, failed
from pipeline.cli.command import command as declare
from pipeline.cli.options import Outputs, lake_argument, output_options, policy_option
from pipeline.cli.output import emit

if TYPE_CHECKING:
    from os import PathLike

ERRORS_FOUND = 1


@declare("check", example="trajtab check lake\ntrajtab check lake --deep --format json")
@lake_argument
@click.option("--deep", is_flag=True, help="Read every file whole, first, and look for damage.")
@policy_option
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    lake: PathLike[str],
    policy: str | None,
    outputs: Outputs,
    *,
    deep: bool,
) -> None:
    """List what is not as it should be.

    One row per offender: errors first, then warnings, then what is good to know (runs that a
    later landing replaced, ids that several agents use). Exit 1 when there is an error.

    --deep compares every byte with the hash kept when it was written (files of earlier versions
    have none: their columns are decoded), and says of each damaged file what to do. In an object
    store that fetches the whole lake.
    """
    result = check(lake, policy=policy, deep=deep)
    emit(result, outputs)
    if failed(result):
        ctx.exit(ERRORS_FOUND)

"""The command line: one command per file, loaded when it is called."""

from __future__ import annotations

import os

import click

from pipeline.cli.group import LazyGroup
from pipeline.cli.session import Session, version_option

__all__ = ["main"]


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@version_option
@click.option("--config", metavar="FILE", help="Defaults for every option, TOML.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def main(ctx: click.Context, config: str | None, *, debug: bool) -> None:
    """Agent trajectories in, tables out.

    \b
    To begin, with the path of your logs for export/:
      trajtab land export/ --lake lake
      trajtab score lake
      trajtab aggregate lake --by agent

    Exit codes: 0 fine, 1 gate failed, 2 usage or input error, 3 cannot be judged.
    """  # noqa: D301 - click takes the backspace for "leave these lines"
    # What NumPy multiplies here is small: its threads would spend more on waiting than they save.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    session = ctx.ensure_object(Session)
    session.config, session.debug = config, debug
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())

"""The options that commands share, each declared once."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from pipeline.cli import completion
from pipeline.cli.values import FILE_FORMATS, LakePath, format_of, names, output_file
from pipeline.engines import ENGINES, Engine, chosen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Function = TypeVar("Function", bound=Callable[..., Any])


STDOUT_FORMATS = ("table", "json", "jsonl", "csv", "md", "parquet")
CUT_TO_FIT = frozenset({"table", "md", "html"})
"""The formats for reading: a wide or long result is cut. The others hold every column and row."""


class Outputs(NamedTuple):
    """Where a result goes: stdout in one format, and files in the formats of their suffixes."""

    format: str = "table"
    files: tuple[Path, ...] = ()

    @property
    def formats(self) -> set[str]:
        """All formats asked for."""
        return {self.format, *map(format_of, self.files)}

    @property
    def any_cut(self) -> bool:
        """Whether a result to read is asked for."""
        return bool(self.formats & CUT_TO_FIT)

    @property
    def any_full(self) -> bool:
        """Whether a result with every column and row is asked for."""
        return bool(self.formats - CUT_TO_FIT)


lake_argument = click.argument("lake", type=LakePath())

policy_option = click.option(
    "--policy",
    metavar="FILE|preset:NAME",
    shell_complete=completion.policies,
    help="The policy to score or read by; default: the lake's own.",
)

baseline_policy_option = click.option(
    "--baseline-policy",
    metavar="FILE|preset:NAME",
    shell_complete=completion.policies,
    help="Another policy for the baseline.",
)

candidate_policy_option = click.option(
    "--candidate-policy",
    metavar="FILE|preset:NAME",
    shell_complete=completion.policies,
    help="Another policy for the candidate.",
)

where_option = click.option("--where", metavar="SQL", help="Only the runs this SQL is true for.")

by_option = click.option(
    "--by",
    type=names,
    metavar="COL,...",
    default=(),
    shell_complete=completion.groups,
    help="Columns to group by; labels.NAME is a label. A name that holds a comma is quoted, as in "
    """CSV: '"labels.a,b",agent'.""",
)

metric_option = click.option(
    "--metric",
    type=names,
    metavar="M,...|all",
    shell_complete=completion.metrics,
    help="Metrics to show; default: the headline ones.",
)

resume_option = click.option(
    "--resume",
    is_flag=True,
    help="Take up what a driver of the same job left that died: what is published stays, what "
    "tasks had finished is published, the rest is done.",
)


def engine_options(function: Function) -> Function:
    """Add `--engine` and `--master`, handed to the command as one `engine`: None is local."""

    @functools.wraps(function)
    def with_engine(*args: Any, engine: str, master: str | None, **kwargs: Any) -> Any:
        if engine == "local" and master is None:
            return function(*args, engine=None, **kwargs)
        found: Engine = chosen(engine, master=master)
        return function(*args, engine=found, **kwargs)

    where = click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default="local",
        show_default=True,
        help="Where the work runs: processes of this machine, or a Spark cluster.",
    )
    master = click.option(
        "--master",
        metavar="URL",
        help="Spark's master: local[4], spark://HOST:7077, k8s://…, yarn, or sc://HOST:15002 "
        "(Spark Connect); default: what spark-submit was told.",
    )
    return where(master(with_engine))  # type: ignore[return-value] # click's decorators lose the type


class ResultFormat(click.Choice[str]):
    """A format of results; who names one of logs by it, where logs are read, hears of `--from`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the format of this name."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            if ctx is not None and any("--from" in other.opts for other in ctx.command.params):
                self.fail(f"{error.message.rstrip('.')}; what the logs are is --from", param, ctx)
            raise


def output_options(function: Function) -> Function:
    """Add `--format` and `--output`, handed to the command as one `outputs`."""

    @functools.wraps(function)
    def with_outputs(*args: Any, format: str, output: tuple[Path, ...], **kwargs: Any) -> Any:  # noqa: A002 - the option's own word
        return function(*args, outputs=Outputs(format, output), **kwargs)

    to_stdout = click.option(
        "--format",
        type=ResultFormat(STDOUT_FORMATS),
        default="table",
        show_default=True,
        help="What stdout holds.",
    )
    to_file = click.option(
        "-o",
        "--output",
        type=output_file,
        multiple=True,
        metavar="FILE",
        help=f"Write a file too; its suffix says how: {' '.join(FILE_FORMATS)}.",
    )
    return to_stdout(to_file(with_outputs))  # type: ignore[return-value] # click's decorators lose the type

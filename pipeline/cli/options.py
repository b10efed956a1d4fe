"""The options that commands share, each declared once."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from pipeline.cli import completion
from pipeline.engines import ENGINES, Engine, chosen
from pipeline.errors import InputError
from pipeline.store import Address, address_of

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = TypeVar("Function", bound=Callable[..., Any])

STDOUT_FORMATS = ("table", "json", "jsonl", "csv", "md", "parquet")
FILE_FORMATS = ("json", "jsonl", "csv", "md", "html", "parquet", "xml")
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


def format_of(file: Path) -> str:
    """Return the format that a file's suffix names."""
    return file.suffix.removeprefix(".").lower()


def output_file(value: str) -> Path:
    """Check that a file can be written, before any work is done for it."""
    path = Path(value)
    if format_of(path) not in FILE_FORMATS:
        known = " ".join(f".{suffix}" for suffix in FILE_FORMATS)
        raise click.BadParameter(
            f"{value or 'no name'}: the suffix names the format, one of {known}"
        )
    if not path.parent.is_dir():
        raise click.BadParameter(f"{value}: there is no folder {path.parent}")
    if path.is_dir():
        raise click.BadParameter(f"{value}: a folder; name a file")
    return path


def names(value: str | Iterable[str]) -> tuple[str, ...]:
    """Split at commas; the configuration may give a list instead.

    >>> names("model, labels.team")
    ('model', 'labels.team')
    """
    told = value.split(",") if isinstance(value, str) else value
    parts = told if isinstance(told, Iterable) else [told]  # the configuration may give a number
    found = tuple(str(part).strip() for part in parts)
    if not all(found):
        raise click.BadParameter(f"{value!r} names nothing between two commas")
    return found


def shares(value: str | float | Iterable[float]) -> tuple[float, ...]:
    """Read numbers from 0 to 1, separated by commas.

    >>> shares("0.5,0.95")
    (0.5, 0.95)
    """
    parts = value.split(",") if isinstance(value, str) else value
    try:
        found = tuple(map(float, parts if isinstance(parts, Iterable) else [parts]))
    except (TypeError, ValueError):
        raise click.BadParameter(f"{value!r} is no list of numbers like 0.25,0.5") from None
    if not all(0 <= share <= 1 for share in found):
        raise click.BadParameter(f"{value!r}: each number must be from 0 to 1")
    return found


def key_value(value: str | tuple[str, str]) -> tuple[str, str]:
    """Split `key=value` at the first equals sign.

    >>> key_value("note=a=b")
    ('note', 'a=b')
    """
    if isinstance(value, tuple):
        return value
    key, equals, text = value.partition("=")
    if not (equals and key.strip()):
        raise click.BadParameter(f"{value!r} is not of the form key=value")
    return key.strip(), text


class LakePath(click.Path):
    """A lake's folder, or its URL in an object store, which is no path: `s3://` stays `s3://`."""

    name = "lake"

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path | Address:
        """Return the address that the text names; none is no name for the current folder."""
        if not os.fspath(value):
            self.fail("the lake's name is empty; name a folder, or . for this one", param, ctx)
        try:
            return address_of(value)
        except InputError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - same
        incomplete: str,
    ) -> list[CompletionItem]:
        """Complete folders: a lake is no file."""
        return [CompletionItem(incomplete, type="dir")]


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
    help="Columns to group by; labels.NAME is a label.",
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


def output_options(function: Function) -> Function:
    """Add `--format` and `--output`, handed to the command as one `outputs`."""

    @functools.wraps(function)
    def with_outputs(*args: Any, format: str, output: tuple[Path, ...], **kwargs: Any) -> Any:  # noqa: A002 - the option's own word
        return function(*args, outputs=Outputs(format, output), **kwargs)

    to_stdout = click.option(
        "--format",
        type=click.Choice(STDOUT_FORMATS),
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

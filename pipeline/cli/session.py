"""What is known of a command line before, or without, its options being understood."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "trajtab"


@dataclass
class Session:
    """One call of the command line; the context's `obj`."""

    args: Sequence[str] = ()
    config: str | None = None
    """The file of `--config`, if named before the command."""
    debug: bool = False
    configured_format: str | None = None
    """The `--format` that the configuration sets."""
    defaults_from: str = ""
    """The file the defaults came from."""

    @property
    def wants_json(self) -> bool:
        """Whether a failure is to be JSON on stdout: told even if the options cannot be parsed."""
        return (_typed_format(self.args) or self.configured_format) in ("json", "jsonl")


def _typed_format(args: Sequence[str]) -> str | None:
    """Return the last `--format` typed.

    >>> _typed_format(["land", "--format", "json"])
    'json'
    >>> _typed_format(["land", "--format=md", "--", "--format=json"])
    'md'
    """
    options = args[: args.index("--")] if "--" in args else args
    found = None
    for arg, following in pairwise([*options, None]):
        if arg == "--format":
            found = following
        elif arg is not None and arg.startswith("--format="):
            found = arg.removeprefix("--format=")
    return found


def _show_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    try:
        number = version(NAME)
    except PackageNotFoundError:
        number = "(not installed)"
    click.echo(f"{NAME} {number}")
    ctx.exit()


version_option = click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version.",
)

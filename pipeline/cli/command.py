"""How a command is declared: help that ends in an example, `--config` and `--debug` everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import config
from pipeline.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable


class Command(click.Command):
    """A command with an example and the two options all commands have."""

    def __init__(self, *args: Any, example: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example
        self.params += [_config_option(), _debug_option()]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example, each line as it stands."""
        super().format_epilog(ctx, formatter)
        with formatter.section("Example"):
            for line in self.example.splitlines():
                formatter.write(f"  {line}\n")


class CommandGroup(Command, click.Group):
    """A command that is a noun with commands of its own, all declared in its module."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show which commands there are where none is named."""
        return super().parse_args(ctx, args or ["--help"])


def group(name: str, *, example: str) -> Callable[[Callable[..., Any]], CommandGroup]:
    """Declare a command with commands below it, which join it by `add_command`."""
    return click.group(name, cls=CommandGroup, example=example)


def command(name: str, *, example: str) -> Callable[[Callable[..., Any]], Command]:
    """Declare the command of a module: `example` is one or more lines a person can run."""
    return click.command(name, cls=Command, example=example)


def _config_option() -> click.Option:
    return click.Option(
        ["--config"],
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=config.use,
        help="Defaults, TOML; else [tool.trajtab] of ./pyproject.toml.",
    )


def _debug_option() -> click.Option:
    return click.Option(
        ["--debug"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_set_debug,
        help="Show the traceback of an error.",
    )


def _set_debug(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    session = ctx.ensure_object(Session)
    session.debug = session.debug or wanted

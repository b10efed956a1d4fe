"""The group of all commands: each is imported when it is called, so that starting up is light."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from pipeline import interrupts
from pipeline.cli import (
    completion,  # noqa: F401 - teaches click about colons in bash
    streams,
)
from pipeline.cli.errors import guarded, shown
from pipeline.cli.session import NAME, Session
from pipeline.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "land": "Land logs into a lake.",
    "score": "Score what has no current scores.",
    "scores": "Show the scores, one row per run.",
    "aggregate": "Show means and intervals per group and metric.",
    "percentiles": "Show percentiles per group and metric.",
    "passk": "Show pass@k and pass^k per arm.",
    "compare": "Compare a candidate with a baseline, paired by task.",
    "gate": "Judge a candidate by the limits of a gate file.",
    "trend": "Show metrics over time, and what changed.",
    "judge": "Have a model judge runs or steps, in batch.",
    "report": "Write a report of a lake or of logs.",
    "annotations": "Pick runs for people to annotate.",
    "agreement": "Show how far annotators agree, and metrics with them.",
    "sql": "Ask a lake in SQL.",
    "show": "Show one run, step by step.",
    "diff": "Compare one run with its reference, call by call.",
    "check": "List what is not as it should be.",
    "formats": "List the source formats.",
    "metrics": "List the metrics, or define one.",
    "sample": "Write made-up logs to try things on.",
}
"""Every command with the first line of its help: `pipeline.cli.NAME` holds it as `command`."""


class LazyGroup(click.Group):
    """A group that knows its commands by name, and is the one place where errors end."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - same
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = import_module(f"pipeline.cli.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a command line, or say which one is nearest."""
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(str(UnknownNameError.among("command", args[0], COMMANDS)), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - same
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands without importing any, and the group's own options."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=text)
            for name, text in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = NAME,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line and leave with its exit code; under `--debug` errors come through."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        self._main_shell_completion(extra, NAME, complete_var)
        session = Session(sys.argv[1:] if args is None else list(args))

        def run() -> None:
            with self.make_context(NAME, list(session.args), obj=session) as ctx:
                self.invoke(ctx)

        sys.exit(guarded(run, session))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Be the process: what comes through under `--debug` is shown, its exit code is kept."""
        streams.ready()
        interrupts.listen()
        try:
            return self.main(*args, **kwargs)
        except SystemExit:
            raise
        except BaseException as error:  # noqa: BLE001 - the edge of the process
            sys.exit(shown(error))

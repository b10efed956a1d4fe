"""`trajtab judge land`: answers become scores."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.cli.command import command as declare
from pipeline.cli.options import Outputs, output_options
from pipeline.cli.output import emit
from pipeline.cli.values import LakePath


@declare("land", example="trajtab judge land responses.jsonl --lake lake")
@click.argument(
    "responses", metavar="RESPONSES...", type=click.Path(path_type=Path), nargs=-1, required=True
)
@click.option(
    "--lake",
    type=LakePath(),
    required=True,
    metavar="LAKE",
    help="The lake that the requests were prepared from.",
)
@output_options
def command(*, responses: tuple[Path, ...], lake: Path, outputs: Outputs) -> None:
    """Land a judge's answers as scores.

    Takes OpenAI's batch output (and error) files, Anthropic's batch results, and what `judge run`
    wrote. An answer that cannot be read strictly is null with a reason, never a guess. Landing
    the same answers again changes nothing.
    """
    from pipeline.judge import land as landed  # noqa: PLC0415 - only what is called is loaded

    emit(landed(responses, lake), outputs)

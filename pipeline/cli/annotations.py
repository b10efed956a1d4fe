"""`trajtab annotations`: which runs to ask people about."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from pipeline.annotation.sampling import sample_annotations
from pipeline.cli import completion
from pipeline.cli.command import command as declare
from pipeline.cli.files import write
from pipeline.cli.options import Outputs, lake_argument, output_options, policy_option, where_option
from pipeline.cli.output import emit, say

SUFFIX = ".jsonl"

_EXAMPLE = """\
trajtab annotations sample lake --out to_annotate.jsonl --limit 50 --seed 7
trajtab annotations sample lake --out more.jsonl --metric f1 --where "agent_version = 'v2'\""""


def jsonl_file(_ctx: click.Context, _param: click.Parameter, path: Path) -> Path:
    """Check that the file to fill in can be written, and holds nobody's work."""
    if path.suffix != SUFFIX:
        raise click.BadParameter(f"{path}: the file holds JSON lines; name it …{SUFFIX}")
    if not path.parent.is_dir():
        raise click.BadParameter(f"{path}: there is no folder {path.parent}")
    if path.exists():
        raise click.BadParameter(f"{path}: there already; it may be half filled in")
    return path


@declare("annotations", example=_EXAMPLE)
@click.argument("action", type=click.Choice(["sample"]))
@lake_argument
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    callback=jsonl_file,
    required=True,
    metavar="FILE",
    help="The file to fill in, JSONL; `trajtab land FILE` lands it.",
)
@click.option(
    "--limit", type=int, default=50, show_default=True, metavar="N", help="Pick so many runs."
)
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="S", help="Another seed, other runs."
)
@click.option(
    "--metric",
    default="composite",
    show_default=True,
    metavar="M",
    shell_complete=completion.metric,
    help="The metric that says how well a run did.",
)
@click.option("--annotated", is_flag=True, help="Pick runs that are annotated already, too.")
@where_option
@policy_option
@output_options
def command(
    *,
    action: str,  # noqa: ARG001 - there is one so far
    lake: Path,
    out: Path,
    limit: int,
    seed: int,
    metric: str,
    annotated: bool,
    where: str | None,
    policy: str | None,
    outputs: Outputs,
) -> None:
    """Pick runs for people to annotate.

    Some of every kind: runs that scored well and badly, and runs whose metrics part and agree, in
    turn; runs whose annotators part come again. FILE gets a record to fill in for each, with what
    the run did and without its scores, which would lead the annotator.
    """
    picked = sample_annotations(
        lake, limit=limit, seed=seed, metric=metric, where=where, annotated=annotated, policy=policy
    )
    if picked.records:
        write(out, b"".join(msgspec.json.encode(record) + b"\n" for record in picked.records))
    else:  # an empty file would be in the way of the next try
        say(f"nothing to annotate; {out} is not written")
    emit(picked.result, outputs)

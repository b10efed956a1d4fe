"""`trajtab judge prepare`: what is asked, as a batch file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import completion
from pipeline.cli.command import command as declare
from pipeline.cli.options import Outputs, lake_argument, output_options
from pipeline.cli.output import emit
from pipeline.cli.values import key_value

if TYPE_CHECKING:
    from pipeline.judge.requests import Provider


def _body_field(value: str | tuple[str, Any]) -> tuple[str, Any]:
    """Split `key=value`; a value that is JSON is taken as such, null takes the field away.

    >>> _body_field("temperature=null"), _body_field("seed=7"), _body_field("user=me")
    (('temperature', None), ('seed', 7), ('user', 'me'))
    """
    if isinstance(value, tuple):
        return value
    key, text = key_value(value)
    try:
        return key, json.loads(text)
    except ValueError:
        return key, text


_EXAMPLE = """\
trajtab judge prepare lake --rubric preset:step_appropriateness --sample 20 --out requests.jsonl
trajtab judge prepare lake --rubric preset:safety --where "agent_version = 'v2'" --repeats 2 \
--provider anthropic --out batch.jsonl"""


@declare("prepare", example=_EXAMPLE)
@lake_argument
@click.option(
    "--rubric",
    required=True,
    metavar="FILE|preset:NAME",
    shell_complete=completion.rubrics,
    help="What is judged: preset:step_appropriateness, tool_relevance, response_equivalence, "
    "groundedness, safety, or a TOML file.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The batch file to write, one request a line.",
)
@click.option(
    "--provider",
    type=click.Choice(["openai", "anthropic"]),
    default="openai",
    show_default=True,
    help="Whose batch-file format; `judge run` sends openai's.",
)
@click.option(
    "--model",
    metavar="M",
    help="Who is asked; default: gpt-4.1-mini, of anthropic claude-haiku-4-5.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask about so many steps, or runs, drawn at random; default: all.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the sample.")
@click.option(
    "--where",
    metavar="SQL",
    help="Only the runs this SQL over run columns is true for; other views in a subquery.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="R",
    help="Ask each question so many times.",
)
@click.option("--swap", is_flag=True, help="Ask in both orders of the two texts compared, too.")
@click.option(
    "--max-chars",
    type=click.IntRange(min=1),
    default=24_000,
    show_default=True,
    help="Characters of one part of a log that the judge sees.",
)
@click.option(
    "--max-output",
    type=click.IntRange(min=1),
    default=1_000,
    show_default=True,
    help="Tokens of an answer at most.",
)
@click.option(
    "--body",
    type=_body_field,
    multiple=True,
    metavar="KEY=JSON",
    help="A further field of every request's body; null takes one away. Repeatable.",
)
@output_options
def command(
    *,
    lake: Path,
    rubric: str,
    out: Path,
    provider: Provider,
    model: str | None,
    sample: int | None,
    seed: int,
    where: str | None,
    repeats: int,
    max_chars: int,
    max_output: int,
    body: tuple[tuple[str, Any], ...],
    outputs: Outputs,
    swap: bool,
) -> None:
    """Write requests for a judge as a batch file.

    Runs or steps with equal content share one request. Secrets are masked, and logged text is
    marked as data. The lake keeps what each request stands for.
    """
    from pipeline.judge import Form  # noqa: PLC0415 - only what is called is loaded
    from pipeline.judge import prepare as asked  # noqa: PLC0415 - same

    result = asked(
        lake,
        rubric,
        out,
        where=where,
        sample=sample,
        seed=seed,
        repeats=repeats,
        swap=swap,
        form=Form(provider, model, max_chars, max_output, dict(body)),
    )
    emit(result, outputs)

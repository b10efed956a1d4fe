"""`trajtab judge`: a model judges runs or steps, in batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import completion
from pipeline.cli.command import command as declare_below
from pipeline.cli.command import group as declare
from pipeline.cli.options import Outputs, lake_argument, output_options
from pipeline.cli.output import emit
from pipeline.cli.progress import progress

if TYPE_CHECKING:
    from pipeline.judge.requests import Provider

_EXAMPLE = """\
trajtab judge prepare lake --rubric preset:tool_relevance --sample 20 --out requests.jsonl
trajtab judge run requests.jsonl --url http://localhost:8000/v1 --out responses.jsonl > run.txt
trajtab judge land responses.jsonl --lake lake > landed.txt
trajtab judge consistency lake"""


@declare("judge", example=_EXAMPLE)
def command() -> None:
    """Have a model judge runs or steps, in batch.

    prepare writes requests, run has any OpenAI-compatible endpoint answer them (the batch services
    of OpenAI and Anthropic take them too), land turns answers into scores: the column and metric
    judge.NAME, NAME being the rubric's.
    """


def _body_field(value: str | tuple[str, Any]) -> tuple[str, Any]:
    """Split `key=value`; a value that is JSON is taken as such, null takes the field away.

    >>> _body_field("temperature=null"), _body_field("seed=7"), _body_field("user=me")
    (('temperature', None), ('seed', 7), ('user', 'me'))
    """
    if isinstance(value, tuple):
        return value
    key, equals, text = value.partition("=")
    if not (equals and key.strip()):
        raise click.BadParameter(f"{value!r} is not of the form key=value")
    try:
        return key.strip(), json.loads(text)
    except ValueError:
        return key.strip(), text


_prepare_example = """\
trajtab judge prepare lake --rubric preset:step_appropriateness --sample 20 --out requests.jsonl
trajtab judge prepare lake --rubric preset:safety --where "agent_version = 'v2'" --repeats 2 \
--provider anthropic --out batch.jsonl"""


@declare_below("prepare", example=_prepare_example)
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
def prepare(
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


@declare_below(
    "run",
    example="trajtab judge run requests.jsonl --url http://localhost:8000/v1 --out responses.jsonl",
)
@click.argument("requests", type=click.Path(path_type=Path))
@click.option(
    "--url",
    required=True,
    metavar="URL",
    help="The endpoint's base, as https://host/v1, or its whole address.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The responses, appended to; what it answers is not sent again.",
)
@click.option("--key-env", metavar="NAME", help="The environment variable that holds the API key.")
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    metavar="N",
    help="Requests under way at a time.",
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=6,
    show_default=True,
    help="How often a request is sent again after a fault that may pass.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="Patience with one attempt.",
)
@click.option("--max-requests", type=click.IntRange(min=0), metavar="N", help="A cap on requests.")
@click.option(
    "--max-tokens", type=click.IntRange(min=0), metavar="N", help="A cap on tokens, in and out."
)
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    metavar="X",
    help="A cap on cost, in the prices' currency; needs --price-in and --price-out.",
)
@click.option(
    "--price-in", type=click.FloatRange(min=0), metavar="X", help="Price of a million tokens in."
)
@click.option(
    "--price-out", type=click.FloatRange(min=0), metavar="X", help="Price of a million tokens out."
)
@output_options
@click.pass_context
def run(
    ctx: click.Context,
    *,
    requests: Path,
    url: str,
    out: Path,
    key_env: str | None,
    concurrency: int,
    retries: int,
    timeout: float,
    max_requests: int | None,
    max_tokens: int | None,
    max_cost: float | None,
    price_in: float | None,
    price_out: float | None,
    outputs: Outputs,
) -> None:
    """Send requests to an OpenAI-compatible endpoint.

    Faults that may pass are retried; a run that was stopped, even killed, is completed by running
    it again. Caps count the answers of earlier runs in the same file too. Exit 0 if all requests
    are answered, 3 if some are left.
    """
    from pipeline.judge import Caps, Patience  # noqa: PLC0415 - only what is called is loaded
    from pipeline.judge import run as sent  # noqa: PLC0415 - same

    if max_cost is not None and (price_in is None or price_out is None):
        raise click.UsageError("--max-cost needs --price-in and --price-out")
    caps = Caps(max_requests, max_tokens, max_cost, price_in or 0.0, price_out or 0.0)
    with progress("judging") as tell:
        result = sent(
            requests,
            out,
            url=url,
            key_env=key_env,
            patience=Patience(concurrency, retries, timeout),
            caps=caps,
            progress=tell,
        )
    emit(result, outputs)
    ctx.exit(result.facts["exit_code"])


@declare_below("land", example="trajtab judge land responses.jsonl --lake lake")
@click.argument(
    "responses", metavar="RESPONSES...", type=click.Path(path_type=Path), nargs=-1, required=True
)
@click.option(
    "--lake",
    type=click.Path(path_type=Path),
    required=True,
    metavar="LAKE",
    help="The lake that the requests were prepared from.",
)
@output_options
def land(*, responses: tuple[Path, ...], lake: Path, outputs: Outputs) -> None:
    """Land a judge's answers as scores.

    Takes OpenAI's batch output (and error) files, Anthropic's batch results, and what `judge run`
    wrote. An answer that cannot be read strictly is null with a reason, never a guess. Landing
    the same answers again changes nothing.
    """
    from pipeline.judge import land as landed  # noqa: PLC0415 - only what is called is loaded

    emit(landed(responses, lake), outputs)


@declare_below("consistency", example="trajtab judge consistency lake")
@lake_argument
@output_options
def consistency(*, lake: Path, outputs: Outputs) -> None:
    """Show how far judges agree with themselves.

    Kind repeat: the same question asked again (--repeats); position: with the two texts in the
    other order (--swap). Null without pairs.
    """
    from pipeline.judge import consistency as told  # noqa: PLC0415 - only what is called is loaded

    emit(told(lake), outputs)


for _below in (prepare, run, land, consistency):
    command.add_command(_below)

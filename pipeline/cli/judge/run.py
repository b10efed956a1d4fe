"""`trajtab judge run`: requests are sent, answers kept."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.cli.command import command as declare
from pipeline.cli.options import Outputs, output_options
from pipeline.cli.output import emit
from pipeline.cli.progress import progress


@declare(
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
def command(
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

"""The batch file: one request per distinct content, and what each stands for."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pipeline.judge import sidecar
from pipeline.judge.prompt import prompt_for
from pipeline.judge.requests import (
    MAX_OUTPUT,
    Provider,
    content_hash,
    custom_id,
    line_of,
    request,
    tokens_in,
    way,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipeline.judge.rubric import Rubric

MAX_CHARS = 24_000
"""Characters of one part that a judge sees."""

UNIT: dict[str, Any] = {"run_key": pl.UInt64, "run_id": pl.String, "step_index": pl.UInt32}
"""What says which run or step is judged."""


class Form(NamedTuple):
    """The form of all requests."""

    provider: Provider = "openai"
    """Whose batch-file format."""
    model: str | None = None
    """Who is asked; None is the provider's in `requests.MODELS`."""
    max_chars: int = MAX_CHARS
    """Characters of one part of a log that the judge sees."""
    max_output: int = MAX_OUTPUT
    """Tokens of an answer at most."""
    body: Mapping[str, Any] = {}
    """Further fields of the request's body; None takes one away."""


class Asking(NamedTuple):
    """How the requests are made: what is the same for all of them."""

    rubric: Rubric
    form: Form
    model: str
    prompt_hash: str
    orders: Sequence[bool]
    """Swapped or not: one or both."""
    repeats: int


class Counts(NamedTuple):
    """Units asked about, their distinct contents, requests, and the tokens these are read as."""

    asked: int
    contents: int
    requests: int
    tokens_in: int


def written(
    file: IO[bytes], texts: Iterator[pl.DataFrame], asking: Asking
) -> tuple[pl.DataFrame, Counts]:
    """Write the requests of all units; return what each stands for, and the counts."""
    rubric = asking.rubric
    seen: set[str] = set()
    found = [pl.DataFrame(schema={"content_hash": pl.String, **UNIT})]
    tokens = 0
    for part in texts:
        ready = part.drop_nulls(rubric.needs) if rubric.needs else part
        contents = ready.select(rubric.shows).unique(maintain_order=True)
        told = contents.to_dicts()  # distinct contents
        hashes = [content_hash(rubric, asking.prompt_hash, asking.model, one) for one in told]
        for one, hashed in zip(told, hashes, strict=True):
            if hashed not in seen:
                seen.add(hashed)
                tokens += _write(file, one, hashed, asking)
        keyed = contents.with_columns(content_hash=pl.Series(hashes, dtype=pl.String))
        joined = ready.join(
            keyed, on=rubric.shows, how="left", nulls_equal=True, maintain_order="left"
        )
        found.append(joined.select("content_hash", *UNIT))
    units = pl.concat(found)
    per_content = asking.repeats * len(asking.orders)
    counts = Counts(units.height, len(seen), len(seen) * per_content, tokens)
    return _asked(units, asking), counts


def _write(file: IO[bytes], parts: Mapping[str, Any], hashed: str, asking: Asking) -> int:
    """Write all requests about one content, and return their tokens."""
    tokens = 0
    for swapped in asking.orders:
        prompt = prompt_for(asking.rubric, parts, swapped=swapped)
        tokens += tokens_in(prompt) * asking.repeats
        for repeat in range(asking.repeats):
            custom = custom_id(hashed, repeat, swapped=swapped)
            form = asking.form
            told = request(form.provider, custom, prompt, asking.model, form.max_output, form.body)
            file.write(line_of(told))
    return tokens


def _asked(units: pl.DataFrame, asking: Asking) -> pl.DataFrame:
    """Return one row per request and unit it stands for."""
    ways = pl.DataFrame(
        [
            {"repeat": repeat, "swapped": swapped, "way": way(repeat, swapped=swapped)}
            for swapped in asking.orders
            for repeat in range(asking.repeats)
        ]
    )
    rows = units.join(ways, how="cross", maintain_order="left_right")
    named = rows.with_columns(custom_id=pl.format("j-{}-{}", "content_hash", "way"))
    return sidecar.Requests.conform(named)

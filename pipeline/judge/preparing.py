"""Requests for a judge: which runs or steps, what is shown of them, one request per content."""

from __future__ import annotations

import os
import tempfile
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pipeline.current import policy_of
from pipeline.errors import InputError
from pipeline.judge import sidecar
from pipeline.judge.content import parts_of
from pipeline.judge.prompt import prompt_for, prompt_hash
from pipeline.judge.requests import (
    ESTIMATE,
    MAX_OUTPUT,
    MODELS,
    Provider,
    content_hash,
    custom_id,
    line_of,
    request,
    tokens_in,
)
from pipeline.judge.rubric import Rubric, load
from pipeline.judge.units import in_parts, sampled, units_of
from pipeline.landed import opened
from pipeline.tables.result import Result
from pipeline.workbench import session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipeline.lake import Lake

MAX_CHARS = 24_000
"""Characters of one part that a judge sees."""


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


def prepare(
    lake: Lake | str | os.PathLike[str],
    rubric: str | os.PathLike[str] | Rubric,
    out: str | os.PathLike[str],
    *,
    where: str | None = None,
    sample: int | None = None,
    seed: int = 0,
    repeats: int = 1,
    swap: bool = False,
    form: Form | None = None,
) -> Result:
    """Write requests for a model judge as a batch file: one line per request.

    Runs or steps whose content is equal share one request, whose answer will count for all of
    them. The lake keeps what each request stands for, so that `land` needs the answers only.
    Secrets are masked, and logged text is marked as data (see `delimit`). The same lake, rubric
    and arguments give the same bytes.

    Args:
        lake: the lake, or its path.
        rubric: a rubric, its file, or `preset:NAME`.
        out: the file to write.
        where: SQL over the columns of runs, which may ask the other views in a subquery.
        sample: ask about so many runs or steps, drawn without replacement; None is all.
        seed: of the sample.
        repeats: ask each question so many times.
        swap: ask in both orders of the rubric's pair.
        form: whose batch-file format, who is asked, and how much may be read and written.

    Returns:
        One row: what was asked about, requests, and the tokens they are estimated to take.

    Raises:
        InputError: a number below 1, `swap` without a pair, no run matches, or nothing of what
            was picked has the parts the rubric needs.
        QueryError: DuckDB refuses `where`.
        UnknownNameError, SourceNotFoundError: no such rubric.
    """
    rubric = rubric if isinstance(rubric, Rubric) else load(rubric)
    form = form or Form()
    _refuse(rubric, form, swap=swap, sample=sample, repeats=repeats)
    model = form.model or MODELS[form.provider]
    orders = (False, True) if swap else (False,)
    asking = Asking(rubric, form, model, prompt_hash(rubric), orders, repeats)
    lake = opened(lake)
    with closing(session(lake, policy_of(lake))) as con:
        units = units_of(con, rubric, where)
        chosen = sampled(units, sample, seed)
        texts = (
            parts_of(*part, rubric.shows, form.max_chars)
            for part in in_parts(con, chosen)
        )  # fmt: skip
        with _replacing(Path(out)) as file:
            rows, counts = _written(file, texts, asking)
            if rows.is_empty():
                raise InputError(_nothing(rubric, units.height, chosen.height))
            facts = _facts(asking, counts)
            name = sidecar.keep(lake, rows, rubric, facts)
    row = {
        "requests": counts.requests,
        "n_units": units.height,
        "n_sampled": chosen.height,
        "n_asked": counts.asked,
        "n_contents": counts.contents,
        "tokens_in": counts.tokens_in,
        "tokens_out_max": counts.requests * form.max_output,
        "rubric": rubric.name,
        "rubric_hash": rubric.hash,
        "prompt_hash": asking.prompt_hash,
        "model": asking.model,
        "request_set": name,
    }
    return Result("judge_prepare", pl.DataFrame([row]), _notes(rubric, chosen.height, counts))


class _Counts(NamedTuple):
    asked: int
    contents: int
    requests: int
    tokens_in: int


def _written(
    file: IO[bytes], texts: Iterator[pl.DataFrame], asking: Asking
) -> tuple[pl.DataFrame, _Counts]:
    """Write the requests of all units; return what each stands for, and the counts."""
    rubric = asking.rubric
    seen: set[str] = set()
    found = [pl.DataFrame(schema={"content_hash": pl.String, **_units_schema()})]
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
        found.append(joined.select("content_hash", *_units_schema()))
    units = pl.concat(found)
    per_content = asking.repeats * len(asking.orders)
    counts = _Counts(units.height, len(seen), len(seen) * per_content, tokens)
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
            {
                "repeat": repeat,
                "swapped": swapped,
                "end": custom_id("", repeat, swapped=swapped)[2:],
            }
            for swapped in asking.orders
            for repeat in range(asking.repeats)
        ]
    )
    rows = units.join(ways, how="cross", maintain_order="left_right")
    named = rows.with_columns(custom_id=pl.format("j-{}{}", "content_hash", "end"))
    return sidecar.Requests.conform(named)


def _units_schema() -> dict[str, Any]:
    return {"run_key": pl.UInt64, "run_id": pl.String, "step_index": pl.UInt32}


def _facts(asking: Asking, counts: _Counts) -> dict[str, Any]:
    return {
        "provider": asking.form.provider,
        "model": asking.model,
        "prompt_hash": asking.prompt_hash,
        "max_output": asking.form.max_output,
        "requests": counts.requests,
        "tokens_in": counts.tokens_in,
    }


def _notes(rubric: Rubric, n_chosen: int, counts: _Counts) -> list[str]:
    what = "steps" if rubric.level == "step" else "runs"
    notes = [f"estimate: {ESTIMATE}"]
    if counts.asked < n_chosen:
        lacking = " or ".join(rubric.needs)
        notes.append(f"{n_chosen - counts.asked} {what} without {lacking} are not asked about")
    if counts.contents < counts.asked:
        notes.append(f"{counts.asked:,} {what} share {counts.contents:,} contents: asked once each")
    return notes


def _nothing(rubric: Rubric, n_units: int, n_chosen: int) -> str:
    if not n_units:
        return f"nothing to judge: the runs have no step of kind {' or '.join(rubric.kinds)}"
    needs = " and ".join(rubric.needs)
    return f"nothing to judge: rubric {rubric.name} needs {needs}; none of {n_chosen} has them"


def _refuse(rubric: Rubric, form: Form, *, swap: bool, **numbers: int | None) -> None:
    ours = {"max_chars": form.max_chars, "max_output": form.max_output}
    for name, number in {**numbers, **ours}.items():
        if number is not None and number < 1:
            raise InputError(f"{name} {number}: at least 1 is needed")
    if swap and not rubric.pair:
        raise InputError(f"rubric {rubric.name} has no pair, so there is no order to swap")


class _replacing:  # noqa: N801 - used as a function
    """Write a file beside `path`, which takes its place once all is well."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> IO[bytes]:
        if not self.path.parent.is_dir() or self.path.is_dir():
            raise InputError(
                f"{self.path}: cannot write there; name a file in a folder that exists"
            )
        self.file = tempfile.NamedTemporaryFile(
            dir=self.path.parent, prefix=f".{self.path.name}.", delete=False
        )
        return self.file

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.file.close()
        if kind is None:
            os.replace(self.file.name, self.path)  # noqa: PTH105 - names, not paths
        else:
            os.unlink(self.file.name)  # noqa: PTH108 - same

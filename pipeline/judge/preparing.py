"""Requests for a judge: which runs or steps, what is shown of them, one request per content."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from pipeline.arguments import checked
from pipeline.current import policy_of
from pipeline.errors import InputError
from pipeline.judge import sidecar
from pipeline.judge.batch import Asking, Form, written
from pipeline.judge.content import parts_of
from pipeline.judge.prompt import prompt_hash
from pipeline.judge.requests import BATCH_LIMITS, ESTIMATE, MODELS
from pipeline.judge.rubric import Rubric, load
from pipeline.judge.units import in_parts, sampled, units_of
from pipeline.landed import opened
from pipeline.replacing import replacing
from pipeline.tables.result import Result
from pipeline.text import counted
from pipeline.workbench import session

if TYPE_CHECKING:
    import os

    from pipeline.judge.batch import Counts
    from pipeline.lake import Lake


@checked
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
        with replacing(Path(out)) as file:
            rows, counts = written(file, texts, asking)
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
    notes = _notes(rubric, chosen.height, counts)
    return Result(
        "judge_prepare", pl.DataFrame([row]), [*notes, *_too_much(Path(out), form, counts)]
    )


def _facts(asking: Asking, counts: Counts) -> dict[str, Any]:
    return {
        "provider": asking.form.provider,
        "model": asking.model,
        "prompt_hash": asking.prompt_hash,
        "max_output": asking.form.max_output,
        "requests": counts.requests,
        "tokens_in": counts.tokens_in,
    }


def _notes(rubric: Rubric, n_chosen: int, counts: Counts) -> list[str]:
    what = "step" if rubric.level == "step" else "run"
    notes = [f"estimate: {ESTIMATE}"]
    if counts.asked < n_chosen:
        lacking = " or ".join(rubric.needs)
        notes.append(f"not asked about: {counted(n_chosen - counts.asked, what)} without {lacking}")
    if counts.contents < counts.asked:
        contents = counted(counts.contents, "content")
        notes.append(f"{counted(counts.asked, what)} share {contents}: asked once each")
    return notes


def _too_much(out: Path, form: Form, counts: Counts) -> list[str]:
    """Return a note where a service does not take so much in one batch."""
    requests, size = BATCH_LIMITS[form.provider]
    if counts.requests <= requests and out.stat().st_size <= size:
        return []
    told = f"{form.provider} takes {requests:,} requests and {size:,} bytes in one batch"
    return [f"{told}: split {out} at line ends, and land all answers together"]


def _nothing(rubric: Rubric, n_units: int, n_chosen: int) -> str:
    if not n_units:
        return f"nothing to judge: the runs have no step of kind {' or '.join(rubric.kinds)}"
    needs = " and ".join(rubric.needs)
    return f"nothing to judge: rubric {rubric.name} needs {needs}; none of {n_chosen} has them"


def _refuse(rubric: Rubric, form: Form, *, swap: bool, **numbers: int | None) -> None:
    try:
        msgspec.json.encode([form.model, dict(form.body)])
    except (TypeError, ValueError) as error:  # ValueError: a text that UTF-8 cannot spell
        raise InputError(f"model and body must be what JSON can say, in UTF-8: {error}") from error
    ours = {"max_chars": form.max_chars, "max_output": form.max_output}
    for name, number in {**numbers, **ours}.items():
        if number is not None and number < 1:
            raise InputError(f"{name} {number}: at least 1 is needed")
    if swap and not rubric.pair:
        raise InputError(f"rubric {rubric.name} has no pair, so there is no order to swap")

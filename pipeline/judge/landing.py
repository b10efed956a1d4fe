"""Answers into the lake: parsed by the rubric they were asked under, for all runs they count for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl
from xxhash import xxh3_128_hexdigest

from pipeline.arguments import checked
from pipeline.errors import InputError
from pipeline.judge import sidecar
from pipeline.judge.answers import LINE_FAULTS, Fault, Response, read
from pipeline.judge.consistent import figures
from pipeline.judge.parse import PARSER_VERSION, Parsed, parse
from pipeline.lake import Decision, Draft
from pipeline.landed import opened
from pipeline.redact import redact
from pipeline.schema import Judgments
from pipeline.several import several
from pipeline.tables.result import Result
from pipeline.text import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from pipeline.judge.rubric import Rubric
    from pipeline.lake import Lake

FOLDER = "judgments"
FEW = 5


class _Read(NamedTuple):
    """What files of responses hold: per request its answer, and the lines that cannot land."""

    responses: dict[str, Response]
    repeated: int
    faults: list[Fault]


@checked
def land(
    responses: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    lake: Lake | str | os.PathLike[str],
) -> Result:
    """Land the answers of a model judge as scores.

    An answer that cannot be read strictly is a judgment without a score, with its reason
    (`parse.NULL_REASONS`). Lines that are no response, or answer no request of this lake, are
    counted in the notes and do not stop the others. Of several answers to one request the last
    counts, and one always over a failure. Landing the same answers again changes nothing; answers
    landed later replace earlier ones of the same question.

    Args:
        responses: files as the batch services return them (error files too), or from `judge.run`.
        lake: the lake, or its path, in which the requests were prepared.

    Returns:
        One row per rubric; `tables` holds why scores are null, and the consistency of this landing.

    Raises:
        SourceNotFoundError: a file does not exist.
        InputError: no line of any file answers a request of the lake.
    """
    lake = opened(lake)
    found = _read(several(responses))
    rows, rubrics = sidecar.find(lake, pl.Series(list(found.responses), dtype=pl.String))
    known = set(rows["custom_id"])
    unknown = [custom for custom in found.responses if custom not in known]
    if rows.is_empty():
        raise InputError(_nothing(found, lake))
    answers = _parsed(found.responses, rows, rubrics)
    judged = Judgments.conform(
        rows.drop("model").join(answers, on="custom_id", maintain_order="left")
    )
    name, already = _commit(lake, judged, rubrics)
    notes = [*_notes(found, unknown), f"{'already in' if already else 'landed as'} {FOLDER}/{name}"]
    nulls = (
        answers.filter(pl.col("score").is_null())
        .group_by("rubric", "null_reason")
        .agg(n_answers=pl.len())
        .sort("rubric", "null_reason")
    )
    tables = {"null_reasons": nulls, "consistency": figures(judged)}
    return Result("judge_land", _summary(judged), notes, tables)


def _read(paths: Iterable[str | os.PathLike[str]]) -> _Read:
    found: dict[str, Response] = {}
    faults = []
    repeated = 0
    for path in paths:
        for number, told in read(path):
            if isinstance(told, str):
                faults.append(Fault(str(path), number, told))
                continue
            earlier = found.get(told.custom_id)
            repeated += earlier is not None
            if earlier is None or told.answered or not earlier.answered:
                found[told.custom_id] = told
    return _Read(found, repeated, faults)


def _parsed(
    responses: dict[str, Response], rows: pl.DataFrame, rubrics: dict[str, Rubric]
) -> pl.DataFrame:
    """Return one row per answered request of the lake: its score, or the reason of none."""
    requests = rows.select("custom_id", "rubric_hash", asked="model").unique(
        "custom_id", keep="first", maintain_order=True
    )
    found = []
    for custom, hashed, asked in requests.rows():  # distinct requests
        response, rubric = responses[custom], rubrics[hashed]
        parsed = (
            Parsed(None, response.null_reason)
            if response.text is None
            else parse(response.text, rubric.answer)
        )
        found.append(_row(response, parsed, rubric.name, asked))
    schema = {n: c.dtype for n, c in Judgments.columns.items() if n in _ANSWER}
    return pl.DataFrame(found, schema={n: schema[n] for n in _ANSWER}, orient="row")


_ANSWER = (
    "custom_id", "rubric", "score", "null_reason", "explanation", "model", "input_tokens",
    "output_tokens",
)  # fmt: skip


def _row(response: Response, parsed: Parsed, rubric: str, asked: str) -> tuple[Any, ...]:
    told = parsed.explanation
    # A judge may repeat what a log says; half of a surrogate pair has no bytes.
    explanation = told and redact(told.encode("utf-8", "replace").decode())
    return (
        response.custom_id, rubric, parsed.score, parsed.null_reason, explanation,
        response.model or asked, response.input_tokens, response.output_tokens,
    )  # fmt: skip


def _commit(lake: Lake, judged: pl.DataFrame, rubrics: dict[str, Rubric]) -> tuple[str, bool]:
    """Commit judgments under the name of their content; return it, and whether it was there."""
    ordered = judged.sort("rubric", "run_key", "step_index", "custom_id", nulls_last=False)
    content = ordered.write_csv().encode()
    name = "j-" + xxh3_128_hexdigest(b"%d\0" % PARSER_VERSION + content)[:24]

    def decide() -> Decision[tuple[str, bool]]:
        if lake.has(f"{FOLDER}/{name}"):
            return Decision([], (name, True))
        manifest = {
            "name": name,
            "sequence": 1 + max((f.manifest["sequence"] for f in lake.folders(FOLDER)), default=-1),
            "rubrics": {h: msgspec.to_builtins(rubric) for h, rubric in sorted(rubrics.items())},
        }
        return Decision(
            [Draft(f"{FOLDER}/{name}", {"judgments": ordered}, manifest)], (name, False)
        )

    return lake.publish(decide)


def _added(tokens: str) -> pl.Expr:
    """Add counts up; null where the sum needs more than 64 bits."""
    return pl.col(tokens).cast(pl.Int128).sum().cast(pl.Int64, strict=False)


def _summary(judged: pl.DataFrame) -> pl.DataFrame:
    """Return per rubric: answers, those with a score, and the runs and steps they count for."""
    distinct = judged.unique("custom_id", maintain_order=True)
    asked = distinct.group_by("rubric", "rubric_hash", "model").agg(
        n_answers=pl.len(),
        n_scored=pl.col("score").count(),
        n_null=pl.col("score").null_count(),
        mean=pl.col("score").sort().mean(),
        input_tokens=_added("input_tokens"),
        output_tokens=_added("output_tokens"),
    )
    covered = judged.group_by("rubric", "rubric_hash", "model").agg(
        n_runs=pl.col("run_key").n_unique(),
        n_judged=pl.struct("run_key", "step_index").n_unique(),
    )
    return asked.join(covered, on=["rubric", "rubric_hash", "model"], nulls_equal=True).sort(
        "rubric", "rubric_hash", "model"
    )


def _notes(found: _Read, unknown: list[str]) -> list[str]:
    notes = []
    faults = Counter(fault.fault for fault in found.faults)
    for fault, count in sorted(faults.items()):
        places = [f"{f.path}:{f.line}" for f in found.faults if f.fault == fault][:FEW]
        notes.append(
            f"{counted(count, 'line')} left out, {LINE_FAULTS[fault]}: {', '.join(places)}"
        )
    if unknown:
        named = ", ".join(map(repr, unknown[:FEW]))
        notes.append(
            f"{counted(len(unknown), 'response')} left out, "
            f"{LINE_FAULTS['unknown_request']}: {named}"
        )
    if found.repeated:
        again = counted(found.repeated, "answer")
        notes.append(
            f"{again} to a request that has one already: the last that is no failure counts"
        )
    return notes


def _nothing(found: _Read, lake: Lake) -> str:
    if not found.responses:
        return f"no line is a response; {counted(len(found.faults), 'line')} of something else or damaged"
    return (
        f"none of {counted(len(found.responses), 'response')} answers a request of {lake.path}; requests are "
        "known to the lake they were prepared from: `trajtab judge prepare`"
    )

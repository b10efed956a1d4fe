"""One run and the calls expected of it, read as scoring reads them."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pipeline.current import score_name, tasks_of
from pipeline.errors import InputError
from pipeline.lake import KEY_ROWS, run_key_base
from pipeline.report.run.reasons import Arguments
from pipeline.report.run.unit import ActualCall, ExpectedCall, Unit, unit
from pipeline.scoring import score_batch
from pipeline.scoring.arguments import keys
from pipeline.scoring.batch import only_actors, with_references
from pipeline.scoring.matching import references, special
from pipeline.scoring.matching.special import Made, Wanted
from pipeline.scoring.matching.units import units
from pipeline.tasks import TaskFolders

if TYPE_CHECKING:
    from pipeline.lake import Folder, Lake
    from pipeline.policy import Policy


class Sides(NamedTuple):
    """A run, its scores, and both sides of the comparison; no unit where there is no reference."""

    scores: dict[str, Any]
    stored: bool
    """Do the scores come from the lake? Else they were made for this alone."""
    alternatives: int
    units: list[Unit]


def sides(lake: Lake, run_key: int, policy: Policy) -> Sides:
    """Read one run and the alternative of its reference that its scores use."""
    batch = _batch_of(lake, run_key)
    mine = pl.col("run_key") == run_key
    known = TaskFolders.of(lake)
    tasks = tasks_of(batch, known.latest)
    scores, stored = _scores(lake, known, batch, tasks, policy, mine)
    runs = with_references(
        pl.scan_parquet(batch.file("runs"), glob=False).filter(mine).collect(), tasks
    )
    told = references.read(known, runs["reference_set"].drop_nulls(), texts=True)
    if told.is_empty():
        return Sides(scores, stored, 0, [])
    landed = pl.scan_parquet(batch.file("steps"), glob=False).filter(mine)
    steps = only_actors(landed.collect(), policy)
    compared = _compared(runs, steps, told, policy, scores["reference_id"])
    return Sides(scores, stored, told["reference_id"].n_unique(), compared)


def _batch_of(lake: Lake, run_key: int) -> Folder:
    base = run_key >> KEY_ROWS << KEY_ROWS
    for batch in lake.batches():
        if run_key_base(batch.name) == base:
            return batch
    raise InputError(f"{lake.path}: the batch of run_key {run_key} is gone; run the command again")


def _scores(
    lake: Lake,
    known: TaskFolders,
    batch: Folder,
    tasks: pl.DataFrame,
    policy: Policy,
    mine: pl.Expr,
) -> tuple[dict[str, Any], bool]:
    """Return the run's scores, made on the spot where the lake has none that count."""
    folder = f"scores/p-{policy.hash}/{score_name(batch, policy, tasks)}"
    stored = lake.has(folder)
    if stored:
        file = lake.folder(folder).file("scores")
        table = pl.scan_parquet(file, glob=False).filter(mine).collect()
    else:
        table = score_batch(known, batch, tasks, policy).scores.filter(mine)
    return table.row(0, named=True), stored


def _compared(
    runs: pl.DataFrame, steps: pl.DataFrame, told: pl.DataFrame, policy: Policy, reference_id: int
) -> list[Unit]:
    match = policy.match
    # Lists of arguments that the policy does not heed stay out, as where scoring reads references.
    rows = told if keys.needs_text(match) else told.drop("compare_args")
    keyed = keys.apply(match, steps, rows, _as_file(steps))
    expected = references.arrange(keyed.references, by_turn=match.unit == "turn")
    whole = units(runs, keyed.steps, expected, policy)
    fits = special.by_arguments(keyed.lexicon)
    texts = keyed.steps.filter(kind="tool_call").select(
        "step_index", "tool_name", "tool_args", "args_status"
    )
    made = pl.concat([whole.calls, texts[whole.calls["call"].to_list()]], how="horizontal")
    return [
        unit(
            pair["turn"] if match.unit == "turn" else None,
            [_expected(row, policy) for row in expected.calls.filter(ref=pair["ref"]).to_dicts()],
            [_actual(row) for row in made.filter(pair=pair["pair"]).to_dicts()],
            fits,
            # Names are equal by key, any arguments or not.
            relation=pair["relation"] and (match.args != "names" or bool(match.tools)),
            free=match.parallel == "unordered",
        )
        for pair in whole.frame.filter(reference_id=reference_id).to_dicts()
    ]


def _as_file(steps: pl.DataFrame) -> bytes:
    """Return the run's steps as the file that keys are made from: no other run's are read again."""
    buffer = BytesIO()
    steps.write_parquet(buffer)
    return buffer.getvalue()


def _expected(row: dict[str, Any], policy: Policy) -> ExpectedCall:
    listed = row.get("compare_args") if policy.match.compare_args else None
    compared = None if listed is None else tuple(listed)
    wanted = Wanted(row["key"], row["name_key"], row["args_status"], row["optional"], compared)
    arguments = Arguments(row["tool_args"], row["args_status"])
    return ExpectedCall(row["origin"], row["tool_name"], arguments, wanted)


def _actual(row: dict[str, Any]) -> ActualCall:
    arguments = Arguments(row["tool_args"], row["args_status"])
    made = Made(row["key"], row["name_key"])
    return ActualCall(row["step_index"], row["response_index"], row["tool_name"], arguments, made)

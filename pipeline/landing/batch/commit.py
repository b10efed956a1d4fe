"""A staged batch into the lake: tasks first, then runs, decided and committed as one step."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from xxhash import xxh3_128_hexdigest

from pipeline.errors import RejectedError
from pipeline.lake import Decision, Draft, run_key_base
from pipeline.landing.again.identity import Resolution, repeated
from pipeline.landing.again.trace_merge import spliced
from pipeline.schema import UTC_MICROS, References, Rejects, Runs, Steps, Tasks

if TYPE_CHECKING:
    from pipeline.lake import Folder
    from pipeline.landing.again.known import Known
    from pipeline.landing.batch.stage import Staged
    from pipeline.landing.options import Options


class Outcome(NamedTuple):
    """What became of one staged batch."""

    name: str
    runs: int
    steps: int
    calls: int
    errors: int
    rejects: dict[str, int]
    duplicates: int
    replaced: int
    unresolved: dict[str, int]
    tasks: int
    unmapped: dict[str, dict[str, int]]
    already: bool = False


def landed_before(known: Known, name: str, options: Options) -> Outcome:
    """Return what becomes of a batch that is known, under whichever name: nothing.

    Its runs had landed before.

    Raises:
        RejectedError: `options.strict`, and it had landed without some record; names the first.
    """
    batch = known.lake.folder(f"batches/{known.name_for(name)}")
    refuse_rejects(batch, options)
    again = batch.rows("runs") + int(batch.manifest["duplicates"])
    return Outcome(name, 0, 0, 0, 0, {}, again, 0, {}, 0, {}, already=True)


def refuse_rejects(landed: Folder, options: Options) -> None:
    """Refuse, if `options.strict`, what had landed without some record.

    Raises:
        RejectedError: it had; names the first.
    """
    if options.strict and landed.rows("rejects"):
        first = pl.read_parquet(landed.file("rejects"), glob=False).row(0, named=True)
        place = f"{first['source_path']}:{first['line']}"
        raise RejectedError(f"{place}: {first['reason']}: {first['detail']}")


def commit(known: Known, staged: Staged, options: Options) -> Outcome:
    """Commit what of `staged` is new, and say what it was."""
    now = datetime.now(UTC)
    return known.lake.publish(lambda: _decided(known, staged, options, now))


def _decided(known: Known, staged: Staged, options: Options, now: datetime) -> Decision[Outcome]:
    """Decide what of `staged` is new to the lake as it is."""
    known.refresh()
    staged = replace(staged, name=known.name_for(staged.name))
    of_tasks = _new_tasks(known, staged)
    new_tasks = of_tasks.tables["tasks"].height if of_tasks else 0
    drafts = [of_tasks] if of_tasks else []
    if known.lake.has(f"batches/{staged.name}"):
        before = landed_before(known, staged.name, options)
        return Decision(drafts, before._replace(tasks=new_tasks))
    found = repeated(known, staged.runs, staged.steps)
    runs, steps = spliced(staged.runs, staged.steps, found.merged)
    runs, steps = _without(runs, steps, found.dropped)
    runs, steps = _keyed(staged.name, runs, steps, now)
    tables = {"runs": runs, "steps": steps}
    if staged.rejects.height:
        tables["rejects"] = Rejects.conform(staged.rejects)
    manifest = _manifest(staged, runs, steps, found, options)
    drafts.append(Draft(f"batches/{staged.name}", tables, manifest))
    return Decision(drafts, _outcome(staged, runs, steps, found, new_tasks))


def _without(
    runs: pl.DataFrame, steps: pl.DataFrame, dropped: set[int]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    if not dropped:
        return runs, steps
    stays = ~pl.Series(range(runs.height), dtype=pl.Int64).is_in(list(dropped))
    owner = stays.to_frame("stays").select(pl.col("stays").repeat_by(runs["n_rows"]).explode())
    return runs.filter(stays), steps.filter(owner.to_series())


def _keyed(
    batch: str, runs: pl.DataFrame, steps: pl.DataFrame, now: datetime
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add run_key and landed_at, and give both tables their declared columns."""
    base = run_key_base(batch)
    keys = pl.int_range(runs.height, dtype=pl.UInt64, eager=True) + base
    landed_at = pl.lit(now, dtype=UTC_MICROS).alias("landed_at")
    runs = runs.with_columns(keys.alias("run_key"), landed_at)
    owner = runs.select(pl.col("run_key").repeat_by("n_rows").explode()).drop_nulls()
    steps = steps.with_columns(owner.to_series())
    return Runs.conform(runs), Steps.conform(steps)


def _manifest(
    staged: Staged, runs: pl.DataFrame, steps: pl.DataFrame, found: Resolution, options: Options
) -> dict[str, Any]:
    times = runs.select(
        pl.col("started_at").min().alias("low"), pl.col("started_at").max().alias("high")
    )
    low, high = times.row(0)
    return {
        "name": staged.name,
        "formats": staged.formats,
        "sources": staged.sources,
        "set": options.labels,
        "suite": options.suite,
        "started_at": [low, high],
        "columns": {name: _filled(table) for name, table in (("runs", runs), ("steps", steps))},
        "reasons": _counts(staged.rejects),
        "unmapped": staged.unmapped,
        "duplicates": len(found.dropped),
        "replaces": found.replaces,
        "unresolved": found.unresolved,
        "tasks": staged.tasks.height,
    }


def _filled(table: pl.DataFrame) -> list[str]:
    """Return the columns that hold any value."""
    return [name for name in table.columns if table[name].null_count() < table.height]


def _counts(rejects: pl.DataFrame) -> dict[str, int]:
    counted = rejects.group_by("reason").len().sort("reason")
    return dict(zip(counted["reason"].to_list(), counted["len"].to_list(), strict=True))


def _outcome(
    staged: Staged, runs: pl.DataFrame, steps: pl.DataFrame, found: Resolution, tasks: int
) -> Outcome:
    is_call = steps["kind"] == "tool_call"
    return Outcome(
        name=staged.name,
        runs=runs.height,
        steps=steps.height,
        calls=int(is_call.sum()),
        errors=int((is_call & steps["is_error"]).sum()),
        rejects=_counts(staged.rejects),
        duplicates=len(found.dropped),
        replaced=len(found.replaces),
        unresolved=found.unresolved,
        tasks=tasks,
        unmapped=staged.unmapped,
    )


def _completed(tasks: pl.DataFrame, latest: pl.DataFrame) -> pl.DataFrame:
    """Fill in what a mere mention of a task leaves out from what is known of it."""
    keys = ["suite", "task_id"]
    rest = [name for name in Tasks.names() if name not in keys]
    joined = tasks.join(
        latest, on=keys, how="left", nulls_equal=True, suffix="_known", maintain_order="left"
    )
    return Tasks.conform(
        joined.with_columns(
            pl.when("mention").then(pl.coalesce(name, f"{name}_known")).otherwise(name).alias(name)
            for name in rest
        )
    )


def _new_tasks(known: Known, staged: Staged) -> Draft | None:
    """Return the folder of the task rows and reference sets that are news, if any are."""
    latest = known.latest
    tasks = _completed(staged.tasks, latest).unique(
        ["suite", "task_id"], keep="last", maintain_order=True
    )
    tasks = tasks.join(
        latest, on=Tasks.names(), how="anti", nulls_equal=True, maintain_order="left"
    )
    references = References.conform(staged.references).filter(
        ~pl.col("reference_set").is_in(known.reference_sets.implode())
    )
    if not tasks.height and not references.height:
        return None
    tables = {"tasks": tasks, "references": references}
    tools = staged.tools.join(
        tasks, on=["suite", "task_id"], how="semi", nulls_equal=True, maintain_order="left"
    )
    if tools.height:
        tables["tools"] = tools
    # A reference set's name tells its content.
    sets = references["reference_set"].unique(maintain_order=True).to_list()
    told = repr((known.sequence, tasks.rows(), tools.rows(), sets))
    name = "t-" + xxh3_128_hexdigest(told.encode())[:24]
    return Draft(f"tasks/{name}", tables, {"name": name, "sequence": known.sequence})

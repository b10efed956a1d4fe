"""The backtrack detector against what people marked, and which settings would have done best."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import polars as pl

from pipeline.metrics.ratio import ratio
from pipeline.policy import Scores
from pipeline.scoring.arguments import keys
from pipeline.scoring.batch import only_actors, step_columns
from pipeline.scoring.matching import references
from pipeline.scoring.path.calls import laid_out
from pipeline.scoring.path.equals import Equal
from pipeline.scoring.path.repeats import repeats
from pipeline.scoring.segments import Segments
from pipeline.tasks import TaskFolders
from pipeline.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.annotation.words import Words
    from pipeline.lake import Folder, Lake
    from pipeline.policy import Policy

WINDOWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
SIMILARITIES = (None, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6)
SCHEMA = {"window": pl.Int64, "similarity": pl.Float64}

_STEP = ["run_key", "step_index"]


class Setting(NamedTuple):
    """What the sweep varies of `[backtracking]`; without a similarity only equal calls count."""

    window: int
    similarity: float | None


class Truth(NamedTuple):
    """What people say of steps."""

    steps: pl.DataFrame
    """run_key, step_index, kind and `marked` of the steps that most annotators agree on."""
    tied: int
    """Steps that as many marked as did not: left out."""


def truth(words: Words) -> Truth:
    """Return which decision steps are backtracks by the word of most annotators who judged them."""
    votes = (
        words.marks("backtrack_steps")
        .group_by([*_STEP, "kind"], maintain_order=True)
        .agg(pl.col("marked").sum().alias("yes"), pl.len().alias("all"))
    )
    twice = pl.col("yes") * 2
    decided = votes.filter(twice != pl.col("all"))
    marked = decided.select(*_STEP, "kind", (twice > pl.col("all")).alias("marked"))
    return Truth(marked, votes.height - decided.height)


def settings(policy: Policy) -> list[Setting]:
    """Return what is swept over: the policy's own setting first; without rapidfuzz no similarity."""
    own = policy.backtracking
    alike = SIMILARITIES if find_spec("rapidfuzz") else (None,)
    swept = [Setting(*pair) for pair in product(WINDOWS, alike)]
    return list(dict.fromkeys([Setting(own.window, own.similarity), *swept]))


def detected(lake: Lake, policy: Policy, told: Truth, swept: Sequence[Setting]) -> pl.DataFrame:
    """Return how well each setting finds the backtracks that people marked, one row each.

    Over the decided steps of judged runs all of whose calls were captured: `n_marked` by people,
    `n_flagged` by the detector, `n_both`; precision = n_both / n_flagged, recall = n_both /
    n_marked, f1 = 2·n_both / (n_flagged + n_marked); null where nothing is divided by.
    """
    run_keys = told.steps["run_key"].unique()
    counted: list[pl.DataFrame] = []
    for batch in lake.batches():
        part = _of_batch(batch, run_keys, policy)
        if part is None:
            continue
        for number, setting in enumerate(swept):
            flags = part.flags(setting)
            joined = told.steps.join(flags, on=_STEP, how="left").filter(
                pl.col("run_key").is_in(flags["run_key"].unique().implode())
            )
            counted.append(_counts(joined).with_columns(pl.lit(number).alias("number")))
    return _divided(counted, swept)


class _Part(NamedTuple):
    """The judged runs of one batch that can be judged: all of their calls were captured."""

    steps: pl.DataFrame
    """run_key and step_index of every step."""
    calls: pl.DataFrame
    """run_key and step_index of every call."""
    equal: Equal
    """The calls, laid out as scoring does, and which of them are equal."""
    policy: Policy

    def flags(self, setting: Setting) -> pl.DataFrame:
        """Return run_key, step_index and `flagged` of each step."""
        back = msgspec.structs.replace(self.policy.backtracking, **setting._asdict())
        found = repeats(self.equal, back).marks["is_backtrack"].alias("flagged")
        calls = self.calls.with_columns(found)
        return self.steps.join(calls, on=_STEP, how="left").with_columns(
            pl.col("flagged").fill_null(value=False)
        )


def _of_batch(batch: Folder, run_keys: pl.Series, policy: Policy) -> _Part | None:
    if not batch.rows("runs"):
        return None
    judged = pl.col("run_key").is_in(run_keys.implode())
    near = msgspec.structs.replace(policy.backtracking, similarity=1.0)  # it reads texts too
    # Calls are looked at one by one, whatever the policy has scored.
    columns = step_columns(msgspec.structs.replace(policy, backtracking=near, scores=Scores()))
    steps = (
        pl.scan_parquet(batch.file("steps"), glob=False)
        .filter(judged)
        .select(sorted({*columns, "run_key"}))
        .collect()
    )
    if steps.is_empty():
        return None
    no_reference = pl.Series("reference_set", [], dtype=pl.String)
    told = references.read(TaskFolders([]), no_reference, texts=keys.needs_text(policy.match))
    keyed = keys.apply(policy.match, only_actors(steps, policy), told, batch.file("steps"))
    hidden = (pl.col("kind") == "tool_call") & pl.col("call_key").is_null()
    steps = keyed.steps.filter(~hidden.any().over("run_key"))
    lengths = steps.group_by("run_key", maintain_order=True).len()
    is_call = steps["kind"] == "tool_call"
    made = Segments(Segments(lengths["len"]).totals(is_call))
    calls = laid_out(steps, is_call, made, policy.errors)
    named = calls.select(lengths["run_key"].gather(calls["run"]), "step_index")
    return _Part(steps.select(*_STEP), named, Equal.of(calls, "call_key"), policy)


def _counts(joined: pl.DataFrame) -> pl.DataFrame:
    marked, flagged = pl.col("marked"), pl.col("flagged")
    return joined.select(
        n_runs=pl.col("run_key").n_unique(),
        n_steps=pl.len(),
        n_marked=marked.sum(),
        n_flagged=flagged.sum(),
        n_both=(marked & flagged).sum(),
    ).cast(pl.Int64)


def _divided(counted: list[pl.DataFrame], swept: Sequence[Setting]) -> pl.DataFrame:
    names = ("n_runs", "n_steps", "n_marked", "n_flagged", "n_both")
    empty = pl.DataFrame(schema={**dict.fromkeys(names, pl.Int64), "number": pl.Int32})
    sums = pl.concat([empty, *counted]).group_by("number").sum()
    rows = pl.DataFrame(list(swept), schema=SCHEMA, orient="row").with_row_index("number")
    both, flagged, marked = (pl.col(name) for name in ("n_both", "n_flagged", "n_marked"))
    return (
        rows.cast({"number": pl.Int32})
        .join(sums, on="number", how="left", maintain_order="left")
        .with_columns(pl.col(names).fill_null(0))
        .with_columns(
            ratio(both, flagged).alias("precision"),
            ratio(both, marked).alias("recall"),
            ratio(2 * both, flagged + marked).alias("f1"),
        )
        .drop("number")
    )


def recommended(sweep: pl.DataFrame) -> Setting | None:
    """Return the setting with the highest F1; None where none found a backtrack that people marked.

    Of equal ones: the policy's own (the first), then equal calls only, then the greater
    similarity, then the shorter window.
    """
    found = sweep.with_row_index("row").filter(pl.col("n_both") > 0)
    if found.is_empty():
        return None
    best = found.sort(
        pl.col("f1"), pl.col("row") == 0, pl.col("similarity").fill_null(2.0), -pl.col("window"),
        descending=True,
    )  # fmt: skip
    return Setting(best["window"][0], best["similarity"][0])


def spelled(setting: Setting) -> str:
    """Return a setting as the policy file says it."""
    alike = "" if setting.similarity is None else f", similarity = {setting.similarity:g}"
    return f"[backtracking] window = {setting.window}{alike}"


def notes(told: Truth, sweep: pl.DataFrame, best: Setting | None) -> Iterator[str]:
    """Say what the figures of the detector rest on."""
    own = sweep.row(0, named=True)
    judged = told.steps["run_key"].n_unique()
    if told.tied:
        tied = counted(told.tied, "step")
        yield f"left out: {tied} that as many annotators marked as did not"
    if judged > own["n_runs"]:
        yield f"left out: {counted(judged - own['n_runs'], 'judged run')} with calls not captured"
    never = told.steps.filter(pl.col("marked") & (pl.col("kind") != "tool_call")).height
    if never:
        yield (
            f"marked as backtracks, but no tool calls: {counted(never, 'step')}, which the detector, "
            "looking at calls only, misses"
        )
    if not find_spec("rapidfuzz"):
        yield "no similarity is swept over: rapidfuzz is not installed: `pip install 'trajtab[text]'`"
    if best is None:
        yield "no setting is recommended: none finds a backtrack that people marked"
        return
    f1 = max(value for value in sweep["f1"].to_list() if value is not None)
    yield (
        f"recommended: {spelled(best)} (F1 {f1:.3f}; in use {_told(own['f1'])}), "
        f"chosen on the {counted(own['n_runs'], 'run')} it is measured on"
    )


def _told(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"

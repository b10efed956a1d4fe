"""The records that annotators fill in: a run's names, what it did, and room for what they say."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.duck import fetched
from pipeline.redact import redact
from pipeline.schema import DIMENSIONS
from pipeline.workbench import session

if TYPE_CHECKING:
    from pipeline.lake import Lake
    from pipeline.policy import Policy

LONGEST = 2000
"""Longer texts are cut: `trajtab show` has them whole."""

_TEXTS = ("tool_args", "output", "error", "content")
_STEP = (
    "step_index",
    "kind",
    "actor",
    "tool_name",
    "tool_args",
    "output",
    "is_error",
    "error",
    "content",
)
_RUNS = """
SELECT
    r.run_key, r.run_id, r.task_id, r.agent, r.agent_version, r.model, r.final_output, t.prompt,
    count(*) OVER (PARTITION BY r.run_id) > 1 AS shared
FROM runs AS r
LEFT JOIN tasks AS t
    ON t.task_id = r.task_id AND t.suite IS NOT DISTINCT FROM r.suite
"""
_STEPS = "SELECT run_key, {columns} FROM steps SEMI JOIN picked USING (run_key) ORDER BY run_key, step_index"


def filled_in_later(lake: Lake, policy: Policy, run_keys: pl.Series) -> list[dict[str, Any]]:
    """Return one record per run, in this order. Texts are redacted and cut.

    `step_index` is what `critical_steps` and `backtrack_steps` name. Agent, version and model are
    told only where the run_id alone does not tell the run: who ran should not lead the annotator.
    """
    picked = run_keys.to_frame("run_key")
    own = {"picked": picked}
    with closing(session(lake, policy, own, confined=False, macros=False)) as con:
        runs = fetched(con.sql(f"FROM ({_RUNS}) SEMI JOIN picked USING (run_key)"))
        steps = fetched(con.sql(_STEPS.format(columns=", ".join(_STEP))))
    texts = steps.with_columns(_short(steps[name]) for name in _TEXTS)
    grouped = texts.group_by("run_key", maintain_order=True).agg(pl.struct(_STEP).alias("steps"))
    ordered = picked.join(runs, on="run_key", how="left", maintain_order="left").join(
        grouped, on="run_key", how="left", maintain_order="left"
    )
    shown = ordered.with_columns(_short(ordered[name]) for name in ("prompt", "final_output"))
    return [_record(run) for run in shown.to_dicts()]


def _record(run: dict[str, Any]) -> dict[str, Any]:
    names = ("agent", "agent_version", "model") if run["shared"] else ()
    return {
        "trajectory_id": run["run_id"],
        "task_id": run["task_id"],
        **{name: run[name] for name in names},
        "annotator_id": None,
        "overall_quality": None,
        "dimensions": {name: {"score": None, "note": None} for name in DIMENSIONS},
        # Null is "not judged": an empty list must be somebody's word that there are none.
        "critical_steps": None,
        "backtrack_steps": None,
        "annotation_time_seconds": None,
        "context": {
            "prompt": run["prompt"],
            "final_output": run["final_output"],
            "steps": [_told(step) for step in run["steps"] or ()],
        },
    }


def _told(step: dict[str, Any]) -> dict[str, Any]:
    """Return a step without what it does not say."""
    return {name: value for name, value in step.items() if value is not None}


def _short(texts: pl.Series) -> pl.Series:
    """Mask secrets, then cut: half a key is still a key."""
    distinct = {text: _cut(redact(text)) for text in texts.unique().drop_nulls().to_list()}
    return (
        texts.replace_strict(distinct, return_dtype=pl.String, default=None) if distinct else texts
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"

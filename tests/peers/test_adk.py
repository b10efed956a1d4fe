"""The trajectory scores that ADK eval results record, against preset:adk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import runs_of, scores_of
from peers.page import ADK_SCORES, ADK_STRICT

from pipeline.landing.land import land
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ADK = "preset:adk"
LENIENT = {
    # get_ticket.time is ignored, and order is free
    "12331d": "shanghai_travel_case",
    "dd3529": "travel_alerts",
    # skill_run.command is ignored (fa1c74), or only other arguments are compared (78a343)
    "78a343": "write_ok",
    "fa1c74": "write_ok",
}
"""Files, by how their names end, whose criterion does not compare all arguments; their case."""
AS_THEY_SAY = """
[match]
unit = "turn"

[[match.rule]]
tool = "get_ticket"
arg = "time"
ignore = true

[[match.rule]]
tool = "skill_run"
arg = "command"
ignore = true
"""


@pytest.fixture(scope="module")
def lake(real_data: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Land every eval result; some hold the same session, so each file's runs are labelled."""
    lake = tmp_path_factory.mktemp("adk") / "lake"
    for path in sorted(real_data("adk_evalset_result").iterdir()):
        name = path.name.removesuffix(".evalset_result.json").rpartition("__")[2]
        land([path], lake, labels={"file": name}, workers=1)
    return lake


def _recorded(lake: Path, policy: str, column: str) -> list[dict[str, Any]]:
    """Return the file, the case, what was recorded and ours, where anything was recorded."""
    score(lake, policy=policy)
    joined = runs_of(lake).join(scores_of(lake, policy).select("run_key", column), on="run_key")
    rows = []
    for labels, case, ours in joined.select(pl.col("labels"), "task_id", column).iter_rows():
        told = json.loads(labels)
        theirs = (told.get("recorded_metrics") or {}).get("tool_trajectory_avg_score")
        if theirs is not None:
            rows.append({"file": told["file"], "case": case, "theirs": theirs, "ours": ours})
    return rows


def test_recorded_scores_are_the_mean_of_exact_matches_by_turn(lake: Path) -> None:
    rows = _recorded(lake, ADK, "exact_match_turns")
    strict = [row for row in rows if row["file"] not in LENIENT]
    assert (len(rows), len(strict)) == (ADK_SCORES, ADK_STRICT)
    assert [row for row in strict if row["ours"] != row["theirs"]] == []
    assert {row["theirs"] for row in strict} == {0.0, 1.0}


def test_four_files_whose_criterion_ignores_arguments_agree_once_ours_does(
    lake: Path, tmp_path: Path
) -> None:
    lenient = [row for row in _recorded(lake, ADK, "exact_match_turns") if row["file"] in LENIENT]
    assert {row["file"]: row["case"] for row in lenient} == LENIENT
    assert {(row["theirs"], row["ours"]) for row in lenient} == {(1.0, 0.0)}
    policy = tmp_path / "as_they_say.toml"
    policy.write_text(AS_THEY_SAY)
    rows = _recorded(lake, str(policy), "unordered_match_turns")
    assert {row["ours"] for row in rows if row["file"] in LENIENT} == {1.0}

"""Real log files, landed and scored, against figures that were worked out independently."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import runs_of, scores_of, steps_of

from pipeline.landing.land import land
from pipeline.landing.recognise import recognise
from pipeline.landing.source.named import expand
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Find = Callable[[str], Path]

TAUBENCH = "taubench_v1/gpt-4o-airline.tasks00-24.json"
TAU2 = (
    "tau2_results/gpt-4.1_airline_default_gpt-4.1_1trials.json",
    "tau2_results/gpt-4.1_retail_defautl_gpt-4.1_1trials.json",
    "tau2_results/gpt-4.1_telecom_no-user_gpt-4.1_1trials.json",
)
PERMUTED = "tau2_results/toolorchestra_airline_gpt-5_1trial.json"

FIGURES = {
    "exact_args": "exact_match", "exact_names": "exact_match_names", "f1_args": "f1",
    "f1_names": "f1_names", "in_order_args": "in_order", "in_order_names": "in_order_names",
    "precision_args": "precision", "precision_names": "precision_names", "recall_args": "recall",
    "recall_names": "recall_names",
}  # fmt: skip
SUMS = {
    "sum_n_act": "n_calls",
    "sum_n_exp": "n_expected",
    "sum_tp_args": "tp",
    "sum_tp_names": "tp_names",
}


@pytest.fixture
def landed(tmp_path: Path, real_data: Find) -> Callable[[str], Path]:
    """Land and score one real file, and return its lake."""

    def of(relative: str) -> Path:
        lake = tmp_path / "lake"
        land([real_data(relative)], lake)
        score(lake)
        return lake

    return of


def assert_scores(scores: pl.DataFrame, right: dict[str, Any]) -> None:
    assert scores.height == right["n"]
    for figure, column in FIGURES.items():
        assert scores[column].mean() == pytest.approx(right[figure], abs=1e-12), column
    for figure, column in SUMS.items():
        assert scores[column].sum() == right[figure], column


def assert_counts(lake: Path, right: dict[str, Any]) -> None:
    runs, scores, steps = runs_of(lake), scores_of(lake), steps_of(lake)
    calls = steps.filter(kind="tool_call")
    assert runs.height == right["runs"]
    assert scores["n_calls"].sum() == calls.height == right["tool_calls"]
    assert int(calls["is_error"].sum()) == right["tool_errors"]
    assert calls["tool_name"].n_unique() == right["distinct_tools"]
    assert runs["task_id"].n_unique() == right["distinct_cases"]
    if "success" in right:
        assert int(scores["success"].sum()) == right["success"]
    if "tokens_in" in right:
        assert scores["input_tokens"].sum() == right["tokens_in"]
        assert scores["output_tokens"].sum() == right["tokens_out"]


@pytest.mark.parametrize("relative", [TAUBENCH, *TAU2])
def test_files_whose_tasks_tell_their_references(
    relative: str, landed: Callable[[str], Path], expected_figures: dict[str, Any]
) -> None:
    lake = landed(relative)
    right = expected_figures[relative]
    assert_counts(lake, right)
    scores = scores_of(lake)
    assert_scores(scores, right["scores"]["mean_all_runs"])
    assert_scores(
        scores.filter(pl.col("n_expected") > 0), right["scores"]["mean_nonempty_expected"]
    )


def test_taubench_headline(landed: Callable[[str], Path]) -> None:
    scores = scores_of(landed(TAUBENCH))
    means = {
        name: round(scores[name].mean(), 5)
        for name in ("f1", "f1_names", "in_order", "exact_match")
    }
    assert means == {"f1": 0.15399, "f1_names": 0.24380, "in_order": 0.43717, "exact_match": 0.03}
    assert (scores.height, scores["n_calls"].sum(), scores["n_errors"].sum()) == (100, 621, 63)


def test_a_file_whose_joins_contradict_its_checks_is_never_joined(
    landed: Callable[[str], Path], expected_figures: dict[str, Any]
) -> None:
    lake = landed(PERMUTED)
    right = expected_figures[PERMUTED]
    scores = scores_of(lake)
    checked = right["scores_action_checks"]["mean_all_runs"]
    assert_scores(scores.filter(status="scored"), checked)
    assert scores.filter(status="no_reference").height == right["runs"] - checked["n"]
    assert int(scores["success"].sum()) == right["success"]


def test_a_permuted_file_takes_no_reference_from_another_files_tasks(
    tmp_path: Path, real_data: Find
) -> None:
    lake = tmp_path / "lake"
    land([real_data(TAU2[0]), real_data(PERMUTED)], lake)
    score(lake)
    permuted = scores_of(lake).filter(
        pl.col("model")
        == runs_of(lake).filter(pl.col("source_path").str.contains("toolorchestra"))["model"][0]
    )
    assert Counter(permuted["status"].to_list()) == {"scored": 43, "no_reference": 7}


@pytest.mark.parametrize("folder", ["adk_evalset", "adk_session", "adk_evalset_result"])
def test_adk_calls(
    folder: str, tmp_path: Path, real_data: Find, expected_figures: dict[str, Any]
) -> None:
    """Their figures count each invocation as a run; ours is the case, so calls are compared."""
    for path in sorted(real_data(folder).iterdir()):
        right = expected_figures[f"{folder}/{path.name}"]
        lake = tmp_path / path.name
        report = land([path], lake)
        assert report.rejects == {}
        assert report.calls == right["tool_calls"], path.name
        assert report.errors == right["tool_errors"], path.name
        if "scores" in right:
            score(lake)
            table = scores_of(lake).filter(pl.col("run_status") != "error")
            overall = right["scores"]["mean_all_runs"]
            assert table["n_expected"].sum() == overall["sum_n_exp"], path.name
            assert table["n_calls"].sum() == overall["sum_n_act"], path.name


OTHER_NAMES = {
    "bfcl_possible_answer": "bfcl_answers", "claude_code_jsonl": "claude_code",
    "codex_exec_json_stream": "codex_exec", "codex_rollout_jsonl": "codex_rollout",
    "gemini_cli_json": "gemini_cli", "harbor_traces": "atif", "inspect_eval": "inspect_log",
    "inspect_json": "inspect_log", "langfuse_trace": "langfuse", "mini_swe_traj": "mini_swe_agent",
    "openhands_output_jsonl": "openhands_output", "otel_jaeger_genai": "jaeger",
    "otel_otlp_json": "otlp", "otel_span_attrs": "span_attributes", "simulations": "tau2_directory",
    "swe_agent_traj": "swe_agent", "tau2_fork_es": "tau2_results", "tau2_voice_dir": "tau2_directory",
    "taubench_v1_fewshot": "taubench_fewshot",
}  # fmt: skip
"""Folders of real files whose format has another name here."""

WITHOUT_RUNS = {"test_data__local.traj.json", "expected.json", "MANIFEST.tsv"}
"""Bare messages without the trajectory's own fields, and the files about the files."""


def test_every_format_claims_its_own_files_and_no_other(real_data: Find) -> None:
    for source in expand([str(real_data("."))]):
        found = recognise(source, "auto")
        folder = source.path.parent.name
        wanted = None if source.path.name in WITHOUT_RUNS else OTHER_NAMES.get(folder, folder)
        assert (found and found.format) == wanted, source.shown


def test_every_real_file_lands(tmp_path: Path, real_data: Find) -> None:
    """All of them into one lake: nothing but our own errors, every run a row."""
    report = land([real_data(".")], tmp_path / "lake", workers=1)
    assert len(report.recognised) == len(expand([str(real_data("."))])) - len(WITHOUT_RUNS)
    assert report.runs == runs_of(tmp_path / "lake").height + report.replaced
    score(tmp_path / "lake")
    assert scores_of(tmp_path / "lake").height == runs_of(tmp_path / "lake").height

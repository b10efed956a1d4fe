"""Runs to annotate: some of every kind, the same for a seed, and nothing that leads the annotator."""

from __future__ import annotations

import json
from collections import defaultdict
from operator import eq, lt
from shutil import copytree
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import pipeline
from pipeline.annotation.sampling import sample_annotations
from pipeline.errors import InputError, UnknownNameError
from pipeline.landing.land import land
from pipeline.metrics.registry import chosen
from pipeline.sample import sample
from pipeline.scoring import score

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sampling")
    sample(folder / "export", runs=200)
    land([folder / "export"], folder / "lake", workers=1)
    score(folder / "lake")
    return folder / "lake"


def ids(picked: Any) -> list[str]:
    return [record["trajectory_id"] for record in picked.records]


def test_every_kind_of_run_is_drawn_in_turn(lake: Path) -> None:
    """Four quarters and the runs without a score, by two spreads: each gives one, then another."""
    every = sample_annotations(lake, limit=200).result.rows
    sizes = dict(zip(*counted(every), strict=True))
    assert set(sizes) >= {(q, s) for q in (1, 2, 3, 4) for s in ("high", "low")}
    rows = sample_annotations(lake, limit=2 * len(sizes)).result.rows
    found = dict(zip(*counted(rows), strict=True))
    assert {kind: found[kind] >= min(2, size) for kind, size in sizes.items()} == dict.fromkeys(
        sizes, True
    )
    first = sample_annotations(lake, limit=len(sizes)).result.rows
    assert set(counted(first)[1]) == {1}


def counted(rows: pl.DataFrame) -> tuple[list[Any], list[int]]:
    kinds = rows.group_by("quarter", "spread").len()
    return kinds.select("quarter", "spread").rows(), kinds["len"].to_list()


def test_quarters_follow_the_metric_and_its_direction(lake: Path) -> None:
    for metric, worst in (("composite", "least"), ("error_rate", "greatest")):
        rows = sample_annotations(lake, limit=200, metric=metric).result.rows.drop_nulls(metric)
        means = (
            rows.group_by("quarter").agg(pl.col(metric).mean()).sort("quarter")[metric].to_list()
        )
        assert means == sorted(means, reverse=worst == "greatest")


def test_the_spread_is_that_of_ranks(lake: Path) -> None:
    rows = sample_annotations(lake, limit=200).result.rows
    assert rows["rank_spread"].is_between(0, 1).all()
    low, high = (rows.filter(spread=name)["rank_spread"] for name in ("low", "high"))
    assert low.max() < high.min()
    assert abs(len(low) - len(high)) <= 10


def test_quarter_and_spread_are_their_definition(lake: Path) -> None:
    """A run's place in a metric is (runs below it + half of those equal) / all, from the worst on."""
    headline = [metric for metric in chosen(None) if metric.better != "neither"]
    scores = pipeline.scores(lake, columns=["run_id", *(m.name for m in headline)]).rows
    places: dict[str, dict[str, float]] = defaultdict(dict)
    for metric in headline:
        sign = -1 if metric.better == "lower" else 1
        known = scores.select("run_id", metric.name).drop_nulls().rows()
        values = [sign * value for _, value in known]
        for run, value in known:
            below, equal = (sum(test(v, sign * value) for v in values) for test in (lt, eq))
            places[run][metric.name] = (below + equal / 2) / len(values)
    by = {run: found.pop("error_rate", None) for run, found in places.items()}
    spreads = {run: max(p.values()) - min(p.values()) for run, p in places.items() if len(p) > 1}
    middle = median(spreads.values()) - 1e-12
    rows = sample_annotations(lake, limit=200, metric="error_rate").result.rows
    assert rows.height == 200
    for row in rows.iter_rows(named=True):
        place, spread = by[row["run_id"]], spreads.get(row["run_id"])
        assert row["quarter"] == (None if place is None else int(4 * place) + 1)
        assert row["rank_spread"] == pytest.approx(spread)
        assert row["spread"] == (spread and ("high" if spread >= middle else "low"))


def test_a_seed_decides_and_a_higher_limit_adds(lake: Path) -> None:
    few, more = (ids(sample_annotations(lake, limit=n, seed=7)) for n in (10, 30))
    assert more[:10] == few
    assert ids(sample_annotations(lake, limit=10, seed=7)) == few
    assert ids(sample_annotations(lake, limit=10, seed=8)) != few
    assert len(set(ids(sample_annotations(lake, limit=500)))) == 200


def test_records_show_the_run_and_no_score(lake: Path) -> None:
    picked = sample_annotations(lake, limit=3)
    record = picked.records[0]
    assert list(record) == [
        "trajectory_id", "task_id", "annotator_id", "overall_quality", "dimensions",
        "critical_steps", "backtrack_steps", "annotation_time_seconds", "context",
    ]  # fmt: skip
    assert record["overall_quality"] is record["backtrack_steps"] is None
    assert list(record["context"]) == ["prompt", "final_output", "steps"]
    steps = record["context"]["steps"]
    assert [step["step_index"] for step in steps] == list(range(len(steps)))
    told = json.dumps(picked.records)
    assert not any(name in told for name in ("composite", "quarter", "agent_version", "reward"))


def filled(record: dict[str, Any], who: str, overall: int) -> str:
    return json.dumps({**record, "annotator_id": who, "overall_quality": overall})


def test_what_is_filled_in_lands_and_is_not_asked_again(lake: Path, tmp_path: Path) -> None:
    """Of annotated runs only those come again whose annotators part by 2."""
    own = copytree(lake, tmp_path / "lake")
    picked = sample_annotations(own, limit=3)
    first, second, third = picked.records
    words = [
        filled(first, "ann", 5), filled(first, "bo", 3), filled(second, "ann", 5),
        filled(second, "bo", 4), filled(third, "ann", 1),
    ]  # fmt: skip
    (tmp_path / "filled.jsonl").write_text("\n".join(words))
    report = land([tmp_path / "filled.jsonl"], own)
    assert (report.annotations, report.rejects.total()) == (5, 0)
    again = sample_annotations(own, limit=500)
    assert len(again.records) == 198
    rows = again.result.rows.filter(contested=True)
    assert rows.select("run_id", "n_annotators").rows() == [(first["trajectory_id"], 2)]
    assert again.result.notes[-1].endswith(
        "; 2 runs annotated already: --annotated picks from them, too"
    )
    every = sample_annotations(own, limit=500, annotated=True)
    assert len(every.records) == 200
    assert "already" not in every.result.notes[-1]


def test_the_unfilled_are_told_one_by_one(lake: Path, tmp_path: Path) -> None:
    lines = [json.dumps(record) for record in sample_annotations(lake, limit=2).records]
    (tmp_path / "todo.jsonl").write_text("\n".join(lines))
    report = land([tmp_path / "todo.jsonl"], tmp_path / "lake")
    assert dict(report.rejects) == {"missing_field": 2}


def test_who_ran_is_told_only_where_the_id_does_not(tmp_path: Path) -> None:
    runs = [
        {"run_id": "twin", "agent": "x", "agent_version": v, "steps": [], "final_output": "sk-0123456789abcdef"}
        for v in ("v1", "v2")
    ]  # fmt: skip
    runs.append({"run_id": "one", "agent": "x", "steps": [], "final_output": "x" * 5000})
    (tmp_path / "runs.jsonl").write_text("\n".join(map(json.dumps, runs)))
    land([tmp_path / "runs.jsonl"], tmp_path / "lake", workers=1)
    score(tmp_path / "lake")
    records = {
        (r["trajectory_id"], r.get("agent_version")): r["context"]["final_output"]
        for r in sample_annotations(tmp_path / "lake").records
    }
    assert set(records) == {("twin", "v1"), ("twin", "v2"), ("one", None)}
    assert records["twin", "v1"] == "[redacted]"
    assert len(records["one", None]) == 2000


def test_every_text_of_a_step_is_masked_and_cut(tmp_path: Path) -> None:
    key, long = "sk-0123456789abcdef", "word " * 1000
    failed = {"kind": "tool_call", "tool_name": "f", "is_error": True}
    steps = [
        {"kind": "llm_call", "content": key},
        {"kind": "llm_call", "content": long},
        failed | {"tool_args": {"k": key}, "output": key, "error": key},
        failed | {"tool_args": {"k": long}, "output": long, "error": long},
    ]
    run = {"run_id": "r", "task_id": "t", "steps": steps}
    task = {"task_id": "t", "prompt": f"{key} {long}", "references": [[]]}
    for name, line in (("runs", run), ("tasks", task)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line))
        land([tmp_path / f"{name}.jsonl"], tmp_path / "lake", workers=1)
    score(tmp_path / "lake")
    (record,) = sample_annotations(tmp_path / "lake").records
    assert key not in json.dumps(record)
    first, second, third, fourth = record["context"]["steps"]
    assert first["content"] == third["output"] == third["error"] == "[redacted]"
    cut = [second["content"], *(fourth[name] for name in ("tool_args", "output", "error"))]
    assert [len(text) for text in (record["context"]["prompt"], *cut)] == [2000] * 5


def test_the_prompt_is_that_of_the_runs_own_suite(tmp_path: Path) -> None:
    """Two suites may call their tasks alike, and one of them may have no name."""
    suites = ("one", "two", None)
    for number, suite in enumerate(suites):
        task = {"task_id": "t", "suite": suite, "prompt": f"task {suite}", "references": [[]]}
        run = {"run_id": f"run {suite}", "task_id": "t", "suite": suite, "steps": []}
        for name, line in ((f"tasks{number}", task), (f"runs{number}", run)):
            (tmp_path / f"{name}.jsonl").write_text(json.dumps(line))
            land([tmp_path / f"{name}.jsonl"], tmp_path / "lake", workers=1)
    score(tmp_path / "lake")
    records = sample_annotations(tmp_path / "lake").records
    assert sorted((r["trajectory_id"], r["context"]["prompt"]) for r in records) == [
        ("run None", "task None"), ("run one", "task one"), ("run two", "task two"),
    ]  # fmt: skip


def test_what_cannot_be_asked_for(lake: Path) -> None:
    with pytest.raises(InputError, match="--limit is 0"):
        sample_annotations(lake, limit=0)
    with pytest.raises(UnknownNameError, match="unknown metric 'f9'"):
        sample_annotations(lake, metric="f9")
    with pytest.raises(InputError, match="--where"):
        sample_annotations(lake, where="nothing = 1")
    assert sample_annotations(lake, where="f1 > 2").records == []

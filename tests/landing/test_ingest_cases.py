"""Cases from real bug reports of log readers: no good row lost, no bad row silent."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import polars as pl
import pytest
from making import call, run, runs_of, scores_of, steps_of, write

from pipeline.checks import check
from pipeline.errors import RejectedError
from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def rejects_of(lake: Path) -> pl.DataFrame:
    files = [batch.file("rejects") for batch in Lake.open(lake).batches() if batch.rows("rejects")]
    return pl.concat([pl.read_parquet(file) for file in files])


def labels_of(lake: Path) -> list[dict[str, object]]:
    return [json.loads(text or "{}") for text in runs_of(lake)["labels"]]


def test_i1_a_key_first_seen_late(tmp_path: Path) -> None:
    """polars#29330: a field first at row 100 of 1000 keeps its 900 values."""
    records = [run(f"r{i:04}", **({"late": i} if i >= 100 else {})) for i in range(1000)]
    land([write(tmp_path / "a.jsonl", records)], tmp_path / "lake")
    assert sum("late" in labels for labels in labels_of(tmp_path / "lake")) == 900


def test_i2_a_line_that_is_no_object(tmp_path: Path) -> None:
    """polars#13768: good, "x", good."""
    good = [json.dumps(run("r1")), '"x"', json.dumps(run("r2"))]
    (tmp_path / "a.jsonl").write_text("\n".join(good))
    land([tmp_path / "a.jsonl"], tmp_path / "lake")
    assert runs_of(tmp_path / "lake")["run_id"].to_list() == ["r1", "r2"]
    assert rejects_of(tmp_path / "lake").select("line", "reason").rows() == [(2, "not_an_object")]


def test_i3_text_after_the_value(tmp_path: Path) -> None:
    """duckdb#23120."""
    (tmp_path / "a.jsonl").write_text(
        '{"run_id":"r0","steps":[]}\n{"run_id":"r1","steps":[]}TRAILER\n'
    )
    land([tmp_path / "a.jsonl"], tmp_path / "lake")
    found = rejects_of(tmp_path / "lake")
    assert found.select("line", "byte_offset", "reason").rows() == [(2, 27, "trailing_data")]
    assert runs_of(tmp_path / "lake").height == 1


@pytest.mark.parametrize("turned", [False, True])
def test_i4_a_key_in_one_record_only(tmp_path: Path, *, turned: bool) -> None:
    """polars#24843: without and with k2, in either order, k2 is kept."""
    records = [run("r1", k1=1), run("r2", k1=1, k2=2)]
    land([write(tmp_path / "a.jsonl", records[::-1] if turned else records)], tmp_path / "lake")
    assert labels_of(tmp_path / "lake") == [{"k1": 1}, {"k1": 1, "k2": 2}]


def test_i9_runs_without_calls_are_rows_everywhere(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    land([write(tmp_path / "a.jsonl", [run(f"r{i:04}") for i in range(1000)])], lake)
    score(lake)
    scores = scores_of(lake)
    assert scores.height == 1000
    assert set(scores["n_calls"]) == {0}


def test_i10_call_ids_repeat_within_a_run(
    tmp_path: Path, real_data: Callable[[str], Path], expected_figures: dict[str, dict[str, int]]
) -> None:
    """tau-bench: ids repeat for different calls; each result goes to its own call."""
    name = "taubench_v1/gpt-4o-airline.tasks00-24.json"
    land([real_data(name)], tmp_path / "lake")
    calls = steps_of(tmp_path / "lake").filter(kind="tool_call")
    assert calls.height == expected_figures[name]["tool_calls"] == 621
    assert int(calls["is_error"].sum()) == 63
    repeated = calls.filter(pl.struct("run_key", "call_id").is_duplicated())
    assert repeated.height > 0
    assert calls["output"].null_count() == 0


def test_s9_tokens_do_not_wrap(tmp_path: Path) -> None:
    step = {"kind": "llm_call", "input_tokens": 4_000_000_000}
    land([write(tmp_path / "a.jsonl", [run("r", step, step)])], tmp_path / "lake")
    score(tmp_path / "lake")
    assert scores_of(tmp_path / "lake")["input_tokens"].to_list() == [8_000_000_000]


def test_s6_s7_an_end_before_the_start_and_no_end(tmp_path: Path) -> None:
    records = [
        run("back", started_at="2026-01-02T00:00:00Z", ended_at="2026-01-01T00:00:00Z"),
        run("open", started_at="2026-01-02T00:00:00Z"),
        run("right", started_at="2026-01-02T00:00:00Z", ended_at="2026-01-02T00:00:01.5Z"),
    ]
    land([write(tmp_path / "a.jsonl", records)], tmp_path / "lake")
    score(tmp_path / "lake")
    assert scores_of(tmp_path / "lake")["wall_ms"].to_list() == [None, None, 1500.0]


def test_strict_stops_at_the_first(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"run_id":"r0","steps":[]}\n{"run_id":"r1"}\n')
    with pytest.raises(RejectedError, match=r"a\.jsonl:2: missing_field.*steps"):
        land([path], tmp_path / "lake", strict=True)


BROKEN = {
    "truncated": '{"run_id":"x","steps":[{"kind":"fin',
    "not_json": "run_id=x",
    "nan_or_infinity": '{"run_id":"x","reward":NaN,"steps":[]}',
    "lone_surrogate": '{"run_id":"x\\ud800","steps":[]}',
    "control_character": '{"run_id":"x\x01","steps":[]}',
    "missing_field": '{"run_id":"x"}',
    "wrong_type": '{"run_id":"x","steps":{}}',
    "bad_value": '{"run_id":"x","steps":[{"kind":"walk"}]}',
    "not_an_object": "[1,2]",
    "too_deep": '{"run_id":"x","final_state":' + "[" * 100_000 + "]" * 100_000 + ',"steps":[]}',
}


@pytest.mark.parametrize("reason", BROKEN)
def test_each_reason_and_no_good_row_lost(tmp_path: Path, reason: str) -> None:
    good = json.dumps(run("good", call("a")))
    (tmp_path / "a.jsonl").write_text(f"{good}\n{BROKEN[reason]}\n{good.replace('good', 'last')}\n")
    land([tmp_path / "a.jsonl"], tmp_path / "lake")
    assert runs_of(tmp_path / "lake")["run_id"].to_list() == ["good", "last"]
    found = rejects_of(tmp_path / "lake")
    assert found.select("line", "byte_offset", "reason").rows() == [(2, len(good) + 1, reason)]


def test_invalid_utf8_is_one_reject(tmp_path: Path) -> None:
    lines = [
        b'{"run_id":"r1","steps":[]}',
        b'{"run_id":"\xff","steps":[]}',
        b'{"run_id":"r2","steps":[]}',
    ]
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines))
    land([tmp_path / "a.jsonl"], tmp_path / "lake")
    assert runs_of(tmp_path / "lake").height == 2
    assert rejects_of(tmp_path / "lake")["reason"].to_list() == ["invalid_utf8"]


def test_excerpts_hide_secrets_before_they_are_cut(tmp_path: Path) -> None:
    secret = "Bearer " + "s3cr3t" * 60
    line = json.dumps({"run_id": "x", "authorization": secret, "code": 401})
    (tmp_path / "a.jsonl").write_text('{"run_id":"r1","steps":[]}\n' + line)
    land([tmp_path / "a.jsonl"], tmp_path / "lake")
    (excerpt,) = rejects_of(tmp_path / "lake")["excerpt"]
    assert "s3cr3t" not in excerpt
    assert "401" in excerpt


def test_byte_order_mark_crlf_and_blank_lines(tmp_path: Path) -> None:
    text = "\ufeff" + '{"run_id":"r1","steps":[]}\r\n\r\n  {"run_id":"r2","steps":[]}\r\n'
    (tmp_path / "a.jsonl").write_bytes(text.encode())
    report = land([tmp_path / "a.jsonl"], tmp_path / "lake")
    assert (report.runs, report.rejects) == (2, Counter())


def test_a_large_array_is_read_element_by_element(tmp_path: Path) -> None:
    """A truncated array loses its last, unfinished element only."""
    records = [{"case_id": f"c{i}", "actual": [{"name": "a", "args": {"i": i}}]} for i in range(50)]
    text = json.dumps(records, indent=1)
    (tmp_path / "pairs.json").write_text(text[:-20])
    report = land([tmp_path / "pairs.json"], tmp_path / "lake")
    assert report.runs == 49
    assert dict(report.rejects) == {"truncated": 1}


@pytest.mark.parametrize(
    "broken",
    [
        {"steps": [{"kind": "final", "input_tokens": 10**30}]},
        {"steps": [{"kind": "final", "turn_index": -1}]},
        {"steps": [], "trial": 2**40},
        {"steps": [], "expected": [{"tool_name": "a", "turn_index": 2**40}]},
    ],
)
def test_a_number_no_column_holds_is_one_reject(tmp_path: Path, broken: dict[str, object]) -> None:
    records = [run("r1", call("a")), {"run_id": "bad", **broken}, run("r2"), run("r3", call("b"))]
    land([write(tmp_path / "a.jsonl", records)], tmp_path / "lake")
    assert runs_of(tmp_path / "lake")["run_id"].to_list() == ["r1", "r2", "r3"]
    assert steps_of(tmp_path / "lake")["tool_name"].to_list() == ["a", "b"]
    found = rejects_of(tmp_path / "lake").select("line", "reason").rows()
    assert found == [(2, "number_out_of_range")]


def test_a_mention_of_a_task_keeps_what_is_known_of_it(tmp_path: Path) -> None:
    """A recorder's log names tasks; it must not blank the references of a tasks file."""
    lake = tmp_path / "lake"
    task = {"task_id": "t1", "references": [[{"tool_name": "a", "tool_args": {}}]]}
    land([write(tmp_path / "tasks.jsonl", [task])], lake)
    record = {
        "trajectory_id": "x",
        "task_id": "t1",
        "task_description": "do a",
        "steps": [{"step_id": 0, "step_type": "tool_call", "tool_name": "a", "tool_input": {}}],
    }
    land([write(tmp_path / "log.jsonl", [record])], lake)
    score(lake)
    assert scores_of(lake)["f1"].to_list() == [1.0]


def test_i6_the_same_export_twice_counts_its_tokens_once(tmp_path: Path) -> None:
    """codex-observability#87: 53,907 tokens stay 53,907, under the same name or another."""
    steps = [{"kind": "llm_call", "input_tokens": 50_000, "output_tokens": 3_907}]
    records = [run("r1", *steps), run("r2")]
    lake = tmp_path / "lake"
    for name in ("day.jsonl", "day.jsonl", "again.jsonl"):
        land([write(tmp_path / name, records)], lake)
    land([write(tmp_path / "longer.jsonl", [*records, run("r3")])], lake)
    score(lake)
    assert scores_of(lake)["total_tokens"].sum() == 53_907


def test_i8_an_hour_without_runs_between_full_ones_is_a_warning(tmp_path: Path) -> None:
    """langfuse#15617."""
    hours = [f"2026-11-28T{hour:02}:30:00Z" for hour in (8, 9, 11, 12) for _ in range(20)]
    records = [run(f"r{i:03}", started_at=hour) for i, hour in enumerate(hours)]
    land([write(tmp_path / "a.jsonl", records)], tmp_path / "lake")
    found = check(tmp_path / "lake").rows.filter(pl.col("check") == "empty_hours")
    assert found["severity"].to_list() == ["warning"]
    assert "10" in found["subject"][0]


def test_c5_a_token_is_masked_and_a_status_code_is_not(tmp_path: Path) -> None:
    """auth0-evals#246: redacted before it is cut, and 401 untouched."""
    line = (
        '{"run_id": "x", "headers": {"Authorization": "Bearer '
        + "abc123XYZ" * 40
        + '"}, "status": 401}'
    )
    (tmp_path / "a.jsonl").write_text('{"run_id":"r1","steps":[]}\n' + line)
    land([tmp_path / "a.jsonl"], tmp_path / "lake")
    (excerpt,) = rejects_of(tmp_path / "lake")["excerpt"]
    assert "abc123XYZ" not in excerpt
    assert "401" in excerpt

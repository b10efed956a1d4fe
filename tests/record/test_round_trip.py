"""A recorded run lands as it was told, and scores as the oracle scores what is in memory."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Invalid, Step, backtrack_flags, path_metrics
from scoring.walking import agree, walked

from pipeline.lake import Lake
from pipeline.landing.chats.chat import prompt_hash
from pipeline.landing.land import land
from pipeline.policy import DEFAULT
from pipeline.record import Recorder, Sink
from pipeline.scoring import score

arguments = st.sampled_from(
    [
        None,
        {},
        {"q": "x"},
        {"q": "x", "n": 1},
        {"n": 1.0, "q": "x"},
        {"n": True, "q": "x"},
        {"q": ["a", {"b": None}]},
        '{"q": "x"}',
        "no JSON",
    ]
)
tokens = st.none() | st.integers(0, 5000)
calls = st.tuples(st.just("tool_call"), st.sampled_from("ab"), arguments, st.booleans())
others = st.tuples(st.sampled_from(["llm_call", "message"]), tokens, tokens, st.just(value=False))
told = st.lists(st.one_of(calls, calls, others), max_size=25)


def tell(run: Recorder, step: tuple[Any, ...]) -> None:
    kind, one, other, failed = step
    if kind == "tool_call":
        run.tool_call(one, other, output={"of": one}, error="boom" if failed else None)
    elif kind == "llm_call":
        run.llm_call("thinking", input_tokens=one, output_tokens=other)
    else:
        run.message("user", "And?")


def in_memory(record: dict[str, Any]) -> list[Step]:
    """Return what a recorder holds as the oracle takes it."""
    fields = ("input_tokens", "output_tokens", "turn_index", "is_error")
    return [
        Step(step["kind"], step.get("tool_name"), _decoded(step.get("tool_args")), **{
            name: step.get(name, False if name == "is_error" else None) for name in fields
        })
        for step in record["steps"]
    ]  # fmt: skip


def _decoded(args: Any) -> Any:
    """Read text as landing does: JSON of an object is its arguments, other text is kept."""
    if not isinstance(args, str):
        return args
    return json.loads(args) if args.startswith("{") else Invalid(args)


@settings(max_examples=max(15, settings.default.max_examples // 4))
@given(st.lists(st.tuples(told, st.booleans()), min_size=1, max_size=10))
def test_record_land_score_equals_scoring_what_is_in_memory(
    runs: list[tuple[list[tuple[Any, ...]], bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sink = Sink(Path(folder, "runs.jsonl"), fsync=False)
        records = []
        for number, (steps, ends) in enumerate(runs):
            with Recorder(sink, run_id=f"r{number}") as run:
                for step in steps:
                    tell(run, step)
                if ends:
                    run.final("done")
            records.append(run.record)
        lake = Path(folder, "lake")
        land([sink.path], lake, workers=1)
        score(lake)
        table = pl.concat(
            [pl.read_parquet(s.file("scores")) for s in Lake.open(lake).scores(DEFAULT.hash)]
        ).sort("run_id")
        calls = pl.concat([pl.read_parquet(f) for f in lake.glob("scores/*/*/call_scores.parquet")])
        landed = walked(lake)
        steps = pl.concat([pl.read_parquet(b.file("steps")) for b in Lake.open(lake).batches()])
    for row, record in zip(table.to_dicts(), records, strict=True):
        memory = in_memory(record)
        done = True if any(step.kind == "final" for step in memory) else None
        agree(row, path_metrics(memory, completed=done))
        assert len(landed[row["run_id"]]) == len(memory)
    _live_flags_are_the_scorers(steps, calls, landed)


def _live_flags_are_the_scorers(
    steps: pl.DataFrame, calls: pl.DataFrame, landed: dict[str, list[Step]]
) -> None:
    flagged = steps.filter(kind="tool_call").sort("run_id", "step_index")
    judged = calls.sort("run_id", "step_index")
    assert flagged["reported_backtrack"].to_list() == judged["is_backtrack"].to_list()
    oracle = [flag for run_id in sorted(landed) for flag in backtrack_flags(landed[run_id])]
    assert flagged["reported_backtrack"].to_list() == oracle
    others = steps.filter(pl.col("kind") != "tool_call")
    assert others["reported_backtrack"].null_count() == others.height


def test_every_field_lands(tmp_path: Path) -> None:
    with Recorder(
        tmp_path / "deep" / "runs.jsonl",
        run_id="r1", task_id=7, trial=2, suite="air", agent="desk", agent_version="v2", model="m",
        system_prompt="Be brief.", labels={"team": "x"},
        expected=[{"tool_name": "search", "tool_args": {"q": "x"}}],
    ) as run:  # fmt: skip
        run.message("user", "Find x")
        run.llm_call(
            "Let me look.", input_tokens=8, output_tokens=4, cost_usd=0.5, duration_ms=3.6e6
        )
        run.tool_call(
            "search", {"q": "x"}, {"hits": [1, 2]}, duration_ms=31.5, call_id="c1",
            response_index=0, actor="scout", labels={"cache": "hit"},
        )  # fmt: skip
        run.tool_call("book", error=KeyError("seat"))
        run.message("user", "So?")
        run.final("Two.")
        run.outcome(success=True, reward=0.75, final_state={"n": 2}, labels={"night": 1})
    land([tmp_path / "deep"], tmp_path / "lake", workers=1)
    (batch,) = Lake.open(tmp_path / "lake").batches()
    row = pl.read_parquet(batch.file("runs")).to_dicts()[0]
    assert {name: row[name] for name in ("run_id", "task_id", "trial", "suite", "agent")} == {
        "run_id": "r1", "task_id": "7", "trial": 2, "suite": "air", "agent": "desk",
    }  # fmt: skip
    assert (row["model"], row["agent_version"], row["status"]) == ("m", "v2", "ok")
    assert (row["success"], row["reward"], row["completed"]) == (True, 0.75, True)
    assert (row["final_output"], row["final_state"]) == ("Two.", '{"n":2}')
    assert row["prompt_hash"] == prompt_hash("Be brief.")
    assert json.loads(row["labels"]) == {"team": "x", "night": 1}
    assert row["reference_set"] is not None
    assert row["started_at"] <= row["ended_at"]
    steps = pl.read_parquet(batch.file("steps")).to_dicts()
    assert [step["kind"] for step in steps] == [
        "message", "llm_call", "tool_call", "tool_call", "message", "final",
    ]  # fmt: skip
    assert [step["turn_index"] for step in steps] == [0, 0, 0, 0, 1, 1]
    said, search, book = steps[1:4]
    assert (said["input_tokens"], said["output_tokens"], said["cost_usd"]) == (8, 4, 0.5)
    assert (search["output"], search["duration_ms"]) == ('{"hits":[1,2]}', 31.5)
    assert (search["call_id"], search["response_index"], search["actor"]) == ("c1", 0, "scout")
    assert (search["is_error"], search["labels"]) == (False, '{"cache":"hit"}')
    assert (book["tool_args"], book["is_error"], book["error"]) == ("{}", True, "KeyError: 'seat'")
    assert all(step["started_at"] is not None for step in steps)
    assert said["started_at"] < row["started_at"]  # it took an hour, and the run began just now
    score(tmp_path / "lake")
    (folder,) = Lake.open(tmp_path / "lake").scores(DEFAULT.hash)
    scored = pl.read_parquet(folder.file("scores")).to_dicts()[0]
    # E = [search(x)], A = [search(x), book()]: one of two calls is expected.
    found = [scored[name] for name in ("precision", "recall", "f1", "in_order", "exact_match")]
    assert found == [1 / 2, 1.0, 2 / 3, 1.0, 0]
    assert (scored["success"], scored["error_rate"], scored["backtracking_rate"]) == (
        True,
        1 / 2,
        0,
    )


def test_an_answer_told_twice_is_one_step(tmp_path: Path) -> None:
    with Recorder(tmp_path / "runs.jsonl") as run:
        run.llm_call("Two.\n", input_tokens=8, output_tokens=4)
        run.final("Two.", input_tokens=9, cost_usd=0.5)
    (step,) = run.record["steps"]
    assert (step["kind"], step["input_tokens"], step["cost_usd"]) == ("final", 8, 0.5)
    assert run.record["final_output"] == "Two."


def test_an_answer_that_says_something_else_is_a_step_of_its_own(tmp_path: Path) -> None:
    with Recorder(tmp_path / "runs.jsonl") as run:
        run.message("user", "Two.")
        run.final("Two.")
    with Recorder(tmp_path / "runs.jsonl") as other:
        other.llm_call(None)
        other.final("Two.")
    found = [[step["kind"] for step in one.record["steps"]] for one in (run, other)]
    assert found == [["message", "final"], ["llm_call", "final"]]

"""LangSmith runs land: LangChain's objects, tokens summed upwards, JSONL, arrays and Parquet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from reading import SAMPLES, args, calls, claimed, kinds, labels, read, sniff
from tracing import bodies, lines

from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.landing.model import Run


def _told(number: int, kind: str, name: str = "x", **more: Any) -> dict[str, Any]:
    return {
        "id": f"r{number}",
        "trace_id": "r1",
        "parent_run_id": None if number == 1 else "r1",
        "run_type": kind,
        "name": name,
        "start_time": f"2026-01-01T08:00:{number:02}",
        "end_time": f"2026-01-01T08:00:{number:02}.500000",
        "status": "success",
        "error": None,
        **more,
    }


def _run(tmp_path: Path, *told: dict[str, Any]) -> Run:
    return read("langsmith", lines(tmp_path / "r.jsonl", *told)).run


def _object(kind: str, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", kind], "kwargs": kwargs}


def _generated(message: dict[str, Any]) -> dict[str, Any]:
    return {"generations": [[{"text": "", "message": message}]]}


ASKED = _object("AIMessage", content="", tool_calls=[{"id": "c", "name": "f", "args": {"x": 1}}])
HEARD = {
    "messages": [[_object("SystemMessage", content="S"), _object("HumanMessage", content="U")]]
}


SAID = {"role": "assistant", "content": "Hi", "mood": "calm"}
ODD = _object("AIMessage", content="Hi", mood="calm")


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        (SAID, {"outputs.mood": "calm"}),
        (ODD, {"outputs.mood": "calm"}),
        ([SAID], {"outputs.mood": "calm"}),
        ({"messages": [[ODD], [SAID]]}, {"outputs.messages.mood": "calm"}),
        ({"messages": [SAID], "content": "x"}, {"outputs.messages.mood": "calm"}),
        ({"input": SAID}, {"outputs.input.mood": "calm"}),
        ({"output": ODD}, {"outputs.output.mood": "calm"}),
        ({"message": SAID, "odd": 1}, {"outputs.message.mood": "calm", "outputs.odd": 1}),
        (
            {"generations": [[{"text": "", "message": ODD, "odd": 1}]]},
            {"outputs.generations.message.mood": "calm", "outputs.generations.odd": 1},
        ),
        (
            {"choices": [{"message": SAID, "odd": 1}], "usage": {}},
            {"outputs.choices.message.mood": "calm", "outputs.choices.odd": 1},
        ),
        ({"choices": [3], "messages": [3, None], "output": "Hi"}, {}),
    ],
)
def test_what_is_not_known_of_a_models_messages(
    tmp_path: Path, outputs: Any, told: dict[str, Any]
) -> None:
    root = _told(1, "chain", "desk")
    run = _run(tmp_path, root, _told(2, "llm", inputs=HEARD, outputs=outputs))
    assert labels(run.steps[-1]) == {"span_id": "r2", **told}


def test_langchains_objects(tmp_path: Path) -> None:
    output = _object("ToolMessage", content="r", tool_call_id="c", status="success")
    run = _run(
        tmp_path,
        _told(4, "llm", inputs=HEARD, outputs=_generated(_object("AIMessage", content="Done"))),
        _told(3, "tool", "f", inputs={"input": "{'x': 1}"}, outputs={"output": output}),
        _told(2, "llm", inputs=HEARD, outputs=_generated(ASKED)),
        _told(1, "chain", "desk"),
    )
    assert [(s.kind, s.content) for s in run.steps] == [
        ("message", "S"),
        ("message", "U"),
        ("llm_call", None),
        ("tool_call", None),
        ("final", "Done"),
    ]
    (call,) = calls(run)
    assert (args(call), call.output, call.call_id, call.is_error) == ('{"x":1}', "r", "c", False)
    assert (run.run_id, run.agent) == ("r1", "desk")


def test_openais_objects(tmp_path: Path) -> None:
    asked = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}  # fmt: skip
    outputs = {
        "choices": [{"message": asked}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }
    run = _run(tmp_path, _told(1, "llm", inputs={"messages": [{"role": "user", "content": "U"}]}, outputs=outputs))  # fmt: skip
    assert kinds(run) == ["message", "llm_call", "tool_call"]
    assert (run.steps[1].input_tokens, run.steps[1].output_tokens) == (7, 2)


def test_a_chains_tokens_are_the_sum_of_its_models(tmp_path: Path) -> None:
    tokens = {"prompt_tokens": 7, "completion_tokens": 2, "total_cost": 0.1}
    run = _run(tmp_path, _told(1, "chain", **tokens), _told(2, "llm", **tokens))
    assert [(s.input_tokens, s.output_tokens, s.cost_usd) for s in run.steps] == [(7, 2, 0.1)]


@pytest.mark.parametrize(
    "outputs",
    [
        {"usage_metadata": {"input_tokens": 7, "output_tokens": 2}},
        {"llm_output": {"token_usage": {"prompt_tokens": 7, "completion_tokens": 2}}},
        _generated(_object("AIMessage", usage_metadata={"input_tokens": 7, "output_tokens": 2})),
    ],
)
def test_tokens_told_in_the_outputs(tmp_path: Path, outputs: dict[str, Any]) -> None:
    (step,) = _run(tmp_path, _told(1, "llm", outputs=outputs)).steps
    assert (step.input_tokens, step.output_tokens) == (7, 2)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"error": "ValueError()", "status": "error"}, (True, "ValueError()")),
        (
            {"outputs": {"output": _object("ToolMessage", content="no", status="error")}},
            (True, None),
        ),
        ({"outputs": {"output": "no"}}, (False, None)),
        ({"status": "error"}, (True, None)),
    ],
)
def test_errors(tmp_path: Path, told: dict[str, Any], expected: tuple[bool, str | None]) -> None:
    run = _run(tmp_path, _told(1, "chain"), _told(2, "tool", "f", **told))
    assert [(call.is_error, call.error) for call in calls(run)] == [expected]
    assert run.status == "ok"


def test_how_the_root_ended_is_how_the_run_ended(tmp_path: Path) -> None:
    model = _told(2, "llm")
    assert _run(tmp_path, _told(1, "chain", error="x"), model).status == "error"
    assert _run(tmp_path, _told(1, "chain", status="pending"), model).status == "incomplete"


def test_what_the_root_says_of_the_run(tmp_path: Path) -> None:
    metadata = {"tier": "gold", "ls_model_name": "m", "revision_id": "v1", "thread_id": "t"}
    root = _told(
        1,
        "chain",
        "desk",
        reference_example_id="e1",
        session_id="p1",
        session_name="flights",
        extra=json.dumps({"metadata": metadata}),
        feedback_stats={"good": {"n": 2, "avg": 0.5}},
        outputs={
            "messages": [_object("HumanMessage", content="U"), _object("AIMessage", content="A")]
        },
    )
    run = _run(tmp_path, root, _told(2, "llm", extra={"invocation_params": {"model": "m"}}))
    assert (run.task_id, run.suite, run.agent_version, run.model) == ("e1", "flights", "v1", "m")
    assert run.labels == {"tier": "gold", "score.good": 0.5, "project_id": "p1", "thread_id": "t"}
    assert run.final_output == "A"  # no model said it, but the root tells
    assert (run.started_at, run.ended_at) == (root["start_time"], root["end_time"])


def test_traces_mixed_in_one_file(tmp_path: Path) -> None:
    told = [_told(2, "tool", "f"), {**_told(5, "tool", "g"), "trace_id": "r5"}, _told(1, "chain")]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(told, indent=1))
    assert [run.run_id for run in read("langsmith", path).runs] == ["r1", "r5"]
    bodies("langsmith", path)


def test_a_broken_line_is_refused(tmp_path: Path) -> None:
    path = lines(tmp_path / "r.jsonl", _told(1, "tool"), '{"id": 1, "run_type": "tool"}')
    report = land([path], tmp_path / "lake")
    assert (report.runs, dict(report.rejects)) == (1, {"wrong_type": 1})


def test_bulk_parquet_with_json_texts(tmp_path: Path) -> None:
    told = [
        _told(1, "chain", "desk"),
        _told(2, "tool", "f", inputs=json.dumps({"x": 1}), outputs=json.dumps({"output": "r"})),
    ]
    pl.DataFrame(told, infer_schema_length=None).write_parquet(tmp_path / "r.parquet")
    run = read("langsmith", tmp_path / "r.parquet").run
    assert [(args(call), call.output) for call in calls(run)] == [('{"x":1}', "r")]
    bodies("langsmith", tmp_path / "r.parquet")


def test_claims_no_real_file(real_data: Callable[[str], Path]) -> None:
    assert claimed("langsmith", real_data("")) == set()


def test_sniff() -> None:
    assert sniff("langsmith", _told(1, "chain"))
    assert sniff("langsmith", {"id": "x", "run_type": "y", "parent_run_id": None})
    assert not sniff("langsmith", {"id": "x", "run_type": "y"})
    assert not sniff("langsmith", {"id": "x", "trace_id": "y"})


def test_sample() -> None:
    """A booking that failed and its retry, newest first."""
    run = read("langsmith", SAMPLES / "langsmith" / "flight_runs.jsonl").run
    assert [(c.tool_name, args(c), c.is_error, c.call_id) for c in calls(run)] == [
        ("find_flight", '{"number":"KL1"}', False, "t1"),
        ("rebook", '{"day":"Monday","number":"KL1"}', True, "t2"),
        ("rebook", '{"day":"Monday","number":"KL1"}', False, "t3"),
    ]
    assert sum(step.input_tokens or 0 for step in run.steps) == 100 + 120 + 135 + 140
    assert run.final_output == "Moved to Monday, 10:05."


@pytest.mark.parametrize("wrap", [lambda told: told, lambda told: {"output": told}, json.dumps])
def test_an_mcp_servers_word_that_a_call_failed(tmp_path: Path, wrap: Callable[[Any], Any]) -> None:
    answer = {"content": [{"type": "text", "text": "no"}], "isError": True}
    (call,) = calls(_run(tmp_path, _told(1, "tool", "f", inputs={"x": 1}, outputs=wrap(answer))))
    assert call.is_error


def test_the_model_of_a_wrapped_client(tmp_path: Path) -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    message = {"role": "assistant", "content": "Ho"}
    answer = {"model": "m-2", "choices": [{"message": message}]}
    for outputs, model in ((answer, "m-2"), (message, "m")):
        run = _run(tmp_path, _told(1, "llm", "ChatOpenAI", inputs=asked, outputs=outputs))
        assert (run.model, run.final_output) == (model, "Ho")


def _agent(number: int, name: str, parent: str | None, **more: Any) -> dict[str, Any]:
    """Return a run that LangChain's `create_agent` names as an agent's."""
    extra = {"metadata": {"lc_agent_name": name}}
    return {**_told(number, "chain", name, extra=extra, **more), "parent_run_id": parent}


def test_agents_in_each_other(tmp_path: Path) -> None:
    """Their tokens and costs are those of the models below them."""
    used = {"prompt_tokens": 7, "completion_tokens": 2, "total_cost": 0.5}
    run = _run(
        tmp_path,
        {**_told(1, "chain", "graph"), "parent_run_id": None},
        _agent(2, "desk", "r1", **used),
        _agent(3, "helper", "r2", inputs=HEARD, outputs={"output": "A"}, **used),
        {**_told(4, "llm", **used), "parent_run_id": "r3"},
        {**_told(5, "llm"), "parent_run_id": "r2"},
    )
    assert [(s.actor, s.input_tokens, s.output_tokens, s.cost_usd) for s in run.steps] == [
        ("helper", 7, 2, 0.5),
        ("agent", None, None, None),
    ]
    assert run.agent == "desk"


def test_runs_inside_their_parents(tmp_path: Path) -> None:
    """A child without ids is its holder's, and the root's id is the trace's."""
    bare = {"run_type": "tool", "start_time": "2026-01-01T08:00:03"}
    inner = {**bare, "id": "b", "name": "g", "inputs": {}, "extra": {"metadata": {"x": 1}}}
    outer = {**bare, "id": "a", "name": "f", "inputs": {}, "child_runs": [inner]}
    root = {**_told(1, "chain", "desk"), "trace_id": None, "child_runs": [outer]}
    run = _run(tmp_path, root)
    assert [(call.tool_name, call.parent_step) for call in calls(run)] == [("f", None), ("g", 0)]
    assert (run.run_id, run.agent, run.labels) == ("r1", "desk", {})


def test_outputs_beside_an_output(tmp_path: Path) -> None:
    outputs = {"output": "r", "took": 3}
    (call,) = calls(_run(tmp_path, _told(1, "tool", "f", outputs=outputs)))
    assert call.output == outputs


def test_what_the_metadata_of_the_root_say(tmp_path: Path) -> None:
    """The run's own words count more than the names of its project and its root."""
    said = {"task_id": "t1", "suite": "air", "user.id": "u", "ls_model_name": "hidden"}
    root = _told(1, "chain", "graph", session_name="flights", extra={"metadata": said}, tags=["a"])
    run = _run(tmp_path, root, _told(2, "llm", extra={"metadata": {"ls_model_name": "m"}}))
    assert (run.task_id, run.suite, run.agent, run.model) == ("t1", "air", "graph", "m")
    assert run.labels["tags"] == ["a"]
    assert run.labels["user_id"] == "u"
    run = _run(tmp_path, {**root, "tags": [], "extra": None}, _told(2, "llm"))
    assert (run.task_id, run.suite, run.labels) == (None, "flights", {})


def test_the_last_word_of_a_state_is_the_models(tmp_path: Path) -> None:
    said = [_object("AIMessage", content="A"), _object("HumanMessage", content="Thanks")]
    run = _run(tmp_path, _told(1, "chain", outputs={"messages": said}), _told(2, "llm"))
    assert run.final_output == "A"


def test_tokens_written_by_an_embedding(tmp_path: Path) -> None:
    used = {"prompt_tokens": 7, "completion_tokens": 1, "total_cost": 0.5}
    embedding, _ = _run(tmp_path, _told(2, "embedding", **used), _told(3, "llm")).steps
    assert (embedding.input_tokens, embedding.output_tokens, embedding.cost_usd) == (7, 1, 0.5)

"""OpenHands output files land: one instance per line, its history, and what was said of it."""

from __future__ import annotations

from typing import Any

import pytest
from reading import SAMPLES, calls, claimed, decode, kinds, read, sniff
from sessions import tokens, told

from pipeline.landing.chats.chat import prompt_hash
from pipeline.landing.model import RejectError


def _said(text: str) -> dict[str, Any]:
    return {"source": "agent", "action": "message", "args": {"content": text}, "message": text}


ACT = {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}}
SAW = {"id": 2, "cause": 1, "source": "agent", "observation": "run", "content": "ok"}


def _run(*history: Any, **more: Any) -> Any:
    return decode("openhands_output", {"history": list(history), **more}).run


def test_an_instance():
    run = _run(
        _said("Done."),
        instance_id="x__y-1",
        metadata={
            "agent_class": "CodeActAgent",
            "llm_config": {"model": "v/m", "api_key": "**********"},
            "dataset": "d",
            "git_commit": "abc",
            "max_iterations": 50,
        },
        metrics={
            "accumulated_cost": 0.5,
            "accumulated_token_usage": {"prompt_tokens": 7, "completion_tokens": 2},
        },
        error=None,
        test_result={"git_patch": ""},
    )
    assert (run.task_id, run.source_id, run.run_id) == ("x__y-1", "x__y-1", None)
    assert (run.agent, run.agent_version, run.model) == ("openhands", "abc", "v/m")
    assert run.labels == {"agent_class": "CodeActAgent", "dataset": "d", "max_iterations": 50}
    assert told(run, "kind", "input_tokens", "output_tokens", "cost_usd") == [("final", 7, 2, 0.5)]
    assert (run.final_output, run.status, run.success, run.completed) == ("Done.", "ok", None, None)


@pytest.mark.parametrize(
    ("error", "status", "completed"),
    [
        (None, "ok", None),
        ("RuntimeError: Agent reached maximum iteration in headless mode.", "ok", False),
        ("AgentStuckInLoopError: Agent got stuck in a loop", "ok", False),
        ("APIConnectionError: down", "error", False),
    ],
)
def test_a_limit_is_an_end_and_anything_else_an_error(error, status, completed):
    run = _run(ACT, SAW, instance_id="i", error=error)
    assert (run.status, run.completed) == (status, completed)


def test_an_instance_that_failed_before_the_agent_began_has_no_history():
    """What the evaluation writes of an instance whose environment broke: else it would not count."""
    nothing = dict.fromkeys(["instruction", "metadata", "history", "metrics", "instance"])
    record = {"instance_id": "i", "test_result": {}, "error": "Timeout after 8 hours", **nothing}
    run = decode("openhands_output", record).run
    assert (run.task_id, run.status, run.completed, run.steps) == ("i", "error", False, [])


def test_a_call_that_waits_leaves_the_run_open_unless_a_limit_ended_it():
    assert _run(ACT, instance_id="i").status == "incomplete"
    assert _run(ACT, instance_id="i", error="Agent reached maximum iteration").status == "ok"


@pytest.mark.parametrize(
    ("more", "success"),
    [
        ({"success": True}, True),
        ({"success": False}, False),
        ({"test_result": {"report": {"resolved": True}}}, True),
        ({"test_result": {"report": {}}}, None),
        ({"test_result": "passed"}, None),
        ({}, None),
    ],
)
def test_success_is_what_the_record_says(more, success):
    assert _run(instance_id="i", **more).success is success


def test_a_resolvers_issue_is_the_task():
    issue = {"owner": "o", "repo": "r", "number": 3, "title": "t"}
    run = _run(_said("a"), issue=issue, success=True, result_explanation="Fixed.")
    assert (run.task_id, run.labels) == ("o/r#3", {"result_explanation": "Fixed."})
    assert _run(issue={}, success=True).task_id is None


def test_pairs_of_events_are_a_history_too():
    action = {"source": "agent", "action": "run", "args": {"command": "ls"}}
    result = {"observation": "run", "content": "no", "extras": {"exit_code": 1}}
    run = _run([action, result], [_said("Done."), {"observation": "null", "content": ""}])
    assert kinds(run) == ["llm_call", "tool_call", "final"]
    assert [(call.output, call.is_error) for call in calls(run)] == [("no", True)]


def test_what_cannot_land_is_refused():
    with pytest.raises(RejectError, match="missing_field"):
        decode("openhands_output", {"instance_id": "i"})


def test_sniff():
    assert sniff("openhands_output", {"instance_id": "i", "history": [ACT]})
    assert sniff("openhands_output", {"issue": {}, "history": [[ACT, SAW]]})
    assert sniff("openhands_output", {"instance_id": "i", "metadata": {}, "test_result": {}})
    assert sniff("openhands_output", {"instance_id": "i", "history": [{"role": "user"}]}) is None
    assert sniff("openhands_output", {"instance_id": "i", "model_patch": ""}) is None
    assert sniff("openhands_output", {"history": [ACT]}) is None


REAL = "openhands_output_jsonl/multi_swe_bench_examples_output.jsonl"


def test_figures_of_the_real_file(real_data, expected_figures):
    figures = expected_figures[REAL]
    runs = read("openhands_output", real_data(REAL)).runs
    made = [call for run in runs for call in calls(run)]
    assert len(runs) == figures["runs"] == 3
    assert len({run.task_id for run in runs}) == figures["distinct_cases"]
    assert len(made) == figures["tool_calls"] == 105
    assert len({call.tool_name for call in made}) == figures["distinct_tools"]
    used = [tokens(run) for run in runs]
    assert sum(read for read, _ in used) == figures["tokens_in"]
    assert sum(written for _, written in used) == figures["tokens_out"]
    missing = [call.tool_name for call in made if call.output is None]
    assert missing == ["finish"] * figures["oddities"]["call_without_result"]


def test_errors_of_the_real_file(real_data, expected_figures):
    """All of the figures' errors are found, and which of them are a call's.

    The figures count exit codes and error observations (21), and apart from them outputs that
    begin with ERROR (24). Two error observations answer no call: the model's call could not be
    read, and no action was made of it.
    """
    figures = expected_figures[REAL]
    runs = read("openhands_output", real_data(REAL)).runs
    failed = [c for run in runs for c in calls(run) if c.is_error]
    alone = [s for run in runs for s in run.steps if (s.labels or {}).get("orphan_result")]
    by_text = [c for c in failed if str(c.output).startswith("ERROR")]
    assert len(by_text) == figures["tool_errors_text_prefix"] == 24
    assert len(failed) - len(by_text) + len(alone) == figures["tool_errors"] == 21
    assert [step.error[:9] for step in alone] == ["Parameter"] * 2


def test_real_run_at_its_limit_is_no_failure_of_the_infrastructure(real_data):
    *_, last = read("openhands_output", real_data(REAL)).runs
    assert (last.status, last.completed) == ("ok", False)
    assert last.labels["error"].startswith("RuntimeError: Agent reached maximum iteration")


def test_claims_no_other_file(real_data):
    assert claimed("openhands_output", real_data("")) == {REAL}


def test_sample():
    new, old = read("openhands_output", SAMPLES / "openhands_output/output.jsonl").runs
    assert (new.success, old.success) == (False, False)
    assert [call.is_error for call in calls(old)] == [True, None]
    assert (old.task_id, old.started_at) == ("desk/tickets#12", None)


def test_when_a_history_ran_and_what_the_agent_was_told():
    at = "2026-05-04T12:00:0{}"
    system = {"source": "agent", "action": "system", "args": {"content": "P"}, "message": "Q"}
    run = _run(
        {**system, "timestamp": at.format(1)},
        {**_said("Done."), "timestamp": at.format(2)},
        base_commit="abc",
    )
    assert (run.started_at, run.ended_at) == (at.format(1), at.format(2))
    assert (run.prompt_hash, run.labels) == (prompt_hash("P"), {"base_commit": "abc"})
    told = [{"source": "user", "action": "message", "message": "Go"}, _said("Done.")]
    assert [(s.actor, s.content) for s in _run(*told).steps] == [("user", "Go"), ("agent", "Done.")]
    assert _run(_said("Done."), test_result={"report": {"resolved": "yes"}}).success is None


def test_whose_words_a_message_is_and_which():
    """The content counts, else what the program shows; what nobody is named for opens a run."""
    asked = {"action": "message", "args": {"content": "C"}, "message": "M"}
    told = [
        (s.actor, s.content) for s in _run(asked, _said("Done."), {**asked, "source": "user"}).steps
    ]
    assert told == [("user", "C"), ("agent", "Done."), ("user", "C")]
    system = {"source": "agent", "action": "system", "message": "Q"}
    assert _run(system, _said("Done.")).prompt_hash == prompt_hash("Q")
    assert _run({**system, "message": None}, _said("Done.")).prompt_hash is None

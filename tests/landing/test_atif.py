"""ATIF lands: one step holds the response, its calls and their results."""

from __future__ import annotations

import pytest

from pipeline.landing.model import RejectError
from tests.reading import SAMPLES, args, calls, claimed, decode, kinds, read


@pytest.mark.parametrize("folder", ["atif", "harbor_traces"])
def test_the_figures_of_the_real_files_come_out(folder, real_data, expected_figures):
    for path in sorted(real_data(folder).iterdir()):
        figures = expected_figures[f"{folder}/{path.name}"]
        runs = read("atif", path).runs
        made = [call for run in runs for call in calls(run)]
        steps = [step for run in runs for step in run.steps]
        assert len(runs) == figures["runs"], path.name
        assert len(made) == figures["tool_calls"]
        assert len({call.tool_name for call in made}) == figures["distinct_tools"]
        assert {call.is_error for call in made} <= {None}
        assert sum(step.input_tokens or 0 for step in steps) == figures.get("tokens_in", 0)
        assert sum(step.output_tokens or 0 for step in steps) == figures.get("tokens_out", 0)


def test_only_its_own_files_are_claimed(real_data):
    root = real_data("atif").parent
    own = {*root.glob("atif/*"), *root.glob("harbor_traces/*")}
    assert claimed("atif", root) == {str(path.relative_to(root)) for path in own}


def test_results_without_an_id_are_joined_by_order(real_data):
    name = "terminus_2__hello-world-context-summarization.trajectory.json"
    run = read("atif", real_data(f"atif/{name}")).run
    assert all(call.output for call in calls(run))


def test_results_without_a_call_are_kept(real_data):
    name = "terminus_2__hello-world-context-summarization-linear-history.trajectory.json"
    run = read("atif", real_data(f"atif/{name}")).run
    orphans = [step for step in run.steps if step.actor == "tool"]
    assert [step.labels for step in orphans] == [{"orphan_result": True}] * 3
    assert run.labels["continued_trajectory_ref"] == "trajectory.cont-1.json"
    assert "subagent_trajectory_ref" in run.steps[-1].labels
    assert run.run_id is None  # its continuation carries the same session's id


def test_the_sample_trajectory_teaches_the_format():
    run, inner = read("atif", SAMPLES / "atif/hotel.trajectory.json").runs
    assert kinds(run) == [
        *("message", "message", "llm_call", "tool_call", "tool_call"),
        *("llm_call", "tool_call", "final"),
    ]
    assert [(args(c), c.output) for c in calls(run)] == [
        ('{"city":"Olso"}', "no such city"),
        ('{"city":"Oslo"}', "Fjord Inn"),
        ('{"hotel":"Fjord Inn"}', "booked"),
    ]
    assert run.steps[1].content == "A room in Oslo,\nplease."
    assert [step.response_index for step in run.steps] == [None, None, 0, 0, 0, 1, 1, 2]
    assert (run.run_id, run.agent, run.agent_version) == ("traj-desk-7", "trip-agent", "0.4.1")
    assert (run.model, run.final_output) == ("aurora/aurora-mini", "Your room is booked.")
    assert run.steps[5].labels == {"subagent_trajectory_ref": [[{"session_id": "desk-7-mail"}]]}
    assert (inner.agent, inner.labels["parent_session"]) == ("mailer", "desk-7")
    assert inner.steps[0].labels == {"copied_context": True}


def test_the_sample_traces_teach_the_format():
    first, whole, failed = read("atif", SAMPLES / "atif/hotel.traces.json").runs
    assert (first.source_id, first.success, first.status) == ("hotel__1 episode-0", None, "ok")
    assert (whole.success, whole.reward, whole.final_output) == (True, 1.0, "Fjord Inn is free.")
    assert (failed.status, failed.success, failed.task_id) == ("error", None, "hotel")


def test_a_step_of_an_unknown_source_is_refused():
    with pytest.raises(RejectError, match="bad_value"):
        decode("atif", {"schema_version": "ATIF-v1.5", "steps": [{"source": "tool"}]})


def test_a_step_without_a_source_is_refused():
    with pytest.raises(RejectError, match="missing_field"):
        decode("atif", {"schema_version": "ATIF-v1.5", "steps": [{"message": "hi"}]})


def test_when_a_step_was_and_what_else_it_tells():
    at = "2026-05-04T12:00:00Z"
    step = {"step_id": 1, "source": "agent", "message": "Hi", "timestamp": at, "extra": {"n": 1}}
    agent = {"name": "a", "version": "1"}
    record = {"schema_version": "ATIF-v1.5", "session_id": "s", "agent": agent, "steps": [step]}
    (said,) = decode("atif", record).run.steps
    assert (said.started_at, said.labels) == (at, {"extra": {"n": 1}})

"""Inspect logs land: epochs are trials, long texts are put back, archives as plain JSON."""

from __future__ import annotations

import json
import zipfile

import pytest

from pipeline.landing.batch.chunks import Recognised, cut
from pipeline.landing.formats.inspect_log import FORMAT
from pipeline.landing.model import RejectError, Run, Task
from pipeline.landing.records.reader import Source
from tests.reading import SAMPLES, Items, args, calls, claimed, kinds, labels

SAMPLE = SAMPLES / "inspect_log/trip_desk.json"


def _read(path):
    source = Source(path, path.name)
    assert FORMAT.sniff(source.head)
    context = FORMAT.prepare(source)
    return Items(
        [item for piece in FORMAT.pieces(source) for item in FORMAT.decode(piece, context)]
    )


def _archive(path, *, header=True, cut_at=None):
    """Write the sample log as an archive."""
    log = json.loads(SAMPLE.read_text())
    found = log.pop("samples")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": log["eval"]}))
        for sample in found:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            archive.writestr(name, json.dumps(sample))
        if header:
            archive.writestr("header.json", json.dumps(log))
    if cut_at:
        path.write_bytes(path.read_bytes()[:cut_at])
    return path


@pytest.mark.parametrize("folder", ["inspect_json", "inspect_eval"])
def test_the_figures_of_the_real_files_come_out(folder, real_data, expected_figures):
    for path in sorted(real_data(folder).iterdir()):
        figures = expected_figures[f"{folder}/{path.name}"]
        runs = _read(path).runs
        made = [call for run in runs for call in calls(run)]
        steps = [step for run in runs for step in run.steps]
        assert len(runs) == figures["runs"], path.name
        assert len({run.task_id for run in runs}) == figures["distinct_cases"]
        assert len({run.trial for run in runs}) == figures["trials"]
        assert sum(run.success or False for run in runs) == figures.get("success", 0)
        assert len(made) == figures["tool_calls"]
        assert len({call.tool_name for call in made}) == figures["distinct_tools"]
        assert sum(call.is_error or False for call in made) == figures["tool_errors"]
        assert sum(step.input_tokens or 0 for step in steps) == figures.get("tokens_in", 0)
        assert sum(step.output_tokens or 0 for step in steps) == figures.get("tokens_out", 0)
        assert "attachment://" not in str([(s.content, s.output) for s in steps]), path.name


def test_only_its_own_files_are_claimed(real_data):
    root = real_data("inspect_json").parent
    own = {*root.glob("inspect_json/*"), *root.glob("inspect_eval/*")}
    assert claimed("inspect_log", root) == {str(path.relative_to(root)) for path in own}


def test_one_log_under_two_names_is_the_same_records(real_data):
    first, second = (
        [piece.data for piece in FORMAT.pieces(Source(path, path.name))]
        for path in sorted(real_data("inspect_json").glob("test_list_logs*"))
    )
    assert first == second
    assert first


def test_the_sample_teaches_the_format():
    found = _read(SAMPLE)
    right, wrong, failed = found.runs
    assert kinds(right) == [
        *("message", "message", "llm_call", "tool_call", "llm_call", "tool_call", "final"),
    ]
    assert [(c.is_error, c.error, c.output) for c in calls(right)] == [
        (True, "no answer in 30 s", ""),
        (False, None, "DY 1301"),
    ]
    assert args(calls(right)[0]) == '{"day":"Monday","to":"Oslo"}'
    assert right.steps[1].content == 'Which flight goes to "Oslo"\non Monday?'
    assert (right.run_id, right.trial, right.success, right.reward) == ("tripdeskoslo1", 0, True, 1)
    assert (wrong.trial, wrong.success, wrong.reward) == (1, False, 0)
    assert (failed.status, failed.success, failed.run_id) == ("error", None, None)
    assert {run.model for run in found.runs} == {"aurora/aurora-mini"}
    assert right.steps[-1].input_tokens == 420
    assert [(t.task_id, t.prompt, t.reference_outputs) for t in found.tasks[1:]] == [
        ("oslo", 'Which flight goes to "Oslo"\non Monday?', ["DY 1301"]),
        ("bergen", "Book Bergen.", ["done", "booked"]),
    ]


def _told(run):
    steps = [(s.kind, args(s), s.content, s.output, s.error, s.turn_index) for s in run.steps]
    return (steps, run.run_id, run.model, run.suite, run.success, run.labels, run.started_at)


@pytest.mark.parametrize("header", [True, False])
def test_an_archive_says_what_the_plain_log_says(tmp_path, header):
    found = _read(_archive(tmp_path / "log.eval", header=header))
    assert [_told(run) for run in found.runs] == [_told(run) for run in _read(SAMPLE).runs]


@pytest.mark.parametrize("make", [_archive, lambda path: path.write_bytes(SAMPLE.read_bytes())])
def test_records_are_read_again_from_their_places(tmp_path, make):
    path = tmp_path / "log"
    make(path)
    source = Source(path, "log")
    (chunk,) = cut([Recognised(source, "inspect_log", "")], "")
    again = [piece.data for part in chunk.slices for piece, _ in part.pieces()]
    assert again == [piece.data for piece in FORMAT.pieces(source)]
    assert len(again) == 3


def test_a_log_without_its_end_is_refused(tmp_path):
    path = _archive(tmp_path / "log.eval", cut_at=600)
    with pytest.raises(RejectError, match="archive cannot be unpacked"):
        _read(path)


def test_a_damaged_sample_is_refused_alone(tmp_path):
    path = _archive(tmp_path / "log.eval")
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("samples/oslo_epoch_2.json")
    data = bytearray(path.read_bytes())
    data[info.header_offset + 30 + len(info.filename) + 20] ^= 0xFF
    path.write_bytes(data)
    source = Source(path, path.name)
    landed, refused = 0, []
    for piece in FORMAT.pieces(source):
        try:
            landed += len([x for x in FORMAT.decode(piece, None) if isinstance(x, Run)])
        except RejectError as error:
            refused.append(error.detail)
    assert (landed, refused) == (2, ["samples/oslo_epoch_2.json cannot be unpacked"])


@pytest.mark.parametrize(
    ("scores", "success", "reward"),
    [
        ({"a": {"value": 1}, "b": {"value": "C"}}, True, 1.0),
        ({"a": {"value": True}, "b": {"value": "I"}}, False, 1.0),
        ({"a": {"value": "P"}}, False, 0.5),
        ({"a": {"value": 7}}, None, 7.0),
        ({"a": {"value": 0.25}}, False, 0.25),
        ({"a": {"value": {"x": 1}}}, None, None),
        (None, None, None),
    ],
)
def test_scores_are_success_and_reward(tmp_path, scores, success, reward):
    log = {"version": 2, "eval": {"task": "t", "model": "m"}}
    log["samples"] = [{"id": 1, "epoch": 1, "messages": [], "scores": scores}]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    found = _read(path)
    assert (found.run.success, found.run.reward) == (success, reward)
    assert found.task == Task(task_id="1", suite="t")


def _sample(tmp_path, *messages, log=None, **more):
    """Return what one sample lands as."""
    told = {"version": 2, "eval": {"task": "t", "model": "m", **(log or {})}}
    told["samples"] = [{"id": "a", "epoch": 2, "messages": list(messages), **more}]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(told))
    return _read(path)


def _called(call_id, error=None):
    call = {"id": call_id, "function": "f", "arguments": {}, "type": "function"}
    answer = {
        "role": "tool",
        "tool_call_id": call_id,
        "function": "f",
        "content": "",
        "error": error,
    }
    return {"role": "assistant", "content": "", "tool_calls": [call]}, answer


def test_what_a_log_tells_of_a_sample(tmp_path):
    log = {"eval_id": "e", "created": "2026-05-04T10:00:00Z"}
    end = "2026-05-04T10:00:09Z"
    found = _sample(
        tmp_path, log=log, target=["a", ""], metadata={"level": 3}, score={"value": "C"},
        completed_at=end,
    )  # fmt: skip
    run, task = found.run, found.task
    assert (run.run_id, run.source_id, run.suite, run.trial) == (None, "a epoch 2", "t", 1)
    assert (run.started_at, run.ended_at, run.completed) == (log["created"], end, None)
    assert (run.success, run.reward, labels(run)) == (True, 1.0, {"eval_id": "e", "level": 3})
    assert task.reference_outputs == ["a"]
    run = _sample(tmp_path, log=log, started_at=end, limit={"type": "time"}, target="").run
    assert (run.started_at, run.completed) == (end, False)


def test_what_failed_calls_say_is_of_each_call(tmp_path):
    """Of a fault its message, else its type; one without a fault failed in nothing."""
    faults = {"timeout": "slow"}, None, {"type": "parsing", "message": ""}
    faults = ({"type": "timeout", "message": "slow"}, *faults[1:])
    turns = [_called(f"c{at}", fault) for at, fault in enumerate(faults)]
    asked, answers = zip(*turns, strict=True)
    run = _sample(tmp_path, *asked, *reversed(answers)).run
    assert [(call.is_error, call.error) for call in calls(run)] == [
        (True, "slow"), (False, None), (True, "parsing")
    ]  # fmt: skip


def test_a_call_that_a_vendor_ran_and_an_error_that_says_nothing(tmp_path):
    ran = {"type": "tool_use", "tool_type": "web_search", "id": 7, "arguments": "{}", "result": "r"}
    parts = [{**ran, "error": ""}, {**ran, "id": [1], "error": "no"}, {"type": "text", "text": "A"}]
    found = calls(_sample(tmp_path, {"role": "assistant", "content": parts}).run)
    assert [(c.tool_name, c.is_error, c.error) for c in found] == [
        ("web_search", False, None), ("web_search", True, "no")
    ]  # fmt: skip
    assert [(call.output, call.call_id) for call in found] == [("r", "7"), ("r", None)]


def test_words_calls_and_calls_that_a_vendor_ran_in_one_turn(tmp_path):
    ran = {"type": "tool_use", "tool_type": "web_search", "id": "s", "result": "r"}
    turn, answer = _called("c")
    turn["content"] = [{"type": "text", "text": "A"}, ran, {"type": "text", "text": "B"}]
    run = _sample(tmp_path, turn, answer).run
    assert [step.content for step in run.steps if step.kind == "llm_call"] == ["A\nB"]
    assert [call.tool_name for call in calls(run)] == ["web_search", "f"]
    run = _sample(tmp_path, {**turn, "tool_calls": None}).run
    assert [(step.kind, step.content) for step in run.steps] == [
        ("llm_call", "A"), ("tool_call", None), ("final", "B")
    ]  # fmt: skip

"""tau2-bench's directories land: tasks from the results, a run from each simulation."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest
from making import runs_of

from pipeline.landing.formats.tau2_directory import FORMAT
from pipeline.landing.land import land
from pipeline.landing.records.reader import Source
from tests.reading import SAMPLES, Items, args, calls, claimed, expectation, kinds

FOLDER = SAMPLES / "tau2_directory"


def _read(path):
    source = Source(path, path.name)
    assert FORMAT.sniff(source.head)
    context = FORMAT.prepare(source)
    return Items([x for piece in FORMAT.pieces(source) for x in FORMAT.decode(piece, context)])


def _simulation(tmp_path, **changes):
    (path,) = (FOLDER / "simulations").iterdir()
    (tmp_path / "simulations").mkdir(exist_ok=True)
    (tmp_path / "results.json").write_bytes((FOLDER / "results.json").read_bytes())
    written = tmp_path / "simulations" / path.name
    written.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return _read(written).run


def test_the_figures_of_the_real_directory_come_out(real_data, expected_figures):
    root = real_data("tau2_voice_dir")
    results = _read(root / "results.json")
    assert len(results.runs) == expected_figures["tau2_voice_dir/results.json"]["runs"] == 0
    (path,) = (root / "simulations").iterdir()
    run = _read(path).run
    figures = expected_figures[f"tau2_voice_dir/simulations/{path.name}"]
    assert len(calls(run)) == figures["tool_calls"]
    assert figures["runs"] == figures["distinct_cases"] == 1
    assert (run.run_id, run.task_id, run.trial) == (path.stem, "40", 0)
    assert (run.model, run.suite) == ("openai:gpt-realtime-2", "retail")
    assert (run.status, run.completed, run.success) == ("ok", True, None)


def test_only_its_own_files_are_claimed(real_data):
    root = real_data("tau2_voice_dir").parent
    own = {str(p.relative_to(root)) for p in root.glob("tau2_voice_dir/**/*.json")}
    assert claimed("tau2_directory", root) == own


def test_the_results_hold_the_tasks():
    task = _read(FOLDER / "results.json").task
    assert (task.task_id, task.suite, task.prompt) == ("7", "hotel", "Book Fjord Inn.")
    assert expectation(task) == [[("book_hotel", '{"hotel":"Fjord Inn"}', None)]]


def test_ticks_are_put_together_into_messages(tmp_path):
    run = _simulation(tmp_path)
    assert kinds(run) == ["message", *["llm_call", "tool_call"] * 2, "final"]
    assert run.steps[0].content == "Book Fjord Inn, please."
    assert [(args(c), c.output, c.is_error) for c in calls(run)] == [
        ('{"hotel":"Fjord In"}', "Error: no such hotel", True),
        ('{"hotel":"Fjord Inn"}', "booked", False),
    ]
    assert (run.final_output, run.success, run.agent) == ("It is booked.", True, "voice_agent")
    assert run.agent_version == "a1b2c3"


def test_what_was_checked_counts_before_what_the_task_says(tmp_path):
    checks = [{"action": {"name": "cancel_hotel", "arguments": {}}, "action_match": False}]
    run = _simulation(tmp_path, reward_info={"reward": 0.0, "action_checks": checks})
    assert expectation(run) == [[("cancel_hotel", "{}", None)]]
    # Without checks the run has no references of its own: its task's count.
    assert expectation(_simulation(tmp_path, reward_info=None)) is None


def test_a_simulation_far_from_its_results_lands(tmp_path):
    (path,) = (FOLDER / "simulations").iterdir()
    alone = tmp_path / "a" / path.name
    alone.parent.mkdir()
    alone.write_bytes(path.read_bytes())
    run = _read(alone).run
    assert (run.model, run.task_id, len(calls(run))) == (None, "7", 2)


def test_messages_are_read_where_a_simulation_has_them(tmp_path):
    messages = [{"role": "assistant", "content": "Good day."}]
    assert _simulation(tmp_path, messages=messages).final_output == "Good day."


@pytest.mark.parametrize("packed", ["simulations", "all"])
def test_packed_simulations_find_their_results(packed, tmp_path):
    """As `gzip -r` leaves them: the results beside them say model, suite and version."""
    home = tmp_path / "run"
    shutil.copytree(FOLDER, home)
    (path,) = (home / "simulations").iterdir()
    for file in [path] if packed == "simulations" else [path, home / "results.json"]:
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    land([home], tmp_path / "lake", workers=1)
    (run,) = runs_of(tmp_path / "lake").rows(named=True)
    assert (run["agent"], run["agent_version"], run["suite"]) == ("voice_agent", "a1b2c3", "hotel")

"""How a run begins and ends, and what is refused."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from pipeline.errors import InputError, RecordError
from pipeline.landing.land import land
from pipeline.record import Recorder, RecordWarning
from pipeline.workbench import query

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def fails() -> None:
    raise ValueError("boom")


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_an_exception_is_recorded_and_goes_on(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="boom"), Recorder(tmp_path / "r.jsonl"):
        fails()
    (line,) = lines(tmp_path / "r.jsonl")
    assert (line["status"], line["completed"]) == ("error", False)
    assert line["labels"] == {"exception": "ValueError: boom"}
    assert line["steps"] == []


@pytest.mark.parametrize("cut", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_a_run_that_is_cut_off_is_incomplete(tmp_path: Path, cut: type[BaseException]) -> None:
    with pytest.raises(cut), Recorder(tmp_path / "r.jsonl"):
        raise cut
    assert lines(tmp_path / "r.jsonl")[0]["status"] == "incomplete"


def test_without_a_final_nothing_is_said_of_completion(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r.jsonl") as run:
        run.llm_call("Hm.")
    (line,) = lines(tmp_path / "r.jsonl")
    assert "completed" not in line
    assert "final_output" not in line
    assert [step["kind"] for step in line["steps"]] == ["llm_call"]


def test_a_final_that_was_told_is_the_answer(tmp_path: Path) -> None:
    said = {"role": "assistant", "content": "Bye."}
    with Recorder(tmp_path / "r.jsonl") as run:
        run.final("Two.")
        run.loop().response({"choices": [{"message": said}]})
    assert [step["kind"] for step in run.record["steps"]] == ["final", "llm_call"]
    assert run.record["final_output"] == "Two."


def test_the_system_prompt_is_hashed_once_and_not_kept(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r.jsonl") as run:
        run.message("system", "Be brief.")
        run.message("system", "Be long.")
    assert run.record["prompt_hash"] == "dcc6603fbb443011"


def test_what_is_given_may_change_afterwards(tmp_path: Path) -> None:
    args, output = {"q": ["x"]}, {"hits": [1]}
    with Recorder(tmp_path / "r.jsonl") as run:
        run.tool_call("search", args, output)
        args["q"].append("y")
        output.clear()
    (step,) = run.record["steps"]
    assert (step["tool_args"], step["output"]) == ({"q": ["x"]}, {"hits": [1]})


def test_a_run_begins_in_a_with_statement_and_once(tmp_path: Path) -> None:
    run = Recorder(tmp_path / "r.jsonl", run_id="r1")
    with pytest.raises(InputError, match="has not begun"):
        run.llm_call("Hm.")
    with run:
        pass
    with pytest.raises(InputError, match="'r1' has begun already"), run:
        pass
    with pytest.raises(InputError, match="has ended"):
        run.tool_call("search")


@pytest.mark.parametrize(
    "tell",
    [
        lambda run: run.tool_call("search"),
        lambda run: run.message("user", "Hi"),
        lambda run: run.final("Two."),
        lambda run: run.outcome(success=True),
    ],
    ids=["tool_call", "message", "final", "outcome"],
)
def test_nothing_is_told_of_a_run_before_it_begins(tmp_path: Path, tell: Callable) -> None:
    run = Recorder(tmp_path / "r.jsonl")
    with pytest.raises(InputError, match="has not begun"):
        tell(run)
    with run:
        assert run.record["steps"] == []
    assert "success" not in run.record


def test_what_an_outcome_does_not_say_stays_as_it_was(tmp_path: Path) -> None:
    said = {"success": True, "reward": 0.5, "completed": False, "final_state": {"n": 1}}
    with Recorder(tmp_path / "r.jsonl", labels={"a": 1}) as run:
        run.outcome(**said, labels={"b": 2})
        run.outcome()
        run.final("Two.")
        assert said.items() <= run.record.items()
    assert said.items() <= run.record.items()
    assert run.record["labels"] == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"input_tokens": "many"}, "input_tokens is 'many'; a whole number was expected"),
        ({"cost_usd": []}, r"cost_usd is \[\]; a number was expected"),
        (
            {"input_tokens": 2**63},
            r"input_tokens is 92\d+; a whole number below 2\^63 was expected",
        ),
        ({"response_index": -1}, "response_index is -1; a whole number from 0"),
        ({"duration_ms": "long"}, "duration_ms is 'long'; a number was expected"),
    ],
)
def test_a_number_that_is_none_is_refused(tmp_path: Path, told: dict, message: str) -> None:
    with Recorder(tmp_path / "r.jsonl") as run, pytest.raises(InputError, match=message):
        run.llm_call("Hm.", **told)


@pytest.mark.parametrize(
    ("error", "failed"),
    [(None, False), (False, False), ("", False), (True, True), ("sold out", True), (0, True)],
)
def test_what_tells_of_an_error(tmp_path: Path, error: object, failed: bool) -> None:
    with Recorder(tmp_path / "r.jsonl", trial="3") as run:
        run.tool_call("book", error=error)
    assert run.record["steps"][0]["is_error"] is failed
    assert run.record["trial"] == 3


def test_names_may_be_of_any_type_and_land(tmp_path: Path) -> None:
    """Versions are often numbers, ids are UUIDs, and models may write half of a surrogate pair."""
    names = {"suite": 5, "agent": UUID(int=7), "agent_version": 1.2, "model": "m\ud800"}
    with Recorder(
        tmp_path / "r.jsonl", run_id=9, task_id=3, system_prompt="\ud800", **names
    ) as run:
        run.tool_call("t\ud800", call_id=4, actor=5, response_index=1.0, labels={"\ud800": 1})
        run.message(6, "Hi")
    assert land([tmp_path / "r.jsonl"], tmp_path / "lake").rejects.total() == 0
    columns = "run_id, task_id, suite, agent, agent_version, model"
    asked = f"SELECT {columns} FROM runs"  # noqa: S608 - columns of this test
    assert query(tmp_path / "lake", asked).rows.rows() == [
        ("9", "3", "5", str(UUID(int=7)), "1.2", "m?")
    ]
    asked = "SELECT tool_name, call_id, actor, response_index, labels FROM steps ORDER BY ALL"
    assert query(tmp_path / "lake", asked).rows.rows() == [
        ("t?", "4", "5", 1, '{"?":1}'),
        (None, None, "6", None, None),
    ]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"trial": -1}, "trial is -1; a whole number from 0 below 2\\^32 was expected"),
        ({"trial": 1.5}, "trial is 1.5; a whole number from 0"),
        (
            {"expected": "book"},
            "expected: wrong_type: .* got `str` .* is \"book\"; a list of {'tool_name'",
        ),
        ({"expected": [{"tool": "book"}]}, "expected: wrong_type: .* unknown field `tool`"),
    ],
)
def test_what_landing_would_refuse_is_refused_before_the_run(
    tmp_path: Path, told: dict, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Recorder(tmp_path / "r.jsonl", **told)


def test_a_file_that_cannot_be_written_is_told_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match="cannot record here"), Recorder(tmp_path / "file" / "r"):
        pytest.fail("the run began")


def test_a_line_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").mkdir()
    with pytest.raises(RecordError, match="Is a directory"), Recorder(tmp_path / "r.jsonl"):
        pass


def test_the_agents_exception_comes_first(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").mkdir()
    with (
        pytest.warns(RecordWarning, match="run 'r1' is lost"),
        pytest.raises(ValueError, match="boom"),
        Recorder(tmp_path / "r.jsonl", run_id="r1"),
    ):
        fails()


def test_a_clean_run_leaves_nothing_but_its_line(tmp_path: Path) -> None:
    with warnings.catch_warnings(), Recorder(tmp_path / "r.jsonl"):
        assert len(list((tmp_path / ".r.jsonl.open").glob("*.json"))) == 1
    assert list((tmp_path / ".r.jsonl.open").glob("*.json")) == []


def test_recording_loads_no_engine() -> None:
    program = (
        "import pipeline.record, sys; "
        "print({'polars', 'duckdb', 'pyarrow', 'numpy', 'openai', 'anthropic'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "set()"

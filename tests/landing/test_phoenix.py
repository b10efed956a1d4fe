"""Phoenix's Parquet lands: rows in batches, attributes as columns, lists and missing values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pytest
from making import runs_of, steps_of
from reading import SAMPLES, args, calls, claimed, kinds, labels, read
from tracing import bodies

from pipeline.errors import UnrecognisedError
from pipeline.landing.formats import get
from pipeline.landing.land import land
from pipeline.landing.records import tabular
from pipeline.landing.records.reader import Source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.landing.model import Run

START = datetime(2026, 1, 1, 8, tzinfo=UTC)


def _row(
    number: int, kind: str, name: str = "x", trace: str = "t1", **attributes: Any
) -> dict[str, Any]:
    begin = START + timedelta(seconds=number)
    return {
        "name": name,
        "span_kind": kind,
        "parent_id": None,
        "start_time": begin,
        "end_time": begin + timedelta(seconds=0.5),
        "status_code": "OK",
        "status_message": "",
        "context.trace_id": trace,
        "context.span_id": f"s{number}",
        **{f"attributes.{key.replace('__', '.')}": value for key, value in attributes.items()},
    }


def _write(path: Path, *rows: dict[str, Any]) -> Path:
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    return path


def _run(tmp_path: Path, *rows: dict[str, Any]) -> Run:
    return read("phoenix", _write(tmp_path / "s.parquet", *rows)).run


ASKED = [
    {
        "message.role": "assistant",
        "message.tool_calls": [
            {
                "tool_call.id": "c",
                "tool_call.function.name": "f",
                "tool_call.function.arguments": '{"a.b": 1}',
            }
        ],
    }
]


def test_messages_as_lists_and_tokens_as_floats(tmp_path: Path) -> None:
    run = _run(
        tmp_path,
        _row(2, "TOOL", "f", tool__name="f", output__value="r"),
        _row(
            1,
            "LLM",
            llm__model_name="m",
            llm__input_messages=[{"message.role": "user", "message.content": "Go"}],
            llm__output_messages=ASKED,
            llm__token_count__prompt=7.0,
            llm__token_count__completion=float("nan"),
        ),
    )
    assert kinds(run) == ["message", "llm_call", "tool_call"]
    (call,) = calls(run)
    assert (args(call), call.call_id, call.output) == ('{"a.b":1}', "c", "r")
    assert (run.steps[1].input_tokens, run.steps[1].output_tokens) == (7, None)
    assert (run.model, call.duration_ms) == ("m", 500.0)


def test_attributes_of_other_vocabularies_are_objects(tmp_path: Path) -> None:
    told = {"operation": {"name": "execute_tool"}, "tool": {"name": "f", "call": {"id": "c"}}}
    run = _run(tmp_path, _row(1, "UNKNOWN", gen_ai=told))
    assert [(call.tool_name, call.call_id) for call in calls(run)] == [("f", "c")]


def test_an_index_that_pandas_kept_is_no_field(tmp_path: Path) -> None:
    spans = pd.DataFrame([_row(1, "LLM", llm__cost__total=0.5)]).drop(columns="parent_id")
    path = tmp_path / "s.parquet"
    spans.set_index("context.span_id", drop=False).rename_axis(None).to_parquet(path)
    assert "__index_level_0__" in pl.read_parquet_schema(path)
    land([path], tmp_path / "lake", workers=1)
    (step,) = steps_of(tmp_path / "lake").to_dicts()
    assert step["cost_usd"] == 0.5
    assert step["labels"] == '{"span_id":"s1"}'


def test_errors(tmp_path: Path) -> None:
    failed = {"status_code": "ERROR", "status_message": "no"}
    run = _run(tmp_path, {**_row(1, "TOOL", "f"), **failed}, _row(2, "TOOL", "g"))
    assert [(c.is_error, c.error) for c in calls(run)] == [(True, "no"), (False, None)]


def test_traces_mixed_over_many_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trace is handed over whole, when its last row was read."""
    monkeypatch.setattr(tabular, "BATCH_ROWS", 3)
    rows = [_row(at, "TOOL", "f", trace=f"t{at % 4}") for at in range(40)]
    path = _write(tmp_path / "s.parquet", *rows)
    assert {run.run_id: len(calls(run)) for run in read("phoenix", path).runs} == {
        f"t{at}": 10 for at in range(4)
    }
    bodies("phoenix", path)
    report = land([path], tmp_path / "lake")
    assert (report.runs, report.calls) == (4, 40)
    assert runs_of(tmp_path / "lake")["source_line"].to_list() == [1, 2, 3, 4]
    assert (
        steps_of(tmp_path / "lake")["started_at"].is_sorted() is False
    )  # four runs, each in order


def test_a_table_without_spans_is_not_recognised(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(UnrecognisedError, match="no format has records with"):
        land([tmp_path / "x.parquet"], tmp_path / "lake")


def test_a_damaged_file_is_not_recognised(tmp_path: Path) -> None:
    path = _write(tmp_path / "s.parquet", _row(1, "TOOL"))
    path.write_bytes(path.read_bytes()[:-20])
    assert get("phoenix").sniff(Source(path, path.name).head) is None


def test_rows_that_a_damaged_file_does_not_give_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of the first row group land; the second's bytes are damaged."""
    monkeypatch.setattr(tabular, "BATCH_ROWS", 2)
    rows = [_row(at, "TOOL", "f" * 400, trace=f"t{at}") for at in range(4)]
    pl.DataFrame(rows).write_parquet(tmp_path / "s.parquet", row_group_size=2, compression="zstd")
    data = bytearray((tmp_path / "s.parquet").read_bytes())
    places = [at for at in range(len(data)) if data[at : at + 4] == b"\x28\xb5\x2f\xfd"]
    names_of_the_second_group = places[len(places) // 2]
    data[names_of_the_second_group : names_of_the_second_group + 4] = b"oops"
    (tmp_path / "s.parquet").write_bytes(data)
    report = land([tmp_path / "s.parquet"], tmp_path / "lake", workers=1)
    assert dict(report.rejects) == {"damaged_archive": 1}
    assert report.runs <= 2


def test_claims_no_real_file(real_data: Callable[[str], Path]) -> None:
    assert claimed("phoenix", real_data("")) == set()


def test_sample() -> None:
    """Two parallel calls, one of which failed, and a repeat with another argument."""
    run = read("phoenix", SAMPLES / "phoenix" / "invoice_desk.parquet").run
    assert [(c.tool_name, args(c), c.is_error, c.response_index) for c in calls(run)] == [
        ("get_invoice", '{"stay":88}', False, 0),
        ("get_address", '{"stay":88}', True, 0),
        ("get_address", '{"source":"booking","stay":88}', False, 1),
    ]
    assert (run.agent, run.final_output) == ("invoice_desk", "Sent.")


def test_parents_and_failures_without_words(tmp_path: Path) -> None:
    failed = {"parent_id": "s1", "status_code": "ERROR", "odd": 1}
    inner = {**_row(2, "TOOL", tool__name="g"), **failed}
    run = _run(tmp_path, _row(1, "TOOL", tool__name="f"), inner, _row(3, "CHAIN"))
    assert [(c.parent_step, c.is_error, c.error) for c in calls(run)] == [
        (None, False, None), (0, True, None)
    ]  # fmt: skip
    assert (labels(calls(run)[1]) or {})["odd"] == 1
    assert read("phoenix", _write(tmp_path / "c.parquet", _row(1, "CHAIN"))).runs == []


def test_messages_told_as_events(tmp_path: Path) -> None:
    message = '{"role": "assistant", "content": "Hi"}'
    said = {"name": "gen_ai.choice", "attributes": {"message": message}}
    row = {**_row(1, "", gen_ai__operation__name="chat"), "events": [said]}
    assert [step.content for step in _run(tmp_path, row).steps] == ["Hi"]

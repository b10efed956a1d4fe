"""What becomes of a field no format knows: masked, cut, counted, and no part of who a run is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from lakes import trajtab
from making import runs_of, steps_of, write

from pipeline.landing.batch import rows
from pipeline.landing.land import land
from pipeline.landing.unknown.unmapped import LONGEST
from pipeline.redact import redact

if TYPE_CHECKING:
    from pathlib import Path

MAIL = "ada@example.org"
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "3"}


def _chat(*more: dict[str, Any], **fields: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [CALL]}]
    return {"id": "r", "messages": [*said, *(more or [RESULT])], **fields}


def _landed(tmp_path: Path, *records: dict[str, Any], **options: Any) -> Any:
    """Land chats; return the report, the labels of the first run and those of its call."""
    lake = tmp_path / "lake"
    report = land([write(tmp_path / "a.jsonl", records)], lake, workers=1, **options)
    calls = steps_of(lake).filter(kind="tool_call")
    return report, *(json.loads(t["labels"][0] or "{}") for t in (runs_of(lake), calls))


def test_values_keep_their_types_and_a_null_says_nothing(tmp_path: Path) -> None:
    new = {"n": 1.0, "big": 2**70, "list": [1, {"b": None}], "no": False, "nothing": None}
    _, run, call = _landed(tmp_path, _chat({**RESULT, "new": new}, **new))
    del new["nothing"]
    assert run == new
    assert call == {"result.new": {**new, "nothing": None}}


def test_a_long_value_is_cut_to_its_length(tmp_path: Path) -> None:
    text = "x" * LONGEST
    _, run, _ = _landed(tmp_path, _chat(short=text[:-2], long=text[:-1]))
    assert run == {"short": text[:-2], "long": f"[{LONGEST + 1} bytes, not kept]"}


def test_several_values_of_a_name_are_a_list_of_the_distinct_ones(tmp_path: Path) -> None:
    expected = [{"name": "f", "new": new} for new in (1, 1.0, "1", 1, True)]
    _, run, _ = _landed(tmp_path, _chat(expected=expected))
    assert run == {"expected.new": [1, 1.0, "1", True]}
    assert [type(value) for value in run["expected.new"]] == [int, float, str, bool]


def test_many_values_of_a_name_are_cut_to_their_number(tmp_path: Path) -> None:
    expected = [{"name": "f", "new": str(new)} for new in range(1000)]
    _, run, _ = _landed(tmp_path, _chat(expected=expected))
    # Ten, ninety and nine hundred of 3, 4 and 5 characters, and commas and brackets around.
    size = 10 * 3 + 90 * 4 + 900 * 5 + 999 + 2
    assert run == {"expected.new": f"[1000 values, {size} bytes, not kept]"}


def test_a_label_of_the_same_name_stays_and_the_field_stands_beside_it(tmp_path: Path) -> None:
    _, run, _ = _landed(tmp_path, _chat(team="a", labels={"team": "b"}))
    assert run == {"team": "b", "unmapped.team": "a"}


def test_no_field_passes_for_a_span_of_a_trace(tmp_path: Path) -> None:
    record = _chat()
    record["messages"][1]["tool_calls"] = [{**CALL, "span_id": "s"}]
    _, _, call = _landed(tmp_path, record)
    assert call == {"unmapped.span_id": "s"}


def test_arguments_beside_an_unknown_field_stay_as_logged(tmp_path: Path) -> None:
    given = '{"b":1.0,"a":12345678901234567890123}'
    text = json.dumps(_chat(new=1)).replace('"arguments": "{}"', f'"arguments": {given}')
    (tmp_path / "a.jsonl").write_text(text)
    land([tmp_path / "a.jsonl"], tmp_path / "lake", workers=1)
    call = steps_of(tmp_path / "lake").filter(kind="tool_call")
    assert call["tool_args"].to_list() == ['{"a":12345678901234567890123,"b":1.0}']


def test_secrets_are_masked(tmp_path: Path) -> None:
    secret = {"by": MAIL, "password": "open sesame", MAIL: 1}
    record = _chat({**RESULT, "new": secret}, new=secret, **{MAIL: 1, "api_key": "hunter2"})
    report, run, call = _landed(tmp_path, record, redact=True)
    assert (MAIL in run, run["api_key"], MAIL in str(report.unmapped)) == (
        False,
        "[redacted]",
        False,
    )
    for told in (run["new"], call["result.new"]):
        assert MAIL not in json.dumps(told)
        assert "open sesame" not in json.dumps(told)
        assert "by" in told


@pytest.mark.parametrize(("drop", "kept"), [("outputs", "contents"), ("contents", "outputs")])
def test_what_is_dropped_is_not_kept_as_a_label(tmp_path: Path, drop: str, kept: str) -> None:
    record = _chat({**RESULT, "new": "output"})
    record["messages"][0]["new"] = "content"
    _, _, call = _landed(tmp_path, record, drop=[drop])
    said = json.loads(steps_of(tmp_path / "lake")["labels"][0])
    told = {"outputs": call["result.new"], "contents": said["new"]}
    assert told == {drop: "[dropped]", kept: kept.removesuffix("s")}


def test_the_report_counts_records_by_format_and_field(tmp_path: Path) -> None:
    other = {**_chat(new=1), "id": "q"}
    report, _, _ = _landed(tmp_path, _chat({**RESULT, "new": 1}, new=2), other)
    assert report.unmapped == {"openai_chat": {"new": 2, "result.new": 1}}


def test_land_says_so_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = {f"f{n:02}": n for n in range(12)}
    path = write(tmp_path / "a.jsonl", [_chat(**many), {**_chat(f00=1), "id": "q"}])
    assert trajtab("land", path, "--lake", tmp_path / "lake", "--format", "json") == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    named = ", ".join(["f00 (2)", *(f"f{n:02} (1)" for n in range(1, 10))])
    assert notes == [
        f"labels keep 12 fields not known to openai_chat, in so many records: {named}, 2 more"
    ]


def test_a_longer_export_with_a_new_field_supersedes(tmp_path: Path) -> None:
    short, lake = _chat(), tmp_path / "lake"
    long = _chat(RESULT, {"role": "assistant", "content": "3", "new": 1}, new=1)
    for name, record in (("a", short), ("b", long), ("c", short)):
        land([write(tmp_path / f"{name}.jsonl", [record])], lake, workers=1)
    runs = runs_of(lake)
    assert (runs["n_rows"].to_list(), runs["labels"].to_list()) == ([4], ['{"new":1}'])


def test_the_same_run_with_a_new_field_is_still_one(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for name, record in (("a", _chat()), ("b", _chat({**RESULT, "new": 1}, new=2))):
        land([write(tmp_path / f"{name}.jsonl", [record])], lake, workers=1)
    assert runs_of(lake)["labels"].to_list() == ['{"new":2}']


def test_parts_of_a_trace_that_land_apart_keep_their_new_fields(tmp_path: Path) -> None:
    trace = {"object": "trace", "id": "trace_1", "workflow_name": "w", "new": "trace"}
    span = {"object": "trace.span", "trace_id": "trace_1", "started_at": "2026-05-04T10:00:00Z"}
    asked = {**span, "id": "s1", "span_data": {"type": "generation", "output": []}, "new": "llm"}
    ran = {**span, "id": "s2", "span_data": {"type": "function", "name": "f"}, "new": "tool"}
    for name, items in (("a", [trace, asked]), ("b", [ran])):
        land([write(tmp_path / f"{name}.jsonl", items)], tmp_path / "lake", workers=1)
    runs, steps = runs_of(tmp_path / "lake"), steps_of(tmp_path / "lake")
    assert [json.loads(text)["new"] for text in runs["labels"]] == ["trace"]
    labels = {kind: json.loads(text)["new"] for kind, text in steps.select("kind", "labels").rows()}
    assert labels == {"llm_call": "llm", "tool_call": "tool"}


def test_a_name_that_many_records_have_is_masked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def spied(text: str) -> str:
        asked.append(text)
        return redact(text)

    monkeypatch.setattr(rows, "redact", spied)
    long, mail = "x" * (rows.LONG_NAME + 1), f"of {MAIL}"
    records = [{**_chat(**{long: 1, mail: 2, "masked_once": 3}), "id": f"r{i}"} for i in range(9)]
    report, *_ = _landed(tmp_path, *records)
    assert (
        dict.fromkeys([long, "of [redacted]", "masked_once"], 9) == report.unmapped["openai_chat"]
    )
    assert [asked.count(name) for name in (long, mail, "masked_once")] == [9, 1, 1]

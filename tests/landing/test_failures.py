"""What failed spans say: their status, else the exception they recorded, in every format of spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from reading import calls, read
from tracing import lines, pairs, span

if TYPE_CHECKING:
    from pathlib import Path

TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"}
RAISED = {"exception.type": "KeyError", "exception.message": "'id'"}


def _otlp(path: Path, message: str, event: str, said: dict[str, Any], own: dict[str, Any]) -> Path:
    one = span("f", events=[{"name": event, "attributes": pairs(said)}])
    one["attributes"] = pairs({**TOOL, **own})
    one["status"] = {"code": 2, "message": message}
    return lines(path / "t.jsonl", {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]})


def _jaeger(
    path: Path, message: str, event: str, said: dict[str, Any], own: dict[str, Any]
) -> Path:
    tags = {**TOOL, "otel.status_code": "ERROR", "otel.status_description": message, **own}
    one = {
        "spanID": "a", "operationName": "f", "startTime": 1, "duration": 1, "processID": "p",
        "tags": [{"key": key, "value": value} for key, value in tags.items()],
        "logs": [{"fields": [{"key": k, "value": v} for k, v in {"event": event, **said}.items()]}],
    }  # fmt: skip
    trace = {"traceID": "t", "spans": [one], "processes": {"p": {"serviceName": "desk"}}}
    return lines(path / "t.json", {"data": [trace]})


def _printed(
    path: Path, message: str, event: str, said: dict[str, Any], own: dict[str, Any]
) -> Path:
    return lines(
        path / "t.jsonl",
        {
            "name": "f",
            "context": {"trace_id": "0xabc", "span_id": "0x01"},
            "status": {"status_code": "ERROR", "description": message},
            "attributes": {**TOOL, **own},
            "events": [{"name": event, "attributes": said}],
        },
    )


def _phoenix(
    path: Path, message: str, event: str, said: dict[str, Any], own: dict[str, Any]
) -> Path:
    row = {
        "name": "f", "start_time": "2026-01-01T00:00:00Z", "span_kind": "TOOL", "context.trace_id": "t", "context.span_id": "s",
        "status_code": "ERROR", "status_message": message,
        "events": [{"name": event, "attributes": said}],
        "attributes.tool.name": "f",
        **{f"attributes.{name}": value for name, value in own.items()},
    }  # fmt: skip
    pl.DataFrame([row]).write_parquet(path / "t.parquet")
    return path / "t.parquet"


@pytest.mark.parametrize(
    ("form", "write"),
    [
        ("otlp", _otlp), ("jaeger", _jaeger), ("span_attributes", _printed), ("phoenix", _phoenix),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("message", "event", "said", "own", "expected"),
    [
        ("it broke", "exception", RAISED, {}, "it broke"),
        ("", "exception", RAISED, {}, "KeyError: 'id'"),
        ("", "exception", {**RAISED, "exception.message": ""}, {}, "KeyError"),
        ("", "exception", RAISED, {"error.type": "KeyError"}, "KeyError: 'id'"),
        ("", "error", {"error.kind": "timeout", "message": "late"}, {}, "timeout: late"),
        ("", "retry", {"message": "again"}, {"error.type": "timeout"}, "timeout"),
        ("", "retry", {"message": "again"}, {"error.message": "late"}, "late"),
        ("", "retry", {"message": "again"}, {}, None),
    ],
)
def test_what_a_failed_call_says(  # noqa: PLR0917 - a case and the format it is told in
    tmp_path: Path, form: str, write: Any, message: str, event: str, said: dict[str, Any],
    own: dict[str, Any], expected: str | None,
) -> None:  # fmt: skip
    (call,) = calls(read(form, write(tmp_path, message, event, said, own)).run)
    assert (call.is_error, call.error) == (True, expected)


def test_an_exception_that_was_handled_is_no_failure(tmp_path: Path) -> None:
    one = span("f", events=[{"name": "exception", "attributes": pairs(RAISED)}])
    one["attributes"] = pairs(TOOL)
    path = lines(tmp_path / "t.jsonl", {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]})
    (call,) = calls(read("otlp", path).run)
    assert (call.is_error, call.error) == (False, None)

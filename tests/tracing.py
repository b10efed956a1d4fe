"""Traces for tests: OTLP spans made on the spot, and what a landing makes of them."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any

from reading import Items, read

from pipeline.landing import formats
from pipeline.landing.records.places import Places
from pipeline.landing.records.reader import Source

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.landing.model import Run

TRACE = "0af7651916cd43dd8448eb211c80319c"
START = 1_767_254_400_000_000_000
"""2026-01-01T08:00:00Z in nanoseconds; spans begin whole seconds after it."""

_numbers = count(1)


def span(
    name: str,
    at: float = 0,
    *,
    id: str | None = None,  # noqa: A002 - a span's own word
    parent: str = "",
    lasts: float | None = 1,
    trace: str = TRACE,
    failed: bool = False,
    events: list[dict[str, Any]] | None = None,
    **attributes: Any,
) -> dict[str, Any]:
    """Return a span; attributes are named with __ for the dot."""
    made = {
        "traceId": trace,
        "spanId": id or f"{next(_numbers):016x}",
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(START + round(at * 1e9)),
        "attributes": pairs({key.replace("__", "."): value for key, value in attributes.items()}),
        "events": events or [],
        "status": {"code": 2, "message": "it broke"} if failed else {},
    }
    if lasts is not None:
        made["endTimeUnixNano"] = str(START + round((at + lasts) * 1e9))
    return made


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    """Return attributes as OTLP writes them; what is no plain value as JSON text."""
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": value if isinstance(value, str) else json.dumps(value)}


def chat(at: float = 0, says: Any = None, heard: Any = None, **more: Any) -> dict[str, Any]:
    """Return a model's span: `says` is text or calls, `heard` the messages before."""
    told: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m"}
    if says is not None:
        parts = [{"type": "text", "content": says}] if isinstance(says, str) else says
        told["gen_ai__output__messages"] = [{"role": "assistant", "parts": parts}]
    if heard is not None:
        told["gen_ai__input__messages"] = heard
    return span("chat m", at, **{**told, **more})


def tool(name: str, at: float = 0, args: Any = None, **more: Any) -> dict[str, Any]:
    """Return a tool's span."""
    told = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": name}
    if args is not None:
        told["gen_ai__tool__call__arguments"] = args
    return span(f"execute_tool {name}", at, **{**told, **more})


def agent(name: str, at: float = 0, lasts: float = 100, **more: Any) -> dict[str, Any]:
    """Return an agent's span."""
    told = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": name}
    return span(f"invoke_agent {name}", at, lasts=lasts, **{**told, **more})


def asks(name: str, call_id: str | None = None, **arguments: Any) -> dict[str, Any]:
    """Return a part of a message that asks for a call."""
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def user(text: str) -> dict[str, Any]:
    """Return what a user said."""
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def result(response: Any, call_id: str | None = None) -> dict[str, Any]:
    """Return what a call returned, as the model hears it."""
    part = {"type": "tool_call_response", "id": call_id, "response": response}
    return {"role": "tool", "parts": [part]}


def request(*spans: dict[str, Any], **resource: Any) -> dict[str, Any]:
    """Return an export of spans."""
    told = pairs({key.replace("__", "."): value for key, value in resource.items()})
    scopes = [{"scope": {"name": "test"}, "spans": list(spans)}]
    return {"resourceSpans": [{"resource": {"attributes": told}, "scopeSpans": scopes}]}


def lines(path: Path, *records: Any) -> Path:
    """Write records (or text) one per line."""
    texts = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(text + "\n" for text in texts))
    return path


def items(tmp_path: Path, *records: Any) -> Items:
    """Read exports as OTLP."""
    return read("otlp", lines(tmp_path / "traces.jsonl", *records))


def run_of(tmp_path: Path, *spans: dict[str, Any], **resource: Any) -> Run:
    """Return the run that spans of one trace make."""
    return items(tmp_path, request(*spans, **resource)).run


def bodies(name: str, path: Path) -> list[bytes]:
    """Return a file's records as they are first found, checked against reading them again."""
    form, source = formats.get(name), Source(path, path.name)
    pieces = list(form.pieces(source))
    assert form.reread is not None
    assert [piece.data for piece in pieces] == list(form.reread(source, _places(pieces)))
    return [piece.data for piece in pieces]


def _places(pieces: list[Any]) -> Places:
    places = Places()
    for piece in pieces:
        places.add(piece, 0)
    return places

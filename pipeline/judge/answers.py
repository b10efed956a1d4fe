"""What services give back, line by line: OpenAI's batch output, Anthropic's batch results, ours.

`judge run` writes lines as OpenAI's batch output has them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import msgspec

from pipeline.given import refuse_no_file, refuse_no_name

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

OK = range(200, 300)

LINE_FAULTS = {
    "not_json": "the line is no JSON object",
    "unknown_shape": "neither an OpenAI batch output nor an Anthropic batch result",
    "unknown_request": "no request of this lake has that custom_id",
}
"""Why a line cannot land: the closed vocabulary of its faults."""


class Response(NamedTuple):
    """One response: which request it answers, and its text or why it has none."""

    custom_id: str
    text: str | None = None
    null_reason: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def answered(self) -> bool:
        """Did anybody answer? If not, an earlier answer stays in force."""
        return self.null_reason != "request_failed"


class Fault(NamedTuple):
    """A line that cannot land."""

    path: str
    line: int
    fault: str


def read(path: str | os.PathLike[str]) -> Iterator[tuple[int, Response | str]]:
    """Yield every line's number, from 1, with its response, or its fault.

    Raises:
        SourceNotFoundError: there is no such file.
    """
    refuse_no_name(path, "file of responses")
    refuse_no_file(Path(path), "file of responses")
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, response_of(line)


def response_of(line: bytes) -> Response | str:
    """Read one line: a response, or its fault.

    >>> response_of(b'{"custom_id": "j-1", "result": {"type": "expired"}}').null_reason
    'request_failed'
    >>> response_of(b"{}"), response_of(b"oops")
    ('unknown_shape', 'not_json')
    """
    told = decoded(line)
    if not isinstance(told, dict):
        return "not_json"
    custom = told.get("custom_id")
    if not isinstance(custom, str):
        return "unknown_shape"
    if isinstance(told.get("result"), dict):
        return _anthropic(custom, told["result"])
    if "response" in told or "error" in told:
        return _openai(custom, told.get("response"))
    return "unknown_shape"


def is_answer(body: Any) -> TypeGuard[dict[str, Any]]:
    """Tell whether a body holds a choice: gateways tell faults under status 200, too.

    >>> is_answer({"choices": [{}]}), is_answer({"error": {"code": 502}}), is_answer([])
    (True, False, False)
    """
    choices = body.get("choices") if isinstance(body, dict) else None
    return isinstance(choices, list) and bool(choices)


def decoded(line: bytes) -> Any:
    """Return the JSON of a line, read as widely as models and servers write; None where it is none."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:  # msgspec refuses NaN and half of a surrogate pair, which both occur
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _openai(custom: str, response: Any) -> Response:
    if not isinstance(response, dict) or response.get("status_code") not in OK:
        return Response(custom, null_reason="request_failed")
    body = _dict(response.get("body"))
    usage = _dict(body.get("usage"))
    known = Response(
        custom, None, None, _text(body.get("model")),
        count_of(usage.get("prompt_tokens")), count_of(usage.get("completion_tokens")),
    )  # fmt: skip
    choices = body.get("choices")
    choice = _dict(choices[0]) if isinstance(choices, list) and choices else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        return known._replace(null_reason="malformed_response")
    finish = choice.get("finish_reason")
    if message.get("refusal") or finish == "content_filter":
        return known._replace(null_reason="refused")
    if finish == "length":
        return known._replace(null_reason="truncated")
    return _said(known, message.get("content"))


def _anthropic(custom: str, result: dict[str, Any]) -> Response:
    if result.get("type") != "succeeded":
        return Response(custom, null_reason="request_failed")
    message = _dict(result.get("message"))
    usage = _dict(message.get("usage"))
    known = Response(
        custom, None, None, _text(message.get("model")),
        count_of(usage.get("input_tokens")), count_of(usage.get("output_tokens")),
    )  # fmt: skip
    if not message:
        return known._replace(null_reason="malformed_response")
    stop = message.get("stop_reason")
    if stop == "refusal":
        return known._replace(null_reason="refused")
    if stop in ("max_tokens", "model_context_window_exceeded"):
        return known._replace(null_reason="truncated")
    return _said(known, message.get("content"))


def _said(known: Response, content: Any) -> Response:
    """Add the text of a message: one text, or a list of blocks of which text blocks count."""
    if content is None or isinstance(content, str):
        return known._replace(text=content or "")
    if not isinstance(content, list):
        return known._replace(null_reason="malformed_response")
    texts = [
        block["text"]
        for block in content
        if isinstance(block, dict)
        and block.get("type") in ("text", "output_text")
        and isinstance(block.get("text"), str)
    ]
    return known._replace(text="".join(texts))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def count_of(value: Any) -> int | None:
    """Return a number of tokens as a service tells it; None where 64 bits do not hold it, or none is told.

    >>> count_of(7), count_of(-1), count_of(True), count_of(1 << 63)
    (7, None, None, None)
    """
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
    return value if fits else None

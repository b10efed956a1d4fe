"""What Codex logs of a tool's result: an exit code in JSON or in a header, or only a text."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from pipeline.landing.chats.messages import text_of
from pipeline.landing.chats.transcript import Outcome
from pipeline.landing.unknown.unmapped import Known, Noting, decoder

_EXIT = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d+)$", re.MULTILINE)
_WALL = re.compile(r"^Wall time: ([\d.]+) seconds?$", re.MULTILINE)
_REFUSED = re.compile(r"(?:(?:exec command|patch) )?rejected by user|aborted(?: by user|$)")
_FAILED = (
    "failed in sandbox",
    "execution error",
    "failed to parse function arguments",
    "unsupported call",
    "unsupported custom tool call",
    "apply_patch verification failed",
    "exec_command failed",
    "write_stdin failed",
    "tool call error",
)


class Metadata(Known):
    """How a command ended."""

    exit_code: int | None = None
    duration_seconds: float | None = None


class Logged(Noting):
    """A result given as JSON text."""

    output: Any
    metadata: Metadata


class McpResult(msgspec.Struct, rename="camel"):
    """A result as an MCP server gives it."""

    is_error: bool


_logged = decoder(Logged)
_mcp = msgspec.json.Decoder(McpResult).decode


def outcome(output: Any) -> Outcome:
    r"""Tell what a result says of its call.

    An exit code tells; where there is none, the texts Codex itself writes for calls that failed.
    A call the user refused or broke off is no fault of the tool's; a label keeps it apart.

    >>> outcome('{"output":"no","metadata":{"exit_code":2,"duration_seconds":0.5}}')[:4]
    ('no', True, None, 500.0)
    >>> outcome("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nok").is_error
    False
    >>> outcome("patch rejected by user").labels
    {'rejected': True}
    """
    text = text_of(output)
    if not isinstance(text, str):
        return Outcome(text, is_error=False)
    return _from_json(text) or _from_header(text) or _from_text(text)


def _from_json(text: str) -> Outcome | None:
    if not text.startswith("{"):
        return None
    try:
        told = _logged(text)
    except msgspec.MsgspecError:
        return _from_mcp(text)
    seconds = told.metadata.duration_seconds
    return Outcome(
        told.output,
        is_error=told.metadata.exit_code not in {0, None},
        duration_ms=None if seconds is None else seconds * 1000,
        unmapped=told.unmapped,
    )


def _from_mcp(text: str) -> Outcome | None:
    try:
        return Outcome(text, is_error=_mcp(text).is_error)
    except msgspec.MsgspecError:
        return None


def _from_header(text: str) -> Outcome | None:
    header = text.partition("\nOutput:")[0]
    code = _EXIT.search(header)
    if code is None:
        return None
    wall = _WALL.search(header)
    return Outcome(
        text,
        is_error=int(code[1]) != 0,
        duration_ms=float(wall[1]) * 1000 if wall else None,
    )


def _from_text(text: str) -> Outcome:
    if _REFUSED.match(text):
        return Outcome(text, is_error=False, labels={"rejected": True})
    return Outcome(text, is_error=text.startswith(_FAILED))

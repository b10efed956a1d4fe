"""Lines of Claude Code sessions, spelled short."""

from __future__ import annotations

from typing import Any

from sessions import Line, Session, session

UUID = "7b7f3a9e-0b0f-4b36-8f6f-3f5a5d0c1e2a"


def entry(kind: str, message: Any, uuid: str, parent: str | None = None, **more: Any) -> Any:
    """Return a line of the session."""
    return {
        "type": kind,
        "sessionId": UUID,
        "uuid": uuid,
        "parentUuid": parent,
        "message": message,
        **more,
    }


def user(content: Any, uuid: str = "u", parent: str | None = None, **more: Any) -> Any:
    """Return a line of the user."""
    return entry("user", {"role": "user", "content": content}, uuid, parent, **more)


def agent(*blocks: Any, message_id: str | None = "m", uuid: str = "a", **more: Any) -> Any:
    """Return a line of the agent, its usage and model inside the message."""
    said = {"role": "assistant", "id": message_id, "model": "claude", "content": list(blocks)}
    if "usage" in more:
        said["usage"] = more.pop("usage")
    if "model" in more:
        said["model"] = more.pop("model")
    return entry("assistant", said, uuid, **more)


def text(text: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": text}


def use(call_id: str, name: str = "Read", **arguments: Any) -> dict[str, Any]:
    """Return a block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    """Return a block with what a call gave."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def decoded(*lines: Line) -> Session:
    """Decode lines as one session."""
    return session("claude_code", *lines)

"""The items of a Codex stream: texts, thoughts and calls, as far as they have come."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.chats.messages import text_of
from pipeline.landing.chats.transcript import Outcome, raw
from pipeline.landing.unknown.unmapped import Known, Noting, leaves_out


class Failure(Known):
    """What went wrong."""

    message: str | None = None


@leaves_out("_meta", "is_error")
class McpResult(Known):
    """What an MCP server returned."""

    content: Any = None
    structured_content: Any = None


@leaves_out("action", "agents_states", "receiver_thread_ids", "sender_thread_id")
class Item(Noting):
    """One item: a text, a thought or a call, as far as it has come."""

    id: str = ""
    type: str = ""
    text: str | None = None
    message: str | None = None
    command: str | None = None
    aggregated_output: str | None = None
    exit_code: int | None = None
    status: str | None = None
    server: str | None = None
    tool: str | None = None
    arguments: msgspec.Raw | UnsetType = UNSET
    result: McpResult | None = None
    error: Failure | None = None
    query: str | None = None
    prompt: str | None = None
    changes: Any = None
    items: Any = None

    def call(self) -> tuple[str, msgspec.Raw | UnsetType] | None:
        """Return the tool and its arguments, or None for what is no call."""
        if self.type == "mcp_tool_call":
            return f"mcp__{self.server}__{self.tool}", self.arguments
        if self.type == "collab_tool_call":
            return self.tool or self.type, raw(prompt=self.prompt)
        told = {
            "command_execution": ("command", self.command),
            "file_change": ("changes", self.changes),
            "web_search": ("query", self.query),
            "todo_list": ("items", self.items),
        }.get(self.type)
        return None if told is None else (self.type, raw(**{told[0]: told[1]}))

    def outcome(self) -> Outcome:
        """Tell how a call that has ended went."""
        if self.status == "declined":
            return Outcome(self._output(), is_error=False, labels={"rejected": True})
        failed = self.status == "failed" or self.error is not None or bool(self.exit_code)
        error = None if self.error is None else self.error.message
        return Outcome(self._output(), is_error=failed, error=error)

    def _output(self) -> Any:
        if self.result is None:
            return self.aggregated_output
        text = text_of(self.result.content)
        return self.result.structured_content if text is None else text

"""A Codex rollout's items to steps: responses put together, tokens given to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.chats.messages import text_of, unmapped_parts
from pipeline.landing.chats.transcript import Transcript, label, raw, spend
from pipeline.landing.unknown.unmapped import Known, Noting, add, leaves_out, noted
from pipeline.landing.vendors.codex import outcome

if TYPE_CHECKING:
    from pipeline.landing.model import Step, When

# Codex tells the model of its surroundings in a user's words.
_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skills_instructions>",
    "<turn_aborted>",
    "# AGENTS.md instructions",
)
_PASSED_OVER = {"compaction", "compaction_summary", "context_compaction", "ghost_snapshot"}


@leaves_out("encrypted_content", "end_turn", "ghost_commit", "id", "metadata", "phase")
class Item(Noting):
    """One item of OpenAI's Responses API."""

    type: str = ""
    role: str | None = None
    content: Any = None
    name: str | None = None
    arguments: msgspec.Raw | UnsetType = UNSET
    input: msgspec.Raw | UnsetType = UNSET
    action: msgspec.Raw | UnsetType = UNSET
    call_id: str | None = None
    output: Any = None
    summary: Any = None
    status: str | None = None
    result: Any = None
    tools: Any = None


@leaves_out("reasoning_output_tokens", "total_tokens")
class Usage(Known):
    """Tokens; cached ones are part of the input, reasoning is part of the output."""

    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    output_tokens: int | None = None

    def told(self) -> tuple[int | None, ...]:
        """Return the numbers."""
        return self.input_tokens, self.cached_input_tokens, self.output_tokens


@leaves_out("model_context_window")
class TokenInfo(Known):
    """What the last request used, and the running total, which may restart."""

    last_token_usage: Usage | None = None
    total_token_usage: Usage | None = None


class Items:
    """The steps of one rollout.

    Nothing marks where a response ends: it does where a result, a user's message or its tokens
    follow. Versions differ in whether tokens are logged before a response or after it.
    """

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.aborted = False
        self._response: Step | None = None
        self._last: Step | None = None
        self._unspent: list[Usage] = []
        self._total: tuple[int | None, ...] | None = None

    def add(self, item: Item, at: When) -> None:
        """Add one item, and what is not known of it."""
        self._added(item, at)
        found = unmapped_parts(item.content)
        if item.summary:
            add(found, unmapped_parts(item.summary, "summary"))
        if item.unmapped:
            add(found, item.unmapped)
        self.transcript.note(found)

    def _added(self, item: Item, at: When) -> None:
        if item.type == "message":
            self._message(item, at)
        elif item.type == "reasoning":
            thoughts = text_of(item.summary)
            label(self._open(at), thoughts=thoughts if isinstance(thoughts, str) else None)
        elif item.type in {"function_call", "custom_tool_call"}:
            args = item.arguments if item.type == "function_call" else item.input
            response = self._open(at)
            self.transcript.call(
                item.name or "", args, item.call_id, response=response, started_at=at
            )
        elif item.type.endswith("_output"):
            self._response = None
            output = item.tools if item.output is None else item.output
            self.transcript.answer(item.call_id, outcome(output), at)
        elif item.type.endswith("_call"):
            self._built_in(item, at)
        elif item.type not in _PASSED_OVER:
            self.transcript.note(noted("type", item.type))

    def _message(self, item: Item, at: When) -> None:
        text = text_of(item.content)
        if item.role == "assistant":
            step = self._open(at, fresh=self._response is not None and self._has_calls())
            step.content = text if step.content is None else f"{step.content}\n{text}"
            return
        self._response = None
        injected = isinstance(text, str) and text.lstrip().startswith(_INJECTED)
        actor = "user" if item.role == "user" and not injected else "system"
        self.transcript.hear(text, actor, started_at=at)
        self.aborted = self.aborted and injected

    def _built_in(self, item: Item, at: When) -> None:
        """Add a call of a tool that the kind of the item names; a vendor's has its result with it."""
        told = (item.arguments, item.action)
        given = next((one for one in told if not isinstance(one, UnsetType)), raw())
        waits = item.type == "local_shell_call" or item.call_id is not None
        step = self.transcript.call(
            item.name or item.type.removesuffix("_call"),
            given,
            item.call_id,
            response=self._open(at),
            waits=waits,
            started_at=at,
        )
        if not waits:
            step.output = item.result
            step.is_error = None if item.status is None else item.status == "failed"

    def _has_calls(self) -> bool:
        return self.transcript.steps[-1].kind == "tool_call"

    def _open(self, at: When, *, fresh: bool = False) -> Step:
        """Return the response that goes on, or the next one."""
        self.aborted = False
        if self._response is None or fresh:
            self._response = self._last = self.transcript.respond(started_at=at)
            for usage in self._unspent:
                _use(self._response, usage)
            self._unspent.clear()
        self.transcript.touch(self._response)
        return self._response

    def count(self, info: TokenInfo) -> None:
        """Give a response its tokens; an event that repeats the running total says nothing new."""
        usage, total = info.last_token_usage, info.total_token_usage
        if usage is None or (total is not None and self._repeats(total)):
            return
        if self._last is None or self._last.input_tokens is not None:
            self._unspent.append(usage)
        else:
            _use(self._last, usage)
            self._response = None

    def _repeats(self, total: Usage) -> bool:
        before, self._total = self._total, total.told()
        return before == self._total

    def finished(self) -> list[Step]:
        """Return the steps; tokens of responses that were not logged go to the last one."""
        if self._unspent and self._last is not None:
            for usage in self._unspent:
                _use(self._last, usage)
        return self.transcript.finished()


def _use(step: Step, usage: Usage) -> None:
    spend(step, usage.input_tokens, usage.output_tokens)
    cached = (step.labels or {}).get("cached_input_tokens", 0) + (usage.cached_input_tokens or 0)
    label(step, cached_input_tokens=cached or None)

"""mini-swe-agent's messages: what each says, which commands it gives, and how they ended."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from pipeline.landing.chats.messages import Id, Raw, ToolCall, text_of
from pipeline.landing.chats.transcript import Outcome, raw
from pipeline.landing.model import When  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.unknown.unmapped import Known, Noting, Unmapped, leaves_out

_BLOCK = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)
_CODE = re.compile(r"<returncode>\s*(-?\d+)\s*</returncode>")


@leaves_out(
    "cache_creation_input_tokens", "cache_read_input_tokens", "completion_tokens_details", "cost",
    "input_tokens_details", "is_byok", "output_tokens_details", "prompt_cache_hit_tokens",
    "prompt_cache_miss_tokens", "prompt_tokens_details", "total_tokens",
)  # fmt: skip
class Usage(Known):
    """The tokens of one response, in either of OpenAI's spellings."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    def read(self) -> int | None:
        """Return the tokens the model read."""
        return self.input_tokens if self.prompt_tokens is None else self.prompt_tokens

    def written(self) -> int | None:
        """Return the tokens the model wrote."""
        return self.output_tokens if self.completion_tokens is None else self.completion_tokens


_ANSWER = (
    "background", "billing", "completed_at", "created", "created_at", "frequency_penalty", "id",
    "incomplete_details", "instructions", "max_output_tokens", "max_tool_calls", "metadata",
    "model", "object", "parallel_tool_calls", "presence_penalty", "previous_response_id", "prompt",
    "prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier",
    "service_tier", "status", "store", "system_fingerprint", "temperature", "text", "tool_choice",
    "tools", "top_logprobs", "top_p", "truncation", "user",
)  # fmt: skip
"""What OpenAI's interfaces say of an answer, beside the answer itself."""


@leaves_out("choices", "output", "provider_specific_fields", *_ANSWER)
class Response(Known):
    """The whole response of the model's interface."""

    usage: Usage | None = None


class Action(Known):
    """A command, and the call that asked for it."""

    command: str | None = None
    tool_call_id: str | None = None


@leaves_out("exit_status", "raw_output", "submission", "traceback")
class Extra(Known):
    """What the harness notes beside a message."""

    actions: list[Action] | None = None
    response: Response | None = None
    cost: float | None = None
    timestamp: When = None
    returncode: int | None = None
    exception_info: str | None = None
    interrupt_type: str | None = None


class Command(msgspec.Struct):
    """A call a message makes."""

    name: str
    args: Raw
    call_id: str | None
    unmapped: Unmapped | None = None


@leaves_out(
    "annotations", "audio", "function_call", "provider_specific_fields", "reasoning_content",
    "refusal", "thinking_blocks", *_ANSWER,
)  # fmt: skip
class Message(Noting):
    """One message; with the Responses API, an answer is its `output`, and so is a result."""

    role: str | None = None
    type: str | None = None
    content: Any = None
    output: Any = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: Id = None
    call_id: str | None = None
    usage: Usage | None = None
    extra: Extra | None = None

    @property
    def kind(self) -> str:
        """Return the role, also where the message names none."""
        if self.role is not None:
            return self.role
        return "tool" if self.type == "function_call_output" else "assistant"

    @property
    def answers(self) -> str | None:
        """Return the id of the call that a result answers."""
        return _name(self.tool_call_id) or self.call_id

    def text(self) -> Any:
        """Return what is said."""
        if self.content is not None or not isinstance(self.output, list):
            return text_of(self.output if self.content is None else self.content)
        items = [item for item in self.output if isinstance(item, dict)]
        texts = [text_of(item.get("content")) for item in items if item.get("type") == "message"]
        return "\n".join(text for text in texts if isinstance(text, str)) or None

    def tokens(self) -> Usage:
        """Return what the response used."""
        response = self.extra.response if self.extra else None
        return self.usage or (response.usage if response else None) or Usage()

    def commands(self) -> list[Command]:
        """Return the calls made, from wherever the version logs them."""
        if self.tool_calls:
            return [
                Command(*call.target(), _name(call.id), call.unmapped) for call in self.tool_calls
            ]
        actions = self.extra.actions if self.extra else None
        if actions is None:
            actions = _blocks(self.text())
        return [Command("bash", raw(command=x.command), x.tool_call_id) for x in actions]

    def outcome(self) -> Outcome:
        """Tell what a result says of its command: a return code that is not 0 is an error."""
        text, extra = self.text(), self.extra or Extra()
        code = extra.returncode
        if code is None and isinstance(text, str) and (found := _CODE.search(text)):
            code = int(found[1])
        failed = None if code is None else code != 0
        return Outcome(text, is_error=failed, error=extra.exception_info or None)


def _name(value: Id) -> str | None:
    return None if value in {None, ""} else str(value)


def _blocks(text: Any) -> list[Action]:
    """Return the command of an answer; with none or with several blocks, nothing is run."""
    found = _BLOCK.findall(text) if isinstance(text, str) else []
    return [Action(found[0].strip())] if len(found) == 1 else []

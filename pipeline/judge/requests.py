"""One request in the batch-file formats of OpenAI and Anthropic, and what it will cost in tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from xxhash import xxh3_128_hexdigest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.judge.prompt import Prompt
    from pipeline.judge.rubric import Rubric

Provider = Literal["openai", "anthropic"]
MODELS: dict[Provider, str] = {"openai": "gpt-4.1-mini", "anthropic": "claude-haiku-4-5"}
"""Who is asked where no model is named."""

BATCH_LIMITS: dict[Provider, tuple[int, int]] = {
    "openai": (50_000, 200_000_000),
    "anthropic": (100_000, 256_000_000),
}
"""Requests and bytes that a service takes in one batch."""

CHAT = "/v1/chat/completions"
MAX_OUTPUT = 1000
BYTES_A_TOKEN = 4
FRAME = 16
"""Tokens counted for what a service puts around the two messages."""
ESTIMATE = (
    f"tokens in: one per {BYTES_A_TOKEN} bytes of UTF-8, and {FRAME} a request; "
    "tokens out: at most what a request allows"
)


def content_hash(rubric: Rubric, prompt_hash: str, model: str, parts: Mapping[str, Any]) -> str:
    """Return the hash of all an answer rests on: rubric, prompt, model and the text shown."""
    told = [rubric.hash, prompt_hash, model, [parts[name] for name in rubric.shows]]
    return xxh3_128_hexdigest(repr(told).encode())


def custom_id(content: str, repeat: int, *, swapped: bool) -> str:
    """Return the id of a request: letters, digits and dashes, under 64 characters.

    Both batch services take ids of at most 64 letters, digits, dashes and underscores.

    >>> custom_id("00ff", 2, swapped=True)
    'j-00ff-2s'
    """
    return f"j-{content}-{way(repeat, swapped=swapped)}"


def way(repeat: int, *, swapped: bool) -> str:
    """Return the end of a request's id: which repeat, and an s where the pair is turned round."""
    return f"{repeat}{'s' if swapped else ''}"


def request(
    provider: Provider,
    custom: str,
    prompt: Prompt,
    model: str,
    max_output: int,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return one line of a batch file.

    Args:
        provider: whose format.
        custom: the request's id.
        prompt: the two messages.
        model: who is asked.
        max_output: tokens of the answer at most.
        extra: further fields of the body; None takes one away.
    """
    user = {"role": "user", "content": prompt.user}
    if provider == "anthropic":
        body: dict[str, Any] = {
            "model": model,
            "max_tokens": max_output,
            "temperature": 0,
            "system": prompt.system,
            "messages": [user],
        }
        return {"custom_id": custom, "params": _with(body, extra)}
    body = {
        "model": model,
        "messages": [{"role": "system", "content": prompt.system}, user],
        "max_completion_tokens": max_output,
        "temperature": 0,
    }
    return {"custom_id": custom, "method": "POST", "url": CHAT, "body": _with(body, extra)}


def line_of(told: Mapping[str, Any]) -> bytes:
    """Return a request as one line."""
    return msgspec.json.encode(told) + b"\n"


def tokens_in(prompt: Prompt) -> int:
    """Estimate the tokens a model reads: see `ESTIMATE`.

    >>> from pipeline.judge.prompt import Prompt
    >>> tokens_in(Prompt("12345678", "1234"))
    19
    """
    size = sum(len(text.encode()) for text in prompt)
    return -(-size // BYTES_A_TOKEN) + FRAME


def _with(body: dict[str, Any], extra: Mapping[str, Any] | None) -> dict[str, Any]:
    merged = {**body, **(extra or {})}
    return {key: value for key, value in merged.items() if value is not None}

"""OpenAI-style messages to steps: the shape most chat logs and benchmarks share.

How a failed call is told differs from format to format, so whoever reads one says it (`failed`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from xxhash import xxh3_64_hexdigest

from pipeline.landing.chats.chat_columns import Chats
from pipeline.landing.chats.messages import Message, text_of
from pipeline.landing.model import RejectError, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PASSING_REWARD = 1 - 1e-6
_MOST_TRIALS = 1 << 32
M = TypeVar("M", bound=Message)


def steps_of(messages: Sequence[M], failed: Callable[[M], bool | None]) -> list[Step]:
    """Return the steps of a chat; `failed` tells from a result whether its call failed.

    The last response without calls is the `final`.

    >>> chat = [Message("user", "Hi"), Message("assistant", "Hello"), Message("user", "Bye")]
    >>> [(step.kind, step.actor, step.turn_index) for step in steps_of(chat, no_signal)]
    [('message', 'user', 0), ('final', 'agent', 0), ('message', 'user', 1)]
    """
    chat = Chats(failed)
    chat.add(messages)
    return chat.steps()


def no_signal(_message: Message) -> None:
    """Tell nothing: the format does not say whether a call failed."""


def final_output(steps: Sequence[Step]) -> Any:
    """Return what the `final` step says, or None."""
    return next((step.content for step in reversed(steps) if step.kind == "final"), None)


def prompt_hash(text: str) -> str:
    """Return the stable hash of a system prompt.

    >>> prompt_hash("Be brief.")
    'dcc6603fbb443011'
    """
    return xxh3_64_hexdigest(text.encode())


def prompt_hash_of(messages: Sequence[Message]) -> str | None:
    """Return the hash of the first system message's text, or None where there is none."""
    prompts = (m.content for m in messages if m.role in {"system", "developer"})
    text = text_of(next(prompts, None))
    return prompt_hash(text) if isinstance(text, str) else None


def passed(reward: float | None) -> bool | None:
    """Tell whether a reward is a full one; None without a reward.

    >>> passed(0.9999999), passed(0.5), passed(None)
    (True, False, None)
    """
    return None if reward is None else reward >= PASSING_REWARD


def trial_number(trial: int | None) -> int | None:
    """Return `trial` if it counts from 0.

    Raises:
        RejectError: it does not.
    """
    if trial is not None and not 0 <= trial < _MOST_TRIALS:
        raise RejectError("bad_value", f"trial is {trial}; it counts from 0")
    return trial

"""The spend cap: what may still be sent, so that no cap is exceeded whatever the answers cost.

Before a request is sent, the most it can cost is set aside: as many tokens in as its text has
bytes (no tokenizer of the byte-pair kind makes more), as many out as it allows. When its answer is
there, what the service says it used takes that place. A request that does not fit waits for those
under way; if none is under way, the cap is reached.
"""

from __future__ import annotations

from asyncio import Condition
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.judge.answers import count_of

if TYPE_CHECKING:
    from collections.abc import Mapping

FRAME = 64
"""Tokens set aside for what a service puts around the messages."""
MILLION = 1_000_000


class Use(NamedTuple):
    """Requests and tokens."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def plus(self, other: Use) -> Use:
        """Add two uses."""
        return Use(*(a + b for a, b in zip(self, other, strict=True)))

    def less(self, other: Use) -> Use:
        """Take one use from another."""
        return Use(*(a - b for a, b in zip(self, other, strict=True)))


NOTHING = Use()


class Caps(NamedTuple):
    """What must not be exceeded, and what a million tokens cost."""

    max_requests: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    price_in: float = 0.0
    price_out: float = 0.0

    def cost(self, use: Use) -> float:
        """Return what a use costs.

        >>> Caps(price_in=0.4, price_out=1.6).cost(Use(1, 500_000, 250_000))
        0.6
        """
        return (use.tokens_in * self.price_in + use.tokens_out * self.price_out) / MILLION

    def broken_by(self, use: Use) -> str | None:
        """Return the cap that a use exceeds, or None.

        >>> Caps(max_tokens=10).broken_by(Use(1, 8, 3))
        'max_tokens 10'
        """
        if use.requests > _or_inf(self.max_requests):
            return f"max_requests {self.max_requests}"
        if use.tokens_in + use.tokens_out > _or_inf(self.max_tokens):
            return f"max_tokens {self.max_tokens}"
        if self.cost(use) > _or_inf(self.max_cost):
            return f"max_cost {self.max_cost:g}"
        return None


def _or_inf(cap: float | None) -> float:
    return inf if cap is None else cap


@dataclass
class Budget:
    """What is used and set aside, shared by all who send."""

    caps: Caps
    used: Use = NOTHING
    set_aside: Use = NOTHING
    stopped: str | None = None
    """The cap that was reached."""
    _changed: Condition = field(default_factory=Condition)

    async def reserve(self, most: Use) -> bool:
        """Set aside the most a request can use; False once a cap would be exceeded."""
        async with self._changed:
            while self.stopped is None:
                broken = self.caps.broken_by(self.used.plus(self.set_aside).plus(most))
                if broken is None:
                    self.set_aside = self.set_aside.plus(most)
                    return True
                if not self.set_aside.requests:
                    self.stopped = broken
                    break
                await self._changed.wait()
            self._changed.notify_all()
            return False

    async def settle(self, most: Use, used: Use) -> None:
        """Put what a request used in the place of what was set aside for it."""
        async with self._changed:
            self.set_aside = self.set_aside.less(most)
            self.used = self.used.plus(used)
            self._changed.notify_all()


def most_of(body: Mapping[str, Any]) -> Use:
    """Return the most a chat request can use; without a limit of its own, out counts as 4,096.

    >>> most_of({"messages": [{"content": "four"}], "max_completion_tokens": 10})
    Use(requests=1, tokens_in=68, tokens_out=10)
    >>> most_of({"n": 2})
    Use(requests=1, tokens_in=64, tokens_out=8192)
    """
    sent = body.get("messages")
    messages = sent if isinstance(sent, list) else []
    texts = [one.get("content") if isinstance(one, dict) else one for one in messages]
    size = sum(len(str(text).encode("utf-8", "replace")) for text in texts)
    limits = (body.get("max_completion_tokens"), body.get("max_tokens"))
    out = next((limit for limit in limits if isinstance(limit, int)), 4096)
    choices = body.get("n")
    return Use(1, size + FRAME, out * (choices if isinstance(choices, int) else 1))


def told_by(body: Mapping[str, Any], most: Use) -> Use:
    """Return what a response says it used, or the most where it does not say.

    >>> told_by({"usage": {"prompt_tokens": 7, "completion_tokens": 2}}, Use(1, 68, 10))
    Use(requests=1, tokens_in=7, tokens_out=2)
    """
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    found = (count_of(counts.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    tokens = [
        limit if count is None else count for count, limit in zip(found, most[1:], strict=True)
    ]
    return Use(1, *tokens)

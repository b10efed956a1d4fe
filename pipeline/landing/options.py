"""What the user asks of a landing, beyond where from and where to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pipeline.landing.values.canonical import canonical_json


@dataclass(frozen=True)
class Options:
    """What a landing adds to every record of its own."""

    labels: dict[str, str] = field(default_factory=dict)
    suite: str | None = None
    strict: bool = False
    redact: bool = False
    """Are secrets masked before anything is stored?"""
    drop: tuple[str, ...] = ()
    """What is stored as null: outputs, contents."""

    @property
    def withholds(self) -> bool:
        """Is anything left out of what is stored?"""
        return self.redact or bool(self.drop)

    def text(self) -> str:
        """Return the options as the text that goes into a batch's name."""
        told: dict[str, Any] = {"set": self.labels, "suite": self.suite}
        # Only what was asked for: batches landed without either keep their names.
        if self.redact:
            told["redact"] = True
        if self.drop:
            told["drop"] = self.drop
        return canonical_json(told)

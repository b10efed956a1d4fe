"""Langfuse's record of a trace as a typed struct: what it says of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.landing.chats.said import answer
from pipeline.landing.traces.given import identify
from pipeline.landing.traces.langfuse import TECHNICAL, UUID
from pipeline.landing.values.literal import object_of

if TYPE_CHECKING:
    from pipeline.landing.model import Run


class Trace(msgspec.Struct, rename="camel"):
    """A trace's own record."""

    id: str | None = None
    name: str | None = None
    output: Any = None
    session_id: str | None = None
    user_id: str | None = None
    metadata: Any = None
    tags: list[str] | None = None
    release: str | None = None
    version: str | None = None
    environment: str | None = None
    scores: Any = None

    def add_to(self, run: Run) -> None:
        """Tell the run what the trace says of it."""
        metadata = object_of(self.metadata)
        name = None if self.name is None or UUID.search(self.name) else self.name
        run.agent = name or run.agent
        run.agent_version = self.release or self.version or run.agent_version
        identify(run, metadata)
        said = answer(self.output)
        run.final_output = run.final_output or (said.text if said else None)
        own = {key: value for key, value in metadata.items() if key not in TECHNICAL}
        told = {
            "session_id": self.session_id,
            "version": self.version if self.release else None,
            "user_id": self.user_id,
            "environment": None if self.environment == "default" else self.environment,
            "tags": self.tags or None,
        }
        known = {key: value for key, value in told.items() if value is not None}
        run.labels = {**own, **self._scores(), **run.labels, **known}

    def _scores(self) -> dict[str, Any]:
        scores = self.scores if isinstance(self.scores, list) else []
        return {
            f"score.{score['name']}": score.get("stringValue") or score.get("value")
            for score in scores
            if isinstance(score, dict) and isinstance(score.get("name"), str)
        }


OF_TRACE = {
    *Trace.__struct_encode_fields__, "bookmarked", "corrections", "createdAt", "externalId", "htmlPath", "input",
    "latency", "observations", "orgId", "projectId", "public", "timestamp", "totalCost",
    "updatedAt",
}  # fmt: skip

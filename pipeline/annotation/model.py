"""One annotation as its format hands it over, before it becomes a row."""

from __future__ import annotations

from typing import Any

import msgspec

SCALE = (1, 5)
"""The least and the greatest score."""


class Annotation(msgspec.Struct, kw_only=True):
    """What one person says of one run. Field names are those of the `annotations` table."""

    trajectory_id: str
    annotator_id: str
    overall_quality: int
    task_id: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    scores: dict[str, int] = {}
    """By dimension."""
    notes: dict[str, str] = {}
    critical_steps: list[int] | None = None
    backtrack_steps: list[int] | None = None
    annotation_time_seconds: float | None = None
    labels: dict[str, Any] = {}

"""What a recorder writes: the structs of trajtab's own format, with unset fields left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.landing.formats.trajtab import Record
from pipeline.landing.model import Step
from pipeline.record.spelling import spelled

if TYPE_CHECKING:
    from collections.abc import Mapping


class RecordedStep(Step, omit_defaults=True):
    """One step as written."""


class Line(Record, omit_defaults=True):
    """One run as written."""


def raw(value: Any) -> msgspec.Raw | None:
    """Return a value as JSON to be put into a line; None stays None."""
    return None if value is None else msgspec.Raw(spelled(value))


def raw_labels(labels: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return labels with their values as JSON."""
    return {str(name): raw(value) for name, value in labels.items()} if labels else None

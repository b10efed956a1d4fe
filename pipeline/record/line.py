"""What a recorder writes: the structs of trajtab's own format, with unset fields left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pipeline.errors import InputError
from pipeline.landing.formats.trajtab import Record, references
from pipeline.landing.model import RejectError, Step
from pipeline.record.spelling import name_of, spelled


class RecordedStep(Step, omit_defaults=True):
    """One step as written."""


class Line(Record, omit_defaults=True):
    """One run as written."""


def raw(value: Any) -> msgspec.Raw | None:
    """Return a value as JSON to be put into a line; None stays None."""
    return None if value is None else msgspec.Raw(spelled(value))


def raw_labels(labels: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return labels with their values as JSON.

    Raises:
        InputError: they are no mapping.
    """
    if labels is not None and not isinstance(labels, Mapping):
        raise InputError(f"labels is a {type(labels).__name__}; a dict of labels by name is needed")
    return {str(name_of(name)): raw(value) for name, value in labels.items()} if labels else None


def raw_expected(calls: Any) -> msgspec.Raw | msgspec.UnsetType:
    """Return expected calls as JSON; None is unset.

    Raises:
        InputError: landing would refuse them, and with them the whole run.
    """
    if calls is None:
        return msgspec.UNSET
    told = msgspec.Raw(spelled(list(calls) if isinstance(calls, Iterator) else calls))
    try:
        references(told)
    except RejectError as wrong:
        raise InputError(
            f"expected: {wrong}; a list of {{'tool_name': …, 'tool_args': …}}, or a list of such "
            "lists (alternatives), was expected"
        ) from wrong
    return told

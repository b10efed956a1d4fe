"""What a failed span says of its failure: one reading for every format of spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pipeline.landing.traces.spans import Event

_RECORDED = {"exception", "error"}
"""Events of a failure: OpenTelemetry's name of them, and OpenTracing's."""
_TYPE = ("exception.type", "error.kind", "error.type")
_MESSAGE = ("exception.message", "error.message")
_OF_EVENT = (*_MESSAGE, "message")


def failure_text(message: Any, attributes: Mapping[str, Any], events: Iterable[Event]) -> Any:
    """Return what a failed span says: its status' message, else its exception, else of what type.

    An exception is recorded as an event, the last of which ended the span, or in the attributes.

    >>> from pipeline.landing.traces.spans import Event
    >>> raised = Event("exception", {"exception.type": "KeyError", "exception.message": "'id'"})
    >>> (
    ...     failure_text(None, {"error.type": "KeyError"}, [raised]),
    ...     failure_text("no id", {}, [raised]),
    ... )
    ("KeyError: 'id'", 'no id')
    """
    if message:
        return message
    recorded = [event.attributes for event in events if event.name in _RECORDED]
    found = [_exception(one, _OF_EVENT) for one in reversed(recorded)]
    return next(filter(None, [*found, _exception(attributes, _MESSAGE)]), None)


def _exception(given: Mapping[str, Any], messages: Sequence[str]) -> Any:
    kind, message = (
        next((given[name] for name in names if given.get(name)), None)
        for names in (_TYPE, messages)
    )
    return f"{kind}: {message}" if kind and message else message or kind

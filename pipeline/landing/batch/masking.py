"""What a landing withholds: secrets masked, outputs or contents left out.

It happens before arguments are canonicalised, so that nothing secret is stored, not even as the
hash of a guessable value: keys are made from masked arguments, and calls that differ in secrets
alone are equal. References are masked alike, so that what matched before matches still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.errors import UnknownNameError
from pipeline.landing.model import References, Run, Step, Task
from pipeline.landing.unknown.unmapped import dropped
from pipeline.landing.values.canonical import MAX_TEXT_LAYERS
from pipeline.redact import redact, redact_value

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

Item = TypeVar("Item", Run, Task)
Struct = TypeVar("Struct", Run, Task, Step)

DROPPABLE = {"outputs": "output", "contents": "content"}
"""What may be left out, and the column of `steps` that it is."""

_STEP = ("output", "error", "content", "labels", "unmapped")
_RUN = ("final_output", "final_state", "labels", "unmapped", "started_at", "ended_at")
_TASK = ("prompt", "reference_outputs", "expected_state", "labels", "unmapped")


def droppable(names: Sequence[str]) -> tuple[str, ...]:
    """Return what is to be left out, each once.

    Raises:
        UnknownNameError: it is nothing that can be left out.
    """
    for name in names:
        if name not in DROPPABLE:
            raise UnknownNameError.among("thing to drop", name, DROPPABLE)
    return tuple(sorted(set(names)))


def withhold(item: Item, *, secrets: bool, drop: Collection[str]) -> Item:
    """Return a run or task with its secrets masked, without what is not to be stored.

    Nothing is changed in place: formats hand out the same references for many runs.
    """
    if not secrets and not drop:
        return item
    if isinstance(item, Run):
        steps = [_withheld(step, secrets=secrets, drop=drop) for step in item.steps]
        item = msgspec.structs.replace(item, steps=steps)
    if secrets:
        names = _RUN if isinstance(item, Run) else _TASK
        item = msgspec.structs.replace(_masked(item, names), references=_masked_references(item))
    return item


def _withheld(step: Step, *, secrets: bool, drop: Collection[str]) -> Step:
    step = msgspec.structs.replace(
        step,
        unmapped=dropped(step.unmapped) if _of_dropped(step, drop) else step.unmapped,
        **{DROPPABLE[name]: None for name in drop},
    )
    if secrets:
        step = msgspec.structs.replace(
            _masked(step, _STEP), tool_args=masked_arguments(step.tool_args)
        )
    return step


def _of_dropped(step: Step, drop: Collection[str]) -> bool:
    """Tell whether a field nobody knows of may hold what is to be dropped: its name is kept."""
    is_output = step.kind == "tool_call" or step.actor == "tool"
    return ("outputs" if is_output else "contents") in drop


def _masked(item: Struct, names: tuple[str, ...]) -> Struct:
    values = {name: getattr(item, name) for name in names}
    told = {name: _masked_value(value) for name, value in values.items() if value is not None}
    return msgspec.structs.replace(item, **told)


def _masked_value(value: Any) -> Any:
    # What Python printed may hold tuples, sets and keys that are no text: JSON first.
    return redact_value(msgspec.to_builtins(value, str_keys=True, order="sorted"))


def _masked_references(item: Run | Task) -> References | None:
    if item.references is None:
        return None
    return References(
        [
            [
                msgspec.structs.replace(call, tool_args=masked_arguments(call.tool_args))
                for call in calls
            ]
            for calls in item.references.alternatives
        ]
    )


def masked_arguments(raw: msgspec.Raw | UnsetType) -> msgspec.Raw | UnsetType:
    """Mask undecoded arguments; the bytes stay as logged where there is nothing to mask."""
    if isinstance(raw, UnsetType):
        return UNSET
    try:
        value = _unwrapped(msgspec.json.decode(raw))
        masked = redact_value(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # No JSON that can be read exactly: kept as text, and marked invalid, where keys are made.
        return msgspec.Raw(redact(bytes(raw).decode(errors="replace")).encode())
    return raw if masked == value else msgspec.Raw(msgspec.json.encode(masked))


def _unwrapped(value: Any, layers: int = MAX_TEXT_LAYERS) -> Any:
    """Return the object that JSON text holds, as deep as canonicalisation looks."""
    if not isinstance(value, str) or not layers:
        return value
    try:
        inner = msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return value
    found = _unwrapped(inner, layers - 1)
    return found if isinstance(found, dict) else value

"""What a format hands over: runs, steps, expected calls and tasks, before they become columns.

A format module decodes its own structs and returns these. Text that is not text (a tool output
that is an object, say) may stay as decoded JSON: the writer spells it as canonical JSON text.
Arguments stay undecoded (`msgspec.Raw`): they are canonicalised once, where columns are made.
"""

from __future__ import annotations

import posixpath
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.unknown.unmapped import MARK, Known, Unmapped, leaves_out

Kind = Literal["llm_call", "tool_call", "final", "message"]
Status = Literal["ok", "error", "incomplete"]
When = str | int | float | None
"""A moment: ISO text (naive is UTC), or seconds, milli-, micro- or nanoseconds since 1970."""


class Step(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One step of a run. Field names are those of the `steps` table."""

    kind: Kind
    tool_name: str | None = None
    tool_args: msgspec.Raw | UnsetType = UNSET
    call_id: str | None = None
    output: Any = None
    is_error: bool | None = None
    error: Any = None
    content: Any = None
    turn_index: int | None = None
    response_index: int | None = None
    parent_step: int | None = None
    actor: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    started_at: When = None
    duration_ms: float | None = None
    reported_backtrack: bool | None = None
    labels: dict[str, Any] | None = None
    unmapped: Unmapped | None = msgspec.field(name=MARK, default=None)
    """What its format does not know: it joins the labels where columns are made."""


class Expected(msgspec.Struct, forbid_unknown_fields=True):
    """One expected call; without `tool_args` (absent or null) any arguments match."""

    tool_name: str
    tool_args: msgspec.Raw | UnsetType = UNSET
    optional: bool = False
    turn_index: int | None = None
    response_index: int | None = None
    compare_args: list[str] | None = None


class References:
    """The alternatives one record gives: each a list of expected calls (an empty one counts).

    No alternative at all means: nothing is expected that is known, and the task's reference must
    not be taken either.
    """

    __slots__ = ("alternatives", "content")

    def __init__(self, alternatives: list[list[Expected]]) -> None:
        self.alternatives = alternatives
        self.content: str | None = None  # the reference_set, once the writer has worked it out


class Told(msgspec.Struct, kw_only=True):
    """What a record may say of a run beside its steps. Field names are those of the `runs` table."""

    run_id: str | None = None
    """The id, only where it is globally unique; otherwise leave None and give `source_id`."""
    task_id: str | None = None
    trial: int | None = None
    suite: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    prompt_hash: str | None = None
    labels: dict[str, Any] | None = None
    started_at: When = None
    ended_at: When = None
    status: Status = "ok"
    success: bool | None = None
    reward: float | None = None
    completed: bool | None = None
    final_output: Any = None
    final_state: Any = None
    unmapped: Unmapped | None = msgspec.field(name=MARK, default=None)


class Outline(Told, kw_only=True):
    """One run, its steps and what it should have called kept elsewhere."""

    labels: dict[str, Any] = {}
    source_id: str | None = None
    trace: bool = False
    """Is the id a trace's? Its parts may land apart, and are one run."""


class Run(Outline, kw_only=True):
    """One run."""

    steps: list[Step]
    references: References | None = None


@leaves_out("description")
class Tool(Known):
    """A tool a task offers."""

    name: str
    input_schema: Any = None


class Task(msgspec.Struct, kw_only=True):
    """One task. Field names are those of the `tasks` table."""

    task_id: str
    suite: str | None = None
    prompt: Any = None
    reference_outputs: list[str] | None = None
    reference_complete: bool | None = None
    min_steps: int | None = None
    expected_state: Any = None
    references: References | None = None
    tools: list[Tool] | None = None
    labels: dict[str, Any] = {}
    unmapped: Unmapped | None = None
    mention: bool = False
    """A log only mentions the task: what it leaves out stays as landed before."""


class RejectError(Exception):
    """A record that cannot land: a reason of the closed vocabulary and what was seen."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def as_reject(error: Exception) -> RejectError:
    """Return why a record cannot land; what no format foresaw is the record's fault all the same."""
    if isinstance(error, RejectError):
        return error
    if isinstance(error, RecursionError):
        return RejectError("too_deep", "nested too deep to be read")
    return RejectError("unreadable", f"{type(error).__name__}: {error}"[:200])


class Damage(NamedTuple):
    """A damaged line inside a record that lands all the same: refused alone, the run is kept."""

    line: int
    offset: int
    reason: str
    detail: str
    data: bytes
    """The damaged bytes: what the excerpt is made of."""
    member: str = ""
    """The file it stands in, seen from the source, where that is a folder."""

    def shown(self, source: str) -> str:
        """Return the path of the file it stands in.

        >>> Damage(1, 0, "", "", b"", "../state.json").shown("talk/events")
        'talk/state.json'
        """
        return posixpath.normpath(posixpath.join(source, self.member)) if self.member else source


REASONS = {
    "not_json": "the text is no JSON value",
    "truncated": "the text ends inside a JSON value",
    "trailing_data": "more text follows a complete JSON value",
    "invalid_utf8": "bytes that are no UTF-8",
    "lone_surrogate": "a \\ud800–\\udfff escape without its partner",
    "nan_or_infinity": "NaN or Infinity, which JSON does not have",
    "number_out_of_range": "a number no double can hold",
    "control_character": "a raw control character inside a string",
    "too_deep": "nested deeper than can be read",
    "not_an_object": "a JSON value, but not an object",
    "wrong_type": "a field has another type than the format says",
    "missing_field": "a field the format needs is absent",
    "bad_value": "a field's value is outside what the format allows",
    "unreadable": "a shape that its format's reader did not foresee",
    "damaged_archive": "what it is packed in ends early or cannot be unpacked",
    "duplicate_run": "two different runs of one file carry the same identity",
}
"""The closed vocabulary of `rejects.reason`."""

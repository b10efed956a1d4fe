"""Langfuse's observations as typed structs, and as spans."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.landing.chats.said import Call, Said, answer, messages
from pipeline.landing.chats.unheard import unheard
from pipeline.landing.model import When  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.traces.attributes import amount, count, text, undecorated
from pipeline.landing.traces.openinference import KIND
from pipeline.landing.traces.returned import tell_returned
from pipeline.landing.traces.spans import Reading, Span, timed
from pipeline.landing.traces.trace import only_input
from pipeline.landing.traces.unread import unread
from pipeline.landing.traces.vocabulary import understood
from pipeline.landing.unknown.unmapped import Unmapped, add, rest
from pipeline.landing.values.literal import decoded, members, object_of, raw

if TYPE_CHECKING:
    from pipeline.landing.traces.spans import Role

_ROLES: dict[str, Role] = {
    "GENERATION": "llm", "TOOL": "tool", "AGENT": "agent", "EMBEDDING": "encoder",
}  # fmt: skip
TECHNICAL = {"attributes", "resourceAttributes", "scope"}
UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


class Observation(msgspec.Struct, rename="camel"):
    """One observation: a span, a generation, a tool's call."""

    id: str
    trace_id: str | None = None
    parent_observation_id: str | None = None
    type: str = ""
    name: str | None = None
    start_time: When = None
    end_time: When = None
    level: str | None = None
    status_message: str | None = None
    input: Any = None
    output: Any = None
    metadata: Any = None
    model: str | None = None
    usage_details: Any = None
    usage: Any = None
    input_usage: Any = None
    output_usage: Any = None
    prompt_tokens: Any = None
    completion_tokens: Any = None
    cost_details: Any = None
    total_cost: Any = None
    calculated_total_cost: Any = None
    tool_calls: Any = None
    tool_call_names: Any = None

    def span(self) -> Span:
        """Return the observation as a span, with its reading."""
        metadata = object_of(self.metadata)
        failed = self.level == "ERROR"
        span = Span(
            id=self.id,
            parent=self.parent_observation_id or None,
            name=self.name or "",
            **timed(self.start_time, self.end_time),
            failed=failed,
            error=self.status_message if failed else None,
            attributes=members(metadata, "attributes"),
            resource=members(metadata, "resourceAttributes"),
        )
        inside = understood(span).reading
        span.reading = self._reading(_role(self.type, span), inside)
        span.attributes = {**metadata, **span.attributes}
        return span

    def _reading(self, role: Role, inside: Reading) -> Reading:
        """Return what the observation says; `inside` is what the tracer's attributes say."""
        if role == "other":
            return Reading(says=inside.says)
        reading = Reading(role=role, name=inside.name or self._named(role))
        if role == "tool":
            value = only_input(self.input)
            reading.arguments = raw(value) if value is not None else inside.arguments
            reading.output = self.output
            tell_returned(reading)
        if role == "llm":
            reading.heard = messages(self.input, "user")
            reading.says = self._says()
        if role in {"llm", "encoder"}:
            reading.input_tokens, reading.output_tokens = self._tokens()
            reading.cost_usd = self._cost()
            reading.model = self.model
        reading.fill(inside)
        return reading

    def _named(self, role: Role) -> str | None:
        if role == "tool":
            return undecorated(self.name or "")
        if role == "encoder":
            return "embedding"
        # Some frameworks name an agent by a fresh id: a name no two runs share groups nothing.
        return None if role == "llm" or UUID.search(self.name or "") else self.name

    def _says(self) -> Said | None:
        said = answer(self.output)
        calls = self.tool_calls if isinstance(self.tool_calls, list) else []
        if not calls or (said is not None and said.calls):
            return said
        names = self.tool_call_names if isinstance(self.tool_call_names, list) else []
        told = [object_of(call) for call in calls]
        named = [
            call.get("name") or name for call, name in zip(told, [*names, *told], strict=False)
        ]
        found = [
            Call(str(name), raw(call.get("arguments", msgspec.UNSET)), text(call.get("id")))
            for call, name in zip(told, named, strict=True)
            if isinstance(name, str)
        ]
        return Said("assistant", said.text if said else None, found)

    def _cost(self) -> float | None:
        given = amount(self.total_cost) or amount(self.calculated_total_cost)
        told = {name: amount(cost) for name, cost in object_of(self.cost_details).items()}
        parts = [cost for name, cost in told.items() if cost is not None and name != "total"]
        return given or told.get("total") or sum(parts) or given

    def _tokens(self) -> tuple[int | None, int | None]:
        details, usage = object_of(self.usage_details), object_of(self.usage)
        if (parted := _parted(details)) is not None:
            return parted
        given = (
            (self.input_usage, self.output_usage),
            (details.get("input"), details.get("output")),
            (usage.get("input"), usage.get("output")),
            (self.prompt_tokens, self.completion_tokens),
        )
        counts = [(count(read), count(written)) for read, written in given]
        # A generation without usage is exported with zeros.
        return next(((read, written) for read, written in counts if read or written), (None, None))


_WRITTEN = re.compile("output|completion|reasoning")


def _parted(details: dict[str, Any]) -> tuple[int, int] | None:
    """Return tokens read and written where cached ones or thoughts are told beside the others.

    The total tells: then it is the sum of all. Where it is that of input and output alone, the
    others are a part of these.

    >>> _parted({"input": 5, "cache_read_input_tokens": 30, "output": 2, "total": 37})
    (35, 2)
    >>> _parted({"input": 35, "cache_read_input_tokens": 30, "output": 2, "total": 37}) is None
    True
    """
    counts = {name: count(value) or 0 for name, value in details.items()}
    total = counts.pop("total", 0)
    if total != sum(counts.values()) or not counts.keys() - {"input", "output"}:
        return None
    written = sum(value for name, value in counts.items() if _WRITTEN.search(name))
    return total - written, written


OF_OBSERVATION = {
    *Observation.__struct_encode_fields__, "bookmarked", "calculatedInputCost",
    "calculatedOutputCost", "completionStartTime", "createdAt", "inputCost",
    "inputPrice", "internalModel", "internalModelId", "latency", "modelId", "outputCost", "outputPrice",
    "projectId", "promptId", "public", "timeToFirstToken", "toolDefinitions", "totalPrice",
    "totalTokens", "totalUsage", "unit", "updatedAt", "usagePricingTierId",
    "usagePricingTierName", "providedCostDetails", "providedUsageDetails",
}  # fmt: skip
_USAGE = {"input", "output", "total", "unit", "inputCost", "outputCost", "totalCost"}


def unknown(record: dict[str, Any], span: Span) -> Unmapped:
    """Return what is not known of an observation, its metadata, usage and messages."""
    found = rest(record, OF_OBSERVATION)
    metadata = object_of(record.get("metadata"))
    inner = members(metadata, "attributes")
    technical = frozenset(TECHNICAL | inner.keys())
    # What the tracer told the server under its own name is in the record.
    add(found, unread({k: v for k, v in inner.items() if not k.startswith("langfuse.")}))
    add(found, unread(metadata, technical), "metadata")
    if not metadata and record.get("metadata") not in ({}, "", "{}"):
        add(found, rest({"metadata": record.get("metadata")}))
    for name in ("usageDetails", "usage"):
        add(found, rest(object_of(record.get(name)), _USAGE), name)
    if span.role == "llm":
        for name in ("input", "output"):
            value = record.get(name)
            add(found, unheard(decoded(value) if isinstance(value, str) else value), name)
        calls = record.get("toolCalls")
        for call in map(object_of, calls if isinstance(calls, list) else ()):
            add(found, rest(call, {"arguments", "id", "index", "name", "type"}), "toolCalls")
    return {name: values for name, values in found.items() if "null" not in values}


def _role(kind: str, span: Span) -> Role:
    """Tell what an observation stands for: by its type, unless its tracer says otherwise."""
    if span.role != "other" or KIND in span.attributes:
        return span.role
    return _ROLES.get(kind.upper(), "other")

"""LangSmith: exported runs (its word for spans), as JSON lines, an array, or bulk Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.landing.chats.said import answer, messages, together
from pipeline.landing.chats.wrapped import told, unwrapped
from pipeline.landing.formats import Format
from pipeline.landing.model import RejectError, When
from pipeline.landing.records import scattered, tabular
from pipeline.landing.traces.attributes import amount, count, text
from pipeline.landing.traces.returned import tell_returned
from pipeline.landing.traces.spans import Reading, Span, timed
from pipeline.landing.traces.trace import only_input, run_of
from pipeline.landing.unknown.unmapped import (
    Noting,
    Unmapped,
    add,
    decoder,
    leaves_out,
    left_out,
    rest,
)
from pipeline.landing.values.decode import decoding, decoding_some
from pipeline.landing.values.literal import decoded, members, object_of, raw

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.model import Run
    from pipeline.landing.records.places import Place
    from pipeline.landing.records.reader import Head, Piece, Source
    from pipeline.landing.traces.spans import Role

_ROLES: dict[str, Role] = {
    "llm": "llm", "chat_model": "llm", "tool": "tool", "embedding": "encoder",
}  # fmt: skip
_AGENT = "lc_agent_name"
_PENDING = "pending"
_PRIVATE = ("ls_", "lc_", "langgraph_", "__", "LANGSMITH", "LANGCHAIN", "revision_id", "thread_")


@leaves_out(
    "app_path", "attachments", "child_run_ids", "completion_cost",
    "completion_cost_details", "completion_token_details", "direct_child_run_ids", "dotted_order",
    "error_preview", "events", "execution_order", "first_token_time", "in_dataset",
    "inputs_or_signed_url", "inputs_preview", "inputs_s3_urls", "last_queued_at", "latency",
    "manifest_id", "manifest_s3_id", "messages", "outputs_or_signed_url", "outputs_preview",
    "outputs_s3_urls", "parent_run_ids", "price_model_id", "prompt_cost", "prompt_cost_details",
    "prompt_token_details", "s3_urls", "serialized", "share_token", "tenant_id", "thread_id",
    "total_tokens", "trace_first_received_at", "trace_max_start_time", "trace_min_start_time",
    "trace_tier", "trace_upgrade", "ttl_seconds", "reference_dataset_id", "is_root",
)  # fmt: skip
class Exported(Noting):
    """One run as exported: a span of the trace. Objects may be JSON text."""

    id: str
    trace_id: str | None = None
    parent_run_id: str | None = None
    run_type: str = ""
    name: str = ""
    inputs: Any = None
    outputs: Any = None
    error: Any = None
    start_time: When = None
    end_time: When = None
    status: str | None = None
    prompt_tokens: Any = None
    completion_tokens: Any = None
    total_cost: Any = None
    extra: Any = None
    tags: Any = None
    session_id: str | None = None
    session_name: str | None = None
    reference_example_id: str | None = None
    feedback_stats: Any = None
    child_runs: list[Exported] | None = None

    def all(self) -> Iterator[Exported]:
        """Yield the run, and those that it holds: so a run is loaded with its children."""
        open_runs = [(self, self.parent_run_id)]
        while open_runs:
            run, parent = open_runs.pop()
            run.parent_run_id = run.parent_run_id or parent
            yield run
            open_runs += [(child, run.id) for child in run.child_runs or ()]

    @property
    def trace(self) -> str:
        """Return the trace's id: a root's own, where none is told."""
        return self.trace_id or self.id

    @property
    def metadata(self) -> dict[str, Any]:
        """Return what the run's author told of it."""
        return members(object_of(self.extra), "metadata")

    def span(self) -> Span:
        """Return the run as a span, with its reading."""
        failed = bool(self.error) or self.status == "error"
        metadata = self.metadata
        return Span(
            id=self.id,
            parent=self.parent_run_id or None,
            **timed(self.start_time, None if self.status == _PENDING else self.end_time),
            failed=failed,
            error=self.error if failed else None,
            attributes=metadata,
            reading=self._reading(metadata),
            unmapped=self._unknown(metadata),
        )

    def _unknown(self, metadata: dict[str, Any]) -> Unmapped:
        """Return what is not known of the run, of what its author told and of its messages."""
        found: Unmapped = {}
        add(found, self.unmapped)
        add(found, rest(object_of(self.extra), _EXTRA), "extra")
        if self.parent_run_id is not None:  # a root's metadata are the run's labels
            own = {k: v for k, v in metadata.items() if not k.startswith(_PRIVATE)}
            add(found, rest(own), "metadata")
        role = _ROLES.get(self.run_type)
        if role == "llm":
            add(found, unwrapped(_plain(self.inputs)), "inputs")
            add(found, unwrapped(_plain(self.outputs)), "outputs")
        elif role == "tool" and (message := members(object_of(self.outputs), "output")):
            add(found, told(message) if "kwargs" in message else {}, "outputs.output")
        return found

    def _reading(self, metadata: dict[str, Any]) -> Reading:
        role = _ROLES.get(self.run_type, "other")
        if role == "tool":
            return self._tool()
        if role == "encoder":
            read, written = self._tokens()
            return Reading(
                role=role,
                name="embedding",
                input_tokens=read,
                output_tokens=written,
                cost_usd=amount(self.total_cost),
                model=self._model(metadata),
            )
        agent = text(metadata.get(_AGENT))
        if role == "other" and (agent is None or agent != self.name):
            return Reading(says=_last(self.outputs) if self.parent_run_id is None else None)
        says = answer(self.outputs) if role == "llm" else None
        # A chain's tokens are the sum of those beneath it.
        read, written = self._tokens() if role == "llm" else (None, None)
        return Reading(
            role="llm" if role == "llm" else "agent",
            name=agent,
            heard=messages(self.inputs, "user") if role == "llm" else [],
            says=says,
            input_tokens=read,
            output_tokens=written,
            cost_usd=amount(self.total_cost) if role == "llm" else None,
            model=self._model(metadata),
        )

    def _tool(self) -> Reading:
        outputs = object_of(self.outputs)
        output = outputs.get("output", self.outputs) if len(outputs) == 1 else self.outputs
        said = together(messages(output, None)) if isinstance(output, dict) else None
        result = said.results[0] if said is not None and said.results else None
        arguments = only_input(self.inputs)
        reading = Reading(
            role="tool",
            name=self.name,
            call_id=result.id if result else None,
            arguments=msgspec.UNSET if arguments is None else raw(arguments),
            output=result.output if result else output,
            failed=result.failed if result else None,
        )
        tell_returned(reading)
        return reading

    def _tokens(self) -> tuple[int | None, int | None]:
        counts = (count(self.prompt_tokens), count(self.completion_tokens))
        if any(counts):
            return counts
        usage = _usage(object_of(self.outputs))
        names = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
        read, written = (next((usage[n] for n in pair if n in usage), None) for pair in names)
        return count(read), count(written)

    def _model(self, metadata: dict[str, Any]) -> str | None:
        asked = members(object_of(self.extra), "invocation_params")
        names = ("model", "model_name")
        given = [asked.get(name) for name in names] + [metadata.get("ls_model_name")]
        # A client's own request and response, as LangSmith's wrappers of clients log them.
        given += [object_of(told).get("model") for told in (self.outputs, self.inputs)]
        return next((found for found in map(text, given) if found), None)

    def add_to(self, run: Run) -> None:
        """Tell the run what its root says of it."""
        run.started_at, run.ended_at = self.start_time, self.end_time
        run.agent = run.agent or self.name or None
        run.suite = run.suite or self.session_name
        run.task_id = self.reference_example_id or run.task_id
        version = self.metadata.get("revision_id")
        run.agent_version = run.agent_version or text(version)
        own = {k: v for k, v in self.metadata.items() if not k.startswith(_PRIVATE)}
        own_labels = {
            "project_id": self.session_id,
            "thread_id": self.metadata.get("thread_id"),
            "tags": self.tags or None,
        }
        scores = {
            f"score.{name}": stats.get("avg")
            for name, stats in object_of(self.feedback_stats).items()
            if isinstance(stats, dict)
        }
        known = {name: value for name, value in own_labels.items() if value is not None}
        run.labels = {**own, **scores, **run.labels, **known}


_EXTRA = {"batch_size", "invocation_params", "metadata", "options", "runtime"}
_runs = decoder(list[Exported])
_run = decoder(Exported)


def _plain(value: Any) -> Any:
    return decoded(value) if isinstance(value, str) else value


def _usage(outputs: dict[str, Any]) -> dict[str, Any]:
    """Find the usage in a model's outputs: at the top, in LangChain's places, or in a message."""
    for holder, name in (
        (outputs, "usage_metadata"),
        (outputs, "usage"),
        (members(outputs, "llm_output"), "token_usage"),
    ):
        if members(holder, name):
            return members(holder, name)
    found: Any = outputs.get("generations")
    while isinstance(found, list) and found:
        found = found[0]
    message = members(found, "message") if isinstance(found, dict) else {}
    return members(members(message, "kwargs") or message, "usage_metadata")


def _last(outputs: Any) -> Any:
    """Return the last thing the model says in a chain's outputs: a state's last message."""
    said = [one for one in messages(outputs, "assistant") if one.role == "assistant"]
    return said[-1] if said else None


def _trace(data: bytes) -> str | None:
    try:
        return decoding(_run, data).trace
    except RejectError:
        return None


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode the exported runs of one trace into its run."""
    tabular.refuse_damage(piece)
    if piece.data[:1] != b"[":
        decoding(_run, piece.data)
    exported = [run for one in decoding_some(_runs, piece.data) for run in one.all()]
    run = run_of(exported[0].trace, (one.span() for one in exported))
    if run is None:
        return
    ids = {one.id for one in exported}
    root = next((one for one in exported if one.parent_run_id not in ids), exported[0])
    root.add_to(run)
    yield run


def _pieces(source: Source) -> Iterator[Piece]:
    if source.head.framing == "parquet":
        return tabular.gathered_rows(source, "trace_id")
    return scattered.gathered(source, scattered.by_key(source.records(), _trace))


def _reread(source: Source, places: Sequence[Place]) -> Iterator[bytes]:
    reread = tabular.reread if source.head.framing == "parquet" else scattered.reread
    return reread(source, places)


def sniff(head: Head) -> str | None:
    """Recognise run_type and inputs, with the ids of a trace."""
    first = head.first if isinstance(head.first, dict) else {}
    if first.keys() >= {"id", "run_type"} and not first.keys().isdisjoint(
        {"trace_id", "dotted_order", "parent_run_id"}
    ):
        return "records with run_type and trace_id"
    return None


FORMAT = Format(
    name="langsmith",
    title="LangSmith runs, JSONL, an array or bulk Parquet",
    sniff=sniff,
    pieces=_pieces,
    decode=decode,
    reread=_reread,
    leaves_out=lambda: [
        *left_out(Exported),
        *sorted(f"extra.{name}" for name in _EXTRA - {"metadata"}),
    ],
    fills="calls, arguments, results, errors, tokens, cost, times, messages, feedback as labels, example",
    lacks="references, success",
    expects=("id", "run_type", "trace_id"),
)

"""OpenHands evaluation and resolver output: JSONL, one instance with its history of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.landing.chats.chat import final_output
from pipeline.landing.chats.transcript import known
from pipeline.landing.formats import Format
from pipeline.landing.model import Run
from pipeline.landing.records.session import first_and_last
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    add,
    decoder,
    leaves_out,
    left_out,
)
from pipeline.landing.values.decode import decoding
from pipeline.landing.vendors import openhands_sdk_steps
from pipeline.landing.vendors.openhands import Event, Metrics, is_event
from pipeline.landing.vendors.openhands_steps import collect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Status
    from pipeline.landing.records.reader import Head, Piece
    from pipeline.landing.vendors.openhands_steps import Events


class Model(msgspec.Struct):
    """The configuration of the model."""

    model: str | None = None


@leaves_out(
    "agent_config", "condenser_config", "data_split", "eval_note", "eval_output_dir", "start_time"
)
class Metadata(Known):
    """How the evaluation was configured."""

    agent_class: str | None = None
    llm_config: Model | None = None
    dataset: str | None = None
    git_commit: str | None = None
    max_iterations: int | None = None
    details: Any = None


@leaves_out(
    "base_branch", "body", "closing_issues", "head_branch", "review_comments", "review_threads",
    "thread_comments", "thread_ids", "title",
)  # fmt: skip
class Issue(Known):
    """The issue a resolver worked on."""

    owner: str | None = None
    repo: str | None = None
    number: int | None = None

    def name(self) -> str | None:
        """Return the issue's name, as people write it."""
        if self.number is None:
            return None
        place = "/".join(filter(None, (self.owner, self.repo)))
        return f"{place}#{self.number}"


@leaves_out(
    "base_container_image", "base_prompt", "comment_success", "git_patch", "instance",
    "instruction", "issue_type",
)  # fmt: skip
class Record(Noting):
    """One instance."""

    history: list[msgspec.Raw] | None
    instance_id: str | int | None = None
    issue: Issue | None = None
    metadata: Metadata | None = None
    metrics: Metrics | None = None
    error: str | None = None
    success: bool | None = None
    test_result: Any = None
    result_explanation: str | None = None
    base_commit: str | None = None


_decode = decoder(Record)

# Ends of a run, not failures of what it runs on.
_LIMITS = ("maximum iteration", "AgentStuckInLoopError", "stuck in a loop", "maximum budget")


def _task(record: Record) -> str | None:
    if record.instance_id is not None:
        return str(record.instance_id)
    return record.issue.name() if record.issue else None


def _is_limit(error: str | None) -> bool:
    return any(limit in (error or "") for limit in _LIMITS)


def _status(record: Record, events: Events) -> Status:
    if events.failure or (record.error and not _is_limit(record.error)):
        return "error"
    return "incomplete" if not record.error and events.transcript.ends_open else "ok"


def _success(record: Record) -> bool | None:
    """Return what the record says itself: a resolver's word, or a report in the test's result."""
    if record.success is not None:
        return record.success
    told = record.test_result if isinstance(record.test_result, dict) else {}
    report = told.get("report") if isinstance(told.get("report"), dict) else {}
    resolved = report.get("resolved") if isinstance(report, dict) else None
    return resolved if isinstance(resolved, bool) else None


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode one instance into its run."""
    record = decoding(_decode, piece.data)
    history = record.history or []  # null where the instance failed before the agent began
    events, times = openhands_sdk_steps.collect(history) or collect(history)
    steps = events.steps(record.metrics)
    metadata = record.metadata or Metadata()
    task = _task(record)
    started, ended = first_and_last(times)
    add(events.transcript.unmapped, record.unmapped)
    yield Run(
        steps=steps,
        source_id=task,
        task_id=task,
        agent="openhands",
        agent_version=metadata.git_commit,
        model=(metadata.llm_config.model if metadata.llm_config else None) or events.model,
        prompt_hash=events.prompt_hash,
        labels=known(
            agent_class=metadata.agent_class,
            dataset=metadata.dataset,
            max_iterations=metadata.max_iterations,
            error=record.error,
            result_explanation=record.result_explanation,
            base_commit=record.base_commit,
        ),
        unmapped=events.transcript.unmapped,
        started_at=started,
        ended_at=ended,
        status=_status(record, events),
        success=_success(record),
        completed=events.finished or (False if record.error else None),
        final_output=events.farewell or final_output(steps),
    )


def _begins(history: Any) -> bool:
    if not isinstance(history, list):
        return False
    first = history[0] if history else None
    return is_event(first[0] if isinstance(first, list) and first else first)


def sniff(head: Head) -> str | None:
    """Recognise an instance or an issue, and a history of actions and observations."""
    first = head.first
    if not isinstance(first, dict) or not ({"instance_id", "issue"} & first.keys()):
        return None
    if _begins(first.get("history")):
        return "instances with history[].action"
    # The head may end before the history, or the run may have none.
    own = {"instruction", "test_result", "metadata", "git_patch"} & first.keys()
    if len(own) > 1 and not first.get("history"):
        return "instances with instruction, test_result and metadata"
    return None


FORMAT = Format(
    name="openhands_output",
    title="OpenHands evaluation or resolver output (output.jsonl)",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    fills="calls, outputs, errors, parallel calls, tokens, cost of the run, times, the model",
    lacks="trials, references; success unless the record has it; ids and times in the oldest logs",
    leaves_out=lambda: [
        "test_result",
        "history.args",
        "history.extras",
        "history.observation",
        "metadata.llm_config",
        *left_out(Record),
        *left_out(Event, "history"),
    ],
    expects=("instance_id", "history"),
)

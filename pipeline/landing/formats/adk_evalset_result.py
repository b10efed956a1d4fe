"""Google ADK eval results: what an agent did beside what it should have done, and ADK's scores."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET, UnsetType

from pipeline.landing.chats.chat import final_output
from pipeline.landing.formats import Format
from pipeline.landing.formats.adk_evalset import task_of
from pipeline.landing.model import References, Run, When
from pipeline.landing.records.salvage import of_array, salvaged
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    Unmapped,
    add,
    gathered,
    leaves_out,
    left_out,
)
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.unique import is_unique
from pipeline.landing.vendors.adk import decoder, said
from pipeline.landing.vendors.adk_invocation import (
    Invocation,
    TraceUsage,
    answer,
    calls,
    expected,
    noted,
    responses,
)
from pipeline.landing.vendors.adk_steps import Transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Damage, Task
    from pipeline.landing.records.reader import Head, Piece

EvalStatus = int | str | None


@leaves_out("criterion", "details", "rubric_scores", "threshold")
class MetricResult(Known):
    """One score ADK gave."""

    metric_name: str
    score: float | UnsetType | None = UNSET
    eval_status: EvalStatus = None

    def value(self) -> float | None:
        """Return the score. The Go port leaves out zeros: none on a failed metric is 0."""
        if isinstance(self.score, UnsetType):
            return 0.0 if _passed(self.eval_status) is False else None
        return self.score


class Turn(Noting):
    """One invocation, as it was and as it should have been."""

    actual_invocation: Invocation | None = None
    expected_invocation: Invocation | None = None
    eval_metric_results: list[MetricResult] | None = None


@leaves_out("events", "id", "last_update_time", "user_id")
class SessionDetails(Known):
    """The session the agent ran in."""

    app_name: str | None = None
    state: Any = None


@leaves_out("eval_metric_results", "eval_set_file")
class CaseResult(Noting):
    """One run of one eval case. `run_id` is the Go port's number of the run, from 1."""

    eval_id: str
    eval_set_id: str | None = None
    run_id: int | None = None
    final_eval_status: EvalStatus = None
    overall_eval_metric_results: list[MetricResult] | None = None
    eval_metric_result_per_invocation: list[Turn] | None = None
    session_id: str | None = None
    session_details: SessionDetails | None = None
    user_id: str | None = None
    error_message: str | None = None
    score: float | None = None

    def turns(self) -> list[Turn]:
        """Return the invocations with their scores."""
        return self.eval_metric_result_per_invocation or []

    def actual(self) -> list[Invocation | None]:
        """Return what happened, turn by turn."""
        return [turn.actual_invocation for turn in self.turns()]

    def expected(self) -> list[Invocation | None]:
        """Return what should have happened, turn by turn."""
        return [turn.expected_invocation for turn in self.turns()]


@leaves_out("eval_set_result_name", "summary")
class SetResult(Noting):
    """The file."""

    eval_case_results: list[CaseResult]
    eval_set_id: str | None = None
    eval_set_result_id: str | None = None
    creation_timestamp: When = None


class _Tally(NamedTuple):
    """How often eval cases and sessions occur in the file."""

    cases: Counter[str]
    sessions: Counter[str | None]


_decode = decoder(SetResult)
_NAMES = ("eval_case_results", "evalCaseResults")


def _passed(status: EvalStatus) -> bool | None:
    name = status.lower() if isinstance(status, str) else status
    return {1: True, "passed": True, 2: False, "failed": False}.get(name or 0)


def _scores(results: list[MetricResult] | None) -> dict[str, float | None]:
    return {result.metric_name: result.value() for result in results or ()}


def _add_turn(transcript: Transcript, invocation: Invocation, turn: int) -> None:
    transcript.hear(said(invocation.user_content), turn, invocation.creation_timestamp or None)
    events = invocation.intermediate_data and invocation.intermediate_data.invocation_events
    for event in events or ():
        transcript.add(event, turn)
    for call in () if events else calls(invocation):
        transcript.call(call, turn)
    for response in responses(invocation):
        transcript.take(response, turn)
    usage = (invocation.execution_trace and invocation.execution_trace.usage) or TraceUsage()
    tokens = {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}
    transcript.answer(answer(invocation), turn, **tokens)


def _root(actual: list[Invocation | None]) -> str | None:
    """Return the author of the first event: the agent the others work for."""
    data = (turn.intermediate_data for turn in actual if turn is not None)
    events = (event for found in data if found for event in found.invocation_events or ())
    return next((event.author for event in events if event.author not in {None, "user"}), None)


def _transcript(actual: list[Invocation | None]) -> Transcript:
    transcript = Transcript(_root(actual))
    for turn, invocation in enumerate(actual):
        if invocation is not None:
            _add_turn(transcript, invocation, turn)
            add(transcript.unmapped, noted(invocation), "actual_invocation")
    return transcript


def _unmapped(case: CaseResult, result: SetResult) -> Unmapped:
    """Return what is not known of the result but for what happened."""
    found: Unmapped = {}
    add(found, result.unmapped)
    add(found, case.unmapped)
    for turn in case.turns():
        add(found, turn.unmapped, "eval_metric_result_per_invocation")
    add(found, gathered(case.expected(), "expected_invocation"))
    return found


def _agent(case: CaseResult, result: SetResult) -> str | None:
    """Return the app: the session's word, else what precedes the eval set in the result's id."""
    if case.session_details is not None and case.session_details.app_name:
        return case.session_details.app_name
    app, found, _ = (result.eval_set_result_id or "").partition(f"_{result.eval_set_id}_")
    return app if found and app else None


def _labels(case: CaseResult, result: SetResult) -> dict[str, Any]:
    per_turn = [_scores(turn.eval_metric_results) for turn in case.turns()]
    labels = {
        "recorded_metrics": _scores(case.overall_eval_metric_results) or None,
        "recorded_metrics_per_turn": per_turn or None,
        "recorded_score": case.score,
        "eval_set_result_id": result.eval_set_result_id,
        "evaluated_at": result.creation_timestamp,
        "run_number": case.run_id,
        "user_id": case.user_id,
        "error": case.error_message or None,
    }
    return {name: value for name, value in labels.items() if value is not None}


def _run(case: CaseResult, result: SetResult, tally: _Tally, occurrence: int) -> Run:
    happened = [turn for turn in case.actual() if turn is not None]
    traces = [turn.execution_trace for turn in happened if turn.execution_trace is not None]
    began = happened[0].creation_timestamp if happened else None
    unique = is_unique(case.session_id) and tally.sessions[case.session_id] == 1
    transcript = _transcript(case.actual())
    steps = transcript.finished()
    add(transcript.unmapped, _unmapped(case, result))
    return Run(
        steps=steps,
        run_id=case.session_id if unique else None,
        source_id=None if unique else case.session_id or case.eval_id,
        task_id=case.eval_id,
        # One run alone is no trial: other files hold other runs of the same case.
        trial=occurrence if tally.cases[case.eval_id] > 1 else None,
        suite=case.eval_set_id or result.eval_set_id,
        agent=_agent(case, result),
        labels=_labels(case, result),
        unmapped=transcript.unmapped,
        started_at=traces[0].started_at if traces else began or None,
        ended_at=traces[-1].ended_at if traces else None,
        status="error" if case.error_message else "ok",
        success=_passed(case.final_eval_status),
        final_output=final_output(steps),
        final_state=case.session_details and case.session_details.state,
        references=References([expected(case.expected())]) if any(case.expected()) else None,
    )


def decode(piece: Piece, _context: Any = None) -> list[Run | Task | Damage]:
    """Decode an eval result: a run per case result, and a task per case."""
    return salvaged(piece, lambda whole: of_array(whole, *_NAMES), _items)


def _items(data: bytes) -> Iterator[Run | Task]:
    result = decoding(_decode, data)
    cases = result.eval_case_results
    tally = _Tally(Counter(c.eval_id for c in cases), Counter(c.session_id for c in cases))
    seen: Counter[str] = Counter()
    for case in cases:
        if any(case.expected()) and not seen[case.eval_id]:
            yield task_of(case.eval_id, case.eval_set_id or result.eval_set_id, case.expected())
        yield _run(case, result, tally, seen[case.eval_id])
        seen[case.eval_id] += 1


def sniff(head: Head) -> str | None:
    """Recognise a list of eval case results, also in a document encoded twice."""
    if any(head.has(name) for name in _NAMES):
        return "eval_case_results"
    if isinstance(head.first, str) and any(f'"{name}"' in head.first for name in _NAMES):
        return "eval_case_results in a document encoded twice"
    return None


FORMAT = Format(
    name="adk_evalset_result",
    title="Google ADK eval result (*.evalset_result.json), also of the Go port",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    fills="calls and answers per turn, references, success, ADK's own scores (as labels)",
    lacks="model responses between calls, times and tokens (but for the Go port's traces)",
    leaves_out=lambda: left_out(SetResult),
    expects=("eval_case_results",),
)

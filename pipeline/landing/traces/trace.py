"""A trace to a run: one trace is one run, and its id is the run's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.landing.chats.chat import final_output, prompt_hash
from pipeline.landing.model import Run
from pipeline.landing.traces.given import Given, plain, service_of
from pipeline.landing.traces.labels import ENCODERS, MODEL, SPAN
from pipeline.landing.traces.spans import Tree
from pipeline.landing.traces.steps import TraceSteps
from pipeline.landing.traces.unread import unread
from pipeline.landing.unknown.unmapped import add, note
from pipeline.landing.values.literal import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.landing.model import Status, Step
    from pipeline.landing.traces.spans import Span
    from pipeline.landing.unknown.unmapped import Unmapped


def run_of(trace_id: str | None, spans: Iterable[Span]) -> Run | None:
    """Return the run a trace tells of; None where no span is a model's, a tool's or an agent's.

    Embeddings alone are none: they say and decide nothing.
    """
    tree = Tree(spans)
    telling = [span for span in tree.spans if span.role not in {"encoder", "other"}]
    if not telling:
        return None
    made = TraceSteps(tree)
    steps = made.finished()
    # The agent's process is the one that talks to the model, not the proxy before it.
    working = [span for span in telling if span.role != "agent"] or telling
    resource = working[0].resource
    given = Given(tree, resource)
    return Run(
        steps=steps,
        unmapped=_unmapped(tree, steps),
        trace=trace_id is not None,
        run_id=trace_id,
        task_id=given.text("task_id"),
        trial=given.number("trial"),
        suite=given.text("suite"),
        agent=_agent(tree) or service_of(resource),
        agent_version=_version(tree) or plain(resource.get("service.version")),
        model=model_of(steps),
        prompt_hash=None if made.prompt is None else prompt_hash(made.prompt),
        labels=given.labels(),
        started_at=min((s.start for s in telling if s.start is not None), default=None),
        ended_at=max((s.end for s in telling if s.end is not None), default=None),
        status=_status(tree),
        final_output=final_output(steps) or _answer(tree),
    )


def _unmapped(tree: Tree, steps: Sequence[Step]) -> Unmapped:
    """Give what is not known of each span to its response or call; return what is of neither."""
    found: Unmapped = {}
    resources = {id(s.resource): s.resource for s in tree.spans if s.reading.role != "other"}
    for resource in resources.values():
        add(found, unread(resource), "resource")
    strange = [span for span in tree.spans if span.unmapped]
    own: dict[str, Step] = {}
    for step in steps if strange else ():
        if step.kind != "message" or step.actor in ENCODERS:
            own.setdefault((step.labels or {}).get(SPAN, ""), step)
    for span in strange:
        if span.id in own:
            note(own[span.id], span.unmapped)
        else:
            add(found, span.unmapped, "spans")
    return found


def only_input(value: Any) -> Any:
    """Take off the `input` that tracers wrap a tool's arguments in, where these are an object.

    >>> only_input({"input": {"city": "Berlin"}}), only_input({"input": "Berlin"})
    ({'city': 'Berlin'}, {'input': 'Berlin'})
    """
    found = decoded(value) if isinstance(value, str) else value
    inner = found.get("input") if isinstance(found, dict) and len(found) == 1 else None
    given = decoded(inner) if isinstance(inner, str) else inner
    return given if isinstance(given, dict) else value


def _agent(tree: Tree) -> str | None:
    return next((span.reading.name for span in tree.of("agent") if span.reading.name), None)


def _version(tree: Tree) -> str | None:
    return next((span.reading.version for span in tree.of("agent") if span.reading.version), None)


def model_of(steps: Iterable[Step]) -> str | None:
    """Return the model of the main agent's first response, or of any."""
    told = [step for step in steps if step.kind in {"llm_call", "final"}]
    own = [step for step in told if step.actor == "agent"]
    models = ((step.labels or {}).get(MODEL) for step in [*own, *told])
    return next((str(model) for model in models if model), None)


def _status(tree: Tree) -> Status:
    """Tell how the run ended, from its first agent span, or else its root."""
    top = next(iter(tree.of("agent")), None) or next(
        (span for span in tree.spans if span.parent not in tree.by_id), None
    )
    if top is None:
        return "ok"
    if top.failed and top.role != "tool":
        return "error"
    return "incomplete" if top.unfinished else "ok"


def _answer(tree: Tree) -> str | None:
    """Return the text that the outermost span answered with."""
    answers = (span.reading.says for span in tree.spans if span.role != "llm")
    return next((said.text for said in answers if said is not None and said.text), None)

"""ToolBench answers prepared for ToolEval: one object, a query and its answer under each id."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, field

from pipeline.landing.chats.messages import Raw  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.formats import Format
from pipeline.landing.model import RejectError, Run, Step, Task, Tool
from pipeline.landing.records.salvage import of_object, salvaged
from pipeline.landing.unknown.unmapped import Known, Noting, decoder, leaves_out, left_out
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.literal import decoded, raw
from pipeline.landing.vendors.toolbench import answer, failed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Damage
    from pipeline.landing.records.reader import Head, Piece


class Node(Known):
    """What was said or called, and what followed."""

    role: str
    message: Any = None
    next: list[Node] = field(default_factory=list)


class Answer(Known):
    """The answer to one query."""

    answer_details: list[Node]
    method: str | None = None
    total_steps: int | None = None
    final_answer: str | None = None


@leaves_out("description")
class ToolDefinition(Known):
    """A tool on offer."""

    name: str
    parameters: Any = None


class Query(Noting):
    """One member of the file."""

    answer: Answer
    query: str | None = None
    available_tools: list[ToolDefinition] | None = None


_decode = decoder(dict[str, Query])
_STRING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_NAME = re.compile(rf"\s*\{{'name': (?P<name>{_STRING})", re.DOTALL)
_ARGUMENTS = re.compile(rf"\s*,\s*'arguments': (?P<arguments>{_STRING})", re.DOTALL)


def _in_order(nodes: list[Node]) -> Iterator[Node]:
    waiting = nodes[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.next[::-1]


def _call(message: Any) -> tuple[str, Raw, Any]:
    """Return name, arguments and response of a call: what Python prints of it, mostly cut off."""
    whole = decoded(message) if isinstance(message, str) else message
    if isinstance(whole, dict) and isinstance(whole.get("name"), str):
        return whole["name"], raw(whole.get("arguments", UNSET)), whole.get("response")
    named = _NAME.match(message) if isinstance(message, str) else None
    if named is None:
        raise RejectError("bad_value", f"a tool's message names no tool: {str(message)[:80]}")
    given = _ARGUMENTS.match(message, named.end())
    arguments = UNSET if given is None else raw(_printed(given["arguments"]))
    return _printed(named["name"]), arguments, None


def _printed(text: str) -> str:
    """Return the text that Python prints so; what only looks so, as it stands between its quotes."""
    found = decoded(f"[{text}]")
    return found[0] if isinstance(found, list) else text[1:-1]


def _steps(nodes: list[Node]) -> list[Step]:
    steps: list[Step] = []
    count = -1
    for node in _in_order(nodes):
        if node.role == "assistant":
            count += 1
            steps.append(Step("llm_call", content=node.message, actor="agent"))
        elif node.role == "tool":
            # A thought and the call behind it are one response.
            count += not (steps and steps[-1].kind == "llm_call")
            name, arguments, output = _call(node.message)
            call = Step("tool_call", tool_name=name, tool_args=arguments, output=output)
            call.actor, call.is_error = "agent", failed(output)
            steps.append(call)
        elif node.message:
            steps.append(Step("message", content=node.message, actor=node.role))
        if node.role in {"assistant", "tool"}:
            steps[-1].response_index = count
    for step in steps:
        step.turn_index = 0
    if steps and steps[-1].kind == "llm_call":
        steps[-1].kind = "final"
    return steps


def _task(task_id: str, told: Query) -> Task:
    tools = [Tool(tool.name, tool.parameters) for tool in told.available_tools or ()]
    return Task(task_id=task_id, prompt=told.query, tools=tools or None)


def _run(task_id: str, told: Query) -> Run:
    steps = _steps(told.answer.answer_details)
    final = steps[-1].content if steps and steps[-1].kind == "final" else None
    total = told.answer.total_steps
    return Run(
        steps=steps,
        source_id=task_id,
        task_id=task_id,
        agent=told.answer.method,
        labels={} if total is None else {"total_steps": total},
        unmapped=told.unmapped,
        final_output=answer(told.answer.final_answer) or final,
    )


def decode(piece: Piece, _context: Any = None) -> list[Run | Task | Damage]:
    """Decode the file's queries into tasks and their answers into runs."""
    return salvaged(piece, of_object, _items)


def _items(data: bytes) -> Iterator[Run | Task]:
    for task_id, told in decoding(_decode, data).items():
        yield _task(task_id, told)
        yield _run(task_id, told)


def sniff(head: Head) -> str | None:
    """Recognise queries with answer_details under ids."""
    if not isinstance(head.first, dict) or not head.first:
        return None
    one = next(iter(head.first.values()))
    found = one.get("answer") if isinstance(one, dict) else None
    return (
        "answer.answer_details" if isinstance(found, dict) and "answer_details" in found else None
    )


FORMAT = Format(
    name="toolbench_tooleval",
    title="ToolBench answers prepared for ToolEval, one object per file",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    leaves_out=lambda: left_out(Query),
    fills="tool names, arguments where not cut off, tasks with their tools, the answer",
    lacks="most outputs and many arguments (cut off at 100 characters), errors, success, tokens",
)

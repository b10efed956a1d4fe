"""The tasks of a sample: what is asked for, and the calls that answer it."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.sample.words import CITIES, NAMES, SUITES, TOOLS, as_json, spelled

if TYPE_CHECKING:
    from pipeline.sample.words import Draw

N_TASKS = 2000

EXPECTS_NOTHING = 0.03
HAS_TWO_WAYS = 0.05
TAKES_ANY_ARGUMENTS = 0.05
IS_VIP = 0.2


class Call(NamedTuple):
    """A call as JSON text: the tool with right arguments, and with slightly wrong ones."""

    right: str
    wrong: str


class Sampled(NamedTuple):
    """A task: what runs need of it, and its own record."""

    head: str
    calls: tuple[Call, ...]
    expected: str
    record: str


def tasks(seed: int) -> list[Sampled]:
    """Make all tasks."""
    draw = Random(f"tasks {seed}").random  # noqa: S311 - made-up data, no secret
    return [_task(number, draw) for number in range(N_TASKS)]


def _task(number: int, draw: Draw) -> Sampled:
    suite = SUITES[int(draw() * len(SUITES))]
    n_calls = 0 if draw() < EXPECTS_NOTHING else 1 + int(draw() * 5)
    tools = [TOOLS[int(draw() * len(TOOLS))] for _ in range(n_calls)]
    args = [_arguments(tool, draw) for tool in tools]
    expected: list[dict[str, Any]] = [
        {"tool_name": t, "tool_args": a} for t, a in zip(tools, args, strict=True)
    ]
    references = [expected]
    if n_calls > 1 and draw() < HAS_TWO_WAYS:
        references.append(expected[::-1])
    if expected and draw() < TAKES_ANY_ARGUMENTS:
        expected[-1].pop("tool_args")  # whatever the arguments
    task = {"task_id": f"task-{number:04d}", "suite": suite}
    told = {
        **task,
        "prompt": f"{NAMES[number % len(NAMES)]}, {CITIES[number // 6 % len(CITIES)]}: request {number}",
        "min_steps": 2 * n_calls + 1,
        "references": references,
    }
    calls = (Call(spelled(t, a), spelled(t, _slipped(a))) for t, a in zip(tools, args, strict=True))
    return Sampled(
        head=as_json(task)[1:-1],
        calls=tuple(calls),
        expected=as_json(references if len(references) > 1 else expected),
        record=as_json(told) + "\n",
    )


def _arguments(tool: str, draw: Draw) -> dict[str, Any]:
    verb, _, noun = tool.partition("_")
    args: dict[str, Any] = {f"{noun}_id": f"{noun[:2].upper()}{int(draw() * 10**6):06d}"}
    if verb in ("search", "list"):
        args = {
            "query": CITIES[int(draw() * len(CITIES))],
            "filters": {
                "max_price": int(draw() * 90000) / 100,
                "tags": [noun, "open"][: 1 + int(draw() * 2)],
            },
            "page": int(draw() * 3),
        }
    elif verb in ("create", "update"):
        args["customer"] = {
            "name": NAMES[int(draw() * len(NAMES))],
            "vip": draw() < IS_VIP,
            "note": None,
        }
        args["amount"] = int(draw() * 100000) / 100
    return args


def _slipped(args: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with the first one off: what a careless agent sends."""
    first = next(iter(args))
    return {**args, first: f"{args[first]}0"}

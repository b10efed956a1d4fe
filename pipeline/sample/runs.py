"""The runs of a sample: two versions of an agent that skip, slip, stray, fail and repeat."""

from __future__ import annotations

from random import Random
from time import gmtime, strftime
from typing import TYPE_CHECKING, NamedTuple

from pipeline.sample.words import CITIES, TOOLS, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.sample.tasks import Sampled
    from pipeline.sample.words import Draw

TRIALS = 4
START = 1_764_547_200
"""2025-12-01T00:00:00Z: the first run's start."""

BREAKS_DOWN = 0.01
EVENLY = 0.5

ERRORS = (
    "timeout after 30 s",
    "404: no such record",
    "429: too many requests",
    "field 'date' is missing",
)
TEXTS = (
    "Let me look that up.",
    "One moment, please.",
    "I will check the details.",
    "Das prüfe ich kurz.",
)
STRAYS = tuple(spelled(tool, {"query": city}) for tool in TOOLS for city in CITIES)


class Habits(NamedTuple):
    """How often a version of the agent does what, per expected call."""

    skips: float
    slips: float
    """Wrong arguments."""
    strays: float
    """A call nobody asked for."""
    fails: float
    repeats: float


VERSIONS = (
    ("v1", Habits(skips=0.05, slips=0.10, strays=0.12, fails=0.12, repeats=0.09)),
    ("v2", Habits(skips=0.03, slips=0.06, strays=0.08, fails=0.08, repeats=0.04)),
)


class Attempt(NamedTuple):
    """Who tries what, and when."""

    run_id: str
    start: int
    task: Sampled
    trial: int
    version: tuple[str, Habits]


def lines(known: list[Sampled], runs: int, seed: int) -> Iterator[str]:
    """Yield runs as JSON lines: two versions by four trials of one task, then the next task."""
    draw = Random(f"runs {seed}").random  # noqa: S311 - same
    for number in range(runs):
        yield _run(_attempt(number, known, seed), draw)


def _attempt(number: int, known: list[Sampled], seed: int) -> Attempt:
    rest, version = divmod(number, len(VERSIONS))
    rest, trial = divmod(rest, TRIALS)
    again, at = divmod(rest, len(known))
    return Attempt(
        run_id=f"s{seed}-{number:07d}",
        start=START + 7 * number,
        task=known[at],
        trial=again * TRIALS + trial,
        version=VERSIONS[version],
    )


def _plan(task: Sampled, habits: Habits, draw: Draw) -> list[tuple[str, bool]]:
    """Return the calls a run makes: each as text, and whether it fails."""
    plan: list[tuple[str, bool]] = []
    for call in task.calls:
        if draw() < habits.strays:
            plan.append((STRAYS[int(draw() * len(STRAYS))], False))
        if draw() < habits.skips:
            continue
        text = call.wrong if draw() < habits.slips else call.right
        if draw() < habits.fails:
            plan.append((call.wrong if draw() < EVENLY else text, True))
        plan.append((text, False))
        while draw() < habits.repeats:
            plan.append((text, False))
    return plan


def _run(attempt: Attempt, draw: Draw) -> str:
    run_id, start, task, trial, (name, habits) = attempt
    plan = _plan(task, habits, draw)
    right = sum(call.right in (text for text, _ in plan) for call in task.calls) == len(task.calls)
    success = draw() < (0.9 if right else 0.2)
    broken = draw() < BREAKS_DOWN
    steps, took = _steps(plan, draw)
    return (
        f'{{"run_id":"{run_id}",{task.head},"trial":{trial},"agent":"demo","agent_version":"{name}",'
        f'"model":"made-up-1","labels":{{"team":"{"search" if draw() < EVENLY else "support"}"}},'
        f'"started_at":"{_moment(start)}","ended_at":"{_moment(start + took // 1000 + 1)}",'
        f'"status":"{"error" if broken else "ok"}","success":{"true" if success and not broken else "false"},'
        f'"steps":[{",".join(steps)}],"expected":{task.expected}}}\n'
    )


def _steps(plan: list[tuple[str, bool]], draw: Draw) -> tuple[list[str], int]:
    """Return the steps as JSON texts, and the milliseconds they took together."""
    steps = []
    took = 0
    for number, (text, fails) in enumerate(plan):
        dice = int(draw() * 2000 * 900 * 400)
        spent, ran, tokens = dice % 2000, dice // 2000 % 900, dice // 2000 // 900
        took += spent + ran
        steps.append(
            f'{{"kind":"llm_call","content":"{TEXTS[tokens % 4]}","turn_index":0,"response_index":{number},'
            f'"input_tokens":{600 + 150 * number + tokens},"output_tokens":{20 + tokens % 60},'
            f'"duration_ms":{spent}.5}}'
        )
        outcome = (
            f'"output":null,"is_error":true,"error":"{ERRORS[tokens % 4]}"'
            if fails
            else f'"output":"{{\\"ok\\": true, \\"rows\\": {tokens}}}","is_error":false'
        )
        steps.append(
            f'{{"kind":"tool_call","turn_index":0,"response_index":{number},{text},"call_id":"c{number}",'
            f'{outcome},"duration_ms":{ran}.25}}'
        )
    spent, tokens = int(draw() * 1500), int(draw() * 200)
    steps.append(
        f'{{"kind":"final","content":"Done, reference {tokens}.","turn_index":0,"response_index":{len(plan)},'
        f'"input_tokens":{700 + 150 * len(plan)},"output_tokens":{30 + tokens % 50},"duration_ms":{spent}.5}}'
    )
    return steps, took + spent


def _moment(second: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(second))

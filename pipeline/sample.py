"""Made-up logs: 24 tools, 2,000 tasks, two versions of an agent, about 8 steps a run.

Everything follows from the seed, and run i is the same however many runs are asked for. Version
v2 errs and repeats itself less than v1, so that comparisons have something to find. Calls fail,
are retried with the same or with other arguments, repeat, go missing, and come on top.
"""

from __future__ import annotations

import json
from atexit import register
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import gmtime, strftime
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.errors import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    Draw = Callable[[], float]

N_TASKS = 2000
TRIALS = 4
START = 1_764_547_200
"""2025-12-01T00:00:00Z: the first run's start."""
CHUNK = 1000
ANNOTATED = 6
"""So many runs of an example have been annotated."""

VERBS = ("search", "get", "update", "cancel", "create", "list")
NOUNS = ("flight", "order", "account", "ticket")
TOOLS = tuple(f"{verb}_{noun}" for verb in VERBS for noun in NOUNS)
SUITES = ("airline", "retail", "bank", "telecom")
NAMES = ("Zoë Keller", "José Núñez", "Łukasz Żak", "山田 太郎", "Anna O'Neill", "Müller & Söhne")
CITIES = ("Zürich", "São Paulo", "München", "東京", "Reykjavík", "Denver")
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

EXPECTS_NOTHING = 0.03
HAS_TWO_WAYS = 0.05
TAKES_ANY_ARGUMENTS = 0.05
IS_VIP = 0.2
BREAKS_DOWN = 0.01
EVENLY = 0.5


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


class Attempt(NamedTuple):
    """Who tries what, and when."""

    run_id: str
    start: int
    task: Sampled
    trial: int
    version: tuple[str, Habits]


class Written(NamedTuple):
    """A file of the sample."""

    path: Path
    format: str
    records: int


def sample(folder: str | os.PathLike[str], *, runs: int = 1000, seed: int = 0) -> list[Written]:
    """Write `runs.jsonl` and `tasks.jsonl` into a folder, made where there is none.

    Raises:
        InputError: `runs` is negative, or the folder cannot be written.
    """
    if runs < 0:
        raise InputError(f"{runs} runs asked for; at least 0 is needed")
    target = Path(folder)
    known = tasks(seed)
    files = [
        Written(target / "runs.jsonl", "trajtab", runs),
        Written(target / "tasks.jsonl", "tasks", len(known)),
    ]
    try:
        target.mkdir(parents=True, exist_ok=True)
        _write(files[0].path, lines(known, runs, seed))
        _write(files[1].path, (task.record for task in known))
    except OSError as error:
        raise InputError(f"{error.filename or target}: cannot write: {error.strerror}") from error
    return files


def example(runs: int = 32) -> Path:
    """Return a small lake of made-up runs, scored, some annotated: to try a function on.

    It is made once per process and number of runs, in a temporary folder that goes when the
    process ends. For a lake that stays: `sample`, `land` and `score`.

    >>> from pipeline.tables.scores import scores
    >>> scores(example()).rows.height
    32
    """
    if runs not in _EXAMPLES:
        from pipeline.landing.land import land  # noqa: PLC0415 - making logs needs no engine
        from pipeline.scoring import score  # noqa: PLC0415 - same

        folder = TemporaryDirectory(prefix="trajtab-example-")
        sample(folder.name, runs=runs)
        lake = Path(folder.name, "lake")
        _write(Path(folder.name, "annotations.jsonl"), _annotations(min(runs, ANNOTATED)))
        land([folder.name], lake, workers=1)
        score(lake)
        _EXAMPLES[runs] = (folder, lake)
        register(folder.cleanup)
    return _EXAMPLES[runs][1]


def _annotations(runs: int) -> Iterator[str]:
    """Yield what two people say of the first runs: they part a little."""
    for number in range(runs):
        for who in range(2):
            word = {
                "trajectory_id": f"s0-{number:07d}",
                "annotator_id": f"person-{who + 1}",
                "overall_quality": 1 + (2 * number + who) % 5,
                "backtrack_steps": [],
            }
            yield _json(word) + "\n"


_EXAMPLES: dict[int, tuple[TemporaryDirectory[str], Path]] = {}


def _write(path: Path, records: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(records)


def tasks(seed: int) -> list[Sampled]:
    """Make all tasks."""
    draw = Random(f"tasks {seed}").random  # noqa: S311 - made-up data, no secret
    return [_task(number, draw) for number in range(N_TASKS)]


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
    calls = (
        Call(_spelled(t, a), _spelled(t, _slipped(a))) for t, a in zip(tools, args, strict=True)
    )
    return Sampled(
        head=_json(task)[1:-1],
        calls=tuple(calls),
        expected=_json(references if len(references) > 1 else expected),
        record=_json(told) + "\n",
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


def _spelled(tool: str, args: dict[str, Any]) -> str:
    return f'"tool_name":"{tool}","tool_args":{_json(args)}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


STRAYS = tuple(_spelled(tool, {"query": city}) for tool in TOOLS for city in CITIES)


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

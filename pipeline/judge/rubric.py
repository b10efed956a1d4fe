"""The rubric: what a model judge is asked, what it is shown, and which answers count. TOML.

```toml
name = "tone"                     # the column is judge.tone
title = "how polite the final answer is"
level = "trajectory"              # one question per run; "step": one per step
shows = ["task", "answer"]        # the parts of the log the judge sees, in this order
needs = ["answer"]                # a run without one of these is not asked
instructions = "Judge how polite the final answer is. 0 is rude, 10 is a model of courtesy."

[answer]
key = "score"                     # of the JSON object the judge answers with
type = "integer"                  # integer, number or boolean
low = 0
high = 10
```
"""

from __future__ import annotations

import re
import tomllib
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from xxhash import xxh3_128_hexdigest

from pipeline.declared import declared
from pipeline.errors import InputError, UnknownNameError
from pipeline.given import refuse_no_file, refuse_no_name
from pipeline.policy import PRESET, PRESETS

if TYPE_CHECKING:
    import os

RUBRICS = PRESETS / "rubrics"
NAME = re.compile(r"[a-z][a-z0-9_]{0,47}")

STEP_PARTS = ("task", "history", "step", "output", "reference")
RUN_PARTS = ("task", "trajectory", "outputs", "answer", "reference")
PARTS = {
    "task": "what was asked: the task's prompt, else the first words of the user",
    "history": "the steps before the judged one",
    "step": "the judged step, without what came of it",
    "output": "what the judged call returned",
    "trajectory": "all steps of the run",
    "outputs": "the run's tool calls with what they returned",
    "answer": "the run's final answer",
    "reference": "the task's reference answers",
}
"""What of a log a judge can be shown."""

PAIR = 2
JUDGED_KINDS = ("tool_call", "llm_call", "final")


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[answer]`: the JSON object the judge answers with."""

    key: str = "score"
    type: Literal["integer", "number", "boolean"] = "integer"
    low: float | None = None
    high: float | None = None

    @property
    def told(self) -> str:
        """What the judge is told of the value."""
        if self.type == "boolean":
            return "true or false"
        kind = "a whole number" if self.type == "integer" else "a number"
        return f"{kind} from {self.low:g} to {self.high:g}"


class Rubric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole rubric."""

    name: str
    title: str
    level: Literal["step", "trajectory"]
    shows: list[str]
    instructions: str
    answer: Answer
    kinds: list[str] = msgspec.field(default_factory=lambda: ["tool_call"])
    """Of a step-level rubric: which kinds of steps are judged."""
    needs: list[str] = []
    pair: list[str] = []
    """Two parts shown as "first text" and "second text", whose order --swap turns round."""
    direction: Literal["higher", "lower"] = "higher"

    @property
    def hash(self) -> str:
        """The hash of all it says."""
        return xxh3_128_hexdigest(msgspec.json.encode(self))[:16]

    @property
    def is_share(self) -> bool:
        """Are its answers from 0 to 1, so that the mean of a run is a share?"""
        return self.answer.type == "boolean" or (self.answer.low, self.answer.high) == (0, 1)


def presets() -> list[str]:
    """Return the names of the rubrics that ship with trajtab.

    >>> presets()
    ['groundedness', 'response_equivalence', 'safety', 'step_appropriateness', 'tool_relevance']
    """
    return sorted(path.stem for path in RUBRICS.glob("*.toml"))


def load(named: str | os.PathLike[str]) -> Rubric:
    """Read a rubric file, or a `preset:NAME`.

    Raises:
        SourceNotFoundError: there is no such file.
        UnknownNameError: a key or preset nobody knows.
        InputError: it is no TOML, or a value is outside what its key allows.

    >>> load("preset:tool_relevance").answer.type
    'boolean'
    """
    refuse_no_name(named, "rubric file")
    path = Path(named)
    if str(named).startswith(PRESET):
        name = str(named).removeprefix(PRESET)
        if name not in presets():
            raise UnknownNameError.among("rubric preset", name, presets())
        path = RUBRICS / f"{name}.toml"
    shipped = ", ".join(PRESET + name for name in presets())
    refuse_no_file(path, "rubric file", f"; shipped are {shipped}")
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{named}: no TOML: {error}") from error
    return parse(told, str(named))


def parse(told: dict[str, Any], where: str) -> Rubric:
    """Turn the content of a rubric file into a rubric.

    Raises:
        UnknownNameError: a key nobody knows.
        InputError: a key is missing, or a value is outside what it allows.
    """
    rubric = declared(told, Rubric, where)
    for problem in (*_problems(rubric), *_wrong_answer(rubric.answer)):
        raise InputError(f"{where}: {problem}")
    return rubric


def _problems(rubric: Rubric) -> list[str]:
    found = []
    if not NAME.fullmatch(rubric.name):
        found.append(
            f"name is {rubric.name!r}; a lower-case letter, then letters, digits and _ are "
            "needed, 48 at most: it names a column"
        )
    if not rubric.instructions.strip():
        found.append("instructions are empty; they are what the judge is asked")
    parts = STEP_PARTS if rubric.level == "step" else RUN_PARTS
    for key in ("shows", "needs", "pair"):
        known = parts if key == "shows" else rubric.shows
        found += [
            f"{key} names {part!r}; at {rubric.level} level it may name {', '.join(known)}"
            for part in getattr(rubric, key)
            if part not in known
        ]
    if not rubric.shows:
        found.append(f"shows is empty; name one of {', '.join(parts)}")
    if len(set(rubric.shows)) < len(rubric.shows):
        found.append("shows names a part twice")
    if rubric.pair and len(set(rubric.pair)) != PAIR:
        found.append("pair needs two different parts")
    found += [
        f"kinds names {kind!r}; it may name {', '.join(JUDGED_KINDS)}"
        for kind in rubric.kinds
        if kind not in JUDGED_KINDS
    ]
    return found if rubric.kinds else [*found, f"kinds is empty; name {', '.join(JUDGED_KINDS)}"]


def _wrong_answer(answer: Answer) -> list[str]:
    if not NAME.fullmatch(answer.key) or answer.key == "reason":
        return [f"answer.key is {answer.key!r}; a name like score is needed, and not reason"]
    if answer.type == "boolean":
        given = answer.low is not None or answer.high is not None
        return ["answer is true or false: it has no low and high"] if given else []
    if answer.low is None or answer.high is None:
        return ["answer.low and answer.high are needed: what lies outside is no answer"]
    if not (isfinite(answer.low) and isfinite(answer.high) and answer.low < answer.high):
        return [f"answer.low is {answer.low:g}, answer.high {answer.high:g}; low must be less"]
    return []

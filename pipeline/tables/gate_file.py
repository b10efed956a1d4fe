"""The gate file: what a candidate must keep to, one `[[gate]]` per metric. TOML."""

from __future__ import annotations

import tomllib
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.criteria import are_criteria, gate_of
from pipeline.declared import declared
from pipeline.errors import InputError, UnknownNameError
from pipeline.given import refuse_no_file, refuse_no_name
from pipeline.policy import PRESET, PRESETS
from pipeline.statistics.needs import MOST_RESAMPLES, RESAMPLES

if TYPE_CHECKING:
    import os

GATES = PRESETS / "gates"
LIMITS = ("max_drop", "max_drop_relative", "min", "max", "task_floor", "task_ceiling")


class Gate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[[gate]]`: the limits of one metric; at least one of them."""

    metric: str
    max_drop: float | None = None
    """How much the mean may get worse, in the metric's own unit."""
    max_drop_relative: float | None = None
    """The same as a share of the baseline's mean."""
    min: float | None = None
    """The least mean of the candidate."""
    max: float | None = None
    """The greatest mean of the candidate, for metrics of which less is better."""
    task_floor: float | None = None
    """The least mean of any task of the candidate."""
    task_ceiling: float | None = None
    """The greatest mean of any task of the candidate."""
    min_tasks: int = 5
    """A drop is judged from so many shared tasks on."""
    min_coverage: float = 1.0
    """The least share of the baseline's tasks that the candidate must have values of."""

    @property
    def compares(self) -> bool:
        """Does it need a baseline?"""
        return self.max_drop is not None or self.max_drop_relative is not None

    @property
    def rule(self) -> str:
        """Its limits in one line: what distinguishes it from other gates of its metric."""
        told = {name: getattr(self, name) for name in LIMITS}
        return ", ".join(f"{name} = {v:g}" for name, v in told.items() if v is not None)


class GateFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole gate file."""

    gate: list[Gate] = []
    seed: int = 0
    resamples: int = RESAMPLES


def presets() -> list[str]:
    """Return the names of the gate files that ship with trajtab."""
    return sorted(path.stem for path in GATES.glob("*.toml"))


def load(named: str | os.PathLike[str]) -> tuple[GateFile, bytes]:
    """Read a gate file, or a `preset:NAME`; return its bytes too, for their hash.

    A file of ADK criteria is taken for the gates it means.

    Raises:
        SourceNotFoundError: there is no such file.
        UnknownNameError: a key or preset nobody knows.
        InputError: it is no file or no TOML, has no gate, or a value is outside what its key allows.
    """
    refuse_no_name(named, "gate file")
    path = Path(named)
    if str(named).startswith(PRESET):
        name = str(named).removeprefix(PRESET)
        if name not in presets():
            raise UnknownNameError.among("gate preset", name, presets())
        path = GATES / f"{name}.toml"
    refuse_no_file(path, "gate file")
    content = path.read_bytes()
    try:
        given = are_criteria(content)
        text = gate_of(content, str(named)) if given else content.decode("utf-8-sig")
        told = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{named}: no TOML: {error}") from error
    return parse(told, str(named)), content


def parse(told: dict[str, Any], where: str) -> GateFile:
    """Turn the content of a gate file into gates.

    Raises:
        UnknownNameError: a key nobody knows.
        InputError: there is no gate, or a value is outside what its key allows.
    """
    found = declared(told, GateFile, where)
    for problem in _problems(found):
        raise InputError(f"{where}: {problem}")
    return found


def _problems(found: GateFile) -> list[str]:
    problems = [] if found.gate else ["no [[gate]]; at least one is needed"]
    if not 1 <= found.resamples <= MOST_RESAMPLES:
        problems.append(f"resamples is {found.resamples}; from 1 to {MOST_RESAMPLES} are possible")
    if found.seed < 0:
        problems.append(f"seed is {found.seed}; 0 or more is needed")
    for number, gate in enumerate(found.gate, 1):
        problems += [f"gate {number} ({gate.metric}): {told}" for told in _wrong(gate)]
    return problems


def _wrong(gate: Gate) -> list[str]:
    limits = {name: getattr(gate, name) for name in LIMITS}
    given = {name: value for name, value in limits.items() if value is not None}
    wrong = [f"{name} is {v}; a number is needed" for name, v in given.items() if not isfinite(v)]
    if not given:
        wrong.append(f"has no limit; give it one of {', '.join(LIMITS)}")
    if gate.max_drop is not None and gate.max_drop_relative is not None:
        wrong.append("has max_drop and max_drop_relative; one of them is wanted")
    wrong += [
        f"{name} is {given[name]}; 0 or more is needed"
        for name in ("max_drop", "max_drop_relative")
        if given.get(name, 0) < 0
    ]
    wrong += [
        f"{low} is {given[low]} and {high} {given[high]}; nothing keeps to both"
        for low, high in (("min", "max"), ("task_floor", "task_ceiling"))
        if low in given and high in given and given[low] > given[high]
    ]
    if gate.min_tasks < 1:
        wrong.append(f"min_tasks is {gate.min_tasks}; at least 1 is needed")
    if not 0 <= gate.min_coverage <= 1:
        wrong.append(f"min_coverage is {gate.min_coverage}; a share from 0 to 1 is needed")
    return wrong

"""From a policy file, or the name of a preset, to a policy."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from pipeline.arguments import checked
from pipeline.criteria import are_criteria, convert
from pipeline.declared import declared
from pipeline.errors import InputError, SourceNotFoundError, UnknownNameError
from pipeline.given import refuse_no_file, refuse_no_name
from pipeline.policy.problems import problems
from pipeline.policy.whole import DEFAULT, Policy

PRESET = "preset:"
PRESETS = Path(__file__).parents[1] / "presets"


def presets() -> list[str]:
    """Return the names of the policies that ship with trajtab."""
    return sorted({"default", *(path.stem for path in PRESETS.glob("*.toml"))})


@checked
def load(named: str | os.PathLike[str] | None, where: str = "") -> Policy:
    """Return the policy of a TOML file, a `preset:NAME`, or the default for None.

    A file of ADK criteria is taken for the policy it means.

    Raises:
        SourceNotFoundError: there is no such file.
        UnknownNameError: a key or preset nobody knows.
        InputError: it is no file or no TOML, or a value is outside what the key allows.
    """
    if named is None:
        return DEFAULT
    refuse_no_name(named, "policy file")
    named = os.fspath(named)
    if named == f"{PRESET}default":
        return DEFAULT
    if named.startswith(PRESET):
        name = named.removeprefix(PRESET)
        if name not in presets():
            raise UnknownNameError.among("preset", name, presets())
        path = PRESETS / f"{name}.toml"
    else:
        path = Path(named)
        if named in presets() and not path.exists():
            raise SourceNotFoundError(
                f"{named}: no such policy file{where}; did you mean {f'{PRESET}{named}'!r}?"
            )
    refuse_no_file(path, "policy file", where)
    content = path.read_bytes()
    try:
        text = (
            convert(content, named).policy if are_criteria(content) else content.decode("utf-8-sig")
        )
        told = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{named}: no TOML: {error}") from error
    return parse(told, named)


def parse(told: dict[str, Any], where: str) -> Policy:
    """Turn the content of a policy file into a policy.

    Raises:
        UnknownNameError: a key nobody knows, or a metric.
        InputError: a value is outside what its key allows.
    """
    policy = declared(told, Policy, where)
    for problem in problems(policy):
        raise InputError(f"{where}: {problem}")
    if policy.scores.metrics:
        from pipeline.metrics.registry import scored  # noqa: PLC0415 - which knows policies

        scored(policy)
    return policy

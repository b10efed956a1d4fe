"""Google ADK's criteria (`test_config.json`) as what they mean here: a policy and a gate file.

ADK fails an eval case where the mean of a metric over the case's invocations is below the
threshold, so a threshold becomes a `task_floor`: no task may be below it. Of answers, ADK takes the
mean over all invocations, `rouge1_f1` the last one's: they differ where a case has several.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pipeline.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TRAJECTORY = "tool_trajectory_avg_score"
RESPONSE = "response_match_score"
MATCH_TYPES = {"EXACT": "exact_match", "IN_ORDER": "in_order_match", "ANY_ORDER": "any_order_match"}
NUMBERED = dict(enumerate(MATCH_TYPES))
"""ADK writes the type as its number too."""
POLICY_TEXT = """\
# From {source}: one verdict per user turn, arguments compared as JSON values.

[match]
unit = "turn"
"""


class Converted(NamedTuple):
    """A policy and a gate file as TOML text, and what of the criteria is in neither."""

    policy: str
    gate: str
    left_out: list[str]
    gates: int
    """How many criteria are in the gate file."""


class Limit(NamedTuple):
    """One criterion as a gate."""

    metric: str
    floor: float


def convert(data: bytes, source: str) -> Converted:
    """Turn the bytes of a criteria file into a policy and a gate file.

    `tool_trajectory_avg_score` becomes `exact_match_turns`, `in_order_match_turns` or
    `any_order_match_turns` by its match type, with `_names` where arguments are ignored;
    `response_match_score` becomes `rouge1_f1`, of the last answer. What needs a model to judge, or
    code of its own (`custom_metrics`), is left out and named.

    >>> made = convert(b'{"criteria": {"tool_trajectory_avg_score": 1.0}}', "test_config.json")
    >>> print(made.gate)
    # From test_config.json: no task may be below a threshold.
    <BLANKLINE>
    [[gate]]
    metric = "exact_match_turns"
    task_floor = 1.0
    <BLANKLINE>

    Raises:
        InputError: the bytes are no criteria, or a threshold or match type is none.
    """
    limits: list[Limit] = []
    left_out: list[str] = []
    told = _config(data, source)
    custom = _custom(told, source)
    for name, value in told["criteria"].items():
        threshold, options = _read(name, value, source)
        if name in custom:
            left_out.append(f"{_plain(name)} = {threshold:g} (code of its own)")
        elif name == TRAJECTORY:
            limits.append(Limit(_trajectory(options, source), threshold))
        elif name == RESPONSE:
            limits.append(Limit("rouge1_f1", threshold))
        else:
            left_out.append(f"{_plain(name)} = {threshold:g}")
    said = _plain(source)
    return Converted(
        POLICY_TEXT.format(source=said),
        "\n".join(_gate(limits, left_out, said)),
        left_out,
        len(limits),
    )


def gate_of(data: bytes, source: str) -> str:
    """Return the gate file that criteria mean.

    Raises:
        InputError: they are none, or nothing in them can be judged here.
    """
    made = convert(data, source)
    if not made.gates:
        named = ", ".join(made.left_out) or "there is none"
        raise InputError(
            f"{source}: none of its criteria makes a gate: {named}; "
            f"{TRAJECTORY} and {RESPONSE} do, a model has to judge others (`trajtab judge`)"
        )
    return made.gate


def _config(data: bytes, source: str) -> Mapping[str, Any]:
    try:
        told = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except msgspec.DecodeError as error:
        raise InputError(f"{source}: no JSON: {error}") from error
    except RecursionError as error:
        raise InputError(f"{source}: nested too deep to be read") from error
    if not isinstance(told, dict) or not isinstance(told.get("criteria"), dict):
        raise InputError(
            f'{source}: no ADK criteria; {{"criteria": {{NAME: THRESHOLD}}}} is wanted'
        )
    return told


def _custom(told: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    """Return the metrics that are code of their own, by name."""
    found = told.get("custom_metrics", told.get("customMetrics"))
    if isinstance(found, dict):
        return found
    if found is not None:
        raise InputError(f"{source}: custom_metrics is {json.dumps(found)}; an object is needed")
    return {}


def are_criteria(data: bytes) -> bool:
    """Tell whether a file given as policy or gate is one of criteria: JSON, which TOML never is."""
    return data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def _read(name: str, value: Any, source: str) -> tuple[float, Mapping[str, Any]]:
    """Return a criterion's threshold and its options; the value is a number or an object."""
    options = value if isinstance(value, dict) else {"threshold": value}
    threshold = options.get("threshold")
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise InputError(
            f"{source}: criterion {name} has the threshold {json.dumps(threshold)}; "
            "a number is needed"
        )
    return float(threshold), options


def _trajectory(options: Mapping[str, Any], source: str) -> str:
    told = options.get("match_type", options.get("matchType", "EXACT"))
    name = NUMBERED.get(told) if isinstance(told, int) else str(told).upper()
    if name not in MATCH_TYPES:
        raise InputError(
            f"{source}: criterion {TRAJECTORY} has the match type {told!r}; "
            f"one of {', '.join(MATCH_TYPES)} is wanted"
        )
    ignored = options.get("ignore_args", options.get("ignoreArgs", False))
    return MATCH_TYPES[name] + ("_names" if ignored else "") + "_turns"


def _plain(text: str) -> str:
    """Return text that stays within a comment."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _gate(limits: list[Limit], left_out: list[str], source: str) -> Iterator[str]:
    yield f"# From {source}: no task may be below a threshold."
    for told in left_out:
        yield f"# Left out, for a model or code has to judge it: {told}"
    if any(limit.metric == "rouge1_f1" for limit in limits):
        yield "# rouge1_f1 is of the last answer; ADK's score is the mean over those of all turns."
    for limit in limits:
        yield f'\n[[gate]]\nmetric = "{limit.metric}"\ntask_floor = {limit.floor!r}'
    yield ""

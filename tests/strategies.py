"""Hypothesis strategies for JSON, calls and runs; alphabets are small, so repeats are common."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from oracle import NOT_CAPTURED, Arguments, Call, Invalid, Step

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

# Values that careless equality confuses: 1, 1.0, true and "1"; 2^53 and its neighbour.
LOOKALIKES: list[object] = [
    *(None, True, False, 0, 0.0, -0.0, 1, 1.0, "1", "1.0", "true", "null", "", " ", "é", "e\u0301"),
    *(2**53, 2**53 + 1, float(2**53), 2**64, float(2**64), 10**30, 1e30, -(2**63) - 1, 5e-324),
]

finite_floats = st.floats(allow_nan=False, allow_infinity=False)
json_numbers = (
    st.integers()
    | st.integers(min_value=-(10**40), max_value=10**40)
    | finite_floats
    | st.integers(min_value=-(2**70), max_value=2**70).map(float)
)
json_scalars: SearchStrategy[object] = (
    st.sampled_from(LOOKALIKES) | st.none() | st.booleans() | json_numbers | st.text(max_size=8)
)
json_keys = st.sampled_from(["a", "b", "", "a.b", "é"]) | st.text(max_size=4)


def _nested(inner: SearchStrategy[object]) -> SearchStrategy[object]:
    return st.lists(inner, max_size=4) | st.dictionaries(json_keys, inner, max_size=4)


json_values: SearchStrategy[object] = st.recursive(json_scalars, _nested, max_leaves=8)
arguments: SearchStrategy[dict[str, object]] = st.dictionaries(json_keys, json_values, max_size=4)

# Five classes of equal arguments, two of them in two spellings.
FEW_ARGUMENTS: list[Arguments] = [
    {},
    {"x": 1},
    {"x": 1.0},
    {"x": True},
    {"x": 1, "y": [0]},
    {"y": [-0.0], "x": 1},
]
_names = st.sampled_from(["a", "b"])

calls: SearchStrategy[Call] = st.builds(Call, _names, st.sampled_from(FEW_ARGUMENTS))
invalid_calls = st.builds(Call, _names, st.sampled_from([Invalid("{"), Invalid("{ ")]))
expected_calls = calls | invalid_calls | st.builds(Call, _names, st.none())
actual_calls = calls | invalid_calls | st.builds(Call, _names, st.just(NOT_CAPTURED))


def call_lists(max_size: int = 60, of: SearchStrategy[Call] = calls) -> SearchStrategy[list[Call]]:
    """Lists of calls: captured JSON arguments only, unless `of` says otherwise."""
    return st.lists(of, max_size=max_size)


@st.composite
def _related(draw: DrawFn, max_size: int) -> tuple[list[Call], list[Call]]:
    """The same calls twice, the second time in any order perhaps, some left out, some more."""
    expected = draw(call_lists(max_size // 2))
    actual = draw(st.just(expected) | st.permutations(expected))
    cut = draw(st.sampled_from([0, 0, 1, 5]))
    at = draw(st.integers(0, len(actual)))
    more = draw(st.just([]) | call_lists(max_size // 4))
    return expected, [*actual[:at], *more, *actual[at + cut :]]


def call_pairs(max_size: int = 60) -> SearchStrategy[tuple[list[Call], list[Call]]]:
    """Expected and actual calls: of equal chance strangers, which hardly ever match whole, or kin."""
    return st.tuples(call_lists(max_size), call_lists(max_size)) | _related(max_size)


@cache
def _blocks(rows: SearchStrategy[Step]) -> SearchStrategy[list[tuple[list[Step], int]]]:
    """Blocks of one to five rows, each several times over: loops, retries and near misses."""
    block = st.lists(rows, min_size=1, max_size=5)
    return st.lists(st.tuples(block, st.integers(1, 4)), max_size=8)


def _with_responses(steps: list[Step]) -> list[Step]:
    """Number the responses: every model step opens one, and its calls belong to it."""
    numbered, response = [], -1
    for step in steps:
        response += step.kind in ("llm_call", "final")
        known = step.kind != "message" and response >= 0
        numbered.append(step._replace(response_index=response if known else None))
    return numbered


@cache
def _rows(*, signal: bool, tokens: bool, captured: bool) -> SearchStrategy[Step]:
    """Steps of a log: with error signals, tokens and all arguments, or without."""
    counts = st.none() | st.sampled_from([0, 1, 499, 500, 501, 4 * 10**9])
    logged = {"input_tokens": counts, "output_tokens": counts} if tokens else {}
    call_rows = st.builds(
        lambda call, is_error: Step("tool_call", call.name, call.args, is_error),
        calls if captured else actual_calls,
        st.booleans() if signal else st.none(),
    )
    return call_rows | st.builds(Step, st.sampled_from(["llm_call", "final", "message"]), **logged)


@st.composite
def _runs(draw: DrawFn, max_size: int = 60) -> list[Step]:
    signal, tokens, captured = draw(st.booleans()), draw(st.booleans()), draw(st.integers(0, 3)) > 0
    blocks = draw(_blocks(_rows(signal=signal, tokens=tokens, captured=captured)))
    steps = [row for rows, times in blocks for row in rows * times][:max_size]
    return _with_responses(steps) if draw(st.booleans()) else steps


step_lists: SearchStrategy[list[Step]] = _runs()

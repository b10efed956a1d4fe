"""Paths as the macros take them: lists of a run, written as words or made of the oracle's steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from oracle import NOT_CAPTURED, Step
from oracle.repeats import same_call

from pipeline.schema import STEP_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

PATH = {
    "error_rate": "error_rate(call_values(kinds, is_errors))",
    "backtracking_rate": "backtracking_rate(kinds, keys, window_rows)",
    "backtracking_rate_calls": "backtracking_rate_calls(kinds, keys, window_rows)",
    "tool_precision": "tool_precision(kinds, keys, is_errors, window_rows)",
    "n_steps": "n_steps(kinds)",
    "n_calls": "n_calls(kinds)",
    "n_llm_calls": "n_llm_calls(kinds)",
    "n_tools": "n_tools(kinds, names)",
    "input_tokens": "input_tokens(input_list)",
    "output_tokens": "output_tokens(output_list)",
    "total_tokens": "total_tokens(input_list, output_list)",
    # counts the rates are made of, of which the oracle keeps no column
    "n_errors": "n_errors(call_values(kinds, is_errors))",
    "n_backtracks": "n_backtracks(kinds, keys, window_rows)",
    "n_clean": "n_clean(kinds, keys, is_errors, window_rows)",
}
KINDS = {"c": "tool_call", "l": "llm_call", "m": "message", "f": "final"}
ERRORS = {"!": True, ".": False, "?": None}
STEP_SCHEMA = {
    "kinds": pl.List(pl.Enum(STEP_KINDS)),
    "keys": pl.List(pl.UInt64),
    "names": pl.List(pl.String),
    "is_errors": pl.List(pl.Boolean),
    "input_list": pl.List(pl.Int64),
    "output_list": pl.List(pl.Int64),
    "window_rows": pl.UInt32,
}


def written(run: str, window: int = 8) -> dict[str, Any]:
    """Lists of a run written as words: kind, then of a call its key and how it ended.

    `l c1. c1! m f` is a model call, call 1 that worked, call 1 that failed, a message, the end;
    `c_?` is a call whose arguments were not captured and whose outcome is not known.
    """
    words = run.split()
    is_call = [word[0] == "c" for word in words]
    return {
        "kinds": [KINDS[word[0]] for word in words],
        "keys": [
            int(w[1]) if c and w[1] != "_" else None for w, c in zip(words, is_call, strict=True)
        ],
        "names": ["tool" if c else None for c in is_call],
        "is_errors": [ERRORS[w[2]] if c else None for w, c in zip(words, is_call, strict=True)],
        "input_list": [None] * len(words),
        "output_list": [None] * len(words),
        "window_rows": window,
    }


def step_lists_of(steps: Sequence[Step], window: int) -> dict[str, Any]:
    """Give equal calls one key: the row of the first of them; none where not captured."""

    def key(step: Step) -> int | None:
        if step.kind != "tool_call" or step.args is NOT_CAPTURED:
            return None
        return next(i for i, other in enumerate(steps) if same_call(other, step))

    return {
        "kinds": [step.kind for step in steps],
        "keys": [key(step) for step in steps],
        "names": [step.name for step in steps],
        "is_errors": [step.is_error for step in steps],
        "input_list": [step.input_tokens for step in steps],
        "output_list": [step.output_tokens for step in steps],
        "window_rows": window,
    }

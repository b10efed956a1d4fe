"""The script one would write instead: json.loads, a loop over runs, the same columns, their means.

Written with care: one pass, arguments spelled once per call, counters only where calls repeat. It
knows of the sample's records only, and rounds and guards nothing.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from math import sqrt
from pathlib import Path
from typing import Any

WINDOW = 8
PATH = ("error_rate", "backtracking_rate", "tool_precision", "success", "n_steps", "n_calls", "total_tokens")  # fmt: skip
MATCHING = ("exact_match", "in_order", "in_order_match", "precision", "recall", "f1")
COLUMNS = (*MATCHING, *(f"{name}_names" for name in MATCHING), *PATH)

Call = tuple[str, str | None]
Row = list[float | None]


def spelled(args: Any) -> str:
    """Return arguments in canonical form."""
    return json.dumps(args, sort_keys=True, separators=(",", ":"))


def fits(expected: Call, actual: Call) -> bool:
    """Tell whether a call is the one expected; without arguments any will do."""
    return expected == actual or (expected[1] is None and expected[0] == actual[0])


def matched(expected: list[Call], actual: list[Call]) -> list[float]:
    """Compare two lists of calls: the values of MATCHING."""
    n, m = len(expected), len(actual)
    if not n and not m:
        return [1, 1, 1, 1, 1, 1]
    walked = 0
    for call in actual:
        if walked < n and fits(expected[walked], call):
            walked += 1
    left = Counter(actual)
    tp, free = 0, []
    for want in expected:
        if want[1] is None:
            free.append(want[0])
        elif left[want]:
            left[want] -= 1
            tp += 1
    for name in free:
        rest = next((call for call, count in left.items() if count and call[0] == name), None)
        if rest is not None:
            left[rest] -= 1
            tp += 1
    exact = n == m and all(map(fits, expected, actual))
    order = walked / n if n else 1
    return [
        int(exact), order, int(order == 1),
        tp / m if m else 0, tp / n if n else 1, 2 * tp / (n + m),
    ]  # fmt: skip


def path(steps: list[dict[str, Any]], success: bool | None) -> tuple[list[Call], Row]:
    """Walk the steps of a run: its calls, and the values of PATH."""
    calls: list[Call] = []
    recent: list[tuple[Call | None, bool]] = []
    errors = backtracks = clean = tokens = decisions = 0
    for step in steps:
        kind = step["kind"]
        tokens += step.get("input_tokens", 0) + step.get("output_tokens", 0)
        if kind == "message":
            continue
        decisions += 1
        call, failed = None, False
        if kind == "tool_call":
            call, failed = (step["tool_name"], spelled(step["tool_args"])), step["is_error"]
            calls.append(call)
            before = [fault for earlier, fault in recent if earlier == call]
            errors += failed
            backtracks += bool(before)
            clean += not failed and all(before)
        recent.append((call, failed))
        if len(recent) > WINDOW:
            del recent[0]
    m = len(calls)
    rates: Row = [errors / m, backtracks / decisions, clean / m] if m else [None, 0.0, None]
    return calls, [*rates, success, decisions, m, tokens]


def compared(run: dict[str, Any], calls: list[Call]) -> Row:
    """Compare a run with its reference, the best of several: the values of MATCHING, twice."""
    if run["status"] == "error" or "expected" not in run:
        return [None] * (2 * len(MATCHING))
    told = run["expected"]
    references = told if told and isinstance(told[0], list) else [told]
    best: tuple[tuple[float, ...], list[Call], list[float]] | None = None
    for reference in references:
        wanted = [
            (want["tool_name"], spelled(want["tool_args"]) if "tool_args" in want else None)
            for want in reference
        ]
        found = matched(wanted, calls)
        rank = (found[0], found[5], found[1])
        if best is None or rank > best[0]:
            best = rank, wanted, found
    assert best is not None
    names = matched([(name, "") for name, _ in best[1]], [(name, "") for name, _ in calls])
    return [*best[2], *names]


def summed(log: Path) -> dict[str, tuple[int, float | None, float | None]]:
    """Read a log of the sample: per column the number of values, their mean and deviation."""
    count = [0] * len(COLUMNS)
    total = [0.0] * len(COLUMNS)
    squares = [0.0] * len(COLUMNS)
    with log.open("rb") as file:
        for line in file:
            run = json.loads(line)
            calls, own = path(run["steps"], run.get("success"))
            for place, value in enumerate([*compared(run, calls), *own]):
                if value is not None:
                    count[place] += 1
                    total[place] += value
                    squares[place] += value * value
    found = {}
    for name, n, sum_, square in zip(COLUMNS, count, total, squares, strict=True):
        mean = sum_ / n if n else None
        spread = sqrt(max(0.0, square - sum_ * sum_ / n) / (n - 1)) if n > 1 else None
        found[name] = (n, mean, spread)
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(summed(Path(sys.argv[1]))) + "\n")

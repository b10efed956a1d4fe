"""One run landed beside a reference, and the rows of its diff."""

from __future__ import annotations

from lakes import final, landed
from making import call, run, want

from pipeline.report.diff import diff

HIDDEN = {"kind": "tool_call", "tool_name": "search"}
RULE = "[[match.rule]]\n"
ANY = {"tool_name": "search"}
SHOWN = ("marker", "expected_position", "step_index")
BOOKING = run(
    "r",
    call("search", {"date": 21}),
    call("search", {"date": 21}),
    call("book", {"seat": 1, "extra": True}),
    final(),
    expected=[want("search", {"date": 12}), want("book", {"seat": 1})],
)


def policy(folder, text):
    """Write a policy."""
    file = folder / "policy.toml"
    file.write_text(text)
    return str(file)


def compared(folder, expected, actual, text="", **fields):
    """The rows of one run against one alternative under a policy."""
    folder.mkdir(exist_ok=True)
    lake = landed(folder, run("r", *actual, **fields, expected=expected))
    return diff(lake, "r", policy=policy(folder, text)).rows.to_dicts()


def shown(rows):
    """Marker and places of each row."""
    return [tuple(row[key] for key in SHOWN) for row in rows]

"""The reason a table gives for a null is true: of several that no column tells apart, all are named."""

from __future__ import annotations

import pytest
from lakes import final, landed

from pipeline.scoring import score
from pipeline.tables.aggregate import aggregate

ASKED = """
[path]
output_used = true
[backtracking]
abandon_patterns = ["give up"]
[invariants]
max_repeats = 1
"""
CALL = {"kind": "tool_call", "tool_name": "a", "tool_args": {}}
RUNS = [
    {"run_id": "silent", "steps": [CALL]},
    {"run_id": "hidden", "steps": [{"kind": "tool_call", "tool_name": "a"}, final("I give up")]},
    {"run_id": "told", "steps": [{**CALL, "output": "42 found"}, final("42")]},
]


@pytest.fixture
def reasons(tmp_path):
    """Return a function from a policy and a metric to what the note says of it."""

    def ask(policy: str, metric: str) -> str:
        lake = landed(tmp_path, *RUNS)
        file = tmp_path / "policy.toml"
        file.write_text(policy)
        score(lake, policy=str(file))
        notes = aggregate(lake, metrics=[metric], policy=str(file)).notes
        (note,) = [note for note in notes if note.startswith("null values: ")]
        return note.removeprefix(f"null values: {metric}: ")

    return ask


@pytest.mark.parametrize(
    ("policy", "metric", "reason"),
    [
        (ASKED, "output_used_rate", "no output captured 2"),
        ("", "output_used_rate", "not asked for in the policy 3"),
        ("", "n_outputs", "not asked for in the policy 3"),
        (ASKED, "abandonments", "no patterns in the policy or no model text 1"),
        (ASKED, "n_violations", "no invariant in the policy or arguments not captured 1"),
        ("", "schema_valid_rate", "no schema for its calls or arguments not captured 3"),
        ("", "rouge1_f1", "no reference answer or no answer captured 3"),
        (ASKED, "n_backtracks", "arguments not captured 1"),
    ],
)
def test_what_the_note_says(reasons, policy, metric, reason):
    assert reasons(policy, metric) == reason

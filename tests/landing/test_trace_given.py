"""What a trace tells of its run as a whole, under whichever names tracers write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tracing import chat, run_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "at", ["trajtab", "metadata", "langfuse__trace__metadata", "traceloop__association__properties"]
)
def test_task_trial_and_suite(tmp_path: Path, at: str) -> None:
    told = {f"{at}__task_id": "t", f"{at}__trial": "2", f"{at}__suite": "desk"}
    run = run_of(tmp_path, chat(0, "Hi", **told))
    assert (run.task_id, run.trial, run.suite) == ("t", 2, "desk")


@pytest.mark.parametrize(
    ("session", "user"),
    [
        ("session__id", "user__id"),
        ("langfuse__session__id", "langfuse__user__id"),
        ("traceloop__association__properties__session_id",
         "traceloop__association__properties__user_id"),
    ],
)  # fmt: skip
def test_session_and_user(tmp_path: Path, session: str, user: str) -> None:
    run = run_of(tmp_path, chat(0, "Hi", **{session: "s", user: "u"}))
    assert (run.labels["session_id"], run.labels["user_id"]) == ("s", "u")

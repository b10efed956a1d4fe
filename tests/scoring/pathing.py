"""Paths of small runs: steps spelled short, landed, scored under a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import settings
from making import call, run
from scoring.judging import add, scored

if TYPE_CHECKING:
    from pathlib import Path

LLM, FINAL = {"kind": "llm_call"}, {"kind": "final"}
few = settings(max_examples=max(10, settings.default.max_examples // 3))


def error(name: str, args: Any = None, **more: Any) -> dict[str, Any]:
    return call(name, args, is_error=True, **more)


def paths_of(
    folder: Path, policy: str, *runs: list[dict[str, Any]], **more: Any
) -> list[dict[str, Any]]:
    """Land and score runs with these steps; the scores in their order."""
    add(folder / "lake", "trajtab", *(run(f"r{i}", *steps, **more) for i, steps in enumerate(runs)))
    return scored(folder / "lake", policy).to_dicts()


def path_of(folder: Path, policy: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return paths_of(folder, policy, list(steps), **more)[0]

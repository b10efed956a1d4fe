"""A field no format knows, put into every object of every sample: it lands, or its record does not."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING

import pytest
from drifting import Drift, but_labels, landed, text_of
from reading import SAMPLES

from pipeline.landing import formats

if TYPE_CHECKING:
    from pathlib import Path

OTHERWISE = {"adk_config": "it holds neither run nor task", "phoenix": "it is no JSON"}
LEFT_OUT: dict[str, tuple[str, ...]] = {
    # Chats that are prefixes of the longest one, which is the run.
    "toolbench_answer": ("*.train_messages.*.*",),
    "inspect_log": (
        ".json.eval.config",
        ".json.eval.dataset",
        "*.eval.scorers",
        "*.eval.packages",
        "*.eval.revision",
        ".json.plan",
        ".json.results",
        ".json.stats",
        ".json.reductions",
        "*.samples.*.attachments",
        "*.samples.*.output",
        "*.samples.*.events",
        "*.samples.*.store",
        "*.scores.*.metadata",
    ),
    "claude_code": ("*.toolUseResult", "*.usage.cache_creation", "summary"),
    "agents_sdk": ("*.error.data",),
    "messages": ("*.response_metadata", "*.additional_kwargs"),
    "codex_rollout": ("event_msg.payload",),
    "codex_exec": ("item.started.item.arguments",),  # told again, and right, when it ends
    "otlp": ("*.scope",),
    "langfuse": ("*.scores", "*.costDetails"),
    # Of chains only the last words are read; what is read of models has a test of its own.
    "langsmith": (".inputs", ".outputs", ".extra.invocation_params"),
    "openhands_conversation": (
        ".json.agent",
        ".json.agent_state",
        ".json.confirmation_policy",
        ".json.secret_registry",
        ".json.stats",
        ".json.workspace",
        # As the program read the call, and what else its tool returned.
        ".json.action",
        ".json.observation",
    ),
    "openhands_events": ("*.args", "*.extras"),
    "openhands_output": ("*.args", "*.extras", "*.test_result", "*.llm_config"),
    "mini_swe_agent": ("*.info.config",),
    "taubench_v1": ("*.info.reward_info",),
    "tau2_results": (
        "*.llm_args",
        "*.tasks.*.description",
        "*.reward_info.db_check",
        "*.reward_info.info",
        "*.reward_info.reward_breakdown",
        # Nothing is expected of a run by its task where its own checks say otherwise.
        "*.evaluation_criteria.actions.*.arguments",
    ),
}
"""Places of objects that a format leaves out whole, on purpose."""
REFUSED = {
    "jaeger": (".json.data.*.processes",),
    "toolbench_tooleval": (".json",),
    "trajtab": (".expected.*",),
    "annotations": (".dimensions",),
}
"""Places where a new field is none to keep, but a fault: the record is rejected."""


FORMATS = [name for name in formats.names() if name not in OTHERWISE]


def _gone(name: str, folder: Path, only: set[str] | None = None) -> list[str]:
    """Return the places whose new field is in no table, and in no record that was rejected."""
    drift = Drift(SAMPLES / name, folder / name, only)
    tables = landed(folder, folder.with_suffix(".lake"))
    told = text_of(tables.values())
    gone = [place for place, field in drift.fields.items() if f"{field}told" not in told]
    if only is None or "rejects" not in tables:
        return gone
    return []


@pytest.mark.parametrize("name", FORMATS)
def test_a_new_field_is_never_gone(name: str, tmp_path: Path) -> None:
    gone = [place for place in _gone(name, tmp_path / "all") if not _is_left_out(name, place)]
    # What one place does to its record may take others with it: those are looked at alone.
    alone = [_gone(name, tmp_path / str(at), {place}) for at, place in enumerate(gone)]
    assert [place for places in alone for place in places] == []


def _is_left_out(name: str, place: str) -> bool:
    left = LEFT_OUT.get(name, ())
    return any(fnmatch(place, one) or fnmatch(place, f"{one}.*") for one in left)


@pytest.mark.parametrize("name", FORMATS)
def test_new_fields_change_nothing_but_labels(name: str, tmp_path: Path) -> None:
    drift = Drift(SAMPLES / name, tmp_path / "drift" / name, but=REFUSED.get(name, ()))
    tables = landed(tmp_path / "drift", tmp_path / "lake")
    labels = text_of(
        table.select("labels") for table in tables.values() if "labels" in table.columns
    )
    kept = {place for place, field in drift.fields.items() if f"{field}told" in labels}
    assert kept
    Drift(SAMPLES / name, tmp_path / "again" / name, only=kept)
    after = landed(tmp_path / "again", tmp_path / "lake_again")
    before = landed(SAMPLES / name, tmp_path / "lake_before")
    assert before.keys() == after.keys()
    for table, rows in before.items():
        assert but_labels(rows).equals(but_labels(after[table])), table

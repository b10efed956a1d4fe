"""A field no format knows, put into every object of every sample: it lands, or its record does not."""

from __future__ import annotations

import json
import shutil
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from reading import SAMPLES

from pipeline.landing import formats
from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

NOT_YET: set[str] = set()
"""Formats that still lose such fields."""
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


def _places(value: Any, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object with its place: members by name, items of lists all alike."""
    if isinstance(value, dict):
        yield at, value
        for name, member in value.items():
            yield from _places(member, f"{at}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from _places(item, f"{at}.*")


class Drift:
    """Documents with one new field in the first object of every place."""

    def __init__(
        self,
        source: Path,
        target: Path,
        only: set[str] | None = None,
        but: Collection[str] = (),
    ) -> None:
        self.fields: dict[str, str] = {}
        self._but = but
        self._only = only
        shutil.copytree(source, target)
        for file in sorted(path for path in target.rglob("*") if path.is_file()):
            file.write_text(self._drifted(file.read_text(), file.suffix))

    def _drifted(self, text: str, suffix: str) -> str:
        try:
            return json.dumps(self._added(json.loads(text), suffix))
        except json.JSONDecodeError:
            lines = [json.loads(line) for line in text.splitlines() if line]
            # Lines differ in kind: what tells them apart is mostly their type.
            named = [(line, self._kind(line)) for line in lines]
            return "".join(json.dumps(self._added(*pair)) + "\n" for pair in named)

    @staticmethod
    def _kind(line: Any) -> str:
        return str(line.get("type", "")) if isinstance(line, dict) else ""

    def _added(self, document: Any, at: str) -> Any:
        for place, found in list(_places(document, at)):
            wanted = place not in self._but if self._only is None else place in self._only
            if wanted and place not in self.fields:
                self.fields[place] = f"zz_new_{len(self.fields)}_"
                found[self.fields[place]] = self.fields[place] + "told"
        return document


TABLES = ("runs", "steps", "tasks", "references", "tools", "annotations", "rejects")
OF_A_LANDING = (
    "run_id", "identity", "run_key", "landed_at", "source_path", "source_line",
    "content_key", "byte_offset", "excerpt",
)  # fmt: skip
"""What depends on where, when and from which bytes a run landed."""


def _landed(source: Path, lake: Path) -> dict[str, pl.DataFrame]:
    land([source], lake, workers=1)
    files = {name: sorted(lake.rglob(f"{name}.parquet")) for name in TABLES}
    return {
        name: pl.concat([pl.read_parquet(file, glob=False) for file in found], how="diagonal")
        for name, found in files.items()
        if found
    }


def _text(tables: Iterable[pl.DataFrame]) -> str:
    return "\n".join(repr(table.rows()) for table in tables)


def _but_labels(table: pl.DataFrame) -> pl.DataFrame:
    return table.drop("labels", *OF_A_LANDING, strict=False)


FORMATS = [name for name in formats.names() if name not in OTHERWISE]


def _gone(name: str, folder: Path, only: set[str] | None = None) -> list[str]:
    """Return the places whose new field is in no table, and in no record that was rejected."""
    drift = Drift(SAMPLES / name, folder / name, only)
    tables = _landed(folder, folder.with_suffix(".lake"))
    told = _text(tables.values())
    gone = [place for place, field in drift.fields.items() if f"{field}told" not in told]
    if only is None or "rejects" not in tables:
        return gone
    return []


@pytest.mark.parametrize("name", FORMATS)
def test_a_new_field_is_never_gone(name: str, tmp_path: Path, request: Any) -> None:
    if name in NOT_YET:
        request.applymarker(pytest.mark.xfail(strict=True))
    gone = [place for place in _gone(name, tmp_path / "all") if not _is_left_out(name, place)]
    # What one place does to its record may take others with it: those are looked at alone.
    alone = [_gone(name, tmp_path / str(at), {place}) for at, place in enumerate(gone)]
    assert [place for places in alone for place in places] == []


def _is_left_out(name: str, place: str) -> bool:
    left = LEFT_OUT.get(name, ())
    return any(fnmatch(place, one) or fnmatch(place, f"{one}.*") for one in left)


@pytest.mark.parametrize("name", sorted({*FORMATS} - NOT_YET))
def test_new_fields_change_nothing_but_labels(name: str, tmp_path: Path) -> None:
    drift = Drift(SAMPLES / name, tmp_path / "drift" / name, but=REFUSED.get(name, ()))
    tables = _landed(tmp_path / "drift", tmp_path / "lake")
    labels = _text(table.select("labels") for table in tables.values() if "labels" in table.columns)
    kept = {place for place, field in drift.fields.items() if f"{field}told" in labels}
    assert kept
    Drift(SAMPLES / name, tmp_path / "again" / name, only=kept)
    after = _landed(tmp_path / "again", tmp_path / "lake_again")
    before = _landed(SAMPLES / name, tmp_path / "lake_before")
    assert before.keys() == after.keys()
    for table, rows in before.items():
        assert _but_labels(rows).equals(_but_labels(after[table])), table

"""Real log files hold little that their formats do not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

UNKNOWN: dict[str, dict[str, dict[str, int]]] = {
    "adk_eval_legacy": {"adk_eval_legacy": {"initial_state": 1}},
    "adk_evalset": {},
    "adk_evalset_result": {},
    "adk_session": {},
    "atif": {},
    "claude_code_jsonl": {},
    "codex_exec_json_stream": {},
    "gemini_cli_json": {},
    "harbor_traces": {},
    "mini_swe_traj": {},
    "openhands_events": {},
    "openhands_output_jsonl": {},
    "swe_agent_traj": {},
    "tau2_fork_es": {},
    "tau2_results": {},
    "tau2_voice_dir": {"tau2_directory": {"info.speech_complexity": 1}},
    "taubench_v1": {},
    "taubench_v1_fewshot": {},
}
"""By folder of files and format: the fields found beside those known, and in how many records."""


@pytest.mark.parametrize("folder", UNKNOWN)
def test_what_is_not_known_of_real_files(
    folder: str, tmp_path: Path, real_data: Callable[[str], Path]
) -> None:
    report = land([real_data(folder)], tmp_path / "lake", workers=1, dry_run=True)
    assert report.unmapped == UNKNOWN[folder]

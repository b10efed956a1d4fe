"""The fuzzer finds what breaks, and ends well where nothing does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fuzz
import pytest

from pipeline.landing.batch import stage

if TYPE_CHECKING:
    from pathlib import Path

LINE = b'{"run_id": "a", "steps": []}\n'


@pytest.fixture
def lander(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> fuzz.Lander:
    for room in fuzz.REFUSING:  # what the fuzzer puts in its place is taken back
        monkeypatch.setattr(room, "as_reject", room.as_reject)
    return fuzz.Lander(tmp_path)


def test_sound_and_damaged_lines_break_nothing(lander: fuzz.Lander) -> None:
    assert lander.broken(LINE + b"{\n", "log.jsonl") == []


def test_a_decoder_that_fails_is_found(
    lander: fuzz.Lander, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(stage, "_items", failing)
    (found,) = lander.broken(LINE, "log.jsonl")
    assert "planted" in found.told


def test_it_runs(capsys: pytest.CaptureFixture[str], lander: fuzz.Lander) -> None:
    del lander  # which restores what `main` replaces
    assert fuzz.main(0.5, seed=1) == 0
    assert "0 places broke (seed 1)" in capsys.readouterr().out

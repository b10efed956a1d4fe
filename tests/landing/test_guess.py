"""A file that no format recognises: what is told of the formats that come nearest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lakes import trajtab
from making import write
from reading import SAMPLES

from pipeline.landing import formats
from pipeline.landing.guess import guesses
from pipeline.landing.records.reader import look


@pytest.mark.parametrize(
    ("record", "told"),
    [
        # All of otlp's one key is there, with a value that is no list.
        ({"resourceSpans": 5}, ["otlp has resourceSpans, but in another shape"]),
        # Half of trajtab's two keys; of no other format any.
        ({"run_id": "r", "colour": 1}, ["trajtab would need steps"]),
        # Two of three of taubench_v1, half of tasks, a quarter of tau2_directory.
        (
            {"task_id": 1, "reward": 1},
            [
                "taubench_v1 would need traj",
                "tasks would need references",
                "tau2_directory would need id, termination_reason, messages",
            ],
        ),
        ({"colour": 1}, []),
        (["words"], []),
    ],
)
def test_the_nearest_come_first(record: object, told: list[str]) -> None:
    assert guesses(look(json.dumps(record).encode())) == told


def test_three_are_enough() -> None:
    """More than three formats expect an id."""
    assert sum("id" in form.expects for form in formats.every()) > 3
    assert len(guesses(look(b'{"id": 1}'))) == 3


def test_the_refusal_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "a.jsonl", [{"run_id": "r1", "events": []}])
    assert trajtab("land", source, "--lake", tmp_path / "lake") == 2
    told = capsys.readouterr().err
    assert "no format has records with ['events', 'run_id']" in told
    assert "; trajtab would need steps; adk_session would need id;" in told


@pytest.mark.parametrize("name", formats.names())
def test_the_keys_that_a_format_expects_are_read_by_it(name: str) -> None:
    form = formats.get(name)
    source = Path(formats.__file__).with_name(f"{name}.py")
    told = [line for line in source.read_text().splitlines() if "    expects=" not in line]
    samples = [path.read_bytes() for path in (SAMPLES / name).rglob("*") if path.is_file()]
    for key in form.expects:
        assert any(f'"{key}"' in line for line in told) or any(
            key.encode() in data for data in samples
        )

"""Damage inside a file that leaves its ends alone: `check --deep` reads every byte."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from lakes import final, scored, trajtab
from making import call, run, want
from pyarrow import parquet

from pipeline.checks import check, failed
from pipeline.scoring import score

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.lake import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return scored(
        tmp_path,
        run("r0", call("a", {"q": "x" * 500}), final(), task_id="t", trial=0, expected=[want("a")]),
        run("r1", final(), task_id="t", trial=1),
        "{bad",
    )


def files(lake: Lake) -> list[Path]:
    return sorted(lake.path.rglob("*.parquet"))  # type: ignore[union-attr]  # it is on a disk


def told(lake: Lake) -> list[tuple[str, str, str, str]]:
    return check(lake.path, deep=True).rows.rows()


def forget(lake: Lake) -> None:
    """Make the manifests those of a version that kept no hashes."""
    for file in lake.path.rglob("manifest.json"):  # type: ignore[union-attr]  # same
        manifest = json.loads(file.read_bytes())
        del manifest["files"]
        file.write_text(json.dumps(manifest))


def test_a_sound_lake_has_none(lake: Lake) -> None:
    plain, deep = check(lake), check(lake, deep=True)
    assert deep.rows.equals(plain.rows)
    assert deep.notes[0] == f"{len(files(lake))} files read whole, {plain.notes[0]}"
    forget(lake)
    assert check(lake.path, deep=True).rows.equals(plain.rows)


def test_one_flipped_bit_of_any_file_is_found(lake: Lake) -> None:
    assert {file.stem for file in files(lake)} == {
        "call_scores", "references", "rejects", "runs", "scores", "steps", "tasks",
    }  # fmt: skip
    for file in files(lake):
        sound = file.read_bytes()
        for at in (len(sound) // 3, len(sound) // 2, len(sound) - 5):
            file.write_bytes(sound[:at] + bytes([sound[at] ^ 4]) + sound[at + 1 :])
            ((name, severity, subject, detail),) = told(lake)
            assert (name, severity) == ("damaged_files", "error")
            assert subject == str(file.relative_to(lake.path))  # type: ignore[arg-type]  # same
            assert detail.startswith("damaged: its content is not what its manifest says; ")
            way = "and run `trajtab score`" if "scores" in subject else "restore it from a copy"
            assert way in detail
        file.write_bytes(sound)
    assert not failed(check(lake.path, deep=True))


def test_of_an_earlier_version_every_column_is_decoded(lake: Lake) -> None:
    """Column after column is made zeros; a command that does not read it stumbles over nothing."""
    forget(lake)
    file = lake.batches()[0].file("steps")
    sound, group = file.read_bytes(), parquet.ParquetFile(file).metadata.row_group(0)
    for number in range(group.num_columns):
        column = group.column(number)
        starts = [column.data_page_offset, column.dictionary_page_offset]
        start = min(at for at in starts if at is not None)
        end = start + column.total_compressed_size
        file.write_bytes(sound[:start] + bytes(end - start) + sound[end:])
        ((_, _, subject, detail),) = told(lake)
        assert subject.endswith("steps.parquet"), column.path_in_schema
        assert detail.startswith("damaged: it cannot be read: ")


def test_another_number_of_rows_is_told(lake: Lake) -> None:
    forget(lake)
    manifest = lake.path / lake.batches()[0].relative / "manifest.json"  # type: ignore[operator]  # same
    changed = json.loads(manifest.read_bytes())
    changed["rows"]["steps"] += 1
    manifest.write_text(json.dumps(changed))
    n = changed["rows"]["steps"]
    ((_, _, _, detail),) = told(lake)
    assert detail.startswith(f"damaged: {n - 1} rows, of {n} that its manifest tells; ")


def test_a_file_that_is_gone_or_cut_off_is_one_of_them(lake: Lake) -> None:
    lake.batches()[0].file("runs").unlink()
    steps = lake.batches()[0].file("steps")
    steps.write_bytes(steps.read_bytes()[:-7])
    details = [detail for *_, detail in told(lake)]
    assert [detail.split(";")[0].split(":")[0] for detail in details] == [
        "missing, though its manifest names it", "damaged",
    ]  # fmt: skip


def test_scores_of_every_policy_are_read(lake: Lake, tmp_path: Path) -> None:
    rules = tmp_path / "policy.toml"
    rules.write_text("[match]\nargs = 'names'\n")
    before = set(files(lake))
    score(lake, policy=rules)
    (more,) = {file for file in set(files(lake)) - before if file.stem == "scores"}
    data = bytearray(more.read_bytes())
    data[len(data) // 2] ^= 4
    more.write_bytes(data)
    ((_, _, subject, _),) = told(lake)
    assert subject == str(more.relative_to(lake.path))  # type: ignore[arg-type]  # same


def test_an_error_that_says_nothing_is_told_by_its_kind(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise OSError

    monkeypatch.setattr(parquet, "ParquetFile", refuse)
    assert {detail.split(";")[0] for *_, detail in told(lake)} == {
        "damaged: it cannot be read: OSError"
    }


def test_the_command_exits_1(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    file = lake.batches()[0].file("runs")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert trajtab("check", lake.path, "--deep", "--format", "json") == 1
    out = json.loads(capsys.readouterr().out)
    assert [row["check"] for row in out["rows"]] == ["damaged_files"]
    assert out["notes"][0].endswith("1 offender; nothing else was looked at")

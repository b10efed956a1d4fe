"""A log and what stands beside it, packed or not: in any order they are the same runs, once."""

from __future__ import annotations

import gzip
import json
import lzma
import zipfile
from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from making import call, run, runs_of, steps_of
from reading import SAMPLES

from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import polars as pl

    from pipeline.landing.report import LandReport

TOLD = {"results.json", "base_state.json"}
"""The files beside a run that tell more of it."""
FORMS = ("tau2_directory", "openhands_conversation")


def samples(form: str) -> list[Path]:
    return [path for path in sorted((SAMPLES / form).rglob("*")) if path.is_file()]


def written(folder: Path, form: str, *, told: bool, others: bool) -> list[Path]:
    """Write a sample with some of its files packed."""
    made = []
    for path in samples(form):
        to = folder / path.relative_to(SAMPLES)
        to.parent.mkdir(parents=True, exist_ok=True)
        packs = told if path.name in TOLD else others
        to = to.with_name(f"{to.name}.gz") if packs else to
        to.write_bytes(gzip.compress(path.read_bytes()) if packs else path.read_bytes())
        made.append(to)
    return made


def content(lake: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    gone = "landed_at", "source_path", "source_line", "run_key"
    return (
        runs_of(lake).drop(gone).sort("run_id"),
        steps_of(lake).drop("run_key").sort("run_id", "step_index"),
    )


def landed(lake: Path, paths: Iterable[Path | str]) -> LandReport:
    return land(list(paths), lake, workers=1)


def assert_same(lake: Path, right: Path) -> None:
    for found, expected in zip(content(lake), content(right), strict=True):
        assert found.equals(expected)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of lakes: each form's sample as it is."""
    folder = tmp_path_factory.mktemp("plain")
    for form in FORMS:
        landed(folder / form, [SAMPLES / form])
    return folder


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("told", "others"), [(True, False), (False, True), (True, True)])
def test_in_any_order_and_unnamed(
    tmp_path: Path, plain: Path, form: str, told: bool, others: bool
) -> None:
    paths = written(tmp_path, form, told=told, others=others)
    unnamed = [path for path in paths if path.name.removesuffix(".gz") not in TOLD]
    named = (paths, paths[::-1], unnamed, [tmp_path / form], [f"{tmp_path}/{form}/**/*"])
    for number, sources in enumerate(named):
        lake = tmp_path / f"lake{number}"
        landed(lake, sources)
        assert_same(lake, plain / form)


@pytest.mark.parametrize("form", FORMS)
def test_packed_inside_an_archive(tmp_path: Path, plain: Path, form: str) -> None:
    paths = written(tmp_path / "files", form, told=True, others=True)
    for number, order in enumerate((paths, paths[::-1])):
        path = tmp_path / f"x{number}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for one in order:
                archive.write(one, one.relative_to(tmp_path / "files"))
        landed(tmp_path / f"lake{number}", [path])
        assert_same(tmp_path / f"lake{number}", plain / form)


@pytest.mark.parametrize("form", FORMS)
def test_packed_beside_plain_counts_once(tmp_path: Path, plain: Path, form: str) -> None:
    paths = written(tmp_path, form, told=False, others=False)
    paths += written(tmp_path, form, told=True, others=True)
    for number, order in enumerate((paths, paths[::-1])):
        landed(tmp_path / f"lake{number}", order)
        assert_same(tmp_path / f"lake{number}", plain / form)


RECORDS = {
    "with ids": [run(f"r{i}", call("a", {"i": i})) for i in range(3)],
    "without": [
        {"messages": [{"role": "user", "content": f"{i}"}, {"role": "assistant", "content": "A"}]}
        for i in (0, 1, 1)
    ],
}


@pytest.mark.parametrize("records", RECORDS.values(), ids=RECORDS)
def test_a_log_packed_in_several_ways_counts_once(tmp_path: Path, records: list[object]) -> None:
    """Three runs, two of them alike: of every copy of the file the same three."""
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    (tmp_path / "x.jsonl").write_bytes(data)
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(data))
    (tmp_path / "x.jsonl.xz").write_bytes(lzma.compress(data))
    files = sorted(tmp_path.glob("x.*"))
    for number, order in enumerate((*permutations(files), [f"{tmp_path}/x.*"])):
        report = landed(tmp_path / f"lake{number}", order)
        assert (report.runs, report.duplicates) == (3, 6)
        assert runs_of(tmp_path / f"lake{number}").height == 3


def test_a_damaged_neighbour_is_none_and_costs_no_run(tmp_path: Path) -> None:
    paths = written(tmp_path, "tau2_directory", told=True, others=False)
    (results,) = (path for path in paths if path.name == "results.json.gz")
    results.write_bytes(b"\x1f\x8b\x08 and no more")
    assert landed(tmp_path / "lake", [path for path in paths if path != results]).runs == 1


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def _again(data: bytes) -> bytes:
    """Spell a document as a string."""
    return json.dumps(data.decode()).encode()


ANOTHER = {
    "wide": lambda data: data.decode().encode("utf-16"),
    "framed": lambda data: b"".join(b"\x1e%b" % line for line in data.splitlines(keepends=True)),
    "wide, packed": lambda data: gzip.compress(data.decode().encode("utf-16")),
}


@pytest.mark.parametrize("how", ANOTHER)
def test_another_layer_of_a_member_keeps_its_folder(tmp_path: Path, how: str) -> None:
    """The folder names the model; a folder made up would make it another one each time."""
    (path,) = (SAMPLES / "bfcl_result").iterdir()
    inside = {"gpt-4/BFCL_v4_simple_result.json": ANOTHER[how](path.read_bytes())}
    for name in ("a", "b"):
        landed(tmp_path / name, [zipped(tmp_path / "x.zip", inside)])
    found, again = (runs_of(tmp_path / name) for name in ("a", "b"))
    assert set(found["model"]) == {"gpt-4"}
    assert found["run_id"].equals(again["run_id"])


@pytest.mark.parametrize("spelled", [ANOTHER["wide"], ANOTHER["wide, packed"], _again])
def test_another_layer_of_members_keeps_them_together(
    tmp_path: Path, plain: Path, spelled: Callable[[bytes], bytes]
) -> None:
    folder = SAMPLES / "openhands_conversation"
    files = [path for path in folder.rglob("*") if path.is_file()]
    inside = {str(path.relative_to(folder)): spelled(path.read_bytes()) for path in files}
    report = landed(tmp_path / "lake", [zipped(tmp_path / "x.zip", inside)])
    assert (report.runs, report.unrecognised) == (1, [])
    assert_same(tmp_path / "lake", plain / "openhands_conversation")

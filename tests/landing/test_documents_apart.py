"""Documents that follow each other in one file land as they would from files of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import runs_of, steps_of
from reading import SAMPLES

from pipeline.engines.local import Local
from pipeline.errors import RejectedError
from pipeline.lake import Lake
from pipeline.landing import formats
from pipeline.landing.land import land
from pipeline.landing.records.reader import Source

if TYPE_CHECKING:
    from pathlib import Path

PLACES = ("landed_at", "run_key", "source_path", "source_line")
DOCUMENTS = [
    (form.name, file)
    for form in formats.every()
    if form.name != "openhands_conversation"  # whose files are no logs by themselves
    for file in sorted((SAMPLES / form.name).rglob("*.*"))
    if Source(file, file.name).head.framing in {"object", "array"}
]
LAYOUTS = [
    ((None, None), ""), ((None, None), "\n"), ((1, 1), ""), ((1, 1), "\r\n\n"),
    ((None, 2), ""), ((2, None), "\n"), ((None, None), ","), ((0, 2), ",\n"),
]  # fmt: skip
"""How two documents are indented, and what stands between them: a comma where they are in an array."""
TAU2 = SAMPLES / "tau2_results" / "hotel_concierge.json"


def another(text: str) -> str:
    """Return a document like another one, of other runs."""
    return text.replace("0", "3").replace("Oslo", "Rome").replace("Hello", "Hi").replace("My", "A")


def content(lake: Path) -> list[list[tuple[Any, ...]]]:
    """Return what landed, but for where it stood."""
    opened = Lake.open(lake)
    tasks = [pl.read_parquet(folder.file("tasks")) for folder in opened.tasks()]
    runs, steps = runs_of(lake), steps_of(lake)
    found = [runs.drop(PLACES, strict=False), steps.drop("run_key"), *tasks]
    return [sorted(frame.rows(), key=repr) for frame in found if frame.height]


def rejects_of(lake: Path) -> list[tuple[int, int, str]]:
    files = [batch.file("rejects") for batch in Lake.open(lake).batches() if batch.rows("rejects")]
    told = "line", "byte_offset", "reason"
    return [row for file in files for row in pl.read_parquet(file).select(told).rows()]


def test_samples_of_many_formats_are_documents() -> None:
    assert {"tau2_results", "inspect_log", "openhands_events", "messages"} <= {
        name for name, _ in DOCUMENTS
    }
    assert len({name for name, _ in DOCUMENTS}) >= 19


@pytest.mark.parametrize(("name", "file"), DOCUMENTS, ids=[f"{n}:{f.stem}" for n, f in DOCUMENTS])
@pytest.mark.parametrize(("indents", "between"), LAYOUTS)
def test_two_documents_land_as_two_files_would(
    tmp_path: Path, name: str, file: Path, indents: tuple[int | None, int | None], between: str
) -> None:
    documents = [json.loads(file.read_text()), json.loads(another(file.read_text()))]
    assert documents[0] != documents[1]
    texts = [json.dumps(d, indent=i) for d, i in zip(documents, indents, strict=True)]
    joined = f"[{between.join(texts)}]" if "," in between else between.join(texts)
    for folder, text in (("1", texts[0]), ("2", texts[1]), ("both", joined)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file.name).write_text(text)
    alone = land([tmp_path / n / file.name for n in "12"], tmp_path / "alone", workers=1)
    both = land([tmp_path / "both" / file.name], tmp_path / "lake", workers=1)
    assert [found.format for found in (*both.recognised, *alone.recognised)] == [name] * 3
    assert both.rejects == alone.rejects
    if file.name != "hotel.test.json":  # a case that its file names; see below
        assert content(tmp_path / "lake") == content(tmp_path / "alone")


def test_cases_that_a_file_names_are_numbered(tmp_path: Path) -> None:
    text = (SAMPLES / "adk_eval_legacy" / "hotel.test.json").read_text()
    (tmp_path / "hotel.test.json").write_text(text + another(text))
    land([tmp_path / "hotel.test.json"], tmp_path / "lake")
    tasks = [
        pl.read_parquet(folder.file("tasks")) for folder in Lake.open(tmp_path / "lake").tasks()
    ]
    assert sorted(pl.concat(tasks)["task_id"]) == ["hotel", "hotel 2"]


@pytest.fixture
def exports() -> list[str]:
    """Three exports of other runs each."""
    document = json.loads(TAU2.read_text())
    text = json.dumps(document, indent=1)
    others = [text.replace("-0", f"-{n}").replace('"id": "', f'"id": "{n}') for n in "123"]
    return [other + "\n" for other in others]


def landed(tmp_path: Path, text: str, **more: Any) -> Path:
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "all.json").write_text(text)
    land([tmp_path / "all.json"], tmp_path / "lake", **more)
    return tmp_path / "lake"


def test_places_are_those_in_the_file(tmp_path: Path, exports: list[str]) -> None:
    good = '"termination_reason": "user_stop"'
    bad = good.replace('"user_stop"', "user_stop")
    text = exports[0] + exports[1].replace(good, bad, 1) + exports[2]
    lake = landed(tmp_path, text)
    ((line, offset, reason),) = rejects_of(lake)
    assert reason == "not_json"
    assert offset < text.index(bad) < text.index(good, text.index(bad))
    assert text[offset] == "{"
    assert line == 1 + text.count("\n", 0, offset)
    lines = text.split("\n")
    whole = runs_of(landed(tmp_path / "whole", "".join(exports))).height
    assert runs_of(lake).height == whole - 1
    for run_id, line in runs_of(lake).select("run_id", "source_line").rows():
        record = "\n".join(lines[line - 1 :])
        assert json.JSONDecoder().raw_decode(record.lstrip())[0]["id"] == run_id


def test_in_an_array_what_is_none_is_refused_with_its_place(
    tmp_path: Path, exports: list[str]
) -> None:
    begins = '"termination_reason": "user_stop"'
    bad = exports[1].replace(begins, begins.replace('"user_stop"', "user_stop"), 1)
    parts = [exports[0].rstrip(), bad.rstrip(), "7", exports[2].rstrip()]
    text = "[\n" + ",\n".join(parts) + "\n]"
    lake = landed(tmp_path, text)
    (line, offset, reason), (other_line, other_offset, other_reason) = rejects_of(lake)
    assert (reason, other_reason) == ("not_json", "bad_value")
    assert text[offset] == "{"
    assert offset < text.index("user_stop,") < text.index(begins, offset)
    assert line == 1 + text.count("\n", 0, offset)
    assert (other_line, text[other_offset:][:3]) == (1 + text.count("\n", 0, other_offset), "7,\n")
    whole = runs_of(landed(tmp_path / "whole", "".join(exports))).height
    assert runs_of(lake).height == whole - 1
    again = land([tmp_path / "all.json"], lake)
    assert (again.runs, again.batches) == (0, 0)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    "sample", ["tau2_results/hotel_concierge.json", "inspect_log/trip_desk.json"]
)
def test_a_document_that_is_cut_off_costs_itself_alone(
    tmp_path: Path, sample: str, indent: int | None
) -> None:
    text = json.dumps(json.loads((SAMPLES / sample).read_text()), indent=indent)
    other = another(text)
    third = text.replace("0", "4")
    wanted = set(runs_of(landed(tmp_path / "good", f"{other}\n{text}"))["run_id"])
    for name, cut in (("info", 40), ("record", len(text) - len(text) // 8)):
        lake = landed(tmp_path / name, "\n".join([other, third[:cut].rstrip(" \n,:[{"), text]))
        assert set(runs_of(lake)["run_id"]) >= wanted
        ((line, _, reason),) = rejects_of(lake)
        assert reason in {"truncated", "not_json"}
        assert line > other.count("\n") + 1


def test_what_is_no_document_of_the_format_is_refused_whole(
    tmp_path: Path, exports: list[str]
) -> None:
    """Never in silence: another log's document, or text behind the last one."""
    chat = '{"messages": [{"role": "user", "content": "Hi"}]}\n'
    text = exports[0] + chat + exports[1] + "and so on"
    lake = landed(tmp_path, text)
    lines = 1 + exports[0].count("\n"), 2 + (exports[0] + exports[1]).count("\n")
    offsets = len(exports[0]), len(text) - len("and so on")
    assert rejects_of(lake) == [
        (lines[0], offsets[0], "bad_value"),
        (lines[1], offsets[1], "not_json"),
    ]
    assert runs_of(lake).height == 2 * runs_of(landed(tmp_path / "one", exports[0])).height
    with pytest.raises(RejectedError, match=rf"all\.json:{lines[0]}: bad_value"):
        landed(tmp_path / "strict", text, strict=True)


def test_landed_again_and_over_an_engine(tmp_path: Path, exports: list[str]) -> None:
    lake = landed(tmp_path, "".join(exports))
    assert land([tmp_path / "all.json"], lake).runs == 0
    land([tmp_path / "all.json"], tmp_path / "over", engine=Local(1))
    names = [[batch.name for batch in Lake.open(at).batches()] for at in (lake, tmp_path / "over")]
    assert names[0] == names[1]
    (sources,) = [batch.manifest["sources"] for batch in Lake.open(lake).batches()]
    assert [source["path"] for source in sources] == [str(tmp_path / "all.json")]


def test_a_format_named_outright(tmp_path: Path) -> None:
    text = (SAMPLES / "openhands_events" / "seat_change.json").read_text()
    lake = landed(tmp_path, text + another(text), format="openhands_events")
    assert runs_of(lake).height == 2


def test_lines_go_on_where_a_printed_document_follows(tmp_path: Path) -> None:
    """As many lines as were written, then a document over many lines, then lines again."""

    def run(name: str) -> dict[str, Any]:
        return {"run_id": name, "steps": []}

    lines = [json.dumps(run(name)) for name in ("a", "b")]
    text = "\n".join(
        [*lines, json.dumps(run("c"), indent=2), '{"run_id": 1}', json.dumps(run("d"))]
    )
    lake = landed(tmp_path, text)
    assert runs_of(lake)["run_id"].to_list() == ["a", "b", "c", "d"]
    assert rejects_of(lake) == [(7, text.index('{"run_id": 1}'), "wrong_type")]
    damaged = "\n".join([lines[0], "{", lines[1]])
    lake = landed(tmp_path / "damaged", damaged)
    assert runs_of(lake)["run_id"].to_list() == ["a", "b"]
    assert rejects_of(lake) == [(2, len(lines[0]) + 1, "truncated")]

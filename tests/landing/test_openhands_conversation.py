"""OpenHands conversations kept a file per event: a folder is a run, however it is handed over."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import run, runs_of, steps_of, write
from reading import SAMPLES, decode, sniff

from pipeline.checks import check
from pipeline.engines.local import Local
from pipeline.errors import RejectedError
from pipeline.lake import Lake
from pipeline.landing.batch.chunks import cut
from pipeline.landing.formats import get
from pipeline.landing.land import land
from pipeline.landing.recognise import recognise
from pipeline.landing.source.folders import foldered
from pipeline.landing.source.named import expand

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = next((SAMPLES / "openhands_conversation").iterdir())
RUN = "5d0c7a54-5c3f-4b52-9d0e-0f3a4b1c2d3e"
FIRST = "7c6b2c1e-0d4f-4a6b-8f10-000000000000"
KINDS = ["message", "message", *["llm_call", "tool_call"] * 4]


def copied(to: Path, events: int = 99, *, state: bool = True) -> Path:
    """Copy the sample's first events; `to` is the conversation's folder."""
    (to / "events").mkdir(parents=True)
    for file in files(SAMPLE)[:events]:
        shutil.copy(file, to / "events")
    if state:
        shutil.copy(SAMPLE / "base_state.json", to)
    return to


def files(conversation: Path) -> list[Path]:
    return sorted((conversation / "events").iterdir())


def rejects_of(lake: Path) -> list[tuple[str, int, int, str]]:
    found = [batch.file("rejects") for batch in Lake.open(lake).batches() if batch.rows("rejects")]
    told = "source_path", "line", "byte_offset", "reason"
    return [row for file in found for row in pl.read_parquet(file).select(told).rows()]


def test_a_folder_is_a_run(tmp_path: Path) -> None:
    report = land([SAMPLE], tmp_path / "lake")
    assert [(file.format, file.source.shown) for file in report.recognised] == [
        ("openhands_conversation", str(SAMPLE / "events"))
    ]
    assert report.unrecognised == []
    told = ("run_id", "source_id", "model", "status", "completed", "final_output")
    assert runs_of(tmp_path / "lake").select(told).rows() == [
        (RUN, SAMPLE.name, "aurora-mini", "ok", True, "Ada sits in 14D.")
    ]
    steps = steps_of(tmp_path / "lake")
    assert steps["kind"].to_list() == KINDS
    assert [steps["input_tokens"].sum(), steps["output_tokens"].sum()] == [4200, 180]
    assert steps["cost_usd"].sum() == 0.0125
    assert steps.filter(kind="tool_call")["is_error"].to_list() == [False, True, False, False]


def _zipped(tree: Path, to: Path) -> list[Path]:
    with zipfile.ZipFile(to / "all.zip", "w") as archive:
        for file in sorted(tree.rglob("*.json"), reverse=True):
            archive.write(file, file.relative_to(tree))
    return [to / "all.zip"]


def _gzipped(tree: Path, _: Path) -> list[Path]:
    for file in tree.rglob("*.json"):
        file.with_name(file.name + ".gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    return [tree]


@pytest.mark.parametrize(
    "handed",
    [
        lambda tree, _: [tree],
        lambda tree, _: [f"{tree}/**/*.json"],
        lambda tree, _: sorted(tree.rglob("*.json"), reverse=True),
        _zipped,
        _gzipped,
    ],
    ids=["tree", "glob", "files", "zip", "gz"],
)
def test_two_conversations_in_one_tree_are_two_runs(tmp_path: Path, handed: Any) -> None:
    tree = tmp_path / "tree"
    copied(tree / "one", 5, state=False)
    for file in files(copied(tree / "deeper" / "two", state=False)):
        file.write_text(file.read_text().replace("7c6b2c1e", "8c6b2c1e"))
    write(tree / "runs.json", [run("own")])
    report = land(handed(tree, tmp_path), tmp_path / "lake", workers=1)
    assert runs_of(tmp_path / "lake").select("run_id", "source_id", "n_rows").rows() == [
        (FIRST, "one", 6),
        (FIRST.replace("7c6b2c1e", "8c6b2c1e"), "two", 10),
        ("own", None, 0),
    ]
    assert report.unrecognised == []
    assert not report.rejects


DAMAGED = {
    "cut off": (b'{"id": "x", "kind": "Mess', "truncated"),
    "empty": (b"", "truncated"),
    "no UTF-8": (b'{"kind": "MessageEvent", "source": "\xff"}', "invalid_utf8"),
    "another type": (b'{"kind": "MessageEvent", "source": 3}', "wrong_type"),
    "no object": (b"[1]", "not_an_object"),
}


@pytest.mark.parametrize("at", [0, 3])
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_event_costs_itself_alone(tmp_path: Path, name: str, at: int) -> None:
    conversation = copied(tmp_path / "talk")
    body, reason = DAMAGED[name]
    damaged = files(conversation)[at]
    damaged.write_bytes(body)
    land([conversation], tmp_path / "lake")
    assert rejects_of(tmp_path / "lake") == [(str(damaged), 1, 0, reason)]
    assert runs_of(tmp_path / "lake")["run_id"].to_list() == [RUN]
    kinds = KINDS[1:] if at == 0 else KINDS
    assert steps_of(tmp_path / "lake")["kind"].to_list() == kinds
    with pytest.raises(RejectedError, match=rf"{damaged.name}:1: {reason}: "):
        land([conversation], tmp_path / "strict", strict=True)


def test_what_stands_beside_the_events_is_refused_alone(tmp_path: Path) -> None:
    conversation = copied(tmp_path / "talk")
    (conversation / "base_state.json").write_text('{"id": ')
    land([conversation], tmp_path / "lake")
    state = str(conversation / "base_state.json")
    assert rejects_of(tmp_path / "lake") == [(state, 1, 0, "truncated")]
    assert runs_of(tmp_path / "lake")["run_id"].to_list() == [FIRST]


@pytest.mark.parametrize("state", [True, False])
@pytest.mark.parametrize("name", ["talk", SAMPLE.name])
def test_more_events_supersede_fewer(tmp_path: Path, name: str, *, state: bool) -> None:
    lake = tmp_path / "lake"
    early, late = copied(tmp_path / "1" / name, 5, state=state), copied(tmp_path / "2" / name, state=state)  # fmt: skip
    if state:
        text = (early / "base_state.json").read_text().replace("finished", "running")
        (early / "base_state.json").write_text(text)
    land([early], lake)
    assert runs_of(lake)["status"].to_list() == ["incomplete"]
    assert land([late], lake).replaced == 1
    assert land([late], lake).already == 1
    land([early], lake)
    assert runs_of(lake).select("status", "n_rows").rows() == [("ok", 10)]
    assert (check(lake).rows["check"] == "superseded_runs").sum() == 1


def test_events_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    conversation = copied(tmp_path / "talk")
    for number, file in enumerate(files(conversation)):
        file.rename(file.with_name(f"event-{99995 + number:05d}-{file.stem[12:]}.json"))
    land([conversation], tmp_path / "lake")
    assert steps_of(tmp_path / "lake")["kind"].to_list() == KINDS


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("finished", ("ok", True)),
        ("idle", ("ok", True)),
        ("running", ("incomplete", True)),
        ("error", ("error", True)),
        ("stuck", ("ok", False)),
    ],
)
def test_how_a_conversation_stands(tmp_path: Path, status: str, expected: Any) -> None:
    conversation = copied(tmp_path / "talk")
    text = (conversation / "base_state.json").read_text()
    (conversation / "base_state.json").write_text(text.replace("finished", status))
    land([conversation], tmp_path / "lake")
    assert runs_of(tmp_path / "lake").select("status", "completed").rows() == [expected]


def test_the_folders_before_v1(tmp_path: Path) -> None:
    """Their events are numbered alone: `events/12.json`."""
    events = json.loads((SAMPLES / "openhands_events" / "seat_change.json").read_text())
    for number, event in enumerate(events):
        path = tmp_path / "sessions" / SAMPLE.name / "events" / f"{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(event))
    land([tmp_path / "sessions"], tmp_path / "lake")
    land([SAMPLES / "openhands_events"], tmp_path / "array")
    told = ("kind", "tool_name", "tool_args", "output", "is_error", "content", "input_tokens")
    found, wanted = (steps_of(tmp_path / name).select(told) for name in ("lake", "array"))
    assert found.equals(wanted)
    assert runs_of(tmp_path / "lake")["run_id"].to_list() == [RUN]


def test_other_files_in_a_folder_called_events_stay_what_they_are(tmp_path: Path) -> None:
    write(tmp_path / "events" / "0.json", [run("a")])
    write(tmp_path / "events" / "1.json", [run("b")])
    assert {file.format for file in land([tmp_path], tmp_path / "lake").recognised} == {"trajtab"}
    assert runs_of(tmp_path / "lake").height == 2


def test_a_format_named_outright_takes_files_one_by_one(tmp_path: Path) -> None:
    file = files(SAMPLE)[1]
    land([file], tmp_path / "one", format="openhands_conversation")
    said, used = steps_of(tmp_path / "one").select("content", "input_tokens").rows()
    assert said == ("Move Ada from 14C to 14D.", None)
    assert used[0] is None  # base_state.json tells what was used, though no response is here
    assert used[1] > 0
    report = land([SAMPLE / "events"], tmp_path / "lake", format="openhands_events")
    assert report.rejects == {"wrong_type": 10}


def test_over_an_engine_and_while_it_goes_on(tmp_path: Path) -> None:
    conversation = copied(tmp_path / "talk")
    land([conversation], tmp_path / "lake")
    land([conversation], tmp_path / "over", engine=Local(1))
    names = [[b.name for b in Lake.open(tmp_path / at).batches()] for at in ("lake", "over")]
    assert names[0] == names[1]
    (source,) = foldered(expand([str(conversation)]))
    found = recognise(source, "auto")
    assert found is not None
    (chunk,) = cut([found], "")
    wanted = [piece.data for piece in get(found.format).pieces(source)]
    with files(conversation)[-1].open("ab") as last:
        last.write(b"more")
    again = [piece.data for part in chunk.slices for piece, _ in part.pieces()]
    assert again == wanted


def test_an_event_by_itself() -> None:
    assert not sniff("openhands_conversation", {"kind": "MessageEvent", "source": "user"})
    record = {"kind": "MessageEvent", "source": "user", "llm_message": {"content": "Hi"}}
    assert [step.content for step in decode("openhands_conversation", record).run.steps] == ["Hi"]


@pytest.mark.parametrize("state", ["base_state.json", "base_state.json.gz"])
def test_packed_events_find_their_state(state: str, tmp_path: Path) -> None:
    conversation = copied(tmp_path / "talk")
    for file in [*files(conversation), conversation / "base_state.json"]:
        if file.name != state:
            file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
            file.unlink()
    land([conversation], tmp_path / "lake")
    land([copied(tmp_path / "plain" / "talk")], tmp_path / "other")
    for table in (runs_of, steps_of):
        packed, plain = table(tmp_path / "lake"), table(tmp_path / "other")
        kept = [c for c in plain.columns if c not in {"source_path", "landed_at", "run_key"}]
        assert packed.select(kept).equals(plain.select(kept))

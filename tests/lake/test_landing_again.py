"""Landing the same, more of the same, and something else: no run is counted twice, none is lost."""

from __future__ import annotations

import gc
from shutil import rmtree
from typing import TYPE_CHECKING

import pytest
from making import call, run, runs_of, scores_of, steps_of, want, write

from pipeline.engines import landing as engines_landing
from pipeline.engines.local import Local
from pipeline.lake import Folder, Lake
from pipeline.landing.again.known import Known
from pipeline.landing.batch import chunks, side_by_side
from pipeline.landing.batch.stage import stage
from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.tasks import TaskFolders, latest_tasks

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.engines import Engine
    from pipeline.landing.batch.chunks import Chunk
    from pipeline.landing.batch.stage import Staged
    from pipeline.landing.options import Options


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def test_the_same_file_twice_lands_nothing_new(tmp_path: Path, lake: Path) -> None:
    source = write(tmp_path / "a.jsonl", [run("r1", call("a"), expected=[want("a")]), run("r2")])
    first = land([source], lake)
    again = land([source], lake)
    assert (first.batches, first.runs) == (1, 2)
    assert (again.batches, again.already, again.runs, again.duplicates) == (0, 1, 0, 2)
    assert runs_of(lake)["run_id"].to_list() == ["r1", "r2"]


def test_a_batchs_manifest_says_what_is_in_it(tmp_path: Path, lake: Path) -> None:
    """When its runs began, from the first to the last; the columns with a value; what was left out."""
    late, early = "2026-01-02T00:00:00Z", "2026-01-01T12:00:00Z"
    first = run("r1", call("a"), started_at=late)
    records = [first, run("r2", started_at=early), run("r3"), first, {"run_id": 5}]
    report = land([write(tmp_path / "a.jsonl", records)], lake, labels={"arm": "b"}, suite="s")
    (batch,) = Lake.open(lake).batches()
    told = batch.manifest
    assert told["rows"] == {"runs": 3, "steps": 1, "rejects": 1}
    assert (told["started_at"], told["set"], told["suite"]) == ([early, late], {"arm": "b"}, "s")
    assert (told["reasons"], told["duplicates"], report.duplicates) == ({"wrong_type": 1}, 1, 1)
    assert {"suite", "labels", "started_at"} <= set(told["columns"]["runs"])
    assert {"task_id", "reward", "final_output"}.isdisjoint(told["columns"]["runs"])
    assert {"tool_args", "call_key"} <= set(told["columns"]["steps"])
    assert {"output", "response_index"}.isdisjoint(told["columns"]["steps"])


def test_the_same_file_with_a_task_in_it_is_told_of_alike(tmp_path: Path, lake: Path) -> None:
    """A recorder's line mentions a task, so that it is looked at again each time."""
    step = {"step_id": 0, "step_type": "tool_call", "tool_name": "a", "tool_input": {}}
    record = {"trajectory_id": "x", "task_id": "t", "task_description": "do a", "steps": [step]}
    source = write(tmp_path / "a.jsonl", [record])
    reports = [land([source], lake) for _ in range(2)]
    assert [(r.batches, r.runs, r.tasks) for r in reports] == [(1, 1, 1), (0, 0, 0)]
    assert [(r.already, r.duplicates) for r in reports] == [(0, 0), (1, 1)]


def test_the_same_content_under_another_name_lands_nothing_new(tmp_path: Path, lake: Path) -> None:
    records = [run("r1", call("a"))]
    land([write(tmp_path / "a.jsonl", records)], lake)
    again = land([write(tmp_path / "b.jsonl", records)], lake)
    assert again.already == 1
    assert runs_of(lake).height == 1


def test_other_labels_land_again(tmp_path: Path, lake: Path) -> None:
    source = write(tmp_path / "a.jsonl", [run("r1", call("a"))])
    land([source], lake)
    again = land([source], lake, labels={"arm": "b"})
    assert (again.batches, again.runs) == (1, 1)
    assert set(runs_of(lake)["labels"]) == {None, '{"arm":"b"}'}


def test_overlapping_folders_count_each_run_once(tmp_path: Path, lake: Path) -> None:
    write(tmp_path / "day" / "a.jsonl", [run("r1", call("a"))])
    write(tmp_path / "day" / "b.jsonl", [run("r2", call("b"))])
    land([tmp_path / "day" / "a.jsonl"], lake)
    both = land([str(tmp_path / "day"), str(tmp_path / "day" / "*.jsonl")], lake)
    assert (both.runs, both.duplicates) == (1, 1)
    assert runs_of(lake)["run_id"].to_list() == ["r1", "r2"]


def test_a_longer_re_export_replaces_the_shorter(tmp_path: Path, lake: Path) -> None:
    land(
        [write(tmp_path / "a.jsonl", [run("r1", call("a"), status="incomplete"), run("r2")])], lake
    )
    longer = [
        run("r1", call("a"), call("b"), {"kind": "final", "content": "x"}),
        run("r2"),
        run("r3"),
    ]
    report = land([write(tmp_path / "b.jsonl", longer)], lake)
    assert (report.runs, report.replaced, report.duplicates) == (2, 1, 1)
    assert runs_of(lake)["run_id"].to_list() == ["r1", "r2", "r3"]
    assert steps_of(lake).filter(run_id="r1").height == 3
    score(lake)
    assert scores_of(lake)["n_calls"].to_list() == [2, 0, 0]


def test_an_older_snapshot_does_not_replace_the_longer(tmp_path: Path, lake: Path) -> None:
    land([write(tmp_path / "a.jsonl", [run("r1", call("a"), call("b"))])], lake)
    report = land([write(tmp_path / "b.jsonl", [run("r1", call("a"))])], lake)
    assert (report.runs, report.duplicates, report.replaced) == (0, 1, 0)
    assert steps_of(lake).height == 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    "shorter",
    [
        run("r1", call("a"), status="ok"),
        run("r1", call("a"), *[{"kind": "llm_call", "content": "hm"}] * 3, status="incomplete"),
    ],
    ids=["finished", "of more steps"],
)
def test_the_copy_that_has_more_calls_wins_whichever_lands_first(
    tmp_path: Path, lake: Path, order: tuple[int, int], shorter: dict[str, object]
) -> None:
    longer = run("r1", call("a"), call("b"), status="incomplete")
    for at in order:
        land([write(tmp_path / f"{at}.jsonl", [[shorter, longer][at]])], lake)
    assert runs_of(lake).select("status", "n_rows").rows() == [("incomplete", 2)]


def test_a_finished_run_replaces_its_snapshot_with_the_same_calls(
    tmp_path: Path, lake: Path
) -> None:
    land([write(tmp_path / "a.jsonl", [run("r1", call("a"), status="incomplete")])], lake)
    land([write(tmp_path / "b.jsonl", [run("r1", call("a"), success=True)])], lake)
    assert runs_of(lake).select("status", "success").rows() == [("ok", True)]
    back = land(
        [write(tmp_path / "c.jsonl", [run("r1", call("a"), status="incomplete", trial=3)])], lake
    )
    assert back.duplicates == 1
    assert runs_of(lake)["status"].to_list() == ["ok"]


def test_copies_of_which_neither_contains_the_other_both_stay(tmp_path: Path, lake: Path) -> None:
    land([write(tmp_path / "a.jsonl", [run("r1", call("a"))])], lake)
    report = land([write(tmp_path / "b.jsonl", [run("r1", call("b"))])], lake)
    assert report.unresolved == {"r1": 1}
    assert runs_of(lake).height == 2


def test_the_same_id_of_two_agents_is_two_runs(tmp_path: Path, lake: Path) -> None:
    records = [run("r1", call("a"), agent="x"), run("r1", call("a"), agent="y")]
    report = land([write(tmp_path / "a.jsonl", records)], lake)
    assert (report.runs, report.duplicates) == (2, 0)
    assert runs_of(lake)["agent"].to_list() == ["x", "y"]


def test_a_batch_whose_folder_was_removed_lands_again_whole(tmp_path: Path, lake: Path) -> None:
    """Runs of it that others replaced are left out now, and none of the rest in their place."""
    removed = write(tmp_path / "a.jsonl", [run(f"r{i}", call("a")) for i in range(3)])
    name = land([removed], lake) and Lake.open(lake).batches()[0].name
    land([write(tmp_path / "b.jsonl", [run("r0", call("a"), call("b"))])], lake)
    rmtree(lake / "batches" / name)
    again, once_more = land([removed], lake), land([removed], lake)
    assert (again.runs, again.duplicates, once_more.runs, once_more.already) == (2, 1, 0, 1)
    assert runs_of(lake).select("run_id", "n_rows").rows() == [("r0", 2), ("r1", 1), ("r2", 1)]


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the batches that are decoded from now on, by name."""
    names: list[str] = []

    def staging(chunk: Chunk, options: Options) -> Staged:
        names.append(chunk.name)
        return stage(chunk, options)

    for room in (side_by_side, engines_landing):
        monkeypatch.setattr(room, "stage", staging)
    return names


@pytest.mark.parametrize("engine", [None, Local(1, 0)])
@pytest.mark.parametrize("removals", [1, 2])
def test_what_landed_under_another_name_is_not_decoded_again(
    tmp_path: Path, lake: Path, staged: list[str], engine: Engine | None, removals: int
) -> None:
    """Twice its folder is removed after another batch has replaced a run of it."""
    removed = write(tmp_path / "a.jsonl", [run(f"r{i}", call("a")) for i in range(3)])
    longer = [run(f"r{i}", call("a"), call("b")) for i in range(removals)]
    land([removed], lake)
    for number, record in enumerate(longer):
        (name,) = (batch.name for batch in Lake.open(lake).batches() if batch.rows("runs") > 1)
        land([write(tmp_path / f"b{number}.jsonl", [record])], lake)
        rmtree(lake / "batches" / name)
        assert land([removed], lake).runs == 2 - number
    staged.clear()
    report = land([removed], lake, engine=engine)
    assert (report.already, report.batches, report.runs) == (1, 0, 0)
    assert staged == []
    assert runs_of(lake)["run_id"].to_list() == ["r0", "r1", "r2"]


def test_what_stands_is_not_looked_for_among_all_batches(
    tmp_path: Path, lake: Path, staged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "a.jsonl", [run("r1", call("a"))])
    land([source], lake)
    staged.clear()
    monkeypatch.setattr(Known, "refresh", lambda _: pytest.fail("the whole lake was read"))
    assert land([source], lake).already == 1
    assert staged == []


def test_records_without_ids_are_counted_as_often_as_they_occur(tmp_path: Path, lake: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}
    source = write(tmp_path / "a.jsonl", [chat, chat, chat])
    assert land([source], lake).runs == 3
    assert land([source], lake).runs == 0
    longer = land([write(tmp_path / "b.jsonl", [chat, chat, chat, chat])], lake)
    assert (longer.runs, longer.duplicates) == (1, 3)
    assert runs_of(lake)["run_id"].n_unique() == 4


def test_new_references_score_again_what_they_touch_and_nothing_else(
    tmp_path: Path, lake: Path
) -> None:
    def tasks(name: str) -> Path:
        return write(
            tmp_path / f"tasks-{name}.jsonl", [{"task_id": "t1", "references": [[want(name)]]}]
        )

    land([write(tmp_path / "a.jsonl", [run("r1", call("a"), task_id="t1")])], lake)
    land([write(tmp_path / "b.jsonl", [run("r2", call("a"), task_id="t2")])], lake)
    land([tasks("a")], lake)
    assert score(lake).batches == 2
    assert scores_of(lake)["f1"].to_list() == [1.0, None]
    land([tasks("b")], lake)
    assert score(lake)[:2] == (1, 1)
    assert scores_of(lake)["f1"].to_list() == [0.0, None]
    land([tasks("a")], lake)
    assert scores_of(lake)["f1"].to_list() == [1.0, None], (
        "an older file landed again is the latest"
    )
    assert score(lake).batches == 0


def test_of_a_task_told_twice_in_one_file_the_later_counts(tmp_path: Path, lake: Path) -> None:
    told = [{"task_id": "t", "references": [[want(name)]]} for name in "ab"]
    land([write(tmp_path / "tasks.jsonl", told)], lake)
    land([write(tmp_path / "runs.jsonl", [run("r", call("b"), task_id="t")])], lake)
    score(lake)
    assert scores_of(lake)["f1"].to_list() == [1.0]


def test_a_task_told_again_as_it_was_is_no_news(tmp_path: Path, lake: Path) -> None:
    """With and without a suite; all else that it does not say is null, which equals null."""
    task = {"task_id": "t", "references": [[want("a")]]}
    told = [task, {**task, "suite": "s"}]
    source = write(tmp_path / "a.jsonl", told)
    other = write(tmp_path / "b.jsonl", [*told, {"task_id": "u", "prompt": "?"}])
    assert [land([one], lake).tasks for one in (source, source, other, other)] == [2, 0, 1, 0]
    assert len(Lake.open(lake).tasks()) == 2


def test_a_task_that_is_again_what_it_was_is_the_latest(tmp_path: Path, lake: Path) -> None:
    for steps in (1, 2, 1):
        land([write(tmp_path / "a.jsonl", [{"task_id": "t", "min_steps": steps}])], lake)
        assert latest_tasks(Lake.open(lake))["min_steps"].to_list() == [steps]


def test_a_runs_own_reference_wins_over_its_tasks(tmp_path: Path, lake: Path) -> None:
    land([write(tmp_path / "t.jsonl", [{"task_id": "t1", "references": [[want("b")]]}])], lake)
    records = [
        run("own", call("a"), task_id="t1", expected=[want("a")]),
        run("task", call("a"), task_id="t1"),
        run("other suite", call("a"), task_id="t1", suite="s"),
        run("no task", call("a")),
    ]
    land([write(tmp_path / "a.jsonl", records)], lake)
    score(lake)
    found = dict(scores_of(lake).select("run_id", "f1").rows())
    assert found == {"own": 1.0, "task": 0.0, "other suite": None, "no task": None}


def test_a_lake_that_is_made_anew_is_scored_as_it_is_now(tmp_path: Path, lake: Path) -> None:
    """One process lands, scores, removes the lake and lands again: a batch may hold other rows.

    The second file's batch has the same name both times. The first time its r1 had landed before.
    """
    first = write(tmp_path / "a.jsonl", [run("r1", call("a"), task_id="t")])
    second = write(tmp_path / "b.jsonl", [run("r1", call("a"), task_id="t"), run("r2")])
    land([first], lake, workers=1)
    land([second], lake, workers=1)
    assert score(lake).runs == 2
    rmtree(lake)
    land([second], lake, workers=1)
    assert score(lake).runs == 2
    assert sorted(scores_of(lake)["run_id"]) == ["r1", "r2"]


def test_references_that_land_between_two_scorings_count(tmp_path: Path, lake: Path) -> None:
    """They are looked for again by every scoring of one process."""
    log = write(tmp_path / "a.jsonl", [run("r1", call("a"), task_id="t")])
    land([log], lake, workers=1)
    score(lake)
    assert scores_of(lake)["f1"].to_list() == [None]
    task = {"task_id": "t", "references": [[want("a")]]}
    land([write(tmp_path / "tasks.jsonl", [task])], lake, workers=1)
    score(lake, everything=True)
    assert scores_of(lake)["f1"].to_list() == [1.0]


def test_a_process_keeps_nothing_of_a_lake_that_it_has_scored(
    tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MOST_RECORDS", 1)
    records = [run(f"r{n}", call("a"), expected=[want("a")]) for n in range(20)]
    land([write(tmp_path / "a.jsonl", records)], lake, workers=1)
    assert _kept() < 20
    assert score(lake).batches == 20
    assert _kept() < 20


def _kept() -> int:
    """Return how many folders of lakes, or what was read of them, this process holds on to."""
    gc.collect()
    return sum(isinstance(one, TaskFolders | Folder) for one in gc.get_objects())

"""Annotations land in their own room: good ones whole, bad ones as rejects, each once."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import call, run
from reading import SAMPLES, sniff

from pipeline.checks import check
from pipeline.errors import RejectedError
from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.opinions.human import COLUMNS, annotation_columns
from pipeline.workbench import query

if TYPE_CHECKING:
    from pathlib import Path


def word(run_id: str = "r1", who: str = "ann", overall: Any = 4, **more: Any) -> dict[str, Any]:
    return {"trajectory_id": run_id, "annotator_id": who, "overall_quality": overall, **more}


def write(file: Path, *records: Any) -> Path:
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    file = write(
        tmp_path / "runs.jsonl",
        run("r1", call("a"), call("a"), task_id="t1", agent="x"),
        run("r2", call("b"), task_id="t2", agent="x"),
        run("twin", task_id="t3", agent="x", agent_version="v1"),
        run("twin", task_id="t3", agent="x", agent_version="v2"),
    )
    land([file], tmp_path / "lake", workers=1)
    return tmp_path / "lake"


def said(lake: Path, columns: str = "trajectory_id, annotator_id, overall_quality") -> list[Any]:
    asked = f"SELECT {columns} FROM annotations ORDER BY ALL"  # noqa: S608 - columns of these tests
    return query(lake, asked).rows.rows()


def offenders(lake: Path, name: str) -> list[tuple[str, str]]:
    rows = check(lake).rows.filter(pl.col("check") == name)
    return rows.select("subject", "detail").rows()


FULL = word(
    task_id="t1",
    dimensions={
        "goal_understanding": {"score": 5, "note": "clear"},
        "tool_selection": {"score": 4.0},
        "reasoning_quality": 3,
        "efficiency": {"note": "slow"},
        "error_handling": None,
    },
    critical_steps=[1],
    backtrack_steps=[1, 0, 1],
    annotation_time_seconds=12,
    reviewer="second pass",
)


def test_everything_a_record_says_lands(tmp_path: Path, lake: Path) -> None:
    report = land([write(tmp_path / "a.jsonl", FULL)], lake, labels={"round": "1"})
    assert (report.annotations, report.batches, report.runs) == (1, 1, 0)
    assert report.recognised[0].format == "annotations"
    (folder,) = Lake.open(lake).annotations()
    assert folder.relative == f"annotations/{folder.name}"
    assert folder.name.startswith("a-")
    row = pl.read_parquet(folder.file("annotations")).to_dicts()[0]
    assert {name: row[name] for name in row if row[name] is not None and name not in _OWN} == {
        "trajectory_id": "r1", "task_id": "t1", "annotator_id": "ann", "overall_quality": 4,
        "goal_understanding": 5, "tool_selection": 4, "reasoning_quality": 3,
        "goal_understanding_note": "clear", "efficiency_note": "slow",
        "critical_steps": [1], "backtrack_steps": [0, 1], "annotation_time_seconds": 12.0,
        "source_path": str(tmp_path / "a.jsonl"), "source_line": 1, "position": 0,
    }  # fmt: skip
    assert json.loads(row["labels"]) == {"reviewer": "second pass", "round": "1"}
    assert folder.manifest["rows"] == {"annotations": 1}


_OWN = ("labels", "content_key", "landed_at")


@pytest.mark.parametrize("form", ["array", "document"])
def test_json_lands_as_jsonl_does(tmp_path: Path, lake: Path, form: str) -> None:
    records = [FULL, word("r2")] if form == "array" else FULL
    file = tmp_path / "a.json"
    file.write_text(json.dumps(records, indent=1))
    assert land([file], lake).annotations == (2 if form == "array" else 1)


REFUSED = [
    (word(overall=None), "missing_field", "overall_quality is not filled in"),
    (word(who=None), "missing_field", "annotator_id is not filled in"),
    (word(""), "missing_field", "trajectory_id is not filled in"),
    (word(overall=6), "bad_value", "overall_quality is 6; a whole number from 1 to 5 was expected"),
    (word(overall=0), "bad_value", "overall_quality is 0;"),
    (word(overall=3.5), "bad_value", "overall_quality is 3.5;"),
    (word(overall="4"), "wrong_type", "Expected `int | float | null`, got `str`"),
    (word(overall=True), "wrong_type", "got `bool`"),
    (word(dimensions={"effciency": 3}), "bad_value", "'effciency'; did you mean 'efficiency'?"),
    (word(dimensions={"efficiency": {"score": 9}}), "bad_value", "dimensions.efficiency is 9;"),
    (word(dimensions=[3]), "wrong_type", "Expected `object | null`, got `array`"),
    (word(backtrack_steps=[-1]), "bad_value", "backtrack_steps holds -1; steps count from 0"),
    (word(critical_steps=[2**32]), "bad_value", "critical_steps holds 4294967296;"),
    (word(critical_steps=["3"]), "wrong_type", "Expected `int`, got `str`"),
    (word(annotation_time_seconds=-2), "bad_value", "annotation_time_seconds is -2"),
    ({"annotator_id": "ann", "overall_quality": 3}, "missing_field", "`trajectory_id`"),
    ('{"trajectory_id": "r1", "overall', "truncated", ""),
    ("[1]", "not_an_object", "got `array`"),
]  # fmt: skip


def test_what_is_wrong_is_told_and_the_rest_lands(tmp_path: Path, lake: Path) -> None:
    file = write(tmp_path / "a.jsonl", word("r1"), *(bad for bad, *_ in REFUSED), word("r2"))
    report = land([file], lake)
    assert (report.annotations, report.rejects.total()) == (2, len(REFUSED))
    asked = "SELECT source_path, line, reason, detail FROM rejects ORDER BY line"
    rows = query(lake, asked).rows.rows()
    assert [row[:3] for row in rows] == [
        (str(file), line, reason) for line, (_, reason, _) in enumerate(REFUSED, 2)
    ]
    assert [
        row[3] for row, (*_, told) in zip(rows, REFUSED, strict=True) if told not in row[3]
    ] == []
    assert len(said(lake)) == 2


def test_what_an_annotation_is_told_by() -> None:
    for telling in ({"overall_quality": 4}, {"annotator_id": "ann"}):
        assert sniff("annotations", {"trajectory_id": "r1", **telling})
        assert sniff("annotations", telling) is None
    assert sniff("annotations", {"trajectory_id": "r1"}) is None


def test_the_edges_of_what_is_right(tmp_path: Path, lake: Path) -> None:
    """Both ends of the scale, no time at all, the last step there may be; context is not kept."""
    edges = [
        word("r1", overall=1, annotation_time_seconds=0, context={"prompt": "Hi"}),
        word("r2", overall=5, critical_steps=[2**32 - 1, 3, 2**32 - 1]),
    ]
    land([write(tmp_path / "a.jsonl", *edges)], lake)
    assert said(lake, "overall_quality, annotation_time_seconds, critical_steps") == [
        (1, 0.0, None),
        (5, None, [3, 2**32 - 1]),
    ]
    (folder,) = Lake.open(lake).annotations()
    assert pl.read_parquet(folder.file("annotations"))["labels"].to_list() == [None, None]


def test_what_has_landed_is_counted_again_with_what_was_double(tmp_path: Path, lake: Path) -> None:
    file = write(tmp_path / "a.jsonl", word(), word(), word("r2"))
    first, again = land([file], lake), land([file], lake)
    assert (first.annotations, first.duplicates) == (2, 1)
    assert (again.annotations, again.duplicates) == (0, 3)


def test_a_file_that_is_damaged_is_told(tmp_path: Path, lake: Path) -> None:
    """Bytes that are no text cost their record, an archive cut off what is behind."""
    text = "".join(f"{json.dumps(word(f'r{n}', note=f'{n * n}' * n))}\n" for n in range(300))
    odd = json.dumps(word("r?")).encode().replace(b"?", b"\xff")
    (tmp_path / "a.jsonl").write_bytes(json.dumps(word()).encode() + b"\n" + odd + b"\n")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(text.encode())[:-200])
    report = land([tmp_path / "a.jsonl"], lake)
    assert report.rejects == {"invalid_utf8": 1}
    report = land([tmp_path / "b.jsonl.gz"], lake)
    assert report.annotations > 0
    assert report.rejects.total() == 1


def test_strict_stops_at_the_first(tmp_path: Path, lake: Path) -> None:
    file = write(tmp_path / "a.jsonl", word(), word(overall=9))
    with pytest.raises(RejectedError, match=f"{file}:2: bad_value: overall_quality is 9"):
        land([file], lake, strict=True)
    assert said(lake) == []
    land([file], lake)
    with pytest.raises(RejectedError, match=f"{file}:2: bad_value: overall_quality is 9"):
        land([file], lake, strict=True)


def test_landing_again_changes_nothing(tmp_path: Path, lake: Path) -> None:
    file = write(tmp_path / "a.jsonl", FULL, word("r2"))
    land([file], lake)
    again = land([file], lake)
    assert (again.annotations, again.duplicates) == (0, 2)
    assert (again.already, again.batches) == (1, 0)
    file.write_text(file.read_text() + json.dumps(word("r2", "bo")) + "\n")
    more = land([file], lake)
    assert (more.annotations, more.duplicates) == (1, 2)
    assert said(lake) == [("r1", "ann", 4), ("r2", "ann", 4), ("r2", "bo", 4)]


def test_an_annotators_latest_word_counts(tmp_path: Path, lake: Path) -> None:
    land([write(tmp_path / "a.jsonl", word(overall=4), word(overall=2), word(who="bo"))], lake)
    assert said(lake) == [("r1", "ann", 2), ("r1", "bo", 4)]
    land([write(tmp_path / "b.jsonl", word(overall=4))], lake)  # back to the first word
    assert said(lake) == [("r1", "ann", 4), ("r1", "bo", 4)]
    replaced = [detail for _, detail in offenders(lake, "superseded_annotations")]
    a = tmp_path / "a.jsonl"
    assert replaced == [
        f"annotator ann said 2 at {a}:2, and has said otherwise since",
        f"annotator ann said 4 at {a}:1, and has said otherwise since",
    ]


def test_the_latest_of_many_words_counts(tmp_path: Path, lake: Path) -> None:
    """Landings follow each other by number, whatever their folders are called."""
    for count, overall in enumerate((1, 5, 2, 4, 3)):
        land([write(tmp_path / f"{count}.jsonl", word(overall=overall))], lake, workers=1)
        assert said(lake) == [("r1", "ann", overall)]


def test_an_older_file_does_not_bring_back_what_was_revised(tmp_path: Path, lake: Path) -> None:
    first, second = (
        write(tmp_path / "1.jsonl", word()),
        write(tmp_path / "2.jsonl", word(overall=2)),
    )
    land([first, second], lake)
    land([first], lake)
    assert said(lake) == [("r1", "ann", 2)]
    land([first, second, write(tmp_path / "3.jsonl", word("r2"))], lake)  # as every night
    assert said(lake) == [("r1", "ann", 2), ("r2", "ann", 4)]
    assert len(offenders(lake, "superseded_annotations")) == 1


def test_a_record_edited_where_it_stands_is_a_new_word(tmp_path: Path, lake: Path) -> None:
    for count, overall in enumerate((4, 2, 4)):
        land(
            [write(tmp_path / "a.jsonl", word("r2", "bo", count + 1), word(overall=overall))], lake
        )
        assert said(lake) == [("r1", "ann", overall), ("r2", "bo", count + 1)]


def test_blanks_around_a_name_make_no_second_annotator(tmp_path: Path, lake: Path) -> None:
    report = land([write(tmp_path / "a.jsonl", word(), word(who=" ann "), word(who=" "))], lake)
    assert said(lake) == [("r1", "ann", 4)]
    assert (report.duplicates, dict(report.rejects)) == (1, {"missing_field": 1})


def test_which_run_is_meant(tmp_path: Path, lake: Path) -> None:
    words = [
        word("twin", "one", agent_version="v2"),
        word("twin", "two"),  # of two versions: which?
        word("r1", "three", task_id="t2"),  # r1 is a run of t1
        word("r9", "four"),
    ]
    land([write(tmp_path / "a.jsonl", *words)], lake)
    asked = (
        "SELECT a.annotator_id, r.agent_version FROM annotations AS a "
        "LEFT JOIN runs AS r USING (run_key) ORDER BY a.annotator_id"
    )
    found = query(lake, asked).rows.rows()
    assert found == [("four", None), ("one", "v2"), ("three", None), ("two", None)]
    told = dict(offenders(lake, "annotations_without_run"))
    assert told["twin"].startswith("2 of the lake's runs are meant by annotator two")
    assert told["r9"].startswith("none of the lake's runs are meant by annotator four")
    assert set(told) == {"twin", "r1", "r9"}


def test_a_source_id_means_its_run(tmp_path: Path) -> None:
    """Where a run_id is derived, people know the run by what its source calls it."""
    lake = tmp_path / "lake"
    land([SAMPLES / "atif"], lake, workers=1)
    land([write(tmp_path / "a.jsonl", word("desk-7-mail"))], lake)
    runs = query(lake, "SELECT run_id, run_key FROM runs WHERE source_id = 'desk-7-mail'").rows
    assert runs["run_id"].to_list() != ["desk-7-mail"]
    assert said(lake, "run_key") == [(runs["run_key"][0],)]


def test_a_run_exported_anew_keeps_what_was_said(tmp_path: Path, lake: Path) -> None:
    land([write(tmp_path / "a.jsonl", word("r1"))], lake)
    longer = run("r1", call("a"), call("a"), call("c"), task_id="t1", agent="x")
    land([write(tmp_path / "more.jsonl", longer)], lake, workers=1)
    found = query(lake, "SELECT r.n_rows FROM annotations AS a JOIN runs AS r USING (run_key)").rows
    assert found.rows() == [(3,)]


def test_steps_a_run_does_not_have_are_told(tmp_path: Path, lake: Path) -> None:
    file = write(tmp_path / "a.jsonl", word(critical_steps=[7], backtrack_steps=[0, 2]))
    land([file], lake)
    ((subject, detail),) = offenders(lake, "annotated_steps_outside")
    assert (subject, detail) == (
        "r1",
        f"annotator ann at {file}:1 names steps [7, 2]; the run's last is 1",
    )


def test_secrets_are_masked_where_asked(tmp_path: Path, lake: Path) -> None:
    note = {"efficiency": {"note": "used sk-0123456789abcdef"}}
    land([write(tmp_path / "a.jsonl", word(dimensions=note))], lake, redact=True)
    assert said(lake, "efficiency_note") == [("used [redacted]",)]


def test_a_lake_without_annotations_has_the_view(lake: Path) -> None:
    assert said(lake) == []
    assert annotation_columns(lake).is_empty()
    assert annotation_columns(lake).columns == ["run_key", *COLUMNS]


def test_human_scores_are_means_over_annotators_in_force(tmp_path: Path, lake: Path) -> None:
    words = [
        word("r1", "ann", 5, dimensions={"efficiency": 4}),
        word("r1", "ann", 2, dimensions={"efficiency": 3}),
        word("r1", "bo", 3),
        word("r2", "bo", 1, dimensions={"tool_selection": 2}),
        word("r9", "bo", 1),
    ]
    land([write(tmp_path / "a.jsonl", *words)], lake)
    found = annotation_columns(lake)
    assert set(found.dtypes[1:]) == {pl.Float64}
    shown = ("human.overall_quality", "human.efficiency", "human.tool_selection")
    assert found.select(shown).rows() == [(2.5, 3.0, None), (1.0, None, 2.0)]
    keys = query(lake, "SELECT run_key FROM runs WHERE run_id IN ('r1', 'r2') ORDER BY 1").rows
    assert found["run_key"].to_list() == keys["run_key"].to_list()


def test_a_dry_run_counts_and_writes_nothing(tmp_path: Path, lake: Path) -> None:
    report = land([write(tmp_path / "a.jsonl", word(), "{}")], lake, dry_run=True)
    assert (report.annotations, report.rejects.total()) == (1, 1)
    assert Lake.open(lake).annotations() == []


def test_the_sample_lands_beside_its_runs(tmp_path: Path) -> None:
    report = land([SAMPLES / "annotations", SAMPLES / "trajtab"], tmp_path / "lake", workers=1)
    assert (report.annotations, report.rejects.total()) == (16, 0)
    assert offenders(tmp_path / "lake", "annotations_without_run") == []
    assert len(offenders(tmp_path / "lake", "superseded_annotations")) == 1

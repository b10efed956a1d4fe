"""Annotations kept in a spreadsheet: each row lands as the record that it stands for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from making import call, run, write

from pipeline.checks import check
from pipeline.cli.encode import encode
from pipeline.errors import UnrecognisedError
from pipeline.landing.land import land
from pipeline.tables.result import Result
from pipeline.workbench import query

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [
    ("trajectory_id,annotator_id,overall_quality,efficiency,efficiency_note,critical_steps,"
     "backtrack_steps,labels.shift,labels,mood"),
    'r1,ann,4,3,"too slow, and\nit said ""no""",4 6,[],night,"{""n"": 1}",good',
    "r2,ann,2,,,,,,,",
    '007,bob,5,,,"1,2",3,,,',
    ",,,,,,,,,",
]  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    log = write(tmp_path / "log.jsonl", [run(name, call("a")) for name in ("r1", "r2", "007")])
    land([log], tmp_path / "lake", workers=1)
    return tmp_path / "lake"


def said(lake: Path, columns: str) -> list[tuple]:
    return query(lake, f"SELECT {columns} FROM annotations ORDER BY trajectory_id DESC").rows.rows()  # noqa: S608 - columns of these tests


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_row_is_a_record(tmp_path: Path, lake: Path, end: str, mark: str) -> None:
    """Labels in columns of their own, as JSON, and by columns that nobody knows; steps as a list."""
    file = tmp_path / "words.csv"
    file.write_bytes((mark + end.join(ROWS) + end).encode())
    report = land([file], lake)
    assert (report.annotations, report.rejects.total()) == (3, 0)
    assert said(lake, "trajectory_id, annotator_id, overall_quality, efficiency, source_line") == [
        ("r2", "ann", 2, None, 4), ("r1", "ann", 4, 3, 2), ("007", "bob", 5, None, 5),
    ]  # fmt: skip
    assert said(lake, "efficiency_note, critical_steps, backtrack_steps") == [
        (None, None, None), ('too slow, and\nit said "no"', [4, 6], []), (None, [1, 2], [3]),
    ]  # fmt: skip
    (labels,) = [json.loads(found) for (found,) in said(lake, "labels") if found]
    assert labels == {"shift": "night", "n": 1, "mood": "good"}
    assert land([file], lake).annotations == 0
    assert check(lake).rows.filter(check="unmatched_annotations").is_empty()


@pytest.mark.parametrize("separator", [";", "\t"])
def test_what_parts_cells_is_seen(tmp_path: Path, lake: Path, separator: str) -> None:
    rows = [["trajectory_id", "annotator_id", "overall_quality"], ["r1", "a,b", "4.0"]]
    file = tmp_path / "words.tsv"
    file.write_text("\n".join(separator.join(row) for row in rows))
    land([file], lake)
    assert said(lake, "annotator_id, overall_quality") == [("a,b", 4)]


@pytest.mark.parametrize("emptied", [",,", " , ,", ""])
def test_a_row_that_was_emptied_is_none(tmp_path: Path, lake: Path, emptied: str) -> None:
    rows = ["trajectory_id,annotator_id,overall_quality", "r1,ann,4", emptied, "r2,ann,3"]
    (tmp_path / "words.csv").write_text("\n".join(rows) + "\n")
    report = land([tmp_path / "words.csv"], lake)
    assert (report.annotations, report.rejects.total()) == (2, 0)


def test_a_row_that_is_wrong_costs_itself_alone(tmp_path: Path, lake: Path) -> None:
    rows = [
        "trajectory_id,annotator_id,overall_quality,labels,critical_steps", "r1,ann,good,,",
        "r1,ann,9,,", "r1,ann", "r1,ann,4,night,", "r1,ann,4,,first", ",ann,4,,", "r2,ann,3,,",
        'r1,"ann,4,,',
    ]  # fmt: skip
    (tmp_path / "words.csv").write_text("\n".join(rows) + "\n")
    report = land([tmp_path / "words.csv"], lake)
    assert (report.annotations, report.rejects.total()) == (1, 7)
    told = query(lake, "SELECT line, detail FROM rejects ORDER BY line").rows.rows()
    assert [line for line, _ in told] == [2, 3, 4, 5, 6, 7, 9]
    assert "9; a whole number from 1 to 5" in told[1][1]
    assert told[2][1] == "2 cells; there are 5 columns"
    assert "labels is no JSON object" in told[3][1]


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("annotation_time_seconds", "nan"),
        ("annotation_time_seconds", "inf"),
        ("annotation_time_seconds", "1e999"),
        ("annotation_time_seconds", "7" * 5000),
        ("annotation_time_seconds", "1_0"),
        ("efficiency", "nan"),
        ("efficiency", "0_3"),
        ("critical_steps", "7" * 5000),
    ],
)
def test_a_cell_that_is_no_number_is_refused_and_says_where(
    tmp_path: Path, lake: Path, column: str, cell: str
) -> None:
    rows = [
        f"trajectory_id,annotator_id,overall_quality,{column}",
        f"r1,ann,4,{cell}",
        "r2,ann,3,1",
    ]
    (tmp_path / "words.csv").write_text("\n".join(rows) + "\n")
    report = land([tmp_path / "words.csv"], lake)
    assert (report.annotations, report.rejects.total()) == (1, 1)
    ((line, reason, detail),) = query(lake, "SELECT line, reason, detail FROM rejects").rows.rows()
    assert (line, reason) == (2, "wrong_type")
    assert "got `str` - at `$." in detail


def test_what_a_query_wrote_as_csv_lands_again(tmp_path: Path, lake: Path) -> None:
    (tmp_path / "words.csv").write_text("\n".join(ROWS))
    land([tmp_path / "words.csv"], lake)
    asked = "trajectory_id, annotator_id, overall_quality, efficiency, efficiency_note, critical_steps, backtrack_steps, labels"
    before = said(lake, asked)
    rows = query(lake, "FROM annotations").rows
    (tmp_path / "again.csv").write_bytes(encode(Result("sql", rows, []), "csv"))
    log = write(tmp_path / "log2.jsonl", [run(name, call("a")) for name in ("r1", "r2", "007")])
    land([log, tmp_path / "again.csv"], tmp_path / "other", workers=1)
    assert said(tmp_path / "other", asked) == before


def test_another_table_is_told_as_such(tmp_path: Path, lake: Path) -> None:
    (tmp_path / "t.csv").write_text("trajectory_id,score\nr1,4\n")
    with pytest.raises(UnrecognisedError, match="rows of a table"):
        land([tmp_path / "t.csv"], lake)


def test_two_tables_of_the_same_rows_and_other_columns_are_two(tmp_path: Path, lake: Path) -> None:
    for name, column in (("a.csv", "efficiency"), ("b.csv", "tool_selection")):
        text = f"trajectory_id,annotator_id,overall_quality,{column}\nr1,{name[0]},4,3\n"
        (tmp_path / name).write_text(text.replace(",a,", ",ann,").replace(",b,", ",ann,"))
        assert land([tmp_path / name], lake).annotations == 1
    assert said(lake, "efficiency, tool_selection") == [(None, 3)]


def test_a_quote_that_nothing_closes_costs_its_row_alone(tmp_path: Path, lake: Path) -> None:
    """A quote within a cell is a sign as any other: a 5" pipe."""
    rows = [
        "trajectory_id,annotator_id,overall_quality,efficiency_note", 'r1,"ann,4,', 'r1,ann,4,5" pipe',
        'r2,"a,b",3,"two\nlines"', "007,bob,2,",
    ]  # fmt: skip
    (tmp_path / "words.csv").write_text("\n".join(rows))
    report = land([tmp_path / "words.csv"], lake)
    assert (report.annotations, report.rejects.total()) == (3, 1)
    assert said(lake, "annotator_id, efficiency_note, source_line") == [
        ("a,b", "two\nlines", 4), ("ann", '5" pipe', 3), ("bob", None, 6),
    ]  # fmt: skip
    assert query(lake, "SELECT line FROM rejects").rows.rows() == [(2,)]

"""SQL over a lake: the views, what of the lake they show, and the door that stays closed."""

from __future__ import annotations

import io
import json
import sys
from contextlib import chdir, closing
from datetime import UTC, date, datetime

import duckdb
import polars as pl
import pytest
from lakes import final, landed, scored, trajtab
from making import call, run, want

from pipeline.errors import QueryError
from pipeline.lake import Lake
from pipeline.metrics.registry import metrics
from pipeline.policy import DEFAULT
from pipeline.schema import (
    UTC_MICROS,
    Judgments,
    References,
    Rejects,
    Runs,
    ScoreKeys,
    Steps,
    Tasks,
)
from pipeline.scoring import score
from pipeline.workbench import VIEWS, init_script, query, select, session

SEARCH = run("r1", call("search", {"q": "x"}), final(), expected=[want("search", {"q": "x"})])
LONGER = {**SEARCH, "steps": [*SEARCH["steps"][:1], call("book"), final()]}


def answer(lake, text, **parameters):
    return query(lake, text, parameters=parameters).rows.rows()


def types(con):
    """The columns of each view with their types."""
    return {view: [row[:2] for row in con.sql(f"DESCRIBE {view}").fetchall()] for view in VIEWS}


def counts(con):
    return {view: con.view(view).count("*").fetchall()[0][0] for view in VIEWS}


def little(folder):
    return scored(folder, SEARCH, run("r0", final()), "{broken")


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return little(tmp_path_factory.mktemp("lake"))


class TestViews:
    def test_an_empty_lake_has_every_view_with_the_same_types(self, tmp_path, lake):
        empty = Lake.create(tmp_path / "empty")
        with closing(session(empty, DEFAULT)) as con, closing(session(lake, DEFAULT)) as other:
            assert counts(con) == dict.fromkeys(VIEWS, 0)
            assert types(con) == types(other)
            columns = {view: [name for name, _ in found] for view, found in types(con).items()}
        assert columns["runs"] == Runs.names()
        assert columns["steps"] == Steps.names()
        assert columns["calls"] == [
            *(*Steps.names(), "is_backtrack", "is_retry", "in_loop", "expected_position"),
            "output_used",
        ]
        assert columns["tasks"] == Tasks.names()
        assert columns["refs"] == References.names()
        assert columns["rejects"] == Rejects.names()
        assert columns["judgments"] == Judgments.names()
        assert {*ScoreKeys.names(), *metrics(), "run_key"} == set(columns["scores"])

    def test_rows(self, lake):
        with closing(session(lake, DEFAULT)) as con:
            assert counts(con) == {
                "runs": 2, "steps": 3, "calls": 1, "tasks": 0, "refs": 1, "scores": 2, "rejects": 1,
                "annotations": 0,
                "judgments": 0,
            }  # fmt: skip

    def test_enums_compare_and_come_back_as_text(self, lake):
        rows = query(lake, "SELECT kind, args_status FROM steps WHERE kind = 'tool_call'").rows
        assert rows.rows() == [("tool_call", "ok")]
        assert rows.dtypes == [pl.String, pl.String]

    def test_a_replaced_run_is_nowhere(self, tmp_path):
        lake = little(tmp_path)
        landed(tmp_path, LONGER, name="again")
        score(lake)
        assert answer(lake, "SELECT run_id, n_rows FROM runs ORDER BY ALL") == [
            ("r0", 1),
            ("r1", 3),
        ]
        assert answer(lake, "SELECT tool_name FROM calls ORDER BY ALL") == [("book",), ("search",)]
        assert answer(lake, "SELECT count(*) FROM steps") == [(4,)]
        assert answer(lake, "SELECT run_id, n_calls FROM scores ORDER BY ALL") == [
            ("r0", 0),
            ("r1", 2),
        ]

    def test_calls_carry_what_scoring_says_of_them(self, tmp_path):
        lake = landed(
            tmp_path,
            run("r", call("a"), call("b"), call("a"), final(), expected=[want("b")]),
        )
        marks = "SELECT tool_name, is_backtrack, expected_position FROM calls ORDER BY step_index"
        assert answer(lake, marks) == [("a", None, None), ("b", None, None), ("a", None, None)]
        score(lake)
        assert answer(lake, marks) == [("a", False, None), ("b", False, 0), ("a", True, None)]

    def test_the_latest_row_of_a_task_counts(self, tmp_path):
        for number, prompt in enumerate(["old", "new"]):
            landed(
                tmp_path,
                {"task_id": "t", "suite": "s", "prompt": prompt},
                {"task_id": "t", "prompt": f"no suite {prompt}"},
                form="tasks",
                name=f"tasks{number}",
            )
        lake = Lake.open(tmp_path / "lake")
        expected = [("s", "new"), (None, "no suite new")]
        assert answer(lake, "SELECT suite, prompt FROM tasks ORDER BY suite") == expected

    def test_scores_are_those_of_the_policy(self, tmp_path):
        lake = little(tmp_path)
        policy = tmp_path / "names.toml"
        policy.write_text('[match]\nargs = "names"\n')
        count = "SELECT count(*) FROM scores"
        assert query(lake, count, policy=str(policy)).rows.item() == 0
        score(lake, policy=str(policy))
        assert query(lake, count, policy=str(policy)).rows.item() == 2

    def test_notes_name_the_policy_where_scores_are_read(self, tmp_path):
        lake = landed(tmp_path, SEARCH)
        assert query(lake, "FROM runs").notes == []
        policy, unscored = query(lake, "FROM scores").notes
        assert DEFAULT.title in policy
        assert "1 of 1 batch is" in unscored

    def test_macros_are_installed(self, lake):
        assert answer(lake, "SELECT in_order(['a', 'b'], ['a', 'x'])") == [(0.5,)]

    def test_only_the_columns_and_rows_asked_for_are_read(self, lake):
        with closing(session(lake, DEFAULT)) as con:
            explain = con.sql("EXPLAIN SELECT tool_name FROM steps WHERE kind = 'tool_call'")
            plan = explain.fetchall()[0][1]
        assert "Filters: \"kind\" = 'tool_call'" in plan
        assert "output" not in plan


class TestAnswers:
    def test_parameters(self, lake):
        text = "SELECT run_id FROM runs WHERE run_id = $id AND n_rows > $n::INT"
        assert answer(lake, text, id="r1", n="1") == [("r1",)]
        with pytest.raises(QueryError, match="id"):
            query(lake, text, parameters={"n": "1"})

    @pytest.mark.parametrize(
        ("sql", "value", "dtype"),
        [
            ("INTERVAL 90 MINUTE", "01:30:00", pl.String),
            ("sum(n)", 3, pl.Int64),
            ("170141183460469231731687303715884105727", 2**127 - 1, pl.Int128),
            ("1.25", 1.25, pl.Float64),
            ("avg(n)", 1.0, pl.Float64),
            ("MAP {'a': 1}", '{"a":1}', pl.String),
            ("[INTERVAL 1 DAY]", '["1 day"]', pl.String),
            ("{'a': ['x'::ENUM ('x', 'y')]}", '{"a":["x"]}', pl.String),
            ("'x'::ENUM ('x', 'y')", "x", pl.String),
            ("'infinity'::TIMESTAMP", "infinity", pl.String),
            ("TIMESTAMPTZ '290000-01-01 00:00:00+00'", "290000-01-01 00:00:00+00", pl.String),
            ("DATE '10000-01-01'", "10000-01-01", pl.String),
            ("DATE '9999-12-31'", date(9999, 12, 31), pl.Date),
            ("TIMESTAMPTZ '0001-01-01 00:00:00+00'", datetime(1, 1, 1, tzinfo=UTC), UTC_MICROS),
            ("[1, 2]", [1, 2], pl.List(pl.Int32)),
            ("{'a': 1}", {"a": 1}, pl.Struct({"a": pl.Int32})),
        ],
    )
    def test_values_come_back_plain(self, lake, sql, value, dtype):
        rows = query(lake, f"SELECT {sql} AS v FROM range(3) AS t(n)  -- done").rows.head(1)  # noqa: S608 - our own
        assert (rows["v"].to_list(), rows["v"].dtype) == ([value], dtype)

    def test_columns_of_one_name_stay_apart(self, lake):
        assert query(lake, "SELECT 1 AS a, 2 AS a").rows.to_dicts() == [{"a": 1, "a_1": 2}]

    def test_refusals_are_one_sentence_with_a_hint(self, lake):
        with pytest.raises(QueryError) as refused:
            query(lake, "SELECT *\nFROM rnus")
        assert str(refused.value) == (
            'Catalog Error: Table with name rnus does not exist! Did you mean "runs"?'
        )


OUTSIDE = [
    "FROM read_csv('/etc/passwd')",
    "FROM read_text('/etc/passwd')",
    "FROM read_blob('{lake}/lake.json')",
    "FROM read_json('{lake}/lake.json')",
    "FROM '{file}'",
    "FROM read_parquet('{file}')",
    "FROM parquet_metadata('{file}')",
    "FROM glob('{lake}/*')",
    "FROM sniff_csv('/etc/passwd')",
    "FROM read_csv('/dev/stdin')",
    "FROM read_json('http://127.0.0.1:9/x')",
    "SELECT getenv('HOME')",
    "FROM duckdb_secrets()",
    "FROM enable_logging(storage = 'file', storage_path = 'log')",
    "WITH a AS (COPY (SELECT 1) TO 'out.csv') SELECT 1",
    "WITH a AS (COPY (SELECT 1) TO '.tmp/out.csv') SELECT 1",
    "WITH a AS (COPY (SELECT 1) TO '{lake}/out.csv') SELECT 1",
    "WITH a AS (COPY (SELECT 1) TO '/dev/stdout') SELECT 1",
    "WITH a AS (COPY landed_runs FROM 'x.csv') SELECT 1",
    "WITH a AS (INSERT INTO runs SELECT * FROM runs RETURNING *) FROM a",
    "WITH a AS (DELETE FROM runs RETURNING *) FROM a",
    "FROM query('CREATE TABLE t (a INT)')",
    "FROM python_map_function(1)",
    "FROM somewhere",
]

NOT_SELECT = [
    "ATTACH '/tmp/x.db'",
    "ATTACH ':memory:' AS other",
    "SET threads = 1",
    "SET GLOBAL enable_external_access = true",
    "RESET lock_configuration",
    "PRAGMA version",
    "CALL pragma_version()",
    "EXPLAIN SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "COPY runs TO 'out.csv'",
    "CREATE TABLE t (a INT)",
    "CREATE OR REPLACE VIEW runs AS SELECT 1",
    "INSERT INTO runs SELECT * FROM runs",
    "UPDATE runs SET run_id = 'x'",
    "DROP VIEW runs",
    "INSTALL httpfs",
    "LOAD httpfs",
    "EXPORT DATABASE 'out'",
    "BEGIN TRANSACTION",
    "CHECKPOINT",
    "PREPARE p AS SELECT 1",
    "VACUUM",
    "USE memory",
    "PIVOT steps ON kind USING count(*)",
]

NOT_ONE = ["", ";", "-- nothing", "SELECT 1; SELECT 2", "FROM runs; SET threads = 1"]


@pytest.fixture(scope="class")
def con(lake, tmp_path_factory):
    """A session that works where DuckDB's own temporary directory would be."""
    here = tmp_path_factory.mktemp("here")
    (here / ".tmp").mkdir()
    with chdir(here), closing(session(lake, DEFAULT)) as con:
        yield con
    assert [path.name for path in here.rglob("*")] == [".tmp"]


class TestClosedDoor:
    @pytest.mark.parametrize("text", OUTSIDE)
    def test_nothing_outside_the_lake_is_read_or_written(self, lake, con, text):
        somewhere = pl.DataFrame({"secret": [1]})
        before = sorted(lake.path.rglob("*"))
        file = lake.batches()[0].file("runs")
        with pytest.raises(QueryError):
            select(con, text.format(lake=lake.path, file=file))
        assert sorted(lake.path.rglob("*")) == before
        assert somewhere.height == 1

    @pytest.mark.parametrize("text", NOT_SELECT)
    def test_only_select_runs(self, con, text):
        with pytest.raises(QueryError, match=r"only SELECT|PIVOT needs its values"):
            select(con, text)

    @pytest.mark.parametrize("text", NOT_ONE)
    def test_one_statement(self, con, text):
        with pytest.raises(QueryError, match="one SELECT statement"):
            select(con, text)

    @pytest.mark.parametrize("end", [";", "; -- é;", ";; /* ; */", "-- ;\n; -- and so on\n;", ""])
    def test_what_stands_behind_it_is_no_part_of_it(self, con, end):
        assert select(con, f"-- ;é\nSELECT 'é;' AS ok {end}").rows() == [("é;",)]

    def test_pivot_with_its_values_is_a_select(self, lake):
        text = "SELECT tool_call FROM (PIVOT steps ON kind IN ('tool_call') USING count(*) GROUP BY run_id) ORDER BY ALL"
        assert answer(lake, text) == [(0,), (1,)]

    def test_no_directory_is_allowed_and_the_configuration_is_locked(self, lake):
        settings = dict(
            answer(
                lake,
                "SELECT name, value FROM duckdb_settings() WHERE name IN ('allowed_directories', "
                "'allowed_paths', 'enable_external_access', 'lock_configuration')",
            )
        )
        assert settings == {
            "allowed_directories": "[]",
            "allowed_paths": "[]",
            "enable_external_access": "false",
            "lock_configuration": "true",
        }


class TestInitScript:
    @pytest.mark.parametrize("name", ["plain", "it's p=1", "two\nlines"])
    def test_a_shell_sees_what_the_session_sees(self, tmp_path, name):
        folder = tmp_path / name
        folder.mkdir()
        lake = little(folder)
        landed(folder, LONGER, name="again")
        landed(folder, {"task_id": "t", "prompt": "old"}, form="tasks", name="t1")
        landed(folder, {"task_id": "t", "prompt": "new"}, form="tasks", name="t2")
        score(lake)
        script = init_script(lake)
        with closing(duckdb.connect()) as con:
            con.execute(script)
            con.execute(script)  # a shell may start with it more than once
            assert counts(con) == {
                "runs": 2, "steps": 4, "calls": 2, "tasks": 1, "refs": 1, "scores": 2, "rejects": 1,
                "annotations": 0,
                "judgments": 0,
            }  # fmt: skip
            assert con.sql("SELECT prompt FROM tasks").fetchall() == [("new",)]
            assert con.sql("SELECT recall(['a'], ['a'])").fetchall() == [(1.0,)]
            with closing(session(lake, DEFAULT)) as confined:
                assert types(con) == types(confined)

    def test_signs_of_globs_in_a_path_stand_for_themselves(self, tmp_path):
        for name in ("a[b]*?", "ab", "a[b]xx"):
            (tmp_path / name).mkdir()
            lake = landed(tmp_path / name, SEARCH)
        with closing(duckdb.connect()) as con:
            con.execute(init_script(tmp_path / "a[b]*?" / "lake"))
            assert counts(con)["runs"] == 1
        assert answer(lake, "SELECT count(*) FROM runs") == [(1,)]

    def test_an_empty_lake(self, tmp_path):
        lake = Lake.create(tmp_path / "lake")
        with closing(duckdb.connect()) as con:
            con.execute(init_script(lake))
            assert set(counts(con).values()) == {0}

    def test_it_says_that_the_shell_is_not_confined(self, lake):
        head = init_script(lake).split("\n\n")[0]
        assert "not confined" in head
        assert all(line.startswith("--") for line in head.splitlines())


class TestCommand:
    def test_query(self, lake, capsys):
        assert trajtab("sql", lake.path, "SELECT 1 AS a", "--format", "json") == 0
        assert json.loads(capsys.readouterr().out) == {
            "kind": "sql",
            "rows": [{"a": 1}],
            "notes": [],
        }

    def test_query_from_stdin_with_parameters(self, lake, capsys, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT $a::INT + 1 AS b, $c AS c"))
        args = ("sql", lake.path, "-", "--param", "a=2", "--param", "c=x=y", "--format", "csv")
        assert trajtab(*args) == 0
        assert capsys.readouterr().out == "b,c\n3,x=y\n"

    def test_no_query_and_no_terminal(self, lake, capsys, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        assert trajtab("sql", lake.path) == 2
        assert "no QUERY given" in capsys.readouterr().err

    def test_a_refused_statement_is_an_input_error(self, lake, capsys):
        assert trajtab("sql", lake.path, "SET threads = 1", "--format", "json") == 2
        assert json.loads(capsys.readouterr().out)["error"]["kind"] == "query"

    def test_init(self, lake, capsys):
        assert trajtab("sql", lake.path, "--init") == 0
        assert capsys.readouterr().out == init_script(lake)
        assert trajtab("sql", lake.path, "FROM runs", "--init") == 2

    def test_many_rows_are_cut_for_reading_only(self, lake, capsys):
        text = "SELECT range AS n FROM range(1500)"
        assert trajtab("sql", lake.path, text) == 0
        shown = capsys.readouterr()
        assert len(shown.out.splitlines()) == 1002
        assert "first 1,000 of 1,500 rows" in shown.err
        assert trajtab("sql", lake.path, text, "--format", "csv") == 0
        assert len(capsys.readouterr().out.splitlines()) == 1501

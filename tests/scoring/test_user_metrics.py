"""A policy's own metrics: values, names, tables, and what their SQL may not do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from making import call, run, want
from scoring.judging import add, scored

from pipeline.errors import InputError, UnknownNameError
from pipeline.lake import Lake
from pipeline.metrics.registry import chosen, get, headline, metrics, metrics_for
from pipeline.policy import Policy, UserMetric, load
from pipeline.score_columns import scores_schema
from pipeline.score_view import score_session
from pipeline.tables.aggregate import aggregate
from pipeline.tables.percentiles import percentiles
from pipeline.tables.scores import scores

if TYPE_CHECKING:
    from pathlib import Path


def metric(name: str, sql: str, direction: str = "higher") -> str:
    return f'[[metric]]\nname = "{name}"\nsql = """{sql}"""\ndirection = "{direction}"\n'


def values(folder: Path, sql: str) -> list[float | None]:
    """Return a metric of three runs: 2 calls and a final, 1 call, nothing at all."""
    add(
        folder / "lake",
        "trajtab",
        run(
            "a",
            call("x"),
            call("y"),
            {"kind": "final"},
            expected=[want("x")],
            reward=0.25,
            completed=True,
        ),
        run("b", call("x"), expected=[want("x")], labels={"tier": "7"}),
        run("c", status="error"),
    )
    rows = scored(folder / "lake", metric("mine", sql))
    assert rows.schema["mine"] == pl.Float64
    return rows["mine"].to_list()


@pytest.mark.parametrize(
    ("sql", "right"),
    [
        ("n_calls * 2", [4.0, 2.0, 0.0]),
        ("precision", [0.5, 1.0, None]),
        ("n_steps / n_calls", [1.5, 1.0, None]),  # 0 / 0 is not a number
        ("1 / (n_calls - 1)", [1.0, None, -1.0]),  # 1 / 0 is infinite
        ("n_calls > 1", [1.0, 0.0, 0.0]),
        ("CASE WHEN run_status = 'error' THEN 1 END", [None, None, 1.0]),
        ("CASE status WHEN 'scored' THEN 3 ELSE 0 END", [3.0, 3.0, 0.0]),
        ("reward", [0.25, None, None]),
        ("COMPLETED::INT", [1.0, None, None]),  # a run column that scores do not have
        ("(labels->>'tier')::INT", [None, 7.0, None]),
        ("n_calls -- calls", [2.0, 1.0, 0.0]),
        ("in_order(['a'], ['a'])", [1.0, 1.0, 1.0]),
        ("2::HUGEINT ** 70", [2.0**70] * 3),
    ],
)
def test_values(tmp_path: Path, sql: str, right: list[float | None]) -> None:
    assert values(tmp_path, sql) == right


def test_columns_come_after_the_built_in_ones(tmp_path: Path) -> None:
    add(tmp_path / "lake", "trajtab", run("a"))
    rows = scored(tmp_path / "lake", metric("zeta", "1") + metric("alpha", "2"))
    assert rows.columns[-3:] == ["zeta", "alpha", "run_key"]
    assert rows.columns[:-3] == scores_schema().names()[:-1]
    assert rows.select("zeta", "alpha").row(0) == (1.0, 2.0)


def test_tables_take_them_by_name(tmp_path: Path) -> None:
    """Means of 0, 1 and 2 calls doubled, from the file that names the policy."""
    lake, file = tmp_path / "lake", str(tmp_path / "policy.toml")
    add(lake, "trajtab", *(run(f"r{n}", *[call("x")] * n) for n in range(3)))
    scored(lake, metric("mine", "2 * n_calls"))
    (row,) = aggregate(lake, metrics=["mine"], policy=file).rows.to_dicts()
    assert (row["n_scored"], row["mean"], row["micro"], row["max"]) == (3, 2.0, None, 4.0)
    assert "mine" in aggregate(lake, policy=file).rows["metric"]
    assert percentiles(lake, metrics=["mine"], policy=file).rows["p75"].item() == 3.0
    found = scores(lake, columns=["run_id", "mine"], sort="-mine", limit=1, policy=file)
    assert found.rows.rows() == [("r2", 4.0)]


def test_an_unscored_lake_has_the_columns(tmp_path: Path) -> None:
    add(tmp_path / "lake", "trajtab", run("a"))
    con, _ = score_session(Lake.open(tmp_path / "lake"), policy("mine"))
    assert con.sql("SELECT mine FROM scores").fetchall() == []


def policy(*names: str) -> Policy:
    return Policy(metric=[UserMetric(name=name, sql="1", direction="lower") for name in names])


def test_the_registry_knows_them() -> None:
    """They have a direction, no range, and are shown when no metric is named."""
    mine = get("mine", policy("mine"))
    assert (mine.better, mine.kind, mine.low, mine.high) == ("lower", "amount", None, None)
    assert [m.name for m in chosen(["f1", "mine"], policy("mine"))] == ["f1", "mine"]
    assert headline(policy("mine")) == [*headline(), "mine"]
    assert chosen(["all"], policy("mine"))[-1].name == "mine"
    assert list(metrics_for(policy("mine"))) == [*metrics(), "mine"]
    with pytest.raises(UnknownNameError):
        get("mine")


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["f1"], "has that name"),
        (["F1"], "has that name"),
        (["violations"], "has that name"),
        (["run_key"], "has that name"),
        (["agent"], "has that name"),
        (["reward"], "has that name"),
        (["n"], "has that name"),
        (["group_id"], "has that name"),
        (["in_baseline"], "has that name"),
        (["n_total"], "has that name"),
        (["task"], "has that name"),
        (["mine", "Mine"], "has that name"),
        (["my metric"], "no identifier"),
        (["1st"], "no identifier"),
        (["naïve"], "no identifier"),
        (['x" FROM y --'], "no identifier"),
        (["x\n"], "no identifier"),
        *(
            ([name], "a word of SQL")
            for name in (
                "all",
                "ALL",
                "order",
                "end",
                "left",
                "by",
                "null",
                "true",
                "default",
                "rowid",
            )
        ),
    ],
)
def test_names_that_cannot_be(names: list[str], why: str) -> None:
    with pytest.raises(InputError, match=f"(?s)metric .*{why}"):
        metrics_for(policy(*names))


def test_a_word_that_sql_uses_only_in_its_place_is_a_name(tmp_path: Path) -> None:
    """Words of calendars, of types, of our own options and columns of tables."""
    names = ["date", "week", "values", "interval", "mean", "metric", "bucket", "headline"]
    add(tmp_path / "lake", "trajtab", *(run(f"r{n}", *[call("x")] * n) for n in range(3)))
    scored(tmp_path / "lake", "".join(metric(name, "n_calls + 1") for name in names))
    file = str(tmp_path / "policy.toml")
    means = aggregate(tmp_path / "lake", metrics=names, by=["agent"], policy=file).rows
    assert means["mean"].to_list() == [2.0] * len(names)
    for name in names:
        found = scores(tmp_path / "lake", where=f"{name} > 2", columns=[name], policy=file)
        assert found.rows.rows() == [(3.0,)]


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("nowhere + 1", "nowhere"),
        ("n_calls +", "syntax error"),
        ("n_calls, n_steps", "single expression"),
        ("1; DROP TABLE scores", "more than one statement"),
        ("1) FROM read_csv('/etc/hostname') --", "syntax error"),
        ("(SELECT content FROM read_text('/etc/hostname'))", "disabled by configuration"),
        ("(SELECT max(f1) FROM scores)", "scores does not exist"),
        ("sum(n_calls)", "aggregates"),
        ("sum(n_calls) OVER ()", "window functions"),
        ("unnest([1, 2])", "UNNEST"),
        ("COLUMNS('^n_')", "one value is needed"),
        ("'abc'", "Could not convert"),
        ("agent", "Could not convert"),
        ("1 // n_tools", "Division by zero"),
        ("labels", "Could not convert"),
    ],
)
def test_hostile_and_broken_sql(tmp_path: Path, sql: str, why: str) -> None:
    add(tmp_path / "lake", "trajtab", run("a", agent="smith", labels={"k": "v"}))
    with pytest.raises(InputError, match=f"metric 'mine': .*{why}"):
        scored(tmp_path / "lake", metric("mine", sql))
    assert not list((tmp_path / "lake").glob("scores/*/*"))


def test_the_error_is_one_line(tmp_path: Path) -> None:
    add(tmp_path / "lake", "trajtab", run("a"))
    with pytest.raises(InputError) as caught:
        scored(tmp_path / "lake", metric("mine", "nowhere"))
    assert "\n" not in str(caught.value)


def test_scores_do_not_depend_on_the_batch(tmp_path: Path) -> None:
    """Rows stay with their run, in a batch larger than DuckDB's vectors and row groups."""
    lake = tmp_path / "lake"
    add(lake, "trajtab", *(run(f"{i:05}", *[call("x")] * (i % 3)) for i in range(5000)))
    rows = scored(lake, metric("mine", "run_id::INT * 10 + n_calls"))
    assert rows["mine"].to_list() == [float(i * 10 + i % 3) for i in range(5000)]


def test_a_policy_file_is_enough(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(metric("mine", "n_calls", "lower"))
    assert get("mine", load(str(file))).formula == "n_calls"


def test_they_have_what_they_read_scored(tmp_path: Path) -> None:
    """2 of 3 expected calls, in other order; `[scores]` names neither metric that they read."""
    made = run("a", call("y"), call("x"), expected=[want("x"), want("y"), want("z")])
    add(tmp_path / "lake", "trajtab", made)
    only = '[scores]\nmetrics = ["error_rate"]\n'
    rows = scored(tmp_path / "lake", only + metric("mine", "Recall + in_order"))
    assert rows["mine"].to_list() == [pytest.approx(2 / 3 + 1 / 3)]


def test_scores_may_name_them(tmp_path: Path) -> None:
    add(tmp_path / "lake", "trajtab", run("a", call("x"), expected=[want("x")]))
    file = tmp_path / "policy.toml"
    own = metric("mine", "n_calls") + metric("mean_of", "n_calls / 2") + metric("other", "f1")
    for patterns, shown in (
        ('"mine", "f1"', ["mine", "f1", "mean_of", "other"]),
        ('"m*e"', ["mine", "mean_of", "other"]),
        ('"recall", "other"', ["recall", "other", "mine", "mean_of"]),
    ):
        file.write_text(f"[scores]\nmetrics = [{patterns}]\n{own}")
        assert headline(load(str(file))) == shown
    assert scored(tmp_path / "lake", file.read_text())["mean_of"].to_list() == [0.5]
    file.write_text(f'[scores]\nmetrics = ["mien"]\n{own}')
    with pytest.raises(UnknownNameError, match="'mien'; did you mean 'mine'"):
        load(str(file))

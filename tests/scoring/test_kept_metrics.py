"""`[scores]`: a policy that names metrics scores these alone, and scores them as if it scored all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lakes import final, landed, trajtab
from making import call, run, scores_of, want
from rich_lake import rich_lake
from scoring.drawing import any_arguments, captured_or_not, cases, few, made, wanted
from scoring.ruling import FEW, Case, judged

from pipeline import aggregate, compare, diff, percentiles, query, scan_scores, scores, show
from pipeline.current import tasks_of
from pipeline.errors import InputError, UnknownNameError
from pipeline.lake import Lake
from pipeline.metrics.causes import causes
from pipeline.metrics.kept import kept
from pipeline.metrics.registry import metrics
from pipeline.policy import DEFAULT, load, parse
from pipeline.sample import example
from pipeline.schema import ScoreKeys
from pipeline.scoring import score
from pipeline.scoring.batch import run_columns, score_batch, step_columns
from pipeline.tasks import TaskFolders

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.policy import Policy
    from pipeline.scoring.batch import Scored

NAMED = ["f1", "error_rate"]
KEPT = ["precision", "recall", "f1", "tp", "error_rate", "n_errors"]


READING = {
    "path": {"output_used": True},
    "errors": {"patterns": ["found"]},
    "backtracking": {"similarity": 0.9, "exempt": ["b*"], "abandon_patterns": ["give up"]},
}
"""What reads texts: of tools, arguments, outputs and models."""


def policy(names: list[str], *, calls: bool = True, **more: Any) -> Policy:
    return parse({**more, "scores": {"metrics": names, "calls": calls}}, "here")


def toml(folder: Path, names: list[str], *, calls: bool = True) -> str:
    file = folder / "kept.toml"
    file.write_text(f"[scores]\nmetrics = {json.dumps(names)}\ncalls = {json.dumps(calls)}\n")
    return str(file)


def each_batch(lake: Lake, rules: Policy) -> list[Scored]:
    known = TaskFolders.of(lake)
    return [
        score_batch(known, b, tasks_of(b, known.latest), rules)
        for b in lake.batches()
        if b.rows("runs")
    ]


names = st.lists(st.sampled_from(list(metrics())), min_size=1, max_size=6, unique=True)
matches = st.fixed_dictionaries(
    {},
    optional={
        "args": st.sampled_from(["names", "actual_has_expected"]),
        "unit": st.just("turn"),
        "parallel": st.just("unordered"),
    },
)


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return rich_lake(tmp_path_factory.mktemp("rich"))


@FEW
@given(names, st.booleans(), matches)
def test_what_is_kept_is_as_if_all_were_scored(
    rich: Lake, names: list[str], calls: bool, match: dict[str, str]
) -> None:
    more = {"match": match, "invariants": {"max_calls": 1}, **READING}
    every = each_batch(rich, parse(more, "here"))
    some = each_batch(rich, policy(names, calls=calls, **more))
    for found, whole in zip(some, every, strict=True):
        assert {*names} <= {*found.scores.columns}
        assert found.scores.equals(whole.scores.select(found.scores.columns), null_equal=True)
        assert found.calls.equals(whole.calls if calls else whole.calls.clear(), null_equal=True)


@FEW
@given(
    cases(wanted(few | any_arguments, optional=True), made(few | captured_or_not), 5),
    names,
    st.booleans(),
)
def test_any_case_under_any_choice(drawn: list[Case], names: list[str], calls: bool) -> None:
    whole = judged({}, drawn)
    some = judged({"scores": {"metrics": names, "calls": calls}}, drawn)
    written = {"status", *kept(metrics(), names)}
    for found, right in zip(some, whole, strict=True):
        assert {name: found[name] for name in written} == {name: right[name] for name in written}


@pytest.mark.parametrize("args", ["exact", "names", "actual_has_expected"])
def test_each_metric_alone_is_what_it_is_among_all(tmp_path: Path, args: str) -> None:
    """What it counts is counted, and nothing else need be."""
    calls = [call("a", {"x": 1}), call("b"), call("a", {"x": 2}), call("a", {"x": 2})]
    lake = landed(tmp_path, run("r", *calls, expected=[want("b"), want("a", {"x": 2}), want("c")]))
    more: dict[str, Any] = {"match": {"args": args}}
    (every,) = each_batch(lake, parse(more, "here"))
    compared = [name for name, one in metrics().items() if one.family in ("ordered", "overlap")]
    found = {
        name: each_batch(lake, policy([name], calls=False, **more))[0].scores[name].item()
        for name in compared
    }
    assert found == every.scores.select(compared).row(0, named=True)


def test_alternatives_are_chosen_by_what_is_not_kept(tmp_path: Path) -> None:
    """The second reference is met exactly; nobody asks for exact_match."""
    references = [[want("a"), want("b"), want("c")], [want("a", {"x": 1})]]
    lake = landed(tmp_path, run("r", call("a", {"x": 1}), expected=references))
    rules = toml(tmp_path, ["n_missing"], calls=False)
    score(lake, policy=rules)
    row = scores_of(lake.path, rules).row(0, named=True)
    assert (row["reference_id"], row["n_expected"], row["n_missing"]) == (1, 1, 0)


def test_what_is_written_and_what_tables_need(tmp_path: Path) -> None:
    """f1 is pooled from tp, n_expected and n_calls; error_rate from n_errors and n_calls."""
    lake = landed(tmp_path, run("r", call("a", {}), final()))
    score(lake, policy=toml(tmp_path, NAMED))
    (file,) = lake.path.glob("scores/*/*/scores.parquet")
    assert pl.read_parquet(file).columns == [
        *ScoreKeys.names(), "f1", "tp", "error_rate", "n_errors", "n_calls", "n_expected", "run_key",
    ]  # fmt: skip


@pytest.mark.parametrize("name", [name for name, m in metrics().items() if m.kind != "text"])
def test_the_reasons_of_nulls_can_be_told(name: str) -> None:
    written = {*kept(metrics(), [name]), *ScoreKeys.names()}
    words = " ".join(condition for _, condition in causes(metrics()[name]))
    told = {word for word in words.replace("(", " ").split() if word in metrics()}
    assert told <= written


def test_less_is_read() -> None:
    few = policy(["exact_match"], calls=False)
    assert set(step_columns(few)) == {"kind", "call_key", "name_key"}
    assert set(step_columns(few)) < set(step_columns(DEFAULT))
    assert set(run_columns(DEFAULT)) - set(run_columns(few)) == {"ended_at", "completed"}
    assert "input_tokens" in step_columns(policy(["total_tokens"]))


def test_texts_are_read_only_for_what_rests_on_them() -> None:
    texts = {"tool_name", "tool_args", "output", "content"}
    found = {
        name: texts & {*step_columns(policy([name], calls=False, **READING))}
        for name in ("f1", "error_rate", "backtracking_rate", "abandonments", "output_used_rate")
    }
    assert found == {
        "f1": set(),
        "error_rate": {"output"},
        "backtracking_rate": {"output", "tool_name", "tool_args"},
        "abandonments": {"content"},
        "output_used_rate": {"tool_args", "output", "content"},
    }
    assert texts <= {*step_columns(policy(["f1"], **READING))}


def test_tables_show_what_is_named(rich: Lake, tmp_path: Path) -> None:
    rules = toml(tmp_path, NAMED, calls=False)
    score(rich, policy=rules)
    for table in (aggregate, percentiles):
        few, every = table(rich, policy=rules), table(rich, metrics=NAMED)
        assert few.rows["metric"].to_list() == NAMED
        assert few.rows.equals(every.rows, null_equal=True)
        assert [note for note in few.notes if note.startswith("null")] == [
            note for note in every.notes if note.startswith("null")
        ]
    arms = {"baseline": "agent_version = 'v1'", "candidate": "agent_version = 'v2'"}
    found = compare(rich, **arms, policy=rules)
    assert found.rows["metric"].to_list() == NAMED
    assert found.rows.equals(compare(rich, **arms, metrics=NAMED).rows, null_equal=True)
    shown = scores(rich, policy=rules).rows
    assert [c for c in shown.columns if c in metrics() and c != "success"] == [
        "f1", "tp", "error_rate", "n_errors", "n_calls", "n_expected",
    ]  # fmt: skip


def test_what_is_not_kept_is_named_not_null(rich: Lake, tmp_path: Path) -> None:
    rules = toml(tmp_path, NAMED)
    score(rich, policy=rules)
    for table in (aggregate, percentiles):
        with pytest.raises(InputError, match=r"'lcs' is not scored .* f1, error_rate: add it"):
            table(rich, metrics=["lcs"], policy=rules)
    with pytest.raises(UnknownNameError, match="f2"):
        aggregate(rich, metrics=["f2"], policy=rules)
    for asked in ({"columns": ["run_id", "lcs"]}, {"sort": "-lcs"}, {"sort": "lcs"}):
        with pytest.raises(InputError, match=r"'lcs' is not scored .* f1, error_rate: add it"):
            scores(rich, policy=rules, **asked)


def test_queries_find_every_column(rich: Lake, tmp_path: Path) -> None:
    rules = toml(tmp_path, NAMED, calls=False)
    score(rich, policy=rules)
    told = "SELECT count(*) AS n, count(f1) > 0 AS known, count(lcs) AS unscored FROM scores"
    assert query(rich, told, policy=rules).rows.row(0) == (38, True, 0)
    lazy = scan_scores(rich, policy=rules)
    assert lazy.collect_schema() == scan_scores(rich).collect_schema()
    assert lazy.select(pl.col("lcs").count(), pl.col("f1").count()).collect().row(0)[0] == 0
    marks = "SELECT count(*), count(is_backtrack) FROM calls"
    n_calls, marked = query(rich, marks, policy=rules).rows.row(0)
    assert n_calls > 0
    assert marked == 0


def test_a_run_is_shown_and_explained(tmp_path: Path) -> None:
    lake = landed(tmp_path, run("r", call("a", {}), expected=[want("a", {})]))
    rules = toml(tmp_path, NAMED, calls=False)
    score(lake, policy=rules)
    assert show(lake, "r", policy=rules)
    assert diff(lake, "r", policy=rules)
    assert trajtab("diff", lake.path, "r", "--metric", "f1", "--policy", rules) == 0
    assert trajtab("diff", lake.path, "r", "--metric", "lcs", "--policy", rules) == 2
    assert trajtab("report", lake.path, "--policy", rules, "-o", tmp_path / "r.html") == 0


def test_a_name_nobody_knows_is_refused_before_anything_is_read() -> None:
    with pytest.raises(UnknownNameError, match=r"metric 'f1_nmes'.*did you mean.*f1_names"):
        policy(["f1_nmes"])
    with pytest.raises(UnknownNameError, match=r"here: unknown key scores.metric|'scores.metric'"):
        parse({"scores": {"metric": ["f1"]}}, "here")


def test_headers_say_what_alone_is_scored() -> None:
    assert "; only f1, error_rate [" in policy(NAMED).title
    assert "; only 23 metrics [" in load("preset:core").title
    assert "only" not in DEFAULT.title


def test_policies_of_other_metrics_lie_side_by_side(tmp_path: Path) -> None:
    lake = landed(tmp_path, run("r", call("a", {}), expected=[want("a", {})]))
    rules = toml(tmp_path, NAMED)
    assert policy(NAMED).hash != policy(["f1"]).hash != DEFAULT.hash
    assert (score(lake).runs, score(lake, policy=rules).runs, score(lake).already) == (1, 1, 1)
    assert aggregate(lake).rows.height > aggregate(lake, policy=rules).rows.height == 2


def test_the_preset_core() -> None:
    lake = Lake.open(example())
    assert score(lake, policy="preset:core").batches in (0, 1)
    core = aggregate(lake, policy="preset:core").rows.filter(
        ~pl.col("metric").str.contains(".", literal=True)
    )
    assert core.height == 23
    every = aggregate(lake, metrics=core["metric"].to_list()).rows
    assert core.equals(every, null_equal=True)

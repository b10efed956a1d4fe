"""Answers into the lake, and from there into every table."""

from __future__ import annotations

import json
from contextlib import closing

import duckdb
import pytest
from judge.asking import (
    NAME,
    anthropic,
    column,
    land,
    lines,
    little,
    no,
    openai,
    prepared,
    write_lines,
    yes,
)
from judge.serving import Server, answer, serving
from lakes import final, landed
from making import call, run, scores_of

import pipeline
from pipeline import judge
from pipeline.checks import check
from pipeline.errors import InputError, SourceNotFoundError, UnknownNameError
from pipeline.judge import Form
from pipeline.opinions import opinions
from pipeline.opinions.judged import judged_columns, judgments
from pipeline.policy import DEFAULT
from pipeline.report.html import report
from pipeline.schema import Judgments
from pipeline.scoring import score
from pipeline.testing import assert_no_regression
from pipeline.workbench import init_script, query, session

ARMS = {"baseline": "agent_version = 'v1'", "candidate": "agent_version = 'v2'"}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A judge that finds v2's bookings of t2 and t3 irrelevant."""

    def script(body, _attempt):
        step = body["messages"][1]["content"].rpartition(" BEGIN step>>>")[2]
        return 200, answer(json.dumps({"reason": "", "relevant": '"id":"v2"' not in step})), {}

    tmp_path = tmp_path_factory.mktemp("judged")
    lake = little(tmp_path)
    prepared(lake, tmp_path)
    with serving(Server(script)) as server:
        judge.run(tmp_path / "requests.jsonl", tmp_path / "responses.jsonl", url=server.url)
        assert server.answered.total() == 10  # of 12 calls two stand for two each
    result = judge.land([tmp_path / "responses.jsonl"], lake)
    assert result.rows.select("rubric", "n_answers", "n_scored", "n_runs", "n_judged").rows() == [
        ("tool_relevance", 10, 10, 6, 12)
    ]
    return lake


class TestRoundTrip:
    """Prepare, run against a local endpoint, land, and ask every table."""

    def test_scores(self, judged):
        assert column(judged) == {
            "v1-t1": 1.0, "v1-t2": 1.0, "v1-t3": 1.0, "v2-t1": 1.0, "v2-t2": 0.5, "v2-t3": 0.5,
        }  # fmt: skip
        worst = pipeline.scores(judged, where=f'"{NAME}" < 1', sort=NAME, columns=["run_id"]).rows
        assert worst["run_id"].to_list() == ["v2-t2", "v2-t3"]
        assert NAME in pipeline.scores(judged).rows.columns

    def test_aggregate_and_percentiles(self, judged):
        rows = pipeline.aggregate(judged, by=["agent_version"], metrics=[NAME]).rows
        found = rows.select("agent_version", "n_scored", "n_null", "mean", "max").rows()
        assert found == [("v1", 3, 0, 1.0, 1.0), ("v2", 3, 0, pytest.approx(2 / 3), 1.0)]
        assert NAME in pipeline.aggregate(judged).rows["metric"].to_list()
        assert NAME in pipeline.aggregate(judged, metrics=["all"]).rows["metric"].to_list()
        spread = pipeline.percentiles(judged, metrics=[NAME], where="agent_version = 'v2'").rows
        assert spread["p50"].item() == 0.5

    def test_which_way_is_better_goes_with_every_table(self, judged):
        told = {NAME: "higher"}
        assert pipeline.aggregate(judged, metrics=[NAME, "n_turns"]).better == told
        assert pipeline.percentiles(judged, metrics=[NAME]).better == told
        assert pipeline.compare(judged, **ARMS, metrics=[NAME]).better == told
        assert pipeline.trend(judged, by="agent_version", metrics=[NAME]).better == told

    def test_no_calls_explain_an_opinion(self, judged):
        with pytest.raises(InputError, match="FROM judgments WHERE run_id = 'v2-t2'"):
            pipeline.diff(judged, "v2-t2", metric=NAME)
        with pytest.raises(UnknownNameError, match=r"did you mean 'judge\.tool_relevance'"):
            pipeline.diff(judged, "v2-t2", metric="judge.tool_relevence")

    def test_compare_and_trend(self, judged):
        row = pipeline.compare(judged, **ARMS, metrics=[NAME]).rows.row(0, named=True)
        assert row["delta"] == pytest.approx(-1 / 3)
        assert (row["n_tasks"], row["n_worse"]) == (3, 2)
        assert NAME in pipeline.compare(judged, **ARMS).rows["metric"].to_list()
        moved = pipeline.trend(judged, by="agent_version", metrics=[NAME]).rows
        assert moved["delta"].to_list() == [None, pytest.approx(-1 / 3)]

    def test_gate(self, judged, tmp_path):
        gate = tmp_path / "gate.toml"
        for least, verdict in ((0.6, "pass"), (0.7, "fail")):
            gate.write_text(f'[[gate]]\nmetric = "{NAME}"\nmin = {least}\n')
            found = pipeline.gate(judged, **ARMS, gate=gate)
            assert found.facts["verdict"] == verdict

    def test_passk_rule(self, judged):
        rows = pipeline.passk(judged, k=[1], rule=f'"{NAME}" = 1').rows
        assert dict(rows.select("agent_version", "pass_at_k").rows()) == {
            "v1": 1.0, "v2": pytest.approx(1 / 3),
        }  # fmt: skip

    def test_report(self, judged):
        assert report(judged, by=["agent_version"]).count(NAME) >= 2

    def test_assert_no_regression(self, judged):
        with pytest.raises(AssertionError, match=NAME):
            gate_of_one(judged)

    def test_sql(self, judged):
        text = 'SELECT run_id, "judge.tool_relevance" FROM scores ORDER BY run_id'
        rows = query(judged, text).rows.rows()
        assert rows == sorted(column(judged).items())
        con = duckdb.connect()
        con.execute(init_script(judged))
        assert con.sql(text).fetchall() == rows
        counts = "SELECT count(*), sum(score) FROM judgments"
        assert con.sql(counts).fetchall() == query(judged, counts).rows.rows() == [(12, 10.0)]

    def test_the_scored_files_are_untouched(self, judged):
        assert NAME not in scores_of(judged.path).columns

    def test_the_policy_does_not_matter(self, judged):
        score(judged, policy="preset:adk")
        found = pipeline.aggregate(judged, metrics=[NAME], policy="preset:adk").rows
        assert found["n_scored"].item() == 6


def gate_of_one(lake):
    """A comparison that cannot be significant on three tasks: the gate says what is too little."""
    gate = lake.path.parent / "one.toml"
    gate.write_text(f'[[gate]]\nmetric = "{NAME}"\nmin = 0.9\n')
    assert_no_regression(lake, **ARMS, gate=gate)


class TestLanding:
    def test_without_judgments_nothing_is_there(self, lake):
        assert NAME not in pipeline.scores(lake).rows.columns
        with pytest.raises(InputError, match=f"unknown metric '{NAME}'"):
            pipeline.aggregate(lake, metrics=[NAME])
        with closing(session(lake, DEFAULT)) as con:
            assert con.view("judgments").columns == Judgments.names()
            assert con.view("judgments").fetchall() == []
        assert opinions(lake).metrics == ()

    def test_twice_is_once(self, lake, tmp_path):
        told = [yes(custom) for custom in prepared(lake, tmp_path)]
        first = land(lake, tmp_path, *told)
        before = column(lake)
        again = land(lake, tmp_path, *reversed(told), name="again")
        assert [note.split()[0] for note in (first.notes[-1], again.notes[-1])] == [
            "landed",
            "already",
        ]
        assert len(lake.folders("judgments")) == 1
        assert column(lake) == before

    def test_an_unreadable_answer_is_null_with_its_reason(self, lake, tmp_path):
        ids = prepared(lake, tmp_path, where="run_id = 'v1-t2'")
        result = land(lake, tmp_path, no(ids[0]), openai(ids[1], "maybe 7/10"))
        assert column(lake)["v1-t2"] == 0.0
        assert result.tables["null_reasons"].rows() == [("tool_relevance", "not_an_object", 1)]
        rows = query(lake, "SELECT step_index, score, null_reason FROM judgments ORDER BY 1").rows
        assert rows.rows() == [(1, 0.0, None), (2, None, "not_an_object")]

    def test_a_run_of_unreadable_answers_alone_has_no_score(self, lake, tmp_path):
        ids = prepared(lake, tmp_path)
        land(lake, tmp_path, *(openai(custom, "7/10") for custom in ids))
        assert set(column(lake).values()) == {None}
        assert NAME not in pipeline.aggregate(lake).rows["metric"].to_list()
        found = check(lake).rows.select("check", "severity", "subject", "detail").rows()
        detail = "not_an_object: 10 questions"
        assert found == [("judgments_without_score", "info", "tool_relevance", detail)]
        row = pipeline.aggregate(lake, metrics=[NAME])
        assert row.rows.select("n_total", "n_scored", "n_null", "mean").row(0) == (6, 0, 6, None)
        assert any("judge.tool_relevance: no opinion 6" in note for note in row.notes)

    def test_both_services_and_our_own_file_in_one_landing(self, lake, tmp_path):
        ids = prepared(lake, tmp_path)
        files = [
            write_lines(tmp_path / "a", [yes(custom) for custom in ids[:4]]),
            write_lines(tmp_path / "b", [anthropic(c, '{"relevant": false}') for c in ids[4:]]),
        ]
        rows = judge.land(files, lake).rows
        assert rows.select("model", "n_answers", "mean").rows() == [
            ("served", 4, 1.0), ("served-a", 6, 0.0),
        ]  # fmt: skip

    def test_lines_that_cannot_land_are_told_and_lose_no_other(self, lake, tmp_path):
        ids = prepared(lake, tmp_path)
        told = ["oops", {"custom_id": "x"}, yes("j-unknown-0"), *map(yes, ids), '{"cut": ']
        result = land(lake, tmp_path, *told)
        notes = "\n".join(result.notes)
        assert "2 lines left out, the line is no JSON object" in notes
        assert "responses.jsonl:1, " in notes
        assert "1 line left out, neither an OpenAI batch output" in notes
        assert (
            "1 response left out, no request of this lake has that custom_id: 'j-unknown-0'"
            in notes
        )
        assert result.rows["n_answers"].item() == 10

    def test_the_last_of_two_answers_counts_but_no_failure_over_an_answer(self, lake, tmp_path):
        ids = prepared(lake, tmp_path, where="run_id = 'v1-t2'")
        failed = {"custom_id": ids[1], "response": None, "error": {"code": "batch_expired"}}
        result = land(lake, tmp_path, yes(ids[0]), no(ids[0]), yes(ids[1]), failed)
        assert column(lake)["v1-t2"] == 0.5
        assert "2 answers to a request that has one already" in "\n".join(result.notes)

    def test_a_later_landing_wins_but_no_failure_over_an_answer(self, lake, tmp_path):
        ids = prepared(lake, tmp_path, where="run_id = 'v1-t2'")
        land(lake, tmp_path, *map(yes, ids))
        land(lake, tmp_path, no(ids[0]), name="later")
        assert column(lake)["v1-t2"] == 0.5
        failed = [{"custom_id": custom, "result": {"type": "expired"}} for custom in ids]
        land(lake, tmp_path, *failed, name="expired")
        assert column(lake)["v1-t2"] == 0.5
        counted = query(lake, "FROM judgments").rows
        ours = judgments(lake)
        assert counted.sort(counted.columns).equals(
            ours.with_columns().sort(ours.columns).select(counted.columns)
        )

    def test_runs_landed_later_share_the_answer_once_prepared(self, lake, tmp_path):
        told = [no(custom) for custom in prepared(lake, tmp_path)]
        land(lake, tmp_path, *told)
        twin = run("twin", {"kind": "message", "actor": "user", "content": "find t1"},
                   call("search", {"q": "x"}, output="found"), final("done"), agent_version="v3")  # fmt: skip
        landed(tmp_path, twin, name="more")
        score(lake)
        assert column(lake)["twin"] is None
        ids = prepared(lake, tmp_path, where="run_id = 'twin'")
        assert ids[0] in {row["custom_id"] for row in told}
        land(lake, tmp_path, *told, name="again")
        assert column(lake)["twin"] == 0.0

    def test_a_replaced_run_takes_its_judgments_along(self, lake, tmp_path):
        land(lake, tmp_path, *map(yes, prepared(lake, tmp_path)))
        longer = lines(tmp_path / "log.jsonl")[1]
        longer["steps"].append(call("pay"))
        landed(tmp_path, longer, name="longer")
        score(lake)
        assert column(lake)["v1-t2"] is None
        assert query(lake, "FROM judgments").rows.height == 10

    def test_refused(self, lake, tmp_path):
        with pytest.raises(SourceNotFoundError, match="no such file of responses"):
            judge.land([tmp_path / "none.jsonl"], lake)
        with pytest.raises(InputError, match="no line is a response; 1 line of"):
            land(lake, tmp_path, "oops")
        with pytest.raises(InputError, match="none of 1 response answers a request"):
            land(lake, tmp_path, yes("j-unknown-0"))
        assert lake.folders("judgments") == []


class TestConsistency:
    @pytest.fixture
    def lake(self, tmp_path):
        tasks = [{"task_id": f"t{i}", "prompt": "?", "reference_output": f"r{i}"} for i in range(4)]
        landed(tmp_path, *tasks, form="tasks", name="tasks")
        return landed(tmp_path, *(run(f"r{i}", final(f"a{i}"), task_id=f"t{i}") for i in range(4)))

    def test_repeats_and_orders(self, lake, tmp_path):
        """Four questions, two repeats, two orders; what is not given here is true.

        Repeats, each order for itself: 8 pairs, one of them with an answer that cannot be read, one
        unequal: 6 of 7. Orders, each repeat for itself: 8 pairs, 7 readable, unequal in one: 6 of 7.
        """
        rubric = "preset:response_equivalence"
        ids = prepared(lake, tmp_path, rubric, repeats=2, swap=True)
        contents = sorted({custom.split("-")[1] for custom in ids})
        odd = {f"j-{contents[0]}-0": False, f"j-{contents[1]}-1s": "unreadable"}
        told = [
            openai(custom, json.dumps({"reason": "", "equivalent": odd.get(custom, True)}))
            for custom in ids
        ]
        result = land(lake, tmp_path, *told)
        rows = judge.consistency(lake).rows
        assert rows.equals(result.tables["consistency"])
        figures = rows.select("kind", "n_asked", "n_pairs", "n_equal", "share_equal",
                              "mean_abs_difference")  # fmt: skip
        assert figures.rows() == [
            ("position", 8, 7, 6, 6 / 7, 1 / 7),
            ("repeat", 8, 7, 6, 6 / 7, 1 / 7),
        ]

    def test_both_orders_count_each_for_itself(self, lake, tmp_path):
        """Yes in one order, no in the other: .5; yes after all in that one: 1."""
        rubric = "preset:response_equivalence"
        ids = prepared(lake, tmp_path, rubric, swap=True)
        turned = [custom for custom in ids if custom.endswith("s")]
        assert len(turned) == len(ids) / 2 == 4
        told = [openai(c, json.dumps({"equivalent": not c.endswith("s")})) for c in ids]
        land(lake, tmp_path, *told)
        assert judged_columns(lake)["judge.response_equivalence"].to_list() == [0.5] * 4
        land(lake, tmp_path, *(openai(c, '{"equivalent": true}') for c in turned), name="again")
        assert judged_columns(lake)["judge.response_equivalence"].to_list() == [1.0] * 4

    def test_without_pairs_it_is_null(self, lake, tmp_path):
        ids = prepared(lake, tmp_path, "preset:response_equivalence")
        land(lake, tmp_path, *(openai(custom, '{"equivalent": true}') for custom in ids))
        rows = judge.consistency(lake).rows
        assert rows.select("n_pairs", "share_equal", "mean_abs_difference").rows() == [
            (0, None, None), (0, None, None),
        ]  # fmt: skip

    def test_what_many_runs_share_counts_once(self, tmp_path):
        lake = landed(tmp_path, *(run(f"r{i}", final("same")) for i in range(5)))
        ids = prepared(lake, tmp_path, "preset:groundedness", repeats=3)
        scores = dict(zip(ids, (0.5, 0.75, 0.5), strict=True))
        land(lake, tmp_path, *(openai(c, json.dumps({"score": s})) for c, s in scores.items()))
        row = judge.consistency(lake).rows.filter(kind="repeat").row(0, named=True)
        assert (row["n_pairs"], row["n_equal"]) == (3, 1)
        assert row["mean_abs_difference"] == pytest.approx(0.5 / 3)

    def test_an_empty_lake(self, lake):
        assert judge.consistency(lake).rows.is_empty()


def test_anthropic_requests_land_by_their_ids(lake, tmp_path):
    ids = prepared(lake, tmp_path, form=Form("anthropic"))
    result = land(lake, tmp_path, *(anthropic(c, '{"relevant": true}') for c in ids))
    assert result.rows.select("model", "n_scored").row(0) == ("served-a", 10)

"""`gate` on the command line: the exit code, and what CI systems are told."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from arms import BASELINE, CANDIDATE, arms, lake_of

VERSIONS = ("--baseline", BASELINE, "--candidate", CANDIDATE)
LIMIT = '[[gate]]\nmetric = "f1"\nmax_drop = 0.05\n'
CASES = {
    "pass": [(i, 0.9, 0.9 + 0.001 * i) for i in range(20)],
    "fail": [(i, 0.9, 0.7 + 0.001 * i) for i in range(20)],
    "inconclusive": [(i, 0.9, 0.9 - 0.1 * (i % 2)) for i in range(6)],
    "not judgeable": [(i, 0.9, 0.9 if i else []) for i in range(6)],
}
CODES = {"pass": 0, "fail": 1, "inconclusive": 3, "not judgeable": 3}


@pytest.fixture
def judged(run, tmp_path):
    """Return a function that gates a lake of that verdict."""
    Path("gate.toml").write_text(LIMIT)
    made = {}

    def call(verdict, *args, **more):
        if verdict not in made:
            made[verdict] = lake_of(tmp_path / f"lake-{len(made)}", arms("f1", CASES[verdict])).path
        return run("gate", made[verdict], *VERSIONS, "--gate", "gate.toml", *args, **more)

    return call


@pytest.mark.parametrize("verdict", CASES)
class TestVerdict:
    def test_text_and_exit_code_agree(self, judged, verdict):
        """G2: also in JSON and on stderr."""
        result = judged(verdict)
        assert result.exit_code == CODES[verdict]
        assert f"note: verdict: {verdict}\n" in result.stderr
        told = json.loads(judged(verdict, "--format", "json").stdout)
        assert told["rows"][0]["verdict"] == told["facts"]["verdict"] == verdict
        assert told["facts"]["exit_code"] == result.exit_code

    @pytest.mark.parametrize(("choice", "code"), [("pass", 0), ("fail", 1)])
    def test_the_unknown_can_count_as_either(self, judged, verdict, choice, code):
        result = judged(verdict, "--inconclusive", choice, "-o", "g.json", "-o", "g.xml")
        known = verdict in ("pass", "fail")
        assert result.exit_code == (CODES[verdict] if known else code)
        told = json.loads(Path("g.json").read_text())
        assert told["facts"]["exit_code"] == result.exit_code
        suite = ET.parse("g.xml").getroot()  # noqa: S314 - our own output
        green = suite.get("failures") == "0" and suite.get("errors") == "0"
        assert green == (result.exit_code == 0)

    def test_junit_says_what_happened_to_each_gate(self, judged, verdict):
        judged(verdict, "-o", "g.xml")
        (case,) = ET.parse("g.xml").getroot().iter("testcase")  # noqa: S314 - same
        assert case.get("name") == "metric=f1, rule=max_drop = 0.05"
        tags = {"pass": [], "fail": ["failure"]}.get(verdict, ["error"])
        assert [part.tag for part in case if part.tag != "properties"] == tags
        for part in case.iterfind(tags[0] if tags else "none"):
            assert json.loads(judged(verdict, "--format", "json").stdout)["rows"][0][
                "reason"
            ] in part.get("message")

    def test_github_is_told_where_it_listens(self, judged, verdict, monkeypatch, tmp_path):
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
        (tmp_path / "summary.md").write_text("before\n")
        result = judged(verdict, "--format", "json")
        level = {"pass": "notice", "fail": "error"}.get(verdict, "warning")
        assert f"::{level} title=gate f1 (max_drop = 0.05)::{verdict}: " in result.stderr
        assert json.loads(result.stdout)["kind"] == "gate"
        summary = (tmp_path / "summary.md").read_text()
        assert summary.startswith(f"before\n## Gate: {verdict}\n\n| metric | rule |")
        assert "\n- verdict: " in summary
        assert "::" not in judged(verdict, "--no-github").stderr


def test_the_record_is_complete(judged):
    told = json.loads(judged("fail", "--format", "json").stdout)
    row, facts = told["rows"][0], told["facts"]
    assert {"drop", "allowed", "lower", "upper", "test", "p", "mde", "coverage", "n_tasks"} <= set(
        row
    )
    assert {"seed", "resamples", "interval", "alpha", "gate", "arms", "version"} <= set(facts)
    assert [set(arm) for arm in facts["arms"]] == [
        {"arm", "filter", "policy", "n_runs", "n_unscored", "hash"}
    ] * 2


def test_the_same_lake_and_gate_give_the_same_bytes(judged):
    first, second = (judged("fail", "--format", "json").stdout for _ in range(2))
    assert first == second


def test_annotations_are_one_line_whatever_a_task_is_called(run, tmp_path):
    lake = lake_of(tmp_path / "nasty", arms("f1", [("50%\n::error::x", [], 0.0)])).path
    Path("gate.toml").write_text('[[gate]]\nmetric = "f1"\ntask_floor = 0.5\n')
    result = run("gate", lake, "--candidate", CANDIDATE, "--gate", "gate.toml", "--github")
    assert result.exit_code == 1
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("::")]
    assert "50%25\\n::error::x" in line


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--candidate", CANDIDATE, "--gate", "preset:five-percent"), "needs a baseline"),
        (("--baseline", BASELINE, "--gate", "preset:five-percent"), "--candidate"),
        (VERSIONS, "--gate"),
        ((*VERSIONS, "--gate", "missing.toml"), "missing.toml"),
        ((*VERSIONS, "--gate", "preset:five"), "five-percent"),
        (
            ("--baseline", BASELINE, "--candidate", "trial = 99", "--gate", "preset:five-percent"),
            "matches none",
        ),
        (("--self-test", "--baseline", BASELINE), "--candidate"),
        (("--self-test", "--candidate", "trial = 99"), "matches none"),
    ],
)
def test_what_cannot_be_used_exits_2(run, lake, args, told):
    """G9 is the first: no baseline."""
    result = run("gate", lake, *args)
    assert result.exit_code == 2
    assert told in result.stderr


def test_self_test_reports_the_false_alarm_rate(run, lake):
    result = run("gate", "--self-test", lake, "--splits", "20", "--format", "json")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert told["kind"] == "gate_self_test"
    assert [(row["metric"], row["n_splits"]) for row in told["rows"]] == [
        ("f1", 20),
        ("in_order", 20),
    ]
    assert all(row["false_alarm_rate"] <= 1 for row in told["rows"])


def test_single_trials_cannot_be_tested(run, lake):
    result = run("gate", "--self-test", lake, "--candidate", "trial = 0 AND agent_version = 'v1'")
    assert result.exit_code == 3
    assert "nothing to split" in result.stderr


def test_arms_of_a_landed_lake_against_themselves_pass(run, lake):
    args = ("--baseline", BASELINE, "--candidate", BASELINE, "--gate", "preset:five-percent")
    assert run("gate", lake, *args).exit_code == 0

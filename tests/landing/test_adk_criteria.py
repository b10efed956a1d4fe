"""ADK criteria become a policy and a gate file that judge as ADK does: each task by itself."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from pipeline import land, score
from pipeline.criteria import convert
from pipeline.errors import InputError
from pipeline.policy import load as load_policy
from pipeline.tables.gate import gate
from pipeline.tables.gate_file import load as load_gate
from tests.making import call, run, want, write


def made(criteria: dict) -> dict[str, float]:
    gates = tomllib.loads(convert(json.dumps({"criteria": criteria}).encode(), "c.json").gate)
    return {one["metric"]: one["task_floor"] for one in gates.get("gate", [])}


@pytest.mark.parametrize(
    ("criterion", "metric"),
    [
        (0.5, "exact_match_turns"),
        ({"threshold": 0.5}, "exact_match_turns"),
        ({"threshold": 0.5, "match_type": "EXACT"}, "exact_match_turns"),
        ({"threshold": 0.5, "matchType": "IN_ORDER"}, "in_order_match_turns"),
        ({"threshold": 0.5, "match_type": 2}, "any_order_match_turns"),
        ({"threshold": 0.5, "match_type": "any_order"}, "any_order_match_turns"),
        ({"threshold": 0.5, "ignore_args": True}, "exact_match_names_turns"),
        (
            {"threshold": 0.5, "matchType": "IN_ORDER", "ignoreArgs": True},
            "in_order_match_names_turns",
        ),
    ],
)
def test_a_trajectory_criterion_names_the_metric_of_its_match_type(criterion, metric):
    assert made({"tool_trajectory_avg_score": criterion}) == {metric: 0.5}


def test_the_response_criterion_is_rouge_1():
    assert made({"response_match_score": 0.8}) == {"rouge1_f1": 0.8}


def test_a_gate_says_where_its_score_is_not_adks():
    """ADK takes the mean of the responses of all turns."""
    both = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}
    for criteria in (both, dict([*both.items()][1:]), dict([*both.items()][:1])):
        gate = convert(json.dumps({"criteria": criteria}).encode(), "c.json").gate
        assert ("mean over those of all turns" in gate) == ("response_match_score" in criteria)
        assert gate.endswith("\n")


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b" \t\r\n", b"\xef\xbb\xbf\n"])
def test_criteria_are_told_from_toml_by_their_first_sign(tmp_path, before):
    config = tmp_path / "test_config.json"
    config.write_bytes(before + b'{"criteria": {"response_match_score": 0.5}}')
    found, _ = load_gate(config)
    assert [one.metric for one in found.gate] == ["rouge1_f1"]
    assert load_policy(str(config)).match.unit == "turn"


def test_what_code_of_its_own_judges_is_left_out_whatever_its_name():
    """ADK runs a custom metric's code also where the metric has the name of its own."""
    config = {
        "criteria": {"tool_trajectory_avg_score": 1.0, "mine": 0.5, "response_match_score": 0.5},
        "custom_metrics": {
            name: {"code_config": {"name": "a.b"}} for name in ("mine", "tool_trajectory_avg_score")
        },
    }
    found = convert(json.dumps(config).encode(), "c.json")
    assert [one["metric"] for one in tomllib.loads(found.gate)["gate"]] == ["rouge1_f1"]
    assert found.left_out == [
        "tool_trajectory_avg_score = 1 (code of its own)",
        "mine = 0.5 (code of its own)",
    ]


@pytest.mark.parametrize("criteria", [{}, {"safety_v1": 0.9}])
def test_criteria_without_a_gate_say_so(tmp_path, criteria):
    config = tmp_path / "test_config.json"
    config.write_text(json.dumps({"criteria": criteria}))
    with pytest.raises(InputError, match="none of its criteria makes a gate") as error:
        load_gate(config)
    assert ("safety_v1 = 0.9" in str(error.value)) == bool(criteria)
    assert ("there is none" in str(error.value)) != bool(criteria)
    (told,) = land([config], tmp_path / "lake").configs
    assert "no file is written" in told
    assert not (tmp_path / "lake" / "configs").exists()


@pytest.mark.parametrize(
    "more",
    [
        {"user_simulator_config": {"model": "m", "max_allowed_invocations": 20}},
        {"userSimulatorConfig": {"model": "m"}},
        {"custom_metrics": {}},
        {"customMetrics": {}},
    ],
)
def test_a_configuration_with_more_than_criteria_lands(tmp_path, more):
    config = tmp_path / "test_config.json"
    config.write_text(json.dumps({"criteria": {"tool_trajectory_avg_score": 1.0}, **more}))
    (told,) = land([config], tmp_path / "lake").configs
    assert "criteria written as" in told


def test_a_byte_order_mark_is_read_over():
    plain = b'{"criteria": {"response_match_score": 0.5}}'
    assert convert(b"\xef\xbb\xbf" + plain, "c.json") == convert(plain, "c.json")


def test_what_a_model_must_judge_is_left_out_and_named():
    found = convert(b'{"criteria": {"safety_v1\\nx": 0.9, "response_match_score": 1}}', "c.json")
    assert found.left_out == ["safety_v1?x = 0.9"]
    assert "# Left out, for a model or code has to judge it: safety_v1?x = 0.9" in found.gate
    assert len(tomllib.loads(found.gate)["gate"]) == 1


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b'{"criteria": {"response_match_score": "high"}}', '"high"'),
        (b'{"criteria": {"response_match_score": true}}', "true"),
        (b'{"criteria": {"tool_trajectory_avg_score": {"match_type": "EXACT"}}}', "null"),
        (
            b'{"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "match_type": "SOME"}}}',
            "'SOME'",
        ),
        (b'{"criteria": [1]}', "no ADK criteria"),
        (b"[1]", "no ADK criteria"),
        (b'{"criteria": {}, "custom_metrics": 5}', "custom_metrics is 5; an object is needed"),
        (b'{"criteria": {}, "customMetrics": ["a"]}', "custom_metrics is .* an object is needed"),
        (b"{", "no JSON"),
    ],
)
def test_criteria_that_say_nothing_are_refused(data, seen):
    with pytest.raises(InputError, match=seen):
        convert(data, "c.json")


def test_landing_criteria_writes_both_files_once(tmp_path):
    config = tmp_path / "test_config.json"
    config.write_text('{"criteria": {"tool_trajectory_avg_score": 1.0, "safety_v1": 0.9}}')
    for _ in range(2):
        report = land([config], tmp_path / "lake")
        (told,) = report.configs
        assert "safety_v1 = 0.9" in told
    files = sorted(path.name for path in (tmp_path / "lake" / "configs").iterdir())
    assert [name.split(".", 1)[1] for name in files] == ["gate.toml", "policy.toml"]
    policy = load_policy(str(tmp_path / "lake" / "configs" / files[1]))
    found, _ = load_gate(tmp_path / "lake" / "configs" / files[0])
    assert policy.match.unit == "turn"
    assert [(one.metric, one.task_floor) for one in found.gate] == [("exact_match_turns", 1.0)]


def test_criteria_that_cannot_be_read_are_a_reject(tmp_path):
    config = tmp_path / "test_config.json"
    config.write_text('{"criteria": {"response_match_score": "high"}}')
    report = land([config], tmp_path / "lake")
    assert report.rejects == {"wrong_type": 1}
    assert report.configs == []


def test_a_dry_run_writes_nothing(tmp_path):
    config = tmp_path / "test_config.json"
    config.write_text('{"criteria": {"response_match_score": 0.5}}')
    assert land([config], tmp_path / "lake", dry_run=True).configs == []
    assert not (tmp_path / "lake").exists()


def attempt(name: str, *tools: str) -> dict:
    expected = [want("search", {}), want("book", {})]
    return run(name, *(call(tool, {}) for tool in tools), task_id=name, expected=expected)


@pytest.mark.parametrize(
    ("match_type", "verdict"), [("EXACT", "fail"), ("IN_ORDER", "pass"), ("ANY_ORDER", "pass")]
)
def test_the_file_itself_serves_as_policy_and_as_gate(tmp_path, match_type, verdict):
    """Three tasks of which one makes a call too many: ADK fails it under EXACT alone."""
    paths = {"a": ["search", "book"], "b": ["search", "pay", "book"], "c": ["search", "book"]}
    runs = [attempt(name, *tools) for name, tools in paths.items()]
    lake = tmp_path / "lake"
    land([write(tmp_path / "runs.jsonl", runs)], lake)
    config = tmp_path / "test_config.json"
    criterion = {"threshold": 1.0, "match_type": match_type}
    config.write_text(json.dumps({"criteria": {"tool_trajectory_avg_score": criterion}}))
    score(lake, policy=str(config))
    found = gate(lake, candidate="true", gate=config, policy=str(config))
    assert found.rows["verdict"].to_list() == [verdict]


def test_every_real_file_of_criteria_becomes_gates(real_data):
    for path in sorted(Path(real_data("adk_config")).iterdir()):
        told = json.loads(path.read_text())["criteria"]
        assert sorted(made(told).values()) == sorted(told.values())

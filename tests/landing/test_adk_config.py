"""ADK's criteria are recognised as what they are: a configuration, of which nothing lands."""

from __future__ import annotations

from tests.reading import claimed, read, sniff


def test_the_real_files_land_as_no_runs(real_data, expected_figures):
    for path in real_data("adk_config").iterdir():
        found = read("adk_config", path)
        assert len(found.runs) == expected_figures[f"adk_config/{path.name}"]["runs"] == 0
        assert found.tasks == []


def test_only_its_own_files_are_claimed(real_data):
    root = real_data("adk_config").parent
    own = {str(path.relative_to(root)) for path in root.glob("adk_config/*")}
    assert claimed("adk_config", root) == own


def test_the_reason_says_that_nothing_will_land():
    reason = sniff("adk_config", {"criteria": {"response_match_score": 0.8}})
    assert "holds no run" in reason
    assert "gate" in reason


def test_criteria_beside_runs_are_no_configuration():
    assert sniff("adk_config", {"criteria": {}, "eval_cases": []}) is None
    assert sniff("adk_config", {"criteria": "strict"}) is None

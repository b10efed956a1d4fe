"""What other packages said of 248 pairs of calls: ours says the same, or it is known why not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from peers import reasons as why
from peers.correspondence import METRICS
from peers.page import text
from peers.readings import Case
from peers.verdicts import Ours, Recorded, judge, recorded

if TYPE_CHECKING:
    from peers.correspondence import Metric
    from peers.verdicts import Verdict

PAGE = Path(__file__).parents[2] / "docs" / "peers.md"

OF_ONE_MIND = [
    "adk.exact", "adk.in_order", "adk.any_order", "adk.exact.ignore_args",
    "adk.in_order.ignore_args", "adk.any_order.ignore_args", "openevals.unordered",
    "openevals.subset", "openevals.superset", "openevals.unordered.args_ignore",
    "openevals.subset.args_ignore", "openevals.superset.args_ignore", "strands.in_order",
    "strands_calls.in_order", "deepeval.exact.args", "trajeval.tool_order",
]  # fmt: skip
"""Metrics defined as ours are: only what counts as equal arguments may differ."""


@pytest.fixture(scope="module")
def told(real_cases) -> Recorded:
    return recorded(real_cases("peers.jsonl"))


@pytest.fixture(scope="module")
def verdicts(told, tmp_path_factory) -> dict[str, list[Verdict]]:
    ours = Ours(told.cases, tmp_path_factory.mktemp("peers"))
    return {metric.result: judge(metric, told, ours) for metric in METRICS}


def test_every_case_and_every_recorded_metric_is_compared(told, verdicts) -> None:
    assert len(told.cases) == 248
    assert {frozenset(results) for results in told.results.values()} == {frozenset(verdicts)}
    assert {len(found) for found in verdicts.values()} == {248}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.result)
def test_every_case_is_equal_or_its_difference_is_predicted(metric: Metric, verdicts) -> None:
    assert [verdict for verdict in verdicts[metric.result] if not verdict.explained] == []


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.result)
def test_every_reason_is_needed(metric: Metric, verdicts) -> None:
    used = {verdict.reason.name for verdict in verdicts[metric.result] if verdict.reason}
    assert used == {reason.name for reason in metric.reasons}


@pytest.mark.parametrize("name", OF_ONE_MIND)
def test_same_definitions_differ_by_true_and_null_only(name: str, verdicts) -> None:
    used = {verdict.reason for verdict in verdicts[name] if verdict.reason}
    assert used <= {why.TRUE_IS_ONE, why.NULL_IS_A_VALUE, why.REFUSES_NULL}
    assert sum(verdict.reason is None for verdict in verdicts[name]) >= 242


def test_a_number_that_no_reason_predicts_stays_unexplained(tmp_path: Path) -> None:
    case = Case([{"name": "a", "args": {"x": True}}], [{"name": "a", "args": {"x": 1}}])
    exact = METRICS[0]
    results = {"said 1": {exact.result: 1.0}, "said half": {exact.result: 0.5}}
    told = Recorded(dict.fromkeys(results, case), results)
    first, second = judge(exact, told, Ours(told.cases, tmp_path))
    assert (first.reason, first.explained) == (why.TRUE_IS_ONE, True)
    assert (second.reason, second.explained) == (None, False)


def test_the_page_tells_what_came_out(verdicts) -> None:
    assert PAGE.read_text(encoding="utf-8") == text(verdicts)

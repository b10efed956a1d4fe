"""Every case scored by us, beside what the peers said of it: equal, explained, or neither."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from making import scores_of, write
from peers.correspondence import METRICS
from peers.readings import Case

from pipeline.landing.land import land
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from peers.correspondence import Metric
    from peers.reasons import Reason

AS_IT_IS = "as it is"
CLOSE = 1e-9
Number = float | None
"""None: the peer refused the case."""


class Recorded(NamedTuple):
    """The cases by id, and what each peer's metric said of them."""

    cases: dict[str, Case]
    results: dict[str, dict[str, Any]]

    def result(self, metric: str, case_id: str) -> Number:
        """Return a peer's number."""
        told = self.results[case_id][metric]
        if isinstance(told, dict):
            return None
        return float(told == "yes") if isinstance(told, str) else float(told)


class Verdict(NamedTuple):
    """What became of one case under one metric; `reason` is None where the numbers are equal."""

    case_id: str
    theirs: Number
    ours: float
    reason: Reason | None
    explained: bool


def recorded(path: Path) -> Recorded:
    """Read the cases."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return Recorded(
        {line["case_id"]: Case(line["expected"], line["actual"]) for line in lines},
        {line["case_id"]: line["results"] for line in lines},
    )


def readings() -> dict[str, Reason]:
    """Return the distinct ways of reading a case."""
    return {reason.name: reason for metric in METRICS for reason in metric.reasons}


def _records(cases: dict[str, Case]) -> Iterable[dict[str, Any]]:
    for case_id, case in cases.items():
        yield {"case_id": f"{AS_IT_IS}/{case_id}", **case._asdict()}
        for name, reason in readings().items():
            read = reason.read(case)
            if json.dumps(read) != json.dumps(case):  # to Python, true is 1
                yield {"case_id": f"{name}/{case_id}", **read._asdict()}


class Ours:
    """Our scores of the cases, as they are and as each reason reads them."""

    def __init__(self, cases: dict[str, Case], folder: Path) -> None:
        self._lake = folder / "lake"
        self._rows: dict[str, dict[str, dict[str, Any]]] = {}
        report = land([write(folder / "cases.jsonl", _records(cases))], self._lake, format="pairs")
        if report.rejects:
            raise AssertionError(report.rejects)

    def of(self, metric: Metric, case_id: str, reading: str = AS_IT_IS) -> float:
        """Return our number; a reading that changes nothing is the case as it is."""
        rows = self._of_policy(metric.policy)
        row = rows.get(f"{reading}/{case_id}") or rows[f"{AS_IT_IS}/{case_id}"]
        product = 1.0
        for column in metric.columns:
            product *= float("nan") if row[column] is None else row[column]
        return product

    def _of_policy(self, policy: str) -> dict[str, dict[str, Any]]:
        if policy not in self._rows:
            score(self._lake, policy=policy)
            rows = scores_of(self._lake, policy).to_dicts()
            self._rows[policy] = {row["run_id"]: row for row in rows}
        return self._rows[policy]


def _same(theirs: Number, ours: Number) -> bool:
    if theirs is None or ours is None:
        return theirs is ours
    return abs(theirs - ours) <= CLOSE


def judge(metric: Metric, told: Recorded, ours: Ours) -> list[Verdict]:
    """Compare every case; of a case that differs, name the first reason that predicts it."""
    return [_judged(metric, case_id, told, ours) for case_id in told.cases]


def _judged(metric: Metric, case_id: str, told: Recorded, ours: Ours) -> Verdict:
    theirs, mine = told.result(metric.result, case_id), ours.of(metric, case_id)
    if _same(theirs, mine):
        return Verdict(case_id, theirs, mine, None, explained=True)
    for reason in metric.reasons:
        as_read = ours.of(metric, case_id, reason.name)
        if _same(theirs, reason.value(told.cases[case_id], as_read)):
            return Verdict(case_id, theirs, mine, reason, explained=True)
    return Verdict(case_id, theirs, mine, None, explained=False)

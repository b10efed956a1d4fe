"""trajtab: agent trajectories in, tables out.

```python
import pipeline

pipeline.land(["export/"], "lake")
pipeline.score("lake")
pipeline.aggregate("lake", by=["model"]).rows
```
Every command of the command line is a thin twin of a function here. Names load on first use, so
importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.annotation.agreement import agreement
    from pipeline.annotation.sampling import sample_annotations
    from pipeline.checks import check
    from pipeline.errors import TrajtabError
    from pipeline.lake import Lake
    from pipeline.landing.land import land
    from pipeline.landing.report import LandReport
    from pipeline.metrics.metric import Metric
    from pipeline.policy import Policy
    from pipeline.record import Recorder
    from pipeline.report.run.diff import diff
    from pipeline.scoring import ScoreReport, score
    from pipeline.tables.aggregate import aggregate
    from pipeline.tables.compare import compare
    from pipeline.tables.gate import gate
    from pipeline.tables.passk import passk
    from pipeline.tables.percentiles import percentiles
    from pipeline.tables.result import Result
    from pipeline.tables.scores import scan_scores, scores
    from pipeline.tables.trend import trend
    from pipeline.timeline import show
    from pipeline.workbench import query

__all__ = [
    "Lake",
    "LandReport",
    "Metric",
    "Policy",
    "Recorder",
    "Result",
    "ScoreReport",
    "TrajtabError",
    "__version__",
    "aggregate",
    "agreement",
    "check",
    "compare",
    "diff",
    "gate",
    "land",
    "passk",
    "percentiles",
    "query",
    "sample_annotations",
    "scan_scores",
    "score",
    "scores",
    "show",
    "trend",
]

__version__ = "0.1.0"

_HOMES = {
    "Lake": "lake",
    "LandReport": "landing.report",
    "Metric": "metrics.metric",
    "Policy": "policy",
    "Recorder": "record",
    "Result": "tables.result",
    "ScoreReport": "scoring",
    "TrajtabError": "errors",
    "aggregate": "tables.aggregate",
    "agreement": "annotation.agreement",
    "check": "checks",
    "compare": "tables.compare",
    "diff": "report.run.diff",
    "gate": "tables.gate",
    "land": "landing.land",
    "passk": "tables.passk",
    "percentiles": "tables.percentiles",
    "query": "workbench",
    "sample_annotations": "annotation.sampling",
    "scan_scores": "tables.scores",
    "score": "scoring",
    "scores": "tables.scores",
    "show": "timeline",
    "trend": "tables.trend",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'pipeline' has no attribute {name!r}")
    return getattr(import_module(f"pipeline.{_HOMES[name]}"), name)

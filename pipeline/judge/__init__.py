"""Model judges, in batch: prepare requests, have them answered, land the answers as scores.

```python
from pipeline import judge

judge.prepare("lake", "preset:tool_relevance", "requests.jsonl", sample=200)
judge.run("requests.jsonl", "responses.jsonl", url="http://localhost:8000/v1")
judge.land(["responses.jsonl"], "lake")
pipeline.aggregate("lake", metrics=["judge.tool_relevance"])
```
Between the first and the last step any machine may answer the requests, the batch services of
OpenAI and Anthropic too. Names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.judge.batch import Form
    from pipeline.judge.budget import Caps
    from pipeline.judge.consistent import consistency
    from pipeline.judge.landing import land
    from pipeline.judge.preparing import prepare
    from pipeline.judge.rubric import Rubric
    from pipeline.judge.sender import Patience
    from pipeline.judge.sending import run

__all__ = ["Caps", "Form", "Patience", "Rubric", "consistency", "land", "prepare", "run"]

# No module is called like a function: once imported, it would stand in the function's place.
_HOMES = {
    "Caps": "budget",
    "Form": "batch",
    "Patience": "sender",
    "Rubric": "rubric",
    "consistency": "consistent",
    "land": "landing",
    "prepare": "preparing",
    "run": "sending",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'pipeline.judge' has no attribute {name!r}")
    return getattr(import_module(f"pipeline.judge.{_HOMES[name]}"), name)

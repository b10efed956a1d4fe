"""Recording: an agent's own code writes its runs down while it works, ready to land.

```python
from pipeline.record import Recorder

with Recorder("runs.jsonl", task_id="t1", agent="desk", system_prompt=PROMPT) as run:
    run.llm_call("Let me look.", input_tokens=812, output_tokens=40)
    run.tool_call("search", {"q": "flights"}, output={"hits": 3})
    run.final("There are three.")
```
Each finished run is one line of trajtab's own format: `trajtab land runs.jsonl --lake lake`.
"""

from __future__ import annotations

from pipeline.record.loop import Loop
from pipeline.record.open_runs import LostRun, LostRunWarning
from pipeline.record.recorder import Recorder
from pipeline.record.run import RecordWarning
from pipeline.record.sink import Sink

__all__ = ["Loop", "LostRun", "LostRunWarning", "RecordWarning", "Recorder", "Sink"]

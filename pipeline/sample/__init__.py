"""Made-up logs: 24 tools, 2,000 tasks, two versions of an agent, about 8 steps a run.

Everything follows from the seed, and run i is the same however many runs are asked for. Version
v2 errs and repeats itself less than v1, so that comparisons have something to find. Calls fail,
are retried with the same or with other arguments, repeat, go missing, and come on top.
"""

from pipeline.sample.files import Written, example, sample
from pipeline.sample.runs import VERSIONS, lines
from pipeline.sample.tasks import N_TASKS, tasks
from pipeline.sample.words import TOOLS

__all__ = ["N_TASKS", "TOOLS", "VERSIONS", "Written", "example", "lines", "sample", "tasks"]

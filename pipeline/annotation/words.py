"""The annotations in force, laid out long: one row per item, unit and annotator."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.errors import NotJudgeableError
from pipeline.opinions.human import ITEMS
from pipeline.workbench import select, session

if TYPE_CHECKING:
    from pipeline.lake import Lake
    from pipeline.policy import Policy

STEP_ITEMS = ("backtrack_steps", "critical_steps")
"""What people mark steps for: each decision step of a judged run is a unit, marked or not."""

_RUN = ("run_key", "trajectory_id", "task_id", "agent", "agent_version", "model")
_STEPS = """
SELECT run_key, step_index, kind
FROM steps SEMI JOIN annotations USING (run_key)
WHERE kind <> 'message'
ORDER BY run_key, step_index
"""


class Words(NamedTuple):
    """What people say of the runs of a lake, each annotator's latest word on each."""

    annotations: pl.DataFrame
    """The view `annotations`, with `unit`: a number for each run meant, in the lake or not."""
    steps: pl.DataFrame
    """run_key, step_index and kind of the decision steps of annotated runs."""

    @property
    def annotators(self) -> list[str]:
        """Who annotated, sorted."""
        found: list[str] = self.annotations["annotator_id"].unique().sort().to_list()
        return found

    @property
    def without_run(self) -> int:
        """How many annotations mean no run of the lake."""
        return self.annotations["run_key"].null_count()

    def only(self, run_keys: pl.Series) -> Words:
        """Return what is said of these runs."""
        kept = pl.col("run_key").is_in(run_keys.implode())
        return Words(self.annotations.filter(kept), self.steps.filter(kept))

    def of(self, item: str) -> pl.DataFrame:
        """Return `unit`, `annotator_id` and `value` of one item; what was not judged has no row."""
        if item not in STEP_ITEMS:
            return self.annotations.select("unit", "annotator_id", value=item).drop_nulls()
        marks = self.marks(item)
        units = marks.select("run_key", "step_index").unique().sort("run_key", "step_index")
        return marks.join(
            units.with_row_index("unit"), on=["run_key", "step_index"], maintain_order="left"
        ).select("unit", "annotator_id", value=pl.col("marked").cast(pl.UInt8))

    def marks(self, item: str) -> pl.DataFrame:
        """Return run_key, annotator_id, step_index, kind and `marked` of each step judged."""
        judged = self.annotations.filter(pl.col("run_key").is_not_null()).select(
            "run_key", "annotator_id", pl.col(item).alias("named")
        )
        return (
            judged.drop_nulls()
            .join(self.steps, on="run_key", maintain_order="left_right")
            .select(
                "run_key",
                "annotator_id",
                "step_index",
                "kind",
                pl.col("named").list.contains(pl.col("step_index")).alias("marked"),
            )
        )


def words(lake: Lake, policy: Policy) -> Words:
    """Read what people say of the runs of a lake.

    Raises:
        NotJudgeableError: nobody has said anything.
    """
    if not lake.annotations():
        raise NotJudgeableError(_nothing(lake))
    with closing(session(lake, policy, confined=False, macros=False)) as con:
        said = select(con, "FROM annotations").sort(*_RUN, "annotator_id")
        steps = select(con, _STEPS)
    if said.is_empty():
        raise NotJudgeableError(_nothing(lake))
    # A run in the lake is its key; of one that is not, what is said of it must do.
    known = pl.col("run_key").is_null()
    unit = [pl.when(known).then(name).alias(name) for name in _RUN[1:]]
    units = said.select("run_key", *unit).unique(maintain_order=True).with_row_index("unit")
    numbered = said.select("run_key", *unit).join(
        units, on=_RUN, how="left", nulls_equal=True, maintain_order="left"
    )
    return Words(said.with_columns(numbered["unit"]), steps)


def _nothing(lake: Lake) -> str:
    return (
        f"{lake.path}: no annotation has landed: `trajtab annotations sample {lake.path} --out FILE` "
        f"picks runs to annotate, `trajtab land FILE --lake {lake.path}` lands what people say"
    )


def every_item() -> tuple[str, ...]:
    """Return all that annotators agree or disagree on."""
    return (*ITEMS, *STEP_ITEMS)

"""What a request stands for: the runs or steps whose content it shows, kept in the lake.

One request answers for all runs or steps with equal content, so a `custom_id` has one row for each
of them. The lake keeps these rows, in `LAKE/judge_requests/q-HEX/`, with the rubric as it was when
the requests were made: an answers file alone is enough to land it, whoever brings it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl
from xxhash import xxh3_128_hexdigest

from pipeline.judge.rubric import Rubric
from pipeline.schema import Column, Table

if TYPE_CHECKING:
    from pipeline.lake import Folder, Lake

FOLDER = "judge_requests"


class Requests(Table):
    """One row per request and run or step it answers for."""

    custom_id = Column(pl.String, "the request", nullable=False)
    content_hash = Column(pl.String, "hash of rubric, prompt, model and text shown", nullable=False)
    repeat = Column(pl.UInt32, "which repeat of the question, from 0", nullable=False)
    swapped = Column(pl.Boolean, "was the order of the pair turned round?", nullable=False)
    run_key = Column(pl.UInt64, "the run", nullable=False)
    run_id = Column(pl.String, "the run's id", nullable=False)
    step_index = Column(pl.UInt32, "the step; null: the whole run")


def keep(lake: Lake, rows: pl.DataFrame, rubric: Rubric, facts: dict[str, Any]) -> str:
    """Commit the rows of one set of requests and return its name; the same set is kept once."""
    told = xxh3_128_hexdigest(repr((rubric.hash, sorted(facts.items()))).encode())
    name = "q-" + xxh3_128_hexdigest(f"{told}\0{rows.write_csv()}".encode())[:24]
    manifest = {"name": name, "rubric": msgspec.to_builtins(rubric), **facts}
    with lake.workspace() as work:
        if not lake.has(f"{FOLDER}/{name}"):
            lake.commit(work, f"{FOLDER}/{name}", {"requests": rows}, manifest)
    return name


def rubric_of(folder: Folder) -> Rubric:
    """Return the rubric of a set of requests, as it was when they were made."""
    return msgspec.convert(folder.manifest["rubric"], Rubric)


def find(lake: Lake, custom_ids: pl.Series) -> tuple[pl.DataFrame, dict[str, Rubric]]:
    """Return what requests stand for, with `rubric_hash`, `prompt_hash`, `model` of each, and rubrics.

    The sets of requests may overlap: equal content asked about twice has one id, and each run or
    step is there once.
    """
    rubrics: dict[str, Rubric] = {}
    found = [_more(Requests.empty(), "", "", "")]
    wanted = custom_ids.unique().implode()
    for folder in lake.folders(FOLDER):
        rows = (
            pl.scan_parquet(folder.file("requests"), glob=False)
            .filter(pl.col("custom_id").is_in(wanted))
            .collect()
        )
        if rows.height:
            rubric = rubric_of(folder)
            rubrics[rubric.hash] = rubric
            facts = folder.manifest
            found.append(_more(rows, rubric.hash, facts["prompt_hash"], facts["model"]))
    rows = pl.concat(found).unique(
        ["custom_id", "run_key", "step_index"], keep="first", maintain_order=True
    )
    return rows, rubrics


def _more(rows: pl.DataFrame, rubric: str, prompt: str, model: str) -> pl.DataFrame:
    return rows.with_columns(
        rubric_hash=pl.lit(rubric), prompt_hash=pl.lit(prompt), model=pl.lit(model)
    )

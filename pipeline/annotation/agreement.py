"""`trajtab agreement`: how far people agree, with each other and with the metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.arguments import checked
from pipeline.duck import fetched
from pipeline.errors import NotJudgeableError, UnknownNameError
from pipeline.landed import opened
from pipeline.opinions.human import COLUMNS, ITEMS, annotation_columns
from pipeline.several import several
from pipeline.statistics.needs import require_statistics
from pipeline.tables.result import Result
from pipeline.tables.session import opened as scores_opened
from pipeline.text import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from pipeline.annotation.words import Words
    from pipeline.lake import Lake

KIND = "agreement"


@checked
def agreement(
    lake: Lake | str | os.PathLike[str],
    *,
    metrics: Sequence[str] | None = None,
    items: Sequence[str] = ITEMS[:1],
    where: str | None = None,
    policy: str | os.PathLike[str] | None = None,
) -> Result:
    """Return how far annotators agree with each other, and the metrics and detector with them.

    The rows are Krippendorff's alpha per item: `overall_quality`, each dimension, and the steps
    marked. The tables: `pairs` (kappa of each two annotators), `correlations` (Spearman's rho of
    each metric with the human scores, with intervals), `detector` (precision and recall of
    backtracks against `backtrack_steps`, under the policy) and `sweep` (the same for other windows
    and similarities). The fact `recommended` is the setting with the highest F1, or None. Whatever
    is undefined is null, with a note.

    Args:
        lake: a lake or its folder.
        metrics: the metrics to correlate; None is the headline set, ["all"] every one, both without
            what people say themselves (`human.`).
        items: the human scores to correlate with; default: overall_quality.
        where: only the runs this SQL over score columns is true for.
        policy: the policy's file or preset; None is the lake's own.

    Returns:
        Rows of item (String), n_annotators, n_units, n_values (UInt32), and alpha_ordinal,
        alpha_interval, alpha_nominal (Float64, at most 1: 1 is agreement, 0 chance). `pairs` has
        item, annotator_a, annotator_b, n_units, n_equal, equal and the kappas; `correlations`
        item, metric, better, n_runs, rho, ci_low, ci_high; `detector` and `sweep` window,
        similarity, n_runs, n_steps, n_marked, n_flagged, n_both, precision, recall, f1.

    Raises:
        NotJudgeableError: no annotation has landed, or none is of the runs asked for.
        UnknownNameError: a metric or item nobody knows.
        InputError: the extra `stats` is not installed, or DuckDB refuses `where`.

    >>> from pipeline.sample import example
    >>> found = agreement(example(), metrics=["f1"])
    >>> found.rows.select("item", "n_units", "alpha_ordinal").head(1)
    shape: (1, 3)
    ┌─────────────────┬─────────┬───────────────┐
    │ item            ┆ n_units ┆ alpha_ordinal │
    │ ---             ┆ ---     ┆ ---           │
    │ str             ┆ u32     ┆ f64           │
    ╞═════════════════╪═════════╪═══════════════╡
    │ overall_quality ┆ 6       ┆ 0.183333      │
    └─────────────────┴─────────┴───────────────┘
    >>> list(found.tables)
    ['pairs', 'correlations', 'detector', 'sweep']
    """
    require_statistics("agreement", "krippendorff")
    from pipeline.annotation import correlation, detector, raters  # noqa: PLC0415 - need the extra
    from pipeline.annotation.words import words  # noqa: PLC0415 - same

    lake = opened(lake)
    metrics, items = several(metrics), several(items)
    chosen, named = known_items(items), set(metrics or ())
    with scores_opened(lake, policy, where) as session:
        said = words(lake, session.policy)
        if where is not None:
            said = _narrowed(said, fetched(session.con.sql("SELECT run_key FROM scores")), where)
        human = annotation_columns(lake)
        human = human.join(said.annotations, on="run_key", how="semi")
        compared = [m for m in session.metrics(metrics) if m.name in named or m.name not in COLUMNS]
        correlated = correlation.correlations(session, human, compared, chosen)
        told = detector.truth(said)
        sweep = detector.detected(lake, session.policy, told, detector.settings(session.policy))
        best = detector.recommended(sweep)
        alphas = raters.alphas(said)
        notes = [
            *session.notes,
            *_notes(said, alphas),
            f"intervals: {correlation.METHOD}",
            *detector.notes(told, sweep, best),
        ]
    tables = {
        "pairs": raters.pairs(said),
        "correlations": correlated,
        "detector": sweep.head(1),
        "sweep": sweep,
    }
    facts = {"recommended": None if best is None else best._asdict()}
    return Result(KIND, alphas, notes, tables, facts)


def known_items(items: Sequence[str]) -> list[str]:
    """Return the human scores named, each once; "all" is every one.

    Raises:
        UnknownNameError: nobody scores that.
    """
    for item in items:
        if item not in (*ITEMS, "all"):
            raise UnknownNameError.among("item", item, [*ITEMS, "all"])
    return list(ITEMS) if "all" in items else list(dict.fromkeys(items))


def _narrowed(said: Words, kept: pl.DataFrame, where: str) -> Words:
    found = said.only(kept["run_key"])
    if found.annotations.is_empty():
        raise NotJudgeableError(f"--where {where!r}: no scored run it is true for is annotated")
    return found


def _notes(said: Words, alphas: pl.DataFrame) -> Iterator[str]:
    runs = said.annotations["unit"].n_unique()
    people = counted(len(said.annotators), "annotator")
    yield f"{counted(said.annotations.height, 'annotation')} of {counted(runs, 'run')} by {people}"
    if said.without_run:
        yield (
            f"warning: {counted(said.without_run, 'annotation')} of no run of the lake, or of several: "
            "counted between annotators only; `trajtab check` lists them"
        )
    alone = alphas.filter(pl.col("n_units") == 0)["item"].to_list()
    if alone:
        yield f"alpha is undefined where no unit has two annotators: {', '.join(alone)}"
    same = alphas.filter((pl.col("n_units") > 0) & pl.col("alpha_nominal").is_null())["item"]
    if len(same):
        yield f"alpha is undefined where all judgments are the same: {', '.join(same.to_list())}"

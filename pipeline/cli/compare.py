"""`trajtab compare`: what changed between two arms, task by task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipeline.cli.brief import brief
from pipeline.cli.command import command as declare
from pipeline.cli.options import (
    Outputs,
    baseline_policy_option,
    candidate_policy_option,
    engine_options,
    lake_argument,
    metric_option,
    output_options,
    policy_option,
    where_option,
)
from pipeline.cli.output import emit
from pipeline.statistics.needs import MOST_RESAMPLES, RESAMPLES
from pipeline.tables.compare import PAIRS, compare

if TYPE_CHECKING:
    from os import PathLike

    from pipeline.engines import Engine
    from pipeline.tables.pairing import Pair

READABLE = (
    "metric", "n_tasks", "baseline_mean", "candidate_mean", "delta", "relative_delta", "ci_low",
    "ci_high", "baseline_std", "candidate_std", "p_adjusted", "verdict", "mde", "n_worse",
    "n_better",
)  # fmt: skip

_EXAMPLE = """\
trajtab compare lake --baseline "agent_version = 'v1'" --candidate "agent_version = 'v2'"
trajtab compare lake --baseline "trial < 2" --candidate "trial >= 2" --metric f1,success"""


@declare("compare", example=_EXAMPLE)
@lake_argument
@click.option(
    "--baseline", required=True, metavar="FILTER", help="The baseline's runs: SQL over run columns."
)
@click.option(
    "--candidate", required=True, metavar="FILTER", help="The candidate's runs, likewise."
)
@metric_option
@where_option
@policy_option
@baseline_policy_option
@candidate_policy_option
@click.option(
    "--pair",
    type=click.Choice(PAIRS),
    default="task",
    show_default=True,
    help="Average all trials of a task, or only those with a trial of the same number.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of chance.")
@click.option(
    "--resamples",
    type=click.IntRange(1, MOST_RESAMPLES),
    default=RESAMPLES,
    show_default=True,
    help="How often the bootstrap draws.",
)
@engine_options
@output_options
def command(
    *,
    lake: PathLike[str],
    baseline: str,
    candidate: str,
    metric: tuple[str, ...] | None,
    where: str | None,
    policy: str | None,
    baseline_policy: str | None,
    candidate_policy: str | None,
    pair: Pair,
    seed: int,
    resamples: int,
    engine: Engine | None,
    outputs: Outputs,
) -> None:
    """Compare a candidate with a baseline, paired by task.

    One row per metric, and the tasks that flipped, worst first. Two policies can be compared too:
    the same filter twice, with --baseline-policy and --candidate-policy.
    """
    result = compare(
        lake,
        baseline=baseline,
        candidate=candidate,
        metrics=metric,
        where=where,
        policy=policy,
        baseline_policy=baseline_policy,
        candidate_policy=candidate_policy,
        pair=pair,
        seed=seed,
        resamples=resamples,
        engine=engine,
    )
    emit(result, outputs, cut=brief(result, READABLE))

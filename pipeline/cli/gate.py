"""`trajtab gate`: may this candidate go out? The exit code says so."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import click

from pipeline.cli import completion, github
from pipeline.cli.brief import brief
from pipeline.cli.command import command as declare
from pipeline.cli.options import (
    Outputs,
    baseline_policy_option,
    candidate_policy_option,
    lake_argument,
    output_options,
    policy_option,
)
from pipeline.cli.output import emit
from pipeline.tables.gate import EXIT_CODES, FIVE_PERCENT, SPLITS, exit_code, gate, self_test

if TYPE_CHECKING:
    from os import PathLike

    from pipeline.tables.result import Result

READABLE = (
    "metric", "rule", "verdict", "reason", "n_tasks", "coverage", "baseline_mean",
    "candidate_mean", "drop", "lower", "upper", "p", "mde",
)  # fmt: skip

_EXAMPLE = """\
trajtab gate lake --baseline "agent_version = 'v1'" --candidate "agent_version = 'v2'" \
--gate preset:five-percent --inconclusive pass
trajtab gate --self-test lake"""


@declare("gate", example=_EXAMPLE)
@lake_argument
@click.option("--baseline", metavar="FILTER", help="The baseline's runs: SQL over run columns.")
@click.option("--candidate", metavar="FILTER", help="The candidate's runs, likewise.")
@click.option(
    "--gate",
    "gate_file",
    metavar="FILE|preset:NAME",
    shell_complete=completion.gates,
    help="The limits, TOML.",
)
@click.option(
    "--inconclusive",
    type=click.Choice(list(EXIT_CODES)),
    help="Exit so where the data cannot tell; default: exit 3.",
)
@policy_option
@baseline_policy_option
@candidate_policy_option
@click.option(
    "--github/--no-github",
    "on_github",
    default=None,
    help="Annotations on stderr, and the step summary; default: if GITHUB_ACTIONS is true.",
)
@click.option(
    "--self-test",
    "testing",
    is_flag=True,
    help="Split one arm (--candidate, or all runs) in two and report the rate of false alarms.",
)
@click.option(
    "--splits",
    type=click.IntRange(min=1),
    default=SPLITS,
    show_default=True,
    help="How often --self-test splits.",
)
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    *,
    lake: PathLike[str],
    baseline: str | None,
    candidate: str | None,
    gate_file: str | None,
    inconclusive: Literal["pass", "fail"] | None,
    policy: str | None,
    baseline_policy: str | None,
    candidate_policy: str | None,
    on_github: bool | None,
    testing: bool,
    splits: int,
    outputs: Outputs,
) -> None:
    """Judge a candidate by the limits of a gate file.

    Exit codes: 0 pass, 1 fail, 3 inconclusive or not judgeable, 2 usage or input error.
    """
    if testing:
        if baseline is not None:
            raise click.UsageError("--self-test splits one arm: --candidate names it")
        named = gate_file or FIVE_PERCENT
        tested = self_test(lake, arm=candidate, gate=named, splits=splits, policy=policy)
        emit(tested, outputs)
        return
    if candidate is None or gate_file is None:
        needed = {"--candidate": candidate, "--gate": gate_file}
        missing = " and ".join(name for name, given in needed.items() if given is None)
        raise click.UsageError(f"{missing} must be given")
    judged = gate(
        lake,
        baseline=baseline,
        candidate=candidate,
        gate=gate_file,
        policy=policy,
        baseline_policy=baseline_policy,
        candidate_policy=candidate_policy,
    )
    result = _decided(judged, inconclusive)
    short = brief(result, READABLE)
    emit(result, outputs, cut=short)
    if on_github or (on_github is None and os.environ.get("GITHUB_ACTIONS") == "true"):
        github.annotate(result)
        github.summarise(short)
    ctx.exit(result.facts["exit_code"])


def _decided(result: Result, inconclusive: Literal["pass", "fail"] | None) -> Result:
    """Return the result with the exit code that this call ends with."""
    verdict = result.facts["verdict"]
    code = exit_code(verdict, inconclusive)
    if inconclusive is None or verdict in EXIT_CODES:
        return result
    notes = [f"{verdict} counts as {inconclusive} (--inconclusive)", *result.notes]
    return result._replace(notes=notes, facts={**result.facts, "exit_code": code})

"""docs/peers.md: the table of correspondence with what came out for every case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peers.correspondence import METRICS, PEERS
from peers.verdicts import Ours, judge, recorded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from peers.correspondence import Metric, Peer
    from peers.verdicts import Verdict

CHECKS = 617
"""Action checks that the tau2 results at hand record."""
SERVED_TWICE = 2
"""Runs among them in which one call serves two expected actions."""
CHECKED_RUNS = 191
"""Runs that record any check."""
ADK_SCORES = 41
"""Trajectory scores that the ADK eval results at hand record."""
ADK_STRICT = 37
"""Of those, how many compare all arguments, in order."""

HEAD = """# Peers

Which of our columns, under which policy, is which metric of other evaluation packages. Made by `make pages` from the table in `tests/peers/`, where the recorded cases are at hand; `tests/peers/` checks it.

{total} pairs of expected and actual calls were given to each package as it is installed, and to trajtab as `pairs`. Equal means within 1e-9; a column is shown as `a × b` where their product is meant. For each case that differs a reason is named, and a reason has to predict the peer's number without seeing it, mostly thus: the case is written down the way the peer reads it (true as 1, say) and scored by us. The tests fail on a case that no reason predicts and on a reason that no case needs.
"""

REAL = f"""## On real logs

| recorded | ours | equal |
|---|---|---|
| tau2-bench: `action_match` of each expected action | `any_order_match`, `preset:tau2`, of a reference with that action alone | {CHECKS} of {CHECKS} |
| tau2-bench: every `action_match` of a run holds | `any_order_match`, `preset:tau2` | {CHECKED_RUNS - SERVED_TWICE} of {CHECKED_RUNS} runs; in {SERVED_TWICE} one call serves two expected actions |
| ADK eval results: `tool_trajectory_avg_score` | `exact_match_turns`, `preset:adk` | {ADK_STRICT} of {ADK_SCORES}; the others (`shanghai_travel_case`, `travel_alerts`, `write_ok` twice) ignore arguments by their own criterion, the first also order, and are 1 in `unordered_match_turns` once rules ignore the same arguments |
"""

REST = """## Not in the cases

Vertex AI computes its trajectory metrics in a hosted service, so they are set beside ours by what its documentation says, not by measurement:

| Vertex AI | ours, default policy | remark |
|---|---|---|
| `trajectory_exact_match` | `exact_match` | |
| `trajectory_in_order_match` | `in_order_match` | |
| `trajectory_any_order_match` | `any_order_match` | |
| `trajectory_precision` | `precision` | it counts the actual calls that occur in the reference; where a call is repeated more often than expected, ours counts the surplus as wrong |
| `trajectory_recall` | `recall` | likewise for expected calls that were made less often than expected |
| `trajectory_single_tool_use` | none | `[invariants] required_tools` counts the run as a violation if the tool is missing |

The strict mode of openevals compares messages, their roles included, and the calls of each message in any order: nearest is `exact_match` under `parallel = "unordered"`. Of strands, `exact_match_scorer` divides the matching positions by the number of expected calls (`position_match`: by that of the longer list), and `any_order_match_scorer` divides the distinct matches by it. Metrics that ask a model are no peers of ours.
"""


def _columns(metric: Metric) -> str:
    return " × ".join(f"`{column}`" for column in metric.columns)


def _policy(metric: Metric) -> str:
    return "default" if metric.policy == "preset:default" else f"`{metric.policy}`"


def _row(metric: Metric, verdicts: list[Verdict]) -> str:
    differ = [verdict for verdict in verdicts if verdict.reason is not None]
    refused = sum(verdict.theirs is None for verdict in differ)
    cells = [metric.title, _columns(metric), _policy(metric)]
    counts = [len(verdicts) - len(differ), len(differ) - refused, refused]
    return f"| {' | '.join([*cells, *map(str, counts)])} |"


def _why(judged: Mapping[Metric, list[Verdict]]) -> Iterator[str]:
    """Tell each reason once, with the cases it explains and the metrics that share them."""
    told: dict[tuple[str, str], dict[tuple[str, ...], list[str]]] = {}
    for metric, verdicts in judged.items():
        for reason in metric.reasons:
            cases = tuple(v.case_id for v in verdicts if v.reason is reason)
            told.setdefault((reason.name, reason.says), {}).setdefault(cases, []).append(
                metric.title
            )
    for (name, says), groups in told.items():
        yield f"- **{name}.** {says}"
        for cases, titles in groups.items():
            where = "" if len(judged) == 1 else f"{'; '.join(titles)}: "
            yield f"  - {where}{len(cases)}: {', '.join(f'`{case}`' for case in cases)}"


def _section(peer: Peer, judged: Mapping[Metric, list[Verdict]]) -> str:
    lines = [
        f"## {peer.name} {peer.version}\n",
        f"{peer.about}\n",
        "| theirs | ours | policy | equal | differ | refused |",
        "|---|---|---|---|---|---|",
        *(_row(metric, verdicts) for metric, verdicts in judged.items()),
        "",
    ]
    why = list(_why(judged))
    return "\n".join([*lines, *why, ""] if why else lines)


def text(verdicts: Mapping[str, list[Verdict]]) -> str:
    """Return the page of what came out, by the peers' names of their results."""
    sections = [
        _section(peer, {metric: verdicts[metric.result] for metric in peer.metrics})
        for peer in PEERS
    ]
    total = max(map(len, verdicts.values()))
    return "\n".join([HEAD.format(total=total), *sections, REAL, REST])


def page(cases: Path, folder: Path) -> str:
    """Return the page; the cases are landed and scored in `folder`."""
    told = recorded(cases)
    ours = Ours(told.cases, folder)
    return text({metric.result: judge(metric, told, ours) for metric in METRICS})

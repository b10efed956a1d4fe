"""Write the pages that are made from code: `python docs/generate.py`, or `--check` them."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from reference import commands_page, tables_page

from pipeline.landing import formats
from pipeline.landing.model import REASONS
from pipeline.metrics.registry import metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent

FAMILIES = {
    "ordered": "Order: against a reference, in sequence",
    "overlap": "Overlap: against a reference, in any order",
    "response": "Answers: against reference answers",
    "path": "Path: without a reference",
    "recovery": "Recovery: after a failure",
    "efficiency": "Efficiency",
    "composite": "Composite",
    "rules": "Rules: what no run may do",
    "outcome": "Outcome",
    "usage": "Usage",
}
BETTER = {
    "higher": "higher is better",
    "lower": "lower is better",
    "neither": "neither direction is better",
}

HEAD = """# Metrics

Made from the registry by `make pages`; `trajtab metrics NAME` prints the same. `E` is the list of expected calls (n of them), `A` the run's actual tool calls (m), `T` its decision steps: `llm_call`, `tool_call`, `final`. `tp` counts matched calls with repetition: the multiset intersection of E and A, or a maximum one-to-one matching where equality is only a relation. Undefined is null, never 0 and never NaN, and every table says how many rows were null.
"""


FORMATS_HEAD = """# Formats

Made from the registry by `make pages`; `trajtab formats` prints the same. A file's format is told by its content, in this order; `land` says what it took each file for and why, and `land --from NAME` names one outright. A record that cannot land is a row in `rejects`, with its reason.
"""
UNKNOWN = """## Fields that a format does not know

No field is lost in silence. One that a format neither reads nor names below as left out is kept as a label, and `land` says which and in how many records: of the run where the record, its envelope or its metadata has it, of the step where a message, a call or a span has it, of the task where a task has it. (A field of another type than the format says is a reject: `wrong_type`.)

- A nested field has a dotted name (`metadata.team`), without the numbers of lists; what a result says is under `result.` of its call. The value is JSON. Values that differ are a list of the distinct ones; null is nothing to keep.
- A value of more than 4 KiB becomes a text that says how long it was, `[5002 bytes, not kept]`.
- Where a label of that name is there already it stays, and the field is `unmapped.NAME`.
- `--redact` masks these labels like all else. `--drop outputs` keeps the names alone of fields found on calls and results, `--drop contents` of those on other steps; labels of runs stay.
- They are no part of what a run is identified by: an export with a new field still supersedes the one without.

`trajtab sql LAKE "SELECT DISTINCT unnest(json_keys(labels)) FROM runs"` lists what there is.
"""
REASONS_HEAD = """## Why a record is rejected

The reasons are a closed vocabulary: `trajtab sql LAKE "SELECT reason, count(*) FROM rejects GROUP BY 1"`.
"""


def _range(low: float | None, high: float | None, kind: str) -> str:
    if kind == "flag":
        return "0 or 1"
    if high is not None:
        return "0 to 1"
    return "0 and above" if low is not None else "any number"


def metrics_page() -> str:
    """Return docs/metrics.md."""
    parts = [HEAD]
    for family, title in FAMILIES.items():
        members = [metric for metric in metrics().values() if metric.family == family]
        if not members:
            continue
        parts.append(f"## {title}\n")
        for metric in members:
            kind = str(metric.kind)
            facts = [metric.meaning[:1].upper() + metric.meaning[1:] + "."]
            facts.append(f"- Formula: {metric.formula}")
            if kind != "text":
                shown = _range(metric.low, metric.high, kind)
                unit = f", {metric.unit}" if metric.unit else ""
                facts.append(f"- Range: {shown}{unit}; {BETTER[metric.better]}")
            facts.append(f"- Null: {metric.null}")
            facts.append(f"- Rests on: {metric.rests_on}")
            parts.append(f"### {metric.name}\n\n" + facts[0] + "\n\n" + "\n".join(facts[1:]) + "\n")
    return "\n".join(parts)


def _by_place(names: Sequence[str]) -> str:
    """Return dotted names, once each, grouped by what is before their last dot."""
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        place, _, last = name.rpartition(".")
        found.setdefault(place, []).append(f"`{last}`")
    listed = {place: ", ".join(group) for place, group in sorted(found.items())}
    return "; ".join(f"in `{at}` {group}" if at else group for at, group in listed.items())


def formats_page() -> str:
    """Return docs/formats.md."""
    parts = [FORMATS_HEAD]
    for form in formats.every():
        facts = [f"- Fills: {form.fills}", f"- Lacks: {form.lacks}"]
        if left := form.leaves_out():
            facts.append("- Leaves out: " + _by_place(left))
        if form.silence_is_success:
            facts.append("- A call that says nothing of an error worked")
        parts.append(f"## {form.name}\n\n{form.title}.\n\n" + "\n".join(facts) + "\n")
    reasons = "\n".join(f"- `{name}`: {meaning}" for name, meaning in REASONS.items())
    return "\n".join([*parts, UNKNOWN, REASONS_HEAD, reasons + "\n"])


def peers_page() -> str:
    """Return docs/peers.md: made anew where the recorded cases are at hand, else as it stands."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from conftest import REAL  # noqa: PLC0415 - of the tests, which are beside a checkout only
    from peers.page import page  # noqa: PLC0415 - same

    cases = REAL / "cases" / "peers.jsonl"
    if not cases.exists():
        return (HERE / "peers.md").read_text()
    with tempfile.TemporaryDirectory() as folder:
        return page(cases, Path(folder))


PAGES = {
    "commands.md": commands_page,
    "formats.md": formats_page,
    "metrics.md": metrics_page,
    "peers.md": peers_page,
    "tables.md": tables_page,
}


def main() -> int:
    """Write the pages, or with --check tell which are out of date."""
    made = {name: make() for name, make in PAGES.items()}
    stale = [n for n in made if not (HERE / n).exists() or (HERE / n).read_text() != made[n]]
    if "--check" in sys.argv:
        for name in stale:
            sys.stderr.write(f"docs/{name} is out of date: run `make pages`\n")
        return 1 if stale else 0
    for name in stale:
        (HERE / name).write_text(made[name])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

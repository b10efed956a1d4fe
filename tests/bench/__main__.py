"""Measure trajtab against the least work that could do, a plain script, and its peers."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from pipeline.landing.land import land
from pipeline.sample import sample

from . import growth, landing, peers, scoring, tables, whole
from .machine import machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .measuring import Row

ROWS = "abcdef"


class Numbers(click.ParamType):
    """Numbers with commas between them."""

    name = "numbers"

    def convert(self, value, param, ctx):
        try:
            return tuple(int(float(part)) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r}: numbers with commas between them are wanted", param, ctx)


@click.command()
@click.option("--rows", "wanted", default=ROWS, show_default=True, help="Which rows to measure.")
@click.option(
    "--runs", default=60_000, show_default=True, help="Runs of rows (a) to (c): one full batch."
)
@click.option("--peer-runs", default=400, show_default=True, help="Runs that each peer scores.")
@click.option("--growth-runs", default=62_000, show_default=True, help="Runs at 1x of row (e).")
@click.option(
    "--score-rows", type=Numbers(), default="1e6", show_default=True, metavar="N,...",
    help="Score rows of row (f); 1e6,1e7 is the whole of it.",
)  # fmt: skip
@click.option("--repeats", default=5, show_default=True, help="Medians of so many.")
@click.option(
    "-o", "--output", default="bench.json", show_default=True,
    type=click.Path(dir_okay=False, path_type=Path), help="Where the figures go, as JSON.",
)  # fmt: skip
def main(wanted, runs, peer_runs, growth_runs, score_rows, repeats, output) -> None:
    """Measure, print a table, and write JSON."""
    unknown = sorted(set(wanted) - set(ROWS))
    if unknown:
        raise click.BadParameter(f"{''.join(unknown)}: the rows are {ROWS}", param_hint="--rows")
    sizes = {
        "runs": runs, "peer_runs": peer_runs, "growth_runs": growth_runs,
        "score_rows": list(score_rows), "repeats": repeats,
    }  # fmt: skip
    told = machine()
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for row in measured(Path(folder), wanted, sizes):
            console.print(f"({row.row}) {row.what}: {shown(row)}", style="dim", highlight=False)
            found.append(row)
    console.print(f"{told['processor']}, {told['cpus']} CPUs, {told['memory_gib']} GiB, load {told['load']:.1f}; Python {told['python']}, {', '.join(f'{n} {v}' for n, v in told['versions'].items())}", highlight=False)  # fmt: skip
    console.print(drawn(found))
    content = {"machine": told, "sizes": sizes, "rows": [row._asdict() for row in found]}
    output.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    console.print(f"wrote {output}", highlight=False)


def measured(folder: Path, wanted: str, sizes: dict) -> Iterator[Row]:
    """Yield the rows as they come."""
    repeats = sizes["repeats"]
    log = lake = None
    if set(wanted) & set("abcd"):
        log = sample(folder / "log", runs=sizes["runs"], seed=1)[0].path
        lake = folder / "lake"
        land([log], lake, workers=1)
    if "a" in wanted:
        yield from scoring.rows(lake, repeats)
    if "b" in wanted:
        yield from landing.rows(log, folder / "landing", repeats)
    if "c" in wanted:
        yield from whole.rows(log, folder / "whole", repeats)
    if "d" in wanted:
        yield from peers.rows(log, lake, sizes["peer_runs"], repeats)
    if "e" in wanted:
        yield from growth.rows(folder / "growth", sizes["growth_runs"], repeats)
    if "f" in wanted:
        yield from tables.rows(folder / "tables", sizes["score_rows"], repeats)


def shown(row: Row) -> str:
    """Return a figure with its unit."""
    return "-" if row.value is None else f"{row.value:,.3g} {row.unit}".strip()


def drawn(rows: Sequence[Row]) -> Table:
    """Return the rows as a table."""
    table = Table("", "measured", "figure", "goal")
    table.columns[2].justify = "right"
    for row in rows:
        table.add_row(row.row, row.what, shown(row), row.goal)
    return table


if __name__ == "__main__":
    main()

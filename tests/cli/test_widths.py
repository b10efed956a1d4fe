"""Tables at the widths of people's terminals: what they are about stays, and what goes is told."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from making import call, run, want
from rich.cells import cell_len

from pipeline.cli.fitting import core
from pipeline.cli.table import render, shown
from pipeline.landing.land import land
from pipeline.scoring import score

WIDTHS = [60, 80, 100, 140]
IDS = [f"run-{n:08}-880e-180b-206a-985a0a452b53-attempt-{n:04}" for n in range(6)]
AGENTS = ["support-agent-with-a-long-name", "the-other-agent/v2"]
WHERE = "agent = '{}'"
LIMITS = '[[gate]]\nmetric = "f1"\nmax_drop = 0.1\n[[gate]]\nmetric = "error_rate"\nmax = 0.9\n'

COMMANDS = {
    "scores": (["scores", "LAKE"], ["id", "match"]),
    "aggregate": (["aggregate", "LAKE"], ["metric", "mean"]),
    "aggregate by three": (
        ["aggregate", "LAKE", "--by", "agent,model,task_id", "--metric", "f1,error_rate"],
        ["agent", "model", "id", "metric", "mean"],
    ),
    "percentiles": (["percentiles", "LAKE", "--by", "agent"], ["agent", "metric", "p50"]),
    "passk": (["passk", "LAKE", "--by", "agent"], ["agent", "version", "k"]),
    "trend": (
        ["trend", "LAKE", "--by", "agent", "--metric", "f1,n_calls"],
        ["bucket", "metric", "mean", "delta", "verdict"],
    ),
    "compare": (
        ["compare", "LAKE", "--baseline", WHERE.format(AGENTS[0]), "--candidate", WHERE.format(AGENTS[1])],
        ["metric", "delta", "verdict"],
    ),
    "gate": (
        ["gate", "LAKE", "--gate", "g.toml", "--baseline", WHERE.format(AGENTS[0]), "--candidate", WHERE.format(AGENTS[1])],
        ["metric", "rule", "verdict", "reason", "drop"],
    ),
    "check": (["check", "LAKE"], ["check", "severity", "subject", "detail"]),
    "show": (["show", "LAKE", IDS[0]], ["step", "kind", "what"]),
    "metrics": (["metrics"], ["name", "family", "range", "meaning"]),
    "formats": (["formats"], ["name", "title"]),
    "agreement": (["agreement", "LAKE"], ["item", "ordinal", "kappa", "rho", "f1"]),
    "sql": (["sql", "LAKE", "SELECT run_id, model, task_id, reward, trial FROM runs"], ["id"]),
}  # fmt: skip
"""Commands, and what their tables may not be without."""


@pytest.fixture(scope="module")
def long_lake(tmp_path_factory):
    """Six runs with names as they are in the wild, people's words on them, and one check to tell."""
    folder = tmp_path_factory.mktemp("widths")
    runs = [
        {
            **run(
                run_id,
                *(call(f"tool_{step % 2}", {"path": "/long/" + "x" * 70}) for step in range(3)),
                call("book", error="went wrong " * 8),
                agent=AGENTS[n % 2],
                agent_version=f"2026-01-15T10:11:12+nightly.{n % 2}",
                model="anthropic/claude-super-long-model-name-20260115",
                task_id="東京の予約タスク" if n < 2 else f"airline-rebooking-task-{n // 2:04}",
                trial=0,
                expected=[want("tool_0"), want("book")],
            ),
            "success": n % 3 == 0,
            "status": "ok",
            "labels": {"wide": "幅" * 40, "unse\u200ben": "x"},
        }
        for n, run_id in enumerate(IDS)
    ]
    said = [
        {"trajectory_id": run_id, "annotator_id": who, "overall_quality": 1 + (n * k) % 5}
        for n, run_id in enumerate(IDS)
        for k, who in enumerate(("ann-with-a-long-name@example.org", "bo"), 2)
    ]
    for name, rows in {"runs": [*runs, {"run_id": "bad"}], "said": said}.items():
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text)
        land([folder / f"{name}.jsonl"], folder / "lake", workers=1)
    score(folder / "lake")
    return folder / "lake"


@pytest.fixture
def at(monkeypatch, run, long_lake):
    """Call a command on a terminal of so many cells; None is no terminal."""
    Path("g.toml").write_text(LIMITS)

    def call_at(width, *args):
        for module in ("output", "show"):
            monkeypatch.setattr(f"pipeline.cli.{module}.terminal_width", lambda: width)
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("NO_COLOR", "1")
        return run(*(str(long_lake) if arg == "LAKE" else arg for arg in args))

    return call_at


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("args", "about"), COMMANDS.values(), ids=COMMANDS)
def test_what_a_table_is_about_fits_every_width(at, width, args, about):
    seen = at(width, *args)
    assert seen.exit_code in (0, 1), seen.stderr
    assert max(map(cell_len, seen.stdout.splitlines())) <= width
    # A head may be broken behind its underscores.
    assert set(about) <= {word.rpartition("_")[2] for word in seen.stdout.split()}


@pytest.mark.parametrize("width", WIDTHS)
def test_scores_of_long_ids_have_metrics(at, width):
    seen = at(width, "scores", "LAKE")
    rows = [line for line in seen.stdout.splitlines() if line.startswith("run-")]
    assert [len(re.findall(r"(?<= )[01](\.\d+)?(?= |$)", row)) >= 3 for row in rows] == [True] * 6
    assert "did not fit: a wider terminal or --format csv shows all" in seen.stderr


@pytest.mark.parametrize("width", WIDTHS)
def test_check_says_what_is_wrong_whole(at, width):
    whole = {row["detail"] for row in json.loads(at(None, "check", "LAKE", "--format", "json").stdout)["rows"]}  # fmt: skip
    seen = at(width, "check", "LAKE").stdout
    assert "did not fit" not in at(width, "check", "LAKE").stderr
    begin = seen.splitlines()[0].index("detail")
    cells = "".join(line[begin:].strip() for line in seen.splitlines()[2:])
    assert whole
    assert "".join("".join(whole).split()) == "".join(cells.split())


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "parquet"])
@pytest.mark.parametrize("name", ["scores", "aggregate", "compare", "check", "show", "agreement"])
def test_formats_for_programs_hold_everything_at_any_width(at, name, form):
    args, _ = COMMANDS[name]
    wide, narrow = (
        at(width, *args, "--format", form).stdout_bytes if form != "parquet"
        else at(width, *args, "-o", "out.parquet") and Path("out.parquet").read_bytes()
        for width in (None, 60)
    )  # fmt: skip
    assert narrow == wide


def test_many_columns_that_did_not_fit_are_counted_and_few_are_named(at):
    (told,) = (line for line in at(60, "scores", "LAKE").stderr.splitlines() if "fit:" in line)
    named, more = re.fullmatch(r"note: (.+) and (\d+) more columns did not fit: .*", told).groups()
    head, *_ = at(None, "scores", "LAKE").stdout.splitlines()
    assert len(named.split(", ")) == 8
    assert set(named.split(", ")) < set(head.split())
    assert len(head.split()) > 8 + int(more)


def test_a_further_table_names_itself_and_the_format_that_holds_it(at):
    told = at(60, "agreement", "LAKE").stderr
    assert re.search(r"note: sweep: .+ did not fit: a wider terminal or --format json shows", told)


class TestOneRow:
    ROW = pl.DataFrame({"name": ["a" * 12], "text": ["b" * 12], "n": [5], "delta": [0.25], "no": [None]})  # fmt: skip

    def test_that_fits_stays_flat(self):
        assert render(self.ROW, 80).text.splitlines()[0].split() == self.ROW.columns

    def test_that_does_not_is_turned_upright_and_whole(self):
        text, left_out = render(self.ROW, 30)
        assert left_out == []
        assert [line.split() for line in text.splitlines()[2:]] == [
            ["name", "a" * 12], ["text", "b" * 12], ["n", "5"], ["delta", "+0.25"], ["no", "–"],
        ]  # fmt: skip

    def test_is_shown_by_the_command_line(self, at):
        lines = at(60, "aggregate", "LAKE", "--metric", "n_calls").stdout.splitlines()
        told = dict(line.split() for line in lines[2:])
        assert (told["metric"], told["n_scored"], told["mean"]) == ("n_calls", "6", "4")


class TestCore:
    def core(self, **columns):
        frame = pl.DataFrame({name: [value] * 2 for name, value in columns.items()})
        return [column.name for column in core([shown(frame[name]) for name in frame.columns])]

    def test_texts_before_the_first_number_name_the_row(self):
        assert self.core(agent="a", model="m", metric="f1", n_total=1, mean=0.5, better="x") == [
            "agent", "model", "metric", "mean",
        ]  # fmt: skip

    def test_of_texts_alone_only_the_first_does(self):
        assert self.core(name="a", title="b", fills="c") == ["name"]

    def test_where_nothing_is_named_the_first_numbers_stay_and_counts_do_not(self):
        assert self.core(id="a", n_steps=1, a=1, b=2, ci_low=1, ci_high=2, d=4) == [
            "id", "a", "b", "ci_low", "ci_high",
        ]  # fmt: skip

    def test_an_empty_column_names_nothing(self):
        assert self.core(suite=None, task="t", metric="f1", drop=0.1) == ["suite", "task", "metric", "drop"]  # fmt: skip
        assert self.core(task="t", suite=None, metric="f1", drop=0.1) == ["task", "metric", "drop"]


def test_what_is_left_of_the_width_goes_to_the_text_that_folds_most():
    rows = pl.DataFrame({"check": ["c" * 30] * 2, "detail": ["word " * 40] * 2})
    head = render(rows, 60).text.splitlines()[0]
    assert head.index("detail") == 22


@pytest.mark.parametrize("width", WIDTHS)
def test_the_facts_of_a_run_wrap_by_cells(at, width):
    facts = at(width, "show", "LAKE", IDS[0]).stdout.split("\n\n")[0].splitlines()
    assert facts[0].startswith(f"run {IDS[0]}")
    assert max(map(cell_len, facts)) <= width
    assert sum(line.count("幅") for line in facts) == 40

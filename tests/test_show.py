"""One run shown: its steps, what was expected, how it scored, and no secret."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest
from lakes import final, landed, scored, trajtab
from making import call, run, want

from pipeline.errors import UnknownNameError
from pipeline.lake import Lake
from pipeline.timeline import CUT, show, timelines

KEY = "sk-0123456789abcdef"

BOOKING = run(
    "booking",
    {"kind": "message", "actor": "user", "content": "a seat\nplease", "turn_index": 0},
    {"kind": "llm_call", "content": "I search", "input_tokens": 30, "output_tokens": 5},
    call("search", {"api_key": KEY}, output="<b>none</b> [red]\x1b[31m", duration_ms=12.5),
    call("search", {"api_key": KEY}, error=f"401 Authorization: Bearer {KEY}"),
    call("book", output="x" * 500),
    final("booked"),
    task_id="t",
    suite="s",
    trial=2,
    agent="a",
    labels={"password": "hunter22"},
    expected=[want("book"), {"tool_name": "pay"}],
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    other = {**BOOKING, "agent": "b", "steps": [final("no")], "expected": [[want("book")], []]}
    return scored(
        tmp_path_factory.mktemp("show"), BOOKING, other, run("bored"), run("zebra", final())
    )


def shown(lake, capsys, run_id, *options):
    assert trajtab("show", lake.path, run_id, *options) == 0
    return capsys.readouterr()


class TestRows:
    def test_a_row_per_step(self, lake):
        rows = show(lake, "booking").rows.filter(pl.col("agent") == "a")
        steps = ["message", "llm_call", "tool_call", "tool_call", "tool_call", "final"]
        assert rows["kind"].to_list() == steps
        assert rows["step_index"].to_list() == [0, 1, 2, 3, 4, 5]
        assert rows["is_error"].to_list() == [None, None, False, True, False, None]
        assert rows["is_backtrack"].to_list() == [None, None, False, True, False, None]
        assert rows["expected_position"].to_list() == [None, None, None, None, 0, None]
        assert rows["input_tokens"].sum() == 30

    def test_secrets_are_masked_before_texts_are_cut(self, lake):
        for longest in (None, CUT, 20):
            rows = show(lake, "booking", longest=longest).rows
            told = rows.select(
                pl.concat_str(pl.all().cast(pl.String), ignore_nulls=True).str.join()
            )
            assert KEY[:8] not in told.item()
        assert show(lake, "booking").rows["tool_args"][2] == '{"api_key":"[redacted]"}'

    def test_texts_are_cut_only_where_asked(self, lake):
        assert show(lake, "booking", longest=None).rows["output"][4] == "x" * 500
        assert show(lake, "booking", longest=10).rows["output"][4] == "x" * 9 + "…"

    def test_every_run_of_the_id_is_there_and_named(self, lake):
        result = show(lake, "booking")
        assert result.rows.group_by("agent", maintain_order=True).len().rows() == [
            ("a", 6),
            ("b", 1),
        ]
        assert result.notes == ["2 runs have this id: booking (a), booking (b)"]

    def test_a_run_without_steps_has_no_row(self, lake):
        assert show(lake, "bored").rows.is_empty()

    def test_a_sources_own_id_finds_the_run(self, tmp_path):
        trial = {"task_id": 7, "trial": 1, "traj": [{"role": "user", "content": "hi"}]}
        lake = landed(tmp_path, json.dumps([trial]), form="taubench_v1")
        (derived,) = show(lake, "7/1").rows["run_id"].unique()
        assert derived != "7/1"
        assert show(lake, derived).rows.equals(show(lake, "7/1").rows)

    def test_an_unknown_id_names_near_ones(self, lake):
        with pytest.raises(UnknownNameError, match=r"no run 'bokking'; near it: 'booking'$"):
            show(lake, "bokking")

    def test_a_part_of_an_id_is_near_it(self, lake):
        with pytest.raises(UnknownNameError, match=r"no run 'king'; near it: 'booking'$"):
            show(lake, "king")

    @pytest.mark.parametrize("run_id", ["nosuch", ""])
    def test_no_id_is_named_that_is_not_near(self, lake, run_id):
        told = f"no run '{run_id}'; no id is like it; `trajtab scores {lake.path}` lists them"
        with pytest.raises(UnknownNameError, match=f"{re.escape(told)}$"):
            show(lake, run_id)

    def test_an_empty_lake_says_so(self, tmp_path):
        with pytest.raises(UnknownNameError, match="it holds no run"):
            show(Lake.create(tmp_path / "lake"), "x")


class TestTimeline:
    def test_expected_calls_are_those_it_was_scored_against(self, lake):
        first, second = timelines(lake, "booking")
        assert first.expected["tool_name"].to_list() == ["book", "pay"]
        assert first.expected["args_status"].to_list() == ["ok", "any"]
        assert second.expected["reference_id"].to_list() == [1]

    def test_a_task_gives_the_expected_calls_of_a_run_without_its_own(self, tmp_path):
        task = {"task_id": "t", "suite": "s", "references": [[want("of_task")]]}
        landed(tmp_path, task, form="tasks", name="tasks")
        lake = landed(
            tmp_path, run("r", final(), task_id="t", suite="s"), run("other", task_id="t")
        )
        assert timelines(lake, "r")[0].expected["tool_name"].to_list() == ["of_task"]
        assert timelines(lake, "other")[0].expected.is_empty()

    def test_scores_are_the_headline_ones(self, lake, tmp_path):
        scores = timelines(lake, "booking")[0].scores
        # Of book and pay, book happened; of the three calls one was expected.
        assert (scores["status"], scores["recall"], scores["precision"]) == ("scored", 1 / 2, 1 / 3)
        assert timelines(landed(tmp_path, run("r")), "r")[0].scores is None


class TestCommand:
    def test_a_readable_timeline_without_colours(self, lake, capsys):
        out = shown(lake, capsys, "booking").out
        head, steps = out.split("\n\n")[:2]
        assert head.splitlines()[0] == "run booking (a)"
        assert "task_id t, suite s, trial 2" in head
        assert '{"password":"[redacted]"}' in head
        assert "recall 0.5" in head
        assert "expected  book {}\n            pay (any arguments)" in head
        assert "user: a seat please" in steps
        assert 'search {"api_key":"[redacted]"} → <b>none</b> [red]\\x1b[31m' in steps
        assert 'search {"api_key":"[redacted]"} ✗ 401 Authorization: [redacted]' in steps
        assert "x" * CUT not in steps
        assert "\x1b" not in out
        assert "run booking (b)" in out
        assert "no call" in out

    @pytest.mark.parametrize("width", [50, 60, 80, 120])
    def test_it_fits_the_terminal_and_says_what_did_not(self, lake, capsys, monkeypatch, width):
        monkeypatch.setattr("pipeline.cli.show.terminal_width", lambda: width)
        found = shown(lake, capsys, "booking")
        assert max(map(len, found.out.splitlines())) <= width
        # A value stands beside its name wherever lines break.
        assert {"recall 0.5", "n_calls 3"} <= set(re.split(r", |,?\n *", found.out))
        head = next(line for line in found.out.splitlines() if line.startswith("step "))
        gone = [name for name in ("matches", "tokens", "ms") if name not in head.split()]
        assert bool(gone) == (f"{', '.join(gone)} did not fit" in found.err)

    def test_json_holds_texts_whole(self, lake, capsys):
        rows = json.loads(shown(lake, capsys, "booking", "--format", "json").out)["rows"]
        assert rows[4]["output"] == "x" * 500

    def test_files_beside_the_timeline(self, lake, capsys, tmp_path):
        full, brief = tmp_path / "steps.jsonl", tmp_path / "steps.md"
        shown(lake, capsys, "booking", "-o", full, "-o", brief)
        assert json.loads(full.read_text().splitlines()[4])["output"] == "x" * 500
        assert "x" * CUT not in brief.read_text()

    def test_an_unknown_id_is_an_input_error(self, lake, capsys):
        assert trajtab("show", lake.path, "bokking") == 2
        assert "near it: 'booking'" in capsys.readouterr().err

"""The page of one run: what it was asked, how it scored, its calls and its steps."""

from __future__ import annotations

import json

from lakes import final, landed, scored, trajtab
from making import call, run, want
from pages import Page, facts
from rich_lake import KEY, NAUGHTY

from pipeline.report.run.page import run_page
from pipeline.timeline import timelines

BOOKING = run(
    "booking",
    {"kind": "message", "actor": "user", "content": f"a seat, my key is {KEY}"},
    call("search", {"q": NAUGHTY}, output=f"none {KEY}", duration_ms=12.5),
    call("search", {"q": NAUGHTY}, error="no such thing"),
    {"kind": "tool_call", "tool_name": "pay"},
    final("booked", input_tokens=30, output_tokens=5),
    agent="a",
    task_id="t",
    labels={"team": NAUGHTY},
    expected=[want("search", {"q": NAUGHTY}), want("book")],
)


def shown(lake, run_id="booking"):
    return run_page(lake, timelines(lake, run_id))


def test_facts_scores_calls_and_steps(tmp_path):
    text = shown(scored(tmp_path, BOOKING))
    page = Page(text)
    found = facts(text)
    assert (found["agent"], found["task_id"], found["source_line"]) == ("a", "t", "1")
    assert (found["n_calls"], found["recall_names"]) == ("3", "0.5")
    calls = [
        (row[""], row["#"], row["expected"].split(" ")[0], row["step"])
        for row in page.table("Calls")
    ]
    assert calls == [
        ("= equal", "0", "search", "1"),
        ("- missing", "1", "book", ""),
        ("+ extra", "", "", "2"),
        ("+ extra", "", "", "3"),
    ]
    steps = page.table("Steps")
    assert [row["kind"] for row in steps] == [
        "message",
        "tool_call",
        "tool_call",
        "tool_call",
        "final",
    ]
    assert steps[0]["what"] == "user: a seat, my key is [redacted]"
    assert steps[2]["what"].endswith("✗ failed no such thing")
    assert steps[3]["what"] == "pay (arguments not captured)"
    assert (steps[1]["ms"], steps[4]["tokens"]) == ("12.5", "35")


def test_lines_of_what_was_said_stay_lines(tmp_path):
    said = f"First.\n\nkey {KEY}\r\nthen \x1b[31m"
    lake = scored(tmp_path, run("booking", call("x", output="a\nb"), final(said)))
    call_row, last = Page(shown(lake)).table("Steps")
    assert last["what"] == "First.\n\nkey [redacted]\nthen \\x1b[31m"
    assert call_row["what"].endswith("→ a\nb")


def test_what_is_missing_is_named_and_failure_stands_beside_the_call(tmp_path):
    made = call("book", {"row": 2}, error="full")
    lake = scored(tmp_path, run("booking", made, expected=[want("book", {"row": 2, "seat": 1})]))
    text = shown(lake)
    assert "<small>seat: 1</small>" in text
    assert '{&quot;row&quot;:2}</span> <span class="sign bad">✗ failed</span>' in text
    assert "<small>seat (missing)</small><small>→ full</small>" in text


def test_nothing_acts_and_no_secret_is_shown(tmp_path):
    text = shown(scored(tmp_path, BOOKING))
    assert "<img" not in text
    assert "<script" not in text
    assert KEY[:8] not in text


def test_not_scored_yet_and_no_reference(tmp_path):
    text = shown(landed(tmp_path, run("booking", final())))
    assert "none yet: `trajtab score` makes them" in text
    assert "no reference" in text
    Page(text)


def test_runs_that_share_an_id_are_folded_apart(tmp_path):
    lake = scored(tmp_path, *(run("booking", call("x"), agent=agent) for agent in "ab"))
    text = shown(lake)
    assert text.count("<details open>") == 2
    assert [name in text for name in ("booking (a)", "booking (b)")] == [True, True]


def test_show_writes_it_beside_what_it_prints(tmp_path, capsys):
    lake = scored(tmp_path, BOOKING)
    files = ("-o", tmp_path / "run.html", "-o", tmp_path / "run.csv")
    assert trajtab("show", lake.path, "booking", *files, "--format", "json") == 0
    assert (tmp_path / "run.html").read_text() == shown(lake)
    assert (tmp_path / "run.csv").read_text().startswith("run_id,")
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 5

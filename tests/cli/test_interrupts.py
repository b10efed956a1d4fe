"""Ctrl-C: whatever a command is at, it ends soon, with 130 and a word."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lakes import final, scored
from making import call, run
from processes import needs_account, work

ROOT = Path(__file__).resolve().parents[2]
ENDLESS = (
    "(SELECT sum(a.range * b.range) FROM range(10000000) AS a, range(10000000) AS b"
    " WHERE a.range % 7 = b.range % 5)"
)
HEARD = (
    "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "runpy.run_module('pipeline', run_name='__main__')"
)
"""Of a job in the background the signal would be ignored."""
LONG = 60
"""Seconds within which a command must end: the query takes hours."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupts")
    return scored(folder, run("a", [call("search"), final("b")]))


@needs_account
@pytest.mark.parametrize(
    "command",
    [
        ("sql", "{lake}", f"SELECT {ENDLESS}"),
        ("aggregate", "{lake}", "--where", f"{ENDLESS} > 0"),
        ("compare", "{lake}", "--baseline", f"{ENDLESS} > 0", "--candidate", "true"),
    ],
    ids=lambda command: command[0],
)
def test_a_query_without_end_is_stopped(lake, command):
    words = [word.format(lake=lake.path) for word in command]
    with subprocess.Popen(
        [sys.executable, "-c", HEARD, *words],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        work(process, 3)  # the query has begun: to start takes a second
        process.send_signal(signal.SIGINT)
        try:
            out, said = process.communicate(timeout=LONG)
        finally:
            process.kill()
    assert process.returncode in (130, -signal.SIGINT)  # a shell says 130 of both
    assert out == ""
    assert said.endswith("trajtab: error: interrupted\n")

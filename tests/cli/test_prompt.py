"""The prompt of `trajtab sql`, on a terminal of its own: what a person types, and sees."""

from __future__ import annotations

import builtins
import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lakes import final, scored, trajtab
from making import call, run, want
from processes import needs_account, rest, work

from pipeline import interrupts, workbench

ROOT = Path(__file__).resolve().parents[2]
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
PROMPT = "sql> "
LONG = 60
"""Seconds after which nothing more is expected to come."""
TAKE_TERMINAL = (
    "import fcntl, runpy, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "runpy.run_module('pipeline', run_name='__main__')"
)
"""So that Ctrl-C interrupts, the terminal must be the session's own."""


class Terminal:
    """`trajtab sql` on a pseudo-terminal."""

    def __init__(self, lake, *options, **env):
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL, "sql", lake, *options],
            stdin=slave, stdout=slave, stderr=slave, cwd=ROOT, start_new_session=True,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "120", **env},
        )  # fmt: skip
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)

    def until(self, text):
        """Return what is shown up to and with `text`."""
        seen = ""
        while text not in seen:
            ready, _, _ = select.select([self._master], [], [], LONG)
            try:
                more = os.read(self._master, 4096) if ready else b""
            except OSError:  # the other end is closed
                more = b""
            if not more:
                pytest.fail(f"{text!r} never came; seen: {seen}")
            seen = CONTROL.sub("", seen + more.decode()).replace("\r", "")
        return seen

    def type(self, keys, until=PROMPT):
        os.write(self._master, keys.encode())
        return self.until(until)

    def leave(self, keys="\x04"):
        os.write(self._master, keys.encode())
        return self.process.wait(timeout=LONG)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    search = call("search", {"q": "x"})
    return scored(
        tmp_path_factory.mktemp("lake"),
        run("r1", search, final(), expected=[want("search", {"q": "x"})]),
        run("r0", final()),
    ).path


@needs_account
def test_a_conversation(lake, tmp_path):
    with Terminal(lake, XDG_STATE_HOME=str(tmp_path)) as terminal:
        greeting = terminal.until(PROMPT)
        assert "views: runs, steps, calls" in greeting
        assert "policy: args exact" in greeting
        terminal.type("SELECT run_id,\n", until="...> ")
        answer = terminal.type("n_rows FROM runs ORDER BY n_rows DESC;\n")
        assert re.search(r"run_id +n_rows\n─+\nr1 +2\nr0 +1\n", answer)
        assert "2 rows" in answer
        assert 'Did you mean "runs"?' in terminal.type("FROM rnus;\n")
        assert "only SELECT runs here" in terminal.type("DROP VIEW runs;\n")
        again = terminal.type("\x1b[A\x1b[A\x1b[A\n")  # three statements up, in one line
        assert "SELECT run_id, n_rows FROM runs" in again
        assert "2 rows" in again
        terminal.type("SELECT nonsense\n", until="...> ")
        rest(
            terminal.process
        )  # Python overlooks a signal that comes just before it waits for a key
        terminal.type("\x03")  # forgets what was begun
        assert "1 row\n" in terminal.type("SELECT 7 AS n;\n")
        assert re.search(r"\nrefs +1\n", terminal.type(".tables\n"))
        assert "did you mean '.tables'?" in terminal.type(".tabels\n")
        assert "FROM scores" in terminal.type("FROM sco\t;\n")
        assert terminal.leave() == 0
    history = (tmp_path / "trajtab" / "sql_history").read_text().splitlines()
    assert history[-1] == "FROM scores;"
    assert "SELECT run_id, n_rows FROM runs ORDER BY n_rows DESC;" in history


@needs_account
def test_an_interrupt_ends_the_query_and_not_the_prompt(lake):
    with Terminal(lake, TRAJTAB_HISTORY="") as terminal:
        terminal.until(PROMPT)
        endless = "SELECT count(*) FROM range(1000000000000000) AS t(n) WHERE n < 0;"
        os.write(terminal._master, f"{endless}\n".encode())
        work(terminal.process, 0.5)
        assert "interrupted" in terminal.type("\x03")
        assert "1 row\n" in terminal.type("SELECT 7 AS n;\n")
        assert terminal.leave("quit\n") == 0


def test_a_late_word_of_an_interrupt_stops_no_later_query(monkeypatch, typed):
    """Ctrl-C at the prompt wakes a thread, which may be late: the next query runs by then."""
    read, write = os.pipe()
    os.write(write, bytes([signal.SIGINT]) * 100)
    os.close(write)

    def late(n):
        interrupts._tell(read)
        return n

    opened = workbench.session

    def session(*args, **options):
        con = opened(*args, **options)
        con.create_function("late", late, ["BIGINT"], "BIGINT")
        return con

    monkeypatch.setattr(workbench, "session", session)
    out, err = typed("SELECT sum(late(n)) AS n FROM range(100000) AS t(n);")
    assert out == "n\n4999950000\n"
    assert "INTERRUPT" not in err


@pytest.fixture
def typed(lake, capsys, monkeypatch):
    """Type lines at a prompt whose stdout is no terminal; return stdout and stderr."""

    def ask(*lines, options=("--format", "csv")):
        stdin = io.StringIO()
        monkeypatch.setattr(stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setenv("TRAJTAB_HISTORY", "")
        left = iter([*lines, EOFError])

        def read(_prompt):
            line = next(left)
            if isinstance(line, str):
                return line
            raise line

        monkeypatch.setattr(builtins, "input", read)
        assert trajtab("sql", lake, *options) == 0
        shown = capsys.readouterr()
        return shown.out, shown.err

    return ask


def test_prompts_are_no_part_of_the_data(typed):
    out, err = typed(
        "SELECT run_id", "FROM runs", "WHERE n_rows = 2;", "FROM rnus;", "SELECT 7 AS n;"
    )
    assert out == "run_id\nr1\nn\n7\n"
    assert 'Did you mean "runs"?' in err
    assert err.count("sql> ") == 4
    assert err.count("...> ") == 2


def test_a_semicolon_inside_a_text_ends_nothing(typed):
    assert typed("SELECT 'a;", "b' AS t;")[0] == 't\n"a;\nb"\n'


def test_two_statements_are_answered_in_turn(typed):
    assert typed("SELECT 1 AS a; SELECT 2 AS b;")[0] == "a\n1\nb\n2\n"


def test_parameters_serve_the_statements_that_name_them(typed):
    out, err = typed(
        "SELECT 1 AS a;", "SELECT $x AS x;", options=("--format", "csv", "--param", "x=y")
    )
    assert out == "a\n1\nx\ny\n"
    assert "error" not in err


def test_words_with_a_dot(typed):
    out, _ = typed(".schema refs", ".macros;", ".help")
    assert "refs,tool_name,VARCHAR\n" in out
    assert '\nin_order,"in_order(expected, actual)"\n' in out
    assert ".schema VIEW," in out
    assert "unknown view 'ref'; did you mean 'refs'?" in typed(".schema ref")[1]


@pytest.mark.parametrize("word", ["\\q", "quit;", "EXIT", ".quit"])
def test_words_that_leave(typed, word):
    assert typed(word, "SELECT 1;")[0] == ""

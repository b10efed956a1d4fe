"""The prompt of `trajtab sql`: a statement ends with ';', a dot command asks about the lake."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import click
import duckdb

from pipeline import interrupts, workbench
from pipeline.cli import dot_commands
from pipeline.cli.line_editing import Editing
from pipeline.cli.output import emit, say
from pipeline.errors import TrajtabError
from pipeline.tables.result import Result
from pipeline.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl
    from duckdb import DuckDBPyConnection

    from pipeline.cli.options import Outputs

Answer = TypeVar("Answer")

FIRST, NEXT = "sql> ", "...> "
TICK = 0.1
"""Seconds."""
QUIT = frozenset({"\\q", "quit", "exit", ".quit", ".exit"})


class Prompt:
    """Answers one statement after the other; an error does not end it."""

    def __init__(
        self,
        con: DuckDBPyConnection,
        parameters: Mapping[str, object],
        outputs: Outputs,
        tell: Callable[[Result, Outputs], None],
    ) -> None:
        self.con = con
        self.parameters = parameters
        self.outputs = outputs
        self.tell = tell

    def run(self) -> None:
        """Read and answer until the person leaves."""
        words = [*dot_commands.columns(self.con), *dot_commands.macros(self.con)]
        interrupts.release(self.con)
        with Editing(words, tables=workbench.VIEWS) as editing:
            while True:
                try:
                    text = self._read(editing)
                    if text.strip().rstrip("; ").lower() in QUIT:
                        return
                    self._reply(text)
                except EOFError:
                    click.echo(err=True)
                    return
                except KeyboardInterrupt:  # forgets what was begun
                    click.echo(err=True)

    def _read(self, editing: Editing) -> str:
        """Read lines up to the ';' that ends a statement; a word of the prompt is a line."""
        lines: list[str] = []
        while True:
            line = _line(NEXT if lines else FIRST)
            if not lines and not line.strip():
                continue
            lines.append(line)
            text = "\n".join(lines)
            if (len(lines) == 1 and _is_word(line)) or self._is_whole(text):
                editing.remember(lines)
                return text

    def _reply(self, text: str) -> None:
        """Answer, or say why not."""
        try:
            self._answer(text.strip())
        except TrajtabError as error:
            say(f"error: {error}")
        except KeyboardInterrupt:
            say("interrupted")

    def _is_whole(self, text: str) -> bool:
        """Tell whether a text ends with a ';' that is in no string and no comment."""
        if not text.rstrip().endswith(";"):
            return False
        try:
            self.con.extract_statements(text)
        except duckdb.Error as error:
            return "unterminated" not in str(error)
        return True

    def _answer(self, text: str) -> None:
        if text.startswith("."):
            words = text.rstrip(";").split()
            emit(self._stoppable(lambda: dot_commands.answer(self.con, *words)), self.outputs)
            return
        for statement in self._split(text):
            rows = self._stoppable(partial(self._select, statement))
            self.tell(Result("sql", rows, []), self.outputs)
            say(counted(rows.height, "row"))

    def _stoppable(self, ask: Callable[[], Answer]) -> Answer:
        """Ask in a thread: DuckDB hears of Ctrl-C only if it is told, while it works at this."""
        with ThreadPoolExecutor(1) as pool:
            working = pool.submit(ask)
            try:
                while not wait([working], timeout=TICK).done:
                    pass  # a signal that another thread received is noticed at the next tick
                return working.result()
            except KeyboardInterrupt:
                self.con.interrupt()
                raise

    def _select(self, statement: str) -> pl.DataFrame:
        return workbench.select(self.con, statement, self._used(statement))

    def _split(self, text: str) -> list[str]:
        """Return the statements of a text; one that cannot be parsed stays whole."""
        with suppress(duckdb.Error):
            return [statement.query for statement in self.con.extract_statements(text)]
        return [text]

    def _used(self, statement: str) -> dict[str, object]:
        """Return the parameters that a statement names: DuckDB refuses the others."""
        with suppress(duckdb.Error):
            (parsed,) = self.con.extract_statements(statement)
            return {k: v for k, v in self.parameters.items() if k in parsed.named_parameters}
        return dict(self.parameters)


def _is_word(line: str) -> bool:
    word = line.strip().rstrip("; ").lower()
    return word.startswith(".") or word in QUIT


def _line(prompt: str) -> str:
    """Read a line; where stdout is a file or pipe, the prompt is no part of the data."""
    if sys.stdout.isatty():
        return input(prompt)
    click.echo(prompt, nl=False, err=True)
    return input("")

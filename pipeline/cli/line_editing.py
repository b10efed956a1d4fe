"""Line editing for prompts: a history that outlives the session, and words completed by Tab."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST = 1000
"""So many statements are remembered."""

KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "LEFT JOIN",
    "USING", "WITH", "AS", "AND", "OR", "NOT", "NULL", "IS", "IN", "CASE", "WHEN", "THEN", "ELSE",
    "END", "DISTINCT", "FILTER", "DESC", "QUALIFY", "UNION ALL", "ANTI JOIN", "EXCLUDE",
)  # fmt: skip


def history_file() -> Path | None:
    """Return where statements are remembered: `TRAJTAB_HISTORY`; set but empty, nowhere."""
    named = os.environ.get("TRAJTAB_HISTORY")
    if named is not None:
        return Path(named) if named else None
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state, "trajtab", "sql_history")


class Editing:
    """Keys, history and completion while it is open; without the readline module, nothing."""

    def __init__(self, words: Iterable[str], tables: Iterable[str] = ()) -> None:
        self._words = sorted({*words, *tables, *KEYWORDS}, key=str.lower)
        self._tables = sorted(tables)
        self._file = history_file()
        self._readline: Any = None

    def __enter__(self) -> Self:
        try:
            self._readline = import_module("readline")  # once imported, it edits what is typed
        except ImportError:
            return self
        self._readline.set_auto_history(False)
        self._readline.set_completer(self.candidate)
        self._readline.set_completer_delims(" \t\n()[],;=<>+-*/'\"")
        libedit = "libedit" in (self._readline.__doc__ or "")
        self._readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
        if self._file is not None:
            with suppress(OSError):  # none yet, or unreadable: a prompt without its past is one too
                self._readline.read_history_file(self._file)
        return self

    def __exit__(self, *_: object) -> None:
        if self._readline is None:
            return
        self._readline.set_completer(None)
        self._readline.set_auto_history(True)
        if self._file is None:
            return
        with suppress(OSError):  # a read-only home is no reason to fail
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._readline.set_history_length(MOST)
            self._readline.write_history_file(self._file)
            self._file.chmod(0o600)  # statements may name customers

    def remember(self, lines: Sequence[str]) -> None:
        """Keep a statement: in one line, so that it comes back whole, unless comments forbid."""
        if self._readline is None:
            return
        one = [" ".join(line.strip() for line in lines)]
        for line in lines if any("--" in line for line in lines) else one:
            self._readline.add_history(line)

    def candidate(self, begun: str, number: int) -> str | None:
        """Return the number-th word that begins so, whatever its case.

        >>> Editing(["runs", "run_id"]).candidate("RUN", 1)
        'runs'
        """
        known = self._tables if self._wants_table() else self._words
        found = [word for word in known if word.lower().startswith(begun.lower())]
        return found[number] if number < len(found) else None

    def _wants_table(self) -> bool:
        """Tell whether a table's name comes next, where any are known."""
        if self._readline is None or not self._tables:
            return False
        before = self._readline.get_line_buffer()[: self._readline.get_begidx()]
        return bool(before.upper().rstrip().endswith(("FROM", "JOIN")))

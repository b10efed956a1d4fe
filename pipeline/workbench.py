"""SQL over a lake, read-only by construction.

The views are `runs`, `steps`, `calls`, `tasks`, `refs`, `scores`, `annotations`, `judgments` and `rejects`; all
exist in an empty lake too. DuckDB is handed the lake's files as Arrow datasets, may open no file itself, and
runs single SELECT statements only.
"""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

import duckdb
import polars as pl

from pipeline import queries
from pipeline.arguments import checked
from pipeline.current import current, policy_of
from pipeline.duck import confine, connect
from pipeline.errors import QueryError
from pipeline.landed import dataset, opened, sources
from pipeline.plain import frame
from pipeline.shell import init_script
from pipeline.tables.result import Result
from pipeline.tables.session import unscored
from pipeline.text import is_utf8, refusal

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from duckdb import DuckDBPyConnection, Statement

    from pipeline.current import Current
    from pipeline.lake import Lake
    from pipeline.policy import Policy

__all__ = ["VIEWS", "init_script", "opened", "query", "select", "session"]

VIEWS = (
    "runs", "steps", "calls", "tasks", "refs", "scores", "annotations", "judgments", "rejects",
)  # fmt: skip

_NO_TABLE = re.compile(
    r'(?P<missed>Table with name .+ does not exist!)( Did you mean "(?P<near>[^"]+)"\?)?'
)


@checked
def query(
    lake: Lake | str | os.PathLike[str],
    text: str,
    *,
    policy: str | os.PathLike[str] | None = None,
    parameters: Mapping[str, object] | None = None,
) -> Result:
    """Run one SELECT over the views of a lake.

    Args:
        lake: a lake or its folder.
        text: the statement; `$name` stands for a parameter.
        policy: whose scores the view `scores` shows: a policy file or `preset:NAME`; default:
            the lake's own.
        parameters: values by name.

    Returns:
        The rows of the statement, of the dtypes DuckDB gives them.

    Raises:
        QueryError: it is not one SELECT statement, it reaches outside the lake, or DuckDB
            refuses it.

    >>> from pipeline.sample import example
    >>> text = "SELECT count(*) AS runs FROM runs WHERE agent = $who"
    >>> query(example(), text, parameters={"who": "demo"}).rows
    shape: (1, 1)
    ┌──────┐
    │ runs │
    │ ---  │
    │ i64  │
    ╞══════╡
    │ 32   │
    └──────┘
    """
    lake = opened(lake)
    rules = policy_of(lake, policy)
    state = current(lake, rules)
    with closing(session(lake, rules, state=state)) as con:
        rows = select(con, text, parameters)
    notes = [f"policy: {rules.title}", *unscored(state, policy)]
    return Result("sql", rows, notes if "scores" in text.lower() else [])


def session(
    lake: Lake,
    policy: Policy,
    extra: Mapping[str, pl.DataFrame] | None = None,
    *,
    state: Current | None = None,
    confined: bool = True,
    macros: bool = True,
    threads: int | None = None,
) -> DuckDBPyConnection:
    """Open DuckDB with the views of a lake, every macro, and tables of `extra`.

    The lake is shown as it was when `state` was found, or else as it is. A session that is not
    `confined` is for our own queries: it may spill to the disk. Of these, those that call no macro
    do without them (`macros`): making them is half of what it takes to open a small lake.
    """
    con = connect(threads, macros=macros)
    state = state or current(lake, policy)
    for landed in sources(lake, state, policy):
        con.register(landed.name, dataset(landed))
    gone = pl.DataFrame({"run_key": state.superseded}, schema={"run_key": pl.UInt64})
    ours = {"superseded": gone, "opinions": state.opinions.columns}
    for name, table in {**ours, **(extra or {})}.items():
        con.register(name, table.to_arrow())
    con.execute(queries.read("views"))
    if confined:
        confine(con)
    return con


def select(
    con: DuckDBPyConnection, text: str, parameters: Mapping[str, object] | None = None
) -> pl.DataFrame:
    """Run one SELECT in a session and return plain columns: text, numbers, times, lists.

    Raises:
        QueryError: it is not one SELECT statement, a parameter is none of its, or DuckDB refuses it.
    """
    if not is_utf8(text):
        raise QueryError("the query must be UTF-8")
    try:
        statement = _only_select(con.extract_statements(_open_ended(text)))
        if unused := sorted({*(parameters or ())} - {*statement.named_parameters}):
            raise QueryError(f"the query has no ${unused[0]}: a parameter for it is given in vain")
        found = con.sql(statement, params=dict(parameters)) if parameters else con.sql(statement)
        return frame(found)
    except duckdb.Error as error:
        raise QueryError(_without_table(refusal(error, text))) from error


def _without_table(told: str) -> str:
    """Name the views where a table is missed, unless DuckDB guessed one of them.

    >>> _without_table('Table with name x does not exist! Did you mean "y"?')[:60]
    'Table with name x does not exist! The views are runs, steps,'
    """
    missed = _NO_TABLE.search(told)
    if missed is None or missed["near"] in VIEWS:
        return told
    return f"{told[: missed.end('missed')]} The views are {', '.join(VIEWS)}"


def _open_ended(text: str) -> str:
    """Return a statement without the semicolon that ends it: it may have comments behind it.

    >>> _open_ended("SELECT ';'; -- done;")
    "SELECT ';'"
    """
    told = text.encode()  # tokens are placed by bytes
    end = len(told)
    for start, kind in reversed(duckdb.tokenize(text)):
        if told[start : start + 1] == b";":
            end = start
        elif kind is not duckdb.token_type.comment:
            break
    return told[:end].decode()


def _only_select(statements: list[Statement]) -> Statement:
    if len(statements) != 1:
        raise QueryError(f"one SELECT statement is needed; {len(statements) or 'none'} given")
    kind = statements[0].type
    if kind is duckdb.StatementType.MULTI:
        raise QueryError("PIVOT needs its values here: PIVOT … ON column IN ('a', 'b') USING …")
    if kind is not duckdb.StatementType.SELECT:
        raise QueryError(f"only SELECT runs here, the lake is read-only; this is {kind.name}")
    return statements[0]

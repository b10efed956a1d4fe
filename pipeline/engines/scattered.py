"""Runs that are scattered over files: what may be regrouped, and where a row says which run it is of.

What may be regrouped: JSON lines, or Parquet, in which every row names its run in one place (the
spans of a trace, the steps of a run). Rows go by a hash of that name to a partition (`placing`);
in it they are sorted by run, then by file and line, and written to files that end where a run
ends (`whole_runs`). Rows that name no run keep to their file's order and come first. So what is
written depends on the rows alone, not on the engine or the number of tasks.

```
TARGET/part-00007/rows-000.jsonl   (or .parquet)
```
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import InputError
from pipeline.landing.records.reader import PARQUET

if TYPE_CHECKING:
    from pathlib import Path

PART, RUN, FILE, LINE, BODY = (
    f"__trajtab_{name}" for name in ("part", "run", "file", "line", "body")
)
"""The columns that say where a row belongs, and a JSON line, under names that no log uses."""
ORDER = [PART, RUN, FILE, LINE]


@dataclass(frozen=True)
class Scattered:
    """Files in which runs are scattered, and where a row names its run.

    `key` is a column of Parquet files; in JSON lines, a name, or a JSON path: `trace_id`,
    `$.resource.session.id`.
    """

    files: list[Path]
    key: str

    @cached_property
    def parquet(self) -> bool:
        """Are the files Parquet? All of them must be, or none.

        Raises:
            InputError: some are.
        """
        kinds = {file: _is_parquet(file) for file in self.files}
        if len(set(kinds.values())) > 1:
            one = next(file for file, parquet in kinds.items() if parquet)
            raise InputError(f"{one} is Parquet, other files are not: regroup them one at a time")
        return any(kinds.values())

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a row beside those that say where it belongs.

        Raises:
            InputError: no Parquet file has the key, or files disagree on a column's type.
        """
        if not self.parquet:
            return pa.schema([pa.field(BODY, pa.binary())])
        try:
            found = pa.unify_schemas([pq.read_schema(file) for file in self.files])
        except pa.ArrowException as error:
            raise InputError(f"the Parquet files cannot be regrouped: {error}") from error
        if self.key not in found.names:
            raise InputError(f"--regroup {self.key}: the Parquet files have no such column")
        return pa.schema([pa.field(field.name, _plain(field.type)) for field in found])

    @property
    def path(self) -> str:
        """The key as a JSON path."""
        return self.key if self.key.startswith("$") else f"$.{self.key}"

    @property
    def suffix(self) -> str:
        """The suffix of the files written."""
        return "parquet" if self.parquet else "jsonl"


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return a type without its variants for large values or views, which Spark does not know.

    >>> _plain(pa.large_list(pa.struct([("name", pa.string_view())])))
    ListType(list<element: struct<name: string>>)
    """
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(pa.field("element", _plain(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(part.name, _plain(part.type)) for part in kind])
    return kind


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(PARQUET)) == PARQUET

"""A result as JUnit XML: a row is a test case, its `verdict` decides, other values are properties.

What names a row stays the same from run to run: the columns up to the metric, or the k of pass@k,
and the texts before the verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import polars as pl

from pipeline.text import cell, visible

if TYPE_CHECKING:
    from pipeline.tables.result import Result

VERDICT = "verdict"
REASON = "reason"
KEYS = ("metric", "k")
"""The last of the columns that tell the rows of a table apart."""
FAILED = frozenset({"fail", "worse"})
PASSED = frozenset({"pass", "better", "same", "changed"})


def to_xml(result: Result) -> bytes:
    """Return the test suite. A row without a verdict passes.

    One not judged is an error where the command exits so, else skipped.
    """
    rows = result.rows
    verdicts = rows[VERDICT].to_list() if VERDICT in rows.columns else ["pass"] * rows.height
    failed = sum(verdict in FAILED for verdict in verdicts)
    unknown = sum(verdict not in PASSED | FAILED for verdict in verdicts)
    lenient = result.facts.get("exit_code", 0) == 0
    counts = {"tests": str(rows.height), "failures": str(failed)}
    counts |= {"skipped" if lenient else "errors": str(unknown)}
    counts.setdefault("errors", "0")
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": f"trajtab {result.kind}", **counts})
    for values, verdict in zip(rows.to_dicts(), verdicts, strict=True):
        case = _case(suite, result.kind, values, _naming(rows))
        if verdict in FAILED:
            _add(case, "failure", case.get("name", ""), values)
        elif verdict not in PASSED:
            _add(case, "skipped" if lenient else "error", f"not judged: {cell(verdict)}", values)
    if result.notes:
        ET.SubElement(suite, "system-out").text = visible("; ".join(result.notes))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def _naming(rows: pl.DataFrame) -> list[str]:
    """Return the columns that together name a row."""
    names = rows.columns
    known = names[: names.index(VERDICT)] if VERDICT in names else names
    keys = max((names.index(key) + 1 for key in KEYS if key in names), default=0)
    texts = [name for name in known[keys:] if rows.schema[name] == pl.String]
    return [*known[:keys], *texts]


def _case(suite: ET.Element, kind: str, values: dict[str, Any], naming: list[str]) -> ET.Element:
    named = [f"{name}={cell(values[name])}" for name in naming if values[name] is not None]
    told = {"classname": f"trajtab.{kind}", "name": ", ".join(named) or kind}
    case = ET.SubElement(suite, "testcase", told)
    properties = ET.SubElement(case, "properties")
    for name, value in values.items():
        if value is not None:
            told = {"name": visible(name), "value": cell(value)}
            ET.SubElement(properties, "property", told)
    return case


def _add(case: ET.Element, tag: str, message: str, values: dict[str, Any]) -> None:
    reason = f": {cell(values[REASON])}" if values.get(REASON) else ""
    ET.SubElement(case, tag, {"message": message + reason})

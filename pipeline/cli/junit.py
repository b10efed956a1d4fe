"""A result as JUnit XML: a row is a test case, its `verdict` decides, other values are properties.

The text columns before the verdict name a row, so that its name stays the same from run to run.
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
FAILED = frozenset({"fail", "worse"})
PASSED = frozenset({"pass", "better", "same", "changed"})


def to_xml(result: Result) -> bytes:
    """Return the test suite. A row without a verdict passes.

    One not judged is an error, or skipped where the result says that it exits with 0 all the same.
    """
    rows = result.rows
    verdicts = rows[VERDICT].to_list() if VERDICT in rows.columns else ["pass"] * rows.height
    failed = sum(verdict in FAILED for verdict in verdicts)
    unknown = sum(verdict not in PASSED | FAILED for verdict in verdicts)
    lenient = result.facts.get("exit_code") == 0
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
    """Return the text columns that together name a row: those before the verdict, if there is one."""
    names = rows.columns
    naming = names[: names.index(VERDICT)] if VERDICT in names else names
    return [name for name in naming if rows.schema[name] == pl.String]


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

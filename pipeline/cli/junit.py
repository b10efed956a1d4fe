"""A result as JUnit XML: a row is a test case, its `verdict` decides, other values are properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import polars as pl

from pipeline.cli.text import cell, visible

if TYPE_CHECKING:
    from pipeline.tables.result import Result

VERDICT = "verdict"
FAILED = "fail"
PASSED = "pass"


def to_xml(result: Result) -> bytes:
    """Return the test suite. A row without a verdict passes; one not judged is an error."""
    rows = result.rows
    verdicts = rows[VERDICT].to_list() if VERDICT in rows.columns else [PASSED] * rows.height
    failed = sum(verdict == FAILED for verdict in verdicts)
    errors = sum(verdict not in (PASSED, FAILED) for verdict in verdicts)
    counts = {"tests": str(rows.height), "failures": str(failed), "errors": str(errors)}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": f"trajtab {result.kind}", **counts})
    for values, verdict in zip(rows.to_dicts(), verdicts, strict=True):
        _case(suite, result.kind, values, _naming(rows), verdict)
    if result.notes:
        ET.SubElement(suite, "system-out").text = visible("; ".join(result.notes))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def _naming(rows: pl.DataFrame) -> list[str]:
    """Return the text columns: together they name a row."""
    return [name for name, dtype in rows.schema.items() if dtype == pl.String and name != VERDICT]


def _case(
    suite: ET.Element, kind: str, values: dict[str, Any], naming: list[str], verdict: Any
) -> None:
    named = [f"{name}={cell(values[name])}" for name in naming if values[name] is not None]
    told = {"classname": f"trajtab.{kind}", "name": ", ".join(named) or kind}
    case = ET.SubElement(suite, "testcase", told)
    properties = ET.SubElement(case, "properties")
    for name, value in values.items():
        if value is not None:
            told = {"name": visible(name), "value": cell(value)}
            ET.SubElement(properties, "property", told)
    if verdict == FAILED:
        ET.SubElement(case, "failure", {"message": ", ".join(named) or kind})
    elif verdict != PASSED:
        ET.SubElement(case, "error", {"message": f"not judged: {cell(verdict)}"})

"""The examples of docs/python.md run as they stand, and leave no public name out."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import polars as pl

import pipeline

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_example_is_true():
    code = "\n".join(BLOCK.findall(PAGE.read_text(encoding="utf-8")))
    examples = doctest.DocTestParser().get_doctest(code, {}, PAGE.name, str(PAGE), 0)
    assert len(examples.examples) > 30
    said = []
    with pl.Config(tbl_width_chars=100):
        failed, _ = doctest.DocTestRunner(verbose=False).run(examples, out=said.append)
    assert failed == 0, "".join(said)


def test_every_public_name_has_one():
    used = re.findall(
        r"\bpipeline\.(\w+)", "".join(BLOCK.findall(PAGE.read_text(encoding="utf-8")))
    )
    assert set(pipeline.__all__) - set(used) == set()


def test_every_public_function_has_an_example_in_its_help():
    functions = {name: getattr(pipeline, name) for name in pipeline.__all__ if name.islower()}
    bare = [
        name
        for name, function in functions.items()
        if callable(function) and ">>> " not in (function.__doc__ or "")
    ]
    assert bare == []

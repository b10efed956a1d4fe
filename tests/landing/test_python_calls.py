"""Calls written as Python: the quick way tells what Python's own parser tells, of any text."""

from __future__ import annotations

import ast
import warnings
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.landing.values.plain_calls import plain_calls, plain_value
from pipeline.landing.values.python_calls import calls_of

Told = list[tuple[str, bytes, bool]] | None


def by_parser(text: str) -> Told:
    """Return what the parser alone makes of a text: the meaning of all this."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ast.parse(text.strip(), mode="eval").body
        nodes = found.elts if isinstance(found, ast.List | ast.Tuple) else [found]
        return [_of_node(node) for node in nodes]
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, OverflowError):
        return None


def _of_node(node: ast.expr) -> tuple[str, bytes, bool]:
    if not isinstance(node, ast.Call):
        raise TypeError("no call")
    if any(word.arg is None for word in node.keywords):
        raise ValueError("arguments of a dict")
    part, names = node.func, []
    while isinstance(part, ast.Attribute):
        names.insert(0, part.attr)
        part = part.value
    if not isinstance(part, ast.Name):
        raise TypeError("no name")
    values: dict[str, Any] = {str(at): ast.literal_eval(one) for at, one in enumerate(node.args)}
    values |= {word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg}
    return ".".join([part.id, *names]), msgspec.json.encode(values), bool(node.args)


def told(text: str) -> Told:
    found = calls_of(text)
    return (
        None
        if found is None
        else [(call.name, bytes(call.arguments), call.by_position) for call in found]
    )


ODD = [
    "", " ", "[]", "[ ]", "()", "[f()]", "[f(),]", "f(),", "f(), g()", "f(a=1,)", "[f(a=1)][0]",
    "f(a=1, a=2)", "f(a=1, 2)", "f(2, a=1)", "f(in=1)", "if(a=1)", "a.if(b=1)", "None(a=1)",
    "f(__debug__=1)", "__debug__(1)", "print(1)", "match(case=1)", "f(None=1)", "f(a=None, b=True)",
    "f('a' 'b')", "f('''a''')", "f(a='''')", "f(a='', b='')", "f(r'a')", "f(a=b'x')", "f(a=f'x')",
    "f(a=-0)", "f(a=-0.0)", "f(a=007)", "f(a=00)", "f(a=+1)", "f(a=- 1)", "f(a=1_0)", "f(a=1.)",
    "f(a=.5)", "f(a=1e5)", "f(a=0x1f)", "f(a=1j)", "f(a=1.10)", "f(a=999999999999999)",
    "f(a=99999999999999999999999)", "f(a=1or 2)", "f(a=[1, 'b', None, -2.5])", "f(a=[[1]])",
    "f(a=[])", "f(a=[1,])", "f(a={'b': 1})", "f(a=(1, 2))", "f(a={1})", "f(a=g(1))", "f(*[1])",
    "f(**{'a': 1})", "f (a=1)", "f(a =1)", "f( a=1)", "f(a= 1)", "[ f(a=1) ,g() ]", "f\n(a=1)",
    "[f(a=1),\n g(b=2)]", "f(a='x\ny')", "f(a='x\ty')", "f(a='x\x00y')", "f(a='x\\ny')",
    "f(a='\ud800')", "f(a='é', b='日本')", "é(a=1)", "ﬁ(a=1)", "f(ﬁ=1)", "f(a='\x85\u2028')",
    "\ufefff(a=1)", "\ufeff[]", "f(a=1)#c", "[f(a='#')]", "f(a=1);", "f(a=1).g(b=2)", "f.g.h(1)",
    "f..g()", "f(a='g(b=1)')", "[f(a=', g('), h(b=')')]", "Sure, f(a=1)", "Sorry f(a=1)",
    "not f(a=1)", "lambda x: f()", "await f()", "a if b else f()", "yield f()", "a, f()",
    "lambda, f()", "x:=f()", "[x for x in f()]", "f(a=1 if 2 else 3)", "[f(a=1), 3]", "f(a=b)",
    "I can't (yet)", "b 'x'", "f(a='x'", "f(a='x')]", "[[f()]]", "(f())", "(f(), g())", "[f() g()]",
]  # fmt: skip


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_are_read_as_the_parser_reads_them(text: str) -> None:
    assert told(text) == by_parser(text)


NAMES = st.sampled_from(["f", "g.h", "_a1.B", "if", "a.is", "None", "é"])
WORDS = st.sampled_from(["a", "b", "_c", "in", "True"])
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    ["", "'", '"', "(", "), g(a='", "\\", "#", ",", "=", "[", "\n"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def _calls(draw: st.DrawFn) -> str:
    by_position = draw(st.lists(VALUES, max_size=2))
    named = draw(st.lists(st.tuples(WORDS, VALUES), max_size=3))
    parts = [*map(repr, by_position), *(f"{word}={value!r}" for word, value in named)]
    separator = draw(st.sampled_from([", ", ",", " , "]))
    return f"{draw(NAMES)}({separator.join(parts)})"


@st.composite
def _listed(draw: st.DrawFn) -> str:
    calls = draw(st.lists(_calls(), max_size=3))
    begin, end = draw(st.sampled_from([("[", "]"), ("", ""), ("(", ")"), (" [ ", " ]\n")]))
    return begin + ", ".join(calls) + end


@given(_listed())
@settings(max_examples=300)
def test_what_python_prints_is_read_as_the_parser_reads_it(text: str) -> None:
    assert told(text) == by_parser(text)


SNIPPETS = [
    "f", "g", ".", "(", ")", "[", "]", "a=", "b =", "'x'", '"y"', "'", '"', "1", "-2.5", "0", "00",
    ",", ", ", " ", "True", "None", "in", "\\", "\n", "é", "{", "}", ":", "#", "r'z'", "not ", "*",
]  # fmt: skip


@given(st.lists(st.sampled_from(SNIPPETS), max_size=14).map("".join))
@settings(max_examples=500)
def test_any_text_is_read_as_the_parser_reads_it(text: str) -> None:
    assert told(text) == by_parser(text)


@given(st.lists(st.sampled_from(SNIPPETS), max_size=8).map("".join))
@settings(max_examples=500)
def test_arguments_of_any_text_are_read_as_the_parser_reads_them(text: str) -> None:
    assert told(f"[f(a=1, b='c'), g({text})]") == by_parser(f"[f(a=1, b='c'), g({text})]")


@given(st.lists(st.sampled_from(SNIPPETS), max_size=10).map("".join), st.sampled_from(["{}", "[]"]))
@settings(max_examples=500)
def test_any_value_is_read_as_the_parser_reads_it(text: str, around: str) -> None:
    written = f"{around[0]}{text}{around[1]}"
    found = plain_value(written)
    if found is not None:
        assert repr(found) == repr(ast.literal_eval(written))


def test_plain_values_need_no_parser() -> None:
    written = "{'city': 'Oslo', 'nights': 2, 'rate': 1.50, 'paid': False, 'by': None}"
    assert plain_value(written) == ast.literal_eval(written)


def test_plain_calls_need_no_parser() -> None:
    text = "[ls(), cd('docs'), book(city='Oslo', nights=2, rate=1.5, tags=['a', None], ok=True)]"
    assert plain_calls(text) is not None
    assert told(text) == by_parser(text)


def test_real_texts_are_read_as_the_parser_reads_them(real_data: Any) -> None:
    """Texts of real results, of calls and of words, some cut off as no writer does."""
    lines = (real_data("bfcl_result") / "AYA__AYA_Pipeline_result_live_simple.jsonl").read_bytes()
    texts = [text for line in lines.splitlines() for text in msgspec.json.decode(line)]
    assert len(texts) > 100
    for text in texts:
        assert told(text) == by_parser(text)
        assert told(text[:-1]) == by_parser(text[:-1])

"""Options that list names with commas: any name can be given, however it is spelled."""

from __future__ import annotations

import json

import click
import pytest

from pipeline.cli.passk import numbers
from pipeline.cli.values import names, shares

LISTS = {
    "agent": ("agent",),
    " agent ,model\t": ("agent", "model"),
    '"a,b",agent': ("a,b", "agent"),
    'agent , "a,b" , model': ("agent", "a,b", "model"),
    '"say ""hi""",x': ('say "hi"', "x"),
    'say "hi",x': ('say "hi"', "x"),
    '" a "': (" a ",),
    '"a\nb",c\nd': ("a\nb", "c\nd"),
    "é.ü,名": ("é.ü", "名"),
    "it's,a'b": ("it's", "a'b"),
}
"""What is typed, and the names it means: as RFC 4180 reads a line, spaces around names left out."""

ODD = ['"a,b', '"a" b', 'agent,"', '"a""', "", "a,,b", "a,", ",", '""', 'a,"",b', '" "']

LABELS = [
    "a,b", 'say "hi"', "it's", "a.b", "a b", " edge ", "é名", "a/b~c", "$.x", "a*b", "a\\b",
    "0", "-1", "[0]", "a\nb", '"', ",", "agent", "labels.x",
]  # fmt: skip


@pytest.mark.parametrize(("typed", "meant"), LISTS.items())
def test_names_are_split_as_csv(typed, meant):
    assert names(typed) == meant


@pytest.mark.parametrize("typed", ODD)
def test_what_names_nothing_is_refused(typed):
    with pytest.raises(click.BadParameter, match=r"names nothing|a quote begins a name"):
        names(typed)


def test_numbers_may_be_quoted_too():
    assert shares('"0.5", 0.9') == (0.5, 0.9)
    assert numbers('1,"2" ,4') == (1, 2, 4)
    with pytest.raises(click.BadParameter, match="a quote begins"):
        shares('"0.5')


def test_a_label_of_any_name_can_be_grouped_by(run, tmp_path):
    """Two runs, of which one has every label, with its own name for value."""
    record = {"task_id": "t", "steps": [{"kind": "final", "content": "x"}]}
    labelled = {"run_id": "a", **record, "labels": {name: f"<{name}>" for name in LABELS}}
    lines = [json.dumps(one) for one in (labelled, {"run_id": "b", **record})]
    (tmp_path / "logs.jsonl").write_text("\n".join(lines))
    assert run("land", "logs.jsonl", "--lake", "lake").exit_code == 0
    assert run("score", "lake").exit_code == 0
    by = ",".join('"labels.{}"'.format(name.replace('"', '""')) for name in LABELS)

    seen = run("aggregate", "lake", "--by", by, "--metric", "n_calls", "--format", "json")

    assert seen.exit_code == 0, seen.stderr
    rows = json.loads(seen.stdout)["rows"]
    assert [[row[f"labels.{name}"] for row in rows] for name in LABELS] == [
        [f"<{name}>", None] for name in LABELS
    ]


def test_what_was_typed_wrongly_is_told_with_an_example(run):
    seen = run("aggregate", "lake", "--by", '"labels.a,b')

    assert seen.exit_code == 2
    assert """'"labels.a,b",agent'""" in seen.stderr

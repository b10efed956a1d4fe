"""What public functions are given: one is a list of one, anything else of a wrong type is refused."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import pipeline
from pipeline import judge
from pipeline.cli import main
from pipeline.engines import chosen
from pipeline.errors import InputError, TrajtabError, UnknownNameError, WrongTypeError
from pipeline.metrics import registry
from pipeline.policy import load
from pipeline.report.html import report
from pipeline.sample import example, sample
from pipeline.testing import assert_no_regression

if TYPE_CHECKING:
    from collections.abc import Callable

GIVEN = {
    "lake": "no/lake", "run_id": "r", "text": "SELECT 1", "by": "agent", "baseline": "true",
    "candidate": "true", "gate": "preset:five-percent", "sources": "no/log", "folder": "no/folder",
    "rubric": "preset:tool_relevance", "out": "no/out", "requests": "no/requests", "url": "http://x",
    "responses": "no/responses", "name": "f1", "path": "no/lake", "named": "preset:adk",
}  # fmt: skip
"""Sound values of the parameters that must be given."""

WRONG = [object(), b"f1", 1j, {1: 2}, [object()], pl.DataFrame({"a": [1]})]
"""What no parameter takes."""


def functions() -> dict[str, Callable[..., Any]]:
    """Return every public function by name; classes of records and errors are none."""
    named = {name: getattr(pipeline, name) for name in pipeline.__all__}
    named |= {f"judge.{name}": getattr(judge, name) for name in judge.__all__}
    others = (load, registry.get, report, sample, chosen, assert_no_regression)
    named |= {one.__name__: one for one in others}
    found = {name: one for name, one in named.items() if inspect.isfunction(one)}
    return {
        **found,
        "Lake": pipeline.Lake,
        "open": pipeline.Lake.open,
        "create": pipeline.Lake.create,
    }


PARAMETERS = [
    pytest.param(function, name, id=f"{called}-{name}")
    for called, function in functions().items()
    for name in inspect.signature(function).parameters
]


def asked(function: Callable[..., Any], **values: Any) -> Any:
    """Call a function with sound values for whatever it needs beside `values`."""
    needed = {
        name: GIVEN[name]
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty
    }
    return function(**{**needed, **values})


@pytest.mark.parametrize(("function", "name"), PARAMETERS)
@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
def test_a_value_that_no_parameter_takes(
    function: Callable[..., Any],
    name: str,
    value: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error is ours, names the parameter, and says what it takes."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WrongTypeError, match=rf"^{name} (is|holds) .*; wanted is "):
        asked(function, **{name: value})
    assert not list(tmp_path.iterdir())


FLAGS = [
    case
    for case in PARAMETERS
    if inspect.signature(case.values[0]).parameters[case.values[1]].annotation == "bool"
]


@pytest.mark.parametrize(("function", "name"), FLAGS)
@pytest.mark.parametrize("value", ["no", 0, None])
def test_a_word_is_no_flag(function: Callable[..., Any], name: str, value: Any) -> None:
    """`redact="no"` would redact, and `show_args="no"` show what was to be hidden."""
    with pytest.raises(WrongTypeError, match=rf"^{name} is .*; wanted is True or False"):
        asked(function, **{name: value})


@pytest.mark.parametrize(
    ("function", "given", "why"),
    [
        (pipeline.passk, {"k": "2"}, "k is '2', a str; wanted is a list of whole numbers"),
        (pipeline.passk, {"k": [1, True]}, "k holds True, a bool"),
        (pipeline.passk, {"k": []}, "k is empty"),
        (pipeline.passk, {"k": 0}, "k 0"),
        (pipeline.percentiles, {"quantiles": []}, "no quantile is given"),
        (pipeline.percentiles, {"quantiles": -0.5}, "quantile -0.5: outside 0 to 1"),
        (pipeline.percentiles, {"quantiles": float("nan")}, "quantile nan: outside 0 to 1"),
        (pipeline.trend, {"by": ["agent"]}, "by is a list; wanted is a text"),
        (pipeline.aggregate, {"by": ["agent", 1]}, "by holds 1, an int"),
        (pipeline.aggregate, {"where": True}, "where is True, a bool; wanted is a text, or None"),
        (pipeline.scores, {"limit": 1.5}, "limit is 1.5, a float; wanted is a whole number, or None"),
        (pipeline.scores, {"limit": -1}, "limit -1"),
        (pipeline.sample_annotations, {"limit": 0}, "--limit is 0"),
        (pipeline.compare, {"pair": "run"}, "pair 'run'"),
        (pipeline.compare, {"candidate_policy": ""}, "the name of the policy file is empty"),
        (pipeline.land, {"workers": 0}, "--workers is 0"),
        (pipeline.land, {"labels": {"a": object()}}, "labels"),
        (pipeline.land, {"suite": "\ud800"}, "suite"),
        (chosen, {"workers": 0, "name": "local"}, "--workers is 0"),
    ],
)  # fmt: skip
def test_values_out_of_range(function: Callable[..., Any], given: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        asked(function, **({"lake": example(), **given} if function is not chosen else given))


@pytest.mark.parametrize("path", ["a\0b", Path("a\0b"), "x" * 300, "x/" * 3000], ids=repr)
@pytest.mark.parametrize(
    ("function", "name"),
    [case for case in PARAMETERS if "PathLike" in str(inspect.signature(case.values[0]).parameters[case.values[1]].annotation)],
)  # fmt: skip
def test_no_path(function: Callable[..., Any], name: str, path: str | Path) -> None:
    """What the system would refuse with an error of its own, wherever it meets it first."""
    with pytest.raises(TrajtabError, match=rf"^{name} is .*: (too long|no path holds)"):
        asked(function, **{name: path})


def test_one_is_a_list_of_one() -> None:
    lake = example()
    for one, several in ((1, [1]), (np.int64(2), [2]), ((1, 2), [1, 2]), (range(1, 3), [1, 2])):
        assert pipeline.passk(lake, k=one).rows.equals(pipeline.passk(lake, k=several).rows)
    for one, several in ((0.5, [0.5]), (1, [1.0]), (np.float32(0.5), [0.5])):
        found = pipeline.percentiles(lake, metrics="f1", quantiles=one).rows
        assert found.equals(pipeline.percentiles(lake, metrics=["f1"], quantiles=several).rows)
    assert pipeline.scores(lake, limit=np.int32(3)).rows.height == 3
    assert pipeline.check(lake, deep=np.bool_(1)).rows.is_empty()


def test_a_missing_argument_is_told_by_python() -> None:
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'by'"):
        pipeline.trend("lake")
    with pytest.raises(TypeError, match="unexpected keyword argument 'metric'"):
        pipeline.aggregate("lake", metric="f1")


def test_labels_of_a_recorded_step_are_a_mapping(tmp_path: Path) -> None:
    with (
        pipeline.Recorder(tmp_path / "runs.jsonl", task_id="t") as run,
        pytest.raises(InputError, match="labels is a list; a dict"),
    ):
        run.tool_call("a", labels=["x"])


@pytest.mark.parametrize("condition", ["1.5", "1e400", "0 + 1"])
def test_a_number_is_a_condition_of_an_arm_as_it_is_of_a_filter(condition: str) -> None:
    lake, all_runs = example(), {"baseline": "true", "candidate": "true"}
    found = pipeline.compare(lake, **{**all_runs, "baseline": condition}, metrics="f1").rows
    assert found.equals(pipeline.compare(lake, **all_runs, metrics="f1").rows)
    aggregated = pipeline.aggregate(lake, metrics="f1", where=condition).rows
    assert aggregated.equals(pipeline.aggregate(lake, metrics="f1").rows)


@pytest.mark.parametrize("form", [{"model": "\udc80"}, {"body": {"a": object()}}])
def test_a_form_of_requests_is_what_json_can_say(form: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="model and body must be what JSON can say"):
        judge.prepare(
            example(), "preset:tool_relevance", tmp_path / "out.jsonl", form=judge.Form(**form)
        )
    assert not list(tmp_path.iterdir())


def test_a_nul_in_a_path_of_the_configuration_is_told(tmp_path: Path) -> None:
    """A shell gives none; a file of defaults may."""
    (tmp_path / "c.toml").write_text('[judge.prepare]\nout = "a\\u0000b"\n')
    asked = ["--config", tmp_path / "c.toml", "judge", "prepare", example()]
    found = CliRunner().invoke(main, [*map(str, asked), "--rubric", "preset:tool_relevance"])
    assert found.exit_code == 2
    assert "internal error" not in found.stderr
    assert "NUL character" in found.stderr


@pytest.mark.parametrize("function", [pipeline.show, pipeline.diff])
def test_an_id_that_is_no_utf8_is_no_runs(function: Callable[..., Any]) -> None:
    with pytest.raises(UnknownNameError, match="ids of runs are UTF-8"):
        function(example(), "\udc80")

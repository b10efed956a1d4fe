"""The policies that ship: they load, and say what their names promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from making import call, run, scores_of, want, write

from pipeline.landing.land import land
from pipeline.policy import DEFAULT, PRESETS, load, presets
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Scored = Callable[[str, dict[str, Any]], dict[str, Any]]

SHIPPED = {
    "adk": "args exact; by turn",
    "azure": "args names",
    "core": "args exact",
    "default": "args exact",
    "openevals": "args exact",
    "openevals-args-subset": "args expected_has_actual",
    "openevals-args-superset": "args actual_has_expected",
    "tau2": "args expected_has_actual",
}


@pytest.fixture
def scored(tmp_path: Path) -> Scored:
    """Land one run, score it under a preset and return its scores."""

    def of(preset: str, record: dict[str, Any]) -> dict[str, Any]:
        lake = tmp_path / "lake"
        land([write(tmp_path / "log.jsonl", [record])], lake)
        score(lake, policy=preset)
        (row,) = scores_of(lake, preset).to_dicts()
        return row

    return of


def test_these_ship() -> None:
    assert presets() == sorted(SHIPPED)


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_preset_says_what_it_compares(name: str) -> None:
    assert load(f"preset:{name}").title.startswith(f"{SHIPPED[name]}; window")


@pytest.mark.parametrize("path", sorted(PRESETS.glob("*.toml")), ids=lambda path: path.stem)
def test_preset_opens_with_whose_rule_it_is(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# ")


def test_openevals_compares_as_the_default_does() -> None:
    assert load("preset:openevals").hash == DEFAULT.hash


def test_adk_gives_each_invocation_its_own_score(scored: Scored) -> None:
    record = run(
        "r",
        call("a", turn_index=0), call("b", turn_index=0), call("d", turn_index=1),
        expected=[want("b", turn_index=0), want("a", turn_index=0), want("d", turn_index=1)],
    )  # fmt: skip
    row = scored("preset:adk", record)
    # The first invocation has the calls in another order, the second is right: (0 + 1) / 2.
    assert row["exact_match_turns"] == row["in_order_match_turns"] == 0.5
    assert row["any_order_match_turns"] == 1.0


def test_openevals_argument_modes_look_at_one_side_each(scored: Scored) -> None:
    record = run("r", call("a", {"x": 1, "y": 2}), expected=[want("a", {"x": 1})])
    assert scored("preset:openevals", record)["any_order_match"] == 0
    assert scored("preset:openevals-args-superset", record)["any_order_match"] == 1
    assert scored("preset:openevals-args-subset", record)["any_order_match"] == 0


def test_azure_columns_go_by_names(scored: Scored) -> None:
    row = scored("preset:azure", run("r", call("a", {"x": 1}), expected=[want("a", {"x": 2})]))
    assert (row["exact_match"], row["f1"]) == (1, 1.0)


@pytest.mark.parametrize(
    ("compared", "made", "matched"),
    [
        (None, {"x": 1}, 1),  # every argument made is as expected
        (None, {"x": 1, "z": 3}, 0),  # one was not expected
        ([], {"x": 9, "z": 3}, 1),  # the name is enough
        (["x"], {"x": 1, "y": 9}, 1),  # y is not compared
        (["x"], {"y": 2}, 0),  # x is, and is missing
        (["w"], {"y": 2}, 1),  # neither side has it
    ],
)
def test_tau2_compares_what_the_action_lists(
    compared: list[str] | None, made: dict[str, Any], matched: int, scored: Scored
) -> None:
    expected = want("a", {"x": 1, "y": 2}, compare_args=compared)
    row = scored("preset:tau2", run("r", call("a", made), expected=[expected]))
    assert row["any_order_match"] == matched

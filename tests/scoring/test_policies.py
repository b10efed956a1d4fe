"""Policies beside each other: what each reads again, and where its scores lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from making import call, run, scores_of, want, write
from scoring.ruling import policy_text

from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.policy import load, parse
from pipeline.scoring import score

if TYPE_CHECKING:
    from pathlib import Path

NAMES = {"match": {"args": "names"}}


def test_the_order_of_the_modes_per_tool_is_part_of_the_policy() -> None:
    first = parse({"match": {"tools": {"*": "names", "f": "exact"}}}, "p")
    second = parse({"match": {"tools": {"f": "exact", "*": "names"}}}, "p")
    assert first.hash != second.hash


def lake_of(folder: Path) -> Path:
    """24 tools with three distinct calls each, of which two runs make some more than once."""
    tools = [f"t{i:02}" for i in range(24)]
    steps = [call(tool, {"q": f" {i % 3}", "r": 1}) for tool in tools for i in range(5)]
    expected = [want(tool, {"q": "0", "r": 1.0}) for tool in tools]
    records = [run(name, *steps, expected=expected) for name in ("r1", "r2")]
    land([write(folder / "runs.jsonl", records)], folder / "lake", format="trajtab", workers=1)
    return folder / "lake"


def scored_under(lake: Path, told: dict[str, Any]) -> tuple[str, Any]:
    """The policy's file, and the manifest of its only scores."""
    file = lake.parent / f"policy-{len(list(lake.parent.glob('policy-*')))}.toml"
    file.write_text(policy_text(told), encoding="utf-8")
    score(lake, policy=str(file))
    (folder,) = Lake.open(lake).scores(load(str(file)).hash)
    return str(file), folder.manifest


def test_a_rule_for_one_tool_reads_only_that_tools_calls_again(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    assert scored_under(lake, {"match": {}})[1]["rekeyed"] == {}
    assert scored_under(lake, NAMES)[1]["rekeyed"] == {}
    one = {"match": {"rule": [{"tool": "t07", "arg": "q", "strip": True}]}}
    file, manifest = scored_under(lake, one)
    assert manifest["rekeyed"] == {"t07": 4}  # " 0", " 1", " 2", and the reference's "0"
    rows = scores_of(lake, file).to_dicts()
    assert [row["tp"] for row in rows] == [1, 1]
    assert [row["n_duplicate"] for row in rows] == [48, 48]
    subset = {"match": {"tools": {"t0[12]": "actual_has_expected"}}}
    assert scored_under(lake, subset)[1]["rekeyed"] == {"t01": 4, "t02": 4}


def test_policies_live_side_by_side(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    strict, loose = {"match": {}}, {"match": {"rule": [{"strip": True}]}}
    files = [scored_under(lake, told)[0] for told in (strict, loose, NAMES)]
    assert [scores_of(lake, file)["tp"].to_list() for file in files] == [[0, 0], [24, 24], [24, 24]]
    for file in files:
        again = score(lake, policy=file)
        assert (again.batches, again.already, again.runs) == (0, 1, 0)
    hashes = {load(file).hash for file in files}
    assert {path.name for path in (lake / "scores").iterdir()} == {f"p-{one}" for one in hashes}
    assert len(hashes) == 3

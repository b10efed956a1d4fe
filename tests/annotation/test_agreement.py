"""`agreement`: figures by hand, and what is said where a figure is undefined."""

from __future__ import annotations

import json
from importlib.util import find_spec as real_find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from making import call, run, want

from pipeline.annotation import detector
from pipeline.annotation.agreement import agreement
from pipeline.annotation.detector import Setting
from pipeline.errors import InputError, NotJudgeableError, UnknownNameError
from pipeline.landing.land import land
from pipeline.opinions.human import ITEMS
from pipeline.scoring import score

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.tables.result import Result


def word(run_id: str, who: str, overall: int = 3, **more: Any) -> dict[str, Any]:
    return {"trajectory_id": run_id, "annotator_id": who, "overall_quality": overall, **more}


def made(folder: Path, runs: list[dict[str, Any]], words: list[dict[str, Any]]) -> Path:
    """Land runs and words, and score."""
    for name, records in (("runs", runs), ("words", words)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines)
        if records:
            land([folder / f"{name}.jsonl"], folder / "lake", workers=1, strict=True)
    score(folder / "lake")
    return folder / "lake"


def said(kind: str = "llm_call") -> dict[str, Any]:
    return {"kind": kind, "content": "…"}


_ = None
KRIPPENDORFF_2011 = {
    "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    "C": [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The 2011 example as annotations of twelve runs: scores, and one dimension of two annotators."""
    words = [
        word(f"r{unit}", who, value, dimensions={"efficiency": 1 + (value > 2)} if who < "C" else None)
        for who, values in KRIPPENDORFF_2011.items()
        for unit, value in enumerate(values)
        if value is not None
    ]  # fmt: skip
    # Each call more is one score less in the mean of nobody: ranks, not distances, are compared.
    runs = [run(f"r{unit}", *(call("f", {"n": n}) for n in range(unit % 5))) for unit in range(12)]
    return agreement(made(tmp_path_factory.mktemp("published"), runs, words), metrics=["n_calls"])


def test_alpha_of_the_published_example(published: Result) -> None:
    row = published.rows.row(0, named=True)
    assert row["item"] == "overall_quality"
    assert (row["n_annotators"], row["n_units"], row["n_values"]) == (4, 11, 40)
    found = [round(row[f"alpha_{level}"], 3) for level in ("nominal", "ordinal", "interval")]
    assert found == [0.743, 0.815, 0.849]


def test_kappa_of_each_pair(published: Result) -> None:
    pairs = published.tables["pairs"].filter(item="overall_quality")
    named = pairs.select("annotator_a", "annotator_b").rows()
    assert named == [(a, b) for a in "ABCD" for b in "ABCD" if a < b]
    # A and B share 9 runs and differ in one (1, 2). By hand: A scores 3, 3, 2, 1 times 1 to 4,
    # B 2, 4, 2, 1 times: chance agreement (6 + 12 + 4 + 1)/81 = 23/81, seen 8/9 = 72/81.
    first = pairs.row(0, named=True)
    assert (first["n_units"], first["n_equal"], first["equal"]) == (9, 8, 8 / 9)
    assert first["kappa"] == pytest.approx((72 - 23) / (81 - 23))
    weights = {(a, b): abs(a - b) for a in range(1, 5) for b in range(1, 5)}
    margins = {1: (3, 2), 2: (3, 4), 3: (2, 2), 4: (1, 1)}
    for name, power in (("kappa_linear", 1), ("kappa_quadratic", 2)):
        chance = sum(margins[a][0] * margins[b][1] * w**power for (a, b), w in weights.items())
        assert first[name] == pytest.approx(1 - 9 * 1 / chance)


def test_dimensions_and_steps_have_rows_of_their_own(published: Result) -> None:
    assert published.rows["item"].to_list() == [*ITEMS, "backtrack_steps", "critical_steps"]
    efficiency = published.rows.filter(item="efficiency").row(0, named=True)
    assert (efficiency["n_units"], efficiency["alpha_nominal"]) == (9, 1.0)
    rest = published.rows.filter(~pl.col("item").is_in(["overall_quality", "efficiency"]))
    assert rest["n_units"].to_list() == [0] * 6
    assert rest["alpha_nominal"].null_count() == 6
    assert any(note.startswith("alpha is undefined where no unit") for note in published.notes)


def test_correlation_with_the_mean_of_annotators(published: Result) -> None:
    from scipy import stats  # noqa: PLC0415 - the referee of this test alone

    (row,) = published.tables["correlations"].to_dicts()
    columns = np.array(
        [[v or np.nan for v in vs] for vs in KRIPPENDORFF_2011.values()], dtype=float
    )
    means = np.nanmean(columns, axis=0)
    right = stats.spearmanr(means, np.arange(12) % 5).statistic
    assert (row["item"], row["metric"], row["better"]) == ("overall_quality", "n_calls", "lower")
    assert (row["n_runs"], row["rho"]) == (12, pytest.approx(right))
    assert row["ci_low"] < row["rho"] < row["ci_high"]


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three judged runs, step by step.

    r1: 0 f(1)  1 f(1) marked  2 g  3 f(1) marked  4 f(1) tied  5 llm_call marked  6 final
    r2: 0 f(1)  1 … 4 llm_call  5 f(1)     marked by nobody
    r3: 0 s("air")  1 s("aix") marked, near but not equal
    The detector's own setting (window 8, equal calls) flags r1: 1, 3 and 4 (left out), r2: 5.
    Marked: r1: 1, 3, 5 and r3: 1. So 2 of 3 flagged are marked, and 2 of 4 marked are flagged.
    """
    f, s = call("f", {"n": 1}), [call("s", {"q": q}) for q in ("air", "aix")]
    runs = [
        run("r1", f, f, call("g"), f, f, said(), said("final"), expected=[want("f", {"n": 1})]),
        run("r2", f, said(), said(), said(), said(), f),
        run("r3", *s),
        run("r4", f, f),
        run("r5", {"kind": "tool_call", "tool_name": "f"}, f, f),
    ]
    words = [
        word("r1", "ann", backtrack_steps=[1, 3, 4, 5]),
        word("r1", "bo", backtrack_steps=[1, 3, 5]),
        word("r2", "ann", backtrack_steps=[]),
        word("r2", "bo", 5),  # did not judge steps
        word("r3", "ann", backtrack_steps=[1]),
        word("r4", "bo"),
        word("r5", "ann", backtrack_steps=[2]),  # a call of it was not captured: no flag is known
        word("r9", "ann", backtrack_steps=[0]),  # no run of the lake
    ]
    return made(tmp_path_factory.mktemp("marked"), runs, words)


@pytest.fixture(scope="module")
def judged(marked: Path) -> Result:
    """What is said of all three."""
    return agreement(marked)


def test_precision_and_recall_by_hand(judged: Result) -> None:
    (row,) = judged.tables["detector"].to_dicts()
    assert (row["window"], row["similarity"]) == (8, None)
    # 6 decided steps of r1, 6 of r2, 2 of r3.
    assert (row["n_runs"], row["n_steps"]) == (3, 14)
    assert (row["n_marked"], row["n_flagged"], row["n_both"]) == (4, 3, 2)
    assert (row["precision"], row["recall"], row["f1"]) == (2 / 3, 2 / 4, 4 / 7)


def test_the_sweep_by_hand(judged: Result) -> None:
    found = {
        (row["window"], row["similarity"]): (row["n_flagged"], row["n_both"])
        for row in judged.tables["sweep"].to_dicts()
    }
    assert len(found) == judged.tables["sweep"].height == 70
    # Within 1 step only r1's step 1 repeats (4 is left out); within 2 step 3 does too; within 4
    # r2's last call does not yet, within 6 it does.
    assert [found[window, None] for window in (1, 2, 4, 6)] == [(1, 1), (2, 2), (2, 2), (3, 2)]
    # {"q":"air"} and {"q":"aix"} have 10 of 11 characters in common: near up to 20/22 = .909.
    assert [found[2, alike] for alike in (0.95, 0.9, 0.6)] == [(2, 2), (3, 3), (3, 3)]
    # The best: 3 of 3 flagged, 3 of 4 marked: F1 6/7. Of equals the greatest similarity, then
    # the shortest window.
    assert judged.facts == {"recommended": {"window": 2, "similarity": 0.9}}
    assert (
        "recommended: [backtracking] window = 2, similarity = 0.9 (F1 0.857; in use 0.571), "
        "chosen on the 3 runs it is measured on"
    ) in judged.notes


def test_what_the_figures_leave_out_is_said(judged: Result) -> None:
    notes = judged.notes
    assert "8 annotations of 6 runs by 2 annotators" in notes
    assert "left out: 1 step that as many annotators marked as did not" in notes
    assert "left out: 1 judged run with calls not captured" in notes
    assert any(n.startswith("marked as backtracks, but no tool calls: 1 step,") for n in notes)
    assert any(n.startswith("warning: 1 annotation of no run of the lake") for n in notes)


def test_steps_as_units(judged: Result) -> None:
    """r1 alone was judged by two: 7 decision steps, of which they differ in one."""
    row = judged.rows.filter(item="backtrack_steps").row(0, named=True)
    assert (row["n_annotators"], row["n_units"], row["n_values"]) == (2, 7, 14)
    assert (row["alpha_ordinal"], row["alpha_interval"]) == (None, None)
    # 14 values, 7 of them marks; one unit of 7 differs: 1 − 13·2 / (2·7·7).
    assert row["alpha_nominal"] == pytest.approx(1 - 13 * 2 / (2 * 7 * 7))


def test_the_policy_in_use_is_the_first_setting(marked: Path, tmp_path: Path) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text('[backtracking]\nwindow = 5\nsimilarity = 0.905\nexempt = ["f"]\n')
    result = agreement(marked, policy=str(policy))
    own = result.tables["sweep"].row(0, named=True)
    assert (own["window"], own["similarity"]) == (5, 0.905)
    assert (own["n_flagged"], own["n_both"]) == (1, 1)  # f is exempt, s is near
    assert result.tables["sweep"].height == 71


def test_a_policy_that_scores_few_metrics_changes_no_figure(marked: Path, tmp_path: Path) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text('[scores]\nmetrics = ["f1"]\ncalls = false\n')
    score(marked, policy=str(policy))
    few = agreement(marked, policy=str(policy), metrics=["f1"])
    every = agreement(marked, metrics=["f1"])
    assert few.tables.keys() == every.tables.keys()
    for name, table in few.tables.items():
        assert table.equals(every.tables[name], null_equal=True), name


def test_a_filter_narrows_the_runs(marked: Path) -> None:
    result = agreement(marked, where="run_id IN ('r2', 'r3')", items=["all"], metrics=["n_calls"])
    (row,) = result.tables["detector"].to_dicts()
    assert (row["n_runs"], row["n_marked"], row["n_flagged"]) == (2, 1, 1)
    assert result.tables["correlations"]["n_runs"].to_list() == [2, 0, 0, 0, 0, 0]
    with pytest.raises(NotJudgeableError, match="no scored run it is true for is annotated"):
        agreement(marked, where="run_id = 'none'")


def test_nothing_marked_means_undefined_not_zero(tmp_path: Path) -> None:
    lake = made(tmp_path, [run("r1", call("f"))], [word("r1", "ann", backtrack_steps=[])])
    result = agreement(lake)
    (row,) = result.tables["detector"].to_dicts()
    assert (row["n_marked"], row["n_flagged"]) == (0, 0)
    assert (row["precision"], row["recall"], row["f1"]) == (None, None, None)
    assert result.facts == {"recommended": None}
    assert result.tables["pairs"].is_empty()
    assert result.tables["correlations"]["rho"].null_count() == result.tables["correlations"].height
    assert "no setting is recommended: none finds a backtrack that people marked" in result.notes


def test_equal_judgments_are_no_agreement_to_measure(tmp_path: Path) -> None:
    words = [word(f"r{n}", who, 4) for n in range(3) for who in ("ann", "bo")]
    result = agreement(made(tmp_path, [run(f"r{n}") for n in range(3)], words))
    row = result.rows.row(0, named=True)
    assert (row["n_units"], row["alpha_ordinal"], row["alpha_nominal"]) == (3, None, None)
    pair = result.tables["pairs"].row(0, named=True)
    assert (pair["equal"], pair["kappa"], pair["kappa_linear"]) == (1.0, None, None)
    assert "alpha is undefined where all judgments are the same: overall_quality" in result.notes


def test_annotations_of_unknown_runs_count_between_annotators(tmp_path: Path) -> None:
    words = [word(f"r{n}", who, 1 + n) for n in range(3) for who in ("ann", "bo")]
    row = agreement(made(tmp_path, [run("else")], words)).rows.row(0, named=True)
    assert (row["n_units"], row["alpha_ordinal"]) == (3, 1.0)


@pytest.mark.parametrize("name", ["task_id", "agent", "agent_version", "model"])
def test_unknown_runs_of_one_id_are_told_apart_by_what_is_said_of_them(
    tmp_path: Path, name: str
) -> None:
    words = [word("gone", who, 3 + (of == "x"), **{name: of}) for who in "ab" for of in "xy"]
    rows = agreement(made(tmp_path, [], words), items=["overall_quality"]).rows
    assert rows.select("n_units", "n_values", "alpha_nominal").row(0) == (2, 4, 1.0)


def test_without_annotations_it_cannot_be_judged(tmp_path: Path) -> None:
    lake = made(tmp_path, [run("r1")], [])
    with pytest.raises(NotJudgeableError, match="no annotation has landed"):
        agreement(lake)


def test_people_are_compared_with_metrics_and_not_with_themselves(marked: Path) -> None:
    for asked in (None, ["all"]):
        found = agreement(marked, metrics=asked).tables["correlations"]["metric"]
        assert "n_calls" in found.to_list()
        assert found.filter(found.str.starts_with("human.")).to_list() == []
    named = agreement(marked, metrics=["human.overall_quality"]).tables["correlations"]
    assert named["metric"].to_list() == ["human.overall_quality"]


def test_unknown_names_are_refused(marked: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown item 'efficency'; did you mean"):
        agreement(marked, items=["efficency"])
    with pytest.raises(UnknownNameError, match="unknown metric 'f9'"):
        agreement(marked, metrics=["f9"])


def test_without_an_extra_it_says_which(marked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(*gone: str) -> Any:
        return lambda name: None if name in gone else real_find_spec(name)

    monkeypatch.setattr(detector, "find_spec", without("rapidfuzz"))
    result = agreement(marked)
    assert result.tables["sweep"]["similarity"].null_count() == 10
    assert any("rapidfuzz is not installed" in note for note in result.notes)
    monkeypatch.setattr("pipeline.statistics.needs.find_spec", without("krippendorff"))
    with pytest.raises(InputError, match=r"agreement needs krippendorff.*trajtab\[stats\]"):
        agreement(marked)


def test_of_equal_settings_the_policys_own_is_recommended() -> None:
    rows = [(8, None, 2, 0.8), (2, None, 2, 0.8), (2, 0.9, 2, 0.8), (1, None, 0, 0.0)]
    names = ["window", "similarity", "n_both", "f1"]
    sweep = pl.DataFrame(rows, schema=names, orient="row")
    assert detector.recommended(sweep) == Setting(8, None)
    assert detector.recommended(sweep[1:].with_columns(pl.lit(0).alias("n_both"))) is None

"""Tables over an engine: parts add up to what one machine finds, to the last bit."""

from __future__ import annotations

import pytest

from pipeline.engines import parts, tables
from pipeline.engines.local import Local
from pipeline.errors import InputError, QueryError, UnknownNameError
from pipeline.lake import Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.sample import sample
from pipeline.scoring import score
from pipeline.tables.aggregate import aggregate
from pipeline.tables.percentiles import percentiles

ENGINE = Local(1, 0)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    home = tmp_path_factory.mktemp("tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "MOST_RECORDS", 60)
        sample(home / "export", runs=400, seed=4)
        land([home / "export"], home / "lake", workers=1, labels={"team": "a"})
    score(home / "lake")
    return home / "lake"


QUESTIONS = [
    {},
    {"by": ["agent_version", "labels.team"], "metrics": ["all"]},
    {"by": ["task_id"], "where": "trial < 2"},
    {"by": ["started_at"], "where": "f1 > 0.2"},
    {"where": "false"},
    {"by": ["success"], "where": "false"},
]


@pytest.mark.parametrize("asked", QUESTIONS, ids=str)
def test_parts_add_up(lake, asked):
    whole, found = aggregate(lake, **asked), aggregate(lake, engine=ENGINE, **asked)
    assert found.rows.schema == whole.rows.schema
    assert found.rows.equals(whole.rows)
    assert found.notes == whole.notes


def test_there_are_parts(lake):
    assert len(parts.asked(ENGINE, lake, None, None).units) == 7


def test_processes_add_up(lake):
    by = ["agent_version"]
    assert aggregate(lake, by=by, engine=Local(2, 0)).rows.equals(aggregate(lake, by=by).rows)


def test_an_empty_lake_has_the_same_empty_table(tmp_path):
    Lake.create(tmp_path / "lake")
    for by in ([], ["model"]):
        whole = aggregate(tmp_path / "lake", by=by)
        assert aggregate(tmp_path / "lake", by=by, engine=ENGINE).rows.equals(whole.rows)


def test_superseded_runs_are_left_out(tmp_path):
    """A longer export replaces a run of another batch: the part that holds it skips it."""
    short = '{"run_id":"r","steps":[{"kind":"tool_call","name":"a","args":{}}]}\n'
    long = short.replace("]}", ',{"kind":"tool_call","name":"b","args":{}}]}')
    for name, text in (("one", short), ("two", long)):
        (tmp_path / f"{name}.jsonl").write_text(text)
        land([tmp_path / f"{name}.jsonl"], tmp_path / "lake", workers=1)
    score(tmp_path / "lake")
    asked = {"metrics": ["n_calls"]}
    rows = aggregate(tmp_path / "lake", engine=ENGINE, **asked).rows
    assert rows.select("n_total", "mean").row(0) == (1, 2.0)
    assert rows.equals(aggregate(tmp_path / "lake", **asked).rows)


def test_a_filter_that_looks_at_all_runs_is_refused(lake):
    with pytest.raises(InputError, match="--engine local"):
        aggregate(lake, where="f1 > (SELECT avg(f1) FROM scores)", engine=ENGINE)


def test_a_refused_filter_is_told_as_here(lake):
    for where in ("no_such_column = 1", "CAST(agent AS INTEGER) = 1"):
        with pytest.raises((InputError, QueryError)) as here:
            aggregate(lake, where=where)
        with pytest.raises(type(here.value)) as there:
            aggregate(lake, where=where, engine=ENGINE)
        assert str(there.value) == str(here.value)


def test_unknown_names_are_refused(lake):
    with pytest.raises(UnknownNameError):
        aggregate(lake, metrics=["f9"], engine=ENGINE)
    with pytest.raises(UnknownNameError):
        aggregate(lake, by=["colour"], engine=ENGINE)


class Sorting(Local):
    """An engine that sorts values itself, as Spark does, by the textbook."""

    def percentiles(self, function, units, quantiles):
        from fractions import Fraction  # noqa: PLC0415 - here alone

        import pyarrow as pa  # noqa: PLC0415 - same

        batches = [batch for unit in units for part in unit for batch in function(part)]
        held: dict[tuple[int, int], list[float]] = {}
        for group, place, value in (row.values() for batch in batches for row in batch.to_pylist()):
            held.setdefault((group, place), []).append(value)
        rows = []
        for (group, place), values in held.items():
            values.sort()
            found = []
            for quantile in quantiles:
                at = Fraction(quantile) * (len(values) - 1)
                low = int(at)
                high = min(low + 1, len(values) - 1)
                step = Fraction(values[high]) - Fraction(values[low])
                found.append(float(Fraction(values[low]) + step * (at - low)))
            rows.append((group, place, len(values), found))
        columns = list(zip(*rows, strict=True)) or [[], [], [], []]
        return pa.table(
            {
                "group_id": pa.array(columns[0], pa.int64()),
                "place": pa.array(columns[1], pa.int64()),
                "n_scored": pa.array(columns[2], pa.int64()),
                "quantiles": pa.array(columns[3], pa.list_(pa.float64())),
            }
        )


@pytest.mark.parametrize("asked", QUESTIONS, ids=str)
def test_percentiles_of_more_values_than_fit_here(lake, asked, monkeypatch):
    monkeypatch.setattr(tables, "MOST_HERE", -1)
    whole = percentiles(lake, **asked)
    found = percentiles(lake, engine=Sorting(1, 0), **asked)
    names = [name for name in whole.rows.columns if name not in ("p25", "p50", "p75", "p95")]
    assert found.rows.schema == whole.rows.schema
    assert found.rows.select(names).equals(whole.rows.select(names))
    for name in ("p25", "p50", "p75", "p95"):
        assert found.rows[name].is_null().equals(whole.rows[name].is_null())
        assert found.rows[name].drop_nulls().to_list() == pytest.approx(
            whole.rows[name].drop_nulls().to_list(), rel=1e-12
        )
    assert found.notes == whole.notes


def test_more_values_than_fit_here_are_sorted_by_the_engine(lake, monkeypatch):
    asked = []

    class Counted(Sorting):
        def percentiles(self, function, units, quantiles):
            asked.append(quantiles)
            return super().percentiles(function, units, quantiles)

    percentiles(lake, engine=Counted(1, 0), quantiles=[0.5])
    assert not asked
    monkeypatch.setattr(tables, "MOST_HERE", -1)
    percentiles(lake, engine=Counted(1, 0), quantiles=[0.5])
    assert [list(quantiles) for quantiles in asked] == [[0.5]]


@pytest.mark.parametrize("engine", [None, Sorting(1, 0)], ids=["here", "engine"])
@pytest.mark.parametrize("table", [aggregate, percentiles])
def test_which_way_is_better_is_told(lake, table, engine, monkeypatch):
    monkeypatch.setattr(tables, "MOST_HERE", -1)
    found = table(lake, metrics=["f1", "n_missing", "n_calls"], engine=engine)
    assert found.better == {"f1": "higher", "n_missing": "lower", "n_calls": "lower"}


def test_few_values_are_sorted_here(lake):
    assert percentiles(lake, engine=Sorting(1, 0)).rows.equals(percentiles(lake).rows)

"""Comparison over an engine: what parts say adds up to what one machine finds."""

from __future__ import annotations

import pytest

from pipeline.engines.local import Local
from pipeline.errors import InputError, QueryError
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.sample import sample
from pipeline.scoring import score
from pipeline.tables.compare import compare

ENGINE = Local(1, 0)
ARMS = {"baseline": "agent_version = 'v1'", "candidate": "agent_version = 'v2'"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    home = tmp_path_factory.mktemp("arms")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "MOST_RECORDS", 50)
        sample(home / "export", runs=130, seed=4)
        land([home / "export"], home / "lake", workers=1)
    score(home / "lake")
    return home / "lake"


@pytest.mark.parametrize(
    "asked",
    [
        ARMS,
        {**ARMS, "pair": "trial", "metrics": ["f1", "success", "n_calls", "cost_usd", "wall_ms"]},
        {**ARMS, "where": "trial = 1"},
        {"baseline": "n_rows > 7", "candidate": "n_rows <= 7"},
        {"baseline": "true", "candidate": "true", "candidate_policy": "preset:openevals"},
    ],
    ids=str,
)
def test_parts_add_up(lake, asked):
    whole = compare(lake, resamples=50, **asked)
    found = compare(lake, resamples=50, engine=ENGINE, **asked)
    assert found.rows.equals(whole.rows)
    assert found.notes == whole.notes
    assert found.facts == whole.facts
    assert {name: table.rows() for name, table in found.tables.items()} == {
        name: table.rows() for name, table in whole.tables.items()
    }


@pytest.mark.parametrize("baseline", ["nope = 1", "false", "agent_version = 'v9'"])
def test_a_refused_filter_is_told_as_here(lake, baseline):
    asked = {**ARMS, "baseline": baseline}
    with pytest.raises((InputError, QueryError)) as here:
        compare(lake, **asked)
    with pytest.raises(type(here.value)) as there:
        compare(lake, engine=ENGINE, **asked)
    assert str(there.value) == str(here.value)


def test_a_filter_that_looks_at_all_runs_is_refused(lake):
    asked = {**ARMS, "baseline": "n_rows > (SELECT avg(n_rows) FROM runs)"}
    with pytest.raises(InputError, match="--baseline"):
        compare(lake, engine=ENGINE, **asked)

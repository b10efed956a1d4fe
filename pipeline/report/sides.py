"""One run and the calls expected of it, as scoring sees both sides."""

from __future__ import annotations

from io import BytesIO
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pipeline.current import score_name, tasks_of
from pipeline.errors import InputError
from pipeline.lake import KEY_ROWS, run_key_base
from pipeline.landing.commit import latest_tasks
from pipeline.metrics.metric import LEVELS, NAMES
from pipeline.report.reasons import Arguments
from pipeline.scoring import keys, references, score_batch, special
from pipeline.scoring.batch import _only_actors, with_references
from pipeline.scoring.sequences import on_best_subsequence, reordered
from pipeline.scoring.special import Made, Wanted
from pipeline.scoring.units import Units, part, units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from pipeline.lake import Folder, Lake
    from pipeline.policy import Policy
    from pipeline.scoring.references import Expected

    Fits: TypeAlias = Callable[[Wanted, Made], bool]
    Counts: TypeAlias = dict[str, int | None]


class ExpectedCall(NamedTuple):
    """A call the reference names."""

    position: int
    """Its position in the alternative, from 0."""
    tool: str
    arguments: Arguments
    wanted: Wanted


class ActualCall(NamedTuple):
    """A tool call of the run."""

    step_index: int
    tool: str
    arguments: Arguments
    made: Made


class Level(NamedTuple):
    """How calls match at one level: with arguments, or by names."""

    masks: list[int]
    """For each actual call the expected ones it matches, as bits."""
    order: Sequence[int]
    """The actual calls in the order that ordered metrics see."""
    kept: list[int]
    """The expected calls that ordered metrics see: all but the optional ones left out."""
    counts: Counts
    """What scoring counts."""


class Unit(NamedTuple):
    """What is compared at once: a run, or one user turn of it."""

    turn: int | None
    expected: list[ExpectedCall]
    actual: list[ActualCall]
    levels: dict[str, Level]
    in_place: list[int]
    """The expected calls that are paired by position for half credit: by names, full ones first."""
    hidden: bool
    """Is a call not captured that the reference gives with arguments?"""

    @property
    def optional(self) -> int:
        """Return the calls that may be left out, as bits."""
        return _optional(self.expected)


class Sides(NamedTuple):
    """A run, its scores, and both sides of the comparison; no unit where there is no reference."""

    scores: dict[str, Any]
    stored: bool
    """Do the scores come from the lake? Else they were made for this alone."""
    alternatives: int
    units: list[Unit]


def sides(lake: Lake, run_key: int, policy: Policy) -> Sides:
    """Read one run and the alternative of its reference that its scores use."""
    batch = _batch_of(lake, run_key)
    mine = pl.col("run_key") == run_key
    tasks = tasks_of(batch, latest_tasks(lake))
    scores, stored = _scores(lake, batch, tasks, policy, mine)
    runs = with_references(
        pl.scan_parquet(batch.file("runs"), glob=False).filter(mine).collect(), tasks
    )
    told = references.read(lake, runs["reference_set"].drop_nulls(), texts=True)
    if told.is_empty():
        return Sides(scores, stored, 0, [])
    steps = pl.scan_parquet(batch.file("steps"), glob=False).filter(mine).collect()
    compared = _compared(runs, _only_actors(steps, policy), told, policy, scores["reference_id"])
    return Sides(scores, stored, told["reference_id"].n_unique(), compared)


def _batch_of(lake: Lake, run_key: int) -> Folder:
    base = run_key >> KEY_ROWS << KEY_ROWS
    for batch in lake.batches():
        if run_key_base(batch.name) == base:
            return batch
    raise InputError(f"{lake.path}: the batch of run_key {run_key} is gone; run the command again")


def _scores(
    lake: Lake, batch: Folder, tasks: pl.DataFrame, policy: Policy, mine: pl.Expr
) -> tuple[dict[str, Any], bool]:
    """Return the run's scores, made on the spot where the lake has none that count."""
    folder = f"scores/p-{policy.hash}/{score_name(batch, policy, tasks)}"
    stored = lake.has(folder)
    if stored:
        table = (
            pl.scan_parquet(lake.path / folder / "scores.parquet", glob=False)
            .filter(mine)
            .collect()
        )
    else:
        table = score_batch(lake, batch, tasks, policy).scores.filter(mine)
    return table.row(0, named=True), stored


def _compared(
    runs: pl.DataFrame, steps: pl.DataFrame, told: pl.DataFrame, policy: Policy, reference_id: int
) -> list[Unit]:
    match = policy.match
    # Lists of arguments that the policy does not heed stay out, as where scoring reads references.
    rows = told if keys.needs_text(match) else told.drop("compare_args")
    keyed = keys.apply(match, steps, rows, _as_file(steps))  # type: ignore[arg-type] # Polars scans either
    expected = references.arrange(keyed.references, by_turn=match.unit == "turn")
    every = units(runs, keyed.steps, expected, policy)
    whole = part(every, every.frame["reference_id"] == reference_id)
    only_names = match.args == "names" and not match.tools
    fits = {
        "": special.by_name if only_names else special.by_arguments(keyed.lexicon),
        NAMES: special.by_name,
    }
    key = {"": "name_key" if only_names else "key", NAMES: "name_key"}
    counts = {level: _counts(whole, expected, key[level], fits[level], policy) for level in LEVELS}
    texts = keyed.steps.filter(kind="tool_call").select("step_index", "tool_name", "tool_args")
    made = pl.concat([whole.calls, texts[whole.calls["call"].to_list()]], how="horizontal")
    return [
        _unit(
            pair["turn"] if match.unit == "turn" else None,
            [_expected(row, policy) for row in expected.calls.filter(ref=pair["ref"]).to_dicts()],
            made.filter(pair=pair["pair"]),
            {level: (fits[level], counts[level][row]) for level in LEVELS},
            free=match.parallel == "unordered",
        )
        for row, pair in enumerate(whole.frame.to_dicts())
    ]


def _as_file(steps: pl.DataFrame) -> bytes:
    """Return the run's steps as the file that keys are made from: no other run's are read again."""
    buffer = BytesIO()
    steps.write_parquet(buffer)
    return buffer.getvalue()


def _counts(whole: Units, expected: Expected, key: str, fits: Fits, policy: Policy) -> list[Counts]:
    """Return what scoring counts at one level, per unit."""
    free = policy.match.parallel == "unordered"
    found = special.counts(whole, expected.calls, key, fits, free_in_response=free)
    return found.drop("pair", "places").to_dicts()


def _expected(row: dict[str, Any], policy: Policy) -> ExpectedCall:
    listed = row.get("compare_args") if policy.match.compare_args else None
    compared = None if listed is None else tuple(listed)
    wanted = Wanted(row["key"], row["name_key"], row["args_status"], row["optional"], compared)
    arguments = Arguments(row["tool_args"], row["args_status"])
    return ExpectedCall(row["origin"], row["tool_name"], arguments, wanted)


def _actual(row: dict[str, Any]) -> ActualCall:
    arguments = Arguments(row["tool_args"], row["args_status"])
    made = Made(row["key"], row["name_key"])
    return ActualCall(row["step_index"], row["tool_name"], arguments, made)


def _unit(
    turn: int | None,
    expected: list[ExpectedCall],
    made: pl.DataFrame,
    counted: dict[str, tuple[Fits, Counts]],
    *,
    free: bool,
) -> Unit:
    actual = [_actual(row) for row in made.to_dicts()]
    responses = _responses(made["response_index"].to_list()) if free else None
    levels = {
        level: _level(
            expected, [_mask(expected, call.made, fits) for call in actual], responses, counts
        )
        for level, (fits, counts) in counted.items()
    }
    in_place = _kept(expected, levels[NAMES].masks, levels[""].order, levels[""].masks)
    return Unit(turn, expected, actual, levels, in_place, _hidden(expected, actual))


def _level(
    expected: list[ExpectedCall], masks: list[int], responses: list[int] | None, counts: Counts
) -> Level:
    order = reordered(masks, responses, _optional(expected))
    return Level(masks, order, _kept(expected, masks, order), counts)


def _kept(
    expected: list[ExpectedCall],
    masks: list[int],
    order: Sequence[int],
    preferred: Sequence[int] = (),
) -> list[int]:
    """Return the expected calls without the optional ones that are off the best subsequence."""
    n, optional = len(expected), _optional(expected)
    if not optional:
        return list(range(n))
    rather = [preferred[j] for j in order] if preferred else ()
    met = on_best_subsequence([masks[j] for j in order], n, optional, rather)
    return [i for i in range(n) if not optional >> i & 1 or i in met]


def _optional(expected: list[ExpectedCall]) -> int:
    return sum(1 << i for i, call in enumerate(expected) if call.wanted.optional)


def _mask(expected: list[ExpectedCall], made: Made, fits: Fits) -> int:
    return sum(1 << i for i, call in enumerate(expected) if fits(call.wanted, made))


def _responses(indexes: list[int | None]) -> list[int]:
    """Number the responses in order; a null index is a response of its own.

    >>> _responses([4, 4, None, None, 7])
    [0, 0, 1, 2, 3]
    """
    starts = [index is None or index != before for before, index in pairwise([None, *indexes])]
    return [number - 1 for number in accumulate(starts)]


def _hidden(expected: list[ExpectedCall], actual: list[ActualCall]) -> bool:
    given = {
        call.wanted.name
        for call in expected
        if call.arguments.status != "any" and call.wanted.key != call.wanted.name
    }
    return any(
        call.arguments.status == "not_captured" and call.made.name in given for call in actual
    )

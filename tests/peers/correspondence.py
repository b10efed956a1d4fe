"""Which of our columns, under which policy, is which peer's metric, and what may differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from peers import reasons as why

if TYPE_CHECKING:
    from peers.reasons import Reason


class Metric(NamedTuple):
    """One metric of a peer: where two columns are named, their product is meant."""

    result: str
    title: str
    policy: str
    columns: tuple[str, ...]
    reasons: tuple[Reason, ...] = ()


class Peer(NamedTuple):
    """One installed scorer."""

    name: str
    version: str
    about: str
    metrics: tuple[Metric, ...]


ADK = "preset:adk"
OPENEVALS = "preset:openevals"
SUPERSET = "preset:openevals-args-superset"
SUBSET = "preset:openevals-args-subset"
AZURE = "preset:azure"
DEFAULT = "preset:default"

PYTHON = (why.TRUE_IS_ONE, why.NULL_IS_A_VALUE)
MESSAGES = (why.TRUE_IS_ONE, why.REFUSES_NULL)
NAMES_AZURE = (why.NAMES_TRIMMED, why.REFUSES_EMPTY)

_ADK = Peer(
    "google-adk",
    "2.13.0",
    "`tool_trajectory_avg_score`. A case here is one invocation, so `_turns` is its score; over "
    "several invocations it is their mean, as in ADK.",
    (
        Metric("adk.exact", "EXACT", ADK, ("exact_match_turns",), PYTHON),
        Metric("adk.in_order", "IN_ORDER", ADK, ("in_order_match_turns",), PYTHON),
        Metric("adk.any_order", "ANY_ORDER", ADK, ("any_order_match_turns",), PYTHON),
        Metric("adk.exact.ignore_args", "EXACT, ignore_args", ADK, ("exact_match_names_turns",)),
        Metric(
            "adk.in_order.ignore_args", "IN_ORDER, ignore_args", ADK,
            ("in_order_match_names_turns",),
        ),
        Metric(
            "adk.any_order.ignore_args", "ANY_ORDER, ignore_args", ADK,
            ("any_order_match_names_turns",),
        ),
    ),
)  # fmt: skip

_OPENEVALS = Peer(
    "openevals",
    "0.2.2",
    "`create_trajectory_match_evaluator`, which came from agentevals: trajectory mode, then "
    "argument mode.",
    (
        Metric("openevals.unordered", "unordered, exact", OPENEVALS, ("unordered_match",), MESSAGES),
        Metric("openevals.subset", "subset, exact", OPENEVALS, ("only_expected",), MESSAGES),
        Metric("openevals.superset", "superset, exact", OPENEVALS, ("any_order_match",), MESSAGES),
        Metric(
            "openevals.unordered.args_ignore", "unordered, ignore", OPENEVALS,
            ("unordered_match_names",), (why.REFUSES_NULL,),
        ),
        Metric(
            "openevals.subset.args_ignore", "subset, ignore", OPENEVALS,
            ("only_expected_names",), (why.REFUSES_NULL,),
        ),
        Metric(
            "openevals.superset.args_ignore", "superset, ignore", OPENEVALS,
            ("any_order_match_names",), (why.REFUSES_NULL,),
        ),
        Metric(
            "openevals.superset.args_superset", "superset, superset", SUPERSET,
            ("any_order_match",), (*MESSAGES, why.EXPECTED_TAKES_LARGER),
        ),
        Metric(
            "openevals.superset.args_subset", "superset, subset", SUBSET,
            ("any_order_match",), (*MESSAGES, why.EXPECTED_TAKES_SMALLER),
        ),
        Metric(
            "openevals.subset.args_superset", "subset, superset", SUPERSET,
            ("only_expected",), (*MESSAGES, why.ACTUAL_TAKES_SMALLER),
        ),
        Metric(
            "openevals.subset.args_subset", "subset, subset", SUBSET,
            ("only_expected",), (*MESSAGES, why.ACTUAL_TAKES_LARGER),
        ),
    ),
)  # fmt: skip

_RAGAS = Peer(
    "ragas",
    "0.4.3",
    "`ToolCallF1` counts distinct calls. `ToolCallAccuracy` is 0 unless the names agree one by "
    "one, then the mean over places of how well the arguments agree.",
    (
        Metric(
            "ragas.f1", "ToolCallF1", DEFAULT, ("set_f1",),
            (why.ROUNDED, why.TRUE_IS_ONE, why.NOTHING_IS_ZERO, why.REFUSES_NULL),
        ),
        Metric(
            "ragas.tool_call_accuracy", "ToolCallAccuracy", DEFAULT,
            ("position_match", "exact_match_names"),
            (
                why.REFUSES_NULL, why.ARGUMENTS_AS_TEXT, why.EXTRA_ARGUMENTS_FREE,
                why.SHARE_OF_ARGUMENTS,
            ),
        ),
    ),
)  # fmt: skip

_DEEPEVAL = Peer(
    "deepeval",
    "4.3.1",
    "`ToolCorrectnessMetric`. `should_consider_ordering` compares names here; given arguments to "
    "compare, it credits parts of a call.",
    (
        Metric(
            "deepeval.exact.args", "should_exact_match, input parameters", DEFAULT,
            ("exact_match",), PYTHON,
        ),
        Metric(
            "deepeval.ordering", "should_consider_ordering", DEFAULT, ("lcs_names",),
            (why.UNEXPECTED_IS_ZERO,),
        ),
    ),
)  # fmt: skip

_AZURE = Peer(
    "azure-ai-evaluation",
    "1.18.10",
    "Task navigation efficiency, its expected actions given as names.",
    tuple(
        Metric(f"azure.{name}", name, AZURE, (name,), NAMES_AZURE)
        for name in (
            "exact_match",
            "in_order_match",
            "any_order_match",
            "precision",
            "recall",
            "f1",
        )
    ),
)

_STRANDS = Peer(
    "strands-agents-evals",
    "1.7.0",
    "`in_order_match_scorer`, given lists of names, or of calls.",
    (
        Metric("strands.in_order", "in order, names", DEFAULT, ("in_order_names",)),
        Metric("strands_calls.in_order", "in order, calls", DEFAULT, ("in_order",), PYTHON),
    ),
)

_MLFLOW = Peer(
    "mlflow",
    "3.17.2",
    "`ToolCallCorrectness(should_exact_match=True, should_consider_ordering=True)`: yes is 1. One "
    "expected call without arguments makes it compare names in the whole case.",
    (
        Metric(
            "mlflow.exact_ordered", "exact, ordered", DEFAULT, ("exact_match",),
            (why.SPELLING_OF_NUMBERS, why.CALL_IS_A_NAME, why.REFUSES_EMPTY),
        ),
    ),
)  # fmt: skip

_TRAJEVAL = Peer(
    "trajeval",
    "0.2.0",
    "The check for a sequence of tools.",
    (Metric("trajeval.tool_order", "tool order", DEFAULT, ("in_order_match_names",)),),
)

PEERS = (_ADK, _OPENEVALS, _RAGAS, _DEEPEVAL, _AZURE, _STRANDS, _MLFLOW, _TRAJEVAL)
METRICS = tuple(metric for peer in PEERS for metric in peer.metrics)

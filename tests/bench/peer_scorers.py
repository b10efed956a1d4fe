"""The scorers of other libraries, from plain dictionaries on; each is imported when asked for."""
# ruff: noqa: PLC0415 - they are not installed everywhere, and slow to load

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

Call = dict[str, Any]


class Example(NamedTuple):
    """One run: the calls expected, and the calls made, as name and args."""

    expected: list[Call]
    actual: list[Call]


Scorers = dict[str, Callable[[list[Example]], object]]
"""By the library's own name of a metric: build its objects and score these runs."""


def google_adk() -> Scorers:
    """The three match types of ADK's trajectory evaluator."""
    from google.adk.evaluation.eval_case import IntermediateData, Invocation
    from google.adk.evaluation.eval_metrics import EvalMetric, ToolTrajectoryCriterion
    from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator
    from google.genai import types

    asked = types.Content(role="user", parts=[types.Part(text="?")])

    def invocation(calls: list[Call]) -> Invocation:
        used = [types.FunctionCall(name=call["name"], args=call["args"]) for call in calls]
        return Invocation(user_content=asked, intermediate_data=IntermediateData(tool_uses=used))

    def scorer(match: Any) -> Callable[[list[Example]], None]:
        criterion = ToolTrajectoryCriterion(threshold=1.0, match_type=match)
        told = EvalMetric(
            metric_name="tool_trajectory_avg_score", threshold=1.0, criterion=criterion
        )
        evaluator = TrajectoryEvaluator(eval_metric=told)

        def score(examples: list[Example]) -> None:
            for one in examples:
                evaluator.evaluate_invocations([invocation(one.actual)], [invocation(one.expected)])

        return score

    types_of_match = ToolTrajectoryCriterion.MatchType
    return {match.name: scorer(match) for match in types_of_match}


def agentevals() -> Scorers:
    """The four trajectory match modes."""
    from agentevals.trajectory.match import create_trajectory_match_evaluator

    def messages(calls: list[Call]) -> list[dict[str, Any]]:
        made = [
            {
                "id": str(number),
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
            }
            for number, call in enumerate(calls)
        ]
        return [
            {"role": "user", "content": "?"},
            {"role": "assistant", "content": "", "tool_calls": made},
        ]

    def scorer(mode: Any) -> Callable[[list[Example]], None]:
        evaluate = create_trajectory_match_evaluator(trajectory_match_mode=mode)

        def score(examples: list[Example]) -> None:
            for one in examples:
                evaluate(outputs=messages(one.actual), reference_outputs=messages(one.expected))

        return score

    return {mode: scorer(mode) for mode in ("strict", "unordered", "subset", "superset")}


def ragas() -> Scorers:
    """ToolCallAccuracy and ToolCallF1."""
    from ragas.dataset_schema import MultiTurnSample
    from ragas.messages import AIMessage, HumanMessage, ToolCall
    from ragas.metrics import ToolCallAccuracy, ToolCallF1

    def sample(one: Example) -> MultiTurnSample:
        made = [ToolCall(name=call["name"], args=call["args"]) for call in one.actual]
        return MultiTurnSample(
            user_input=[HumanMessage(content="?"), AIMessage(content="", tool_calls=made)],
            reference_tool_calls=[
                ToolCall(name=call["name"], args=call["args"]) for call in one.expected
            ],
        )

    def scorer(metric: Any) -> Callable[[list[Example]], None]:
        async def every(examples: list[Example]) -> None:
            for one in examples:
                await metric.multi_turn_ascore(sample(one))

        return lambda examples: asyncio.run(every(examples))

    return {"ToolCallAccuracy": scorer(ToolCallAccuracy()), "ToolCallF1": scorer(ToolCallF1())}


def deepeval() -> Scorers:
    """ToolCorrectness: as a set, in order, and exactly."""
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
    os.environ.setdefault("OPENAI_API_KEY", "none: no model is asked")
    from deepeval.metrics import ToolCorrectnessMetric
    from deepeval.test_case import LLMTestCase, ToolCall, ToolCallParams

    def case(one: Example) -> LLMTestCase:
        made, wanted = (
            [ToolCall(name=call["name"], input_parameters=call["args"]) for call in calls]
            for calls in (one.actual, one.expected)
        )
        return LLMTestCase(input="?", actual_output="", tools_called=made, expected_tools=wanted)

    def scorer(**options: bool) -> Callable[[list[Example]], None]:
        metric = ToolCorrectnessMetric(
            evaluation_params=[ToolCallParams.INPUT_PARAMETERS],
            async_mode=False, include_reason=False, **options,
        )  # fmt: skip

        def score(examples: list[Example]) -> None:
            for one in examples:
                metric.measure(case(one), _show_indicator=False)

        return score

    return {
        "tool correctness": scorer(),
        "with ordering": scorer(should_consider_ordering=True),
        "exact": scorer(should_exact_match=True),
    }


def strands() -> Scorers:
    """The three scorers over lists of names, which are given ready-made."""
    from strands_evals.tools import evaluation_tools as tools

    ready: dict[int, list[tuple[list[str], list[str]]]] = {}

    def names(examples: list[Example]) -> list[tuple[list[str], list[str]]]:
        if id(examples) not in ready:
            ready[id(examples)] = [
                ([call["name"] for call in one.actual], [call["name"] for call in one.expected])
                for one in examples
            ]
        return ready[id(examples)]

    def scorer(function: Callable[..., float]) -> Callable[[list[Example]], None]:
        def score(examples: list[Example]) -> None:
            for actual, expected in names(examples):
                function(actual, expected)

        return score

    return {
        "exact": scorer(tools.exact_match_scorer),
        "in order": scorer(tools.in_order_match_scorer),
        "any order": scorer(tools.any_order_match_scorer),
    }

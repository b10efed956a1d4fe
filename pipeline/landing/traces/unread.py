"""Attributes of spans that no vocabulary reads: what becomes of them.

Most say something of the agent's run, and are kept. Left out are the texts that spans carry again
and again under one name or another, and what tells of machines and protocols but no agent.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pipeline.landing.unknown.unmapped import Unmapped, noted
from pipeline.landing.values.literal import FEW_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

_READ = {
    "agent.name", "agent_name", "ai.model.id", "ai.operationId", "ai.response.model", "enduser.id",
    "error", "error.message", "error.type", "gcp.vertex.agent.session_id", "gen_ai.agent.name",
    "gen_ai.agent.version", "gen_ai.conversation.id", "gen_ai.operation.name",
    "gen_ai.request.model", "gen_ai.response.model", "gen_ai.tool.name", "gen_ai.usage.cost",
    "gen_ai.usage.completion_tokens", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens",
    "gen_ai.usage.prompt_tokens", "langfuse.session.id", "langfuse.user.id",
    "llm.cost.total", "llm.model_name",
    "llm.request.type", "llm.token_count.completion", "llm.token_count.prompt",
    "llm.token_count.total", "llm.usage.completion_tokens", "llm.usage.prompt_tokens",
    "llm.usage.total_tokens", "openinference.span.kind", "operation.cost", "operation.name",
    "service.name", "service.version", "session.id", "suite", "task_id", "test.case.name",
    "test.suite.name", "tool.id", "tool.name", "tool_call.id", "traceloop.entity.name",
    "traceloop.span.kind", "trial", "user.id", "event.name",
    "ai.usage.completionTokens", "ai.usage.inputTokens", "ai.usage.outputTokens",
    "ai.usage.promptTokens", "ai.usage.tokens", "reranker.model_name",
}  # fmt: skip
_TEXTS = (
    "ai.prompt", "ai.response.object", "ai.response.text", "ai.response.toolCalls", "ai.toolCall",
    "all_messages_events", "embedding", "events", "final_result", "gcp.vertex.agent.data",
    "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response",
    "gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response", "gen_ai.completion",
    "gen_ai.input", "gen_ai.output", "gen_ai.prompt", "gen_ai.system_instructions",
    "gen_ai.tool.call", "gen_ai.tool.definitions", "gen_ai.tool.description", "history", "input",
    "langfuse.observation.input", "langfuse.observation.output", "langfuse.trace.input",
    "langfuse.trace.output", "llm.input_messages", "llm.output_messages", "llm.prompt_template",
    "llm.prompts", "llm.request.functions", "llm.tools", "logfire.json_schema", "logfire.msg",
    "mlflow.chat", "mlflow.spanInputs", "mlflow.spanOutputs", "model_request_parameters", "output",
    "pydantic_ai.all_messages", "reranker.input_documents", "reranker.output_documents",
    "retrieval.documents", "tool.description", "tool.json_schema", "tool.parameters",
    "tool_arguments", "tool_response", "tools", "traceloop.entity.input",
    "traceloop.entity.output",
)  # fmt: skip
_MACHINES = (
    "asgi", "client", "code", "container", "db", "device", "exception", "faas", "host", "http",
    "internal", "k8s", "messaging", "net", "network", "os", "otel", "peer", "process", "rpc",
    "server", "service.instance", "span.kind", "telemetry", "thread", "tls", "url", "user_agent",
    "wsgi", "trajtab",
)  # fmt: skip
_LEFT_OUT = {*_READ, *_TEXTS, *_MACHINES}


def unread(attributes: Mapping[str, Any], but: frozenset[str] = frozenset()) -> Unmapped:
    """Return the attributes that are neither read nor left out on purpose, nor null.

    >>> unread({"gen_ai.request.model": "m", "gen_ai.prompt.0.content": "Hi", "tier": "gold"})
    {'tier': {'"gold"': 'gold'}}
    """
    found: Unmapped = {}
    names = tuple(attributes)
    for name in _kept(names) if len(names) <= FEW_NAMES else names:
        value = attributes[name]
        if value is not None and name not in but and not _is_left_out(name):
            found |= noted(name, value)
    return found


def left_out_attributes(at: str = "attributes") -> list[str]:
    """Return the names of the attributes, or the begins of their names, that are left out."""
    return sorted(f"{at}.{name}" for name in (*_TEXTS, *_MACHINES))


@lru_cache(256)
def _kept(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the attributes that are not left out: spans of one program have the same few sets."""
    return tuple(name for name in names if not _is_left_out(name))


@lru_cache(4096)
def _is_left_out(name: str) -> bool:
    """Tell whether an attribute, or one that it is part of, is left out.

    >>> [_is_left_out(name) for name in ("http.url", "httpd", "user.id", "user.id.kind")]
    [True, False, True, False]
    """
    parts = name.split(".")
    heads = (".".join(parts[:count]) for count in range(1, len(parts)))
    return name in _LEFT_OUT or any(head in _LEFT_OUT and head not in _READ for head in heads)

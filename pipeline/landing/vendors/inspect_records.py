"""The records of Inspect logs: what is read of samples, their scores and usage, and of the log."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, field

from pipeline.landing.chats.messages import Id, Raw  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.model import When  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.unknown.unmapped import Known, Noting, leaves_out


@leaves_out("reasoning_tokens", "total_cost")
class Usage(Known):
    """The tokens of one model."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    input_tokens_cache_read: int | None = None
    input_tokens_cache_write: int | None = None

    def read(self) -> int:
        """Return the tokens read, cached ones among them.

        Whether the input has these, as OpenAI's does and Anthropic's does not, the total tells.
        """
        cached = (self.input_tokens_cache_read or 0) + (self.input_tokens_cache_write or 0)
        beside = self.total_tokens == self.input_tokens + self.output_tokens + cached
        return self.input_tokens + (cached if beside else 0)


@leaves_out("answer", "explanation", "metadata", "history")
class Score(Known):
    """A scorer's verdict."""

    value: Any = None


@leaves_out("events")
class Transcript(Known):
    """Where older logs keep the long texts."""

    content: dict[str, Raw] = field(default_factory=dict)


@leaves_out(
    "choices",
    "events",
    "timelines",
    "output",
    "sandbox",
    "files",
    "setup",
    "store",
    "working_time",
    "total_time",
    "error_retries",
    "events_data",
    "message_pool",
)
class Sample(Noting):
    """One sample in one epoch."""

    id: Id
    epoch: int = 1
    uuid: str | None = None
    input: Raw = UNSET
    target: str | list[str] | None = None
    messages: Raw = UNSET
    scores: dict[str, Score] | None = None
    score: Score | None = None
    model_usage: dict[str, Usage] | None = None
    attachments: dict[str, Raw] | None = None
    transcript: Transcript | None = None
    started_at: When = None
    completed_at: When = None
    error: Any = None
    limit: Any = None
    metadata: dict[str, Any] | None = None


@leaves_out(
    "config",
    "dataset",
    "model_args",
    "model_base_url",
    "model_generate_config",
    "model_roles",
    "packages",
    "sandbox",
    "scorers",
    "solver",
    "solver_args",
    "solver_args_passed",
    "task_args",
    "task_args_passed",
    "task_attribs",
    "task_display_name",
    "task_file",
    "task_id",
    "task_registry_name",
    "task_version",
    "metrics",
    "viewer",
    "eval_set_id",
    "approval",
)
class Evaluation(Noting):
    """What the samples of a log share."""

    task: str | None = None
    model: str | None = None
    created: When = None
    eval_id: str | None = None
    run_id: str | None = None
    revision: dict[str, Any] | None = None

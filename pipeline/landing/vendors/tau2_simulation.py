"""tau2-bench's simulations: their messages, and how they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import field

from pipeline.landing.chats.messages import Id, Message
from pipeline.landing.unknown.unmapped import MARK, Unmapped, leaves_out
from pipeline.landing.vendors.tau2 import Judged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Status


@leaves_out("raw_data", "requestor", "turn_idx")
class Turn(Message):
    """One message; a result carries its call's id as `id`, and says whether the call failed."""

    tool_call_id: Id = field(name="id", default=None)
    error: bool | None = None
    errors: Any = None
    tool_messages: list[Turn] | None = None
    generation_time_seconds: float | None = None

    @property
    def says_more(self) -> bool:
        """Tell whether there are errors or a time."""
        return self.errors is not None or self.generation_time_seconds is not None

    def labels(self) -> dict[str, Any] | None:
        """Return what was wrong with a message the benchmark did not accept."""
        return {"errors": self.errors} if self.errors else None

    def took(self) -> float | None:
        """Return how long the model took."""
        seconds = self.generation_time_seconds
        return None if seconds is None else 1000.0 * seconds


@leaves_out(
    "duration", "mode", "policy", "review", "speech_environment", "timestamp", "voice_settings",
)  # fmt: skip
class Simulation(Judged, kw_only=True, forbid_unknown_fields=True):
    """One element of `simulations`."""

    unmapped: Unmapped | None = field(name=MARK, default=None)

    messages: list[Turn] | None
    id: str | None = None
    trial: int | None = None
    seed: int | None = None
    start_time: str | None = None
    end_time: str | None = None
    termination_reason: str | None = None
    agent_cost: float | None = None
    user_cost: float | None = None

    def turns(self) -> Iterator[Turn]:
        """Yield the messages; several results may stand together in one."""
        for turn in self.messages or ():
            yield from turn.tool_messages or (turn,)

    def reward(self) -> float | None:
        """Return the benchmark's reward; None where it gave none."""
        return None if self.reward_info is None else self.reward_info.reward


_COMPLETED = {
    "user_stop": True,
    "agent_stop": True,
    "max_steps": False,
    "timeout": False,
    "too_many_errors": False,
    "agent_error": False,
    "context_window_exceeded": False,
}
# Not the agent's doing: the simulated user, the network or the benchmark itself gave up.
_INFRASTRUCTURE = {"infrastructure_error", "user_error", "unexpected_error"}


def status_of(run: Simulation) -> Status:
    """Tell how a simulation ended."""
    if run.termination_reason in _INFRASTRUCTURE:
        return "error"
    ended = (
        run.termination_reason in _COMPLETED or run.end_time is not None or run.reward() is not None
    )
    return "ok" if ended else "incomplete"


def completed(reason: str | None) -> bool | None:
    """Tell whether the conversation came to its end."""
    return False if reason in _INFRASTRUCTURE else _COMPLETED.get(reason or "")

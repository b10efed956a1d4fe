"""Labels that the steps of a trace carry: by these its parts find each other, wherever they land."""

from __future__ import annotations

FROM_RESPONSE = "from_response"
"""The label of a call that only a response tells of."""
AGENT_SPAN = "agent_span"
"""The label of an answer that only an agent's span tells of."""
MODEL = "model"
"""The label of a response: the model that gave it."""
ASKED_BY = "asked_by"
"""The label of a call: the span of the response that asked for it, where ids or names tell."""
SERVER_SIDE = "server_side"
"""The label of a call whose result the response tells that asked for it: no tool here ran."""
NOT_RUN = "not_run"
"""The label of a response: the calls it asked for that no tool span tells of."""
ENCODERS = frozenset(("embedding", "reranker"))
"""The actors of rows that tell what a model used that says nothing."""
SPAN, INSIDE = "span_id", "inside"
"""Labels: a step's span; and spans around it of which this part of the trace has no step."""

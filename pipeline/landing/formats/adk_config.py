"""Google ADK's `test_config.json`: thresholds to judge by, for a policy and a gate file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.criteria import convert
from pipeline.errors import InputError
from pipeline.landing.formats import Format
from pipeline.landing.model import RejectError
from pipeline.landing.values.decode import decoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Run
    from pipeline.landing.records.reader import Head, Piece


_is_json = msgspec.json.Decoder().decode


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Yield nothing, for thresholds are no run; refuse what no gate can be made of.

    Raises:
        RejectError: the criteria cannot be read.
    """
    decoding(_is_json, piece.data)
    try:
        convert(piece.data, "test_config")
    except InputError as error:
        raise RejectError("wrong_type", str(error)) from error
    return iter(())


_BESIDE = {
    "criteria", "custom_metrics", "customMetrics", "user_simulator_config", "userSimulatorConfig",
}  # fmt: skip


def sniff(head: Head) -> str | None:
    """Recognise criteria and nothing that ran."""
    alone = head.has("criteria") and head.first.keys() <= _BESIDE
    known = alone and isinstance(head.first["criteria"], dict)
    return "criteria only: a configuration, which holds no run but makes a gate" if known else None


FORMAT = Format(
    name="adk_config",
    title="Google ADK test_config.json: criteria, which become a policy and a gate file",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    fills="a policy and a gate file in the lake's folder configs/",
    lacks="runs and tasks; what a model or code of its own has to judge is named, not made a gate",
    leaves_out=lambda: ["custom_metrics", "user_simulator_config"],
    expects=("criteria",),
)

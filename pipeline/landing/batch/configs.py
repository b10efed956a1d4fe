"""A configuration met while landing becomes files to use: a policy and a gate file in the lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xxhash import xxh3_64_hexdigest

from pipeline.criteria import convert
from pipeline.errors import InputError
from pipeline.landing import formats

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.lake import Lake
    from pipeline.landing.batch.chunks import Recognised

CONFIG = "adk_config"
FOLDER = "configs"


def write_configs(lake: Lake, recognised: Iterable[Recognised]) -> list[str]:
    """Write `configs/NAME-HEX.policy.toml` and `.gate.toml` for each file of criteria.

    HEX is a hash of the file, so that criteria that change keep their older files beside them.
    What cannot be read is a reject already, and is passed over.

    Returns:
        A sentence for each file: what was written, and what of it needs a model or code to judge.
    """
    told = []
    for found in recognised:
        if found.format != CONFIG:
            continue
        for piece in formats.get(CONFIG).pieces(found.source):
            try:
                made = convert(piece.data, found.source.named.name)
            except InputError:
                continue
            if not made.gates:
                told.append(_none(found.source.shown, made.left_out))
                continue
            stem = f"{FOLDER}/{found.source.named.stem}-{xxh3_64_hexdigest(piece.data)[:8]}"
            policy = lake.write_file(f"{stem}.policy.toml", made.policy.encode())
            gate = lake.write_file(f"{stem}.gate.toml", made.gate.encode())
            told.append(_sentence(found.source.shown, policy, gate, made.left_out))
    return told


def _sentence(source: str, policy: str, gate: str, left_out: list[str]) -> str:
    rest = (
        f"; for a model or code to judge, and left out: {', '.join(left_out)}" if left_out else ""
    )
    return f"{source}: criteria written as --policy {policy} and --gate {gate}{rest}"


def _none(source: str, left_out: list[str]) -> str:
    named = ", ".join(left_out) or "there is none"
    return f"{source}: none of its criteria makes a gate, and no file is written: {named}"

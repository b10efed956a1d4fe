"""What made-up logs are made of: chance, tools, names, and how records are spelled."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Draw = Callable[[], float]
"""The next number of a seeded sequence, from 0 and below 1."""

VERBS = ("search", "get", "update", "cancel", "create", "list")
NOUNS = ("flight", "order", "account", "ticket")
TOOLS = tuple(f"{verb}_{noun}" for verb in VERBS for noun in NOUNS)
SUITES = ("airline", "retail", "bank", "telecom")
NAMES = ("Zoë Keller", "José Núñez", "Łukasz Żak", "山田 太郎", "Anna O'Neill", "Müller & Söhne")
CITIES = ("Zürich", "São Paulo", "München", "東京", "Reykjavík", "Denver")


def spelled(tool: str, args: dict[str, Any]) -> str:
    """Return a call as the text of a record's members."""
    return f'"tool_name":"{tool}","tool_args":{as_json(args)}'


def as_json(value: Any) -> str:
    """Return a value as JSON text, as tightly as it goes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

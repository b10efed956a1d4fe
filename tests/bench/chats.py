"""Chats as long as agents hold them: the trials of our sample again and again, no two alike.

Their texts are made up of the sample's words: a system prompt of 6 KB, which all share, outputs of
half a KB, replies of a few sentences.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = Path(__file__).parents[2] / "data_samples" / "taubench_v1" / "helpdesk_trials.json"
LENGTHS = {"system": 1000, "user": 30, "assistant": 60, "tool": 90}
"""Words of a message."""


def trials(runs: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield so many trials in tau-bench's format."""
    chance = random.Random(seed)  # noqa: S311 - a made-up log
    known = json.loads(SAMPLE.read_bytes())
    said = " ".join(str(message["content"]) for trial in known for message in trial["traj"])
    words = sorted(set(said.split()))
    prompt = " ".join(chance.choices(words, k=LENGTHS["system"]))
    for number in range(runs):
        trial = known[number % len(known)]
        chat = [_message(message, prompt, words, chance) for message in trial["traj"]]
        yield {**trial, "traj": chat, "trial": number}


def _message(
    message: dict[str, Any], prompt: str, words: list[str], chance: random.Random
) -> dict[str, Any]:
    role = message["role"]
    said = prompt if role == "system" else " ".join(chance.choices(words, k=LENGTHS[role]))
    calls = [_call(call, chance) for call in message.get("tool_calls") or ()]
    content = message["content"] if message["content"] is None else f"{message['content']} {said}"
    return {**message, "content": content, **({"tool_calls": calls} if calls else {})}


def _call(call: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return a call of which some hundred are alike in a log."""
    told = {**json.loads(call["function"]["arguments"]), "coach": chance.randrange(200)}
    return {**call, "function": {**call["function"], "arguments": json.dumps(told)}}


def write(folder: Path, runs: int, seed: int = 1) -> tuple[Path, Path]:
    """Write the same chats as `openai_chat` lines and as an array of tau-bench trials."""
    folder.mkdir(parents=True, exist_ok=True)
    lines, array = folder / "chats.jsonl", folder / "trials.json"
    found = list(trials(runs, seed))
    with lines.open("w", encoding="utf-8") as file:
        for trial in found:
            told = {"id": f"{trial['task_id']}/{trial['trial']}", "messages": trial["traj"]}
            file.write(json.dumps({**told, "reward": trial["reward"]}) + "\n")
    array.write_text(json.dumps(found), encoding="utf-8")
    return lines, array

"""`trajtab judge`: a model judges runs or steps, in batch. One command per file."""

from __future__ import annotations

from pipeline.cli.command import group as declare
from pipeline.cli.judge import consistency, land, prepare, run

_EXAMPLE = """\
trajtab judge prepare lake --rubric preset:tool_relevance --sample 20 --out requests.jsonl
trajtab judge run requests.jsonl --url http://localhost:8000/v1 --out responses.jsonl > run.txt
trajtab judge land responses.jsonl --lake lake > landed.txt
trajtab judge consistency lake"""


@declare("judge", example=_EXAMPLE)
def command() -> None:
    """Have a model judge runs or steps, in batch.

    prepare writes requests, run has any OpenAI-compatible endpoint answer them (the batch services
    of OpenAI and Anthropic take them too), land turns answers into scores: the column and metric
    judge.NAME, NAME being the rubric's.
    """


for _below in (prepare, run, land, consistency):
    command.add_command(_below.command)

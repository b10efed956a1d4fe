"""The examples of deploy/ are what they say: Python that Airflow may read, YAML, our commands."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest
import yaml

from pipeline.cli import main

ROOT = Path(__file__).resolve().parents[2]
DAG = ROOT / "deploy" / "airflow_nightly.py"
CRON = ROOT / "deploy" / "kubernetes_cronjob.yaml"


def test_the_dag_is_python_with_four_tasks_in_a_row():
    tree = ast.parse(DAG.read_text(encoding="utf-8"))
    made = [
        keyword.value.value
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "task_id" and isinstance(keyword.value, ast.Constant)
    ]
    assert made == ["land", "score", "tables", "gate"]


def test_the_cron_job_keeps_two_nights_apart():
    job = yaml.safe_load(CRON.read_text(encoding="utf-8"))
    assert (job["kind"], job["spec"]["concurrencyPolicy"]) == ("CronJob", "Forbid")
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


@pytest.mark.parametrize("file", [DAG, CRON], ids=lambda file: file.name)
def test_commands_and_options_exist(file):
    text = file.read_text(encoding="utf-8").replace("{ENGINE}", "--engine spark --master x")
    lines = re.findall(r"\btrajtab (land|score|aggregate|gate) (.*)", text)
    assert len(lines) >= 3
    for name, rest in lines:
        command = main.get_command(click.Context(main), name)
        known = {opt for param in command.params for opt in param.opts}
        assert set(re.findall(r"(?<!\S)--[a-z-]+", rest)) <= known

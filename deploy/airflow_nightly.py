# ruff: noqa: INP001 - Airflow reads this file by itself: it is in no package
"""An Airflow (3) DAG: yesterday's logs are landed, scored and gated, every night.

Each task is one command line, so a task that is tried again does no harm: landing the same logs
again changes nothing, and `--resume` takes up what a killed driver left. Set the variables below,
put the file into the DAGs folder, and make a connection-less worker that has `trajtab[spark]`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

LAKE = "/mnt/lake"
LOGS = "/mnt/export/{{ ds }}"
ENGINE = "--engine spark --master spark://spark-master:7077"

with DAG(
    dag_id="trajtab_nightly",
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow takes it as UTC
    schedule="0 2 * * *",
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=10)},
) as dag:
    land = BashOperator(
        task_id="land",
        bash_command=f"trajtab land {LOGS} --lake {LAKE} --set day={{{{ ds }}}} --resume {ENGINE}",
    )
    score = BashOperator(
        task_id="score",
        bash_command=f"trajtab score {LAKE} --resume {ENGINE}",
    )
    tables = BashOperator(
        task_id="tables",
        bash_command=(
            f"trajtab aggregate {LAKE} --by agent_version,labels.day "
            f"-o {LAKE}-{{{{ ds }}}}.parquet {ENGINE}"
        ),
    )
    # Exit 1 is a worse agent, 3 means it cannot be judged: neither is worth another try.
    gate = BashOperator(
        task_id="gate",
        bash_command=(
            f"trajtab gate {LAKE} --gate preset:five-percent "
            "--baseline \"labels->>'day' = '{{ macros.ds_add(ds, -1) }}'\" "
            "--candidate \"labels->>'day' = '{{ ds }}'\""
        ),
        retries=0,
    )
    land >> score >> tables >> gate

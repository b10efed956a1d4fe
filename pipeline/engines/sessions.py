"""Spark sessions: classic or Connect, with what workers need to run the driver's own code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pipeline.errors import EngineError, InputError

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

CONNECT = "sc://"


def connected(master: str | None) -> SparkSession:
    """Return a session of this master, or the one that is open already.

    What the person configured (spark-submit, spark-defaults.conf) wins over what is set here.

    Raises:
        InputError: the extra is not installed.
        EngineError: there is no such master, or no Java.
    """
    try:
        from py4j.protocol import (  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra
            Py4JError,
        )
        from pyspark.errors import PySparkException  # noqa: PLC0415 - same
        from pyspark.sql import SparkSession  # noqa: PLC0415 - same
    except ImportError as error:
        raise InputError(
            "--engine spark needs PySpark: install it with `pip install 'trajtab[spark]'`"
        ) from error
    try:
        if master is not None and master.startswith(CONNECT):
            return SparkSession.builder.remote(master).getOrCreate()
        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        found = SparkSession.builder.config(conf=_configured(master)).getOrCreate()
        found.sparkContext.setLogLevel(os.environ.get("TRAJTAB_SPARK_LOG", "ERROR"))
    except (PySparkException, Py4JError, RuntimeError, OSError, ValueError) as error:
        first = cause(str(error))
        raise EngineError(
            f"--master {master}: no Spark there: {first}. A master is local[4], "
            "spark://HOST:7077, k8s://https://HOST:PORT, yarn, or sc://HOST:15002 (Connect); "
            "the classic ones need Java 17 here"
        ) from error
    return found


def _configured(master: str | None) -> SparkConf:
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - an extra

    if "PYSPARK_PYTHON" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    # The conf of spark-submit and spark-defaults.conf is known to the JVM alone.
    SparkContext._ensure_initialized()  # noqa: SLF001 - there is no other door
    conf = SparkConf()
    if master is not None:
        conf.setMaster(master)
    for name, value in _defaults(conf).items():
        conf.setIfMissing(name, value)
    # Its own default for an interactive shell is true, and would mix with our progress.
    conf.set("spark.ui.showConsoleProgress", "false")
    return conf


def _defaults(conf: SparkConf) -> dict[str, str]:
    """Return what a job of trajtab wants where the person says nothing."""
    wanted = {
        "spark.app.name": "trajtab",
        # Tasks are whole batches: a worker of one core must not start a thread per core.
        "spark.executorEnv.POLARS_MAX_THREADS": str(conf.get("spark.task.cpus", "1")),
    }
    if "PYTHONPATH" in os.environ:
        wanted["spark.executorEnv.PYTHONPATH"] = os.environ["PYTHONPATH"]
    return wanted


def cause(text: str) -> str:
    r"""Return the line of a Spark error that says what happened.

    >>> cause("An error occurred\n: java.lang.Exception: no master\n\tat here")
    ': java.lang.Exception: no master'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "Error: " in line or "Exception: " in line]
    return (telling or lines or ["no reason given"])[-1 if telling else 0][:300]

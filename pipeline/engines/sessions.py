"""Spark sessions: classic or Connect, with what workers need to run the driver's own code."""

from __future__ import annotations

import os
import re
import socket
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pipeline.errors import EngineError, InputError

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

CONNECT = "sc://"
PORTS = {"spark": 7077, "sc": 15002}
"""Where a master and a Connect server listen unless told otherwise."""
PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
"""Environment variables by which gRPC goes another way than straight to the host."""
KNOCK_S = 10.0


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
            _knock(master)
            return SparkSession.builder.remote(master).getOrCreate()
        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        _knock(master or "")
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


def _knock(master: str) -> None:
    """Make sure that somebody listens: Spark would try again for minutes, without a word.

    Raises:
        OSError: nobody does, at any of the addresses.
        ValueError: a port is no number.
    """
    scheme, _, rest = master.partition("://")
    if scheme not in PORTS or (scheme == "sc" and any(map(os.environ.get, PROXIES))):
        return
    refused = None
    for place in re.split("[/;]", rest)[0].split(","):
        asked = urlsplit(f"//{place}")
        try:
            socket.create_connection((asked.hostname, asked.port or PORTS[scheme]), KNOCK_S).close()
        except OSError as error:
            refused = error
        else:
            return
    if refused is not None:
        raise refused


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

"""What Spark's exceptions come down to: one sentence, with the class of the error and what to do."""

from __future__ import annotations

import socket
import sys
import traceback

import pytest

from embedded_tests.tables import table
from mqgroups.errors import BindingMissing
from mqgroups.settings import Connecting
from mqgroups.spark import cause, connections
from mqgroups.spark.connections import lent
from mqgroups.spark.errors import QueueReserved
from mqgroups.spark.failures import rows_told_briefly, told_briefly

STREAM_FAILED = """[STREAM_FAILED] Query [id = 0d2c, runId = 4a2a] terminated with exception: {}  SQLSTATE: XXKST
=== Streaming Query ===
Identifier: orders [id = 0d2c, runId = 4a2a]
Current State: ACTIVE"""
WORKER = """[PYTHON_DATA_SOURCE_ERROR] Failed to generate Python data source read partitions: Traceback (most recent call last):
  File "/python/mqgroups/connection/connection.py", line 435, in _open
    raise self.failed("MQOPEN", object_name, comp, reason)
mqgroups.errors.MQIError: MQOPEN for queue NOPE failed: reason 2042 MQRC_OBJECT_IN_USE

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/python/pyspark/sql/worker/plan_data_source_read.py", line 84, in main
{}
 SQLSTATE: 38000

JVM stacktrace:
org.apache.spark.SparkException: Job aborted
\tat org.apache.spark.sql.execution.Foo.bar(Foo.scala:1)
Caused by: java.io.IOException: Other: nothing of it
"""

# What Spark 4.3 says of a streamReader() that raises.
NO_READER = """[PYTHON_DATA_SOURCE_ERROR] Failed to plan Python data source initialize source: Traceback (most recent call last):
  File "/python/mqgroups/spark/failures.py", line 58, in briefly
    raise _without_frames(error) from None
mqgroups.spark.errors.SparkOptionError: option txnAppId of format 'ibmmq': it is for batch write, not for stream read

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/python/pyspark/sql/streaming/python_streaming_source_runner.py", line 295, in main
UnboundLocalError: cannot access local variable 'reader' where it is not associated with a value
 SQLSTATE: 38000"""


@table(
    ("text", "sentence"),
    [
        (
            WORKER.format("mqgroups.errors.QueueMissing: MQOPEN failed. Define the queue"),
            "QueueMissing: MQOPEN failed.",
        ),
        (STREAM_FAILED.format(WORKER.format("ValueError: the sink is not there")), "ValueError: the sink is not there"),
        (
            STREAM_FAILED.format(NO_READER),
            "SparkOptionError: option txnAppId of format 'ibmmq': it is for batch write",
        ),
        (STREAM_FAILED.format(""), "a Python process of Spark ended without an error: it was killed"),
        ("org.apache.spark.SparkException: Job aborted: java.io.EOFException", "a Python process of Spark ended"),
        ("o112.save.\n: java.io.IOException: Stream closed\n\tat java.base", "a Python process of Spark ended"),
        (
            "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.",
            "Spark's JVM did not start; standard error says why. Spark needs Java 17 or newer",
        ),
        ("[PYTHON_WORKER_FAILED] Python worker failed to connect back.", "Spark could not start its Python processes."),
        (
            "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: ibmmq. Make sure",
            "Spark does not know format 'ibmmq'. The Python that Spark starts (PYSPARK_PYTHON) does not exist or does not have",
        ),
        (
            WORKER.format("ModuleNotFoundError: No module named 'mqgroups'"),
            "No module named 'mqgroups': the Python that Spark started does not have the package. PYSPARK_PYTHON must",
        ),
        (
            'o37.load.\n: java.io.IOException: Cannot run program "/nope/python": error=2, No such file or directory\n\tat java',
            "the Python that Spark starts does not exist: PYSPARK_PYTHON must name one",
        ),
        ("[SOMETHING_ELSE] was wrong\nand more", "[SOMETHING_ELSE] was wrong"),
        (
            "An error occurred.\n: org.apache.spark.X: [DATA_SOURCE_NOT_FOUND] Failed to find the data source: ibmmqq. Make",
            "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: ibmmqq.",
        ),
        ("", "Spark gave no reason"),
    ],
)
def test_the_cause_is_one_sentence(text, sentence):
    found = cause(text)
    assert found.startswith(sentence)
    assert "\n" not in found
    # An exception without a text is told by its class.
    assert cause(RuntimeError(text)) == (found if text else "RuntimeError('')")


def test_an_error_of_the_package_is_its_own_cause():
    assert cause(QueueReserved("ORDERS", 20)).startswith("QueueReserved: queue ORDERS is still open for input")


def test_an_exception_whose_text_cannot_be_had_is_shown_all_the_same():
    class Gone(Exception):
        def __str__(self):
            raise OSError("the JVM is gone")

    assert cause(Gone(1)) == "Gone(1)"


def deep(error):
    try:
        raise ValueError("below")
    except ValueError as below:
        raise error from below


@pytest.mark.parametrize("generator", [False, True])
def test_an_error_of_the_package_comes_without_its_frames_and_others_with_them(generator):
    if generator:

        @rows_told_briefly
        def method(error):
            yield 1
            deep(error)

        def call(error):
            return list(method(error))
    else:

        @told_briefly
        def call(error):
            deep(error)

    with pytest.raises(QueueReserved) as failed:
        call(QueueReserved("ORDERS", 20))
    said = "".join(traceback.format_exception(failed.value))
    assert "deep" not in said
    assert "below" not in said
    with pytest.raises(KeyError) as other:
        call(KeyError("x"))
    said = "".join(traceback.format_exception(other.value))
    assert "in deep" in said
    assert "below" in said


@pytest.mark.parametrize("task", [None, object()])
def test_a_binding_that_is_missing_in_a_task_is_told_with_the_setting_of_executors(monkeypatch, task):
    def missing(*_, **__):
        raise BindingMissing("pymqi", "the client library cannot be loaded")

    class Spark:
        class TaskContext:
            @staticmethod
            def get():
                return task

    monkeypatch.setattr(connections, "load_binding", missing)
    monkeypatch.setattr(socket, "gethostname", lambda: "worker-7")
    monkeypatch.setitem(sys.modules, "pyspark", Spark)
    with pytest.raises(BindingMissing) as refused, lent(Connecting("QM1")):
        pass
    assert str(refused.value).startswith("on the executor at ") is (task is not None)
    if task is not None:
        assert str(refused.value).startswith("on the executor at worker-7: the client library cannot be loaded.")
        assert "spark.executorEnv.LD_LIBRARY_PATH=" in str(refused.value)

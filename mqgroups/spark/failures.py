"""Shows failures to a user of Spark in a short traceback, or as one sentence.

Spark puts the traceback of its Python worker into the text of its own exception. This package's errors already explain what was
found and what to do. So the methods that Spark calls omit the package's frames (``told_briefly``). The log has these frames at
level DEBUG. ``cause`` returns an error's sentence without the text that Spark adds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

from mqgroups.errors import MQGroupsError
from mqgroups.telemetry.tracebacks import without_frames

_P = ParamSpec("_P")
_T = TypeVar("_T")

# The last line of a Python traceback in Spark's message. It has the class of the error and its text.
_RAISED = re.compile(r"^(?:[\w.]*\.)?([A-Z]\w+): (.+)$", re.MULTILINE)
# If a stream's reader cannot be made, Spark's worker still tries to stop the reader. So this error follows the real error.
_CONSEQUENCE = "UnboundLocalError: cannot access local variable 'reader'"
# The text that Spark puts behind a Python traceback.
_AFTER_PYTHON = re.compile(r"\n\tat |\s+SQLSTATE: |\nJVM stacktrace:|\n=== Streaming Query")
# The name and the sentence of an error that Spark itself raises.
_CONDITION = re.compile(r"\[[A-Z][A-Z_.]+\] .+")
# Messages of Spark that have no Python traceback, and what they mean.
_KNOWN = {
    r"terminated with exception:\s+SQLSTATE|EOFException|IOException: Stream closed|Python worker exited unexpectedly|"
    r"SocketException": (
        "a Python process of Spark ended without an error: it was killed, or had no memory left. Nothing is lost; start the "
        "query or job again"
    ),
    r"Python worker failed to connect back|PYTHON_WORKER_FAILED": (
        "Spark could not start its Python processes. If the host was too busy, start the query or job again. Otherwise "
        "PYSPARK_PYTHON must name a Python that has mqgroups, pyspark and pyarrow, on the driver and on each executor"
    ),
    r"(?i)DATA_SOURCE_NOT_FOUND.*\bibmmq\b": (
        "Spark does not know format 'ibmmq'. The Python that Spark starts (PYSPARK_PYTHON) does not exist or does not have "
        "mqgroups, or the package was installed after the session began. Install mqgroups for that Python and for the driver's "
        "(PYSPARK_DRIVER_PYTHON, if that is set), and start a new session; or call mqgroups.spark.register(spark) in each session"
    ),
    r"Cannot run program .*error=2": (
        "the Python that Spark starts does not exist: PYSPARK_PYTHON must name one that has mqgroups, pyspark and pyarrow, on "
        "the driver and on each executor"
    ),
    "JAVA_GATEWAY_EXITED": (
        "Spark's JVM did not start; standard error says why. Spark needs Java 17 or newer, from JAVA_HOME or else from "
        "the PATH. On Debian and Ubuntu: apt-get install openjdk-17-jre-headless"
    ),
    r"CONCURRENT_QUERY|CONCURRENT_STREAM_LOG_UPDATE": (
        "another query uses the same checkpoint. Stop it, or use another checkpoint"
    ),
}
_NO_MODULE = re.compile(r"ModuleNotFoundError: (No module named '(?:mqgroups|pymqi|ibmmq)[\w.]*')")


def told_briefly(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a method that raises errors of this package with a short traceback, without the package's own frames."""

    @wraps(method)
    def briefly(*arguments: _P.args, **named: _P.kwargs) -> _T:
        try:
            return method(*arguments, **named)
        except MQGroupsError as error:
            raise without_frames(error) from None

    return briefly


def rows_told_briefly(method: Callable[_P, Iterator[_T]]) -> Callable[_P, Iterator[_T]]:
    """Return a generator method that raises errors with a short traceback, as ``told_briefly`` does for other methods."""

    @wraps(method)
    def briefly(*arguments: _P.args, **named: _P.kwargs) -> Iterator[_T]:
        try:
            yield from method(*arguments, **named)
        except MQGroupsError as error:
            raise without_frames(error) from None

    return briefly


def cause(error: BaseException | str) -> str:
    """Return one sentence for an exception of Spark: the class and text of the Python error in it, and what to do.

    Args:
        error: the exception from ``getOrCreate()``, an action, ``save()``, ``start()`` or ``awaitTermination()``, or its text.
    """
    text = error if isinstance(error, str) else _text(error)
    python = _AFTER_PYTHON.split(text.partition("Traceback (most recent call last)")[2], 1)[0]
    no_module = _NO_MODULE.search(python)
    if no_module:
        return (
            f"{no_module[1]}: the Python that Spark started does not have the package. PYSPARK_PYTHON must name one that has it, "
            "on the driver and on each executor"
        )
    raised = [": ".join(each) for each in _RAISED.findall(python)]
    raised = [each for each in raised if not each.startswith(_CONSEQUENCE)]
    if raised:
        return raised[-1]
    for pattern, words in _KNOWN.items():
        if re.search(pattern, text):
            return words
    condition = _CONDITION.search(text)
    return condition[0] if condition else (text.strip().splitlines() or ["Spark gave no reason"])[0]


def _text(error: BaseException) -> str:
    if isinstance(error, MQGroupsError):
        return f"Traceback (most recent call last):\n{type(error).__name__}: {error}"
    try:
        return str(error) or repr(error)
    except Exception:  # PySpark asks the JVM for the text; the JVM may be gone
        return repr(error)

"""A pool of connections to the queue manager, in each process in which Spark runs code.

A Spark task runs in a forked Python worker, which runs one task after the other. A connection handle does not survive a fork. So
the task makes the connection, and the pool keeps it for the worker's next task with the same options:

    with lent(options.connection) as q_mgr:
        ...

The pool closes a lost connection, and a connection whose block raises an error. If Spark ends a worker, the worker does not call
MQDISC. Then the queue manager backs out the uncommitted work.
"""

from __future__ import annotations

import atexit
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from mqgroups.connection.connecting import open_connection
from mqgroups.connection.connection import Connection
from mqgroups.connection.retry import Patience
from mqgroups.errors import BindingMissing, MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi.binding import load_binding
from mqgroups.settings import Connecting
from mqgroups.telemetry.settings import DEFAULT

_CONN_NAME = "In Spark, set the options mq.connectionNameList and mq.channel"
_idle: dict[tuple[int, Connecting], list[Connection]] = {}


@contextmanager
def lent(options: Connecting) -> Iterator[Connection]:
    """Lend a connection of this process. It has no open unit of work, and must have none when the block ends.

    Raises:
        ConfigurationError: settings cannot be combined, or a secret cannot be read.
        BindingMissing: the MQ client library or its binding is missing. In a task, the error text names the executor's host.
        MQGroupsError: connecting failed.
    """
    idle = _idle.setdefault((os.getpid(), options), [])
    q_mgr = idle.pop() if idle else connected(options)
    try:
        yield q_mgr
    except BaseException:
        q_mgr.close()
        raise
    if q_mgr.usable:
        idle.append(q_mgr)
    else:
        q_mgr.close()


def connected(options: Connecting) -> Connection:
    """Return a new connection that the caller must close. Raises the same errors as ``lent``."""
    try:
        waits = Patience(options.connect_wait_s), Patience(options.reconnect_wait_s)
        return open_connection(load_binding(), options, *waits, options.sleep, DEFAULT)
    except MQIError as error:
        if error.reason == mq.MQRC_Q_MGR_NAME_ERROR and options.conn_name is None:
            error.context = ". ".join(part for part in (error.context, _CONN_NAME) if part)
        raise
    except BindingMissing as error:
        if not _is_in_task():
            raise
        raise BindingMissing(
            error.binding,
            f"on the executor at {socket.gethostname()}: {error.problem}. Executors do not have the driver's environment. "
            "Install the IBM MQ client library and the binding there too, and set spark.executorEnv.LD_LIBRARY_PATH to the "
            "library's folder, as in --conf spark.executorEnv.LD_LIBRARY_PATH=/opt/mqm/lib64; PYSPARK_PYTHON must name a Python "
            "that has the binding",
        ) from error


def _is_in_task() -> bool:
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.TaskContext.get() is not None


@atexit.register
def close_idle() -> None:
    """Disconnect the idle connections of this process."""
    for (pid, _), idle in _idle.items():
        if pid == os.getpid():
            while idle:
                idle.pop().close()

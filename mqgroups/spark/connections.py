"""Connections to the queue manager in whatever process Spark runs code: made when first used, kept, lent.

A Spark task runs in a Python worker that was forked from another one and runs many tasks, one after the other. A connection
handle does not survive fork, so connections are made inside the task, and kept for the worker's next task: by options
and process. Whoever uses one borrows it:

    with lent(options.connection) as q_mgr:
        ...

One that was lost, or on which something went wrong, is closed and not lent again. A worker that Spark ends goes without
MQDISC, and the queue manager backs out what it had not committed.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mqgroups.queue_manager import QueueManager, connect
from mqgroups.spark.errors import SparkOptionError
from mqgroups.spark.options import ConnectionOptions

_idle: dict[tuple[int, ConnectionOptions], list[QueueManager]] = {}


@contextmanager
def lent(options: ConnectionOptions) -> Iterator[QueueManager]:
    """Lend a connection of this process; it has no unit of work when it comes, and must have none when it goes.

    Raises:
        SparkOptionError: the password is not where it should be.
        MQGroupsError: it cannot be connected.
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


def connected(options: ConnectionOptions) -> QueueManager:
    """Return a new connection of the caller's own. Raises as ``lent`` does."""
    return connect(
        options.q_mgr_name,
        options.channel,
        options.conn_name,
        user=options.user,
        password=password(options),
        cipher_spec=options.cipher_spec,
        key_repository=options.key_repository,
        connect_wait_s=options.connect_timeout_ms / 1000,
        reconnect_wait_s=options.reconnect_timeout_ms / 1000,
    )


def password(options: ConnectionOptions) -> str | None:
    """Return the password, read where this process runs.

    Raises:
        SparkOptionError: the file or the environment variable is not there.
    """
    if options.password_file is not None:
        try:
            return Path(options.password_file).read_text(encoding="utf-8").removesuffix("\n")
        except OSError as error:
            raise SparkOptionError("mq.passwordFile", f"{options.password_file} cannot be read: {error}") from error
    if options.password_env is not None:
        value = os.environ.get(options.password_env)
        if value is None:
            raise SparkOptionError(
                "mq.passwordEnv",
                f"there is no environment variable {options.password_env} in this process; it has to be there on the driver "
                "and on the executors (spark.executorEnv.*)",
            )
        return value
    return options.password


@atexit.register
def close_idle() -> None:
    """Disconnect what this process keeps for later."""
    for (pid, _), idle in _idle.items():
        if pid == os.getpid():
            while idle:
                idle.pop().close()

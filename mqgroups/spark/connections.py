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

from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import connection_of
from mqgroups.mqi.secret import Secret
from mqgroups.queue_manager import connect
from mqgroups.spark.options import ConnectionOptions

_idle: dict[tuple[int, ConnectionOptions], list[Connection]] = {}


@contextmanager
def lent(options: ConnectionOptions) -> Iterator[Connection]:
    """Lend a connection of this process; it has no unit of work when it comes, and must have none when it goes.

    Raises:
        ConfigurationError: settings do not go together; the password is not where it should be.
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


def connected(options: ConnectionOptions) -> Connection:
    """Return a new connection of the caller's own. Raises as ``lent`` does."""
    q_mgr = connect(
        options.q_mgr_name,
        options.channel,
        options.conn_name,
        user=options.user,
        password=_secret(options.password_file, options.password_env, options.password),
        token=_secret(options.token_file, options.token_env),
        cipher_spec=options.cipher_spec,
        key_repository=options.key_repository,
        key_repository_password=_secret(options.key_repository_password_file, options.key_repository_password_env),
        certificate_label=options.certificate_label,
        peer_name=options.peer_name,
        ccdt_url=options.ccdt_url,
        connect_wait_s=options.connect_timeout_ms / 1000,
        reconnect_wait_s=options.reconnect_timeout_ms / 1000,
    )
    return connection_of(q_mgr)


def _secret(file: str | None, variable: str | None, given: str | None = None) -> Secret | None:
    """Return where a secret is, to be read where this process runs."""
    if file is not None:
        return Secret.from_file(file)
    return Secret.from_variable(variable) if variable is not None else Secret.of(given)


@atexit.register
def close_idle() -> None:
    """Disconnect what this process keeps for later."""
    for (pid, _), idle in _idle.items():
        if pid == os.getpid():
            while idle:
                idle.pop().close()

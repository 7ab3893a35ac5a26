"""ConnectionHolder: the base of objects that have a connection to a queue manager, such as ``mqgroups.QueueManager``.

Operators' functions (``mqgroups.operate``) and the Spark data source are given a queue manager and need its connection. They
are on lower floors than ``queue_manager.py``, or beside it, so what they share with it is here.
"""

from __future__ import annotations

from mqgroups.connection.connection import Connection
from mqgroups.errors import ConfigurationError


class ConnectionHolder:
    """An object with a connection: the queue manager that it is connected to, and whether it can be used."""

    def __init__(self, connection: Connection) -> None:
        if not isinstance(connection, Connection):
            raise ConfigurationError(f"a QueueManager is made by mqgroups.connect or mqgroups.wrap, got {connection!r}")
        self._connection = connection

    @property
    def q_mgr_name(self) -> str:
        """The queue manager's name."""
        return self._connection.q_mgr_name

    @property
    def q_mgr_identifier(self) -> str:
        """Its identifier (QMID). Two queue managers of the same name have different ones."""
        return self._connection.q_mgr_identifier

    @property
    def platform(self) -> int:
        """MQPL_*: the platform that it runs on."""
        return self._connection.platform

    @property
    def usable(self) -> bool:
        """Whether it can be used: neither closed nor lost."""
        return self._connection.usable


def connection_of(holder: ConnectionHolder) -> Connection:
    """Return the connection of ``holder``, for the rest of this package."""
    if not isinstance(holder, ConnectionHolder):
        raise ConfigurationError(f"expected a QueueManager of mqgroups.connect or mqgroups.wrap, got {holder!r}")
    return holder._connection

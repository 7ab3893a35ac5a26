"""ConnectionHolder: the base of objects that have a connection to a queue manager, such as ``mqgroups.QueueManager``.

Operators' functions (``mqgroups.operate``) and the Spark data source take a queue manager and need its connection. They must
not import ``queue_manager.py``. So the class that they need is here.
"""

from __future__ import annotations

from mqgroups.connection.connection import Connection
from mqgroups.errors import ConfigurationError


class ConnectionHolder:
    """An object with a connection. It shows attributes of the queue manager, and whether the connection can be used."""

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
        """The queue manager's identifier (QMID). Two queue managers of the same name have different identifiers."""
        return self._connection.q_mgr_identifier

    @property
    def platform(self) -> int:
        """The platform of the queue manager, as MQPL_*."""
        return self._connection.platform

    @property
    def usable(self) -> bool:
        """Whether the connection can be used. This is true if it is neither closed nor lost."""
        return self._connection.usable


def connection_of(holder: ConnectionHolder) -> Connection:
    """Return the connection of ``holder``; raises ConfigurationError if it is not a ConnectionHolder."""
    if not isinstance(holder, ConnectionHolder):
        raise ConfigurationError(f"expected a QueueManager of mqgroups.connect or mqgroups.wrap, got {holder!r}")
    return holder._connection

"""ConnectionHolder: what has a connection to a queue manager, as ``mqgroups.QueueManager`` has.

Operators' functions (``mqgroups.operate``) and the Spark data source are given a queue manager and need its connection. They
are on lower floors than ``queue_manager.py``, or beside it, so what they share with it is here.
"""

from __future__ import annotations

from mqgroups.connection.connection import Connection


class ConnectionHolder:
    """What has a connection: who is at its other end, and whether it can be used."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def q_mgr_name(self) -> str:
        """The queue manager's name."""
        return self._connection.q_mgr_name

    @property
    def q_mgr_identifier(self) -> str:
        """Its identifier (QMID): another queue manager of the same name has another one."""
        return self._connection.q_mgr_identifier

    @property
    def platform(self) -> int:
        """MQPL_*: what it runs on."""
        return self._connection.platform

    @property
    def usable(self) -> bool:
        """Whether it can be used: neither closed nor lost."""
        return self._connection.usable


def connection_of(holder: ConnectionHolder) -> Connection:
    """Return its connection; for the rest of this package."""
    return holder._connection

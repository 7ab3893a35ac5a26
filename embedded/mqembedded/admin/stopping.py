"""Stops connections and server-connection channels for operators: STOP CONN, STOP CHANNEL, START CHANNEL.

When a connection is stopped, its unit of work is backed out, and the application's next call ends with MQRC_CONNECTION_BROKEN.
With MODE(QUIESCE), STOP CHANNEL stops connections after a few seconds. Until then, calls with FAIL_IF_QUIESCING end with
MQRC_CONNECTION_QUIESCING. ``mqsc_commands.py`` and ``commands/`` read the commands. ``cluster/control.py`` stops sender channels.

Source: IBM MQ, "STOP CONN", "STOP CHANNEL", "Stopping MQI channels", "START CHANNEL". Unverified: after a restart, no channel is
stopped; the reason is 4064 for a channel without connections; IBM's "a few seconds" are 5 seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from mqembedded.connection import Connection
from mqembedded.objects.kinds import Kind
from mqembedded.objects.others import CatalogueError
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf

MODES = {"FORCE": cf.MQMODE_FORCE, "QUIESCE": cf.MQMODE_QUIESCE, "TERMINATE": cf.MQMODE_TERMINATE}
STATUSES = {"STOPPED": cf.MQCHS_STOPPED, "INACTIVE": cf.MQCHS_INACTIVE}
# After MODE(QUIESCE), an application that has not ended "after a few seconds" loses its connection (IBM MQ, "Stopping MQI
# channels").
QUIESCES_S = 5.0


def stop_connection(q_mgr: QueueManager, is_meant: Callable[[bytes], bool]) -> None:
    """Break the connection whose identifier ``is_meant`` accepts.

    Raises:
        CatalogueError: MQRCCF_CONNECTION_ID_ERROR if there is no such connection, or if it belongs to the queue manager itself.
    """
    for identifier, found in q_mgr.connections.items():
        if is_meant(identifier):
            if found.hang_up is None:
                raise CatalogueError(cf.MQRCCF_CONNECTION_ID_ERROR, f"{found.appl_name} is a part of the queue manager")
            found.hang_up()
            return
    raise CatalogueError(cf.MQRCCF_CONNECTION_ID_ERROR, "there is no such connection")


def stop_channel(q_mgr: QueueManager, name: str, mode: int | None, status: int | None, conn_name: str) -> None:
    """Stop a server-connection channel or, if ``conn_name`` is given, only its connections from this address.

    Raises:
        CatalogueError: MQRCCF_CHANNEL_NOT_FOUND; MQRCCF_PARM_CONFLICT (an address with STATUS(STOPPED));
            MQRCCF_CHANNEL_NOT_ACTIVE (the command stops only connections, and there are none).
    """
    q_mgr.catalogue.objects.get(Kind.CHANNEL, name)
    if conn_name and status == cf.MQCHS_STOPPED:
        raise CatalogueError(cf.MQRCCF_PARM_CONFLICT, "CONNAME and STATUS(STOPPED) cannot be combined")
    ending = [
        each
        for each in q_mgr.connections.values()
        if each.origin.channel_name == name and conn_name in ("", each.origin.conn_name)
    ]
    if conn_name or status == cf.MQCHS_INACTIVE:
        if not ending:
            raise CatalogueError(cf.MQRCCF_CHANNEL_NOT_ACTIVE, f"no connection uses {name}")
    else:
        q_mgr.stopped_channels.add(name)
    for each in ending:
        _end(each, quiesces=mode in (None, cf.MQMODE_QUIESCE))


def start_channel(q_mgr: QueueManager, name: str) -> None:
    """Let applications connect again through a stopped channel. Raises CatalogueError with MQRCCF_CHANNEL_NOT_FOUND."""
    q_mgr.catalogue.objects.get(Kind.CHANNEL, name)
    q_mgr.stopped_channels.discard(name)


def _end(connection: Connection, *, quiesces: bool) -> None:
    assert connection.hang_up is not None
    if not quiesces:
        connection.hang_up()
        return
    connection.quiescing = True
    for handle in connection.handles.values():
        if handle.queue is not None:
            handle.queue.wake()
    connection.waiter.wake()
    timer = threading.Timer(QUIESCES_S, connection.hang_up)
    timer.daemon = True
    timer.start()

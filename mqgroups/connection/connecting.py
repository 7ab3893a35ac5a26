"""MQCONNX: a connection of this package's own, tried again while the queue manager is not there."""

from __future__ import annotations

from mqgroups.connection import authorities
from mqgroups.connection.connection import Connection
from mqgroups.connection.handle import Handle
from mqgroups.connection.retry import CONNECT_LATER, Patience, Sleep, retrying
from mqgroups.errors import NotAuthorised, mqi_error
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import Binding, ConnectArguments
from mqgroups.telemetry.settings import TelemetrySettings


def open_connection(
    binding: Binding,
    arguments: ConnectArguments,
    patience: Patience,
    reconnect: Patience,
    sleep: Sleep,
    telemetry: TelemetrySettings,
) -> Connection:
    """Connect to a queue manager.

    Args:
        binding: to call MQCONNX by.
        arguments: of MQCONNX, also for each time the connection is made again.
        patience: how long to go on trying now.
        reconnect: how long to go on trying when the connection is lost.
        sleep: how to wait between tries.
        telemetry: what is traced, and whether messages carry it.

    Raises:
        MQIError: it cannot be connected to.
    """

    def connect() -> Handle:
        handle = Handle(binding)
        comp, reason = handle.connect(arguments)
        if comp == mq.MQCC_FAILED:
            where = f" at {arguments.conn_name}" if arguments.conn_name else ""
            error = mqi_error("MQCONNX", f"queue manager {arguments.q_mgr_name}{where}", comp, reason)
            if isinstance(error, NotAuthorised):
                error.context = authorities.to_connect()
            raise error
        return handle

    handle = retrying(patience, CONNECT_LATER, sleep)(connect)
    return Connection(binding, handle, connect=connect, reconnect=reconnect, sleep=sleep, telemetry=telemetry)

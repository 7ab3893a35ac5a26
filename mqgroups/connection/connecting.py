"""MQCONNX: makes a connection of this package's own, and retries while the queue manager is not available."""

from __future__ import annotations

from mqgroups.connection import authorities, tls_identity
from mqgroups.connection.connection import Connection
from mqgroups.connection.handle import Handle
from mqgroups.connection.retry import CONNECT_LATER, Patience, Sleep, retrying
from mqgroups.errors import NO_ADDRESS, NotAuthorised, mqi_error
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
    """Connect to a queue manager; retry while it is not available.

    Args:
        binding: the binding that calls MQCONNX.
        arguments: of MQCONNX, for this connection and whenever it is remade.
        patience: how long to retry now.
        reconnect: how long to retry when the connection is lost; 0 does not reconnect.
        sleep: the function that waits between tries.
        telemetry: what is traced, and whether messages carry trace context.

    Raises:
        MQIError: connecting failed.
        ConfigurationError: the connection would have another TLS identity than it asks for.
    """

    def connect() -> Handle:
        handle = Handle(binding)
        comp, reason = tls_identity.connect(handle, arguments)
        if comp == mq.MQCC_FAILED:
            named = f"queue manager {arguments.q_mgr_name}" if arguments.q_mgr_name else "the queue manager"
            where = f" at {arguments.conn_name}" if arguments.conn_name else ""
            error = mqi_error("MQCONNX", f"{named}{where}", comp, reason)
            if isinstance(error, NotAuthorised):
                error.context = authorities.to_connect()
            if reason == mq.MQRC_Q_MGR_NAME_ERROR and not (arguments.conn_name or arguments.ccdt_url):
                error.remedy = NO_ADDRESS
            raise error
        return handle

    handle = retrying(patience, CONNECT_LATER, sleep)(connect)
    return Connection(binding, handle, connect=connect, reconnect=reconnect, sleep=sleep, telemetry=telemetry)

"""Connects to a queue manager with MQCONNX, and retries while the queue manager is not available."""

from __future__ import annotations

from mqgroups.connection import authorities, tls_identity
from mqgroups.connection.connection import Connection
from mqgroups.connection.handle import Handle
from mqgroups.connection.retry import CONNECT_LATER, Patience, Sleep, retrying
from mqgroups.errors import ConfigurationError, NotAuthorised, mqi_error
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import Binding, ConnectArguments
from mqgroups.mqi.reasons import NO_ADDRESS, NOT_IN_TABLE, TABLE_NOT_SUPPORTED
from mqgroups.telemetry import metrics
from mqgroups.telemetry.place import Place
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
        arguments: the arguments of this MQCONNX, and of each MQCONNX that remakes the connection.
        patience: how long to retry this MQCONNX. The other arguments are as for ``Connection``.

    Raises:
        ConfigurationError: a queue manager with a different name answered, or the process uses another TLS identity already.
        MQIError: connecting failed.
    """

    # The queue manager's identifier is not known before it answers.
    place = Place.of(arguments.q_mgr_name, "", arguments.conn_name)

    handle = Handle(binding)

    def connect() -> None:
        comp, reason = tls_identity.connect(handle, arguments)
        if comp == mq.MQCC_FAILED:
            metrics.could_not_connect(place, reason)
            where = f" at {arguments.conn_name}" if arguments.conn_name else ""
            error = mqi_error("MQCONNX", f"queue manager {arguments.q_mgr_name}{where}", comp, reason)
            if isinstance(error, NotAuthorised):
                error.context = authorities.to_connect(arguments.channel)
            if reason == mq.MQRC_Q_MGR_NAME_ERROR and not arguments.conn_name:
                error.remedy = NOT_IN_TABLE if arguments.ccdt_url else NO_ADDRESS
            if reason == mq.MQRC_FUNCTION_NOT_SUPPORTED and not arguments.conn_name:
                error.remedy = TABLE_NOT_SUPPORTED
            raise error

    retrying(patience, CONNECT_LATER, sleep, q_mgr_name=arguments.q_mgr_name)(connect)
    connection = Connection(
        binding,
        handle,
        connect=connect,
        conn_name=arguments.conn_name,
        reconnect=reconnect,
        sleep=sleep,
        telemetry=telemetry,
    )
    if connection.q_mgr_name != arguments.q_mgr_name:
        connection.close()
        raise _another(connection, arguments)
    return connection


def _another(connection: Connection, arguments: ConnectArguments) -> ConfigurationError:
    """Return the error for a queue manager that has a different name (IBM MQ, "Connecting to queue sharing groups")."""
    of_group = ""
    if connection.platform == mq.MQPL_ZOS:
        of_group = f"{arguments.q_mgr_name} is the name of a queue sharing group, and any of its members may answer. "
    return ConfigurationError(
        f"queue manager {connection.q_mgr_name} answered, asked for {arguments.q_mgr_name}. {of_group}Status queues and "
        "interrupted groups are on one queue manager: the next start could reach another one and find nothing to resume. Name "
        "the queue manager"
    )

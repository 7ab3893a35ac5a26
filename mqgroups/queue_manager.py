"""Connects to a queue manager, and makes producers, consumers and pipes of message groups on that connection.

Not here: the operators' functions (``mqgroups.operate``), and the settings (``settings.py``).
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable

from mqgroups.connection.connecting import open_connection
from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder
from mqgroups.connection.interruptions import WithBlock
from mqgroups.connection.retry import Patience, Sleep
from mqgroups.connection.wrapping import refuse_ends
from mqgroups.core.modes import Trace
from mqgroups.get.consumer import GroupConsumer
from mqgroups.mqi.abc import ConnectedQueueManager
from mqgroups.mqi.binding import binding_of, load_binding
from mqgroups.pipe import GroupPipe, with_room
from mqgroups.printable import even_half_made
from mqgroups.put.producer import GroupProducer
from mqgroups.setting import check_flag, function_of, method_of
from mqgroups.settings import Connecting, Consuming, Piping, Producing
from mqgroups.status.hooks import checked_hook
from mqgroups.telemetry import context
from mqgroups.telemetry.settings import EACH_UNIT_OF_WORK, TelemetrySettings
from mqgroups.telemetry.tracebacks import told_briefly

# The queue managers that are not closed, by ``id()``.
_open: weakref.WeakValueDictionary[int, QueueManager] = weakref.WeakValueDictionary()


class QueueManager(ConnectionHolder, WithBlock):
    """A connected queue manager. The end of its ``with`` block backs out uncommitted work, and disconnects.

    A connection has one unit of work, and only one thread at a time can use the connection. Producers and consumers that work
    at the same time need a connection each.
    """

    def __init__(self, connection: Connection, leave: Callable[[], None] | None = None) -> None:
        """Take over ``connection``. ``close`` calls ``leave``."""
        super().__init__(connection)
        self._leave = leave
        _open[id(self)] = self

    def close(self) -> None:
        """Back out uncommitted work, and disconnect if this package made the connection. Idempotent."""
        try:
            self._connection.close()
        finally:
            if self._leave is not None:
                self._leave()
        _open.pop(id(self), None)

    def __enter__(self) -> QueueManager:
        return self

    def _leave_block(self, *_: object) -> None:
        try:
            self.close()
        except BaseException:
            # The first close was interrupted. The application has left the block and will not close the connection again.
            self.close()
            raise

    @even_half_made
    def __repr__(self) -> str:
        return f"<QueueManager {self._connection}>"

    @told_briefly
    @method_of(Producing)
    def group_producer(self, settings: Producing) -> GroupProducer:
        """Return a producer that puts message groups to ``queue``.

        Raises:
            ConfigurationError: a setting is invalid.
            StatusError: the status queue, or the record on it, cannot be used.
            OwnerActive: another producer, consumer or pipe has the status queue open.
            MQIError: a queue cannot be opened.
        """
        settings.check_for(self)
        return GroupProducer(self._connection, settings)

    @told_briefly
    @method_of(Consuming)
    def group_consumer(self, settings: Consuming) -> GroupConsumer:
        """Return a consumer that gets message groups from ``queue``.

        Raises:
            ConfigurationError, StatusError, OwnerActive, MQIError: as for ``group_producer``.
        """
        settings.check_for(self)
        return GroupConsumer(self._connection, settings)

    @told_briefly
    @method_of(Piping)
    def group_pipe(self, settings: Piping) -> GroupPipe:
        """Return a pipe. It gets groups from ``source``, and puts the application's groups to ``target``, exactly once.

        A pipe is a consumer and a producer with the same name and a common unit of work.

        Raises:
            StatusQueueUnusable: the two status records do not come from the same commit.
            ConfigurationError, StatusError, OwnerActive, MQIError: as for ``group_producer``.
        """
        settings.check_for(self)
        return GroupPipe(
            self._connection, *settings.sides(with_room(settings.every, self._connection.max_uncommitted_msgs))
        )


@told_briefly
@function_of(Connecting)
def connect(settings: Connecting) -> QueueManager:
    """Connect to a queue manager.

    Raises:
        BindingMissing: neither pymqi nor ibmmq can be used.
        ConfigurationError: settings cannot be combined, are too long, or are not supported by the binding; or a secret cannot be
            read.
        NotAuthorised, ConnectionBroken, MQIError: the connection cannot be made.
    """
    telemetry = _telemetry(settings.trace, propagate=settings.propagate)
    _close_what_was_left()
    return QueueManager(
        open_connection(
            load_binding(),
            settings,
            Patience(settings.connect_wait_s),
            Patience(settings.reconnect_wait_s),
            settings.sleep,
            telemetry,
        )
    )


@told_briefly
def wrap(
    q_mgr: ConnectedQueueManager,
    *,
    sleep: Sleep = time.sleep,
    trace: Trace = EACH_UNIT_OF_WORK,
    propagate: bool = False,
) -> QueueManager:
    """Use a connection that the application has made: a connected ``pymqi.QueueManager`` or ``ibmmq.QueueManager``.

    ``close`` of the result backs out uncommitted messages of groups, but does not disconnect. If the connection is lost, this
    package cannot reconnect. The application has to connect and wrap again; then the interrupted group is resumed.

    Two rules for the application:

    * Close producers and consumers before the wrapped object is garbage-collected. With ``disconnect_on_exit=True``, the
      bindings' default, that object then calls MQDISC, which commits.
    * Messages that the application itself puts or gets in syncpoint on this connection are in the same unit of work. They are
      committed and backed out with the group's messages. If such a message must be committed with a certain message of the
      group, put or get it after the call of ``group.put``. If that call has ``last=``, put or get it before the call.

    While the unit of work has messages of a group, the wrapped object's ``commit``, ``backout``, ``begin`` and ``disconnect`` are
    refused (``GroupUsage``). If other code ends the unit of work in another way, this package notices (``ForeignSyncpoint``,
    ``StatusQueueUnusable``).

    Args:
        trace, propagate: as for ``connect``.

    Raises:
        ConfigurationError: ``q_mgr`` is not an object of these classes, or is not connected.
        GroupUsage: ``q_mgr`` is wrapped already, and the earlier result is not closed.
    """
    checked_hook("sleep", sleep)
    _close_what_was_left()
    binding = binding_of(q_mgr)
    connection = Connection(
        binding, binding.handle_of(q_mgr), sleep=sleep, telemetry=_telemetry(trace, propagate=propagate)
    )
    return QueueManager(connection, refuse_ends(q_mgr, connection))


def _close_what_was_left() -> None:
    """Close connections that are still open after their ``with`` block, because an interruption has prevented ``close``.

    The application may still refer to such a connection or its producers, whose status queues are then still open.
    """
    for reference in _open.valuerefs():
        q_mgr = reference()
        if q_mgr is not None and q_mgr._was_left:
            q_mgr.close()


def _telemetry(trace: Trace, *, propagate: bool) -> TelemetrySettings:
    check_flag("propagate", propagate)
    if propagate:
        context.keep_api_exit_out()
    return TelemetrySettings(trace, propagate)

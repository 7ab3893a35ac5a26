"""The queue manager: connections, units of work, and the state that the verbs share.

``QueueManager`` owns the lock under which every verb reads and changes memory. A commit writes to the disk without that lock, so
that other connections continue. The commit collects the messages, which are still hidden from other connections, writes and
fsyncs them, and then makes them visible.

The verbs are in ``calls/``. ``serve/`` has the sockets and calls the verbs.
"""

from __future__ import annotations

import hmac
import itertools
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from mqembedded import constants as mq
from mqembedded.answer import Answer, Failed, Waiter
from mqembedded.catalogue import Catalogue
from mqembedded.cluster_view import ClusterView, NoCluster
from mqembedded.connection import Connection, Origin
from mqembedded.heartbeats import NO_HEARTBEATS, Heartbeats, agreed
from mqembedded.messages.handle import Direction, Handle
from mqembedded.messages.identifiers import Identifiers
from mqembedded.messages.queue import Message, Queue
from mqembedded.messages.unit_of_work import UnitOfWork
from mqembedded.objects.authority import ADMINISTRATOR, Q_MGR_PROFILE, is_administrator
from mqembedded.objects.kinds import Kind
from mqembedded.parts import Parts
from mqembedded.platform import ZOS_CHANNEL_INITIATOR, ZOS_HIGHEST_BACKOUT_COUNT, Platform
from mqembedded.readings import (
    BACKED_OUT_TO_THE_END,
    CLOSES_HANDLES_FIRST,
    IDENTIFIERS_BEGIN_WITH_NAME,
    MQDISC_BACKS_OUT,
    PLACED_AT_COMMIT,
    TOLD_OF_A_FAILED_PUT,
    Readings,
)
from mqembedded.store.store import Store
from mqembedded.wire import pcf_constants as pcf
from mqembedded.wire.structures import MessageDescriptor, name_field

_log = logging.getLogger(__name__)

# MQINQ returns this: the level whose documentation this queue manager follows.
COMMAND_LEVEL = 940
VERSION = "09040000"
# The CCSID that clients get for MQCCSI_Q_MGR.
CCSID = 1208
MAX_PRIORITY = 9
_FIRST_HOBJ = 101
# Half of the range of positions. Messages in order of arrival have positions after it, all other messages before it.
_MIDDLE = 1 << 55
_LONGEST_MSG = 104_857_600
_NO_ACCOUNTING_TOKEN, _NO_IDENTITY_DATA = bytes(32), b" " * 32


class QueueManager:
    """A queue manager: its objects, its connections, and its store."""

    def __init__(
        self,
        name: str,
        data: Path,
        users: Mapping[str, str] | None = None,
        platform: Platform = Platform.UNIX,
        readings: Readings | None = None,
    ) -> None:
        """Start the queue manager with the data in the directory ``data``, which is created if it is missing. Raises StoreError.

        Args:
            name: queue manager name, at most 48 characters.
            data: a directory that no other queue manager uses.
            users: passwords by user. Other credentials are refused. No user means MCAUSER (if blank, ``ADMINISTRATOR``).
            platform: the rules that apply where platforms differ.
            readings: choices of behaviour that IBM's documentation leaves open.
        """
        self.name = name
        self.platform = platform
        self.readings = readings or Readings()
        self.quiescing = False
        # Only on z/OS. Empty if the queue manager is in no group.
        self.queue_sharing_group = ""
        # Set before the queue manager stops. From then on no call waits.
        self.stopping = threading.Event()
        self.lock = threading.RLock()
        self.store = Store(data, name)
        self.catalogue = Catalogue(self.store, platform, self.readings)
        # The cluster of the queue manager. ``serve/`` sets it.
        self.cluster: ClusterView = NoCluster(name, self.catalogue)
        # Values that packages above this module keep.
        self.parts = Parts()
        self.connections: dict[bytes, Connection] = {}
        # The last SET CHLAUTH record of each channel; records are not enforced.
        self.channel_records: dict[str, dict[int, object]] = {}
        # The names of channels that an operator has stopped.
        self.stopped_channels: set[str] = set()
        # Kind and name of objects that MQSC has defined, of kinds that this queue manager does not implement.
        self.set_aside: set[tuple[str, str]] = set()
        self.started = time.localtime()
        self._users = dict(users or {})
        self._hobjs = itertools.count(_FIRST_HOBJ)
        self.identifiers = Identifiers(
            name, platform.product_identifier, begin_with_name=bool(self.readings[IDENTIFIERS_BEGIN_WITH_NAME])
        )
        # Positions are used again after a restart. Message tokens are never used again.
        self.token_prefix = time.time_ns().to_bytes(8, "big")
        self._clock = (0, b"", b"")
        self._positions = itertools.count(self._restore_messages() + 1)

    def _restore_messages(self) -> int:
        """Put the stored messages back on their queues. Return the highest number that ``new_position`` has used for them."""
        last = 0
        for stored in self.store.messages():
            queue = self.catalogue.get(stored.queue)
            if not isinstance(queue, Queue):
                raise RuntimeError(f"the store holds messages of {stored.queue}, which is not a local queue")
            md = MessageDescriptor(stored.md)
            message = Message(
                queue,
                stored.position,
                stored.priority,
                stored.md,
                stored.data,
                group_fields=(md.group_id, md.msg_seq_number, md.offset, md.msg_flags),
                persistent=True,
                backout_count=stored.backout_count,
                expires_at_s=stored.expires_at_s,
            )
            message.properties = stored.properties
            queue.held += 1
            queue.make_available((message,))
            last = max(last, abs(stored.position - _MIDDLE))
        return last

    # --- connections

    def connect(
        self,
        waiter: Waiter,
        *,
        q_mgr_name: str,
        channel_name: str,
        user: str,
        password: str,
        appl_name: str,
        max_msg_length: int,
        pid: int = 0,
        conn_name: str = "",
        connect_options: int = 0,
        put1_always_sync: bool = False,
        heartbeats: Heartbeats = NO_HEARTBEATS,
        hang_up: Callable[[], None] | None = None,
    ) -> Connection:
        """Connect an application, as MQCONNX does. ``heartbeats`` has the client's settings. A local binding passes no channel.

        Raises:
            Failed: MQRC_Q_MGR_QUIESCING, MQRC_Q_MGR_NAME_ERROR, MQRC_UNKNOWN_CHANNEL_NAME, MQRC_CHANNEL_NOT_AVAILABLE,
                MQRC_NOT_AUTHORIZED.
        """
        if self.quiescing:
            raise Failed(mq.MQRC_Q_MGR_QUIESCING)
        # A blank name or a name with an asterisk connects to the queue manager that listens. The name of a queue-sharing group
        # connects to a member (IBM MQ, "Examples of MQCONN calls", "MQCONN").
        if not q_mgr_name.startswith("*") and q_mgr_name not in ("", self.name, self.queue_sharing_group):
            raise Failed(mq.MQRC_Q_MGR_NAME_ERROR)
        channel = self.catalogue.objects.of(Kind.CHANNEL).get(channel_name) if channel_name else {}
        if channel is None:
            raise Failed(mq.MQRC_UNKNOWN_CHANNEL_NAME)
        check = self._client_check()
        if check == pcf.MQCHK_REQUIRED and not user:
            raise Failed(mq.MQRC_NOT_AUTHORIZED)
        if user and check != pcf.MQCHK_NONE:
            known = self._users.get(user)
            if known is None or not hmac.compare_digest(known.encode(), password.encode()):
                _log.info("user %s is unknown or gave another password", user)
                raise Failed(mq.MQRC_NOT_AUTHORIZED)
        # An application without credentials runs as the channel's MCAUSER.
        user = user or str(channel.get(pcf.MQCACH_MCA_USER_ID, "")).strip() or ADMINISTRATOR
        with self.lock:
            self.require(user, "QMGR", "", frozenset({"CONNECT"}))
        limit = self.max_msg_length()
        limit = min(limit, max_msg_length) if max_msg_length > 0 else limit
        offered = Heartbeats(
            *(int(str(channel.get(it, 0))) for it in (pcf.MQIACH_HB_INTERVAL, pcf.MQIACH_SHARING_CONVERSATIONS))
        )
        origin = Origin(pid, channel_name, conn_name, connect_options, put1_always_sync, agreed(heartbeats, offered))
        identifier = self.identifiers.of_connection()
        return self._connected(Connection(waiter, user, appl_name, limit, identifier, origin, hang_up))

    def connect_program(self, waiter: Waiter, appl_name: str) -> Connection:
        """Connect a program that is part of the queue manager."""
        return self._connected(
            Connection(
                waiter, ADMINISTRATOR, appl_name, _LONGEST_MSG, self.identifiers.of_connection(), Origin(os.getpid())
            )
        )

    def _connected(self, connection: Connection) -> Connection:
        with self.lock:
            if connection.origin.channel_name in self.stopped_channels:
                raise Failed(mq.MQRC_CHANNEL_NOT_AVAILABLE)
            self.connections[connection.connection_id] = connection
        return connection

    def require(self, user: str, object_type: str, name: str, needed: frozenset[str]) -> None:
        """Raise Failed with MQRC_NOT_AUTHORIZED if a user does not have all of the ``needed`` authorities for an object."""
        if self.platform is Platform.ZOS and "%" in name:
            return
        profile = Q_MGR_PROFILE if object_type == "QMGR" else name
        authorities = self.catalogue.authorities
        missing = needed - authorities.of(user, object_type, profile)
        if not missing and self.platform is Platform.ZOS and object_type != "QMGR" and not is_administrator(user):
            user = ZOS_CHANNEL_INITIATOR
            missing = needed - authorities.of(user, object_type, profile)
        if missing:
            _log.warning("user %s has no %s for %s %s", user, ", ".join(sorted(missing)), object_type, profile)
            raise Failed(mq.MQRC_NOT_AUTHORIZED)

    def _client_check(self) -> int:
        """Return the CHCKCLNT value of the AUTHINFO object that CONNAUTH names, or MQCHK_NONE if CONNAUTH is blank."""
        name = self.catalogue.q_mgr_values[pcf.MQCA_CONN_AUTH]
        found = self.catalogue.objects.of(Kind.AUTH_INFO).get(str(name), {})
        check = found.get(pcf.MQIA_CHECK_CLIENT_BINDING, pcf.MQCHK_NONE)
        assert isinstance(check, int)
        return check

    def disconnect(self, connection: Connection) -> Answer:
        """Commit or back out an open unit of work, as the reading ``mqdisc`` chooses. Close all handles (IBM MQ, "MQDISC")."""
        answer = self.back_out(connection) if self.readings[MQDISC_BACKS_OUT] else self.commit(connection)
        self._close_handles(connection)
        with self.lock:
            self.connections.pop(connection.connection_id, None)
        return answer

    def drop(self, connection: Connection, hang_up: Callable[[], None] | None = None) -> None:
        """Back out the work and close the handles of an application that ended without MQDISC. A reading chooses the order.

        ``hang_up`` is called before a pause between the two steps, so that an application that still runs notices at once that
        its connection is lost.
        """
        if self.readings[CLOSES_HANDLES_FIRST]:
            self._close_handles(connection)
            if hang_up is not None:
                hang_up()
            self.stopping.wait(self.readings.cleanup_gap_s)
            self.back_out(connection)
        else:
            self.back_out(connection)
            self._close_handles(connection)
        with self.lock:
            self.connections.pop(connection.connection_id, None)

    def _close_handles(self, connection: Connection) -> None:
        with self.lock:
            for handle in connection.handles.values():
                self.release(handle)
            connection.handles.clear()
            connection.message_handles.clear()

    def new_handle_number(self) -> int:
        """Return an object handle that was never used before."""
        return next(self._hobjs)

    def release(self, handle: Handle) -> None:
        """Subtract a handle from its queue's open counts. Delete a temporary dynamic queue if this handle created the queue."""
        if handle.subscription is not None:
            handle.subscription.released()
        queue = handle.queue
        if queue is None:
            return
        queue.open_count -= 1
        handle.unlock()
        if queue.marks.leave(handle):
            queue.wake()
        if handle.for_input:
            queue.open_input_count -= 1
            queue.exclusive_input_count -= handle.exclusive
        if handle.options & mq.MQOO_OUTPUT:
            queue.open_output_count -= 1
        if handle.creates_dynamic and queue.definition_type == mq.MQQDT_TEMPORARY_DYNAMIC and not queue.deleted:
            self.catalogue.delete_dynamic(queue)
        self.catalogue.discard(queue)

    def quiesce(self) -> None:
        """Refuse new connections, and let calls with FAIL_IF_QUIESCING fail, including the calls that are waiting."""
        with self.lock:
            self.quiescing = True
            for queue in self.catalogue.queues():
                queue.wake()
            for connection in self.connections.values():
                # This reaches event handlers, too. Their connections have no open queue.
                connection.waiter.wake()

    def why_quiescing(self, connection: Connection) -> int:
        """Return the reason code if the queue manager or the connection is quiescing, otherwise MQRC_NONE."""
        if self.quiescing:
            return mq.MQRC_Q_MGR_QUIESCING
        return mq.MQRC_CONNECTION_QUIESCING if connection.quiescing else mq.MQRC_NONE

    def fail_if_quiescing(self, connection: Connection, asked: int) -> None:
        """Raise Failed if ``asked`` (a call's FAIL_IF_QUIESCING bits) is not 0, and ``why_quiescing`` returns a reason code."""
        if asked and (reason := self.why_quiescing(connection)):
            raise Failed(reason)

    # --- units of work

    def unit_of_work(self, connection: Connection, messages: int = 1) -> UnitOfWork:
        """Return the connection's unit of work, or a new one. The unit of work has room for ``messages`` more messages.

        Raises:
            Failed: MQRC_SYNCPOINT_LIMIT_REACHED (MAXUMSGS), MQRC_BACKED_OUT (the unit of work cannot be committed any more).
        """
        if connection.unit_of_work is None:
            connection.unit_of_work = UnitOfWork()
        if connection.unit_of_work.doomed and self.platform is not Platform.ZOS and self.readings[TOLD_OF_A_FAILED_PUT]:
            raise Failed(mq.MQRC_BACKED_OUT)
        limit = self.catalogue.q_mgr_values[mq.MQIA_MAX_UNCOMMITTED_MSGS]
        assert isinstance(limit, int)
        if len(connection.unit_of_work) + messages > limit:
            raise Failed(mq.MQRC_SYNCPOINT_LIMIT_REACHED)
        return connection.unit_of_work

    def doom(self, connection: Connection) -> None:
        """Let the next MQCMIT back out the connection's unit of work. Start a unit of work if there is none."""
        if connection.unit_of_work is None:
            connection.unit_of_work = UnitOfWork()
        connection.unit_of_work.doomed = True

    def commit(self, connection: Connection) -> Answer:
        """Commit the unit of work, as MQCMIT does. After MQCC_OK, the unit of work is on disk and visible."""
        with self.lock:
            unit, connection.unit_of_work = connection.unit_of_work, None
        if unit is None:
            return mq.MQCC_OK, mq.MQRC_NONE, []
        told = self.readings[TOLD_OF_A_FAILED_PUT] if unit.doomed else None
        if told is not None:
            self._give_back(unit)
            return *told, []
        if self.readings[PLACED_AT_COMMIT]:
            with self.lock:
                for message in unit.puts:
                    message.move_to(self.new_position())
        try:
            self.store.commit(unit.puts, unit.gets)
        except sqlite3.Error:
            _log.exception("a unit of work of %d messages could not be written; it is backed out", len(unit))
            self._give_back(unit)
            return mq.MQCC_WARNING, mq.MQRC_BACKED_OUT, []
        with self.lock:
            for queue, (puts, gets) in unit.queues().items():
                queue.held -= len(gets)
                queue.uncount(len(puts), len(gets))
                queue.make_available(puts)
                self.catalogue.discard(queue)
        return mq.MQCC_OK, mq.MQRC_NONE, []

    def back_out(self, connection: Connection) -> Answer:
        """Undo the unit of work's puts and gets, and restore group states. Add 1 to BackoutCount of messages that were got."""
        with self.lock:
            unit, connection.unit_of_work = connection.unit_of_work, None
        if unit is not None:
            self._give_back(unit)
        return mq.MQCC_OK, mq.MQRC_NONE, []

    def _give_back(self, unit: UnitOfWork) -> None:
        for message in unit.gets:
            if self.platform is not Platform.ZOS or message.backout_count < ZOS_HIGHEST_BACKOUT_COUNT:
                message.backout_count += 1
        to_the_end = self.readings[BACKED_OUT_TO_THE_END]
        positions = [self.new_position() if to_the_end else message.position for message in unit.gets]
        moved = list(zip(unit.gets, positions, strict=True))
        try:
            self.store.give_back(moved)
        except sqlite3.Error:
            # The messages themselves are safe. Only their backout counts would be lower after a restart.
            _log.exception("backout counts of %d messages could not be written", len(unit.gets))
            moved = []
        with self.lock:
            for message, position in moved:
                message.move_to(position)
            unit.restore_states()
            for queue, (puts, gets) in unit.queues().items():
                queue.held -= len(puts)
                queue.uncount(len(puts), len(gets))
                queue.make_available(gets)
                self.catalogue.discard(queue)

    def write_now(self, puts: Iterable[Message], gets: Iterable[Message]) -> None:
        """Write a put or get outside syncpoint to the disk; raise Failed if the disk refuses the write."""
        try:
            self.store.commit(puts, gets)
        except sqlite3.OperationalError as error:
            _log.exception("a message could not be written")
            raise Failed(mq.MQRC_STORAGE_MEDIUM_FULL) from error
        except sqlite3.Error as error:
            _log.exception("a message could not be written")
            raise Failed(mq.MQRC_RESOURCE_PROBLEM) from error

    def keep_state(self, connection: Connection, handle: Handle, direction: Direction, in_unit_of_work: bool) -> None:
        """Save a handle's current group state for MQBACK. For a call outside the unit of work, forget the saved state."""
        unit = connection.unit_of_work
        if unit is None:
            return
        if in_unit_of_work:
            unit.keep_state(handle, direction)
        else:
            unit.forget_state(handle, direction)

    # --- new values for messages

    def new_position(self, *, is_ordered: bool = True) -> int:
        """Return a position after all positions in use, or, if not ``is_ordered``, a position before all of them."""
        number = next(self._positions)
        return _MIDDLE + number if is_ordered else _MIDDLE - number

    def position_on(self, queue: Queue, msg_seq_number: int) -> int:
        """Return a new position for a message with this MsgSeqNumber on a queue."""
        return self.new_position(is_ordered=self.platform.is_ordered(queue.values[mq.MQIA_INDEX_TYPE], msg_seq_number))

    def new_serial(self) -> bytes:
        """Return a new serial number; see ``Identifiers.serial``."""
        return self.identifiers.serial()

    def new_identifier(self) -> bytes:
        """Return a new identifier; see ``Identifiers.identifier``."""
        return self.identifiers.identifier()

    def put_date_and_time(self) -> tuple[bytes, bytes]:
        """Return the current PutDate ``YYYYMMDD`` and PutTime ``HHMMSSTH``, in UTC."""
        hundredths = time.time_ns() // 10_000_000
        if hundredths != self._clock[0]:
            stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(hundredths // 100)).encode()
            self._clock = (hundredths, stamp[:8], stamp[8:] + b"%02d" % (hundredths % 100))
        return self._clock[1], self._clock[2]

    def token(self, message: Message) -> bytes:
        """Return the message's token: 16 bytes that identify the message until the queue manager ends."""
        return self.token_prefix + message.position.to_bytes(8, "big")

    def position(self, token: bytes) -> int:
        """Return the position of the message with this token, or -1 if an earlier run of the queue manager made the token."""
        return int.from_bytes(token[8:], "big") if token[:8] == self.token_prefix else -1

    def mark_interval_ms(self) -> int:
        """Return the queue manager's MARKINT in milliseconds, or MQMMBI_UNLIMITED."""
        interval = self.catalogue.q_mgr_values[mq.MQIA_MSG_MARK_BROWSE_INTERVAL]
        assert isinstance(interval, int)
        return interval

    def max_msg_length(self) -> int:
        """Return the queue manager's MAXMSGL, which is also the limit of every channel here."""
        limit = self.catalogue.q_mgr_values[mq.MQIA_MAX_MSG_LENGTH]
        assert isinstance(limit, int)
        return limit

    def default_identity_context(self, connection: Connection, md: MessageDescriptor) -> None:
        """Set a message's identity context to the user who sends the message."""
        md.user_identifier = connection.user_field
        md.accounting_token = _NO_ACCOUNTING_TOKEN
        md.appl_identity_data = _NO_IDENTITY_DATA

    def default_origin_context(self, connection: Connection, md: MessageDescriptor) -> None:
        """Set a message's origin context: the application that puts the message, and the time."""
        md.put_appl_type = mq.MQAT_UNIX
        md.put_appl_name = connection.appl_name_field
        md.put_date, md.put_time = self.put_date_and_time()
        md.appl_origin_data = b" " * 4

    def name_bytes(self) -> bytes:
        """Return the queue manager's name as 48 bytes, padded with blanks, as structures contain it."""
        return name_field(self.name)

    def close(self) -> None:
        """Close the store. All connections must have ended."""
        self.store.close()

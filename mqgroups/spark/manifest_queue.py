"""The status queue of the stream source. This module browses and changes the queue's messages, as ``manifests.py`` decides.

The status queue is open on the connection that has reserved the data queue. If this connection is lost, ``ReservedQueue`` first
reserves the data queue again. A call is repeated only if this succeeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue, closed_if_it_fails
from mqgroups.core.status import RecordRejected, decode
from mqgroups.errors import StatusQueueUnusable
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.spark.reservation import ReservedQueue
from mqgroups.spark.signs import DELETE, LOOK
from mqgroups.status.opening import check_kind, check_stays, open_or_make
from mqgroups.status.records import made_by_a_queue_manager

_OPEN_OPTIONS = mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_INQUIRE | mq.MQOO_NO_READ_AHEAD
_PUT = st.pmo(st.PUT_NEW_MESSAGE)


class ManifestQueue:
    """A status queue with the manifests of sources."""

    def __init__(self, connection: Connection, reserved: ReservedQueue, name: str, model: str) -> None:
        """Open the status queue, or make it from the model queue if it does not exist.

        Args:
            connection: the connection of ``reserved``.
            reserved: the data queue.
            name: the name of the status queue.
            model: the name of a model queue with DEFTYPE(PERMDYN) SHARE.

        Raises:
            ConfigurationError: the status queue is the data queue itself.
            StatusQueueUnusable: neither the status queue nor the model queue exists; or the status queue is an alias, temporary,
                in a cluster, or has status records.
            MQIError: the status queue cannot be opened.
        """
        self.name = name
        self._connection = connection
        self._reserved = reserved
        self._model = model
        reserved.check_apart(name)
        self._queue = reserved.again(self._open)
        reserved.again(self._check_first)

    def _check_first(self) -> None:
        """Refuse a sink's status queue. A sink reads all messages of its status queue, and would fail if it found manifests."""
        got = next(self._opened().browse(st.md()), None)
        if got is None:
            return
        try:
            record = decode(got[0])
        except RecordRejected:
            return
        raise StatusQueueUnusable(
            f"status queue {self.name} has a status record of {record.name}, so a sink or another program uses it. A "
            "stream that is read needs its own status queue. Choose another queue with the option statusQueue",
            status_queue=self.name,
            found=record.name,
            expected="manifests",
        )

    def _open(self) -> Queue:
        queue = open_or_make(self._connection, self._open_as, self.name, self._model, "SHARE DEFSOPT(SHARED)")[0]
        with closed_if_it_fails(queue):
            check_kind(queue)
        return queue

    def _open_as(self, name: str, dynamic_q_name: str = "") -> Queue:
        return self._connection.open_queue(name, _OPEN_OPTIONS, dynamic_q_name=dynamic_q_name)

    def browse(self, source: bytes) -> list[tuple[bytes, bytes]]:
        """Return MsgId and data of messages with this CorrelId. Raises MQIError; StatusQueueUnusable if a message is a report."""
        return self._reserved.again(lambda: self._browse(source))

    def _browse(self, source: bytes) -> list[tuple[bytes, bytes]]:
        found = []
        for data, md, _ in self._opened().browse(st.md(correl_id=source), mq.MQMO_MATCH_CORREL_ID):
            self._refuse_report(md)
            found.append((md[st.MD_MSG_ID], data))
        return found

    def has(self, source: bytes, msg_id: bytes) -> bool:
        """Return whether a message has this CorrelId and this MsgId. Raises the same errors as ``browse``."""
        md = st.md(msg_id=msg_id, correl_id=source)
        found = self._reserved.again(lambda: self._opened().get_descriptor(md, LOOK))
        if found is None:
            return False
        self._refuse_report(found[0])
        return True

    def change(self, source: bytes, put: Sequence[bytes], delete: Iterable[bytes]) -> list[bytes]:
        """Put and delete messages with this CorrelId in one unit of work, and return the MsgIds of the new messages.

        ``delete`` has the MsgIds to delete. If the connection is lost before MQCMIT returns, the whole change is repeated. Then a
        new message may be on the queue twice.

        Raises:
            StatusQueueUnusable: the new messages have an expiry.
            MQIError: a call failed.
        """
        made = self._reserved.again(lambda: self._change(source, put, tuple(delete)))
        if made:
            md = st.md(msg_id=made[0], correl_id=source)
            found = self._reserved.again(lambda: self._opened().get_descriptor(md, LOOK))
            if found is not None:
                check_stays(self.name, found[0])
        return made

    def _change(self, source: bytes, put: Sequence[bytes], delete: Iterable[bytes]) -> list[bytes]:
        queue = self._opened()
        md = st.md(format_name=mq.MQFMT_STRING, ccsid=1208, correl_id=source)
        with self._connection.unit_of_work(self):
            for msg_id in delete:
                queue.get_descriptor(st.md(msg_id=msg_id, correl_id=source), DELETE)
            return [queue.put(md, _PUT, data)[0][st.MD_MSG_ID] for data in put]

    def _refuse_report(self, md: bytes) -> None:
        if why := made_by_a_queue_manager(md):
            raise StatusQueueUnusable(
                f"status queue {self.name} has {why} (MsgId {md[st.MD_MSG_ID].hex()}), expected a datagram that a program has "
                "put. Find out who may put to this queue, and remove the message",
                status_queue=self.name,
                because="corrupt",
                found=why,
                expected="a datagram",
            )

    def _opened(self) -> Queue:
        if self._queue.is_stale:
            self._queue = self._open()
        return self._queue

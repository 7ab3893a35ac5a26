"""The status queue of the stream source, open: browses and changes the messages of ``manifests.py``, which decides.

It is on the connection of the process that has reserved the data queue, and is used through ``ReservedQueue``: if the connection
is lost, both queues are opened again before anything else is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.core.status import RecordRejected, decode
from mqgroups.errors import StatusQueueUnusable
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.spark.manifests import note_of, sign_of
from mqgroups.spark.offsets import Key
from mqgroups.spark.reservation import ReservedQueue
from mqgroups.status.opening import check_kind, check_stays, open_or_make
from mqgroups.status.records import made_by_a_queue_manager

_OPEN_OPTIONS = mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_INQUIRE | mq.MQOO_NO_READ_AHEAD
_PUT = st.pmo(st.PUT_NEW_MESSAGE)
_NOW = mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING
_BROWSE = tuple(
    st.gmo(_NOW | step, match_options=mq.MQMO_MATCH_CORREL_ID) for step in (mq.MQGMO_BROWSE_FIRST, mq.MQGMO_BROWSE_NEXT)
)
_LOOK = st.gmo(
    _NOW | mq.MQGMO_BROWSE_FIRST | mq.MQGMO_ACCEPT_TRUNCATED_MSG,
    match_options=mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_CORREL_ID,
)
_SIGN_OPEN_OPTIONS = mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_FAIL_IF_QUIESCING | mq.MQOO_NO_READ_AHEAD
_SIGN_PUT = st.pmo(mq.MQPMO_NO_SYNCPOINT | mq.MQPMO_SYNC_RESPONSE | mq.MQPMO_FAIL_IF_QUIESCING)
_NOTE_OPEN_OPTIONS = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_FAIL_IF_QUIESCING | mq.MQOO_NO_READ_AHEAD
_NOTE_PUT = st.pmo(mq.MQPMO_SYNCPOINT | mq.MQPMO_SYNC_RESPONSE | mq.MQPMO_FAIL_IF_QUIESCING)
_BROWSE_ANY = st.gmo(_NOW | mq.MQGMO_BROWSE_FIRST)
_DELETE = st.gmo(
    _NOW | mq.MQGMO_SYNCPOINT | mq.MQGMO_ACCEPT_TRUNCATED_MSG,
    match_options=mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_CORREL_ID,
)


def put_sign(connection: Connection, status_queue: str, source: str, manifest: str, bundle: int) -> None:
    """Put the sign that a bundle of a manifest's micro-batch was read, unless it is there. It runs in a task.

    Raises:
        MQIError: a call failed.
    """
    msg_id, data = sign_of(manifest, bundle)
    correl_id = bytes.fromhex(source)

    def put() -> None:
        queue = connection.open_queue(status_queue, _SIGN_OPEN_OPTIONS)
        try:
            if queue.get_descriptor(st.md(msg_id=msg_id, correl_id=correl_id), _LOOK) is None:
                md = st.md(format_name=mq.MQFMT_STRING, ccsid=1208, msg_id=msg_id, correl_id=correl_id)
                queue.put(md, _SIGN_PUT, data)
        finally:
            queue.close()

    connection.reopening(put)


def put_note(status_queue: str, source: str, manifest: str, bundle: int, connection: Connection, key: Key) -> None:
    """Put the note that the beginning of a group is removed, in place of the one before, in syncpoint. It runs in a remover.

    Raises:
        MQIError: a call failed.
    """
    msg_id, data = note_of(manifest, bundle, key)
    correl_id = bytes.fromhex(source)
    queue = connection.open_queue(status_queue, _NOTE_OPEN_OPTIONS)
    try:
        queue.get_descriptor(st.md(msg_id=msg_id, correl_id=correl_id), _DELETE)
        md = st.md(format_name=mq.MQFMT_STRING, ccsid=1208, msg_id=msg_id, correl_id=correl_id)
        queue.put(md, _NOTE_PUT, data)
    finally:
        queue.close()


class ManifestQueue:
    """A status queue for the manifests of sources."""

    def __init__(self, connection: Connection, reserved: ReservedQueue, name: str, model: str) -> None:
        """Open the queue, or make it from the model queue if it does not exist.

        Args:
            connection: the connection of ``reserved``.
            reserved: the data queue.
            name: of the status queue.
            model: a model queue, DEFTYPE(PERMDYN) SHARE.

        Raises:
            ConfigurationError: it is the data queue itself.
            StatusQueueUnusable: neither the queue nor the model queue exists; or it is an alias, temporary, or in a cluster, or
                has status records.
            MQIError: the queue cannot be opened.
        """
        self.name = name
        self._connection = connection
        self._reserved = reserved
        self._model = model
        reserved.check_apart(name)
        self._queue = reserved.again(self._open)
        reserved.again(self._check_first)

    def _check_first(self) -> None:
        """Refuse the status queue of a sink, which could not complete a batch any more: it reads all messages of its queue."""
        got = self._opened().get(st.md(), _BROWSE_ANY)
        if got is None:
            return
        try:
            record = decode(got[0])
        except RecordRejected:
            return
        raise StatusQueueUnusable(
            f"status queue {self.name} has a status record of {record.name}, so it is that of a sink or of another program. A "
            "stream that is read needs one of its own: choose another one with the option statusQueue",
            status_queue=self.name,
            found=record.name,
            expected="manifests",
        )

    def _open(self) -> Queue:
        queue = open_or_make(self._connection, self._open_as, self.name, self._model, "SHARE DEFSOPT(SHARED)")[0]
        try:
            check_kind(queue)
        except BaseException:
            queue.close()
            raise
        return queue

    def _open_as(self, name: str, dynamic_q_name: str = "") -> Queue:
        return self._connection.open_queue(name, _OPEN_OPTIONS, dynamic_q_name=dynamic_q_name)

    def browse(self, source: bytes) -> list[tuple[bytes, bytes]]:
        """Return MsgId and data of all messages with this CorrelId. Raises MQIError; StatusQueueUnusable if one is a report."""
        return self._reserved.again(lambda: self._browse(source))

    def _browse(self, source: bytes) -> list[tuple[bytes, bytes]]:
        queue, md = self._opened(), st.md(correl_id=source)
        found = []
        gmo, following = _BROWSE
        while (got := queue.get(md, gmo)) is not None:
            data, md_out, _ = got
            self._refuse_report(md_out)
            found.append((md_out[st.MD_MSG_ID], data))
            gmo = following
        return found

    def has(self, source: bytes, msg_id: bytes) -> bool:
        """Whether a message has this CorrelId and this MsgId. Raises as ``browse``."""
        md = st.md(msg_id=msg_id, correl_id=source)
        found = self._reserved.again(lambda: self._opened().get_descriptor(md, _LOOK))
        if found is None:
            return False
        self._refuse_report(found[0])
        return True

    def change(self, source: bytes, put: Sequence[bytes], delete: Iterable[bytes]) -> list[bytes]:
        """Put messages with this CorrelId, and delete those with these MsgIds, in one unit of work.

        If it is not known whether it was committed, it is done again: a message may then be on the queue twice.

        Returns: the MsgIds of the messages that were put.

        Raises:
            StatusQueueUnusable: what was put expires.
            MQIError: a call failed.
        """
        made = self._reserved.again(lambda: self._change(source, put, tuple(delete)))
        if made:
            md = st.md(msg_id=made[0], correl_id=source)
            found = self._reserved.again(lambda: self._opened().get_descriptor(md, _LOOK))
            if found is not None:
                check_stays(self.name, found[0])
        return made

    def _change(self, source: bytes, put: Sequence[bytes], delete: Iterable[bytes]) -> list[bytes]:
        queue = self._opened()
        md = st.md(format_name=mq.MQFMT_STRING, ccsid=1208, correl_id=source)
        with self._connection.unit_of_work(self):
            for msg_id in delete:
                queue.get_descriptor(st.md(msg_id=msg_id, correl_id=source), _DELETE)
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

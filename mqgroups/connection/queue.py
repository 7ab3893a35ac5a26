"""A queue that is open on a connection: MQPUT, MQGET, MQINQ and MQCLOSE, whose codes become errors."""

from __future__ import annotations

from typing import Protocol

from mqgroups.connection import authorities
from mqgroups.errors import ConnectionBroken, MessageTooLong, MQIError, NotAuthorised
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.abc import Binding

# The message is on the queue and what the warning is about does not matter to a group.
_ACCEPTED_PUT_WARNINGS = frozenset({mq.MQRC_PRIORITY_EXCEEDS_MAXIMUM})
_UNFINISHED = frozenset({mq.MQRC_INCOMPLETE_GROUP, mq.MQRC_INCOMPLETE_MSG})
_SMALLEST_BUFFER_BYTES = 65_536
# The bindings allocate what they are told; of nothing, some platforms make a failure.
_NO_DATA_BYTES = 1


class OpenOn(Protocol):
    """What a queue needs of the connection that it is open on."""

    binding: Binding
    hconn: int
    generation: int
    q_mgr_name: str

    @property
    def usable(self) -> bool: ...
    def has_open(self, opened: tuple[int, bytes, int, int], /) -> bool: ...
    def close_handle(self, hobj: int, options: int = ..., /) -> tuple[int, int]: ...
    def failed(self, verb: str, object_name: str, comp: int, reason: int, /) -> MQIError: ...
    def gone(self) -> ConnectionBroken: ...


class Queue:
    """A queue that is open. Made by ``Connection.open_queue``. When the connection is made again, it has to be opened again."""

    def __init__(
        self, connection: OpenOn, name: str, opened: tuple[int, bytes, int, int], max_message_length: int
    ) -> None:
        hobj, od = opened[:2]
        self._connection = connection
        self._opened = opened
        self.name = name
        self.object_name = st.name_at(od, st.OD_OBJECT_NAME)
        self.resolved_q_name = st.name_at(od, st.OD_RESOLVED_Q_NAME)
        self.resolved_q_mgr_name = st.name_at(od, st.OD_RESOLVED_Q_MGR_NAME)
        self._hconn = connection.hconn
        self._generation = connection.generation
        self._hobj: int | None = hobj
        self._mqput = connection.binding.MQPUT
        self._mqget = connection.binding.MQGET
        self._max_message_length = max_message_length
        self._buffer_bytes = min(_SMALLEST_BUFFER_BYTES, max_message_length)

    @property
    def hobj(self) -> int:
        """The object handle, for an MQPMO that passes on the context of what is got from this queue."""
        assert self._hobj is not None
        return self._hobj

    @property
    def is_stale(self) -> bool:
        """Whether the connection was made again since: the queue has to be opened again."""
        return self._generation != self._connection.generation

    @property
    def is_open(self) -> bool:
        """Whether it can be used: neither closed nor stale."""
        return self._hobj is not None and not self.is_stale

    def leads_to(self, name: str) -> bool:
        """Whether it is the queue ``name`` of this queue manager, directly or by an alias."""
        return (self.resolved_q_name, self.resolved_q_mgr_name) == (name, self._connection.q_mgr_name)

    def _usable_hobj(self) -> int:
        if self._hobj is None or self._generation != self._connection.generation:
            raise self._connection.gone()
        return self._hobj

    def put(self, md: bytearray, pmo: bytearray, data: bytes) -> tuple[bytes, bytes]:
        """MQPUT: return MQMD and MQPMO as the queue manager filled them; the templates ``md`` and ``pmo`` stay as they are.

        Raises:
            MQIError: the message is not on the queue; or it is, with a warning that should not be (2241, 2242, 2185,
                2245), and then the unit of work has to be backed out.
        """
        hobj = self._usable_hobj()
        md_out, pmo_out, comp, reason = self._mqput(self._hconn, hobj, bytes(md), bytes(pmo), data)
        if comp and not (comp == mq.MQCC_WARNING and reason in _ACCEPTED_PUT_WARNINGS):
            raise self._connection.failed("MQPUT", f"queue {self.name}", comp, reason)
        return md_out, pmo_out

    def get(
        self, md: bytearray, gmo: bytearray, accepted: frozenset[int] = frozenset()
    ) -> tuple[bytes, bytes, bytes] | None:
        """MQGET: return data, MQMD and MQGMO; ``None`` if there was no message. ``md`` and ``gmo`` are templates.

        A message that does not fit the buffer (2080) is got again with a buffer of its size: nothing was consumed and
        no position moved. Data is never truncated. ``accepted`` are warnings that are none to the caller.

        Raises:
            MessageTooLong: the message is longer than this queue was opened for.
            MQIError: any other failure.
        """
        hobj = self._usable_hobj()
        while True:
            data, md_out, gmo_out, length, comp, reason = self._mqget(
                self._hconn, hobj, bytes(md), bytes(gmo), self._buffer_bytes
            )
            if comp == mq.MQCC_OK or (comp == mq.MQCC_WARNING and reason in accepted):
                return data, md_out, gmo_out
            if reason == mq.MQRC_NO_MSG_AVAILABLE:
                return None
            if reason != mq.MQRC_TRUNCATED_MSG_FAILED or length <= self._buffer_bytes:
                raise self._connection.failed("MQGET", f"queue {self.name}", comp, reason)
            if length > self._max_message_length:
                error = MessageTooLong("MQGET", f"queue {self.name}", comp, reason)
                error.context = f"The message has {length} bytes, max_message_length is {self._max_message_length}"
                raise error
            self._buffer_bytes = length

    def get_descriptor(self, md: bytearray, gmo: bytearray) -> tuple[bytes, bytes, int] | None:
        """MQGET without the data: return MQMD, MQGMO and the data's length; ``None`` if there was no message.

        ``gmo`` has to say MQGMO_ACCEPT_TRUNCATED_MSG; with a destructive get the data is gone. Raises MQIError.
        """
        hobj = self._usable_hobj()
        _, md_out, gmo_out, length, comp, reason = self._mqget(self._hconn, hobj, bytes(md), bytes(gmo), _NO_DATA_BYTES)
        if comp == mq.MQCC_OK or (comp == mq.MQCC_WARNING and reason == mq.MQRC_TRUNCATED_MSG_ACCEPTED):
            return md_out, gmo_out, length
        if reason == mq.MQRC_NO_MSG_AVAILABLE:
            return None
        raise self._connection.failed("MQGET", f"queue {self.name}", comp, reason)

    def inquire(self, selector: int) -> int | str:
        """MQINQ of one attribute; character values without padding."""
        value, comp, reason = self._connection.binding.inquire(self._hconn, self._usable_hobj(), selector)
        if comp:
            raise self._connection.failed("MQINQ", f"queue {self.name}", comp, reason)
        return value

    @property
    def is_in_cluster(self) -> bool:
        """Whether this queue, which is defined here, is shared in a cluster; two MQINQ."""
        return any(self.inquire(selector) for selector in (mq.MQCA_CLUSTER_NAME, mq.MQCA_CLUSTER_NAMELIST))

    def close(self, options: int = mq.MQCO_NONE) -> None:
        """MQCLOSE. Does nothing if the queue is closed or the connection gone; an unfinished group is no error, nor is a
        connection that is lost now: it takes the handle with it.

        Raises:
            MQIError: it failed. A close that should have deleted the queue leaves it open then.
        """
        if self._hobj is None or self.is_stale or not self._connection.usable:
            return
        if not self._connection.has_open(self._opened):
            # Closed for another owner of the name (``own_status_queue``); its number may be another handle's by now.
            self._hobj = None
            return
        comp, reason = self._connection.close_handle(self._hobj, options)
        if comp and not (comp == mq.MQCC_WARNING and reason in _UNFINISHED):
            error = self._connection.failed("MQCLOSE", f"queue {self.name}", comp, reason)
            if isinstance(error, NotAuthorised):
                error.context = authorities.to_delete(self.name)
            if not isinstance(error, ConnectionBroken) or options != mq.MQCO_NONE:
                raise error
        self._hobj = None

"""Calls MQPUT, MQGET, MQINQ and MQCLOSE for an open queue, and turns their codes into errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeVar

from mqgroups.connection import authorities
from mqgroups.connection.handle import CallsOn
from mqgroups.connection.open_objects import Opened, OpenObjects
from mqgroups.errors import ConnectionBroken, MessageTooLong, MQIError, NotAuthorised
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.reasons import HANDLE_LOST, SEGMENTS_DIFFER

# With these warnings the message is on the queue, and a group can ignore them.
_ACCEPTED_PUT_WARNINGS = frozenset({mq.MQRC_PRIORITY_EXCEEDS_MAXIMUM})
# Warnings of MQGMO_CONVERT. The data is not converted and has its own CCSID and Encoding, or only its headers are not converted.
NOT_CONVERTED = frozenset(
    {
        mq.MQRC_FORMAT_ERROR,
        mq.MQRC_SOURCE_CCSID_ERROR,
        mq.MQRC_SOURCE_INTEGER_ENC_ERROR,
        mq.MQRC_SOURCE_DECIMAL_ENC_ERROR,
        mq.MQRC_SOURCE_FLOAT_ENC_ERROR,
        mq.MQRC_TARGET_CCSID_ERROR,
        mq.MQRC_TARGET_INTEGER_ENC_ERROR,
        mq.MQRC_TARGET_DECIMAL_ENC_ERROR,
        mq.MQRC_TARGET_FLOAT_ENC_ERROR,
        mq.MQRC_NOT_CONVERTED,
        mq.MQRC_CONVERTED_MSG_TOO_BIG,
        mq.MQRC_DBCS_ERROR,
        mq.MQRC_CONVERTED_STRING_TOO_BIG,
        mq.MQRC_PARTIALLY_CONVERTED,
    }
)
# Conversion makes up to three bytes of UTF-8 from a byte of EBCDIC. The second constant is a first buffer with room for that.
_GROWS = 3
_CONVERTING_BUFFER_BYTES = 4_194_304
_UNFINISHED = frozenset({mq.MQRC_INCOMPLETE_GROUP, mq.MQRC_INCOMPLETE_MSG})
_FIRST_BUFFER_BYTES = 65_536
_BROWSE = mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING
_T = TypeVar("_T")
# The least size of a buffer, because on some platforms allocating 0 bytes fails.
_NO_DATA_BYTES = 1


class OpenOn(CallsOn, Protocol):
    """The parts of ``Connection`` that ``Queue`` uses."""

    objects: OpenObjects

    @property
    def usable(self) -> bool: ...
    def gone(self) -> ConnectionBroken: ...


class SegmentsDiffer(MQIError):
    """The queue manager did not join the segments of a message, and returned only a part (2243, 2244).

    A consumer treats the message as poison. But on a wrapped connection it raises this error, because it must not back out.

    Attributes:
        md: the MQMD of that part, 364 bytes.
    """

    md = b""

    @property
    def cause(self) -> str:
        """Why MQGET cannot return the whole message."""
        return (
            f"its segments have different character sets or encodings, {self.reason_name}; a consumer with stream=True gets "
            "them one by one"
        )


class LongerThanAccepted(MessageTooLong):
    """A message is longer than ``max_message_length``. It stays on the queue, unless the consumer moves poison messages.

    Attributes:
        md: the message's MQMD, which MQGET fills in this case, too (IBM MQ, "MQGET").
    """

    md = b""

    @property
    def cause(self) -> str:
        """Why MQGET cannot return the whole message."""
        return self.context


class Queue:
    """An open queue, from ``Connection.open_queue``. When the connection has been remade, the queue must be opened again."""

    def __init__(self, connection: OpenOn, name: str, opened: Opened, max_message_length: int) -> None:
        hobj, hconn, binding = opened[0], connection.hconn, connection.binding
        self._connection = connection
        self._opened = opened
        # The connection's generation when the queue was opened; ``None`` after it is closed.
        self._generation: int | None = connection.generation
        self.name = name
        self._mqput = partial(binding.MQPUT, hconn, hobj)
        self._mqget = partial(binding.MQGET, hconn, hobj)
        self._max_message_length = max_message_length
        self._buffer_bytes = min(_FIRST_BUFFER_BYTES, max_message_length)
        self._grows = 1
        self._most_bytes = st.LONGEST_MESSAGE_BYTES

    @property
    def hobj(self) -> int:
        """The object handle. It is needed in an MQPMO that passes on the context of messages from this queue."""
        return self._opened[0]

    @property
    def object_name(self) -> str:
        """The name of the object that was opened."""
        return st.name_at(self._opened[1], st.OD_OBJECT_NAME)

    @property
    def resolved_q_name(self) -> str:
        """The queue that the name resolved to in MQOPEN."""
        return st.name_at(self._opened[1], st.OD_RESOLVED_Q_NAME)

    @property
    def resolved_q_mgr_name(self) -> str:
        """The queue manager that the name resolved to in MQOPEN."""
        return st.name_at(self._opened[1], st.OD_RESOLVED_Q_MGR_NAME)

    @property
    def is_stale(self) -> bool:
        """Whether the connection has been remade, so that the queue has to be opened again."""
        return self._generation is not None and self._generation != self._connection.generation

    @property
    def is_open(self) -> bool:
        """Whether the queue can be used, which means that it is neither closed nor stale."""
        return self._generation == self._connection.generation

    def expect_conversion(self) -> None:
        """Use buffers with room for converted text from now on.

        If the channel does not allow such long buffers, the text may stay unconverted (2120).
        """
        self._grows = _GROWS
        self._buffer_bytes = _CONVERTING_BUFFER_BYTES

    def leads_to(self, name: str) -> bool:
        """Return whether this queue resolves to the queue ``name`` of this queue manager, directly or through an alias."""
        return (self.resolved_q_name, self.resolved_q_mgr_name) == (name, self._connection.q_mgr_name)

    def _require_open(self) -> None:
        if self._generation != self._connection.generation:
            raise self._connection.gone()

    def put(self, md: bytearray, pmo: bytearray, data: bytes) -> tuple[bytes, bytes]:
        """Put a message. Returns MQMD and MQPMO as the queue manager filled them; ``md`` and ``pmo`` are not changed.

        Raises:
            MQIError: the message is not on the queue. Or the message is on the queue, but with a warning that is not accepted
                (2241, 2242, 2185, 2245). In the second case the caller must back out the unit of work.
        """
        if self._generation != self._connection.generation:
            raise self._connection.gone()
        md_out, pmo_out, comp, reason = self._mqput(b"" + md, b"" + pmo, data)
        if comp and not (comp == mq.MQCC_WARNING and reason in _ACCEPTED_PUT_WARNINGS):
            raise self._connection.failed("MQPUT", f"queue {self.name}", comp, reason)
        return md_out, pmo_out

    def get(
        self, md: bytearray, gmo: bytearray, accepted: frozenset[int] = frozenset()
    ) -> tuple[bytes, bytes, bytes] | None:
        """Get a message. Returns data, MQMD and MQGMO; ``None`` if there is no message. ``md`` and ``gmo`` are not changed.

        If the message does not fit the buffer (2080), MQGET is repeated with a larger buffer. This is safe, because the first
        MQGET has not consumed the message. Data is never truncated. A warning whose reason code is in ``accepted`` is no error.

        Raises:
            MessageTooLong: the message is longer than the queue's ``max_message_length``.
            MQIError: any other failure.
        """
        if self._generation != self._connection.generation:
            raise self._connection.gone()
        needed = 1  # the length of the message is not known yet
        while True:
            data, md_out, gmo_out, length, comp, reason = self._mqget(b"" + md, b"" + gmo, self._buffer_bytes)
            if not comp or (comp == mq.MQCC_WARNING and reason in accepted):
                if reason == mq.MQRC_CONVERTED_MSG_TOO_BIG:
                    self._buffer_bytes = self._room_for(length)  # for the next time
                return data, md_out, gmo_out
            if reason == mq.MQRC_NO_MSG_AVAILABLE:
                return None
            if reason == mq.MQRC_DATA_LENGTH_ERROR and self._buffer_bytes > needed:
                # The channel does not allow a buffer of this length; perhaps the message needs a shorter one.
                self._most_bytes = self._buffer_bytes = max(self._buffer_bytes // _GROWS, needed)
                continue
            if reason != mq.MQRC_TRUNCATED_MSG_FAILED or length <= self._buffer_bytes:
                if reason in SEGMENTS_DIFFER:
                    differ = SegmentsDiffer("MQGET", f"queue {self.name}", comp, reason)
                    differ.md = md_out
                    raise differ
                raise self._connection.failed("MQGET", f"queue {self.name}", comp, reason)
            if length > self._max_message_length:
                too_long = LongerThanAccepted("MQGET", f"queue {self.name}", comp, reason)
                too_long.md = md_out
                too_long.context = f"The message has {length} bytes, max_message_length is {self._max_message_length}"
                raise too_long
            needed, self._buffer_bytes = length, self._room_for(length)

    def get_of_any_length(self, md: bytearray, gmo: bytearray) -> tuple[bytes, bytes, bytes] | None:
        """Get a message as ``get`` does, even if it is longer than ``max_message_length``."""
        limits = self._max_message_length, self._buffer_bytes
        self._max_message_length = st.LONGEST_MESSAGE_BYTES
        try:
            return self.get(md, gmo)
        finally:
            self._max_message_length, self._buffer_bytes = limits

    def _room_for(self, length: int) -> int:
        """Return the length of a buffer for a message of this length, with room for conversion if it is expected."""
        return max(length, min(self._grows * length, self._most_bytes))

    def get_descriptor(self, md: bytearray, gmo: bytearray) -> tuple[bytes, bytes, int] | None:
        """Get a message without its data. Returns MQMD, MQGMO and the length of the data; ``None`` if there is no message.

        ``gmo`` must have MQGMO_ACCEPT_TRUNCATED_MSG. A destructive get loses the data. Raises MQIError.
        """
        found = self._get_truncated(md, gmo, _NO_DATA_BYTES)
        return None if found is None else found[1:]

    def browse(self, md: bytearray, match_options: int = mq.MQMO_NONE) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Browse all messages that match ``md``. Yields what ``get`` returns for each message, and raises the same errors."""
        return _browsed(self.get, md, _BROWSE, match_options)

    def browse_descriptors(
        self, md: bytearray, match_options: int = mq.MQMO_NONE, options: int = 0
    ) -> Iterator[tuple[bytes, bytes, int]]:
        """Browse all messages that match ``md``. Yields and raises as ``get_descriptor`` does. ``options``: further MQGMO_*."""
        return _browsed(self.get_descriptor, md, options | _BROWSE | mq.MQGMO_ACCEPT_TRUNCATED_MSG, match_options)

    def get_beginning(self, md: bytearray, gmo: bytearray, most_bytes: int) -> tuple[bytes, bytes, int] | None:
        """Get as ``get_descriptor`` does, but return up to ``most_bytes`` of data, the MQMD, and the length of the whole data."""
        found = self._get_truncated(md, gmo, most_bytes)
        return None if found is None else (found[0], found[1], found[3])

    def _get_truncated(self, md: bytearray, gmo: bytearray, most_bytes: int) -> tuple[bytes, bytes, bytes, int] | None:
        self._require_open()
        data, md_out, gmo_out, length, comp, reason = self._mqget(bytes(md), bytes(gmo), most_bytes)
        if comp == mq.MQCC_OK or (comp == mq.MQCC_WARNING and reason == mq.MQRC_TRUNCATED_MSG_ACCEPTED):
            return data, md_out, gmo_out, length
        if reason == mq.MQRC_NO_MSG_AVAILABLE:
            return None
        raise self._connection.failed("MQGET", f"queue {self.name}", comp, reason)

    def inquire(self, selector: int) -> int | str:
        """Return an attribute of the queue, from MQINQ. Raises MQIError. Character values have no padding."""
        self._require_open()
        value, comp, reason = self._connection.binding.inquire(self._connection.hconn, self.hobj, selector)
        if comp:
            raise self._connection.failed("MQINQ", f"queue {self.name}", comp, reason)
        return value

    @property
    def is_in_cluster(self) -> bool:
        """Whether this local queue is shared in a cluster. Calls MQINQ once or twice."""
        return any(self.inquire(selector) for selector in (mq.MQCA_CLUSTER_NAME, mq.MQCA_CLUSTER_NAMELIST))

    def close(self, options: int = mq.MQCO_NONE) -> None:
        """Close the queue with MQCLOSE. Do nothing if the queue is closed or the connection is gone.

        An unfinished group is not an error. If the connection is lost during the call, the handle is gone, too. Such a loss is an
        error only if the queue was to be deleted. Raises MQIError if MQCLOSE failed; the queue is then still open.
        """
        if self._generation is None or not self._connection.usable:
            return
        if not self._connection.objects.has(self._opened):
            # The queue was lost with its connection, or closed for another owner of the name (``own_status_queue``). Another
            # object may have its handle number now.
            self._generation = None
            return
        comp, reason = self._connection.objects.close(self.hobj, options)
        if comp and not (comp == mq.MQCC_WARNING and reason in _UNFINISHED):
            error = self._connection.failed("MQCLOSE", f"queue {self.name}", comp, reason)
            if isinstance(error, NotAuthorised):
                error.context = authorities.to_delete(self.name)
            is_gone = isinstance(error, ConnectionBroken) or reason in HANDLE_LOST
            if not is_gone or options != mq.MQCO_NONE:
                raise error
        self._generation = None


@contextmanager
def closed_if_it_fails(queue: Queue) -> Iterator[None]:
    """Close a queue if the ``with`` block fails, so that another try can open it."""
    try:
        yield
    except BaseException:
        queue.close()
        raise


def _browsed(
    get: Callable[[bytearray, bytearray], _T | None], md: bytearray, options: int, match_options: int
) -> Iterator[_T]:
    gmo = st.gmo(mq.MQGMO_BROWSE_FIRST | options, match_options=match_options)
    following = st.gmo(mq.MQGMO_BROWSE_NEXT | options, match_options=match_options)
    while (got := get(md, gmo)) is not None:
        gmo = following
        yield got

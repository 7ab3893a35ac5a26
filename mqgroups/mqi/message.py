"""A message from MQGET: its data and its message descriptor.

A consumer makes an object for every message, so a field is unpacked only when it is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from mqgroups.errors import GroupUsage
from mqgroups.mqi import constants as mq
from mqgroups.mqi import property_folders
from mqgroups.mqi import structures as st
from mqgroups.mqi.abc import PropertyValue
from mqgroups.mqi.rfh2 import TakenProperties
from mqgroups.mqi.text import decoded
from mqgroups.printable import even_half_made

# The properties with which Managed File Transfer ends the group of a transfer that failed, and with which applications cancel a
# transfer: a return code that is not 0, and a text. IBM MQ, topics "Failure of a file-to-message transfer" and "IBM MQ message
# properties read from messages on source queues". These texts do not give the type of the codes.
_OF_MFT = (("WMQFTEResultCode", "WMQFTESupplement"), ("UserReturnCode", "UserSupplement"))
_WHOLE_NUMBER = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
_TEXT = mq.MQFMT_STRING.decode().rstrip()
_LAST = mq.MQGS_LAST_MSG_IN_GROUP
_NOT_IN_GROUP = mq.MQGS_NOT_IN_GROUP


class Message:
    """One logical message, as the queue manager returned it."""

    __slots__ = (
        "_following",
        "_group_status",
        "_is_plain",
        "_md",
        "_properties",
        "_segment_status",
        "_taken",
        "_value",
        "data",
    )

    data: bytes
    """The data of the message, without the properties that were put with it. ``text`` and ``value`` decode it."""

    def __init__(
        self,
        data: bytes,
        md: bytes,
        group_status: int,
        segment_status: int = mq.MQSS_NOT_A_SEGMENT,
        taken: TakenProperties | None = None,
        is_plain: bool = False,
    ) -> None:
        """Take MQGET's outputs: the data, the MQMD (364 bytes), GroupStatus and SegmentStatus from the MQGMO.

        Attributes:
            taken: the properties that were removed from the data; ``None`` if there were none.
            is_plain: whether the message is known to be whole, to be in the middle of a group, and never to have been backed out.
                If this is false, the message may need a check.
        """
        self.data = data
        self._md = md
        self._group_status = group_status
        self._segment_status = segment_status
        self._following: Callable[[], Message] | None = None
        self._taken = taken
        self._is_plain = is_plain
        self._properties: Mapping[str, PropertyValue] | None = None

    def chunks(self) -> Iterator[bytes]:
        """Yield the data, one segment after the other if the message arrives in segments. Call this method only once.

        A consumer with ``stream=True`` gets a segment when the application asks for the next chunk. By asking, the application
        confirms that the previous segment is processed. The consumer may commit before it gets the next segment. After a crash
        in the middle of a message, the first chunk is the first uncommitted segment, at ``offset``.
        """
        yield self.data
        message = self
        while message.is_segment and not message.is_last_segment and self._following is not None:
            message = self._following()
            yield message.data

    def _followed_by(self, get_next: Callable[[], Message]) -> None:
        """Make ``chunks`` call ``get_next`` for the next segment. Called by the group that the message belongs to."""
        self._following = get_next

    @property
    def is_segment(self) -> bool:
        """Whether this object is a segment of a message, or a message that was reassembled from its segments."""
        return self._segment_status != mq.MQSS_NOT_A_SEGMENT

    @property
    def is_last_segment(self) -> bool:
        """Whether no further segment of the same logical message follows this object."""
        return self._segment_status != mq.MQSS_SEGMENT

    @property
    def _as_got(self) -> tuple[bytearray, bytes]:
        """The MQMD (364 bytes) and the data as MQGET returned them, for putting the message again."""
        md, data = (self._md, self.data) if self._taken is None else self._taken[1:]
        return bytearray(md), data

    @property
    def properties(self) -> Mapping[str, PropertyValue]:
        """The message properties by name; values are ``str``, ``int``, ``float``, ``bool``, ``bytes`` or ``None``.

        Names are as in MQINQMP. The name of a property in the folder ``usr`` has no prefix. A name in another folder begins with
        the names of folder and groups (``jms.Dst``). A reassembled message has the properties of its first segment. With
        ``stream=True``, they are those of the first segment that MQGET returned.
        """
        if self._properties is None:
            self._properties = property_folders.values(() if self._taken is None else self._taken.folders)
        return self._properties

    @property
    def text(self) -> str:
        """The data as text, decoded by the message's CCSID and Encoding, without a byte order mark.

        Raises:
            CcsidUnknown: this package has no code page for the CCSID.
            NotDecoded: the data is not text in that CCSID, or no code page can have that CCSID.
        """
        return decoded(self.data, self.ccsid, self.encoding)

    @property
    def value(self) -> Any:
        """The value that the consumer's codec has made from the data.

        Raises:
            GroupUsage: the consumer has no codec.
        """
        try:
            return self._value
        except AttributeError:
            raise GroupUsage("the consumer has no codec, so its messages have no value. Make it with codec=") from None

    def _decode(self, codec: Callable[[Any], Any]) -> None:
        """Decode the data; called by the group that the message belongs to.

        ``codec`` gets ``str`` if the format is MQSTR, else ``bytes``.

        Raises:
            ValueError: the data is invalid.
            CcsidUnknown: there is no code page for the text.
        """
        self._value = codec(self.text if self.format == _TEXT else self.data)

    @property
    def is_last(self) -> bool:
        """Whether this is the last message of its group; true for a message that is not in a group."""
        return self._group_status == _LAST or self._group_status == _NOT_IN_GROUP

    @property
    def _abandoned_with(self) -> int | None:
        """The result with which the producer abandoned the group; ``None`` if this message does not end an abandoned group.

        The last message of an abandoned group is empty. Either it is a report, and its application-defined feedback gives the
        result. Or it has a return code of Managed File Transfer that is not 0, and the code's absolute value is the result.
        """
        return None if (ending := self._abandonment()) is None else ending[0]

    @property
    def _abandoned_because(self) -> str:
        """The producer's text about why it abandoned the group; empty if there is none."""
        return "" if (ending := self._abandonment()) is None else ending[1]

    def _abandonment(self) -> tuple[int, str] | None:
        if self.data or not self.is_last:
            return None
        if st.long_at(self._md, st.MD_MSG_TYPE) == mq.MQMT_REPORT:
            result = st.long_at(self._md, st.MD_FEEDBACK) - mq.MQFB_APPL_FIRST
            if result >= 0:
                return result, _text(self.properties.get("mqgroups.Reason"))
        if self._taken is None or not self.in_group:
            return None
        for code_name, text_name in _OF_MFT:
            if code := _whole_number(self.properties.get(code_name)):
                return min(abs(code), mq.MQFB_APPL_LAST - mq.MQFB_APPL_FIRST), _text(self.properties.get(text_name))
        return None

    @property
    def in_group(self) -> bool:
        """Whether the message belongs to a group."""
        return self._group_status != _NOT_IN_GROUP

    @property
    def group_id(self) -> bytes:
        """The GroupId, 24 bytes; ``MQGI_NONE`` for a message that is not in a group."""
        return self._md[st.MD_GROUP_ID]

    @property
    def msg_seq_number(self) -> int:
        """The message's number in its group, from 1 on."""
        return st.long_at(self._md, st.MD_MSG_SEQ_NUMBER)

    @property
    def offset(self) -> int:
        """The offset of a segment in its logical message, in bytes; 0 for a whole message."""
        return st.long_at(self._md, st.MD_OFFSET)

    @property
    def msg_flags(self) -> int:
        """The message flags, MQMF_*."""
        return st.long_at(self._md, st.MD_MSG_FLAGS)

    @property
    def msg_id(self) -> bytes:
        """The MsgId, 24 bytes."""
        return self._md[st.MD_MSG_ID]

    @property
    def correl_id(self) -> bytes:
        """The CorrelId, 24 bytes."""
        return self._md[st.MD_CORREL_ID]

    @property
    def format(self) -> str:
        """The format name without trailing blanks: ``"MQSTR"`` for text, empty for bytes."""
        return st.name_at(self._md, st.MD_FORMAT)

    @property
    def ccsid(self) -> int:
        """The coded character set identifier of the data, for example 1208 for UTF-8."""
        return st.long_at(self._md, st.MD_CODED_CHAR_SET_ID)

    @property
    def encoding(self) -> int:
        """The encoding of numbers in the data, MQENC_*."""
        return st.long_at(self._md, st.MD_ENCODING)

    @property
    def persistence(self) -> int:
        """The persistence, ``MQPER_PERSISTENT`` or ``MQPER_NOT_PERSISTENT``."""
        return st.long_at(self._md, st.MD_PERSISTENCE)

    @property
    def priority(self) -> int:
        """The priority, 0 (lowest) to 9."""
        return st.long_at(self._md, st.MD_PRIORITY)

    @property
    def backout_count(self) -> int:
        """How many times the message was got in a unit of work that was backed out."""
        return st.long_at(self._md, st.MD_BACKOUT_COUNT)

    @property
    def reply_to_q(self) -> str:
        """The queue for replies; empty if there is none."""
        return st.name_at(self._md, st.MD_REPLY_TO_Q)

    @property
    def reply_to_q_mgr(self) -> str:
        """The queue manager of the queue for replies."""
        return st.name_at(self._md, st.MD_REPLY_TO_Q_MGR)

    @property
    def put_appl_name(self) -> str:
        """The name of the application that put the message."""
        return st.name_at(self._md, st.MD_PUT_APPL_NAME)

    @property
    def put_time_utc(self) -> datetime | None:
        """When the message was put, to a hundredth of a second; ``None`` if the message has no valid put time."""
        stamp = st.name_at(self._md, st.MD_PUT_DATE) + st.name_at(self._md, st.MD_PUT_TIME)
        try:
            return datetime.strptime(stamp + "0000", "%Y%m%d%H%M%S%f").replace(tzinfo=UTC)
        except ValueError:
            return None

    @property
    def _not_got_because(self) -> str:
        """The reason why MQGET did not return the whole message and this object has no data; empty for other messages."""
        return ""

    @even_half_made
    def __repr__(self) -> str:
        group = f"group={self.group_id.hex()} seq={self.msg_seq_number}" if self.in_group else "not in a group"
        return f"<Message {group} {len(self.data)} bytes{' last' if self.is_last else ''}>"


class NotGot(Message):
    """A message that MQGET did not return whole. It has the MQMD of the message's beginning, and no data."""

    __slots__ = ("_cause",)

    def __init__(self, md: bytes, cause: str) -> None:
        flags = st.long_at(md, st.MD_MSG_FLAGS)
        is_last, in_group = flags & mq.MQMF_LAST_MSG_IN_GROUP, flags & mq.MQMF_MSG_IN_GROUP
        super().__init__(b"", md, _LAST if is_last else mq.MQGS_MSG_IN_GROUP if in_group else _NOT_IN_GROUP)
        self._cause = cause

    @property
    def _not_got_because(self) -> str:
        return self._cause

    @property
    def _abandoned_with(self) -> int | None:
        return None


def _text(value: PropertyValue) -> str:
    return value if isinstance(value, str) else ""


def _whole_number(value: PropertyValue) -> int:
    """Return a property's value as a whole number. The value may be a text. Return 0 if it is not a whole number."""
    if isinstance(value, str):
        return int(value) if _WHOLE_NUMBER.fullmatch(value) else 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not float(value).is_integer():
        return 0
    return int(value)

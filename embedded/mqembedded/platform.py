"""The rules that differ on z/OS, so that applications can be tested for both platforms.

The platform ``zos`` changes only the rules below. It does not imitate a complete z/OS queue manager.

* MQPUT and MQGET without a syncpoint option are in the unit of work (IBM MQ, "Syncpoints in IBM MQ for z/OS applications").
* Logical order, COMPLETE_MSG, ALL_MSGS_AVAILABLE and ALL_SEGMENTS_AVAILABLE need a queue with INDXTYPE(GROUPID). On other queues,
  calls with these options fail with MQRC_Q_INDEX_TYPE_ERROR.
* A segment cannot be put on a queue with INDXTYPE(GROUPID) (MQRC_SEGMENTS_NOT_SUPPORTED). MQMF_SEGMENTATION_ALLOWED is accepted
  and ignored.
* On a queue with INDXTYPE(GROUPID) and MSGDLVSQ(PRIORITY), a group's first message with priority 0 or 1 has the same
  place as if it had priority 2 (IBM MQ, "MsgDeliverySequence").
* BackoutCount stops at 255 (IBM MQ, "Messages that are backed out").
* The physical order of messages on a queue with INDXTYPE(GROUPID) is not defined (IBM MQ, "MsgDeliverySequence"). Here the first
  messages of groups are in order of arrival, because logical order takes a group at the place of its first message. All other
  messages come before these first messages, in reverse order of arrival.
* MQPMO Version 2 is refused with MQRC_PMO_ERROR.
* When a client opens an object, two users need authority: the client's user and the channel initiator's user (IBM MQ, "RESLEVEL
  and the channel initiator connection", "Client MQI requests"). Here the second user is CHINUSER. PUTAUT(ONLYMCA) and RESLEVEL
  have no effect.
* Identifiers begin with CSQ.
* MQOPEN of a model queue needs the authorities for the dynamic queue's own name, too, and a user who creates a dynamic queue gets
  no authority for it (topic "Considerations for model queues"). Generic profiles do not check a name with a percent sign (IBM MQ,
  "ObjectName"). Here no profile checks such a name.
* The queue manager's character set is EBCDIC (CCSID 500), and its integers are big-endian (Encoding 785), in PCF responses and in
  each MQRFH2 and MQDLH that the queue manager makes. A client's messages have the CCSID and Encoding that the client gives.
  MQCCSI_Q_MGR is the client's character set.
* PCF commands are of type MQCFT_COMMAND_XR and version 3, go to SYSTEM.COMMAND.INPUT, and get extended responses. The Escape
  command does not exist.
"""

from __future__ import annotations

import enum

from mqembedded import constants as mq

ZOS_HIGHEST_BACKOUT_COUNT = 255
ZOS_LOWEST_GROUP_PRIORITY = 2
ZOS_CHANNEL_INITIATOR = "CHINUSER"

NEEDS_GROUP_INDEX = (
    mq.MQGMO_LOGICAL_ORDER | mq.MQGMO_COMPLETE_MSG | mq.MQGMO_ALL_MSGS_AVAILABLE | mq.MQGMO_ALL_SEGMENTS_AVAILABLE
)


class Platform(enum.Enum):
    """The platform whose rules a queue manager follows."""

    UNIX = "unix"
    ZOS = "zos"

    @property
    def command_queue(self) -> str:
        """The name of the queue that takes PCF commands."""
        return "SYSTEM.COMMAND.INPUT" if self is Platform.ZOS else "SYSTEM.ADMIN.COMMAND.QUEUE"

    @property
    def encoding(self) -> int:
        """The encoding of integers in data that the queue manager makes."""
        return mq.MQENC_S390 if self is Platform.ZOS else mq.MQENC_NATIVE

    @property
    def ccsid(self) -> int:
        """The CCSID of the queue manager's character set."""
        return 500 if self is Platform.ZOS else 1208

    @property
    def product_identifier(self) -> bytes:
        """The first bytes of message and group identifiers."""
        return b"CSQ " if self is Platform.ZOS else b"AMQ "

    @property
    def mqi_number(self) -> int:
        """The value of MQIA_PLATFORM."""
        return mq.MQPL_ZOS if self is Platform.ZOS else mq.MQPL_UNIX

    def is_ordered(self, index_type: object, msg_seq_number: int) -> bool:
        """Return whether messages with this MsgSeqNumber are in order of arrival on a queue with this IndexType."""
        return self is not Platform.ZOS or index_type != mq.MQIT_GROUP_ID or msg_seq_number == 1

    def takes_segments(self, index_type: object) -> bool:
        """Return whether segments can be put on a queue with this IndexType."""
        return self is not Platform.ZOS or index_type != mq.MQIT_GROUP_ID

    def takes_pmo(self, version: int) -> bool:
        """Return whether MQPUT accepts this version of MQPMO."""
        return self is not Platform.ZOS or version != 2

    def puts_in_syncpoint(self, options: int) -> bool:
        """Return whether an MQPUT with these options is in the unit of work."""
        given = options & (mq.MQPMO_SYNCPOINT | mq.MQPMO_NO_SYNCPOINT)
        return given == mq.MQPMO_SYNCPOINT or (not given and self is Platform.ZOS)

    def get_options(self, options: int, browse_options: int) -> int:
        """Return MQGMO options, with the platform's default if no syncpoint option is given. A browse is never in syncpoint."""
        given = options & (mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT)
        if self is Platform.ZOS and not given and not options & browse_options:
            return options | mq.MQGMO_SYNCPOINT
        return options

"""Rules that differ on z/OS, so that applications can be tested for both platforms.

The profile changes only what is listed here. It does not make a z/OS queue manager.

* MQPUT and MQGET without a syncpoint option are in the unit of work (IBM MQ, "Syncpoints in IBM MQ for z/OS applications").
* Logical order, COMPLETE_MSG, ALL_MSGS_AVAILABLE and ALL_SEGMENTS_AVAILABLE need a queue with INDXTYPE(GROUPID), else
  MQRC_Q_INDEX_TYPE_ERROR.
* A segment cannot be put on a queue with INDXTYPE(GROUPID): MQRC_SEGMENTS_NOT_SUPPORTED. MQMF_SEGMENTATION_ALLOWED is accepted
  and ignored.
* On a queue with INDXTYPE(GROUPID) and MSGDLVSQ(PRIORITY), the first message of a group with priority 0 or 1 takes the place of
  a message with priority 2 (IBM MQ, "MsgDeliverySequence").
* BackoutCount stops at 255 (IBM MQ, "Messages that are backed out").
* The physical order of messages on a queue with INDXTYPE(GROUPID) is not defined (IBM MQ, "MsgDeliverySequence"). Here the
  first messages of groups lie in order of arrival, because their places are the groups' in logical order; the others lie before
  all of these, the latest first.
* MQPMO Version 2 is refused with MQRC_PMO_ERROR.
* Two users are checked for an object that a client opens: its own, and that of the channel initiator (IBM MQ, "RESLEVEL and the
  channel initiator connection", "Client MQI requests"), which is CHINUSER here. So PUTAUT(ONLYMCA) and RESLEVEL are not
  followed.
* Identifiers begin with CSQ.
* MQOPEN of a model queue needs the authorities for the dynamic queue's own name too, and whoever makes one gets none (topic
  "Considerations for model queues"). Generic profiles do not check a name with a percent sign (IBM MQ, "ObjectName"); here
  nothing does.
* The queue manager's character set is EBCDIC (CCSID 500), and its integers are big-endian (Encoding 785), in PCF responses and
  in each MQRFH2 and MQDLH that it makes. Messages of a client are as the client says; MQCCSI_Q_MGR is the client's character
  set.
* PCF commands are of type MQCFT_COMMAND_XR and version 3, go to SYSTEM.COMMAND.INPUT, and get extended responses; there is no
  Escape.
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
        """The queue for PCF commands."""
        return "SYSTEM.COMMAND.INPUT" if self is Platform.ZOS else "SYSTEM.ADMIN.COMMAND.QUEUE"

    @property
    def encoding(self) -> int:
        """The encoding of data that the queue manager makes."""
        return mq.MQENC_S390 if self is Platform.ZOS else mq.MQENC_NATIVE

    @property
    def ccsid(self) -> int:
        """The queue manager's character set."""
        return 500 if self is Platform.ZOS else 1208

    @property
    def product_identifier(self) -> bytes:
        """How identifiers of messages and groups begin."""
        return b"CSQ " if self is Platform.ZOS else b"AMQ "

    @property
    def mqi_number(self) -> int:
        """The value of MQIA_PLATFORM."""
        return mq.MQPL_ZOS if self is Platform.ZOS else mq.MQPL_UNIX

    def is_ordered(self, index_type: object, msg_seq_number: int) -> bool:
        """Whether messages with this number lie in order of arrival on a queue with this IndexType."""
        return self is not Platform.ZOS or index_type != mq.MQIT_GROUP_ID or msg_seq_number == 1

    def takes_segments(self, index_type: object) -> bool:
        """Whether segments can be put on a queue with this IndexType."""
        return self is not Platform.ZOS or index_type != mq.MQIT_GROUP_ID

    def takes_pmo(self, version: int) -> bool:
        """Whether MQPUT takes an MQPMO of this version."""
        return self is not Platform.ZOS or version != 2

    def puts_in_syncpoint(self, options: int) -> bool:
        """Whether an MQPUT with these options is in the unit of work."""
        given = options & (mq.MQPMO_SYNCPOINT | mq.MQPMO_NO_SYNCPOINT)
        return given == mq.MQPMO_SYNCPOINT or (not given and self is Platform.ZOS)

    def get_options(self, options: int, browse_options: int) -> int:
        """Return MQGMO options with the platform's syncpoint default made explicit; a browse is never in syncpoint."""
        given = options & (mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT)
        if self is Platform.ZOS and not given and not options & browse_options:
            return options | mq.MQGMO_SYNCPOINT
        return options

"""MQ's terms as enums: IBM's names without prefix, and IBM's numbers.

A test compares them with ``mqgroups.mqi.constants``.
"""

from __future__ import annotations

import re
from enum import Enum, IntEnum, IntFlag

GROUP_ID_LENGTH = 24
GROUP_ID_NONE = bytes(GROUP_ID_LENGTH)
MAX_MSG_SEQ_NUMBER = 999_999_999
MAX_OFFSET = 999_999_999
# Names of queues and queue managers (IBM MQ, "Rules for naming IBM MQ objects"), and of owners (in MQGROUPS.PUT.NAME).
NOT_IN_MQ_NAMES = re.compile(r"[^A-Za-z0-9./_%]")
MAX_QUEUE_NAME_LENGTH = 48
MAX_NAME_LENGTH = 35


class MsgFlag(IntFlag):
    """MQMD.MsgFlags (IBM MQ, "MsgFlags")."""

    NONE = 0x00
    SEGMENTATION_ALLOWED = 0x01
    SEGMENT = 0x02
    LAST_SEGMENT = 0x04
    MSG_IN_GROUP = 0x08
    LAST_MSG_IN_GROUP = 0x10


class MatchOption(IntFlag):
    """MQGMO.MatchOptions."""

    NONE = 0x00
    MATCH_MSG_ID = 0x01
    MATCH_GROUP_ID = 0x04
    MATCH_MSG_SEQ_NUMBER = 0x08
    MATCH_OFFSET = 0x10


class Persistence(IntEnum):
    """MQMD.Persistence, the same for all messages of a group. The queue's default is never used, because it may change."""

    NOT_PERSISTENT = 0
    PERSISTENT = 1


class Role(Enum):
    """The role of a status record's owner: producer or consumer."""

    PUT = "put"
    GET = "get"

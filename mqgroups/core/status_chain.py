"""How status records lie on their queue: a message each, or as segments of one logical message; and how the next is put.

Replacing a record takes MQGET and MQPUT. Put as a segment behind the one before it takes MQPUT alone: the last segment is
the record that counts (IBM MQ, topic q026290, the note). A chain of segments cannot be taken off the queue before its
last segment says that it is the last, and not in the unit of work that says so, because what a unit of work puts is not
there to be got before it is committed. So a chain ends in one unit of work and is got, whole, in the next one, which puts
the first segment of a new chain:

    on the queue            to put the next record                              then on the queue
    nothing                 a message; or a first segment                       a message; or an open chain
    a message               get it; as above                                    as above
    an open chain           the next segment                                    an open chain
    an open chain, long     the last segment                                    an ended chain
    an ended chain          get it whole; as for nothing                        a message; or an open chain

An owner that starts finds whatever its predecessor left, put either way. It ends a chain that it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqgroups.core.model import GROUP_ID_NONE, MsgFlag

# A chain ends when it has this many segments or bytes: MQGMO_COMPLETE_MSG gets them in one unit of work and one buffer, and
# who starts reads them all.
MOST_SEGMENTS = 32
MOST_BYTES = 262_144


@dataclass(frozen=True, slots=True)
class Lying:
    """A message on a status queue: its identity and place, and how many bytes of data it has."""

    msg_id: bytes
    group_id: bytes
    offset: int
    length: int
    msg_flags: MsgFlag


@dataclass(frozen=True, slots=True)
class Kept:
    """What is on a status queue.

    Attributes:
        msg_id: of the message, or of the chain's last segment.
        group_id: of the chain; ``GROUP_ID_NONE`` for a message that is not a segment.
        segments, length: of the chain, its length in bytes.
        ended: whether the chain's last segment says that it is.
    """

    msg_id: bytes
    group_id: bytes = GROUP_ID_NONE
    segments: int = 0
    length: int = 0
    ended: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it is a chain that goes on."""
        return self.segments > 0 and not self.ended


@dataclass(frozen=True, slots=True)
class RecordPut:
    """How to put the next record; ``takes`` what is there first."""

    takes: bool
    group_id: bytes = GROUP_ID_NONE
    offset: int = 0
    msg_flags: MsgFlag = MsgFlag.NONE


class ChainBroken(ValueError):
    """Messages on a status queue that are neither one record nor one chain of segments."""

    def __init__(self, found: str, expected: str, *, several: bool = False) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.found = found
        self.expected = expected
        self.several = several


def kept(messages: Sequence[Lying]) -> tuple[Kept, list[int]] | None:
    """Say what the messages on a status queue are, and in which order their records were put; ``None`` if there are none.

    Raises:
        ChainBroken: they are several messages or chains, or a chain lacks a segment.
    """
    if not messages:
        return None
    segments = [message for message in messages if message.msg_flags & MsgFlag.SEGMENT]
    groups = {message.group_id for message in segments}
    if len(messages) - len(segments) + len(groups) > 1:
        raise ChainBroken(f"{len(messages)} messages that are not of one chain", "one record", several=True)
    if not segments:
        return Kept(messages[0].msg_id), [0]
    order = sorted(range(len(messages)), key=lambda number: messages[number].offset)
    length = 0
    for number in order:
        if messages[number].offset != length:
            raise ChainBroken(f"a segment at offset {messages[number].offset}", f"one at offset {length}")
        length += messages[number].length
    last = messages[order[-1]]
    ended = bool(last.msg_flags & MsgFlag.LAST_SEGMENT)
    return Kept(last.msg_id, last.group_id, len(segments), length, ended), order


def next_record_put(now: Kept | None, *, segmented: bool) -> RecordPut:
    """Say how to put the next record; ``segmented`` is whether this owner puts records as segments."""
    if now is not None and now.is_open:
        ends = not segmented or now.segments + 1 >= MOST_SEGMENTS or now.length >= MOST_BYTES
        flags = MsgFlag.SEGMENT | MsgFlag.LAST_SEGMENT if ends else MsgFlag.SEGMENT
        return RecordPut(False, now.group_id, now.length, flags)
    return RecordPut(now is not None, msg_flags=MsgFlag.SEGMENT if segmented else MsgFlag.NONE)


def after_record_put(now: Kept | None, put: RecordPut, msg_id: bytes, group_id: bytes, length: int) -> Kept:
    """Return what is on the queue after a put by plan, whose MQMD came back with ``msg_id`` and ``group_id``."""
    if not put.msg_flags & MsgFlag.SEGMENT:
        return Kept(msg_id)
    before = now if now is not None and now.is_open else None
    segments, bytes_before = (before.segments, before.length) if before else (0, 0)
    ended = bool(put.msg_flags & MsgFlag.LAST_SEGMENT)
    return Kept(msg_id, group_id, segments + 1, bytes_before + length, ended)

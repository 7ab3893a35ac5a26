"""Stores status records on their queue: as messages or as segments, each with an anchor.

There are two layouts: each record is a message of its own, or the records are segments of one logical message (a chain).
Replacing a message takes MQGET and MQPUT. Adding a segment takes only MQPUT, because the last segment is the current record (IBM
MQ, "Putting and getting a group that spans units of work", the note). A chain can be removed only after its last segment is put
with MQMF_LAST_SEGMENT and committed, because a unit of work cannot get its own uncommitted puts. So one unit of work ends the
chain. The next one gets the whole chain and puts the first segment of a new chain:

    on the queue            to put the next record                              then on the queue
    nothing                 put a message; or a first segment                   a message; or an open chain
    a message               get it; then as above                               as above
    an open chain           put the next segment                                an open chain
    an open chain, long     put the last segment                                an ended chain
    an ended chain          get it whole; then as for nothing                   a message; or an open chain

A starting owner finds the layout that its predecessor used. If its own records are messages, it ends a chain that it finds.

**Anchors.** A unit of work that replaces a record hides it. An empty queue would therefore prove nothing, because a dead owner's
unit of work may not be backed out yet. The queue's depth does not show a hidden record (messages got in a unit of work do not
count in IBM MQ, "CurrentQDepth"). Open handles prove nothing either (IBM does not document whether a lost connection loses its
handles before or after its unit of work is backed out). So each record has an anchor: a second message, put together with the
first record, and got only in the unit of work that removes the record for good. A record's CorrelId is its anchor's MsgId. An
anchor without a visible record means that a unit of work hides the record, so the reader waits.

The unit of work that removes the record for good hides record and anchor. If this unit of work is backed out late, a starting
owner meanwhile sees an empty queue and puts a new record. Then the old record and anchor reappear beside the new ones, perhaps
during a browse. Only a record that is no longer needed (``StatusRecord.is_needed`` is false) is removed for good. So such a
record beside another one is a leftover, and the next claim removes it. A browse that sees a record without its anchor, or a chain
without its beginning, is repeated. The result counts only if both browses see the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mqgroups.core.model import GROUP_ID_NONE, MsgFlag
from mqgroups.core.status import Mark, RecordState, StatusRecord

# A chain ends when it has this many segments or bytes, because MQGMO_COMPLETE_MSG gets all of them in one unit of work and one
# buffer, and a starting owner reads all of them.
MOST_SEGMENTS = 32
MOST_BYTES = 262_144
# Looked up once, because looking up a member of an enum takes long.
_NO_FLAGS = MsgFlag.NONE


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message on a status queue: its identifiers, its place in a chain, its length in bytes, and the record in it.

    ``expires``: whether the message expires, because the queue limited its expiry. ``user``: the message's UserIdentifier.
    ``is_own``: whether the reader itself has put records under this user.
    """

    msg_id: bytes
    correl_id: bytes
    group_id: bytes
    offset: int
    length: int
    msg_flags: MsgFlag
    record: StatusRecord
    expires: bool = False
    user: str = ""
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record on a status queue: a message, or a chain of segments.

    Attributes:
        msg_id: the MsgId of the message, or of the chain's last segment.
        group_id: the GroupId of the chain; ``GROUP_ID_NONE`` for a message that is not a segment.
        segments, length: the number of segments in the chain, and its length in bytes.
        ended: whether the chain's last segment has MQMF_LAST_SEGMENT.
    """

    msg_id: bytes
    group_id: bytes = GROUP_ID_NONE
    segments: int = 0
    length: int = 0
    ended: bool = False

    @property
    def is_open(self) -> bool:
        """Whether this is a chain that has not ended."""
        return self.segments > 0 and not self.ended


@dataclass(frozen=True, slots=True)
class RecordPut:
    """How to put the next record. If ``takes`` is true, the old record is got first."""

    takes: bool
    group_id: bytes = GROUP_ID_NONE
    offset: int = 0
    msg_flags: MsgFlag = MsgFlag.NONE

    @property
    def is_segment(self) -> bool:
        """Whether the record is put as a segment."""
        return self.msg_flags != _NO_FLAGS


class Pair(NamedTuple):
    """A record, and the MsgId of its anchor (``None`` if it has no anchor)."""

    stored: StoredRecord
    anchor: bytes | None


@dataclass(frozen=True, slots=True)
class QueueContents:
    """All records on a status queue.

    Attributes:
        stored: the current record; ``None`` if there is none.
        anchor: the MsgId of the current record's anchor; ``None`` if there is none.
        leftovers: other records, which are no longer needed.
    """

    stored: StoredRecord | None = None
    anchor: bytes | None = None
    leftovers: tuple[Pair, ...] = ()


class ChainBroken(ValueError):
    """The messages on a status queue are neither one record nor one chain of segments."""

    def __init__(self, found: str, expected: str, *, several: bool = False) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.found = found
        self.expected = expected
        self.several = several


class RecordHidden(Exception):
    """An anchor has no visible record, because a unit of work hides the record."""


class LookAgain(Exception):
    """A record has no visible anchor. The anchor may have reappeared at a place that the browse had passed, so browse again."""


def users_of_records(messages: Sequence[FoundMessage]) -> list[str]:
    """Return the users who have put the records, each user once, in the records' physical order.

    Anchors do not count. An anchor only says that there is a record, so a forged anchor can only make a start wait.
    """
    return list(dict.fromkeys(each.user for each in messages if each.record.state is not RecordState.ANCHOR))


def strangers(messages: Sequence[FoundMessage], user: str) -> list[FoundMessage]:
    """Return the records that users other than ``user`` have put, and the anchors that belong only to these records."""
    records = [each for each in messages if each.record.state is not RecordState.ANCHOR]
    own = {each.correl_id for each in records if each.user == user}
    strange = [each for each in records if each.user != user]
    theirs = {each.correl_id for each in strange} - own
    return strange + [each for each in messages if each.record.state is RecordState.ANCHOR and each.msg_id in theirs]


def contents_of(
    messages: Sequence[FoundMessage], marks: Sequence[Mark] = (), *, seen_twice: bool = False
) -> tuple[QueueContents, StatusRecord | None]:
    """Return how the records are stored on a status queue, and the content of the current record.

    The current record is the one that is still needed (``is_needed``). If no record is needed, these criteria decide, in this
    order: the earliest mark in ``marks``, the highest epoch, the highest unit of work, the presence of a checkpoint.

    Args:
        marks: the marks of the caller's own records.
        seen_twice: whether the previous browse saw the same messages.

    Raises:
        RecordHidden: there is an anchor without its record.
        LookAgain: there is a record without its anchor, and ``seen_twice`` is false.
        ChainBroken: more than one record is still needed, or a chain lacks a segment.
    """
    anchors = {message.msg_id for message in messages if message.record.state is RecordState.ANCHOR}
    chains: dict[bytes, list[FoundMessage]] = {}
    for message in messages:
        if message.record.state is not RecordState.ANCHOR:
            # A message that is not a segment is treated as a chain of its own.
            key = message.group_id if message.msg_flags & MsgFlag.SEGMENT else message.msg_id
            chains.setdefault(key, []).append(message)
    anchored = {chain[-1].correl_id for chain in chains.values()}
    if not anchors <= anchored:
        raise RecordHidden
    if not anchored <= anchors and not seen_twice:
        raise LookAgain
    found = [
        (Pair(stored, chain[-1].correl_id if chain[-1].correl_id in anchors else None), record)
        for chain in chains.values()
        for stored, record in [_stored(chain)]
    ]
    if sum(record.is_needed for _, record in found) > 1:
        raise ChainBroken(f"{len(found)} records, more than one of them still needed", "one", several=True)
    if not found:
        return QueueContents(), None

    def counts(each: tuple[Pair, StatusRecord]) -> tuple[bool, int, int, int, bool]:
        record = each[1]
        mine = len(marks) - marks.index(record.mark) if record.mark in marks else 0
        return record.is_needed, mine, record.epoch, record.unit_of_work, record.checkpoint is not None

    *others, (pair, record) = sorted(found, key=counts)
    return QueueContents(pair.stored, pair.anchor, tuple(other for other, _ in others)), record


def _stored(chain: Sequence[FoundMessage]) -> tuple[StoredRecord, StatusRecord]:
    """Return a message or chain as a ``StoredRecord``, and the record in it. A chain's current record is in its last segment."""
    if not chain[0].msg_flags & MsgFlag.SEGMENT:
        if len(chain) > 1 and chain[0].record.is_needed:
            # A program that restores messages keeps their MsgIds. The copy would be believed when its original is gone.
            raise ChainBroken(f"{len(chain)} copies of a record", "one", several=True)
        return StoredRecord(chain[0].msg_id), chain[0].record
    segments = sorted(chain, key=lambda segment: segment.offset)
    length = 0
    for segment in segments:
        if segment.offset != length:
            raise ChainBroken(f"a segment at offset {segment.offset}", f"one at offset {length}")
        length += segment.length
    last = segments[-1]
    ended = bool(last.msg_flags & MsgFlag.LAST_SEGMENT)
    return StoredRecord(last.msg_id, last.group_id, len(segments), length, ended), last.record


def next_record_put(now: StoredRecord | None, *, segmented: bool) -> RecordPut:
    """Return how to put the next record. ``segmented``: whether this owner puts records as segments."""
    if now is not None and now.is_open:
        ends = not segmented or now.segments + 1 >= MOST_SEGMENTS or now.length >= MOST_BYTES
        flags = MsgFlag.SEGMENT | MsgFlag.LAST_SEGMENT if ends else MsgFlag.SEGMENT
        return RecordPut(False, now.group_id, now.length, flags)
    return RecordPut(now is not None, msg_flags=MsgFlag.SEGMENT if segmented else _NO_FLAGS)


def after_record_put(
    now: StoredRecord | None, put: RecordPut, msg_id: bytes, group_id: bytes, length: int
) -> StoredRecord:
    """Return the record on the queue after ``put``. ``msg_id`` and ``group_id`` are from the MQMD that MQPUT returned."""
    if not put.is_segment:
        return StoredRecord(msg_id)
    before = now if now is not None and now.is_open else None
    segments, bytes_before = (before.segments, before.length) if before else (0, 0)
    ended = bool(put.msg_flags & MsgFlag.LAST_SEGMENT)
    return StoredRecord(msg_id, group_id, segments + 1, bytes_before + length, ended)

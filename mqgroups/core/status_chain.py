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

**Anchors.** A unit of work that replaces a record hides it. So an empty queue would prove nothing: whose unit of work it is may
be dying, and nobody can tell from the queue's depth (what a unit of work has got does not count in CurrentQDepth; IBM MQ, topic
q103130) nor from its open handles (whether a lost connection loses its handles before or after its unit of work is backed out
is not written anywhere). Beside each record lies an anchor: put with the first record, got by the unit of work that takes the
record away for good, and by none in between. A record's CorrelId is its anchor's MsgId. An anchor whose record cannot be seen
says that somebody's unit of work hides it: wait.

That last unit of work hides both. Who comes while it is dying sees an empty queue and begins anew; then record and anchor come
back beside the new ones, maybe in the middle of a browse. It is made for a record only that nobody would miss
(``StatusRecord.speaks``); so a record that says nothing, beside another one, is a leftover, and the next claim takes it away.
And a browse that has seen a record without its anchor, or a chain without its beginning, is made once more: only what is the
same twice is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mqgroups.core.model import GROUP_ID_NONE, MsgFlag
from mqgroups.core.status import Mark, RecordState, StatusRecord

# A chain ends when it has this many segments or bytes: MQGMO_COMPLETE_MSG gets them in one unit of work and one buffer, and
# who starts reads them all.
MOST_SEGMENTS = 32
MOST_BYTES = 262_144


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message on a status queue: its identity and place, how many bytes of data it has, and what they say."""

    msg_id: bytes
    correl_id: bytes
    group_id: bytes
    offset: int
    length: int
    msg_flags: MsgFlag
    record: StatusRecord


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


class Pair(NamedTuple):
    """A record and the MsgId of its anchor; ``None`` if it has none."""

    kept: Kept
    anchor: bytes | None


@dataclass(frozen=True, slots=True)
class OnQueue:
    """All that lies on a status queue.

    Attributes:
        kept: the record that counts; ``None`` without one.
        anchor: the MsgId of its anchor; ``None`` if it has none.
        leftovers: records that say nothing beside it.
    """

    kept: Kept | None = None
    anchor: bytes | None = None
    leftovers: tuple[Pair, ...] = ()


class ChainBroken(ValueError):
    """Messages on a status queue that are neither one record nor one chain of segments."""

    def __init__(self, found: str, expected: str, *, several: bool = False) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.found = found
        self.expected = expected
        self.several = several


class RecordHidden(Exception):
    """There is a record that cannot be seen: it is in somebody's unit of work."""


class LookAgain(Exception):
    """A record without its anchor: maybe it came back behind the eye of who browses."""


def on_queue(
    messages: Sequence[FoundMessage], marks: Sequence[Mark] = (), *, seen_twice: bool = False
) -> tuple[OnQueue, StatusRecord | None]:
    """Say what the messages on a status queue are, and what the record says that counts.

    It is the one that speaks; else the one with the first of ``marks`` that there is; else that of the highest epoch.

    Args:
        messages: in any order.
        marks: of records that are the caller's own.
        seen_twice: whether the browse before saw the same.

    Raises:
        RecordHidden: there is an anchor without its record.
        LookAgain: there is a record without its anchor, and it was not seen twice.
        ChainBroken: more than one record speaks, or a chain lacks a segment.
    """
    anchors = {message.msg_id for message in messages if message.record.state is RecordState.ANCHOR}
    chains: dict[bytes, list[FoundMessage]] = {}
    for message in messages:
        if message.record.state is not RecordState.ANCHOR:
            # A message that is no segment is a chain of its own.
            key = message.group_id if message.msg_flags & MsgFlag.SEGMENT else message.msg_id
            chains.setdefault(key, []).append(message)
    anchored = {chain[-1].correl_id for chain in chains.values()}
    if not anchors <= anchored:
        raise RecordHidden
    if not anchored <= anchors and not seen_twice:
        raise LookAgain
    found = [
        (Pair(kept, chain[-1].correl_id if chain[-1].correl_id in anchors else None), record)
        for chain in chains.values()
        for kept, record in [_kept(chain)]
    ]
    if sum(record.speaks for _, record in found) > 1:
        raise ChainBroken(f"{len(found)} records, each of something that is still needed", "one", several=True)
    if not found:
        return OnQueue(), None

    def counts(each: tuple[Pair, StatusRecord]) -> tuple[bool, int, int]:
        record = each[1]
        mine = len(marks) - marks.index(record.mark) if record.mark in marks else 0
        return record.speaks, mine, record.epoch

    *others, (pair, record) = sorted(found, key=counts)
    return OnQueue(pair.kept, pair.anchor, tuple(other for other, _ in others)), record


def _kept(chain: Sequence[FoundMessage]) -> tuple[Kept, StatusRecord]:
    """Return what a message is, or the segments of a chain, and the record that counts of it: the last."""
    if not chain[0].msg_flags & MsgFlag.SEGMENT:
        return Kept(chain[0].msg_id), chain[0].record
    segments = sorted(chain, key=lambda segment: segment.offset)
    length = 0
    for segment in segments:
        if segment.offset != length:
            raise ChainBroken(f"a segment at offset {segment.offset}", f"one at offset {length}")
        length += segment.length
    last = segments[-1]
    ended = bool(last.msg_flags & MsgFlag.LAST_SEGMENT)
    return Kept(last.msg_id, last.group_id, len(segments), length, ended), last.record


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

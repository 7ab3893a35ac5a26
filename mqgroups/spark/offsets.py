"""The offsets of the stream source: which groups a micro-batch has, and which groups can be removed.

An offset lists the groups of the micro-batch that ends there. Spark stores it in its write-ahead log before it reads the groups,
so no other record of them is needed. As JSON, with ``[key, messages]`` for each group::

    {"v": 1, "seq": 7, "groups": [["G<base64>", 1000], ...], "pending": ["G<base64>", ...], "missed": [["G<base64>", 1797], ...]}

Spark asks the source to remove a micro-batch (``commit(end)``) when the next one is in the log. That is late. For the last
micro-batch of a run it does not happen at all, nor if the driver dies between the log entry and the call. Therefore each offset
also has the keys of earlier micro-batches that may still be on the queue (*pending*). These are not planned again, even if
their removal stopped in the middle of a group, and they are removed together with the offset's own groups. The number
``removed_to`` says what this process has removed: everything up to the offset with that ``seq``. It is -1 after every start.

    planning after start    pending of the next = start's groups, and start's pending unless removed_to says they are gone
    removing up to end      end's groups, and end's pending unless removed_to says they are gone

A group that was to be removed, but was not found completely, may be gone. Or the unit of work of a process that died while
removing it may hide it; the queue manager will back that out, and the group reappears as a whole. Its key is *missed* from that
time on (seconds since 1970). Each offset carries the missed keys, and they are not planned again. They are searched for once more
when they have been missed for so long that they cannot reappear later.

Pure: no MQI, no clock, no pyspark.
"""

from __future__ import annotations

import base64
import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mqgroups.spark.errors import OffsetUnreadable

_VERSION = 1
_ID_LENGTH = 24
_STAMP_LENGTH = 16
NOTHING_REMOVED = -1


@dataclass(frozen=True, slots=True)
class Key:
    """The identifier of a group, or of a message outside groups.

    Attributes:
        identifier: 24 bytes: the GroupId, or the MsgId of a message outside groups.
        stamp: with a MsgId, PutDate and PutTime of the message, 16 digits, because applications may use a MsgId more than
            once; empty with a GroupId.
    """

    identifier: bytes
    stamp: str = ""

    def __str__(self) -> str:
        return ("M" if self.stamp else "G") + base64.b64encode(self.identifier).decode() + self.stamp

    @classmethod
    def from_text(cls, text: str) -> Key:
        """Return the key from its text, as ``str`` makes it; raises ValueError."""
        kind, coded, stamp = text[:1], text[1:33], text[33:]
        identifier = base64.b64decode(coded, validate=True)
        if len(identifier) != _ID_LENGTH or (kind, len(stamp)) not in (("G", 0), ("M", _STAMP_LENGTH)):
            raise ValueError(f"{text!r} is not a key")
        return cls(identifier, stamp)


@dataclass(frozen=True, slots=True)
class Planned:
    """A group to be read, with its number of logical messages; and their bytes, or 0 if these were not measured."""

    key: Key
    messages: int
    data_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a micro-batch in groups, messages and bytes. At least one group is always taken."""

    groups: int | None = None
    messages: int | None = None
    data_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Offset:
    """The end of a micro-batch; see the module's docstring."""

    seq: int = 0
    groups: tuple[Planned, ...] = ()
    pending: tuple[Key, ...] = ()
    missed: tuple[tuple[Key, int], ...] = ()

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys of the offset's groups."""
        return tuple(planned.key for planned in self.groups)

    def known(self) -> frozenset[Key]:
        """Return the keys that must not be planned after this offset, without the missed ones."""
        return frozenset(self.keys) | frozenset(self.pending)

    def followed_by(self, groups: Sequence[Planned], removed_to: int, missed: Mapping[Key, int]) -> Offset:
        """Return the offset of the next micro-batch with these groups; ``missed`` are the missed keys and their times."""
        if removed_to >= self.seq:
            pending: tuple[Key, ...] = ()
        elif removed_to == self.seq - 1:
            pending = self.keys
        else:
            pending = self.pending + self.keys
        return Offset(self.seq + 1, tuple(groups), pending, tuple(missed.items()))

    def to_remove(self, removed_to: int) -> tuple[Key, ...]:
        """Return the keys to remove so that everything up to this offset is gone."""
        if removed_to >= self.seq:
            return ()
        return self.keys if removed_to == self.seq - 1 else self.pending + self.keys

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that Spark stores."""
        return {
            "v": _VERSION,
            "seq": self.seq,
            "groups": [[str(planned.key), planned.messages] for planned in self.groups],
            "pending": [str(key) for key in self.pending],
            "missed": [[str(key), since] for key, since in self.missed],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Offset:
        """Return the offset from the JSON that Spark stored.

        Raises:
            OffsetUnreadable: it is of another version, or not an offset.
        """
        try:
            if value["v"] != _VERSION:
                raise ValueError(f"version {value['v']!r}")
            groups = tuple(Planned(Key.from_text(key), int(messages)) for key, messages in value["groups"])
            missed = tuple((Key.from_text(key), int(since)) for key, since in value["missed"])
            return cls(int(value["seq"]), groups, tuple(map(Key.from_text, value["pending"])), missed)
        except (KeyError, TypeError, ValueError) as error:
            raise OffsetUnreadable(
                f"the query's checkpoint has an offset that this version of format 'ibmmq' did not write ({error!r}), expected "
                f"version {_VERSION}. Run the query with the version that wrote it, until its last micro-batch is done",
                status_queue="",
                found=value,
                expected=_VERSION,
            ) from error


def admitted(candidates: Iterable[Planned], limits: Limits) -> list[Planned]:
    """Return the first candidates that are within the limits. No more candidates are consumed than necessary."""
    taken: list[Planned] = []
    messages = data_bytes = 0
    for candidate in candidates:
        messages += candidate.messages
        data_bytes += candidate.data_bytes
        if taken and (
            (limits.messages is not None and messages > limits.messages)
            or (limits.data_bytes is not None and data_bytes > limits.data_bytes)
        ):
            break
        taken.append(candidate)
        if limits.groups is not None and len(taken) >= limits.groups:
            break
    return taken


def bundled(groups: Sequence[Planned], bundles: int) -> list[list[Planned]]:
    """Return the groups in at most ``bundles`` bundles with similar numbers of messages; each bundle keeps the given order."""
    heap = [(0, number) for number in range(min(bundles, len(groups)))]
    shares: list[list[int]] = [[] for _ in heap]
    # The largest first, each to the smallest bundle so far. Sorting is stable, so the result depends on the arguments only.
    for index in sorted(range(len(groups)), key=lambda index: -groups[index].messages):
        messages, number = heapq.heappop(heap)
        shares[number].append(index)
        heapq.heappush(heap, (messages + groups[index].messages, number))
    return [[groups[index] for index in sorted(share)] for share in shares]

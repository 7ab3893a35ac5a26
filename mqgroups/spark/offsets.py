"""Which groups a micro-batch has, and which can be removed: the offsets of the stream source, and their algebra.

An offset is the answer to "what is in the micro-batch that ends here": Spark keeps it in its write-ahead log before it
reads the groups, so no other ledger is needed. As JSON, ``[key, messages]`` for each group::

    {"v": 1, "seq": 7, "groups": [["G<base64>", 1000], ...], "pending": ["G<base64>", ...], "missed": [["G<base64>", 1797], ...]}

Spark tells the source to remove a micro-batch (``commit(end)``) when the one after it is in the log: late, for the last one
of a run not at all, and never if the driver dies between the log's entry and the call. Therefore each offset also says
which keys of micro-batches before it may still be on the queue (*pending*): they are not planned again, even when removal
stopped in the middle of a group, and whoever removes an offset removes them too. What this process has removed itself it
remembers as one number, ``removed_to``: everything up to the offset with that ``seq`` is gone; -1 after every start.

    planning after start    pending of the next = start's groups, and start's pending unless removed_to says they are gone
    removing up to end      end's groups, and end's pending unless removed_to says they are gone

What was to be removed and was not found, or not all of it, may be gone, or may be hidden: by the unit of work of a process that
died while it was removing, and that the queue manager has not backed out yet. Then it comes back, whole. So it is *missed*, from
a time on (seconds since 1970): each offset carries it, it is not planned again, and is looked for once more when it has been
missed for so long that it will not come back.

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
    """What a group, or a message in no group, is known by.

    Attributes:
        identifier: 24 bytes: the GroupId; or the MsgId of a message that has no GroupId.
        stamp: PutDate and PutTime of a message that is known by its MsgId, 16 digits, because applications choose MsgIds and
            may choose one again; empty for a GroupId.
    """

    identifier: bytes
    stamp: str = ""

    def __str__(self) -> str:
        return ("M" if self.stamp else "G") + base64.b64encode(self.identifier).decode() + self.stamp

    @classmethod
    def from_text(cls, text: str) -> Key:
        """Return the key that ``str`` made the text of; raises ValueError."""
        kind, coded, stamp = text[:1], text[1:33], text[33:]
        identifier = base64.b64decode(coded, validate=True)
        if len(identifier) != _ID_LENGTH or (kind, len(stamp)) not in (("G", 0), ("M", _STAMP_LENGTH)):
            raise ValueError(f"{text!r} is no key")
        return cls(identifier, stamp)


@dataclass(frozen=True, slots=True)
class Planned:
    """A group that is to be read: so many logical messages, of so many bytes as far as that was asked for."""

    key: Key
    messages: int
    data_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a micro-batch has: groups, messages, bytes. At least one group is always taken."""

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
        """The keys of its groups."""
        return tuple(planned.key for planned in self.groups)

    def known(self) -> frozenset[Key]:
        """Return what must not be planned after this offset, besides what is missed."""
        return frozenset(self.keys) | frozenset(self.pending)

    def followed_by(self, groups: Sequence[Planned], removed_to: int, missed: Mapping[Key, int]) -> Offset:
        """Return the offset of the next micro-batch, which has these groups; ``missed`` by now, and since when."""
        if removed_to >= self.seq:
            pending: tuple[Key, ...] = ()
        elif removed_to == self.seq - 1:
            pending = self.keys
        else:
            pending = self.pending + self.keys
        return Offset(self.seq + 1, tuple(groups), pending, tuple(missed.items()))

    def to_remove(self, removed_to: int) -> tuple[Key, ...]:
        """Return what is to be removed so that everything up to this offset is gone."""
        if removed_to >= self.seq:
            return ()
        return self.keys if removed_to == self.seq - 1 else self.pending + self.keys

    def to_json(self) -> dict[str, Any]:
        """Return what Spark keeps."""
        return {
            "v": _VERSION,
            "seq": self.seq,
            "groups": [[str(planned.key), planned.messages] for planned in self.groups],
            "pending": [str(key) for key in self.pending],
            "missed": [[str(key), since] for key, since in self.missed],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Offset:
        """Return the offset that Spark has kept.

        Raises:
            OffsetUnreadable: it is another version's, or none.
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
                f"version {_VERSION}. Read this checkpoint with the version that wrote it, until its last micro-batch is done",
                status_queue="",
                found=value,
                expected=_VERSION,
            ) from error


def admitted(candidates: Iterable[Planned], limits: Limits) -> list[Planned]:
    """Return the first candidates that keep within the limits; no more of them are asked for than are needed to know."""
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
    """Return the groups in at most so many bundles with about as many messages each; each bundle in the order given."""
    heap = [(0, number) for number in range(min(bundles, len(groups)))]
    shares: list[list[int]] = [[] for _ in heap]
    # The largest first, each to the bundle that has least. Sorting is stable, so the result follows from the arguments.
    for index in sorted(range(len(groups)), key=lambda index: -groups[index].messages):
        messages, number = heapq.heappop(heap)
        shares[number].append(index)
        heapq.heappush(heap, (messages + groups[index].messages, number))
    return [[groups[index] for index in sorted(share)] for share in shares]

"""The offsets of the stream source, and the keys, limits and bundles of its micro-batches.

An offset is the end of a micro-batch. It names the *manifest* of this micro-batch, which lists the groups (``manifests.py``). So
an offset is small, however many groups there are. Spark stores offsets in its write-ahead log, and shows them in progress
reports. An offset as JSON::

    {"v": 3, "source": "<48 hex digits>", "seq": 7, "manifest": "<32 hex digits>", "groups": 1000, "messages": 25000,
     "pending": ["<32 hex digits>", "<32 hex digits>"], "queue": "ORDERS"}

``source`` is made with the first manifest of a checkpoint, and is the CorrelId of all manifests of the checkpoint. ``messages``
is 0 if the messages were not counted.

Spark calls ``commit(end)`` to remove a micro-batch when the next micro-batch is in the log. Spark does not call it for the last
micro-batch of a run, or if the driver dies between the log entry and the call. So each offset also names the *pending*
manifests, which are those of earlier micro-batches whose groups may still be on the queue. These groups are not planned again,
even if their removal stopped in the middle of a group. They are removed together with the offset's own groups.

Sometimes a removal does not find a group completely. The group may be gone, or the unit of work of a dead process may hide it. In
the second case the whole group reappears when the queue manager backs out the unit of work. So such a group is *missed* from then
on, and its micro-batch stays pending. After the longest time that a backout can take, the source searches for the group again.

This module uses no MQI, no clock and no pyspark.
"""

from __future__ import annotations

import base64
import heapq
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mqgroups.printable import brief
from mqgroups.spark.errors import CheckpointUnusable

_VERSION = 3
_ID_LENGTH = 24
_CODED_LENGTH = 32
_STAMP_LENGTH = 16
# The maximum number of digits of ``copies``. No queue has more than 999,999,999 messages.
_MOST_DIGITS = 9
_SOURCE_DIGITS = 48
MANIFEST_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a group, or of messages outside groups that have the same MsgId and put time.

    Attributes:
        identifier: the GroupId, or the MsgId of a message outside groups (24 bytes). Applications can use it more than once.
        stamp: PutDate and PutTime of the group's first message or of the message outside groups (16 digits).
        msg_id: the MsgId of the group's first message (24 bytes); empty for a message outside groups.
        copies: how many messages outside groups the key includes, counted from the first on the queue.
    """

    identifier: bytes
    stamp: str = ""
    msg_id: bytes = b""
    copies: int = field(default=1, compare=False)

    def __str__(self) -> str:
        kind, more = ("G", _coded(self.msg_id)) if self.is_group else ("M", "")
        copies = str(self.copies) if self.copies > 1 else ""
        return kind + _coded(self.identifier) + more + self.stamp + copies

    @property
    def is_group(self) -> bool:
        """Whether the key identifies a group."""
        return bool(self.msg_id) or not self.stamp

    @property
    def name(self) -> tuple[bytes, str]:
        """The GroupId, or MsgId and put time. Groups with the same name could be confused, so only one of them is planned."""
        return self.identifier, "" if self.is_group else self.stamp

    @property
    def shown(self) -> str:
        """The key in words for people, with the identifier in hexadecimal digits."""
        return f"group {self.identifier.hex()}" if self.is_group else f"message {self.identifier.hex()} of {self.stamp}"

    @classmethod
    def from_text(cls, text: str) -> Key:
        """Return the key whose ``str()`` is this text. Raises ValueError."""
        kind, ids, rest = text[:1], 2 if text[:1] == "G" else 1, text[1:]
        identifier, *more = (_decoded(rest[_CODED_LENGTH * each :][:_CODED_LENGTH]) for each in range(ids))
        stamp, copies = rest[_CODED_LENGTH * ids :][:_STAMP_LENGTH], rest[_CODED_LENGTH * ids + _STAMP_LENGTH :]
        if (
            kind not in ("G", "M")
            or len(stamp) != _STAMP_LENGTH
            or (copies and (kind == "G" or not copies.isdecimal() or len(copies) > _MOST_DIGITS))
        ):
            raise ValueError(f"{text!r:.100} is not a key")
        return cls(identifier, stamp, b"".join(more), int(copies or 1))


def _coded(identifier: bytes) -> str:
    return base64.b64encode(identifier).decode()


def _decoded(text: str) -> bytes:
    identifier = base64.b64decode(text, validate=True)
    if len(identifier) != _ID_LENGTH:
        raise ValueError(f"{text!r:.100} is not an identifier")
    return identifier


@dataclass(frozen=True, slots=True)
class Planned:
    """A group to be read. ``messages`` is the number of its logical messages; 0 if they were not counted."""

    key: Key
    messages: int


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a micro-batch in groups and messages. The first group is always taken, even if it exceeds a limit."""

    groups: int | None = None
    messages: int | None = None


@dataclass(frozen=True, slots=True)
class Offset:
    """The end of a micro-batch; see the module's docstring.

    Attributes:
        source: the identifier of the source, in hexadecimal digits; empty before the first micro-batch.
        seq: the number of the micro-batch. The first one has the number 1. Before it, ``seq`` is 0.
        manifest: the identifier of the manifest, in hexadecimal digits; empty before the first micro-batch.
        groups, messages: the numbers of groups and messages in the micro-batch.
        pending: the manifests of earlier micro-batches whose groups may still be on the queue.
        queue: the queue that the query read when it began, for error texts.
    """

    source: str = ""
    seq: int = 0
    manifest: str = ""
    groups: int = 0
    messages: int = 0
    pending: tuple[str, ...] = ()
    queue: str = ""

    @property
    def manifests(self) -> tuple[str, ...]:
        """The manifests that are needed as long as Spark can still begin with this offset."""
        return (*self.pending, self.manifest) if self.manifest else self.pending

    def followed_by(self, source: str, manifest: str, groups: Sequence[Planned], gone: Container[str]) -> Offset:
        """Return the offset of the next micro-batch.

        Args:
            source: the identifier of the source, which is used if this offset has none.
            manifest: the manifest of the next micro-batch.
            groups: the groups of the next micro-batch.
            gone: the manifests whose groups are certainly removed.
        """
        counts = [planned.messages for planned in groups]
        pending = tuple(each for each in self.manifests if each not in gone)
        messages = sum(counts) if all(counts) else 0
        return Offset(self.source or source, self.seq + 1, manifest, len(groups), messages, pending, self.queue)

    def to_json(self) -> dict[str, Any]:
        """Return the offset as the JSON object that Spark stores."""
        return {
            "v": _VERSION,
            "source": self.source,
            "seq": self.seq,
            "manifest": self.manifest,
            "groups": self.groups,
            "messages": self.messages,
            "pending": list(self.pending),
            "queue": self.queue,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Offset:
        """Return the offset from the JSON that Spark has stored. Raises CheckpointUnusable if another version wrote the JSON."""
        try:
            if value["v"] != _VERSION:
                raise ValueError(f"version {value['v']!r}")
            seq, groups, messages = (whole_number(value[name]) for name in ("seq", "groups", "messages"))
            source, manifest = (
                hexadecimal(value[name], digits if seq else 0)
                for name, digits in (("source", _SOURCE_DIGITS), ("manifest", MANIFEST_DIGITS))
            )
            pending = tuple(hexadecimal(each, MANIFEST_DIGITS) for each in value["pending"])
            return cls(source, seq, manifest, groups, messages, pending, brief(value.get("queue", "")))
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointUnusable(
                f"the query's checkpoint has an offset that this version of format 'ibmmq' did not write ({error!r}), expected "
                f"version {_VERSION}. Run the query with the version that wrote it, until its last micro-batch is done",
                "version",
                found=value,
                expected=_VERSION,
            ) from None


def hexadecimal(text: str, digits: int) -> str:
    """Return ``text`` if it has exactly this number of hexadecimal digits. Raises ValueError or TypeError otherwise."""
    if len(text) != digits or bytes.fromhex(text).hex() != text:
        raise ValueError(f"{text!r:.100} does not have {digits} hexadecimal digits")
    return text


def whole_number(value: Any) -> int:
    """Return ``value`` if it is a whole number that is not negative. Raises ValueError otherwise."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r:.100} is not a whole number")
    return value


def admitted(candidates: Iterable[Planned], limits: Limits) -> Iterator[Planned]:
    """Yield the first candidates that fit within the limits. Take no more candidates from the iterator than necessary."""
    messages = 0
    for number, candidate in enumerate(candidates, 1):
        messages += candidate.messages
        if number > 1 and limits.messages is not None and messages > limits.messages:
            return
        yield candidate
        if number == limits.groups:
            return


def bundled(groups: Sequence[Planned], bundles: int) -> list[list[Planned]]:
    """Return the groups in at most ``bundles`` bundles that have similar numbers of messages. Each bundle keeps the given order.

    A group whose messages were not counted is treated as a group of one message.
    """
    heap = [(0, number) for number in range(min(bundles, len(groups)))]
    shares: list[list[int]] = [[] for _ in heap]
    # Each group, the largest first, goes to the bundle that is the smallest so far. Equal arguments give equal results.
    for index in sorted(range(len(groups)), key=lambda index: -groups[index].messages):
        messages, number = heapq.heappop(heap)
        shares[number].append(index)
        heapq.heappush(heap, (messages + max(groups[index].messages, 1), number))
    return [[groups[index] for index in sorted(share)] for share in shares]

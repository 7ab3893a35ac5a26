"""The manifests of the stream source: which groups each micro-batch has, and which of them may still be on the queue.

A manifest is on the source's status queue, as one or more messages of JSON with the source's identifier as CorrelId::

    {"v": 1, "manifest": "<32 hex digits>", "seq": 7, "part": 1, "parts": 2, "groups": [["G<base64>", 1000], ...]}
    {"v": 1, "manifest": "<32 hex digits>", "removed": true}
    {"v": 1, "manifest": "<32 hex digits>", "read": true}

The life of a manifest, with the calls of Spark::

    latestOffset(N - 1)   put and committed; then the offset that names it is returned, and Spark writes it to its log
    partitions, commit    read, by this process or after a restart
    read                  a task puts the *sign* that the micro-batch is read, the third form, with the MsgId of ``sign_of``
    commit(N)             groups removed and committed; then its *mark* is put, the second form above, in its own unit of work
    latestOffset(M)       deleted, in the unit of work that puts the next manifest: what offset M does not name, and the parts of
                          manifests that have a mark, with their signs

A sink passes over a micro-batch whose number it has written before. After a crash that is right: a task has read the
micro-batch, and its sign is there. But the micro-batches of a new checkpoint begin at 0 again, and with an old output they would
be passed over although nobody has read them. So the groups of a manifest without a sign are not removed.

A manifest is never changed. A process that dies while it removes groups hides some of these, but neither the manifest nor, once
it is visible, the mark. So for each manifest that Spark's log names, either all parts or the mark are visible at any time. If
neither is, the status queue was emptied or replaced, and the source stops: it would read processed groups again.

If Spark does not write the offset (the driver died), no offset names the manifest; the next process deletes it. A process that
plans from the beginning makes a new identifier, so it never touches the manifests of other checkpoints.

``Manifests`` decides, and asks ``Messages`` for the three things that need the queue. No clock, no pyspark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mqgroups.errors import StatusQueueUnusable
from mqgroups.spark.errors import CheckpointUnusable
from mqgroups.spark.offsets import MANIFEST_DIGITS, Key, Offset, Planned, hexadecimal, whole_number

_VERSION = 1
# A part has at most 1 MB, well below the MAXMSGL of a queue (4 MB by default).
_GROUPS_IN_A_PART = 10_000
# A key that was missed for so many seconds does not reappear later. See ``stream_source.py``.
COMES_BACK_WITHIN_S = 600
# With the 16 bytes of a manifest's identifier, the MsgId of its sign.
_READ = b"was read"


def sign_of(manifest: str) -> tuple[bytes, bytes]:
    """Return MsgId and data of the sign that a task has begun to read the micro-batch of a manifest."""
    return bytes.fromhex(manifest) + _READ, json.dumps({"v": _VERSION, "manifest": manifest, "read": True}).encode()


class Messages(Protocol):
    """The messages on the status queue, for one source: a CorrelId of 24 bytes."""

    @property
    def name(self) -> str:
        """The name of the queue, for error texts."""

    def browse(self, source: bytes) -> list[tuple[bytes, bytes]]:
        """Return MsgId and data of all messages of the source."""

    def change(self, source: bytes, put: Sequence[bytes], delete: Iterable[bytes]) -> list[bytes]:
        """Put messages and delete those of these MsgIds that are there, in one unit of work; returns the MsgIds of those put."""

    def has(self, source: bytes, msg_id: bytes) -> bool:
        """Whether a message of the source has this MsgId."""


@dataclass(slots=True)
class _Manifest:
    """What this process knows of a manifest.

    Attributes:
        groups: of its micro-batch; ``None`` if they are no longer needed.
        keys: those that must not be planned: of all groups, or of the missed ones.
        since: when they were missed, in seconds since 1970; 0 if they are not missed.
        names: of the keys.
    """

    groups: tuple[Planned, ...] | None
    keys: frozenset[Key]
    since: int = 0
    names: frozenset[tuple[bytes, str]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.names = frozenset(key.name for key in self.keys)

    def is_due(self, now_s: int) -> bool:
        """Whether its groups can be removed: they were not missed, or so long ago that they do not reappear."""
        return not self.since or now_s - self.since >= COMES_BACK_WITHIN_S


@dataclass(slots=True)
class _OnQueue:
    """The messages of a manifest: MsgIds of its parts (and sign) and of its mark, and the data of the parts, as far as read."""

    parts: list[bytes] = field(default_factory=list)
    marks: list[bytes] = field(default_factory=list)
    read: dict[int, Sequence[Planned]] = field(default_factory=dict)
    expected: int = 0


class Manifests:
    """The manifests of one query, as its source knows them."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._source = ""
        self._on_queue: dict[str, _OnQueue] = {}
        self._manifests: dict[str, _Manifest] = {}
        # Manifests whose groups are removed for certain.
        self._gone: set[str] = set()
        # The offset that was made last, and the one before it. Until Spark begins with it, only this process knows its manifest.
        self._made: tuple[Offset, Offset] | None = None

    # --- what is known

    def learn(self, offset: Offset) -> None:
        """Read the manifests that an offset names, unless this process knows them.

        Raises:
            CheckpointUnusable: one of them is not on the status queue.
            StatusQueueUnusable: this version did not write one.
            MQIError: a call failed.
        """
        unknown = [each for each in offset.manifests if each not in self._manifests and each not in self._gone]
        if not unknown:
            return
        self._source = offset.source
        self._on_queue = self._browsed(offset.source)
        missed = dict(offset.pending)
        for each in unknown:
            found = self._on_queue.get(each, _OnQueue())
            if found.marks:
                self._gone.add(each)
            elif not found.expected or len(found.read) < found.expected:
                raise self._missing(each, len(found.read), found.expected)
            else:
                groups = tuple(planned for part in sorted(found.read) for planned in found.read[part])
                keys = frozenset(planned.key for planned in groups)
                self._manifests[each] = _Manifest(groups, keys, missed.get(each, 0))
        for found in self._on_queue.values():
            found.read.clear()

    def knows(self, key: Key) -> bool:
        """Whether a group must not be planned, because it belongs to an earlier micro-batch."""
        return any(key in manifest.keys for manifest in self._manifests.values())

    def holds(self, key: Key) -> bool:
        """Whether a group must not be planned yet, because one with its GroupId belongs to an earlier micro-batch."""
        return any(key.name in manifest.names for manifest in self._manifests.values())

    def can_free(self, held: Iterable[Key], offset: Offset, now_s: int) -> bool:
        """Whether a micro-batch after ``offset``, even an empty one, brings nearer that a group does not hold one of these.

        Spark then removes what is due; or its log has since when a group is missed, which the next process would not know.
        """
        names, noted = {key.name for key in held}, dict(offset.pending)
        return any(
            names & manifest.names and (manifest.is_due(now_s) or noted.get(each, 0) != manifest.since)
            for each, manifest in self._manifests.items()
        )

    @property
    def unfinished(self) -> int:
        """How many groups may be on the queue although they are in a micro-batch."""
        return sum(len(manifest.keys) for manifest in self._manifests.values())

    def groups(self, offset: Offset) -> tuple[Planned, ...]:
        """Return the groups of the micro-batch that ends at ``offset``, which must be known.

        Raises:
            CheckpointUnusable: its groups were removed, so it cannot be read again.
        """
        manifest = self._manifests.get(offset.manifest)
        if manifest is None or manifest.groups is None:
            raise self._missing(offset.manifest, 0, 0)
        return manifest.groups

    # --- the next micro-batch

    def offered(self, offset: Offset) -> Offset | None:
        """Return the offset that was made to follow ``offset``, if Spark asks again without having begun with it."""
        return self._made[1] if self._made is not None and self._made[0] == offset else None

    def follow(self, offset: Offset, source: str, manifest: str, groups: Sequence[Planned]) -> Offset:
        """Put the manifest of the next micro-batch, and return the offset that names it.

        Args:
            offset: the end of the micro-batch before, with which Spark has begun.
            source: an identifier for the source, 48 hexadecimal digits, if it has none yet.
            manifest: a new identifier, 32 hexadecimal digits.
            groups: of the micro-batch.

        Raises:
            MQIError: a call failed.
        """
        missed = {name: each.since for name, each in self._manifests.items() if each.since}
        following = offset.followed_by(source, manifest, groups, gone=self._gone, missed=missed)
        self._source = following.source
        parts = list(_parts(following, groups))
        self._on_queue[manifest] = _OnQueue(self._change(parts, self._not_needed(offset)))
        self._manifests[manifest] = _Manifest(tuple(groups), frozenset(planned.key for planned in groups))
        self._made = offset, following
        return following

    def tidy(self, offset: Offset) -> None:
        """Delete what nobody needs any more, if Spark begins with ``offset``. Raises MQIError."""
        if self._source and (messages := self._not_needed(offset)):
            self._change((), messages)

    # --- removal

    def to_remove(self, offset: Offset, now_s: int) -> dict[str, frozenset[Key]]:
        """Return the keys to remove so that everything up to ``offset`` that a task has read is gone, by manifest.

        Missed keys are among them only if they have been missed for so long that they cannot reappear later.

        Raises:
            MQIError: a call failed.
        """
        return {
            each: manifest.keys
            for each in offset.manifests
            if (manifest := self._manifests.get(each)) is not None
            # What is missed was read before it was removed.
            and (
                manifest.is_due(now_s)
                if manifest.since
                else self._messages.has(bytes.fromhex(self._source), sign_of(each)[0])
            )
        }

    def _missing(self, manifest: str, found: int, expected: int) -> CheckpointUnusable:
        """Return the error for a manifest with only ``found`` of its parts on the status queue; ``expected``: 0 if unknown."""
        name = self._messages.name
        return CheckpointUnusable(
            f"manifest {manifest}, which the query's checkpoint names, is not on status queue {name}"
            + (f" (found {found} of its {expected} parts)" if expected else "")
            + ". It lists the groups of a micro-batch, so these could be read twice. Either the status queue was emptied, or the "
            "checkpoint is older than the queue: restore the one or the other. If the groups on the data queue may be processed "
            "again, start the query with a new checkpoint and a new output: up to two micro-batches that are in the old output "
            "already are then read again. To leave a checkpoint that still works, run its query once with "
            "trigger(availableNow=True) before: that removes what was processed",
            "missing",
            status_queue=name,
            found=found,
            expected=expected,
        )

    def refuse_unread(self, offset: Offset) -> None:
        """Raise CheckpointUnusable if something up to ``offset`` was not to be removed, because no task has read it."""
        for each in offset.manifests:
            if (manifest := self._manifests.get(each)) is not None and not manifest.since:
                name = self._messages.name
                raise CheckpointUnusable(
                    f"Spark has finished the micro-batch of manifest {each}, but its {len(manifest.keys)} groups were not read, "
                    f"or not from the first one on: status queue {name} has no sign of it. They stay on the data queue. A sink "
                    "passes over a micro-batch whose number it has written before, and a new checkpoint begins at 0 again. Start "
                    "the query with a new checkpoint and also a new output folder (or another txnAppId, or another key for what "
                    "foreachBatch has written). A foreachBatch function that does not want a micro-batch has to read it all the "
                    "same, for example with count(): change it before that",
                    "not-read",
                    status_queue=name,
                    found="no sign",
                    expected="the sign of a task",
                )

    def removed(self, manifests: Mapping[str, frozenset[Key]], missed: frozenset[Key], now_s: int) -> None:
        """Note that the keys of these manifests were removed, except the missed ones; and mark what is gone for certain.

        Raises:
            MQIError: a call failed; the removal can be repeated.
        """
        gone = []
        for each, keys in manifests.items():
            manifest = self._manifests[each]
            if manifest.since or not keys & missed:
                gone.append(each)
            else:
                self._manifests[each] = _Manifest(None, keys & missed, now_s)
        marks = [json.dumps({"v": _VERSION, "manifest": each, "removed": True}).encode() for each in gone]
        for each, msg_id in zip(gone, self._change(marks, ()) if gone else (), strict=True):
            self._on_queue[each].marks.append(msg_id)
            del self._manifests[each]
            self._gone.add(each)

    # --- messages

    def _not_needed(self, offset: Offset) -> list[bytes]:
        """Return the MsgIds of the messages that can be deleted if Spark begins with ``offset``; forget their manifests."""
        needed = {*offset.manifests, *(self._made[1].manifests if self._made is not None else ())}
        found: list[bytes] = []
        for name, each in tuple(self._on_queue.items()):
            if each.parts and (name not in needed or each.marks):
                found += [*each.parts, sign_of(name)[0]]
                each.parts.clear()
            if name not in needed:
                found += each.marks
                del self._on_queue[name]
                self._gone.discard(name)
        return found

    def _change(self, put: Sequence[bytes], delete: Iterable[bytes]) -> list[bytes]:
        return self._messages.change(bytes.fromhex(self._source), put, delete)

    def _browsed(self, source: str) -> dict[str, _OnQueue]:
        on_queue: dict[str, _OnQueue] = {}
        for msg_id, data in self._messages.browse(bytes.fromhex(source)):
            try:
                self._read(on_queue, msg_id, json.loads(data))
            except (KeyError, TypeError, ValueError, RecursionError) as error:
                name = self._messages.name
                raise StatusQueueUnusable(
                    f"status queue {name} has a message (MsgId {msg_id.hex()}) that this version of format 'ibmmq' did not write "
                    f"({error!r}). Run the query with the version that wrote it, until its last micro-batch is done; or, if "
                    "another program put the message, remove it",
                    status_queue=name,
                    because="version",
                    found=repr(error),
                ) from None
        return on_queue

    @staticmethod
    def _read(on_queue: dict[str, _OnQueue], msg_id: bytes, value: Any) -> None:
        if value["v"] != _VERSION:
            raise ValueError(f"version {value['v']!r}")
        found = on_queue.setdefault(hexadecimal(value["manifest"], MANIFEST_DIGITS), _OnQueue())
        if value.get("removed"):
            found.marks.append(msg_id)
            return
        found.parts.append(msg_id)
        if value.get("read"):
            return
        found.expected = whole_number(value["parts"])
        # If the connection was lost during a commit, a part may be there twice.
        part = whole_number(value["part"])
        found.read[part] = [Planned(Key.from_text(key), whole_number(count)) for key, count in value["groups"]]


def _parts(offset: Offset, groups: Sequence[Planned]) -> Iterator[bytes]:
    # A micro-batch without groups has a manifest too.
    starts = range(0, max(len(groups), 1), _GROUPS_IN_A_PART)
    for part, start in enumerate(starts, 1):
        value = {
            "v": _VERSION,
            "manifest": offset.manifest,
            "seq": offset.seq,
            "part": part,
            "parts": len(starts),
            "groups": [[str(each.key), each.messages] for each in groups[start : start + _GROUPS_IN_A_PART]],
        }
        yield json.dumps(value, separators=(",", ":")).encode()

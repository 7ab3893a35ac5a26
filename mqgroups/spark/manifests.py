"""The manifests of the stream source: which groups each micro-batch has, and which of them may still be on the queue.

A manifest consists of messages on the source's status queue, in JSON. The CorrelId is the source's identifier::

    {"v": 2, "manifest": "<32 hex digits>", "seq": 7, "bundles": 8, "part": 1, "parts": 2, "groups": [["G<base64>", 1000], ...]}
    {"v": 2, "manifest": "<32 hex digits>", "read": 0}
    {"v": 2, "manifest": "<32 hex digits>", "begun": "G<base64>"}
    {"v": 2, "manifest": "<32 hex digits>", "missed": 1797000000}
    {"v": 2, "manifest": "<32 hex digits>", "removed": true}

Each message also has ``by``, the version that has put it. A version refuses a message with an unknown JSON name, unless the name
begins with ``optional_``. The rule for status records is the same (``core.status``).

What happens to a manifest in the calls of Spark::

    latestOffset(N - 1)   the manifest is put and committed; then its offset is returned, and Spark writes the offset to its log
    partitions, commit    the manifest is read, by this process or after a restart
    read                  each task puts the *sign* that it has read its bundle to the end (second form)
    commit(N)             removal of the groups begins. A unit of work that ends in the middle of a group puts the *note* that
                          the beginning of the group is gone (third form). The new note replaces the bundle's earlier note
    latestOffset, commit  after the removal is committed, a separate unit of work puts the *mark* (last form). If some groups
                          were not found, it instead puts the time of this removal (fourth form)
    latestOffset(M)       the unit of work that puts the next manifest deletes the manifests up to number M that offset M does not
                          name, and the parts and signs of manifests that have a mark

A sink skips a micro-batch whose number it has written before. After a crash it is right to do so, because tasks have read the
micro-batch and its signs are on the queue. But a new checkpoint begins at 0 again. If the old output is kept, the sink then skips
micro-batches that no task has read. Also, a foreachBatch function may read only a part of its rows. So the groups of a manifest
are removed only if each bundle of the manifest has a sign. (A task does not know how much of its last record batch Spark uses. So
nobody notices if Spark does not use the end of this record batch.)

A manifest is never changed. If a process dies during a removal, its unit of work hides some groups, but neither the manifest nor
the mark. So for each manifest that Spark's log names, either all parts or the mark are visible at any time. If neither is
visible, the status queue was emptied or replaced. Then the source stops, because it would read processed groups again.

If the driver dies before it writes the offset, no offset names the manifest. The manifest is deleted when Spark begins with
another offset of the same number. It is not deleted earlier, because a JVM without its driver may still write the offset. A
process that plans from the beginning makes a new source identifier, so it never touches the manifests of other checkpoints.

``Manifests`` decides, and calls ``Messages`` to use the queue. This module uses no clock and no pyspark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mqgroups.core.status import OPTIONAL
from mqgroups.errors import StatusQueueUnusable
from mqgroups.spark.errors import CheckpointUnusable
from mqgroups.spark.offsets import MANIFEST_DIGITS, Key, Offset, Planned, bundled, hexadecimal, whole_number
from mqgroups.spark.signs import NOTES, VERSION, message, msg_id_of, sign_of

_NAMES = set("v by manifest seq bundles part parts groups read begun missed removed".split())
# The field ``by``, also in a message that another version has put.
_BY = re.compile(rb'"by": ?"(mqgroups [0-9A-Za-z.+]{1,40})"')
# A part has at most 1 MB, well below the MAXMSGL of a queue (4 MB by default).
_GROUPS_IN_A_PART = 10_000
# After this number of seconds a missed group does not reappear. See ``stream_source.py``.
COMES_BACK_WITHIN_S = 600


class Messages(Protocol):
    """The messages on the status queue. The argument ``source`` is the CorrelId of a source's messages, in 24 bytes."""

    @property
    def name(self) -> str:
        """The name of the status queue, for error texts."""

    def browse(self, source: bytes) -> list[tuple[bytes, bytes]]:
        """Return MsgId and data of all messages of the source."""

    def change(self, source: bytes, put: Sequence[bytes], delete: Iterable[bytes]) -> list[bytes]:
        """Put messages and delete the messages with these MsgIds, in one unit of work. Returns the MsgIds of the new messages."""

    def has(self, source: bytes, msg_id: bytes) -> bool:
        """Return whether a message of the source has this MsgId."""


@dataclass(slots=True)
class _Manifest:
    """A manifest, as far as this process knows it.

    Attributes:
        groups: the groups of the micro-batch; ``None`` if they are no longer needed.
        bundles: the number of bundles. It stays the same if the micro-batch is repeated with another ``maxPartitions``.
        keys: the keys of the groups that are not removed. After a removal, these are the groups that it did not find.
        since: the time of the removal that did not find some groups, in seconds since 1970; 0 if all were found.
        hidden: the keys of groups whose beginning another process may hide in its unit of work.
        names: the ``Key.name`` of each key.
    """

    groups: tuple[Planned, ...] | None
    bundles: int
    keys: frozenset[Key]
    since: int = 0
    hidden: frozenset[Key] = frozenset()
    names: frozenset[tuple[bytes, str]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.names = frozenset(key.name for key in self.keys)

    @property
    def shares(self) -> list[list[Key]]:
        """The keys, divided into bundles. The keys of groups that a removal did not find are in a single bundle."""
        if self.groups is None:
            return [list(self.keys)]
        return [[planned.key for planned in bundle] for bundle in bundled(self.groups, self.bundles)]

    def is_due(self, now_s: int) -> bool:
        """Return whether the last removal found all groups, or the groups that it missed cannot reappear any more."""
        return not self.since or now_s - self.since >= COMES_BACK_WITHIN_S


@dataclass(slots=True)
class _OnQueue:
    """The messages of a manifest on the status queue.

    Attributes:
        parts: the MsgIds of all messages except the mark.
        marks: the MsgId of the mark; several MsgIds if the mark was put again.
        read: for each part that this process has read, the part's number and the part's groups.
        since: the time of the removal that did not find some groups, in seconds since 1970; 0 if all were found.
        begun: the keys of the groups for which a note reports that the beginning is gone.
        seq: the number of the manifest's micro-batch; 0 if the status queue has no part.
    """

    parts: list[bytes] = field(default_factory=list)
    marks: list[bytes] = field(default_factory=list)
    read: dict[int, Sequence[Planned]] = field(default_factory=dict)
    expected: int = 0
    bundles: int = 0
    since: int = 0
    begun: set[Key] = field(default_factory=set)
    seq: int = 0


class Manifests:
    """The manifests of one query, as far as the query's source knows them."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._source = ""
        self._on_queue: dict[str, _OnQueue] = {}
        self._manifests: dict[str, _Manifest] = {}
        # Manifests whose groups are gone.
        self._gone: set[str] = set()
        # The last two offsets. Until Spark begins with the last one, only this process knows its manifest.
        self._made: tuple[Offset, Offset] | None = None

    # --- what is known

    def learn(self, offset: Offset) -> None:
        """Read the manifests of an offset from the status queue, unless this process knows them already.

        Raises:
            CheckpointUnusable: a manifest is not on the status queue.
            StatusQueueUnusable: another version wrote a manifest.
            MQIError: a call failed.
        """
        unknown = [each for each in offset.manifests if each not in self._manifests and each not in self._gone]
        if not unknown:
            return
        self._source = offset.source
        self._on_queue = self._browsed(offset.source)
        for each in unknown:
            found = self._on_queue.get(each, _OnQueue())
            if found.marks:
                self._gone.add(each)
            elif not found.expected or len(found.read) < found.expected:
                raise self._missing(each, len(found.read), found.expected)
            else:
                groups = tuple(planned for part in sorted(found.read) for planned in found.read[part])
                keys = frozenset(planned.key for planned in groups)
                self._manifests[each] = _Manifest(groups, found.bundles, keys, found.since, keys - found.begun)
        for found in self._on_queue.values():
            found.read.clear()

    def knows(self, key: Key) -> bool:
        """Return whether a group is in a micro-batch."""
        return any(key in manifest.keys for manifest in self._manifests.values())

    def holds(self, key: Key) -> bool:
        """Return whether this group, or another group with the same GroupId, is in a micro-batch."""
        return any(key.name in manifest.names for manifest in self._manifests.values())

    @property
    def unfinished(self) -> int:
        """The number of groups that are in micro-batches and may still be on the queue."""
        return sum(len(manifest.keys) for manifest in self._manifests.values())

    def bundles(self, offset: Offset) -> list[list[Planned]]:
        """Return the groups of the micro-batch that ends at ``offset``, in bundles. Call ``learn`` with this offset first.

        Raises CheckpointUnusable if the groups were removed, because then they cannot be read again.
        """
        manifest = self._manifests.get(offset.manifest)
        if manifest is None or manifest.groups is None:
            raise self._missing(offset.manifest, 0, 0)
        # Spark has not finished the micro-batch, so no process has begun to remove its groups.
        manifest.hidden = frozenset()
        return bundled(manifest.groups, manifest.bundles)

    # --- the next micro-batch

    def offered(self, offset: Offset) -> Offset | None:
        """Return the offset after ``offset`` if ``follow`` has already made it and Spark has not begun with it."""
        return self._made[1] if self._made is not None and self._made[0] == offset else None

    def follow(self, offset: Offset, source: str, manifest: str, groups: Sequence[Planned], most: int) -> Offset:
        """Put the manifest of the next micro-batch, and return the offset that names the manifest.

        Args:
            offset: the offset at which the next micro-batch starts. Spark has begun with this offset.
            source: a new identifier of 48 hexadecimal digits. It is used if the source has no identifier yet.
            manifest: a new identifier of 32 hexadecimal digits.
            groups: the groups of the next micro-batch.
            most: the maximum number of bundles.

        Raises MQIError.
        """
        bundles = min(most, len(groups))
        following = offset.followed_by(source, manifest, groups, self._gone)
        self._source = following.source
        put = self._change(list(_parts(following, groups, bundles)), self._not_needed(offset))
        self._on_queue[manifest] = _OnQueue(put, bundles=bundles, seq=following.seq)
        self._manifests[manifest] = _Manifest(tuple(groups), bundles, frozenset(planned.key for planned in groups))
        self._made = offset, following
        return following

    def tidy(self, offset: Offset) -> None:
        """Delete the messages that are no longer needed when Spark begins with ``offset``. Raises MQIError."""
        if self._source and (messages := self._not_needed(offset)):
            self._change((), messages)

    # --- removal

    def to_remove(self, offset: Offset, now_s: int) -> dict[str, list[list[Key]]]:
        """Return the keys of the groups to remove, in bundles, for each manifest up to ``offset``. Raises MQIError.

        Tasks have read these groups. Groups that an earlier removal did not find are included when no unit of work can hide them
        any more. If this process dies, its unit of work may hide them again. So a message with the present time is put first.
        """
        found = {
            each: manifest.shares
            for each in offset.manifests
            if (manifest := self._manifests.get(each)) is not None
            # Tasks have read the missed groups, because only groups that were read are removed.
            and (manifest.is_due(now_s) if manifest.since else all(self._signs(each, manifest)))
        }
        due = [each for each in found if self._manifests[each].since]
        put = [message(each, missed=now_s) for each in due]
        for each, msg_id in zip(due, self._change(put, ()) if put else (), strict=True):
            self._on_queue[each].parts.append(msg_id)
        return found

    def hidden(self, manifests: Iterable[str]) -> frozenset[Key]:
        """Return the keys of groups whose first messages an open unit of work may hide, without groups that were not found."""
        found = (self._manifests[each] for each in manifests)
        return frozenset(key for manifest in found if not manifest.since for key in manifest.hidden)

    def _missing(self, manifest: str, found: int, expected: int) -> CheckpointUnusable:
        """Return the error for a manifest with ``found`` of ``expected`` parts on the status queue. Unknown numbers are 0."""
        name = self._messages.name
        return CheckpointUnusable(
            f"manifest {manifest}, which the query's checkpoint names, is not on status queue {name}"
            + (f" (found {found} of its {expected} parts)" if expected else "")
            + ". Without this list of groups, a micro-batch could be read twice. Either the status queue was emptied, or the "
            "checkpoint is older than the queue. Restore one of the two. If the groups on the data queue may be processed "
            "again, start the query with a new checkpoint and a new output. Then up to two micro-batches that are already in the "
            "old output are read again. To leave a checkpoint that still works, run its query once with "
            "trigger(availableNow=True) before: that removes what was processed",
            "missing",
            status_queue=name,
            found=found,
            expected=expected,
        )

    def _signs(self, name: str, manifest: _Manifest) -> Iterator[bool]:
        """Yield for each bundle of a manifest whether the bundle's sign is on the status queue."""
        source = bytes.fromhex(self._source)
        return (self._messages.has(source, sign_of(name, bundle)[0]) for bundle in range(manifest.bundles))

    def unread(self, offset: Offset, being_removed: Container[str]) -> CheckpointUnusable | None:
        """Return the error for a manifest up to ``offset`` that tasks have not read to its end; ``None`` if all were read."""
        for each in offset.manifests:
            manifest = self._manifests.get(each)
            if manifest is not None and not manifest.since and each not in being_removed:
                name, read = self._messages.name, sum(self._signs(each, manifest))
                return CheckpointUnusable(
                    f"Spark has finished the micro-batch of manifest {each}, but only {read} of its {manifest.bundles} "
                    f"partitions were read to their end: status queue {name} has no sign of the others. Its {len(manifest.keys)} "
                    "groups stay on the data queue. If foreachBatch does not read all of its rows, change it so that it reads "
                    "them, for example with count(). Otherwise the sink has skipped a micro-batch whose number it had "
                    "written before, because a new checkpoint begins at 0 again. Start the query with a new checkpoint and also "
                    "a new output folder (or another txnAppId, or another key for what foreachBatch has written)",
                    "not-read",
                    status_queue=name,
                    found=f"{read} signs",
                    expected=f"{manifest.bundles} signs",
                )
        return None

    def removed(self, manifests: Sequence[str], missed: frozenset[Key], now_s: int) -> list[Key]:
        """Mark manifests whose groups were removed, and remember the ``missed`` groups. Returns the keys of all these groups.

        Raises MQIError. In this case the removal can be repeated.
        """
        put: list[bytes] = []
        late: dict[str, frozenset[Key]] = {}
        for each in manifests:
            manifest = self._manifests[each]
            if manifest.keys & missed and not manifest.since:
                late[each] = manifest.keys & missed
            what = {"missed": now_s} if each in late else {"removed": True}
            put.append(message(each, **what))
        keys: list[Key] = []
        for each, msg_id in zip(manifests, self._change(put, ()) if put else (), strict=True):
            keys += self._manifests[each].keys
            if each in late:
                self._on_queue[each].parts.append(msg_id)
                self._manifests[each] = _Manifest(None, 0, late[each], now_s)
            else:
                self._on_queue[each].marks.append(msg_id)
                del self._manifests[each]
                self._gone.add(each)
        return keys

    # --- messages

    def _not_needed(self, offset: Offset) -> list[bytes]:
        """Forget the messages that are not needed when Spark begins with ``offset``, and return their MsgIds."""
        needed = {*offset.manifests, *(self._made[1].manifests if self._made is not None else ())}
        found: list[bytes] = []
        for name, each in tuple(self._on_queue.items()):
            is_needed = name in needed or each.seq > offset.seq
            if each.parts and (not is_needed or each.marks):
                found += each.parts
                for bundle in range(each.bundles):
                    found += [msg_id_of(name, bundle), msg_id_of(name, NOTES + bundle)]
                each.parts.clear()
            if not is_needed:
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
            except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
                raise self._not_read(msg_id, data, error) from None
        for found in on_queue.values():
            # Each bundle has at least one group. But any program that is allowed to put can write a larger number.
            found.bundles = min(found.bundles, sum(map(len, found.read.values())))
        return on_queue

    def _not_read(self, msg_id: bytes, data: bytes, error: Exception) -> StatusQueueUnusable:
        found = _BY.search(data)
        by = f"put by {found[1].decode()}" if found else "which does not say by whom"
        name = self._messages.name
        return StatusQueueUnusable(
            f"status queue {name} has a message (MsgId {msg_id.hex()}) that this version of format 'ibmmq' did not write "
            f"({error!r}), {by}. Run the query with the version that wrote it, until its last micro-batch is done; "
            "or, if another program put the message, remove it",
            status_queue=name,
            because="version",
            found=repr(error),
        )

    @staticmethod
    def _read(on_queue: dict[str, _OnQueue], msg_id: bytes, value: Any) -> None:
        if value["v"] != VERSION:
            raise ValueError(f"version {value['v']!r}")
        if unknown := sorted(name for name in value.keys() - _NAMES if not name.startswith(OPTIONAL)):
            raise ValueError(f"{unknown[0]!r:.100}")
        found = on_queue.setdefault(hexadecimal(value["manifest"], MANIFEST_DIGITS), _OnQueue())
        if value.get("removed"):
            found.marks.append(msg_id)
            return
        found.parts.append(msg_id)
        if "missed" in value:
            # There are two such messages if the first process died. The later time counts.
            found.since = max(found.since, whole_number(value["missed"]))
        if "begun" in value:
            found.begun.add(Key.from_text(value["begun"]))
        if "groups" not in value:
            return
        found.seq = whole_number(value["seq"])
        found.bundles = whole_number(value["bundles"])
        if not found.bundles:
            # Without bundles, all groups would count as read.
            raise ValueError("groups in no bundle")
        found.expected = whole_number(value["parts"])
        # If a commit had no answer, a part may be there twice.
        part = whole_number(value["part"])
        found.read[part] = [Planned(Key.from_text(key), whole_number(count)) for key, count in value["groups"]]


def _parts(offset: Offset, groups: Sequence[Planned], bundles: int) -> Iterator[bytes]:
    starts = range(0, len(groups), _GROUPS_IN_A_PART)
    for part, start in enumerate(starts, 1):
        yield message(
            offset.manifest,
            seq=offset.seq,
            bundles=bundles,
            part=part,
            parts=len(starts),
            groups=[[str(each.key), each.messages] for each in groups[start : start + _GROUPS_IN_A_PART]],
        )

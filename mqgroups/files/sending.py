"""``FileSender``: makes groups from files, exactly once.

The group of a file has the file's description as its properties, so an interrupted group can be resumed only with the same file.
The last message of a group is committed with a checkpoint that lists the file. So a file that was sent is not sent again, unless
its contents or its modification time change. With an archive, the checkpoint lists only the last file, until the file is moved.

A file is opened once, and the open file is described and sent. Other users may be able to write to the file's folder. If they
replace the file meanwhile, for example by a link, the new file is not sent. They may also write to the file. So each block is
compared with its digest before the block is put. Thus all messages of a group are from the same contents, even after a restart.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EINVAL, ELOOP, ENOENT
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from mqgroups.core.group_properties import NAME
from mqgroups.core.status import Checkpoint
from mqgroups.errors import ConfigurationError, GroupUsage
from mqgroups.files.description import BLOCK_BYTES, PREFIX_BYTES, Description, OnBytes, sent_name, unseen
from mqgroups.files.sink import free_name, make_durable
from mqgroups.put.group import OutgoingGroup
from mqgroups.put.producer import GroupProducer

# A line has a limit, because it may be the whole file, and a message is kept in memory.
_LONGEST_LINE = 4 << 20


@dataclass(frozen=True, slots=True)
class Look:
    """Attributes of a file. Two files have different attributes, and a change of a file changes its attributes."""

    device: int
    inode: int
    data_bytes: int
    modified_ns: int

    @classmethod
    def of(cls, about: os.stat_result) -> Look | None:
        """Return the attributes of a regular file from its ``stat``; ``None`` for any other kind of file."""
        if not stat.S_ISREG(about.st_mode):
            return None
        return cls(about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)


# Files to send, each with its attributes when its folder was listed; ``None`` for a file that the user has named, maybe a link.
Looks: TypeAlias = Mapping[Path, Look | None]


@dataclass(frozen=True, slots=True)
class Sent:
    """A file that was sent, now or earlier.

    Attributes:
        is_new: whether the file was sent now.
        data_bytes: the file's length.
    """

    is_new: bool
    data_bytes: int


@dataclass(frozen=True, slots=True)
class Records:
    """How a file is divided into messages.

    Attributes:
        kind: with ``"bytes"``, messages have a fixed length. With ``"lines"``, each line, with its LF, is a message. With
            ``"file"``, the file is one message in segments, and an empty message ends the group. (Without the empty message, a
            group could not be abandoned while only some segments of its last message are committed.)
        data_bytes: the length of a message, if ``kind`` is ``"bytes"``.
    """

    kind: str
    data_bytes: int = BLOCK_BYTES

    @classmethod
    def of(cls, text: str) -> Records:
        """Return the ``Records`` for the text ``file``, ``lines`` or ``bytes:N``. Raises ConfigurationError for another text."""
        found = re.fullmatch(r"file|lines|bytes:([1-9][0-9]{0,8})", text)
        if found is None:
            raise ConfigurationError(f"records must be file, lines or bytes:N, such as bytes:65536, got {text!r}")
        return cls(text.partition(":")[0], int(found[1] or BLOCK_BYTES))

    def __str__(self) -> str:
        return f"bytes:{self.data_bytes}" if self.kind == "bytes" else self.kind

    def read(self, file: BinaryIO) -> Iterator[bytes]:
        """Yield the records of a file, each the data of one message. Raises GroupUsage if a line is too long for a message."""
        if self.kind != "lines":
            while data := file.read(self.data_bytes):
                yield data
            return
        number = 0
        while line := file.readline(_LONGEST_LINE + 1):
            number += 1
            if len(line) > _LONGEST_LINE:
                raise GroupUsage(f"line {number} is longer than {_LONGEST_LINE} bytes. Send the file without --records")
            yield line


class FileSender:
    """Sends files with one producer, and uses the producer's checkpoint."""

    def __init__(
        self,
        producer: GroupProducer,
        *,
        records: Records,
        archive: Path | None = None,
        on_bytes: OnBytes = unseen,
    ) -> None:
        """Take a producer.

        Args:
            producer: a producer without a checkpoint, or with the checkpoint of an earlier ``FileSender``.
            records: how files are divided into messages.
            archive: the folder that files are moved to after they are sent. It must be on the same file system as the files.
            on_bytes: called with the progress of each file.

        Raises GroupUsage if the producer has a checkpoint of another kind.
        """
        self._producer = producer
        self._records = records
        self._archive = archive
        self._looks: Looks = {}
        self._on_bytes = on_bytes
        # The files that were sent: a digest of each path, and a digest of the file's contents and modification time.
        self._sent: dict[str, str] = {}
        match producer.checkpoint:
            case None:
                pass
            case {"sent": dict(sent), **others} if not others and all(isinstance(each, str) for each in sent.values()):
                self._sent = {str(place): str(content) for place, content in sent.items()}
            case _:
                raise GroupUsage(
                    "the producer has a checkpoint of another kind. Send files under a name that is only for files"
                )

    def in_order(self, looks: Looks) -> list[Path]:
        """Return the files in ``looks`` in the order in which to send them. The file of an interrupted group is the first.

        When the next file is sent, the checkpoint forgets all files that are not in ``looks``.

        Raises:
            GroupUsage: a group is interrupted, and its file is not among these files, or has changed, or changes meanwhile.
            OSError: a file is missing, and is not in the archive; or a file is a pipe or a device.
            Stopped: ``stop`` of the producer was called.
        """
        self._looks = looks
        places: dict[Path, str] = {}
        for path, look in looks.items():
            try:
                _ = look or _regular(path, path.stat())
                places[path] = _place(path)
            except FileNotFoundError:
                if self._archive is None or not (self._archive / path.name).exists():
                    raise FileNotFoundError(ENOENT, "there is no such file", str(path)) from None
        self._sent = {place: self._sent[place] for place in places.values() if place in self._sent}
        there = list(places)
        if self._archive is not None:
            # A file that was sent has to be moved before the next commit forgets that it was sent.
            there.sort(key=lambda path: places[path] not in self._sent)
        interrupted = self._interrupted()
        if interrupted is None:
            return there
        for path in there:
            if sent_name(path) == interrupted.name:
                with self._open(path) as file:
                    if file is not None and self._described(file, path)[0] == interrupted:
                        return [path, *(other for other in there if other != path)]
        raise GroupUsage(
            f"sending {interrupted.name or 'a group without a name'} was interrupted. This file is not among the files, or has "
            "changed. Send it, or end its group with --abandon; then receivers do not get the file"
        )

    def abandon(self) -> str:
        """Abandon the interrupted group, and return the name of the group's file; empty if no group is interrupted."""
        interrupted = self._interrupted()
        if interrupted is None:
            return ""
        with self._producer.group() as group:
            group.abandon(1, "the sender has given up")
        return interrupted.name or "a group without a name"

    def send(self, path: Path) -> Sent | None:
        """Send a file from ``in_order``, or its rest. Return ``None`` if the file has changed since its folder was listed.

        Raises:
            GroupUsage: the file changed while it was read, so nothing of it was sent; or it changed while it was sent, so its
                group cannot be completed; or it was changed or replaced after that, so it is not moved.
            OSError: the file cannot be read, or cannot be moved to the archive.
            MQGroupsError: an error of ``OutgoingGroup.put``.
        """
        with self._open(path) as file:
            if file is None:
                return None
            look = _regular(path, os.fstat(file.fileno()))
            about, prefixes = self._described(file, path)
            place, content = _place(path), _digest(f"{look.modified_ns}\0{about.sha256}")
            is_new = self._sent.get(place) != content
            if is_new:
                sent: dict[str, Any] = {**({} if self._archive else self._sent), place: content}
                # FileRecords is a property, because a resumed group must be divided into messages in the same way.
                properties = {**about.properties, "mqgroups.FileRecords": str(self._records), NAME: about.name}
                # The group has no name as an argument, because another file of this name is another group.
                with self._producer.group(properties=properties) as group:
                    self._put(group, _Compared(file, path, prefixes), path, about, {"sent": sent})
                self._sent = sent
        _check_unchanged(path, path.stat(), look)
        if self._archive is not None:
            self._move(path, self._archive, content)
            del self._sent[place]
        return Sent(is_new, look.data_bytes)

    def _move(self, path: Path, archive: Path, content: str) -> None:
        """Move a file to the archive after it was sent. Do not replace a file in the archive."""
        # If the path is a link, the link is moved, not the file that it leads to.
        moved = path.lstat()
        target = archive / free_name(archive, path.name, "", content)
        path.rename(target)
        # The next commit forgets that this file was sent. So the file must not be in its old folder again after a power failure.
        make_durable(archive)
        make_durable(path.parent)
        # Another file may have replaced this file between these calls.
        _check_unchanged(target, target.lstat(), Look.of(moved))

    def finish(self) -> None:
        """Remove the checkpoint if there is an archive, and if the file that was sent last is in the archive."""
        if self._archive is not None and not self._sent:
            self._producer.forget()

    @contextmanager
    def _open(self, path: Path) -> Iterator[BinaryIO | None]:
        """Open a file for a ``with`` block. Yield ``None`` if the file has changed since its folder was listed."""
        look = self._looks.get(path)
        # Without O_NONBLOCK, this call would wait if a pipe had replaced the file.
        flags = os.O_NONBLOCK | (0 if look is None else os.O_NOFOLLOW)
        try:
            file = open(path, "rb", opener=lambda name, more: os.open(name, more | flags))  # noqa: SIM115 - closed below
        except OSError as error:
            if look is None or error.errno not in (ENOENT, ELOOP):
                raise
            yield None
            return
        with file:
            about = os.fstat(file.fileno())
            yield file if look in (None, Look.of(about)) else None

    def _described(self, file: BinaryIO, path: Path) -> tuple[Description, bytes]:
        def checked(doing: str, path: Path, done: int, total: int | None) -> None:
            if self._producer.stopping:
                # Reading a large file takes minutes. This call raises Stopped, because no group is begun.
                self._producer.group()
            self._on_bytes(doing, path, done, total)

        before, found = os.fstat(file.fileno()), Description.of_file(file, path, checked)
        if Look.of(os.fstat(file.fileno())) != Look.of(before):
            raise GroupUsage(
                f"{path} changed while it was read, so nothing more of it is sent. Send it when no program writes to it any more"
            )
        return found

    def _interrupted(self) -> Description | None:
        # This group is not begun, so it need not be used.
        group = self._producer.group()
        return Description.of_group(group.properties) if group.resume_from or group.resume_offset else None

    def _put(
        self, group: OutgoingGroup, file: _Compared, path: Path, about: Description, checkpoint: Checkpoint
    ) -> None:
        records = _until_last(self._told(self._records.read(io.BufferedReader(file, BLOCK_BYTES)), path, about))
        if self._records.kind == "file" and about.data_bytes:
            if not group.resume_from:
                group.put((data for data, _ in records), last=False)
            group.set_checkpoint(checkpoint)
            group.put(b"", last=True)
            return
        for number, (data, last) in enumerate(records):
            if number >= group.resume_from:
                if last:
                    group.set_checkpoint(checkpoint)
                group.put(data, last=last)

    def _told(self, records: Iterable[bytes], path: Path, about: Description) -> Iterator[bytes]:
        """Yield the records, and call ``on_bytes`` after each record."""
        done = 0
        for data in records:
            yield data
            done += len(data)
            self._on_bytes("sending", path, done, about.data_bytes)


def _regular(path: Path, about: os.stat_result) -> Look:
    look = Look.of(about)
    if look is None:
        # A file is read twice. A device may have no end, and a pipe cannot be read a second time.
        raise OSError(EINVAL, "it is not a regular file; write its data to a file, and send that file", str(path))
    return look


def _place(path: Path) -> str:
    return _digest(str(path.parent.resolve() / path.name))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]


def _check_unchanged(path: Path, found: os.stat_result, sent: Look | None) -> None:
    if Look.of(found) != sent:
        raise GroupUsage(
            f"{path} was replaced after it was sent, or was written to. The file that was sent is complete, and the present file "
            "is not sent. Send it, too"
        )


def _until_last(records: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield each record, and whether it is the last. An empty file has one empty record."""
    before = b""
    for data in records:
        if before:
            yield before, False
        before = data
    yield before, True


class _Compared(io.RawIOBase):
    """A reader of a file, from the file's beginning. It raises GroupUsage if a block has changed since its digest was made."""

    def __init__(self, file: BinaryIO, path: Path, prefixes: bytes) -> None:
        """``prefixes``: the digests that ``Description.of_file`` has returned."""
        file.seek(0)
        self._file, self._path, self._prefixes = file, path, io.BytesIO(prefixes)
        self._digest = hashlib.sha256()
        self._block = io.BytesIO()

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        if not (read := self._block.readinto(room)):
            data = self._file.read(BLOCK_BYTES)
            self._digest.update(data)
            if self._prefixes.read(PREFIX_BYTES) != (self._digest.digest()[:PREFIX_BYTES] if data else b""):
                raise GroupUsage(
                    f"{self._path} changed while it was sent, so its group is not completed. Put the file back as it was, and "
                    "send it again; or end its group with --abandon"
                )
            self._block = io.BytesIO(data)
            read = self._block.readinto(room)
        return read

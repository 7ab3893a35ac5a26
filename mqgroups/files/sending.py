"""Files become groups, exactly once: ``FileSender``.

The group of a file has the file's description as its properties, so an interrupted group can only be resumed with the same file.
With the last message of a group the producer's checkpoint says that this file is done. So a file that was sent is not sent again,
unless its length or its modification time has changed. With an archive only the last file is remembered, until it is moved.

A file is opened once, and what was opened is described and sent. Where others may write to the folder of a file, what they have
put there meanwhile, such as a link, is not the file that was seen.
"""

from __future__ import annotations

import hashlib
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
from mqgroups.files.description import Description, OnBytes, sent_name, unseen
from mqgroups.files.sink import make_durable
from mqgroups.put.group import OutgoingGroup
from mqgroups.put.producer import GroupProducer

# A line may be the whole file, and a message is held in memory.
_LONGEST_LINE = 4 << 20
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Look:
    """What tells a file from another one, and from the same one after a change."""

    device: int
    inode: int
    data_bytes: int
    modified_ns: int

    @classmethod
    def of(cls, about: os.stat_result) -> Look | None:
        """Return what was seen of a regular file; ``None`` for any other one."""
        if not stat.S_ISREG(about.st_mode):
            return None
        return cls(about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)


# Files to send. What a look at their folder saw of each; ``None`` for one that the user has named, which may be a link.
Looks: TypeAlias = Mapping[Path, Look | None]


@dataclass(frozen=True, slots=True)
class Sent:
    """A file that is sent.

    Attributes:
        is_new: whether there was something to send.
        data_bytes: its length.
    """

    is_new: bool
    data_bytes: int


@dataclass(frozen=True, slots=True)
class Records:
    """How a file is divided into messages.

    Attributes:
        kind: ``"bytes"``; ``"lines"``: a message for each line, with its line end; ``"file"``: one message, in segments, and an
            empty one that ends the group. (While only some segments of its last message are committed, a group cannot be
            abandoned.)
        data_bytes: how many bytes a message has, for ``"bytes"``.
    """

    kind: str
    data_bytes: int = _BLOCK_BYTES

    @classmethod
    def of(cls, text: str) -> Records:
        """Return what ``file``, ``lines`` or ``bytes:N`` says; raises ConfigurationError."""
        found = re.fullmatch(r"file|lines|bytes:([1-9][0-9]{0,8})", text)
        if found is None:
            raise ConfigurationError(f"records must be file, lines or bytes:N, such as bytes:65536, got {text!r}")
        return cls(text.partition(":")[0], int(found[1] or _BLOCK_BYTES))

    def __str__(self) -> str:
        return f"bytes:{self.data_bytes}" if self.kind == "bytes" else self.kind

    def read(self, file: BinaryIO) -> Iterator[bytes]:
        """Yield the records of a file; raises GroupUsage if a line is too long for a message."""
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
    """Sends files with one producer, whose checkpoint it keeps."""

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
            producer: without a checkpoint of another kind.
            records: how files are divided into messages.
            archive: the folder that files are moved to when they are sent; on the same file system.
            on_bytes: is told how far a file is.

        Raises GroupUsage if the producer has a checkpoint of another kind.
        """
        self._producer = producer
        self._records = records
        self._archive = archive
        self._looks: Looks = {}
        self._on_bytes = on_bytes
        self._sent: list[str] = []
        match producer.checkpoint:
            case None:
                pass
            case {"sent": list(keys), **others} if not others and all(isinstance(key, str) for key in keys):
                self._sent = [str(key) for key in keys]
            case _:
                raise GroupUsage(
                    "the producer has a checkpoint that is not of files. Send files under a name of their own"
                )

    def in_order(self, looks: Looks) -> list[Path]:
        """Return the files in the order in which they have to be sent: the one of the interrupted group first.

        Which other files were sent is forgotten with the next one that is sent.

        Raises:
            GroupUsage: a group is interrupted, and its file is not among them, or has changed.
            OSError: a file is missing, and is not in the archive; or it is a pipe or a device.
            Stopped: ``stop`` of the producer was called.
        """
        self._looks = looks
        keys: dict[Path, str] = {}
        for path, look in looks.items():
            try:
                keys[path] = _key(path, look or _regular(path, path.stat()))
            except FileNotFoundError:
                if self._archive is None or not (self._archive / path.name).exists():
                    raise FileNotFoundError(ENOENT, "there is no such file", str(path)) from None
        self._sent = [key for key in self._sent if key in keys.values()]
        there = list(keys)
        if self._archive is not None:
            # A file that was sent has to be moved before the next commit forgets that it was sent.
            there.sort(key=lambda path: keys[path] not in self._sent)
        interrupted = self._interrupted()
        if interrupted is None:
            return there
        for path in there:
            if sent_name(path) == interrupted.name:
                with self._open(path) as file:
                    if file is not None and self._described(file, path) == interrupted:
                        return [path, *(other for other in there if other != path)]
        raise GroupUsage(
            f"sending {interrupted.name or 'a group without a name'} was interrupted, and it is not among the files, or has "
            "changed. Send it, or end its group with --abandon; receivers then do not get the file"
        )

    def abandon(self) -> str:
        """End the interrupted group without its rest; returns the name of its file, empty if no group is interrupted."""
        interrupted = self._interrupted()
        if interrupted is None:
            return ""
        with self._producer.group() as group:
            group.abandon(1, "the sender has given up")
        return interrupted.name or "a group without a name"

    def send(self, path: Path) -> Sent | None:
        """Send a file of ``in_order``, or its rest; ``None`` if it is not as it was seen any more.

        Raises:
            GroupUsage: the file changed while it was sent, so its group cannot be completed.
            OSError: the file cannot be read, or not moved to the archive.
            MQGroupsError: as ``OutgoingGroup.put``.
        """
        with self._open(path) as file:
            if file is None:
                return None
            look = _regular(path, os.fstat(file.fileno()))
            key = _key(path, look)
            is_new = key not in self._sent
            if is_new:
                about = self._described(file, path)
                sent: list[Any] = [*([] if self._archive else self._sent), key]
                # The records, because a resumed group must be divided as it was before.
                properties = {**about.properties, "mqgroups.FileRecords": str(self._records), NAME: about.name}
                # Not by its name: another file of this name is another group.
                with self._producer.group(properties=properties) as group:
                    self._put(group, file, path, about, {"sent": sent})
                self._sent = sent
        if self._archive is not None:
            target = self._archive / path.name
            path.rename(self._archive / f"{path.name}.{key}" if target.exists() else target)
            # With the next commit it is forgotten that this file was sent, so it must not be back after a power failure.
            make_durable(self._archive)
            make_durable(path.parent)
            self._sent.remove(key)
        return Sent(is_new, look.data_bytes)

    def finish(self) -> None:
        """With an archive: forget which file was sent last, if it is there."""
        if self._archive is not None and not self._sent:
            self._producer.forget()

    @contextmanager
    def _open(self, path: Path) -> Iterator[BinaryIO | None]:
        """Open a file, in a ``with`` statement; ``None`` if it is not as it was seen any more."""
        look = self._looks.get(path)
        # Without O_NONBLOCK, a pipe in its place would be waited for.
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

    def _described(self, file: BinaryIO, path: Path) -> Description:
        def checked(doing: str, path: Path, done: int, total: int | None) -> None:
            if self._producer.stopping:
                # A large file takes minutes. Between two groups this raises Stopped.
                self._producer.group()
            self._on_bytes(doing, path, done, total)

        return Description.of_file(file, path, checked)

    def _interrupted(self) -> Description | None:
        # This group is not begun, so it may be dropped.
        group = self._producer.group()
        return Description.of_group(group.properties) if group.resume_from or group.resume_offset else None

    def _put(
        self, group: OutgoingGroup, file: BinaryIO, path: Path, about: Description, checkpoint: Checkpoint
    ) -> None:
        file.seek(0)
        records = _checked(self._told(self._records.read(file), path, about), path, about)
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
        """Yield the records, and tell how far the file is."""
        done = 0
        for data in records:
            yield data
            done += len(data)
            self._on_bytes("sending", path, done, about.data_bytes)


def _regular(path: Path, about: os.stat_result) -> Look:
    look = Look.of(about)
    if look is None:
        # A file is read twice. A device may have no end, and a pipe has nothing the second time.
        raise OSError(EINVAL, "it is not a regular file; write what it gives to a file, and send that", str(path))
    return look


def _key(path: Path, look: Look) -> str:
    said = f"{path.parent.resolve() / path.name}\0{look.data_bytes}\0{look.modified_ns}"
    return hashlib.sha256(said.encode(errors="surrogateescape")).hexdigest()[:16]


def _checked(records: Iterable[bytes], path: Path, about: Description) -> Iterator[tuple[bytes, bool]]:
    """Yield the records, and whether each is the last; an empty file has one. Before the last one the data is compared."""
    found, before = hashlib.sha256(), b""
    for data in records:
        found.update(data)
        if before:
            yield before, False
        before = data
    if found.hexdigest() != about.sha256:
        raise GroupUsage(
            f"{path} changed while it was sent, so its group is not completed. Put the file back as it was, and send it again; "
            "or end its group with --abandon"
        )
    yield before, True

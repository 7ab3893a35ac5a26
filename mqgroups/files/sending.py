"""Files become groups, exactly once: ``FileSender``.

The group of a file has the file's description as its properties, so an interrupted group can only be resumed with the same file.
With the last message of a group the producer's checkpoint says that this file is done. So a file that was sent is not sent again,
unless its length or its modification time has changed. With an archive only the last file is remembered, until it is moved.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from errno import EINVAL, ENOENT
from pathlib import Path
from typing import Any, BinaryIO

from mqgroups.core.status import Checkpoint
from mqgroups.errors import ConfigurationError, GroupUsage
from mqgroups.files.description import Description, OnBytes, failure_properties, sent_name, unseen
from mqgroups.files.sink import make_durable
from mqgroups.put.group import OutgoingGroup
from mqgroups.put.producer import GroupProducer

# A line may be the whole file, and a message is held in memory.
_LONGEST_LINE = 4 << 20
_BLOCK_BYTES = 1 << 20


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
        mft: bool = False,
        archive: Path | None = None,
        on_bytes: OnBytes = unseen,
    ) -> None:
        """Take a producer.

        Args:
            producer: without a checkpoint of another kind.
            records: how files are divided into messages.
            mft: describe files as Managed File Transfer does, too; not in segments, which it does not put.
            archive: the folder that files are moved to when they are sent; on the same file system.
            on_bytes: is told how far a file is.

        Raises:
            GroupUsage: the producer has a checkpoint of another kind.
        """
        self._producer = producer
        self._records = records
        self._mft = mft
        self._archive = archive
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

    def in_order(self, paths: Sequence[Path]) -> list[Path]:
        """Return the files in the order in which they have to be sent: the one of the interrupted group first.

        Which other files were sent is forgotten with the next one that is sent.

        Raises:
            GroupUsage: a group is interrupted, and its file is not among them, or has changed.
            OSError: a file is missing, and is not in the archive; or it is a pipe or a device.
            Stopped: ``stop`` of the producer was called.
        """
        missing = [path for path in paths if not path.exists()]
        for path in missing:
            if self._archive is None or not (self._archive / path.name).exists():
                raise FileNotFoundError(ENOENT, "there is no such file", str(path))
        there = [path for path in paths if path not in missing]
        for path in there:
            if not path.is_file():
                # A file is read twice. A device may have no end, and a pipe has nothing the second time.
                raise OSError(
                    EINVAL, "it is not a regular file; write what it gives to a file, and send that", str(path)
                )
        keys = set(map(_key, there))
        self._sent = [key for key in self._sent if key in keys]
        if self._archive is not None:
            # A file that was sent has to be moved before the next commit forgets that it was sent.
            there.sort(key=lambda path: _key(path) not in self._sent)
        interrupted = self._interrupted()
        if interrupted is None:
            return there
        for path in there:
            if sent_name(path) == interrupted.name and self._described(path) == interrupted:
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
            reason = "the sender has given up"
            if self._mft:
                group.put(b"", last=True, properties=failure_properties(reason))
            else:
                group.abandon(1, reason)
        return interrupted.name or "a group without a name"

    def send(self, path: Path) -> bool:
        """Send a file, or its rest; returns whether there was something to send.

        Raises:
            GroupUsage: the file changed while it was sent, so its group cannot be completed.
            OSError: the file cannot be read, or not moved to the archive.
            MQGroupsError: as ``OutgoingGroup.put``.
        """
        key = _key(path)
        is_new = key not in self._sent
        if is_new:
            about = self._described(path)
            sent: list[Any] = [*([] if self._archive else self._sent), key]
            # The records, because a resumed group must be divided as it was before.
            properties = {**about.properties(mft=self._mft), "mqgroups.FileRecords": str(self._records)}
            with self._producer.group(name=about.name, properties=properties) as group:
                self._put(group, path, about, {"sent": sent})
            self._sent = sent
        if self._archive is not None:
            target = self._archive / path.name
            path.rename(self._archive / f"{path.name}.{key}" if target.exists() else target)
            # With the next commit it is forgotten that this file was sent, so it must not be back after a power failure.
            make_durable(self._archive)
            make_durable(path.parent)
            self._sent.remove(key)
        return is_new

    def finish(self) -> None:
        """With an archive: forget which file was sent last, if it is there."""
        if self._archive is not None and not self._sent:
            self._producer.forget_checkpoint()

    def _described(self, path: Path) -> Description:
        def checked(doing: str, path: Path, done: int, total: int | None) -> None:
            if self._producer.stopping:
                # A large file takes minutes. Between two groups this raises Stopped.
                self._producer.group()
            self._on_bytes(doing, path, done, total)

        return Description.of_file(path, checked)

    def _interrupted(self) -> Description | None:
        # This group is not begun, so it may be dropped.
        group = self._producer.group()
        return Description.of_group(group.properties) if group.resume_from or group.resume_offset else None

    def _put(self, group: OutgoingGroup, path: Path, about: Description, checkpoint: Checkpoint) -> None:
        with path.open("rb") as file:
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


def _key(path: Path) -> str:
    about = path.stat()
    said = f"{path.resolve()}\0{about.st_size}\0{about.st_mtime_ns}"
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

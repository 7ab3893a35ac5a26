"""Groups become the files that were sent: ``FileReceiver``. What is not as it was sent goes to quarantine, with the reason."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mqgroups.core.group_key import short_id
from mqgroups.core.model import GROUP_ID_LENGTH
from mqgroups.errors import GroupAbandoned, GroupStalled
from mqgroups.files.description import Description, OnBytes, unseen
from mqgroups.files.sink import FileSink
from mqgroups.get.consumer import GroupConsumer
from mqgroups.get.group import IncomingGroup

_log = logging.getLogger("mqgroups.files")


@dataclass(frozen=True, slots=True)
class Received:
    """A file that is in place.

    Attributes:
        path: where it is.
        reason: why it is in quarantine; empty if it is as it was sent.
        data_bytes: its length.
        group_id: of its group, in hexadecimal digits.
    """

    path: Path
    reason: str
    data_bytes: int
    group_id: str


class FileReceiver:
    """Receives files into a folder, with one consumer, whose checkpoint it keeps."""

    def __init__(
        self,
        open_consumer: Callable[..., GroupConsumer],
        folder: Path,
        *,
        keep_waiting: bool,
        max_bytes: int = sys.maxsize,
        on_bytes: OnBytes = unseen,
    ) -> None:
        """Take a consumer.

        Args:
            open_consumer: makes it, with ``stream=True``; takes ``on_abandon=``.
            folder: exists, and nothing else writes to it.
            keep_waiting: whether to wait on when the rest of a group does not come within ``group_wait_s``.
            max_bytes: the most bytes of a file, whatever its sender says; a longer one goes to quarantine, cut.
            on_bytes: is told how far a file is.

        Raises GroupUsage, OSError, MQGroupsError: see ``FileSink`` and ``group_consumer``.
        """
        self.consumer = open_consumer(on_abandon=self._abandoned)
        self._folder = folder
        self._keep_waiting = keep_waiting
        self._max_bytes = max_bytes
        self._on_bytes = on_bytes
        try:
            self._sink = FileSink(folder, self.consumer, name_of=_name_of, check=self._check)
        except BaseException:
            self.consumer.close()
            raise

    def __iter__(self) -> Iterator[Received]:
        """Return the files as they are received, until the consumer ends.

        Raises:
            GroupStalled: the rest of a group does not come, and ``keep_waiting`` is not set.
            OSError: a file cannot be written; it names the file or the folder.
            MQGroupsError: as ``GroupConsumer``. The next start goes on.
        """
        try:
            yield from self._received()
        except OSError as error:
            # What fails when data is written names no file.
            error.filename = error.filename or str(self._folder)
            raise

    def _received(self) -> Iterator[Received]:
        yield from self._in_place()
        groups = iter(self.consumer)
        while True:
            try:
                group = next(groups, None)
                if group is None:
                    return
                with self._sink.file(group) as file:
                    about = Description.of_group(group.properties)
                    path = _known_as(about, group)
                    most = self._max_bytes if about.data_bytes is None else min(about.data_bytes, self._max_bytes)
                    for message in group:
                        for data in message.chunks():
                            # A group may go on for ever. One byte too many shows that the file is wrong, also to the next start.
                            room = most + 1 - file.tell()
                            file.write(data if len(data) <= room else data[: max(0, room)])
                            self._on_bytes("receiving", path, file.tell(), about.total)
            except GroupAbandoned:
                # It is committed, and the sink has the reason.
                self._sink.finish()
                groups = iter(self.consumer)
            except GroupStalled as error:
                if not self._keep_waiting:
                    raise
                _log.warning("%s. Waiting on", error)
                groups = iter(self.consumer)
                continue
            yield from self._in_place()

    def _in_place(self) -> Iterator[Received]:
        """Yield the file that is in place since the last call; at first the one that the last start left."""
        finished, self._sink.finished = self._sink.finished, None
        if finished is not None:
            # Until the next commit, the sink's checkpoint is about this file.
            about: Any = self.consumer.checkpoint
            yield Received(*finished, about["bytes"], about["key"][: 2 * GROUP_ID_LENGTH])

    def _check(self, group: IncomingGroup, path: Path) -> str:
        about = Description.of_group(group.properties)
        name = _known_as(about, group)
        if path.stat().st_size > self._max_bytes:
            return f"the file has more than the {self._max_bytes} bytes that this receiver takes"
        reason = about.wrong(path, lambda doing, _, done, total: self._on_bytes(doing, name, done, total))
        if not reason:
            about.set_time(path)
        return reason

    def _abandoned(self, error: GroupAbandoned) -> None:
        self._sink.fail(error.reason or f"the sender gave up with result {error.result}")


def _name_of(group: IncomingGroup) -> str:
    return Description.of_group(group.properties).name


def _known_as(about: Description, group: IncomingGroup) -> Path:
    """Return what the operator knows a file by: its own name, not its hidden one."""
    return Path(about.name or short_id(group.key))

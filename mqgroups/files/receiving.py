"""``FileReceiver``: makes files from groups. A file that is not as it was sent goes to quarantine, with the reason."""

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
    """A received file.

    Attributes:
        path: where the file is.
        reason: why the file is in quarantine; empty if the file is as it was sent.
        data_bytes: the file's length.
        group_id: the GroupId of the file's group, in hexadecimal digits.
    """

    path: Path
    reason: str
    data_bytes: int
    group_id: str


class FileReceiver:
    """Receives files into a folder with one consumer, and uses the consumer's checkpoint."""

    def __init__(
        self,
        open_consumer: Callable[..., GroupConsumer],
        folder: Path,
        *,
        keep_waiting: bool,
        max_bytes: int = sys.maxsize,
        on_bytes: OnBytes = unseen,
    ) -> None:
        """Make the consumer.

        Args:
            open_consumer: called with ``on_abandon``. It returns a consumer that has this ``on_abandon``, and ``stream=True``.
            folder: an existing folder that nothing else writes to.
            keep_waiting: whether to continue waiting if the rest of a group does not come within ``group_wait_s``.
            max_bytes: the maximum length of a file. A longer file is cut and quarantined, whatever its description says.
            on_bytes: called with the progress of each file.

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
        """Yield each file when it is received, until the consumer ends.

        Raises:
            GroupStalled: the rest of a group does not come, and ``keep_waiting`` is not set.
            OSError: a file cannot be written. The error names the file or the folder.
            MQGroupsError: an error of ``GroupConsumer``. The next start continues.
        """
        try:
            yield from self._received()
        except OSError as error:
            # An error while data is written names no file.
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
                            # A group may have no end. One byte too many shows that the file is wrong, even to the next start.
                            room = most + 1 - file.tell()
                            file.write(data if len(data) <= room else data[: max(0, room)])
                            self._on_bytes("receiving", path, file.tell(), about.total)
            except GroupAbandoned:
                # The group is committed, and the sink has the reason.
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
        """Yield the file that was renamed since the last call, if any. The first call yields a file that the last start left."""
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
    """Return the name under which operators know the file, instead of the file's hidden name."""
    return Path(about.name or short_id(group.key))

"""FileSink: makes a file from each group, exactly once, even if the program or the queue manager is killed.

    with qmgr.group_consumer("ORDERS", name="ORDERS.SINK") as consumer:
        sink = mqgroups.FileSink("/var/orders", consumer)
        for group in consumer:
            with sink.file(group) as file:
                for message in group:
                    file.write(message.data + b"\\n")

A file is written under a hidden name. Before each commit the file is made durable, and its hidden name and length become the
consumer's checkpoint. After a crash the next start copies the committed part to a new hidden file, and appends the messages that
come again. After the group's last commit the file is renamed. If the program dies between this commit and the renaming, the
checkpoint shows this, and the next start renames the file. So a file without a hidden name is whole, and is never changed again.
The sink recognizes a group by its key, and does not use the name of an existing file again.

A process that was paused for a while may continue after the next start of the program. It cannot commit any longer, but it may
still write. Therefore each start has its own number in its hidden names, and removes only files with lower numbers.

A file that ``check`` finds wrong, or that the application rejects with ``fail``, goes to the folder ``quarantine``, next to a
file with the reason. If the rest of a group has gone to the backout queue, the group's file goes to this folder, too.

The checkpoint of the consumer belongs to the sink, and remains when the consumer is closed. When the sink is not used any longer,
remove the checkpoint with ``consumer.forget()``.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

from mqgroups.core.group_key import may_be_same, short_id
from mqgroups.errors import ConfigurationError, GroupUsage
from mqgroups.get.consumer import GroupConsumer
from mqgroups.get.group import IncomingGroup
from mqgroups.printable import LONGEST, printable

QUARANTINE = "quarantine"
_REASON = ".reason"
# The longest name in a checkpoint, in characters. File systems allow no name with more bytes than that.
_LONGEST_NAME = 255
_PARTS = ".*.part"
_BLOCK_BYTES = 1 << 20


class FileSink:
    """A folder with the files of one consumer's groups. Nothing else may write to the folder.

    Attributes:
        finished: the path of the file that was finished last, and why it is in quarantine (empty if it is not); ``None`` before
            the first file is finished.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        consumer: GroupConsumer,
        *,
        name_of: Callable[[IncomingGroup], str] = attrgetter("name"),
        check: Callable[[IncomingGroup, Path], str] | None = None,
    ) -> None:
        """Finish the file that the last start has left, and attach this sink to the consumer.

        Args:
            folder: an existing folder.
            consumer: a consumer without a checkpoint, or with the checkpoint of an earlier ``FileSink``.
            name_of: returns the name of a group's file; by default the group's name.
            check: called when the whole file is on disk, before the last commit. It returns why the file is wrong, else ``""``.

        Raises:
            ConfigurationError: ``consumer`` is not a consumer, or is a consumer for asyncio.
            GroupUsage: the consumer has a checkpoint of another kind.
            OSError: the folder does not exist, or a file cannot be renamed.
        """
        if not isinstance(consumer, GroupConsumer):
            raise ConfigurationError(f"consumer must be an mqgroups.GroupConsumer, got {consumer!r}")
        self._folder = Path(folder)
        os.close(os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY))
        self._consumer = consumer
        self._name_of = name_of
        self._check = check
        self._file: BinaryIO | None = None
        self._place: _Place | None = None
        self._failure = ""
        self.finished: tuple[Path, str] | None = None
        # Later starts have higher numbers, even if a clock is set back while files of this start exist.
        self._start = max([time.time_ns(), *(_start_of(part) + 1 for part in self._folder.glob(_PARTS))])
        # The file of an earlier start that the checkpoint names, until a commit names another file.
        self._earlier: Path | None = None
        self.finish()
        self._remove_left_over()
        # If an error prevented the renaming of the last group's file, only the checkpoint has its name.
        consumer.attach(before_commit=self._before_commit, before_forget=self.finish)

    @contextlib.contextmanager
    def file(self, group: IncomingGroup) -> Iterator[BinaryIO]:
        """Return the file of a group, for a ``with`` statement around the iteration over its messages.

        The file's name is the group's name, or the GroupId if a file cannot have the group's name. If a file of that name exists
        already, ``.`` and the GroupId are appended. If that name exists, too, the first message's MsgId is appended instead. If
        all these names exist, a random number follows the MsgId. For a message without a group, its MsgId replaces the GroupId.

        Raises:
            GroupUsage: when the block is entered, because the beginning of the group or of its file is missing.
            OSError: when the block is entered, because the file cannot be opened.
        """
        file = self._begin(group)
        in_order = False
        try:
            yield file
            in_order = True
        finally:
            # A block that was interrupted while it was entered may end only after the next block has a file.
            if self._file is file:
                self._file = self._place = None
            file.close()
            if in_order:
                self.finish()

    def _begin(self, group: IncomingGroup) -> BinaryIO:
        """Open the file of a group. The file contains the data that is committed."""
        self.finish()
        place, key = _Place.of(group.checkpoint), group.key.hex()
        if place is not None and (place.ended or not may_be_same(bytes.fromhex(place.key), group.key)):
            place = None
        if place is None and not group.resume_from:
            place = _Place(self._free_name(group), key, self._part(key).name, 0)
        if place is None:
            raise GroupUsage(
                f"{group.resume_from} messages of group {group.group_id.hex()} were consumed without this sink, so its file "
                "would have no beginning. Get the rest of the group without the sink"
            )
        key = place.key
        committed, own = self._folder / place.part, self._part(key)
        self._check_length(committed, place.length)
        with contextlib.ExitStack() as undo:
            file = undo.enter_context(open(own, "ab", opener=_no_link))
            if committed == own:
                file.truncate(place.length)
            else:
                file.truncate(0)
                _copy(committed, file, place.length)
            make_durable(self._folder)
            undo.pop_all()
        place = replace(place, part=own.name)
        self._file, self._place, self._failure = file, place, ""
        return file

    def fail(self, reason: str) -> None:
        """Put the file of the present group in quarantine when the group ends, even if the group is abandoned."""
        self._failure = reason[:LONGEST]

    def finish(self) -> None:
        """Rename the file of the last group that ended, if it is still hidden. Remove hidden files that no checkpoint names."""
        place = _Place.of(self._consumer.checkpoint)
        if place is not None and place.ended and (hidden := self._folder / place.part).exists():
            # A name that was free when the group began may be taken by now. rename() is the only operation after which the hidden
            # file is gone, even if the new file is removed at once. It would replace a file, so it gets a name that is free.
            target = self._folder / free_name(self._folder, place.name)
            if place.wrong:
                quarantine = self._folder / QUARANTINE
                # Users who are allowed to read received files are not automatically allowed to read rejected files.
                quarantine.mkdir(mode=0o700, exist_ok=True)
                target = quarantine / free_name(
                    quarantine, place.name, short_id(bytes.fromhex(place.key)), beside=_REASON
                )
                target.with_name(f"{target.name}{_REASON}").write_text(f"{printable(place.wrong)}\n", encoding="utf-8")
                make_durable(target.parent)
            hidden.rename(target)
            make_durable(target.parent)
            make_durable(self._folder)
            self.finished = target, place.wrong
        committed = "" if place is None or place.ended else place.part
        for own in self._folder.glob(f".{self._start}.*.part"):
            if own.name != committed:
                own.unlink()
        if self._earlier is not None and self._earlier.name != committed:
            self._earlier.unlink(missing_ok=True)
            self._earlier = None

    def _before_commit(self, group: IncomingGroup) -> None:
        file, place = self._file, self._place
        if file is None or place is None:
            raise GroupUsage("the group's messages were got outside of `with sink.file(group)`")
        file.flush()
        os.fsync(file.fileno())
        wrong, ended = self._failure, group.ends
        if group.quarantined is not None:
            # The file is kept, because the processed messages of the group are nowhere else.
            wrong = wrong or str(group.quarantined)[:LONGEST]
        elif group.abandoned is not None:
            # The file of an abandoned group is removed, except if the application calls it wrong.
            ended = bool(wrong)
        elif ended and not wrong and self._check is not None:
            wrong = self._check(group, self._folder / place.part)[:LONGEST]
        place = _Place(place.name, place.key, place.part, file.tell(), ended, wrong if ended else "")
        group.set_checkpoint(place.checkpoint)

    def _check_length(self, hidden: Path, committed: int) -> None:
        length = hidden.stat().st_size if hidden.exists() else 0
        if length < committed:
            raise GroupUsage(
                f"{hidden} has {length} bytes, and {committed} are committed. Another program has changed the folder, or "
                "it is not the one of the last start. Put the file back, or get the rest of the group without the sink"
            )

    def _part(self, key: str) -> Path:
        # The hidden name has the key, because another group may have the same name or GroupId.
        return self._folder / f".{self._start}.{key}.part"

    def _remove_left_over(self) -> None:
        """Remove the hidden files of earlier starts, except the file that the checkpoint of an interrupted group names."""
        place = _Place.of(self._consumer.checkpoint)
        for part in self._folder.glob(_PARTS):
            if place is not None and part.name == place.part:
                self._earlier = part
            elif _start_of(part) < self._start:
                part.unlink(missing_ok=True)

    def _free_name(self, group: IncomingGroup) -> str:
        name, short, msg_id = self._name_of(group), short_id(group.key), group.key[len(group.group_id) :].hex()
        return free_name(self._folder, *((name, "", short, msg_id) if _is_name(name) else (short, "", msg_id)))


def free_name(folder: Path, name: str, *ends: str, beside: str = "") -> str:
    """Return ``name`` with the first suffix of ``ends`` that makes a new name in the folder; else add a random suffix.

    Characters that the locale lacks are escaped. If the name would be too long for the file system with its suffix and
    ``beside``, the part before the suffix is cut.
    """
    encoding, most = sys.getfilesystemencoding(), os.pathconf(folder, "PC_NAME_MAX") - len(beside)
    try:
        written = os.fsencode(name)
    except UnicodeEncodeError:
        written = name.encode(encoding, "backslashreplace")
    suffixes = [f".{end}" if end else "" for end in ends or ("",)]
    for suffix in (*suffixes, f"{suffixes[-1]}.{secrets.token_hex(8)}"):
        room = most - len(suffix)
        found = (os.fsdecode(written) if len(written) <= room else written[:room].decode(encoding, "ignore")) + suffix
        if (suffix or len(written) <= most) and not os.path.lexists(folder / found):
            break
    return found


def _is_name(name: str) -> bool:
    """Return whether a file is allowed to have this name, which comes from a message.

    The name must not lead out of the folder or hide the file. A command must not take the name for an option.
    """
    return (
        0 < len(name) <= _LONGEST_NAME
        and name.isprintable()
        and not name.startswith((".", "-"))
        and "/" not in name
        and name != QUARANTINE
    )


def make_durable(folder: Path) -> None:
    """Make the entries of a folder durable, by ``fsync``."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _start_of(part: Path) -> int:
    number = part.name.split(".")[1]
    return int(number) if number.isdecimal() else 0


def _copy(source: Path, target: BinaryIO, length: int) -> None:
    """Copy the first ``length`` bytes of a file. Raises GroupUsage if the file is shorter."""
    if not length:
        return
    with open(source, "rb", opener=_no_link) as file:
        while length:
            data = file.read(min(length, _BLOCK_BYTES))
            if not data:
                raise GroupUsage(f"{source} was cut while it was copied. Another program has changed the folder")
            target.write(data)
            length -= len(data)


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


@dataclass(frozen=True, slots=True)
class _Place:
    """The values of a checkpoint. ``key`` is the group's key in hexadecimal digits, ``part`` is the hidden name of the file,
    ``length`` is the file's committed length, and ``wrong`` is the reason why the file goes to quarantine.
    """

    name: str
    key: str
    part: str
    length: int
    ended: bool = False
    wrong: str = ""

    @property
    def checkpoint(self) -> dict[str, Any]:
        return dict(zip(_KEYS, astuple(self), strict=True))

    @classmethod
    def of(cls, checkpoint: Any) -> _Place | None:
        """Return the values of a checkpoint. Raises GroupUsage if no sink can have made the checkpoint.

        The check is strict, because any user who may put to the status queue can change a checkpoint, and the names become paths.
        """
        match checkpoint:
            case None:
                return None
            case {
                "file": str(name),
                "key": str(key),
                "part": str(part),
                "bytes": int(length),
                "ended": bool(ended),
                "wrong": str(wrong),
                **others,
            } if (
                not others
                and length >= 0
                and re.fullmatch("[0-9a-f]{96}", key)
                and re.fullmatch(rf"\.[0-9]{{1,20}}\.{key}\.part", part)
                and _is_name(name)
            ):
                return cls(name, key, part, length, ended, wrong)
        raise GroupUsage(
            "the consumer has a checkpoint that is not a FileSink's. Give the sink a consumer of its own. If it has one, its "
            "status record was changed: get the rest of the interrupted group without the sink, and call "
            "consumer.forget()"
        )


_KEYS = ("file", "key", "part", "bytes", "ended", "wrong")

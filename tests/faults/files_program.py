"""The applications of the campaign for files: one writes each group to a file, the other one sends each file as a group."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import mqgroups
from mqgroups.files.sending import FileSender, Records
from tests.faults.directory import temporary_directory
from tests.faults.pattern import Pattern
from tests.faults.programs import GetProgram, PutProgram
from tests.faults.reader import Reader


class FilesProgram(GetProgram):
    """Gets groups until there are none. The sink has the checkpoint, and the folder is what it writes down."""

    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        super().__init__(pattern, queue, name)
        self._directory = temporary_directory()
        self._folder = Path(self._directory.name)

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        consumer = super()._make(connection)
        self._sink = mqgroups.FileSink(self._folder, consumer)
        return consumer

    def work(self, consumer: Any) -> None:
        for group in consumer:
            with self._sink.file(group) as file:
                for message in group:
                    file.write(message.data + b"\n")

    def wrong(self, reader: Reader) -> str:
        left = reader.browse(self.queue)
        if left:
            return f"{len(left)} messages left on the queue"
        names = sorted(path.name for path in self._folder.iterdir())
        if len(names) != self.pattern.groups:
            return f"{len(names)} files, {self.pattern.groups} groups were to be got: {names}"
        return self.wrong_on_the_way(reader)

    def wrong_on_the_way(self, reader: Reader) -> str:  # noqa: ARG002 - the files are not at the queue manager
        """A file that a reader sees is whole."""
        whole = b"".join(payload + b"\n" for payload in self._payloads)
        seen = {path.name: path.read_bytes() for path in self._folder.iterdir() if not path.name.startswith(".")}
        return next((f"file {name} is not whole: {data!r}" for name, data in seen.items() if data != whole), "")

    def close(self) -> None:
        self._directory.cleanup()
        super().close()


class SentProgram(PutProgram):
    """Sends files, a line as a message, and moves each to an archive; one that is there need not be sent."""

    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        super().__init__(pattern, queue, name)
        self._directory = temporary_directory()
        self._source, self._archive = (Path(self._directory.name, each) for each in ("source", "archive"))
        self._payloads = [payload + b"\n" for payload in self._payloads]

    def prepare(self, reader: Reader) -> None:
        super().prepare(reader)
        self._archive.mkdir()
        self._source.mkdir()
        for number in range(self.pattern.groups):
            (self._source / f"{number}").write_bytes(b"".join(self._payloads))

    def work(self, producer: Any) -> None:
        sender = FileSender(producer, records=Records.of("lines"), archive=self._archive)
        for path in sender.in_order({self._source / f"{number}": None for number in range(self.pattern.groups)}):
            # A zombie may find a file moved by its successor.
            with contextlib.suppress(FileNotFoundError):
                sender.send(path)
        sender.finish()

    def wrong(self, reader: Reader) -> str:
        left = [path.name for path in self._source.iterdir()]
        there = sorted(path.name for path in self._archive.iterdir())
        if left or there != [f"{number}" for number in range(self.pattern.groups)]:
            return f"files {left} left, {there} in the archive"
        return super().wrong(reader)

    def close(self) -> None:
        self._directory.cleanup()
        super().close()

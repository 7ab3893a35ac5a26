"""The application of the campaign that writes each group to a file, with ``mqgroups.FileSink``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mqgroups
from tests.faults.directory import temporary_directory
from tests.faults.pattern import Pattern
from tests.faults.programs import GetProgram
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

"""The programs of a night, each a process of its own that dies by ``os._exit``.

``python -m tests.operate.programs`` is warm: it has imported everything and made no MQ call. It forks a program for each line of
its standard input, and each program answers with one line.

The rows of a group are ``1`` to ``7``. A program says which rows it was given, before it dies: which of them are committed, the
reader of the answer finds out.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mqgroups
from mqgroups.errors import MQGroupsError

ROWS = [b"%d" % number for number in range(1, 8)]
_QUIET = {"commit_every": 2, "owner_wait_s": 0}
_PUTS, _GETS = {"full_wait_s": 0}, {"wait_s": 0, "group_wait_s": 0}


@dataclass(slots=True)
class _Program:
    """What a program was told, and which rows it was given."""

    asked: dict[str, Any]
    rows: list[tuple[str, int, str]] = field(default_factory=list)

    def run(self) -> None:
        asked = self.asked
        with mqgroups.connect(**asked["where"], reconnect_wait_s=0) as q_mgr:
            if asked["role"] == "put":
                with q_mgr.group_producer(asked["to"], **self._settings(_PUTS)) as producer, producer.group() as group:
                    for number, data in enumerate(ROWS[group.resume_from :], group.resume_from + 1):
                        group.put(data)
                        self._at(number)
            elif asked["role"] == "get":
                with q_mgr.group_consumer(asked["from"], **self._settings(_GETS)) as consumer:
                    for incoming in consumer:
                        for message in incoming:
                            self._process(message)
                        self._at(len(ROWS) + 1)
            else:
                both = self._settings({**_GETS, **_PUTS})
                with q_mgr.group_pipe(asked["from"], asked["to"], **both) as pipe:
                    for incoming, outgoing in pipe:
                        for message in incoming:
                            self._process(message, outgoing)

    def _settings(self, more: dict[str, Any]) -> dict[str, Any]:
        return {"name": self.asked["name"], **_QUIET, **more, **self.asked["settings"]}

    def _process(self, message: Any, outgoing: Any = None) -> None:
        self.rows.append((message.group_id.hex(), message.msg_seq_number, message.data.decode()))
        if message.data.decode() == self.asked["refuses"]:
            raise ZeroDivisionError
        if self.asked["reads_text"]:
            _ = message.text
        if outgoing is not None:
            outgoing.put(message.data)
        self._at(message.msg_seq_number)

    def _at(self, number: int) -> None:
        if number == self.asked["dies_at"]:
            self.answer()
            os._exit(9)
        if number == self.asked["hangs_at"]:
            self.answer()
            signal.pause()

    def answer(self, error: Exception | None = None) -> None:
        said = {
            "pid": os.getpid(),
            "rows": self.rows,
            "error": type(error).__name__ if error else "",
            "text": str(error),
        }
        print(json.dumps(said), flush=True)


def _forked(asked: dict[str, Any]) -> None:
    program = _Program(asked)
    try:
        program.run()
    except (MQGroupsError, ZeroDivisionError) as error:
        program.answer(error)
    else:
        program.answer()
    os._exit(0)


@contextlib.contextmanager
def programs(environment: dict[str, str], binding: str) -> Iterator[Any]:
    """Yield a function that runs a program, and returns its answer when it has ended, died, or hangs."""
    warm = subprocess.Popen(
        [sys.executable, "-m", __name__, binding],
        env={**os.environ, **environment, "MQGROUPS_MQI": binding},
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert warm.stdin is not None
    assert warm.stdout is not None

    to, back = warm.stdin, warm.stdout

    def run(**asked: Any) -> dict[str, Any]:
        defaults = {"dies_at": 0, "hangs_at": 0, "refuses": "", "reads_text": False, "settings": {}}
        to.write(json.dumps({**defaults, **asked}) + "\n")
        to.flush()
        answer: dict[str, Any] = json.loads(back.readline())
        return answer

    with warm:
        yield run
        to.close()


if __name__ == "__main__":
    importlib.import_module(sys.argv[1])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if os.fork() == 0:
            _forked(json.loads(line))

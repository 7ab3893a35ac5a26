"""A program inside the process of an embedded queue manager: it calls the verbs as functions, without a wire.

So processor time is that of the queue manager alone. Not here: what is measured (``growth.py``).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mqembedded import constants as mq
from mqembedded.calls import getting
from mqembedded.objects.attributes import LOCAL
from mqembedded.pubsub import opening, publishing
from mqembedded.queue_manager import QueueManager
from mqembedded.serve.start_up import started
from mqgroups.mqi import structures

_OPEN_OPTIONS = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT
_LIMIT = 999_999_999
_QUEUE = "GROWTH"


class _Awake:
    """The waiter of an application that never sleeps."""

    def wait(self, timeout_s: float | None) -> None:
        raise AssertionError(f"nothing waits here, {timeout_s} s")

    def wake(self) -> None:
        pass


class Program:
    """A connection with one open queue. Raises Failed where a verb fails, or finds no message."""

    def __init__(self, q_mgr: QueueManager) -> None:
        self._q_mgr = q_mgr
        self._connection = q_mgr.connect(
            _Awake(),
            q_mgr_name=q_mgr.name,
            channel_name="DEV.APP.SVRCONN",
            user="",
            password="",
            appl_name="bench",
            max_msg_length=0,
        )
        with q_mgr.lock:
            q_mgr.catalogue.define(LOCAL, _QUEUE, {mq.MQIA_MAX_Q_DEPTH: _LIMIT})
        answer = opening.open_object(q_mgr, self._connection, structures.od(_QUEUE), _OPEN_OPTIONS, b"")
        self._hobj: Any = answer[2][0]

    def put(self, options: int = mq.MQPMO_NO_SYNCPOINT, **fields: Any) -> None:
        """MQPUT of 100 bytes that are not persistent."""
        md = structures.md(persistence=mq.MQPER_NOT_PERSISTENT, **fields)
        pmo = structures.pmo(options | mq.MQPMO_SYNC_RESPONSE)
        publishing.put(self._q_mgr, self._connection, self._hobj, bytes(md), bytes(pmo), bytes(100))

    def get(self, options: int = mq.MQGMO_NO_SYNCPOINT, *, match: int = mq.MQMO_NONE, **fields: Any) -> None:
        """MQGET."""
        md, gmo = structures.md(**fields), structures.gmo(options, match_options=match)
        longest = self._connection.max_msg_length
        getting.get(self._q_mgr, self._connection, self._hobj, bytes(md), bytes(gmo), longest)


@contextmanager
def program() -> Iterator[Program]:
    """A program on a queue manager of its own."""
    with tempfile.TemporaryDirectory() as directory:
        q_mgr = started("GROWTH", Path(directory))
        try:
            yield Program(q_mgr)
        finally:
            q_mgr.close()

"""The queue manager that is measured on, and its queues."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mqembedded import EmbeddedQueueManager
from tests.bench.documents import ROOT

QUEUE, STATUS, MODEL = "BENCH", "BENCH.STATUS", "BENCH.MODEL"
_MQSC = f"""
DEFINE QLOCAL({QUEUE}) MAXDEPTH(999999999) DEFPSIST(YES) SHARE DEFSOPT(SHARED) REPLACE
DEFINE QLOCAL({STATUS}) MAXDEPTH(10) DEFPSIST(YES) NOSHARE DEFSOPT(EXCL) REPLACE
DEFINE QMODEL({MODEL}) DEFTYPE(PERMDYN) MAXDEPTH(999999999) DEFPSIST(YES) SHARE DEFSOPT(SHARED) REPLACE
"""


@contextmanager
def queue_manager(*, latency_ms: float = 0.0) -> Iterator[EmbeddedQueueManager]:
    """Start it, with the model of status queues."""
    with tempfile.TemporaryDirectory() as directory:
        mqsc = Path(directory, "bench.mqsc")
        mqsc.write_text(_MQSC)
        files = [ROOT / "docker" / "20-mqgroups.mqsc", mqsc]
        with EmbeddedQueueManager("BENCH", mqsc=files, command_server=False, latency_ms=latency_ms) as qmgr:
            yield qmgr


@contextmanager
def on_one_core(qmgr: EmbeddedQueueManager) -> Iterator[None]:
    """Have client and server share a core.

    They take turns and never work at the same time: on one core the way between them is shortest and, what counts more, always
    the same.
    """
    cores = os.sched_getaffinity(0)
    for pid in (qmgr.pid, 0):
        os.sched_setaffinity(pid, {min(cores)})
    yield
    os.sched_setaffinity(0, cores)

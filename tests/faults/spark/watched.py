"""The data source ``ibmmq`` with a watch on it: it knows which phase each thread of Spark's processes runs, and counts MQI calls.

Where a kill of the job (``Job.file``, named by the environment) fits, it is claimed by a file, so that it fires once among
all processes and starts. Source and sink are the package's own; only who calls them is noted.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mqgroups.mqi.binding import load_binding
from mqgroups.spark import connections, stream_source
from mqgroups.spark.batch_source import BundleReader
from mqgroups.spark.data_source import IbmMqDataSource
from mqgroups.spark.older import HAS_LIMITS
from mqgroups.spark.option import Use
from mqgroups.spark.options import sink_options, source_options
from mqgroups.spark.removal import Removers
from mqgroups.spark.sink import GroupStreamWriter
from mqgroups.spark.stream_source import GroupStreamReader, ReaderWithoutLimits
from tests.faults.spark import points
from tests.faults.spark.points import DRIVER, PAUSE, Kill

JOB_VARIABLE = "MQGROUPS_FAULTS_JOB"
# What a paused worker waits at.
RESUME = "resume"
_NAME_IN_OD = slice(12, 60)


class Watch:
    """Which phase this process is in, the calls it made in it, and the kills that wait for it."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._queues: dict[str, str] = job["queues"]
        self._kills = [Kill(**kill) for kill in job["kills"]]
        self._fired = Path(job["fired"])
        self._calls: Counter[tuple[Kill, str]] = Counter()
        self._names: dict[tuple[int, int], str] = {}
        self._binding = load_binding()
        self._thread = threading.local()
        self._paused = False

    # --- standing in for the binding

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._binding, name)
        return self._watched(name, found) if name.startswith("MQ") else found

    def _watched(self, verb: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any) -> Any:
            queue = "" if verb == "MQOPEN" else self._names.get(arguments[:2], "")
            self._at("before", verb, queue)
            answer = call(*arguments)
            if verb == "MQOPEN":
                hobj, od, *_ = answer
                name = bytes(od)[_NAME_IN_OD].rstrip(b" \0").decode()
                queue = self._names[arguments[0], hobj] = self._part(name)
            self._at("after", verb, queue)
            return answer

        return watched

    def _part(self, name: str) -> str:
        return "lock" if name.startswith("MQGROUPS.CLAIM.") else self._queues.get(name, "")

    # --- points

    @property
    def _phases(self) -> list[str]:
        """The phases of this thread, the one that runs last."""
        return self._thread.__dict__.setdefault("phases", [])

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Note that a phase runs; another one can be inside it."""
        self._phases.append(name)
        self._at("begin")
        try:
            yield
        except BaseException as error:
            self._tell_end(type(error).__name__)
            raise
        else:
            self._tell_end("")
            self._at("end")
        finally:
            self._phases.pop()

    def _at(self, when: str, verb: str = "", queue: str = "") -> None:
        if not self._phases:
            return
        for kill in self._kills:
            if (kill.phase, kill.when, kill.verb) != (self._phases[-1], when, verb) or kill.queue not in ("", queue):
                continue
            if kill.whom in DRIVER and len(list(self._fired.glob("*-process"))) < len(self._kills) - 1:
                continue
            self._calls[kill, when] += 1
            if self._calls[kill, when] == kill.nth and self._claimed(kill):
                self._pause() if kill.whom == PAUSE else points.kill_as_told(kill.whom)

    def _claimed(self, kill: Kill) -> bool:
        """Whether nobody has done this one yet."""
        file = self._fired / f"{self._kills.index(kill)}-{kill.whom}"
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        os.close(descriptor)
        return True

    def _pause(self) -> None:
        # The worker itself waits to be told: if it were stopped, the kernel would end or wake it when its JVM is killed.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        above = points.processes_above()
        self._paused = True
        resume = self._fired / RESUME
        os.mkfifo(resume)
        _write(self._fired / "paused", above)
        for pid in above:
            points.kill(pid, signal.SIGSTOP)
        resume.read_bytes()

    def _tell_end(self, error: str) -> None:
        """Leave word what became of a task that was paused."""
        if self._paused:
            _write(self._fired / "ended", error)


def _write(file: Path, what: object) -> None:
    """Write a file that is there whole or not at all."""
    part = file.with_suffix(".part")
    part.write_text(json.dumps(what))
    part.rename(file)


@cache
def _watch(_pid: int) -> Watch:
    watch = Watch(json.loads(Path(os.environ[JOB_VARIABLE]).read_text()))
    connections.load_binding = lambda: watch  # type: ignore[attr-defined]  # the campaign's own
    return watch


def watch() -> Watch:
    """Return this process's watch; a forked one has its own."""
    return _watch(os.getpid())


class WatchedBundles(BundleReader):
    """The part of the stream source that tasks have."""

    def read(self, partition):
        with watch().phase("read"):
            yield from super().read(partition)


class WatchedReader(GroupStreamReader if HAS_LIMITS else ReaderWithoutLimits):  # type: ignore[misc]  # as the data source does
    """The stream source."""

    def prepareForTriggerAvailableNow(self) -> None:
        with watch().phase("plan"):
            super().prepareForTriggerAvailableNow()

    def latestOffset(self, *asked):
        with watch().phase("plan"):
            return super().latestOffset(*asked)

    def partitions(self, start, end):
        with watch().phase("partitions"):
            return super().partitions(start, end)

    def __reduce__(self):
        return WatchedBundles, (self._options,)

    def _remove(self, offset) -> None:
        with watch().phase("removal"):
            super()._remove(offset)

    def _note_removed(self, *, wait) -> bool:
        with watch().phase("mark"):
            return super()._note_removed(wait=wait)


class WatchedRemovers(Removers):
    """The removers, each in a thread."""

    def _open(self) -> None:
        with watch().phase("remover"):
            super()._open()

    def _work(self, taker, waiting) -> None:
        with watch().phase("remover"):
            super()._work(taker, waiting)


stream_source.Removers = WatchedRemovers  # type: ignore[attr-defined]  # the campaign's own


class WatchedWriter(GroupStreamWriter):
    """The stream sink."""

    def write(self, iterator):
        with watch().phase("write"):
            return super().write(iterator)

    def commit(self, messages, batchId) -> None:  # noqa: N803 - Spark's
        with watch().phase("complete"):
            super().commit(messages, batchId)


class WatchedDataSource(IbmMqDataSource):
    """Format ``ibmmq-watched``: ``ibmmq`` for streams, under the watch."""

    @classmethod
    def name(cls) -> str:
        return "ibmmq-watched"

    def streamReader(self, schema):  # noqa: ARG002 - it is the source's own
        return WatchedReader(source_options(self.options, Use.STREAM_READ))

    def streamWriter(self, schema, overwrite):
        return WatchedWriter(schema, sink_options(self.options, Use.STREAM_WRITE), overwrite)

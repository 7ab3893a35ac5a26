"""A cluster of three queue managers to do harm to, and a reader that sees the instances of a cluster queue together."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mqembedded import EmbeddedCluster
from mqembedded.channels.settings import ChannelSettings
from mqembedded.serve.cluster_file import ClusterFile, QueueManagerEntry
from tests.faults.application import PATIENCE_S, Program
from tests.faults.cluster_programs import ALL, ClusterGetProgram
from tests.faults.forker import Forker
from tests.faults.machine import NAP_S, Machine, wait_s
from tests.faults.patterns import AnyProgram
from tests.faults.reader import Reader, Seen
from tests.faults.result import Result
from tests.faults.watch import Watch

_CLUSTER = "FAULTCLUS"
_CHANNELS = ChannelSettings(retry_s=0.05)
# The local instance is one of many.
_QUEUE = f"DEFINE QLOCAL({{}}) CLUSTER({_CLUSTER}) DEFBIND(GROUP) CLWLUSEQ(ANY) DEFPSIST(YES) SHARE DEFSOPT(SHARED)"


def embedded_cluster(directory: Path, mqsc: Path, **more: Any) -> EmbeddedCluster:
    """Return the cluster, not started; each queue manager reads the commands of a file at every start."""
    entries = tuple(QueueManagerEntry(name, "127.0.0.1:0", None, (mqsc,)) for name in ALL)
    return EmbeddedCluster(ClusterFile(_CLUSTER, entries, _CHANNELS), data=directory, log_level="ERROR", **more)


class ClusterReader(Reader):
    """The reader at one queue manager of a cluster. A cluster queue that it made is to it all its instances together.

    It looks at them when nothing is on its way. Channels promise no physical order, so messages are in that of their numbers.
    """

    def __init__(self, cluster: EmbeddedCluster, q_mgr_name: str) -> None:
        super().__init__(cluster[q_mgr_name])
        self._cluster = cluster
        self._here = q_mgr_name
        self._instances: dict[str, tuple[str, ...]] = {}
        # What deletes the definitions that lead to a remote queue.
        self._deletions: dict[str, list[tuple[Reader, str]]] = {}
        self._readers: dict[str, Reader] = {name: self if name == q_mgr_name else Reader(cluster[name]) for name in ALL}

    def make_cluster_queue(self, name: str, at: Sequence[str]) -> None:
        self._instances[name] = tuple(at)
        for q_mgr_name in at:
            self._readers[q_mgr_name].mqsc(_QUEUE.format(name))

    def make_remote_queue(self, name: str, at: str) -> None:
        """Let ``name.R`` lead to a queue at another queue manager by the alias FAR of that one, and by its own channel."""
        by = f"USAGE(XMITQ) DEFPSIST(YES) TRIGDATA({self._here}.{at})"
        made = [
            (self._readers[at], "QREMOTE", f"{name}.FAR", f"RQMNAME({at})"),
            (self, "QLOCAL", f"{name}.X", by),
            (self, "QREMOTE", f"{name}.R", f"RNAME({name}) RQMNAME({name}.FAR) XMITQ({name}.X)"),
        ]
        self._deletions[name] = [(reader, f"DELETE {kind}({each})") for reader, kind, each, _ in made]
        for reader, kind, each, attributes in made:
            reader.mqsc(f"DEFINE {kind}({each}) {attributes}")

    def delete(self, name: str) -> None:
        for reader, command in self._deletions.pop(name, []):
            reader.mqsc(command)
        at = self._instances.pop(name, ())
        if not at:
            super().delete(name)
        for q_mgr_name in at:
            self._readers[q_mgr_name].mqsc(f"DELETE QLOCAL({name}) PURGE")

    def put_group(self, name: str, messages: Sequence[Sequence[bytes]], **more: Any) -> bytes:
        group_id = super().put_group(name, messages, **more)
        self.wait_until_delivered()
        return group_id

    def browse(self, name: str) -> list[Seen]:
        at = self._instances.get(name, ())
        if not at:
            return super().browse(name)
        self.wait_until_delivered()
        found = [replace(seen, at=each) for each in at for seen in Reader.browse(self._readers[each], name)]
        return sorted(found, key=lambda seen: (seen.msg_seq_number, seen.offset))

    def is_in_use(self, name: str) -> bool:
        at = self._instances.get(name, ())
        if not at:
            return super().is_in_use(name)
        return any(Reader.is_in_use(self._readers[each], name) for each in at)

    def wait_until_delivered(self) -> None:
        """Wait until no channel has a message to send or in doubt; raises TimeoutError."""
        deadline_s = time.monotonic() + PATIENCE_S
        while busy := [
            channel
            for each in self._cluster.queue_managers.values()
            for channel in each.control.channels()
            if channel["waiting"] or channel["in_doubt"]
        ]:
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"not delivered: {busy}")
            time.sleep(NAP_S)

    def close(self) -> None:
        super().close()
        for reader in self._readers.values():
            if reader is not self:
                reader.close()


class Member(Machine):
    """One queue manager of a cluster, and the programs there; the programs beside one are at the others."""

    def __init__(self, cluster: EmbeddedCluster, q_mgr_name: str, watch: Watch, forker: Forker) -> None:
        super().__init__(cluster[q_mgr_name], ClusterReader(cluster, q_mgr_name), watch, forker)
        self._embedded = cluster[q_mgr_name]
        self._others = {
            name: Machine(cluster[name], Reader(cluster[name]), watch, forker) for name in ALL if name != q_mgr_name
        }
        self._beside: dict[str, int] = {}

    @contextlib.contextmanager
    def disturbed(self, draw: random.Random) -> Iterator[None]:
        """Have a channel from here deliver messages in another order, or break around its next batch; or leave it alone."""
        to = draw.choice([*self._others])
        what = draw.choice(("", "interleaved", "before", "after"))
        self._embedded.control.interleave_channel(to, draw.randrange(1000) if what == "interleaved" else None)
        self._embedded.control.cut_channel(to, what if what in ("before", "after") else "")
        yield
        self._embedded.control.interleave_channel(to, None)
        self._embedded.control.cut_channel(to, "")

    @contextlib.contextmanager
    def prepared(self, program: AnyProgram) -> Iterator[None]:
        with super().prepared(program):
            beside = program.beside if isinstance(program, ClusterGetProgram) else {}
            for one in beside.values():
                one.wait_s = wait_s(self.hides)
            self._beside = {at: self._others[at].fork(one) for at, one in beside.items()}
            yield

    def look(self, program: AnyProgram, result: Result, patience_s: float = PATIENCE_S) -> None:
        """Wait for the programs beside it too, and look at what they left."""
        for at, pid in self._beside.items():
            other, status_queue = self._others[at], f"MQGROUPS.GET.{program.name}"
            if code := other.reap(pid):
                result.wrong.append(f"the consumer at {at} ended with exit code {code}")
            if left := other.reader.browse(status_queue):
                result.wrong.append(f"on the status queue at {at}: {[seen.data for seen in left]}")
            other.reader.delete(status_queue)
        super().look(program, result, patience_s)

    def snapshot(self, program: Program) -> dict[str, list[Seen]]:
        found = super().snapshot(program)
        if self._beside:
            # Those at the other instances have not ended yet, perhaps.
            del found[program.queue]
        return found

    def stop(self) -> None:
        for other in self._others.values():
            other.reader.close()
        super().stop()

"""Starts a cluster of embedded queue managers. Each queue manager is a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from mqembedded.cluster.membership import Membership
from mqembedded.readings import CLEANUP_GAP_S, Readings
from mqembedded.serve.cluster_file import ClusterFile, QueueManagerEntry, read
from mqembedded.serve.launcher import EmbeddedQueueManager, temporary_directory

_REPOSITORY = "repository"


def queue_manager(
    described: ClusterFile,
    entry: QueueManagerEntry,
    data: Path,
    *,
    mqsc: Sequence[Path | str] = (),
    users: Mapping[str, str] | None = None,
    log_level: str = "WARNING",
    readings: Mapping[str, str] | None = None,
    cleanup_gap_s: float = CLEANUP_GAP_S,
) -> EmbeddedQueueManager:
    """Return a queue manager of a cluster, without starting the queue manager.

    Args:
        described: the cluster.
        entry: the queue manager.
        data: the cluster's directory, where the members exchange files. If ``entry`` names no data directory, the queue manager's
            data is in a folder of this directory.
        mqsc: MQSC files that the queue manager reads before the MQSC files of the cluster file.
        users: passwords by user.
        log_level: the level of the server's log on standard error.
        readings: see ``EmbeddedQueueManager``.
        cleanup_gap_s: see ``EmbeddedQueueManager``.
    """
    return EmbeddedQueueManager(
        entry.name,
        listen=entry.listen,
        data=entry.data or data / entry.name,
        mqsc=[*mqsc, *entry.mqsc],
        users=users,
        log_level=log_level,
        membership=membership(described, data),
        readings=readings,
        cleanup_gap_s=cleanup_gap_s,
    )


def membership(described: ClusterFile, data: Path) -> Membership:
    """Return the data that each member needs to join the cluster; ``data`` is the cluster's directory."""
    return Membership(described.cluster, described.names, str((data / _REPOSITORY).resolve()), described.channels)


class EmbeddedCluster:
    """A cluster of queue managers. As a context manager, it starts the queue managers on entry and stops them on exit.

    Each member is an ``EmbeddedQueueManager`` that you can kill and start again while the other members run::

        with EmbeddedCluster("docker/cluster/cluster.toml") as cluster:
            connection = pymqi.connect("QM1", cluster["QM1"].channel, cluster["QM1"].conn_name)
            cluster["QM2"].kill()
            cluster["QM2"].start()
            cluster["QM1"].control.stop_channel("QM3")
    """

    def __init__(
        self,
        file: Path | str | ClusterFile,
        *,
        data: Path | str | None = None,
        mqsc: Sequence[Path | str] = (),
        users: Mapping[str, str] | None = None,
        log_level: str = "WARNING",
        readings: Mapping[str, str] | None = None,
        cleanup_gap_s: float = CLEANUP_GAP_S,
    ) -> None:
        """Set up the cluster, without starting it.

        Args:
            file: the cluster file, or its content.
            data: the cluster's directory; None means a temporary directory, which is deleted on exit.
            mqsc: MQSC files that every queue manager reads before the MQSC files of the cluster file.
            users: passwords by user, the same for all members.
            log_level: the level of the servers' logs on standard error.
            readings: see ``EmbeddedQueueManager``; the same for all members.
            cleanup_gap_s: see ``EmbeddedQueueManager``.

        Raises:
            ClusterFileError: the file does not describe a cluster.
            ReadingError: there is no such reading or value.
        """
        # An unknown reading raises here, before there is anything to clean up.
        Readings(readings, cleanup_gap_s=cleanup_gap_s)
        self.file = file if isinstance(file, ClusterFile) else read(Path(file))
        self._temporary = temporary_directory() if data is None else None
        self.data = Path(self._temporary.name if self._temporary else data or "")
        self.queue_managers = {
            entry.name: queue_manager(
                self.file,
                entry,
                self.data,
                mqsc=mqsc,
                users=users,
                log_level=log_level,
                readings=readings,
                cleanup_gap_s=cleanup_gap_s,
            )
            for entry in self.file.queue_managers
        }

    def __getitem__(self, q_mgr_name: str) -> EmbeddedQueueManager:
        return self.queue_managers[q_mgr_name]

    def __enter__(self) -> EmbeddedCluster:
        try:
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._temporary is not None:
            self._temporary.cleanup()

    def start(self) -> None:
        """Start every queue manager that is not running. Raises EmbeddedQueueManagerError."""
        for each in self.queue_managers.values():
            if not each.is_running:
                each.start()

    def stop(self) -> None:
        """Stop all queue managers cleanly."""
        for each in self.queue_managers.values():
            each.stop()

"""What ``mqgroups embedded run --cluster`` and ``mqgroups embedded channel`` do. A leaf; the options are in ``cli.py``."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from mqgroups.embedded import Control, EmbeddedCluster
from mqgroups.embedded.readings import Readings
from mqgroups.embedded.serve import process as server
from mqgroups.embedded.serve.cluster_file import ClusterFile, ClusterFileError, QueueManagerEntry
from mqgroups.embedded.serve.cluster_launcher import membership

_WATCH_S = 0.5


def serve_all(
    described: ClusterFile,
    data: Path,
    mqsc: Sequence[Path],
    users: Mapping[str, str],
    log_level: str,
    say: Callable[[str], None],
    readings: Mapping[str, str],
) -> None:
    """Serve every queue manager of a cluster, each in a process of its own, until SIGTERM or SIGINT.

    One that ends by itself, or is killed, is not started again; it is said how to.
    """
    to_stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: to_stop.set())
    with EmbeddedCluster(
        described, data=data, mqsc=mqsc, users=users, log_level=log_level, readings=readings
    ) as cluster:
        say(f"Cluster {described.cluster} (embedded: for development, not IBM MQ) is ready; data in {data}")
        for name, q_mgr in cluster.queue_managers.items():
            say(f"  {name:12} {q_mgr.conn_name}, channel {q_mgr.channel}, data {q_mgr.data}")
        running = dict(cluster.queue_managers)
        while not to_stop.wait(_WATCH_S):
            for name in [name for name, q_mgr in running.items() if not q_mgr.is_running]:
                code = running.pop(name).wait()
                say(f"  {name} has ended ({code}); start it again with --qmgr {name} in another terminal")


def serve_one(
    described: ClusterFile,
    q_mgr_name: str,
    data: Path,
    mqsc: Sequence[Path],
    users: Mapping[str, str],
    say: Callable[[str], None],
    readings: Mapping[str, str],
) -> None:
    """Serve one queue manager of a cluster in this process; raises ClusterFileError if it is not in the file."""
    entry = next((each for each in described.queue_managers if each.name == q_mgr_name), None)
    if entry is None:
        raise ClusterFileError(f"cluster {described.cluster} has {', '.join(described.names)}, and no {q_mgr_name}")
    directory = _directory(entry, data)
    directory.mkdir(parents=True, exist_ok=True)
    host, _, port = entry.listen.rpartition(":")

    def ready(host: str, port: int, *_: object) -> None:
        say(
            f"Queue manager {q_mgr_name} of cluster {described.cluster} is ready at {host}({port}); data in {directory}"
        )

    files = [*mqsc, *entry.mqsc]
    server.run(
        q_mgr_name,
        host,
        int(port),
        directory,
        files,
        users,
        ready=ready,
        membership=membership(described, data),
        readings=Readings(readings),
    )


def _directory(entry: QueueManagerEntry, data: Path) -> Path:
    return entry.data or data / entry.name


def show_channels(control: Control) -> None:
    """Print the status of all channels."""
    for each in control.channels():
        doubt = f", {each['in_doubt']} in doubt" if each["in_doubt"] else ""
        problem = f" ({each['problem']})" if each["problem"] else ""
        click.echo(
            f"{each['channel']:20} {each['status']:9} {each['waiting']} waiting{doubt}, "
            f"{each['messages']} sent in {each['batches']} batches{problem}"
        )

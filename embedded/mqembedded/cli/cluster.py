"""The commands for clusters of embedded queue managers: ``mqembedded run --cluster`` and ``mqembedded channel``."""

from __future__ import annotations

import queue
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqembedded.cli.manners import data_option, one_message

if TYPE_CHECKING:
    from mqembedded import Control
    from mqembedded.serve.cluster_file import ClusterFile

_WATCH_S = 0.5


def serve_all(
    described: ClusterFile,
    data: Path,
    mqsc: Sequence[Path],
    users: Mapping[str, str],
    log_level: str,
    readings: Mapping[str, str],
) -> None:
    """Serve all queue managers of a cluster, each in a process of its own, until SIGTERM or SIGINT.

    If a queue manager ends or is killed, it is not restarted, but a printed line explains how to restart it.
    """
    from mqembedded import EmbeddedCluster

    # A signal handler interrupts the thread that waits here, so the two must not share a lock, as they would with
    # threading.Event.
    to_stop: queue.SimpleQueue[None] = queue.SimpleQueue()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: to_stop.put(None))
    with EmbeddedCluster(
        described, data=data, mqsc=mqsc, users=users, log_level=log_level, readings=readings
    ) as cluster:
        click.echo(f"Cluster {described.cluster} (embedded: for development, not IBM MQ) is ready; data in {data}")
        for name, q_mgr in cluster.queue_managers.items():
            click.echo(f"  {name:12} {q_mgr.conn_name}, channel {q_mgr.channel}, data {q_mgr.data}")
        running = dict(cluster.queue_managers)
        while not _has_come(to_stop):
            for name in [name for name, q_mgr in running.items() if not q_mgr.is_running]:
                code = running.pop(name).wait()
                click.echo(f"  {name} has ended ({code}). Start it again with --qmgr {name} in another terminal")


def _has_come(to_stop: queue.SimpleQueue[None]) -> bool:
    """Wait for a moment, and return whether a signal to stop has come."""
    try:
        to_stop.get(timeout=_WATCH_S)
    except queue.Empty:
        return False
    return True


def serve_one(
    described: ClusterFile,
    q_mgr_name: str,
    data: Path,
    mqsc: Sequence[Path],
    users: Mapping[str, str],
    readings: Mapping[str, str],
) -> None:
    """Serve a queue manager of a cluster in this process; raise ClusterFileError if it is not in the cluster file."""
    from mqembedded.readings import Readings
    from mqembedded.serve import process as server
    from mqembedded.serve.cluster_file import ClusterFileError
    from mqembedded.serve.cluster_launcher import membership

    entry = next((each for each in described.queue_managers if each.name == q_mgr_name), None)
    if entry is None:
        raise ClusterFileError(
            f"cluster {described.cluster} has no queue manager {q_mgr_name}, only {', '.join(described.names)}"
        )
    directory = entry.data or data / entry.name
    host, _, port = entry.listen.rpartition(":")

    def ready(host: str, port: int, *_: object) -> None:
        click.echo(
            f"Queue manager {q_mgr_name} of cluster {described.cluster} is ready at {host}({port}); data in {directory}"
        )

    server.run(
        q_mgr_name,
        host,
        int(port),
        directory,
        [*mqsc, *entry.mqsc],
        users,
        ready=ready,
        membership=membership(described, data),
        readings=Readings(readings),
    )


@click.command()
@data_option
@click.option(
    "--to", default="", show_default=False, metavar="NAME", help="The queue manager that the channel leads to."
)
@click.option(
    "--delay-s", type=click.FloatRange(0), default=0.0, help="For 'slow': seconds before each batch; 0 ends the delay."
)
@click.option(
    "--seed", type=int, help="For 'interleave': the seed of the random order; without a seed the order is normal again."
)
@click.option(
    "--when",
    type=click.Choice(["before", "after"]),
    default="after",
    help="For 'cut': before or after the other end receives the batch.",
)
@click.option("--stop", is_flag=True, help="For 'cut': also stop the channel, so that the batch stays in doubt.")
@click.argument("action", type=click.Choice(["status", "stop", "start", "slow", "interleave", "cut"]))
def channel(data: Path, to: str, delay_s: float, seed: int | None, when: str, stop: bool, action: str) -> None:
    """Show, stop or start the channels of a queue manager in a cluster, or cause faults in them.

    \b
        status        show all channels
        stop          stop a channel at the end of its batch; later messages wait
        start         start a stopped channel
        slow          delay each batch
        interleave    deliver the messages of each batch in random order
        cut           break its connection before or after its next batch, which is then in doubt
    """
    if action != "status" and not to:
        raise click.UsageError(f"'{action}' needs --to")
    with one_message():
        from mqembedded import Control

        control = Control.of(data)
        if action == "status":
            _show_channels(control)
        elif action == "stop":
            control.stop_channel(to)
        elif action == "start":
            control.start_channel(to)
        elif action == "slow":
            control.slow_channel(to, delay_s)
        elif action == "interleave":
            control.interleave_channel(to, seed)
        else:
            control.cut_channel(to, when, stop=stop)


def _show_channels(control: Control) -> None:
    for each in control.channels():
        doubt = f", {each['in_doubt']} in doubt" if each["in_doubt"] else ""
        problem = f" ({each['problem']})" if each["problem"] else ""
        click.echo(
            f"{each['channel']:20} {each['status']:9} {each['waiting']} waiting{doubt}, "
            f"{each['messages']} sent in {each['batches']} batches{problem}"
        )

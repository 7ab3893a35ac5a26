"""Where the cluster under test is: embedded queue managers, three of IBM's containers, or three queue managers of yours.

The queue managers are QM1, QM2 and QM3 of the cluster GRPCLUS, as docker/cluster describes it: QM1 and QM2 hold the full
repositories. All have read the MQSC files of the single queue manager under test, and those of docker/cluster. Tests connect as
user app, except to clusters of their own.

    MQTEST_CLUSTER="QM1=host(1414),QM2=host(1415),QM3=host(1416)"      # with --mq=url
    MQTEST_CHANNEL, _USER, _PASSWORD                                   # as of the single queue manager
    MQTEST_ADMIN_CHANNEL, _ADMIN_USER, _ADMIN_PASSWORD                 # for MQSC commands, by the command server
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mqembedded import EmbeddedCluster, EmbeddedQueueManager
from mqembedded.channels.settings import ChannelSettings
from mqembedded.serve.cluster_file import ClusterFile, QueueManagerEntry
from mqembedded.testing.bindings import bindings, loaded
from mqembedded.testing.provision import Wanted
from mqembedded.testing.under_test import MQSC, QueueManagerUnderTest
from mqembedded.wire import pcf_constants as cf

GRPCLUS = "GRPCLUS"
NAMES = ("QM1", "QM2", "QM3")
USERS = {"app": "passw0rd"}
FOLDER = Path(__file__).parents[2] / "docker" / "cluster"
CLUSTER_MQSC = FOLDER / "30-cluster.mqsc"
# So that a channel's repeated attempts are over soon.
SETTINGS = ChannelSettings(mrrty=2, mrtmr=20, retry_s=0.05)
VARIABLE = "MQTEST_CLUSTER"
_DEFINE = re.compile(r"DEFINE (Q[A-Z]+)\(([^)]+)\)")

# An MQSC command -> whether it was done, and what was said.
Command = Callable[[str], tuple[bool, list[str]]]


@dataclass(frozen=True, slots=True)
class Site:
    """A running cluster.

    Attributes:
        members: where tests connect to, by queue manager: what ``connect`` and ``make_owner`` take.
        commands: what carries out MQSC commands, by queue manager, as an administrator.
        embedded: the embedded queue managers, where they are in the tests' hand.
    """

    members: Mapping[str, Any]
    commands: Mapping[str, Command]
    embedded: EmbeddedCluster | None = None


def described(names: tuple[str, ...] = NAMES, settings: ChannelSettings = SETTINGS) -> ClusterFile:
    """Return the description of a cluster of embedded queue managers, on any ports that are free."""
    entries = tuple(QueueManagerEntry(name, "127.0.0.1:0", None, (CLUSTER_MQSC,)) for name in names)
    return ClusterFile(GRPCLUS, entries, settings)


@contextmanager
def embedded(mqsc: Sequence[Path], users: Mapping[str, str], readings: Mapping[str, str]) -> Iterator[Site]:
    """Give a cluster of embedded queue managers, to which tests connect as user app."""
    everybody = {**USERS, **users}
    with EmbeddedCluster(described(), mqsc=[MQSC, *mqsc], users=everybody, readings=readings) as cluster:
        members = {
            name: QueueManagerUnderTest(
                q_mgr_name=name,
                channel=each.channel,
                conn_name=each.conn_name,
                user="app",
                password=USERS["app"],
                queue_manager=each,
            )
            for name, each in cluster.queue_managers.items()
        }
        yield Site(members, in_hand(cluster).commands, cluster)


def in_hand(cluster: EmbeddedCluster) -> Site:
    """Return a cluster whose queue managers are the members themselves, reached as who runs the tests."""
    commands: dict[str, Command] = {
        name: functools.partial(_control, each) for name, each in cluster.queue_managers.items()
    }
    return Site(cluster.queue_managers, commands, cluster)


def _control(member: EmbeddedQueueManager, command: str) -> tuple[bool, list[str]]:
    # A member may have been started again since, with another address.
    return member.control.mqsc(command)


@contextmanager
def containers(wanted: Wanted, mqsc: Sequence[Path]) -> Iterator[Site]:
    """Give three of IBM's containers in a network of their own, where they are called as docker/cluster calls them."""
    from testcontainers.core.network import Network

    from mqembedded.testing.container import MQContainer

    with ExitStack() as ending:
        network = ending.enter_context(Network())
        started = {}
        for name in NAMES:
            files = [MQSC, *mqsc, CLUSTER_MQSC, FOLDER / f"40-{name.lower()}.mqsc"]
            container = MQContainer(wanted.image, license=wanted.license, q_mgr_name=name, mqsc=files)
            container.with_network(network).with_network_aliases(name.lower())
            started[name] = ending.enter_context(container)
        members = {
            name: QueueManagerUnderTest(name, each.channel, each.conn_name, each.user, each.password)
            for name, each in started.items()
        }
        yield Site(members, {name: _runmqsc(each) for name, each in started.items()})


def _runmqsc(container: Any) -> Command:
    from mqembedded.testing.container import MQContainerError

    def run(command: str) -> tuple[bool, list[str]]:
        try:
            return True, [container.run_mqsc(command)]
        except MQContainerError as error:
            return False, [str(error)]

    return run


@contextmanager
def given(environment: Mapping[str, str]) -> Iterator[Site]:
    """Give the cluster that the environment names; what the tests define there is deleted at the end."""
    where = dict(re.findall(r"([^=,]+)=([^=,]+)", environment[VARIABLE]))
    assert tuple(sorted(where)) == NAMES, f"{VARIABLE} is {environment[VARIABLE]!r}, and has to name {', '.join(NAMES)}"

    def named(name: str) -> str | None:
        return environment.get(f"MQTEST_{name}")

    members = {
        name: QueueManagerUnderTest(name, named("CHANNEL") or "", conn_name, named("USER"), named("PASSWORD"))
        for name, conn_name in where.items()
    }
    channel = named("ADMIN_CHANNEL") or named("CHANNEL") or ""
    made: list[tuple[str, str, str]] = []

    def remembering(q_mgr_name: str, command: Command) -> Command:
        def run(text: str) -> tuple[bool, list[str]]:
            if found := _DEFINE.match(text):
                made.append((q_mgr_name, found[1], found[2]))
            return command(text)

        return run

    servers = {
        name: command_server(name, channel, conn_name, named("ADMIN_USER"), named("ADMIN_PASSWORD"))
        for name, conn_name in where.items()
    }
    yield Site(members, {name: remembering(name, server) for name, server in servers.items()})
    for q_mgr_name, kind, name in made:
        # Tests have deleted some of them.
        servers[q_mgr_name](f"DELETE {kind}({name}){' PURGE' if kind == 'QLOCAL' else ''}")


def command_server(
    q_mgr_name: str, channel: str, conn_name: str, user: str | None = None, password: str | None = None
) -> Command:
    """Return what sends commands to a queue manager's command server, over a new connection each."""
    under_test = QueueManagerUnderTest(q_mgr_name, channel, conn_name, user, password)

    def run(command: str) -> tuple[bool, list[str]]:
        binding = loaded(bindings("both")[0])
        q_mgr = under_test.connect(binding)
        commands = binding.PCFExecute(q_mgr)
        try:
            rows = commands.MQCMD_ESCAPE({cf.MQIACF_ESCAPE_TYPE: cf.MQET_MQSC, cf.MQCACF_ESCAPE_TEXT: command.encode()})
        except binding.MQMIError as error:
            return False, [str(error)]
        finally:
            commands.disconnect()
            q_mgr.disconnect()
        return True, [row[cf.MQCACF_ESCAPE_TEXT].decode().rstrip(" \0") for row in rows]

    return run

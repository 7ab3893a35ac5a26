"""Describes the queue manager under test, connects to it, and finds out whether it is IBM MQ.

The client library in the process shows whether the queue manager is IBM MQ, because the embedded library cannot reach IBM MQ, and
IBM's library cannot reach the embedded queue manager. ``provision.py`` starts queue managers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mqembedded import EmbeddedQueueManager
from mqembedded import constants as mqi
from mqembedded.libmqm.build import CLIENT_LIBRARY
from mqembedded.wire.verbs import table_digest

MQSC = Path(__file__).with_name("queues.mqsc")
EMBEDDED_MQSC = Path(__file__).with_name("embedded.mqsc")
IMAGE_MQSC = Path(__file__).with_name("image.mqsc")
MODEL = "MQTEST.MODEL"
MakeQueue = Callable[..., str]
MakeQueueManager = Callable[..., EmbeddedQueueManager]


class NotGiven(Exception):
    """The environment does not name a queue manager to use."""


@dataclass(frozen=True, slots=True)
class QueueManagerUnderTest:
    """The queue manager that tests connect to.

    Attributes:
        model: the model queue that test queues are created from.
        queue_manager: the embedded queue manager, for tests that kill or disturb it; None if the plugin has not started it.
        version: IBM MQ's version and the container's image; "" if there is no container.
    """

    q_mgr_name: str
    channel: str
    conn_name: str
    user: str | None
    password: str | None = field(repr=False)
    model: str = MODEL
    queue_manager: EmbeddedQueueManager | None = None
    version: str = ""

    @property
    def is_embedded(self) -> bool:
        """Whether this queue manager is embedded. Unless the plugin started it, this is known only after a binding's import."""
        return self.queue_manager is not None or embedded_client()

    def environment(self) -> dict[str, str]:
        """Return environment variables that let programs in other processes connect as the tests do, with any binding.

        ``MQTEST_QMGR``, ``_CHANNEL``, ``_CONN_NAME``, ``_USER`` and ``_PASSWORD`` describe the queue manager.
        ``MQGROUPS_Q_MGR_NAME`` and similar variables are for programs that use mqgroups. ``MQSERVER`` is IBM's variable. IBM MQ
        has no variable for credentials, so a program must pass user and password itself. Without credentials, the embedded queue
        manager accepts the program as user ``app``, but IBM's container refuses it.
        """
        given = {"MQSERVER": f"{self.channel}/TCP/{self.conn_name}"}
        for prefix, q_mgr in (("MQTEST", "QMGR"), ("MQGROUPS", "Q_MGR_NAME")):
            given |= {
                f"{prefix}_{q_mgr}": self.q_mgr_name,
                f"{prefix}_CHANNEL": self.channel,
                f"{prefix}_CONN_NAME": self.conn_name,
                f"{prefix}_USER": self.user or "",
                f"{prefix}_PASSWORD": self.password or "",
            }
        embedded = {} if self.queue_manager is None else self.queue_manager.environment()
        return {**embedded, **{name: value for name, value in given.items() if value}}

    def connect(self, binding: Any) -> Any:
        """Connect, and return the binding's ``QueueManager``. It never disconnects by itself, because MQDISC would commit."""
        q_mgr = binding.QueueManager(None, disconnect_on_exit=False)
        cd = binding.CD()
        cd.ChannelName = self.channel.encode()
        cd.ConnectionName = self.conn_name.encode()
        cd.ChannelType = binding.CMQXC.MQCHT_CLNTCONN
        cd.TransportType = mqi.MQXPT_TCP
        q_mgr.connect_with_options(
            self.q_mgr_name,
            cd=cd,
            # Otherwise ibmmq first tries a queue manager on this machine.
            opts=mqi.MQCNO_CLIENT_BINDING,
            **({} if self.user is None else {"user": self.user, "password": self.password or ""}),
        )
        return q_mgr

    def described(self, binding: Any) -> str:
        """Return a text with product, name, address and command level. The level is inquired over a separate connection."""
        product = "embedded queue manager (not IBM MQ)" if self.is_embedded else "IBM MQ"
        if self.version:
            product += f" {self.version}"
        try:
            q_mgr = self.connect(binding)
            level = q_mgr.inquire(mqi.MQIA_COMMAND_LEVEL)
            q_mgr.disconnect()
        except binding.MQMIError as error:
            return f"{self.q_mgr_name} at {self.conn_name}, not reachable ({error.errorAsString()})"
        return f"{product}, {self.q_mgr_name} at {self.conn_name}, command level {level}"


def given(environment: Mapping[str, str]) -> QueueManagerUnderTest:
    """Return the queue manager that MQTEST_QMGR, _CHANNEL, _CONN_NAME, _USER, _PASSWORD, _MODEL describe. Raises NotGiven."""

    def needed(name: str) -> str:
        if name not in environment:
            raise NotGiven(
                f"--mq=url needs {name} in the environment; README.md of mqembedded.testing lists all variables."
            )
        return environment[name]

    return QueueManagerUnderTest(
        q_mgr_name=needed("MQTEST_QMGR"),
        channel=needed("MQTEST_CHANNEL"),
        conn_name=needed("MQTEST_CONN_NAME"),
        user=environment.get("MQTEST_USER"),
        password=environment.get("MQTEST_PASSWORD"),
        model=environment.get("MQTEST_MODEL", MODEL),
    )


def embedded_client() -> bool:
    """Return whether this process has loaded the embedded queue manager's client library."""
    try:
        mapped = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        # Only Linux shows the loaded libraries of a process.
        return False
    libraries = {path for line in mapped if (path := line.partition("/")[2]) and path.endswith(CLIENT_LIBRARY)}
    # The digest of the library's verb table; a server with another table refuses it.
    return any(table_digest().encode() in Path(os.sep, path).read_bytes() for path in libraries)

"""The queue manager that tests run on: where it is, how to connect, and what may be said of it.

What may be said is asked, not believed: a process that has loaded the embedded queue manager's client library cannot reach
anything else, and one that has loaded IBM's cannot reach the embedded one. Not here: starting one (``provision.py``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mqgroups.embedded import EmbeddedQueueManager
from mqgroups.embedded.libmqm.build import CLIENT_LIBRARY
from mqgroups.embedded.wire.verbs import table_digest
from mqgroups.mqi import constants as mqi

MQSC = Path(__file__).with_name("queues.mqsc")
MODEL = "MQGROUPS.TEST.MODEL"


class NotGiven(Exception):
    """The environment does not say which queue manager to use."""


@dataclass(frozen=True, slots=True)
class QueueManagerUnderTest:
    """Where the tests connect to.

    Attributes:
        model: the model queue that test queues are made from.
        queue_manager: the embedded one that was started for the tests, to kill it and to arm faults; None for any other.
        version: as the product says it, where it was asked.
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
        """Whether it is an embedded queue manager, whoever started it. True or false once a binding is imported."""
        return self.queue_manager is not None or embedded_client()

    def environment(self) -> dict[str, str]:
        """Return the variables under which programs in processes of their own reach it with any binding."""
        return {} if self.queue_manager is None else self.queue_manager.environment()

    def connect(self, binding: Any) -> Any:
        """Return a connected ``QueueManager`` of the binding, which never disconnects by itself (MQDISC commits)."""
        q_mgr = binding.QueueManager(None, disconnect_on_exit=False)
        cd = binding.CD()
        cd.ChannelName = self.channel.encode()
        cd.ConnectionName = self.conn_name.encode()
        cd.ChannelType = binding.CMQXC.MQCHT_CLNTCONN
        cd.TransportType = mqi.MQXPT_TCP
        credentials = {} if self.user is None else {"user": self.user, "password": self.password or ""}
        q_mgr.connect_with_options(self.q_mgr_name, cd=cd, opts=mqi.MQCNO_NONE, **credentials)
        return q_mgr

    def described(self, binding: Any) -> str:
        """Return product, name, address and level; asks the queue manager over a connection of its own."""
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
    """Return the queue manager that MQGROUPS_TEST_QMGR, _CHANNEL, _CONN_NAME, _USER, _PASSWORD and _MODEL name.

    Raises:
        NotGiven: a variable that is needed is missing.
    """

    def needed(name: str) -> str:
        if name not in environment:
            raise NotGiven(f"--mq=url needs {name} in the environment; README.md of mqgroups.testing has all of them.")
        return environment[name]

    return QueueManagerUnderTest(
        q_mgr_name=needed("MQGROUPS_TEST_QMGR"),
        channel=needed("MQGROUPS_TEST_CHANNEL"),
        conn_name=needed("MQGROUPS_TEST_CONN_NAME"),
        user=environment.get("MQGROUPS_TEST_USER"),
        password=environment.get("MQGROUPS_TEST_PASSWORD"),
        model=environment.get("MQGROUPS_TEST_MODEL", MODEL),
    )


def embedded_client() -> bool:
    """Return whether the MQ client library that this process has loaded is the embedded queue manager's."""
    mapped = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    libraries = {path for line in mapped if (path := line.partition("/")[2]) and path.endswith(CLIENT_LIBRARY)}
    # The table of verbs that the library was compiled from; a server of another table refuses it.
    return any(table_digest().encode() in Path(os.sep, path).read_bytes() for path in libraries)

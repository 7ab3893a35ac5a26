"""The interface through which a queue manager asks its cluster, and the one for a queue manager that is in no cluster.

``cluster/`` implements it for a queue manager that is in one. Called under the queue manager's lock if not said otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mqgroups.embedded.answer import Failed
from mqgroups.embedded.catalogue import Catalogue
from mqgroups.embedded.messages.queue import Queue
from mqgroups.embedded.messages.route import Route, Target
from mqgroups.embedded.messages.transmission import Bound
from mqgroups.embedded.objects.attributes import REMOTE
from mqgroups.embedded.objects.definition import Definition
from mqgroups.embedded.objects.instances import Member
from mqgroups.embedded.objects.others import CatalogueError
from mqgroups.mqi import constants as mq


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member of the cluster, with the channel to it: its name, MQCHS_*, and the transmission queue, "" for this member."""

    member: Member
    cluster_name: str
    channel_name: str
    channel_status: int
    transmission_queue: str

    @property
    def is_local(self) -> bool:
        """Whether it is this queue manager."""
        return not self.transmission_queue


class ClusterView(Protocol):
    """The cluster of a queue manager."""

    def route(self, name: str, q_mgr_name: str, options: int) -> Route | None:
        """Return where an MQOPEN of these names leads; None for a queue of this queue manager alone.

        Raises:
            Failed: the name leads nowhere, or to where it cannot be opened like this.
        """

    def addressed(self, name: str, q_mgr_name: str) -> Target:
        """Return where a message goes that the queue manager itself sends, such as a report, or one that has to go on.

        Raises:
            Failed: the reason why there is no such queue.
        """

    def is_elsewhere(self, name: str, q_mgr_name: str) -> bool:
        """Whether these names lead to another member of the cluster; ``q_mgr_name`` is no alias."""

    def members(self) -> Sequence[MemberView]:
        """Return the members that were heard of, by name."""

    def control(self, action: str, to: str = "", **how: Any) -> dict[str, Any]:
        """Carry out a control command about channels, not under the lock; the answer has an ``error`` if that cannot be."""

    def receive(self, command: dict[str, Any], messages: bytes) -> dict[str, Any] | None:
        """Answer the sending end of a channel, not under the lock; None if there can be no channel."""

    def start(self, host: str, port: int, token: str) -> None:
        """Let the others know where this queue manager is, and start the channels; not under the lock."""

    def stop(self) -> None:
        """End the channels, not under the lock; what is under way is left in doubt."""


class NoCluster:
    """The view of a queue manager that is in no cluster: every queue is local, no other queue manager can be reached."""

    def __init__(self, q_mgr_name: str, catalogue: Catalogue) -> None:
        self._q_mgr_name = q_mgr_name
        self._catalogue = catalogue

    def route(self, name: str, q_mgr_name: str, options: int) -> None:  # noqa: ARG002 - as ClusterView has it
        """Return None: every queue is here. Raises Failed with MQRC_UNKNOWN_REMOTE_Q_MGR for another queue manager."""
        if q_mgr_name not in ("", self._q_mgr_name):
            raise Failed(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)

    def addressed(self, name: str, q_mgr_name: str) -> Target:
        """Return the local queue; raises Failed."""
        self.route(name, q_mgr_name, mq.MQOO_OUTPUT)
        return local_target(self._catalogue, self._q_mgr_name, name)

    def is_elsewhere(self, name: str, q_mgr_name: str) -> bool:  # noqa: ARG002 - as ClusterView has it
        """Return False."""
        return False

    def members(self) -> Sequence[MemberView]:
        """Return no members."""
        return ()

    def control(self, action: str, to: str = "", **how: Any) -> dict[str, Any]:  # noqa: ARG002 - as ClusterView has it
        """Return an error: there are no channels."""
        return {"error": f"queue manager {self._q_mgr_name} is in no cluster"}

    def receive(self, command: dict[str, Any], messages: bytes) -> None:
        """Return None: there are no channels."""

    def start(self, host: str, port: int, token: str) -> None:
        """Do nothing: there are no channels."""

    def stop(self) -> None:
        """Do nothing: there are no channels."""


def local_target(catalogue: Catalogue, q_mgr_name: str, name: str) -> Target:
    """Return where a message for a queue of this queue manager goes; raises Failed as ``local_queue``."""
    return Target(local_queue(catalogue, name), name, q_mgr_name, Bound.ON_OPEN)


def local_queue(catalogue: Catalogue, name: str) -> Queue:
    """Return the local queue that a name leads to, if it may be put to.

    Raises:
        Failed: the reason why it cannot be put.
    """
    try:
        queue, named = catalogue.resolve(name)
    except CatalogueError as error:
        raise Failed(error.reason) from error
    if mq.MQQA_PUT_INHIBITED in (named.values[mq.MQIA_INHIBIT_PUT], queue.values[mq.MQIA_INHIBIT_PUT]):
        raise Failed(mq.MQRC_PUT_INHIBITED)
    return queue


def without_alias(catalogue: Catalogue, q_mgr_name: str) -> str:
    """Return the queue manager that a name means, which may be that of a queue manager alias: a remote queue definition
    without RNAME. Raises Failed with MQRC_UNKNOWN_REMOTE_Q_MGR for one with it."""
    alias = catalogue.get(q_mgr_name)
    if not isinstance(alias, Definition) or alias.type != REMOTE:
        return q_mgr_name
    if alias.values[mq.MQCA_REMOTE_Q_NAME]:
        raise Failed(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)
    return str(alias.values[mq.MQCA_REMOTE_Q_MGR_NAME])

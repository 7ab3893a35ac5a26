"""The interface through which a queue manager uses its cluster, and an implementation for a queue manager without a cluster.

``cluster/`` has the implementation for members of a cluster. Callers hold the queue manager's lock, except where a method's
description says that they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.catalogue import Catalogue
from mqembedded.messages.queue import Queue
from mqembedded.messages.route import Route, Target
from mqembedded.messages.transmission import Bound
from mqembedded.objects.instances import Member
from mqembedded.objects.others import CatalogueError
from mqembedded.remote_queues import Ways


@dataclass(frozen=True, slots=True)
class MemberView:
    """A cluster member and the channel to it. ``channel_status`` is MQCHS_*. ``transmission_queue`` is "" if ``is_local``."""

    member: Member
    cluster_name: str
    channel_name: str
    channel_status: int
    transmission_queue: str

    @property
    def is_local(self) -> bool:
        """Whether the member is this queue manager."""
        return not self.transmission_queue


class ClusterView(Protocol):
    """The interface through which a queue manager uses its cluster."""

    @property
    def ways(self) -> Ways:
        """The ways to other queue managers, inside and outside the cluster."""

    def route(self, name: str, q_mgr_name: str, options: int) -> Route | None:
        """Return the route to the queue that an MQOPEN names; None if only this queue manager has the queue.

        Raises:
            Failed: there is no such queue, or it cannot be opened with these options.
        """

    def addressed(self, name: str, q_mgr_name: str) -> Target:
        """Return the target of a report or a forwarded message, which the queue manager puts without an MQOPEN.

        Raises:
            Failed: no queue with these names can take the message.
        """

    def knows(self, name: str) -> bool:
        """Return whether the cluster has a queue with this name."""

    def members(self) -> Sequence[MemberView]:
        """Return the members that this queue manager knows, ordered by name."""

    def control(self, action: str, to: str = "", **how: Any) -> dict[str, Any]:
        """Carry out a channel command. The answer has an ``error`` if the command failed. Callers do not hold the lock."""

    def receive(self, command: dict[str, Any], messages: bytes) -> dict[str, Any] | None:
        """Answer the sending end of a channel; return None if there are no channels. Callers do not hold the lock."""

    def start(self, host: str, port: int, token: str) -> None:
        """Publish this queue manager's address to the other members, and start the channels. Callers do not hold the lock."""

    def stop(self) -> None:
        """End the channels. Batches in transit stay in doubt. Callers do not hold the lock."""


class NoCluster:
    """The view of a queue manager that is in no cluster. Messages for other queue managers wait on transmission queues."""

    def __init__(self, q_mgr_name: str, catalogue: Catalogue) -> None:
        self.ways = Ways(q_mgr_name, catalogue, lambda _: None)
        self._q_mgr_name = q_mgr_name
        self._catalogue = catalogue

    def route(self, name: str, q_mgr_name: str, options: int) -> Route | None:
        """Return the route to a remote queue, or None for any other name. Raises Failed."""
        way = self.ways.to(q_mgr_name)
        return self.ways.route(name, options) if way is None else way.route(name, options)

    def addressed(self, name: str, q_mgr_name: str) -> Target:
        """Return the target of a report or a forwarded message. Raises Failed."""
        route = self.route(name, q_mgr_name, mq.MQOO_OUTPUT)
        return local_target(self._catalogue, self._q_mgr_name, name) if route is None else target_of(route)

    def knows(self, name: str) -> bool:  # noqa: ARG002 - as ClusterView has it
        """Return False, because there is no cluster."""
        return False

    def members(self) -> Sequence[MemberView]:
        """Return no members, because there is no cluster."""
        return ()

    def control(self, action: str, to: str = "", **how: Any) -> dict[str, Any]:  # noqa: ARG002 - as ClusterView has it
        """Return an error, because there are no channels."""
        return {"error": f"queue manager {self._q_mgr_name} is in no cluster"}

    def receive(self, command: dict[str, Any], messages: bytes) -> None:
        """Return None, because there are no channels."""

    def start(self, host: str, port: int, token: str) -> None:
        """Do nothing, because there are no channels."""

    def stop(self) -> None:
        """Do nothing, because there are no channels."""


def local_target(catalogue: Catalogue, q_mgr_name: str, name: str) -> Target:
    """Return the target of a message for a queue of this queue manager; raise Failed as ``local_queue`` does."""
    return Target(local_queue(catalogue, name), name, q_mgr_name, Bound.ON_OPEN)


def target_of(route: Route) -> Target:
    """Return the target of a message on this route; raise Failed if no queue takes the message."""
    if route.fixed:
        return route.instances.target(route.queue_name, route.fixed, Bound.ON_OPEN)
    return route.chosen(Bound.NOT_FIXED)


def local_queue(catalogue: Catalogue, name: str) -> Queue:
    """Return the local queue that a name leads to. The queue, and an alias on the way to it, must allow puts.

    Raises:
        Failed: there is no such queue, or puts are inhibited.
    """
    try:
        queue, named = catalogue.resolve(name)
    except CatalogueError as error:
        raise Failed(error.reason) from error
    if mq.MQQA_PUT_INHIBITED in (named.values[mq.MQIA_INHIBIT_PUT], queue.values[mq.MQIA_INHIBIT_PUT]):
        raise Failed(mq.MQRC_PUT_INHIBITED)
    return queue

"""The home of a producer in a uniform cluster: the one of several queue managers that has its status queue.

A producer's name belongs to the queue manager that has its record. The first start decides which one that is; every other start
has to find it. ``find_home`` looks at the status queue of the name at each member, by browsing. Not here: consumers, which have a
record wherever they get messages (docs/decisions/15-consumers-of-all-instances.md).
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing

from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import connection_of
from mqgroups.core.model import Role
from mqgroups.errors import ConfigurationError, ConnectionBroken, MQIError, QueueMissing, StatusQueueUnusable
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.names import checked_name, status_queue_name
from mqgroups.queue_manager import QueueManager

_log = logging.getLogger("mqgroups.home")
_LOOK = mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_ACCEPT_TRUNCATED_MSG | mq.MQGMO_NO_PROPERTIES
_ANY_MESSAGE = st.gmo(mq.MQGMO_BROWSE_FIRST | _LOOK)


class Trace(enum.Enum):
    """What a member has of a name: no status queue, one that is empty, or one with a record or an anchor, or in use."""

    NOTHING = enum.auto()
    QUEUE = enum.auto()
    RECORD = enum.auto()


def find_home(
    name: str,
    members: Sequence[str],
    connect: Callable[[str], QueueManager],
    *,
    status_queue: str | None = None,
) -> QueueManager:
    """Return a connection to the queue manager at which a producer has its record, or begins::

        home = mqgroups.find_home("ORDERS.LOADER", ["QM1", "QM2", "QM3"], lambda q: mqgroups.connect(q, ccdt_url=CCDT))
        with home, home.group_producer("ORDERS", name="ORDERS.LOADER") as producer: ...

    It is the member that has a record of the name; else the first one that has its status queue; else the first one. While a
    member cannot be reached, only a record elsewhere is an answer. Give the same members in the same order at each start.

    Args:
        name: the producer's name.
        members: the names of all queue managers of the uniform cluster.
        connect: returns a connection to the queue manager of this name, and to no other. Connections to members that are not the
            home are closed.
        status_queue: as for ``group_producer``.

    Raises:
        ConfigurationError: the name is not valid; no members, or one of them twice; or ``connect`` returned a connection to
            another queue manager.
        StatusQueueUnusable: several members have a record of the name.
        MQIError: no record was found, and this member could not be reached; or a status queue cannot be browsed.
    """
    queue = status_queue_name(Role.PUT, checked_name(name), status_queue)
    if isinstance(members, str) or not isinstance(members, Sequence):
        raise ConfigurationError(f"find_home: members must be a list of names, in their order, got {members!r}")
    if not members or len({*members}) < len(members):
        raise ConfigurationError(
            f"find_home: {'one of the members is given twice' if members else 'there are no members'}"
        )
    found: dict[str, Trace] = {}
    homes: dict[str, QueueManager] = {}
    away: dict[str, MQIError] = {}
    with ExitStack() as closing:
        for member in members:
            try:
                q_mgr = connect(member)
            except MQIError as error:
                away[member] = error
                continue
            closing.callback(q_mgr.close)
            if q_mgr.q_mgr_name != member:
                raise ConfigurationError(f"find_home: connect gave {q_mgr.q_mgr_name} for {member}. Connect by name")
            try:
                found[member] = _look(connection_of(q_mgr), queue)
            except ConnectionBroken as error:
                away[member] = error
                continue
            homes[member] = q_mgr
        home = home_among(name, queue, found, away)
        closing.pop_all()
    for member, q_mgr in homes.items():
        if member != home:
            q_mgr.close()
    _log.info("%s is at home at %s", name, home)
    return homes[home]


def home_among(name: str, queue: str, found: Mapping[str, Trace], away: Mapping[str, MQIError]) -> str:
    """Return the home of a name, or raise as ``find_home``.

    ``found``: the members that were looked at; ``away``: those that could not be reached.
    """
    for trace in (Trace.RECORD, Trace.QUEUE, Trace.NOTHING):
        at = tuple(member for member, seen in found.items() if seen is trace)
        if trace is Trace.RECORD and len(at) > 1:
            raise StatusQueueUnusable(
                f"{' and '.join(at)} have a record each of {name} on their status queue {queue}. A producer has one home. Look "
                f"at both with `mqgroups check {name} --role put`, let the right one end its group, remove the other",
                status_queue=queue,
                because="several",
                found=at,
            )
        if trace is not Trace.RECORD and away:
            break
        if at:
            return at[0]
    names = ", ".join(away)
    error = next(iter(away.values()))
    error.context = (
        f"{names} may have the record of {name}, and no other member has one. Nothing was put; start {names}"
    )
    raise error


def _look(connection: Connection, queue: str) -> Trace:
    try:
        opened = connection.open_queue(queue, mq.MQOO_BROWSE)
    except QueueMissing:
        return Trace.NOTHING
    except MQIError as error:
        if error.reason != mq.MQRC_OBJECT_IN_USE:
            raise
        return Trace.RECORD
    with closing(opened):
        return Trace.RECORD if opened.get_descriptor(st.md(), _ANY_MESSAGE) is not None else Trace.QUEUE

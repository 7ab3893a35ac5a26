"""Moves messages unchanged to another queue: the rest of a group that no producer or consumer can resume.

A move is refused while another program works with the queue. An operator can override this check. A move is also refused if a
producer would still put messages of the group, because then the group would be on two queues. If the group's last message is
missing, any record that cannot be seen or read may belong to such a producer. A consumer cannot finish a group that is moved.
So an operator must also remove the consumer's record. The result names the consumer.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from contextlib import closing, suppress
from dataclasses import dataclass

from mqgroups.connection.connection import Connection
from mqgroups.connection.forwarding import ForwardQueue
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.connection.queue import Queue
from mqgroups.connection.retry import REDO_LATER
from mqgroups.core.claim import claim_values
from mqgroups.core.model import Role
from mqgroups.core.modes import Accept
from mqgroups.core.to_copy import to_copy
from mqgroups.errors import CommandRefused, ConfigurationError, MQIError, NotAuthorised
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.names import checked_queue_name
from mqgroups.operate.attributes import inquired
from mqgroups.operate.command_server import uncommitted
from mqgroups.operate.groups import counted
from mqgroups.operate.owners import SeenOwners, find_owners
from mqgroups.operate.refusal import (
    checked_accept,
    checked_group_id,
    hidden_by_unit_of_work,
    record_hidden,
    refusal,
    refused,
)
from mqgroups.operate.rules.inspection import BrowsedInstance, GroupInspection
from mqgroups.operate.rules.owner_state import AT_WORK, DISARRAY, OwnerState, SeenOwner
from mqgroups.operate.rules.salvage import CannotSalvage, Obstacle, doubt, movable
from mqgroups.settings import every
from mqgroups.telemetry.repair import Repair

# MQGET returns properties as an MQRFH2 in front of the data, whatever PROPCTL the queue has. MQPUT makes properties of it again.
_GET = st.gmo(
    mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_PROPERTIES_FORCE_MQRFH2,
    match_options=mq.MQMO_MATCH_GROUP_ID,
)
# States of a status queue whose records were not read, or cannot be read.
_UNREADABLE = DISARRAY - {OwnerState.MOVED} | {OwnerState.UNSEEN}
_OWN_PREFIXES = ("MQGROUPS.", "SYSTEM.")


@dataclass(frozen=True, slots=True)
class GroupMove:
    """The result of ``move_group``."""

    group: GroupInspection
    """The group's messages that were on the queue before the move."""
    queue: str
    """The queue that the group is moved from."""
    to: str
    """The queue that the group is moved to."""
    consumers: tuple[SeenOwner, ...] = ()
    """The consumers whose records name the group, as far as they could be seen. Each of them waits for the group at its next
    start.
    """
    unseen: tuple[str, ...] = ()
    """A sentence for each owner or queue that could not be seen, with the reason."""
    done: bool = False
    """Whether the group was moved; ``False`` after a check."""


def move_group(
    q_mgr: ConnectionHolder,
    queue: str,
    group_id: bytes,
    *,
    to: str | None = None,
    commit_every: int = 100,
    accept: Collection[Accept] = (),
    check: bool = False,
) -> GroupMove:
    """Move the rest of a group to another queue. MsgId, GroupId, numbers, offsets, flags and properties do not change.

    On the other queue the messages have a new put time, and request no reports. Each unit of work gets messages and puts them. So
    each message is always on one of the two queues. After a crash, call this function again to move the rest.

    Args:
        queue: the queue that has the group.
        group_id: the GroupId, 24 bytes.
        to: the queue to move the group to, by default the BOQNAME of ``queue``.
        commit_every: the number of physical messages to move in a unit of work.
        accept: the checks to override. ``"in-use"``: as for ``salvage_owner``. ``"other-owners"``: not all records of producers
            can be found or read, but you know that no producer will put the rest of this group. ``"dead-letters"``: move messages
            with their dead-letter headers (MQDLH), which a consumer would get as data.

    Raises:
        RepairRefused: no message of the group is on the queue, messages have dead-letter headers, another program works with the
            queue, or a producer's record names or may name the group. Nothing was changed.
        OwnerActive: a unit of work hides a record, which may name the group. Messages that were moved stay moved. Try again.
        CommandRefused: the connection was lost, and it is not known whether the unit of work is backed out. Try again.
        ConfigurationError: ``to`` is not given and BOQNAME is empty. Or the target is the same queue, a status queue, or a queue
            of the queue manager itself. Or the target has no room.
        MQIError: a call failed. Units of work that are already committed stay committed.
    """
    checked_queue_name("queue", queue)
    checked_group_id(group_id)
    if to is not None:
        checked_queue_name("to", to)
    most_asked = every(commit_every).messages or 1
    accepted = checked_accept(accept)
    connection = connection_of(q_mgr)
    seen, groups = connection.reopening(lambda: counted(connection, queue))
    try:
        group = movable(group_id, groups, seen, accepted)
    except CannotSalvage as error:
        raise refused(f"queue {queue}", error) from error
    alone = Obstacle.IN_USE not in accepted
    owners = find_owners(q_mgr)
    consumers = _consumers(owners.owners, group_id)
    try:
        _check_producers_seen(connection, owners, group, accepted)
    except CannotSalvage as error:
        raise refused(f"group {group_id.hex()}", error) from error
    if not alone:
        # In the other case it is already known that no unit of work has messages of the queue.
        _refuse_hidden(connection, owners.owners, group_id)
    target_name = to or seen.backout_queue
    if not target_name:
        raise ConfigurationError(f"queue {queue} has no BOQNAME, or you may not inquire it. Name the queue to move to")
    connection.reopening(lambda: _check_target(connection, target_name, owners.owners, seen, group))
    if check:
        return GroupMove(group, queue, target_name, consumers, owners.unseen)
    # Each message takes a get and a put.
    most = max(1, min(most_asked, connection.max_uncommitted_msgs // 2))
    # An exclusive open waits until the handles of this program's lost connection are closed. The unit of work of that connection
    # may last longer, so ``attempt`` checks it. With a shared open neither is possible, so there is no second attempt.
    mode = mq.MQOO_INPUT_EXCLUSIVE if alone else mq.MQOO_INPUT_SHARED

    def attempt() -> None:
        with closing(connection.open_queue(queue, mode | mq.MQOO_NO_READ_AHEAD)) as source:
            if alone and uncommitted(connection, source.resolved_q_name):
                # A lost connection of this program or another program has got messages since the inspection. They may come back.
                why = "the unit of work of a lost connection is not backed out yet"
                raise hidden_by_unit_of_work(f"queue {queue}", why)
            with closing(ForwardQueue(connection, target_name)) as target:
                if target.queue.leads_to(source.resolved_q_name):
                    raise _unfit(target_name, f"is queue {queue} itself")
                more = True
                while more:
                    with connection.unit_of_work(target):
                        more = _forward(source, target, group_id, most)

    try:
        with Repair(connection.telemetry, queue, connection.place) as repair:
            if alone:
                connection.reopening(attempt, REDO_LATER)
            else:
                attempt()
            repair.moved(target_name, group.group_id, group.messages)
    except MQIError as error:
        error.context = error.context or f"What was moved to {target_name} stays there. The same move moves the rest"
        raise
    return GroupMove(group, queue, target_name, consumers, owners.unseen, done=True)


def _consumers(owners: Collection[SeenOwner], group_id: bytes) -> tuple[SeenOwner, ...]:
    """Return the consumers whose records name the group. Raises RepairRefused if the record of a producer names it."""
    found = []
    for each in owners:
        if not each.has_group or each.record is None or each.record.group_id != group_id:
            continue
        if each.record.role is Role.PUT:
            what = f"a record of {each.name} for group {group_id.hex()}"
            last = to_copy("CLEAR QLOCAL({})", each.status_queue)
            if each.is_shared:
                last = f"complete a later, empty batch of its sink {claim_values(each.record.checkpoint)['sink']}"
            remedy = (
                f"The next start of {each.name} would put the rest of the group to queue {each.record.queue}, away from the "
                "messages that are moved. Start it, and move the group when it is complete; or if it will never be started "
                f"again, {last} before"
            )
            where = f"status queue {each.status_queue}"
            raise refusal("owned", where, what, "no producer of it", remedy, each.status_queue)
        found.append(each)
    return tuple(found)


def _check_producers_seen(
    connection: Connection, owners: SeenOwners, group: GroupInspection, accepted: Collection[Obstacle]
) -> None:
    """Raise CannotSalvage if a producer whose record was not seen may put the rest of the group."""
    if not group.needs_producer:
        return
    found = ""
    if not group.is_made_by(connection.q_mgr_name):
        found = f"that queue manager {group.made_by} made the GroupId, whose status queues are not here"
    elif owners.unseen:
        found = f"that {owners.unseen[0]}"
    for each in owners.owners:
        if each.role != "get" and (each.state in _UNREADABLE):
            found = f"that status queue {each.status_queue} cannot be read ({each.problem or each.state.value})"
    if found:
        doubt(Obstacle.OTHER_OWNERS, accepted, found, "the records of all producers", unasked=bool(owners.unseen))


def _check_target(
    connection: Connection, name: str, owners: Collection[SeenOwner], seen: BrowsedInstance, group: GroupInspection
) -> None:
    """Raise ConfigurationError if the group cannot or must not be moved to this queue. Raise MQIError if opening fails."""
    with closing(connection.open_queue(name, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_OPEN)) as target:
        to, is_here = target.resolved_q_name, target.resolved_q_mgr_name == connection.q_mgr_name
    if is_here and to == seen.resolved_q_name:
        raise _unfit(name, f"is queue {seen.queue} itself")
    is_own = any(each.startswith(_OWN_PREFIXES) for each in (name, to))
    if is_own or (is_here and any(each.status_queue == to for each in owners)):
        raise _unfit(name, "is for status records or for the queue manager")
    # If the user is not allowed to inquire, the first MQPUT shows whether it is possible. Its unit of work is backed out then.
    facts = inquired(connection, to, ("USAGE", "PUT", "CURDEPTH", "MAXDEPTH"))[0] if is_here else {}
    if facts.get("USAGE") == "XMITQ":
        raise _unfit(name, "is a transmission queue")
    if facts.get("PUT") == "DISABLED":
        raise _unfit(name, "has PUT(DISABLED)")
    room = int(facts.get("MAXDEPTH", sys.maxsize)) - int(facts.get("CURDEPTH", 0))
    if room < group.messages:
        raise _unfit(name, f"has room for {room} messages by its MAXDEPTH, and the group has {group.messages}")


def _unfit(name: str, why: str) -> ConfigurationError:
    return ConfigurationError(f"queue {name} {why}. Name a different queue to move the group to")


def _refuse_hidden(connection: Connection, owners: Collection[SeenOwner], group_id: bytes) -> None:
    """Raise OwnerActive if a unit of work hides a record, because this unit of work would also hide messages of the group."""
    for each in owners:
        if each.record is not None or each.state not in AT_WORK:
            continue
        with suppress(CommandRefused, NotAuthorised):
            if uncommitted(connection, each.status_queue):
                raise record_hidden(each.status_queue, group_id)


def _forward(source: Queue, target: ForwardQueue, group_id: bytes, most: int) -> bool:
    """Get up to ``most`` physical messages of the group, and put them unchanged. Return whether there may be more."""
    md = st.md(group_id=group_id)
    for _ in range(most):
        got = source.get(md, _GET)
        if got is None:
            return False
        target.take(got[1], got[0])
    return True

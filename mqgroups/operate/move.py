"""What is left of a group moved to another queue, as it is: for a group that no producer or consumer can resume.

Nothing is moved while somebody else works with the queue, unless an operator accepts that.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from mqgroups.config import checked_commit_every, checked_queue_name
from mqgroups.connection.connection import Connection
from mqgroups.connection.forwarding import ForwardQueue
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.connection.queue import Queue
from mqgroups.connection.retry import REDO_LATER
from mqgroups.core.inspection import GroupInspection, QueueInspection
from mqgroups.core.modes import Accept
from mqgroups.core.salvage import CannotSalvage, Obstacle, movable
from mqgroups.errors import ConfigurationError
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.operate.browse import inspected
from mqgroups.operate.command_server import uncommitted
from mqgroups.operate.refusal import checked_accept, checked_group_id, hidden_by_unit_of_work, refused
from mqgroups.telemetry.repair import Repair

# Properties go along as an MQRFH2 in front of the data, whatever the queue's PROPCTL says; MQPUT makes properties of it again.
_GET = st.gmo(
    mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_PROPERTIES_FORCE_MQRFH2,
    match_options=mq.MQMO_MATCH_GROUP_ID,
)


@dataclass(frozen=True, slots=True)
class GroupMove:
    """The result of ``move_group``.

    Attributes:
        group: what was on the queue of the group before.
        queue, to: the queue it is moved from, and the one it is moved to.
        done: whether it was moved; ``False`` if it was only checked.
    """

    group: GroupInspection
    queue: str
    to: str
    done: bool = False


def move_group(
    q_mgr: ConnectionHolder,
    queue: str,
    group_id: bytes,
    *,
    to: str | None = None,
    commit_every: int = 100,
    accept: Collection[Accept] = (),
    keep_context: bool = True,
    check: bool = False,
) -> GroupMove:
    """Move what is left of a group to another queue. MsgId, GroupId, numbers, offsets, flags and properties stay as they are.

    Each unit of work gets messages and puts them, so each message is always on one of the two queues. After a crash, call it
    again: it moves the rest.

    Args:
        q_mgr: a connected queue manager (``mqgroups.connect``, ``mqgroups.wrap``).
        queue: the queue that it is on.
        group_id: the group, 24 bytes.
        to: the queue to move it to; by default the queue's BOQNAME.
        commit_every: how many physical messages to move in a unit of work.
        accept: ``"in-use"``, as for ``salvage_owner``.
        keep_context: whether the messages keep who put them and when (MQPMO_PASS_ALL_CONTEXT). That needs the authority +passall
            for ``to``.
        check: return what would be done, and change nothing.

    Raises:
        SalvageRefused: no message of the group is on the queue, or somebody else works with the queue; nothing was changed.
        CommandRefused: the connection was lost, and the command server does not answer whether its unit of work is backed out.
            Call it again.
        ConfigurationError: there is no queue to move the group to, or it is the same queue.
        MQIError: a call failed. Units of work that were committed before stay committed.
    """
    checked_queue_name("queue", queue)
    checked_group_id(group_id)
    if to is not None:
        checked_queue_name("to", to)
    most_asked = checked_commit_every(commit_every).messages or 1
    accepted = checked_accept(accept)
    connection = connection_of(q_mgr)
    seen = connection.reopening(lambda: inspected(connection, queue))
    try:
        group = movable(seen, group_id, accepted)
    except CannotSalvage as error:
        raise refused(f"queue {queue}", error) from error
    target_name = to or connection.reopening(lambda: _backout_queue(connection, seen))
    if check:
        return GroupMove(group, queue, target_name)
    # A get and a put each.
    most = max(1, min(most_asked, connection.max_uncommitted_msgs // 2))
    # Alone, it is a fence too, while a lost connection of this one has its handles; its unit of work may be there for longer.
    # Beside others there is none, and no second attempt.
    alone = Obstacle.IN_USE not in accepted
    mode = mq.MQOO_INPUT_EXCLUSIVE if alone else mq.MQOO_INPUT_SHARED

    def attempt() -> None:
        source = connection.open_queue(queue, mode | mq.MQOO_SAVE_ALL_CONTEXT | mq.MQOO_NO_READ_AHEAD)
        try:
            if alone and uncommitted(connection, source.resolved_q_name):
                # Of this connection before it was lost, or of who came and went since the queue was looked at: it comes back.
                raise hidden_by_unit_of_work(
                    f"queue {queue}", "the unit of work of a lost connection is not backed out yet"
                )
            target = ForwardQueue(connection, target_name, context_of=source if keep_context else None)
            try:
                _refuse_same(source, target.queue)
                more = True
                while more:
                    with connection.unit_of_work(target):
                        more = _forward(source, target, group_id, most)
            finally:
                target.close()
        finally:
            source.close()

    with Repair(connection.telemetry, queue, connection.q_mgr_name) as repair:
        if alone:
            connection.reopening(attempt, REDO_LATER)
        else:
            attempt()
        repair.moved(target_name, group)
    return GroupMove(group, queue, target_name, done=True)


def _forward(source: Queue, target: ForwardQueue, group_id: bytes, most: int) -> bool:
    """Get up to ``most`` physical messages of the group and put them as they are; returns whether there may be more."""
    md = st.md(group_id=group_id)
    for _ in range(most):
        got = source.get(md, _GET)
        if got is None:
            return False
        target.take(got[1], got[0])
    return True


def _backout_queue(connection: Connection, seen: QueueInspection) -> str:
    local = connection.open_queue(seen.resolved_q_name, mq.MQOO_INQUIRE)
    try:
        name = str(local.inquire(mq.MQCA_BACKOUT_REQ_Q_NAME))
    finally:
        local.close()
    if not name:
        raise ConfigurationError(f"queue {seen.queue} has no BOQNAME: say where the group is to be moved")
    return name


def _refuse_same(source: Queue, target: Queue) -> None:
    here = (source.resolved_q_name, source.resolved_q_mgr_name)
    if here == (target.resolved_q_name, target.resolved_q_mgr_name):
        raise ConfigurationError(
            f"queue {target.name} is the queue {source.name} itself: a group is moved to another one"
        )

"""Does another owner have this group? Asked before a status record is rebuilt, because a second owner puts or gets it twice.

A group has at most one owner of a role, and the owner's record says so: on a status queue of its own, or on one that many share.
No call of the MQI lists queues, and nothing on the data queue says who owns a group. So there are three ways to learn which
status queues there are:

    the command server lists those whose names fit (MQGROUPS.PUT.*, MQGROUPS.SHARED.*; MQGROUPS.GET.* for consumers)
    the operator names them, those with other names besides, or all of them where the command server does not answer
    the operator says that there is no other owner of the group (``accept="other-owners"``), and the ones known are looked at

What a record says is never overruled: a group that it speaks of is refused. A record that a unit of work hides may speak of the
group too, and is waited for. Other queue managers are not asked: a group is put and got where its records are.

Considered: to mark each message with its owner. Whoever gets the group would have to read it, and a takeover could not change it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from mqgroups.connection.connection import Connection
from mqgroups.core.claim import RecordKind, claim_values, kind_of_record
from mqgroups.core.model import MsgFlag, Role
from mqgroups.core.salvage import Obstacle, doubt
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.errors import (
    CommandRefused,
    GroupOwned,
    MessageTooLong,
    MQIError,
    OwnerActive,
    QueueMissing,
    StatusError,
)
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.operate.command_server import queue_names
from mqgroups.status.records import LONGEST_RECORD_BYTES, corrupt_record, decoded_record

_PATTERNS = {Role.PUT: ("MQGROUPS.PUT.*", "MQGROUPS.SHARED.*"), Role.GET: ("MQGROUPS.GET.*",)}
_UNREADABLE = frozenset({mq.MQRC_NOT_AUTHORIZED, mq.MQRC_OBJECT_IN_USE})
_BROWSE = st.gmo(mq.MQGMO_BROWSE_NEXT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A record as it lies on a status queue. Segments of one chain have the same ``chain``."""

    record: StatusRecord
    chain: bytes


def check_not_owned(
    connection: Connection,
    role: Role,
    group_id: bytes,
    *,
    own: str,
    named: Collection[str],
    accepted: Collection[Obstacle],
) -> None:
    """Check that no other owner's record speaks of a group, nor may, being hidden.

    Args:
        connection: to the queue manager where the group is.
        role: of the owner that is to get the group.
        group_id: 24 bytes.
        own: its status queue, which is not looked at.
        named: other status queues; all there are, if the command server cannot be asked.
        accepted: ``Obstacle.OTHER_OWNERS``, if what cannot be looked at is known to have no owner of the group.

    Raises:
        GroupOwned: a record speaks of the group.
        OwnerActive: a record is hidden by a unit of work; to be tried again.
        CannotSalvage: not all status queues can be found or read.
        QueueMissing: one that was named does not exist.
        MQIError: a call failed.
    """
    listed = _listed(connection, role, own, named, accepted)
    for name in sorted({*listed, *named} - {own}):
        try:
            seen = _look(connection, name)
        except QueueMissing:
            if name in named:
                raise
            continue
        except (StatusError, MQIError) as error:
            # Of a queue that its owner has open a queue manager may refuse browsing too (2042).
            if isinstance(error, MQIError) and error.reason not in _UNREADABLE:
                raise
            doubt(Obstacle.OTHER_OWNERS, accepted, f"status queue {name}, which cannot be read ({error})", "records")
            continue
        for each in seen:
            if each.record.role is role and each.record.group_id == group_id:
                raise GroupOwned(group_id, each.record.name, name, each.record.state.value)
        if _hides(seen):
            active = OwnerActive("MQGET", f"status queue {name}", mq.MQCC_FAILED, mq.MQRC_OBJECT_IN_USE)
            active.context = f"Its record is hidden by a unit of work, and may speak of group {group_id.hex()}"
            raise active


def _listed(
    connection: Connection, role: Role, own: str, named: Collection[str], accepted: Collection[Obstacle]
) -> Collection[str]:
    try:
        names = {name for pattern in _PATTERNS[role] for name in queue_names(connection, pattern)}
    except CommandRefused as error:
        if not named:
            found = f"no list of the status queues ({error})"
            doubt(Obstacle.OTHER_OWNERS, accepted, found, "a list, or to be told the names")
        return ()
    if own not in names and any(own.startswith(pattern.removesuffix("*")) for pattern in _PATTERNS[role]):
        # Queues that the user may not display are left out without a word; this one is there, and open.
        found = f"a list of the status queues without {own}, so it leaves out what this user may not display"
        doubt(Obstacle.OTHER_OWNERS, accepted, found, "a list of all")
    return names


def _look(connection: Connection, name: str) -> list[_Seen]:
    queue = connection.open_queue(name, mq.MQOO_BROWSE, max_message_length=LONGEST_RECORD_BYTES)
    seen = []
    try:
        while (got := queue.get(st.md(), _BROWSE)) is not None:
            data, md, _ = got
            segment = st.long_at(md, st.MD_MSG_FLAGS) & MsgFlag.SEGMENT
            seen.append(_Seen(decoded_record(name, data), md[st.MD_GROUP_ID] if segment else md[st.MD_MSG_ID]))
    except MessageTooLong as error:
        raise corrupt_record(name, str(error), f"at most {LONGEST_RECORD_BYTES} bytes") from error
    finally:
        queue.close()
    return seen


def _hides(seen: Iterable[_Seen]) -> bool:
    """Say whether records lie there that cannot be seen: an anchor, or on a shared status queue an intent, lacks its record."""
    anchors, chains = 0, set()
    intents, statuses = set(), set()
    for each in seen:
        kind = kind_of_record(each.record)
        if kind is RecordKind.INTENT:
            intents.add(_group(each.record))
        elif kind is RecordKind.STATUS:
            statuses.add(_group(each.record))
        elif kind is None and each.record.state is RecordState.ANCHOR:
            anchors += 1
        elif kind is None:
            chains.add(each.chain)
    return len(chains) < anchors or bool(intents - statuses)


def _group(record: StatusRecord) -> tuple[str, int, str]:
    found = claim_values(record.checkpoint)
    return found["sink"], found["batch"], found["key"]

"""Lists the owners of a queue manager: every producer and consumer with a status queue, and the groups of shared status queues.

Status queues are browsed and inquired, so running owners are not disturbed. The command server lists them, and says who has them
open; without it, the caller names them, and nobody knows by whom they are open.

Not here: what the next start of one owner would find (``owner.py``), which opens its status queue as the owner does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from mqgroups.config import checked_queue_name
from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.core.claim import RecordKind, claim_values, kind_of_record
from mqgroups.core.group_properties import name_of
from mqgroups.core.modes import RoleName
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.core.status_chain import FoundMessage
from mqgroups.errors import CommandRefused, ConnectionBroken, MQIError, QueueMissing
from mqgroups.mqi import constants as mq
from mqgroups.operate.command_server import Holder, holders, queue_names
from mqgroups.operate.rules.group_state import GroupOwner
from mqgroups.operate.rules.owner_state import OwnerCondition, owner_finding
from mqgroups.operate.status_queues import StatusQueueLook, look_at

_PREFIX = "MQGROUPS."
_ROLES: dict[str, RoleName] = {"MQGROUPS.PUT.": "put", "MQGROUPS.GET.": "get"}
_SHARED = "MQGROUPS.SHARED."
_UNSEEN = OwnerCondition.UNSEEN
# A program at work hides its record for a moment at each commit.
_MORE_LOOKS = 4


@dataclass(frozen=True, slots=True)
class SeenOwner:
    """An owner, as its status queue shows it.

    Attributes:
        role, name: of the owner; an empty role if neither its queue's name nor a record says it.
        status_queue: the queue that its record is on.
        condition: its state.
        record: its current record; ``None`` if there is none, or if it is hidden or unreadable.
        put_by: the user who has put the record, which its owner compares with its own; empty if there is none.
        committed_at: when the record was put: its last commit. 16 digits, UTC; empty if there is none.
        holders: the programs that have the status queue open for input; empty if nobody has, or if nobody could be asked.
        leftovers: how many other records are there that nobody needs.
        unreadable: how many messages are not records.
        problem: what is wrong, or could not be seen; empty if nothing.
        is_shared: whether the status queue is shared by many owners.
    """

    role: RoleName | None
    name: str
    status_queue: str
    condition: OwnerCondition
    record: StatusRecord | None = None
    committed_at: str = ""
    holders: tuple[Holder, ...] = ()
    leftovers: int = 0
    unreadable: int = 0
    problem: str = ""
    is_shared: bool = False
    put_by: str = ""

    @property
    def owner_of_group(self) -> GroupOwner | None:
        """This owner as the owner of the unfinished group that its record names; ``None`` if it names none."""
        if self.record is None or self.record.state is not RecordState.IN_GROUP:
            return None
        # On a shared queue, another attempt may have it open.
        active = self.condition is OwnerCondition.ACTIVE
        is_active = None if self.is_shared and active else active
        return GroupOwner(self.record.role, self.name, self.status_queue, is_active, self.committed_at, self.group_name)

    def command(self) -> str:
        """Return the command that shows or mends what is on the status queue."""
        if self.is_shared:
            return f"mqgroups batches list --status-queue {self.status_queue}"
        named = (
            f"{self.name} --role {self.role}" if self.role else f"NAME --role ROLE --status-queue {self.status_queue}"
        )
        return f"mqgroups check {named}"

    @property
    def group_name(self) -> str:
        """The name of the group in its record; empty if it has none."""
        return name_of(self.record.properties) if self.record else ""


@dataclass(frozen=True, slots=True)
class SeenOwners:
    """The owners of a queue manager.

    Attributes:
        owners: by role and name.
        unseen: what could not be seen, and for want of what: a sentence each.
    """

    owners: tuple[SeenOwner, ...]
    unseen: tuple[str, ...] = ()

    @property
    def has_all_producers(self) -> bool:
        """Whether the records of all producers were seen, and none is being replaced by a program at work."""
        being_replaced = any(
            each.condition is OwnerCondition.ACTIVE and each.record is None and each.role != "get"
            for each in self.owners
        )
        return not self.unseen and not being_replaced


def find_owners(
    q_mgr: ConnectionHolder,
    *,
    names: Collection[str] = (),
    status_queues: Collection[str] = (),
    queue: str | None = None,
) -> SeenOwners:
    """Return the producers and consumers that have a status queue on this queue manager. Nothing is changed.

    Args:
        q_mgr: a connected queue manager (``mqgroups.connect``, ``mqgroups.wrap``).
        names: only owners of these names. Their status queues are also looked at if the command server does not list them.
        status_queues: status queues to look at besides those that the command server lists (``MQGROUPS.PUT.*``, ``.GET.*`` and
            ``.SHARED.*``): those with other names; or all, if this user may not ask it.
        queue: only owners whose record names this queue, and those without a readable record.

    Raises:
        ConfigurationError: a name is not valid.
        ConnectionBroken: the connection is lost.
    """
    for each in status_queues:
        checked_queue_name("status_queues", each)
    if queue is not None:
        checked_queue_name("queue", queue)
    connection = connection_of(q_mgr)
    return connection.reopening(
        lambda: _seen(connection, frozenset(names), frozenset(status_queues), queue),
    )


def _seen(
    connection: Connection, names: Collection[str], status_queues: Collection[str], queue: str | None
) -> SeenOwners:
    unseen: list[str] = []
    by_name = {prefix + name for name in names for prefix in _ROLES}
    listed: set[str] = set()
    try:
        listed |= {name for name in queue_names(connection, f"{_PREFIX}*") if name.startswith((*_ROLES, _SHARED))}
    except CommandRefused as error:
        unseen.append(
            f"status queues are not listed, only those that are named: the command server did not tell ({error})"
        )
    held: dict[str, tuple[Holder, ...]] | None = None
    try:
        held = holders(connection, f"{_PREFIX}*")
        for each in status_queues:
            held |= {} if each.startswith(_PREFIX) else holders(connection, each)
    except CommandRefused as error:
        if not unseen:
            unseen.append(f"who has status queues open is not shown: the command server did not tell ({error})")
    owners: list[SeenOwner] = []
    for name in sorted({*listed, *by_name, *status_queues}):
        must_exist = name in status_queues
        owners += _owners_of(connection, name, (held or {}).get(name, ()), must_exist=must_exist)
    wanted = [
        each
        for each in owners
        if (not names or each.name in names) and (queue is None or each.record is None or each.record.queue == queue)
    ]
    unseen += [f"status queue {each.status_queue}: {each.problem}" for each in wanted if each.condition is _UNSEEN]
    return SeenOwners(tuple(sorted(wanted, key=lambda each: (each.role or "", each.name))), tuple(unseen))


def _owners_of(connection: Connection, name: str, held: tuple[Holder, ...], *, must_exist: bool) -> Iterator[SeenOwner]:
    role, own_name = _usual_owner(name)
    try:
        look = look_at(connection, name)
        open_input, why = _open_input(connection, name)
    except QueueMissing as error:
        if must_exist:
            yield SeenOwner(role, own_name, name, OwnerCondition.UNSEEN, problem=str(error))
        return
    except ConnectionBroken:
        raise
    except MQIError as error:
        yield SeenOwner(role, own_name, name, OwnerCondition.UNSEEN, holders=held, problem=str(error))
        return
    if name.startswith(_SHARED) or any(kind_of_record(each.record) is not None for each in look.messages):
        yield from _shared(connection, look, open_input=open_input, held=held)
        return
    is_active = bool(held) if open_input is None else open_input > 0
    found = owner_finding(look.messages, look.unreadable, is_active=is_active)
    for _ in range(_MORE_LOOKS):
        if found.record is not None or found.condition is not OwnerCondition.ACTIVE:
            break
        look = look_at(connection, name)
        found = owner_finding(look.messages, look.unreadable, is_active=is_active)
    record = found.record
    of = record or next((each.record for each in look.messages), None)
    yield SeenOwner(
        of.role.value if of else role,
        of.name if of else own_name,
        name,
        OwnerCondition.MOVED if (moved := _moved_from(connection, record)) else found.condition,
        record,
        look.put_time(found.message) if found.message else "",
        held,
        found.leftovers,
        look.unreadable,
        look.why_unreadable or moved or why,
        put_by=found.message.user if found.message else "",
    )


def _moved_from(connection: Connection, record: StatusRecord | None) -> str:
    """Return what is wrong with a record of another queue manager; empty if it is of this one, or is no longer needed."""
    if record is None or not record.is_needed or record.q_mgr_identifier == connection.q_mgr_identifier:
        return ""
    return f"its record is of queue manager {record.q_mgr_identifier}: adopt it, if it was moved here"


def _usual_owner(name: str) -> tuple[RoleName | None, str]:
    for prefix, role in _ROLES.items():
        if name.startswith(prefix):
            return role, name.removeprefix(prefix)
    return None, name


def _open_input(connection: Connection, name: str) -> tuple[int | None, str]:
    """Return how many handles are open for input; or ``None``, and why that is not known."""
    try:
        queue = connection.open_queue(name, mq.MQOO_INQUIRE)
    except ConnectionBroken:
        raise
    except MQIError as error:
        return None, f"whether a program has it open is not known: {error}"
    try:
        return int(queue.inquire(mq.MQIA_OPEN_INPUT_COUNT)), ""
    finally:
        queue.close()


def _shared(
    connection: Connection, look: StatusQueueLook, *, open_input: int | None, held: tuple[Holder, ...]
) -> Iterator[SeenOwner]:
    """Return the groups with records on a shared status queue; each is an owner of its own."""
    statuses: dict[tuple[str, int, str], FoundMessage] = {}
    intents: dict[tuple[str, int, str], FoundMessage] = {}
    for each in look.messages:
        kind = kind_of_record(each.record)
        if kind is RecordKind.STATUS:
            statuses[_group(each)] = each
        elif kind is RecordKind.INTENT:
            intents[_group(each)] = each
    is_active = bool(held) if open_input is None else open_input > 0
    for group in sorted({*statuses, *intents}):
        message = statuses.get(group)
        record = message.record if message else intents[group].record
        yield SeenOwner(
            "put",
            record.name,
            look.name,
            OwnerCondition.MOVED
            if (moved := _moved_from(connection, record))
            else _shared_condition(message, is_active=is_active),
            message.record if message else None,
            look.put_time(message) if message else "",
            held,
            problem=moved,
            is_shared=True,
            put_by=message.user if message else "",
        )
    if look.unreadable:
        yield SeenOwner(
            "put",
            look.name,
            look.name,
            OwnerCondition.UNREADABLE,
            unreadable=look.unreadable,
            problem=look.why_unreadable,
            is_shared=True,
        )


def _group(message: FoundMessage) -> tuple[str, int, str]:
    values = claim_values(message.record.checkpoint)
    return values["sink"], values["batch"], values["key"]


def _shared_condition(message: FoundMessage | None, *, is_active: bool) -> OwnerCondition:
    if message is None:
        return OwnerCondition.ACTIVE if is_active else OwnerCondition.HIDDEN
    if message.record.state is not RecordState.IN_GROUP:
        # The records of a complete group stay until its batch is completed.
        return OwnerCondition.LEFT_OVER
    return OwnerCondition.ACTIVE if is_active else OwnerCondition.INTERRUPTED


def owners_of_groups(owners: Iterable[SeenOwner]) -> dict[bytes, tuple[GroupOwner, ...]]:
    """Return the owners whose records name an unfinished group, by GroupId."""
    found: dict[bytes, tuple[GroupOwner, ...]] = {}
    for each in owners:
        owner = each.owner_of_group
        if owner is not None and each.record is not None:
            found[each.record.group_id] = (*found.get(each.record.group_id, ()), owner)
    return found

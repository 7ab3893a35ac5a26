"""Lists the owners of a queue manager: each producer and consumer with a status queue, and each group on a shared status queue.

Status queues are only browsed and inquired, so running owners are not disturbed. The command server lists the status queues and
the programs that have them open. Without the command server, the caller names the status queues, and these programs are unknown.

Not here: what the next start of one owner would find. ``owner.py`` opens the status queue as the owner does, to find this out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.core.claim import RecordKind, claim_values, is_claim_of_another_version, kind_of_record
from mqgroups.core.modes import RoleName
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.core.status_chain import FoundMessage
from mqgroups.errors import CommandRefused, ConnectionBroken, MQIError, QueueMissing
from mqgroups.names import checked_queue_name
from mqgroups.operate.attributes import inquired, queue_behind
from mqgroups.operate.command_server import holders, queue_names
from mqgroups.operate.rules.owner_state import Holder, OwnerState, SeenOwner, state_of_queue
from mqgroups.operate.status_queues import StatusQueueLook, look_at, lost_or_hidden
from mqgroups.setting import check_collection
from mqgroups.status.records import of_another_version

_PREFIX = "MQGROUPS."
_ROLES: dict[str, RoleName] = {"MQGROUPS.PUT.": "put", "MQGROUPS.GET.": "get"}
_SHARED = "MQGROUPS.SHARED."
# Status queues whose names begin in one of these ways are requested from the command server.
USUAL = (*_ROLES, _SHARED)
# A running program hides its record for a moment at each commit.
_MOST_LOOKS = 5


@dataclass(frozen=True, slots=True)
class SeenOwners:
    """The owners of a queue manager that were found."""

    owners: tuple[SeenOwner, ...]
    """All owners that were seen, sorted by role and name."""
    unseen: tuple[str, ...] = ()
    """A sentence for each owner or queue that could not be seen, with the reason."""
    is_listed: bool = True
    """Whether the command server has listed the status queues."""

    def of_queues(self, queues: Collection[str]) -> SeenOwners:
        """Return the owners whose record or anchor names one of these queues. Owners whose queue is unknown go to ``unseen``."""
        found = tuple(each for each in self.owners if each.queue in queues)
        unknown = [each for each in self.owners if not each.queue and each.state is not OwnerState.CLEAN]
        if not unknown:
            return SeenOwners(found, self.unseen)
        named = ", ".join(f"{each.name} ({each.state.value})" for each in unknown)
        return SeenOwners(found, (*self.unseen, f"the queues of these owners, because they show no record: {named}"))

    @property
    def _producers_seen(self) -> bool:
        """Whether the records of all producers were seen, and no running program is replacing one of these records."""
        being_replaced = (
            each.state is OwnerState.ACTIVE and each.record is None and each.role != "get" for each in self.owners
        )
        return not self.unseen and not any(being_replaced)


def find_owners(
    q_mgr: ConnectionHolder, *, names: Collection[str] = (), status_queues: Collection[str] = ()
) -> SeenOwners:
    """Return the producers and consumers that have a status queue on this queue manager. Nothing is changed.

    Args:
        names: return only owners with these names. Their status queues are read even if the command server does not list them.
        status_queues: other status queues to read. The command server lists ``MQGROUPS.PUT.*``, ``MQGROUPS.GET.*`` and
            ``MQGROUPS.SHARED.*``. If this user is not allowed to ask the command server, give all status queues.

    Raises:
        ConfigurationError: a name is not valid.
        ConnectionBroken: the connection is lost.
    """
    check_collection("names", names)
    check_collection("status_queues", status_queues)
    for each in status_queues:
        checked_queue_name("status_queues", each)
    connection = connection_of(q_mgr)
    return connection.reopening(lambda: seen_owners(connection, names, status_queues))


def seen_owners(connection: Connection, names: Collection[str] = (), status_queues: Collection[str] = ()) -> SeenOwners:
    """Return the same as ``find_owners``, for other modules of this package."""
    unseen: list[str] = []
    by_name = {prefix + name for name in names for prefix in _ROLES}
    listed: set[str] = set()
    try:
        listed |= {name for name in queue_names(connection, f"{_PREFIX}*") if name.startswith(USUAL)}
    except CommandRefused as error:
        why = f"the command server did not answer ({error})"
        unseen.append(f"status queues are not listed, only those that are named: {why}")
    is_listed = not unseen
    held: dict[str, tuple[Holder, ...]] = {}
    try:
        held = holders(connection, f"{_PREFIX}*")
        for each in status_queues:
            held |= {} if each.startswith(_PREFIX) else holders(connection, each)
    except CommandRefused as error:
        if not unseen:
            unseen.append(f"who has status queues open is not shown: the command server did not answer ({error})")
    owners: list[SeenOwner] = []
    for name in sorted({*listed, *by_name, *status_queues}):
        owners += _owners_of(connection, name, held.get(name, ()), must_exist=name in status_queues)
    wanted = [each for each in owners if not names or each.name in names]
    not_seen = (each for each in wanted if each.state is OwnerState.UNSEEN)
    unseen += [f"status queue {each.status_queue}: {each.problem}" for each in not_seen]
    in_order = sorted(wanted, key=lambda each: (each.role or "", each.name))
    return SeenOwners(tuple(in_order), tuple(unseen), is_listed)


def _owners_of(connection: Connection, name: str, held: tuple[Holder, ...], *, must_exist: bool) -> Iterator[SeenOwner]:
    role, own_name = _usual_owner(name)
    try:
        look = look_at(connection, name)
        facts, unasked = inquired(connection, name, ("IPPROCS",))
    except ConnectionBroken:
        raise
    except MQIError as error:
        if must_exist or not isinstance(error, QueueMissing):
            yield SeenOwner(role, own_name, name, OwnerState.UNSEEN, holders=held, problem=str(error))
        return
    is_active = bool(facts.get("IPPROCS", held))
    if name.startswith(_SHARED) or any(kind_of_record(each.record) is not None for each in look.messages):
        yield from _shared(connection, look, is_active=is_active, held=held)
        return
    for again in range(_MOST_LOOKS):
        look = look_at(connection, name) if again else look
        state, message, leftovers = state_of_queue(
            look.messages, len(look.unreadable), is_active=is_active, of_another_version=look.of_another_version
        )
        if message is not None or state is not OwnerState.ACTIVE:
            break
    unknown = f"it is not known whether a program has it open: {unasked}" if unasked else ""
    if state is OwnerState.HIDDEN:
        state, unknown = lost_or_hidden(connection, look)
    of = message.record if message else next((each.record for each in look.messages), None)
    found = SeenOwner(
        of.role.value if of else role, of.name if of else own_name, name, state, queue=of.queue if of else ""
    )
    problem = look.why_unreadable or unknown
    found = replace(found, holders=held, leftovers=leftovers, unreadable=len(look.unreadable), problem=problem)
    yield _with_record(connection, look, found, message) if message else found


def _with_record(connection: Connection, look: StatusQueueLook, owner: SeenOwner, message: FoundMessage) -> SeenOwner:
    """Return the owner with the record that is in a message of its status queue."""
    record = message.record
    owner = replace(owner, record=record, committed_at=look.put_time(message), put_by=message.user)
    if record.state is RecordState.IN_GROUP and not owner.is_shared:
        owner = replace(owner, behind=queue_behind(connection, record.queue))
    return _moved(connection, owner, record)


def _moved(connection: Connection, owner: SeenOwner, record: StatusRecord) -> SeenOwner:
    if not record.is_needed or record.q_mgr_identifier == connection.q_mgr_identifier:
        return owner
    problem = f"its record is of queue manager {record.q_mgr_identifier}: adopt it, if it was moved here"
    return replace(owner, state=OwnerState.MOVED, problem=problem)


def _usual_owner(name: str) -> tuple[RoleName | None, str]:
    for prefix, role in _ROLES.items():
        if name.startswith(prefix):
            return role, name.removeprefix(prefix)
    return None, name


def _shared(
    connection: Connection, look: StatusQueueLook, *, is_active: bool, held: tuple[Holder, ...]
) -> Iterator[SeenOwner]:
    """Yield an owner for each group that has records on a shared status queue."""
    statuses: dict[tuple[str, int, str], FoundMessage] = {}
    intents: dict[tuple[str, int, str], FoundMessage] = {}
    for each in look.messages:
        kind = kind_of_record(each.record)
        if kind is RecordKind.STATUS:
            statuses[_group(each)] = each
        elif kind is RecordKind.INTENT:
            intents[_group(each)] = each
        elif is_claim_of_another_version(each.record):
            why = of_another_version(each.record)
            unreadable = (*look.unreadable, (each.msg_id,))
            look = replace(look, unreadable=unreadable, why_unreadable=why, of_another_version=True)
    without, unknown = OwnerState.ACTIVE, ""
    if intents.keys() - statuses.keys() and not is_active:
        without, unknown = lost_or_hidden(connection, look)
    for group in sorted({*statuses, *intents}):
        message = statuses.get(group)
        of = (message or intents[group]).record
        state, problem = (_shared_state(message, is_active=is_active), "") if message else (without, unknown)
        found = SeenOwner(
            "put", of.name, look.name, state, queue=of.queue, problem=problem, is_shared=True, holders=held
        )
        yield _with_record(connection, look, found, message) if message else _moved(connection, found, of)
    if look.unreadable:
        state = OwnerState.VERSION if look.of_another_version else OwnerState.UNREADABLE
        found = SeenOwner("put", look.name, look.name, state, is_shared=True)
        yield replace(found, unreadable=len(look.unreadable), problem=look.why_unreadable)


def _group(message: FoundMessage) -> tuple[str, int, str]:
    values = claim_values(message.record.checkpoint)
    return values["sink"], values["batch"], values["key"]


def _shared_state(message: FoundMessage, *, is_active: bool) -> OwnerState:
    if message.record.state is not RecordState.IN_GROUP:
        # The records of a complete group stay until its batch is completed.
        return OwnerState.LEFT_OVER
    return OwnerState.ACTIVE if is_active else OwnerState.INTERRUPTED

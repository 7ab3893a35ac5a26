"""Owners as their status queues show them: who they are, what their next start would find, and whether they are running.

Not here: what a start does with a record (``core/restart.py``), and which messages belong to a record (``core/status_chain.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mqgroups.core.group_properties import name_of
from mqgroups.core.modes import RoleName
from mqgroups.core.status import Outgoing, RecordState, StatusRecord
from mqgroups.core.status_chain import ChainBroken, FoundMessage, LookAgain, RecordHidden, contents_of, users_of_records
from mqgroups.operate.rules.findings import Severity, Told


class OwnerState(Told):
    """The state of an owner. States that need an operator come first.

    Attributes:
        severity: how bad the state is.
        means: what the state means for the next start.
    """

    # fmt: off
    MOVED = ("of another queue manager", Severity.ERROR, "a start refuses the record: mqgroups adopt")
    DUPLICATE = ("two records", Severity.ERROR, "two programs have used the status queue: look at it")
    SEVERAL_USERS = ("of several users", Severity.ERROR, "a start believes only the records of its own user")
    UNREADABLE = ("unreadable", Severity.ERROR, "a message there is not a record: look at it")
    VERSION = ("of another version", Severity.ERROR, "start the version of mqgroups that wrote the record")
    LOST = ("record lost", Severity.ERROR, "the record is gone, its anchor is there, and no unit of work hides it")
    HIDDEN = ("hidden", Severity.WARNING, "a unit of work hides the record, or it is lost")
    UNSEEN = ("not seen", Severity.UNSEEN, "the status queue could not be browsed")
    INTERRUPTED = ("interrupted", Severity.WARNING, "a group is interrupted, and the next start resumes it")
    ACTIVE = ("active", Severity.OK, "a program works under this name, or is not gone yet")
    LEFT_OVER = ("left over", Severity.OK, "a record that nobody needs; the next start removes it")
    CHECKPOINT = ("checkpoint kept", Severity.OK, "no group is interrupted; its checkpoint is kept")
    DONE = ("done", Severity.OK, "no group is interrupted; the name of its last group is kept")
    CLEAN = ("clean", Severity.OK, "no group is interrupted")
    UNKNOWN = ("unknown", Severity.OK, "there is no status queue: the name was never used, or its queue was deleted")
    # fmt: on

    severity: Severity
    means: str


# An operator has to act before the owner can start.
DISARRAY = frozenset(
    {OwnerState.DUPLICATE, OwnerState.SEVERAL_USERS, OwnerState.UNREADABLE, OwnerState.VERSION, OwnerState.MOVED}
)
# No group is interrupted, and no program is running.
AT_REST = frozenset({OwnerState.CLEAN, OwnerState.CHECKPOINT, OwnerState.DONE, OwnerState.LEFT_OVER})
# A program is running, or its unit of work is not backed out yet.
AT_WORK = frozenset({OwnerState.ACTIVE, OwnerState.HIDDEN})


@dataclass(frozen=True, slots=True)
class Holder:
    """A program that has a queue open for input, as the queue manager knows it (IBM MQ, "Inquire Queue Status (Response)")."""

    appl_name: str
    """The application's tag."""
    process_id: int
    """The process id of the application, or that of its channel's process."""
    conn_name: str
    """The network address of the application; empty for a local program."""
    user: str
    """The user of the connection."""
    channel: str
    """The channel of the connection; empty for a local program."""


@dataclass(frozen=True, slots=True)
class SeenOwner:
    """A producer or consumer, as its status queue shows it."""

    role: RoleName | None
    """Whether the owner is a producer or a consumer; ``None`` if neither its queue's name nor a record says so."""
    name: str
    """The name of the owner."""
    status_queue: str
    """The queue that the owner's record is on."""
    state: OwnerState
    record: StatusRecord | None = None
    """The owner's current record; ``None`` if there is none, or if it is hidden or unreadable."""
    committed_at: str = ""
    """When the record was put, which is the owner's last commit; 16 digits in UTC, empty if there is no record."""
    queue: str = ""
    """The queue that the owner puts to or gets from, as its record or the anchor of a lost record says; empty if it is not known.
    """
    holders: tuple[Holder, ...] = ()
    """The programs that have the status queue open for input; empty if there are none, or if nobody could be asked."""
    leftovers: int = 0
    """How many older records are on the status queue. Nobody needs them."""
    unreadable: int = 0
    """How many messages of the status queue are not records."""
    problem: str = ""
    """What is wrong, or what could not be seen; empty if all is well."""
    is_shared: bool = False
    """Whether the status queue is shared by many owners."""
    put_by: str = ""
    """The user who put the record; empty if there is no record. The owner compares this user with its own."""
    behind: str | None = None
    """The queue that ``queue`` is an alias of, or its own name; empty if it does not exist, ``None`` if it is not known."""

    @property
    def has_group(self) -> bool:
        """Whether the owner's record names an unfinished group."""
        return self.record is not None and self.record.state is RecordState.IN_GROUP

    @property
    def outgoing(self) -> Outgoing | None:
        """The position in the outgoing group of a pipe, from the record of the pipe's consumer; ``None`` for other owners."""
        return self.record.outgoing if self.record else None

    @property
    def is_active(self) -> bool | None:
        """Whether a program with this name is running; ``None`` if it may be another owner of a shared status queue."""
        active = self.state is OwnerState.ACTIVE
        return None if active and self.is_shared else active

    @property
    def group_name(self) -> str:
        """The name of the group in the owner's record; empty if the group has no name, or the record does not have the name."""
        record = self.record
        if record is None:
            return ""
        return name_of(record.properties) or (record.done.name if record.done and not self.has_group else "")

    def may_have_a_group(self, role: str, queue: str) -> bool:
        """Return whether the owner may have a record for this queue that was not seen because it is lost or unreadable."""
        if self.record is not None or self.role not in (None, role) or self.state in (OwnerState.CLEAN, *AT_WORK):
            return False
        # The anchor of a lost record has the name of the queue.
        return self.state is not OwnerState.LOST or self.queue in ("", queue)


def state_of(record: StatusRecord | None) -> OwnerState:
    """Return the state of an owner that is not running, from its record."""
    if record is None:
        return OwnerState.CLEAN
    if record.state is RecordState.IN_GROUP or record.suspect is not None:
        return OwnerState.INTERRUPTED
    if record.checkpoint is not None:
        return OwnerState.CHECKPOINT
    return OwnerState.LEFT_OVER if record.done is None else OwnerState.DONE


def state_of_queue(
    messages: Sequence[FoundMessage], unreadable: int, *, is_active: bool, of_another_version: bool = False
) -> tuple[OwnerState, FoundMessage | None, int]:
    """Return an owner's state, its current record, and the number of its other records, which are no longer needed."""
    if unreadable:
        return OwnerState.VERSION if of_another_version else OwnerState.UNREADABLE, None, 0
    users, message, leftovers = users_of_records(messages), None, 0
    try:
        found, record = contents_of(messages, seen_twice=True)
    except (RecordHidden, LookAgain):
        state = OwnerState.HIDDEN
    except ChainBroken as error:
        several = OwnerState.SEVERAL_USERS if len(users) > 1 else OwnerState.DUPLICATE
        state = several if error.several else OwnerState.UNREADABLE
    else:
        message = next((each for each in messages if found.stored and each.msg_id == found.stored.msg_id), None)
        leftovers = len(found.leftovers)
        state = OwnerState.SEVERAL_USERS if len(users) > 1 and leftovers else state_of(record)
    # An active owner replaces its record all the time, so the record may be hidden at this moment.
    return OwnerState.ACTIVE if is_active else state, message, leftovers


def owners_of_groups(owners: Iterable[SeenOwner]) -> dict[bytes, tuple[SeenOwner, ...]]:
    """Return the owners whose records name an unfinished group, by GroupId."""
    found: dict[bytes, tuple[SeenOwner, ...]] = {}
    for each in owners:
        if each.has_group and each.record is not None:
            found[each.record.group_id] = (*found.get(each.record.group_id, ()), each)
    return found

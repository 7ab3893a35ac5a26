"""Every error this package raises, arranged by who has to act.

    MQGroupsError
     ├─ ApplicationError            the program: it asked for something that cannot be
     │   ├─ ConfigurationError      a name, an option, an environment variable (also a ValueError)
     │   ├─ GroupUsage              a call at the wrong moment
     │   ├─ ForeignSyncpoint        something else has ended the unit of work of a connection that the application shares
     │   ├─ MessageRefused          a payload, a property, a format or a CorrelId that no message can have (also a ValueError)
     │   ├─ EmptyGroup              a group was ended without its last message
     │   ├─ InputChanged            an interrupted group of a batch was given other messages than before
     │   └─ KeyInTwoPartitions      two parts of one batch have messages for the same group
     ├─ StatusError                 an operator: a status queue or a group is not what it must be; nothing was changed
     │   ├─ StatusQueueUnusable     missing, without a model queue, or of a kind that cannot keep a record
     │   ├─ StatusRecordCorrupt     not a status record, or damaged
     │   ├─ StatusRecordVersion     written by another version of mqgroups
     │   ├─ StatusRecordForeign     of another name, role, queue or queue manager
     │   ├─ StatusRecordHidden      in a unit of work that does not end, or gone without its anchor
     │   ├─ StatusRecordMissing     gone, although nobody else may touch it
     │   ├─ DuplicateStatusRecords  more than one
     │   ├─ StatusRecordsDisagree   those of a pipe, which are committed together, speak of different moments
     │   ├─ QueueManagerChanged     another queue manager answers where the lost one did
     │   ├─ GroupWouldSplit         a message of a group went to another instance of a cluster queue than its first one
     │   ├─ TakeoverRefused         an owner cannot take another one's group over
     │   ├─ SalvageRefused          what lies on a queue does not say where its owner stands
     │   │   └─ GroupOwned          another owner's record speaks of the group
     │   └─ GroupIncomplete         a message of the group is not the next in sequence
     └─ EnvironmentFailure          what is around the program
         ├─ BindingMissing          no pymqi or ibmmq, or no MQ client library (also an ImportError)
         ├─ CommandRefused          the command server does not answer what the MQI cannot tell
         ├─ OwnershipLost           another instance of the same name has taken over
         │   └─ Fenced              another attempt puts this group of a batch
         ├─ GroupNotResumable       the connection was lost in a group of which no status is kept
         ├─ MessagesTaken           another consumer took what a lost connection gave back
         ├─ GroupAbandoned          a producer ended a group without completing it
         ├─ PoisonMessage           a message fails whenever it is processed
         ├─ GroupQuarantined        such a message, and the rest of its group, went to the backout queue
         ├─ GroupStalled            the next message of a group did not arrive in time
         └─ MQIError                a verb failed: verb, object name, completion code, reason code
             ├─ ConnectionBroken    the connection is gone, and with it the unit of work
             ├─ CommitOutcomeUnknown    MQCMIT failed in a way that leaves open whether it committed
             ├─ UnitOfWorkBackedOut     the queue manager has backed out by itself (2003)
             ├─ NotAuthorised       2035
             ├─ QueueMissing        2085
             ├─ QueueFull           2053, 2056, 2192
             ├─ QueueInhibited      2016, 2051
             ├─ MessageTooLong      2010, 2030, 2031, 2218
             ├─ SyncpointLimitReached   2024
             └─ OwnerActive         2042 on a status queue: the name is in use

All of them pickle and hold values, never handles; none shows a payload or a password. After any of them a group is
resumable at its last commit: ``producer.group()`` or the consumer's next iteration goes on from there.
"""

from __future__ import annotations

from typing import Any

from mqgroups.mqi import constants as mq

# What remedies say of a status record that is lost, for whoever cannot get it back.
SALVAGE = "have it rebuilt from the messages of its group: `mqgroups salvage rebuild`"


class MQGroupsError(Exception):
    """The root of this package's errors."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__.copy())


def _rebuild(cls: type[MQGroupsError], args: tuple[Any, ...], values: dict[str, Any]) -> MQGroupsError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(values)
    return error


class ApplicationError(MQGroupsError):
    """The program asked for something that cannot be."""


class ConfigurationError(ApplicationError, ValueError):
    """A name, an option or an environment variable has a value it cannot have."""


class GroupUsage(ApplicationError):
    """A call came at a moment when it cannot be done."""


class ForeignSyncpoint(ApplicationError):
    """The unit of work was committed or backed out by something else than this package, on the same connection.

    What was left of it is backed out, and the group is resumable at its last commit.
    """

    def __init__(self, found: str) -> None:
        super().__init__(
            f"the unit of work was ended by something else on this connection: {found}. A connection has one unit of work, and "
            "while a group's messages are in it, only their producer, consumer or pipe may end it. What is left of it is backed "
            "out. Find out what commits or backs out, and give it a connection of its own; then go on with the group"
        )
        self.found = found


class MessageRefused(ApplicationError, ValueError):
    """A payload, a property, a format name or a CorrelId is not what a message can have. Nothing of the message was put."""


class EmptyGroup(ApplicationError):
    """A group was ended without a last message: nothing was put in it, or nothing since it was resumed."""


class InputChanged(ApplicationError):
    """A group of a batch was put in part, or as a whole, and is given other messages now.

    Attributes:
        name: sink, batch and key of the group.
        group_id: 24 bytes.
        msg_seq_number: how many messages of it are committed.
    """

    def __init__(self, name: str, group_id: bytes, msg_seq_number: int, given: str) -> None:
        super().__init__(
            f"group {name}: {msg_seq_number} messages are committed, with GroupId {group_id.hex()}, and {given}. A batch that "
            "is done again has to give each group the same messages in the same order: no random values, no current time, "
            "no order left to chance. Nothing was put. Have the batch give what it gave before; or purge the sink's "
            "records and its unfinished groups (mqgroups batches purge), and do it from the start"
        )
        self.name = name
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number


class KeyInTwoPartitions(ApplicationError):
    """Two parts of one execution of a batch have messages for the same group.

    Attributes:
        key: of the group.
        partitions: the part that has claimed the group, and the one that wanted to.
    """

    def __init__(self, key: str, *partitions: int) -> None:
        super().__init__(
            f"key {key!r} has rows in partition {partitions[0]} and in partition {partitions[1]}; a group is put by one task. "
            "Bring the rows of a key together before writing: df.repartition(column)"
        )
        self.key = key
        self.partitions = partitions


class StatusError(MQGroupsError):
    """A status queue is not what it must be. Nothing was changed; an operator has to look.

    Attributes:
        status_queue: its name.
        found, expected: what was there and what should have been; ``None`` where the message says it all.
    """

    def __init__(self, message: str, *, status_queue: str, found: object = None, expected: object = None) -> None:
        super().__init__(message)
        self.status_queue = status_queue
        self.found = found
        self.expected = expected


class StatusQueueUnusable(StatusError):
    """The status queue is missing and cannot be made, or cannot keep a record."""


class StatusRecordCorrupt(StatusError):
    """A message on the status queue is not a status record, or is damaged."""


class StatusRecordVersion(StatusError):
    """The status record was written by another version of mqgroups."""


class StatusRecordForeign(StatusError):
    """The status record speaks of another name, role, queue or queue manager. ``field`` says which."""

    def __init__(self, message: str, *, status_queue: str, field: str, found: object, expected: object) -> None:
        super().__init__(message, status_queue=status_queue, found=found, expected=expected)
        self.field = field


class StatusRecordHidden(StatusError):
    """There is an anchor on the status queue, and its status record cannot be seen."""

    def __init__(self, status_queue: str, wait_s: float) -> None:
        super().__init__(
            f"status queue {status_queue} has an anchor, and the status record beside it could not be seen for {wait_s:g} s. "
            "Either a unit of work hides it, of an instance that is gone and that the queue manager has not dropped yet: then "
            "start again. Or it was removed by something else than mqgroups, or by a commit on a shared connection that mqgroups "
            f"did not make: DISPLAY QSTATUS({status_queue}) shows UNCOM(NO) then, and a start would put or get messages twice. "
            f"Nothing was changed: {SALVAGE}",
            status_queue=status_queue,
            found="an anchor without its status record",
            expected="both",
        )


class StatusRecordMissing(StatusError):
    """The status record this owner wrote is not there any more: somebody else took it."""


class DuplicateStatusRecords(StatusError):
    """There is more than one status record on the status queue."""


class StatusRecordsDisagree(StatusError):
    """The status records of the two sides of a pipe cannot both be of its last commit."""


class QueueManagerChanged(StatusError):
    """A lost connection was made again, and another queue manager answered: what is on its queues says nothing here."""

    def __init__(self, q_mgr_name: str, *, found: str, expected: str) -> None:
        super().__init__(
            f"queue manager {q_mgr_name} answered with identifier {found}, expected {expected}. The status queue is on the "
            "one that was lost: connect to that one again, or, if it is gone for good, find out there what was committed",
            status_queue="",
            found=found,
            expected=expected,
        )


class SalvageRefused(StatusError):
    """A status record cannot be rebuilt, or a group not moved, because it cannot be known what is right.

    Attributes:
        because: which obstacle: a value of ``core.salvage.Obstacle``. Some of them can be accepted.
    """

    def __init__(self, message: str, *, status_queue: str, because: str, found: object, expected: object) -> None:
        super().__init__(message, status_queue=status_queue, found=found, expected=expected)
        self.because = because


class GroupOwned(SalvageRefused):
    """A status record is not rebuilt, because another owner's record speaks of the group; nothing was changed.

    Attributes:
        group_id: 24 bytes.
        owner: the name of the producer or consumer that has it; of a group on a shared status queue: sink, batch and key.
        status_queue: where its record is.
    """

    def __init__(self, group_id: bytes, owner: str, status_queue: str, state: str) -> None:
        found = f"a record of {owner} ({state}) that speaks of group {group_id.hex()}"
        super().__init__(
            f"status queue {status_queue}: found {found}, expected no other owner. A second owner would put or get its messages "
            f"twice. Start {owner}, and it resumes; or let another name have the group: `mqgroups recover --takeover {owner}`. "
            "Nothing was changed",
            status_queue=status_queue,
            because="owned",
            found=found,
            expected="no other owner",
        )
        self.group_id = group_id
        self.owner = owner


class GroupWouldSplit(StatusError):
    """A message went to another instance of a cluster queue than the group's first one. It is not committed.

    Attributes:
        queue, group_id, msg_seq_number: which message, put to which queue.
        found, expected: the queue manager that it went to, and that of the first message.
    """

    def __init__(self, queue: str, group_id: bytes, msg_seq_number: int, *, found: str, expected: str) -> None:
        super().__init__(
            f"message {msg_seq_number} of group {group_id.hex()}, put to queue {queue}, went to queue manager {found}; the first "
            f"message of the group went to {expected}. The unit of work is backed out, and the group is kept at its last commit. "
            "An alias, a workload exit or an altered definition leads elsewhere than it did: correct that and start again, "
            f"and the rest goes to {expected}",
            status_queue="",
            found=found,
            expected=expected,
        )
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number


class TakeoverRefused(StatusError):
    """An interrupted group cannot be given to another owner; nothing was changed."""


class GroupIncomplete(StatusError):
    """A message of a group is not the next in sequence.

    Attributes:
        group_id: 24 bytes.
        found, expected: message sequence numbers.
    """

    def __init__(self, message: str, *, status_queue: str, group_id: bytes, found: object, expected: object) -> None:
        super().__init__(message, status_queue=status_queue, found=found, expected=expected)
        self.group_id = group_id


class EnvironmentFailure(MQGroupsError):
    """Something around the program does not work, or not now."""


class BindingMissing(EnvironmentFailure, ImportError):
    """There is no way to MQ: the binding or the MQ client library is not installed."""

    def __init__(self, binding: str, problem: str) -> None:
        super().__init__(
            f"{problem}. Install the IBM MQ client (redistributable) and `pip install mqgroups[pymqi]` or "
            "`pip install mqgroups[ibmmq]` (MQGROUPS_MQI=pymqi|ibmmq chooses); without IBM MQ, run the program with "
            "`mqgroups embedded exec -- ...`, which sets MQGROUPS_LIBMQM to a client library of its own"
        )
        self.binding = binding
        self.problem = problem


class CommandRefused(EnvironmentFailure):
    """The queue manager's command server cannot be asked, does not answer, or says that it does not do it."""


class GroupStalled(EnvironmentFailure):
    """The next message of a group did not arrive in the time given.

    What was processed before is committed; the group goes on with the next iteration.

    Attributes:
        queue, group_id: which group, on which queue.
        msg_seq_number: the message that is missing.
        waited_s: how long it was waited for, seconds.
        offset: of a message that is streamed, where the segment begins that is missing: so many bytes of it were delivered.
    """

    def __init__(self, queue: str, group_id: bytes, msg_seq_number: int, waited_s: float, offset: int = 0) -> None:
        missing = (
            f"the rest of message {msg_seq_number}, from offset {offset}," if offset else f"message {msg_seq_number}"
        )
        delivered = f"The first {offset} bytes of the message were delivered and count as processed. " if offset else ""
        super().__init__(
            f"{missing} of group {group_id.hex()} did not arrive on queue {queue} in {waited_s:g} s. {delivered}"
            "The group is kept at its last commit: iterate again to wait on, or look for its producer; `mqgroups salvage look` "
            "shows what lies on the queue, with --at on other instances of a cluster queue"
        )
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number
        self.waited_s = waited_s
        self.offset = offset


class OwnershipLost(EnvironmentFailure):
    """Another instance of the same name owns the status queue, or did while this one was cut off. This one has to stop.

    Nothing of its unit of work is committed, nor can anything be.

    Attributes:
        name: of the producer or consumer.
        status_queue: whose record shows it.
        found: owner and epoch of that record; empty and 0 if there is none.
        expected: owner and epoch of this instance.
    """

    def __init__(self, name: str, status_queue: str, found: tuple[str, int], expected: tuple[str, int]) -> None:
        self.name = name
        self.status_queue = status_queue
        self.found = found
        self.expected = expected
        super().__init__(self._text(name))

    def _text(self, name: str) -> str:
        found, expected = self.found, self.expected
        seen = f"a record of owner {found[0]}, epoch {found[1]}" if found[1] else "no record"
        return (
            f"{name} is another instance's by now: status queue {self.status_queue} holds {seen}, expected the record of "
            f"owner {expected[0]}, epoch {expected[1]}. This instance was cut off from the queue manager, and what it had not "
            "committed is backed out. End it; the other one goes on where the last commit was"
        )


class Fenced(OwnershipLost):
    """Another attempt at the same batch has taken this group over. This attempt has to end.

    Nothing of its unit of work is committed, nor can anything be. ``name`` is sink, batch and key of the group.
    """

    def _text(self, name: str) -> str:
        seen = (
            f"attempt {self.found[0]} (claim {self.found[1]})"
            if self.found[1]
            else "an attempt that is just committing"
        )
        return (
            f"group {name} is put by {seen} by now, as status queue {self.status_queue} shows; this is attempt "
            f"{self.expected[0]} (claim {self.expected[1]}). It was given up or cut off, and what it had not committed is backed "
            "out. It has to end; the other one goes on where the last commit was"
        )


class GroupNotResumable(EnvironmentFailure):
    """The connection was lost in a group of which no status is kept, so nothing tells what of it is committed.

    What is there of it stays incomplete. Put the group again, from its beginning.
    """

    def __init__(self) -> None:
        super().__init__(
            "the connection was lost in the middle of a group, and without a status queue nothing tells what of it is "
            "committed. What there is of it stays on the queue, incomplete; the group has to be put again, as a new one"
        )


class MessagesTaken(EnvironmentFailure):
    """A consumer's connection was lost, its unit of work backed out, and another consumer took what it had processed.

    What the application did with these messages is not committed, and the other consumer does it too.

    Attributes:
        queue, group_id, msg_seq_number: the first message that is gone.
    """

    def __init__(self, queue: str, group_id: bytes, msg_seq_number: int) -> None:
        super().__init__(
            f"queue {queue}: message {msg_seq_number} of group {group_id.hex()} was processed here, went back to the queue "
            "when the connection was lost, and is not there now: another consumer has taken it and processes it as well; or "
            "the lost unit of work still hides it, and it comes again. Undo what was done with it, and go on with the next group"
        )
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number


class GroupAbandoned(EnvironmentFailure):
    """The producer of a group has ended it without completing it: what was processed of it is not a whole.

    The group is consumed, to its end and committed; iterate over the consumer again for the next one.

    Attributes:
        queue, group_id: which group, on which queue.
        messages: how many messages of it there were.
        result: the number that the producer gave.
        reason: what it gave in words; empty if it gave none, or if the queue manager does not deliver the property.
    """

    def __init__(self, queue: str, group_id: bytes, messages: int, result: int, reason: str = "") -> None:
        because = f" ({reason})" if reason else ""
        super().__init__(
            f"group {group_id.hex()} on queue {queue} was abandoned by its producer after {messages} messages, result "
            f"{result}{because}. Undo what was done with them; the next group can be got"
        )
        self.queue = queue
        self.group_id = group_id
        self.messages = messages
        self.result = result
        self.reason = reason


class PoisonMessage(EnvironmentFailure):
    """A message was processed alone and failed, and has reached the queue's backout threshold. It stays on the queue.

    Attributes:
        queue, group_id, msg_seq_number: which message.
        backout_count, threshold: how often it was backed out, and BOTHRESH of the queue.
    """

    def __init__(self, queue: str, group_id: bytes, msg_seq_number: int, backout_count: int, threshold: int) -> None:
        super().__init__(
            f"message {msg_seq_number} of group {group_id.hex()} on queue {queue} fails whenever it is processed: it was backed "
            f"out {backout_count} times, the last time alone, and BOTHRESH is {threshold}. It is on the queue. Correct the "
            "program, or let the consumer move it: poison='skip' or poison='quarantine'"
        )
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number
        self.backout_count = backout_count
        self.threshold = threshold


class GroupQuarantined(EnvironmentFailure):
    """A message of a group is poison; it and all that follow it are on the backout queue, as they were.

    What was processed before it is committed. Iterate over the consumer again for the next group.

    Attributes:
        queue, group_id: which group, from which queue.
        msg_seq_number: of the first message that was moved.
        backout_queue: where it is.
    """

    def __init__(self, queue: str, group_id: bytes, msg_seq_number: int, backout_queue: str) -> None:
        super().__init__(
            f"group {group_id.hex()} of queue {queue} was moved to {backout_queue} from message {msg_seq_number} on, because "
            "that message fails whenever it is processed. The messages before it were consumed; the next group can be got"
        )
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number
        self.backout_queue = backout_queue


class MQIError(EnvironmentFailure):
    """An MQI verb failed, or answered with a warning that cannot be accepted.

    Attributes:
        verb: ``"MQPUT"`` and so on.
        object_name: the queue or queue manager it was called for.
        comp, reason: completion code and reason code.
        reason_name: the reason's ``MQRC_`` name.
        context: where the group stands now, if the verb was about one.
    """

    remedy = ""

    def __init__(self, verb: str, object_name: str, comp: int, reason: int, context: str = "") -> None:
        super().__init__(verb, object_name, comp, reason)
        self.verb = verb
        self.object_name = object_name
        self.comp = comp
        self.reason = reason
        self.context = context

    @property
    def reason_name(self) -> str:
        """The reason code's name, such as ``"MQRC_Q_FULL"``."""
        return mq.reason_name(self.reason)

    def __str__(self) -> str:
        outcome = "failed" if self.comp == mq.MQCC_FAILED else "ended with a warning"
        text = f"{self.verb} for {self.object_name} {outcome}: reason {self.reason} {self.reason_name}"
        return ". ".join(part for part in (text, REMEDIES.get(self.reason, self.remedy), self.context) if part)


class ConnectionBroken(MQIError):
    """The connection is gone or going; the queue manager backs its unit of work out by itself. Connect again."""

    remedy = "The connection cannot be used any more; connect again, and the group resumes at its last commit"


class CommitOutcomeUnknown(MQIError):
    """MQCMIT failed, the unit of work may have been committed or backed out (IBM MQ, topic q040830), and the status queue
    could not be read in the time given.

    Do not repeat the work: connect to the same queue manager again. The status record there tells which it was.
    """

    remedy = (
        "It is not known whether the unit of work was committed; connect to the same queue manager again and resume"
    )

    def __str__(self) -> str:
        text = f"{self.verb} for {self.object_name} failed: reason {self.reason} {self.reason_name}"
        return ". ".join(part for part in (text, self.remedy, self.context) if part)


class UnitOfWorkBackedOut(MQIError):
    """The queue manager has backed the unit of work out by itself, or will (2003): nothing of it is committed."""

    remedy = "The unit of work was backed out; do it again"


class NotAuthorised(MQIError):
    """The user may not do this."""


class QueueMissing(MQIError):
    """There is no queue of this name on the queue manager."""


class QueueFull(MQIError):
    """The queue, or the queue manager's storage, stayed full."""


class QueueInhibited(MQIError):
    """Puts to the queue, or gets from it, are inhibited."""


class MessageTooLong(MQIError):
    """The message is longer than the queue, the queue manager or the channel takes."""


class SyncpointLimitReached(MQIError):
    """The unit of work has as many messages as the queue manager allows."""


class OwnerActive(MQIError):
    """The status queue is in use: another instance of the same name runs, or is not gone yet."""

    remedy = (
        "Another instance with this name is running, or the queue manager has not noticed yet that it is gone (a "
        "client's connection is dropped after its heartbeat interval). Stop it, wait, or give this one another name; "
        "DISPLAY QSTATUS(...) TYPE(HANDLE) shows the holder"
    )


# Where a caller would react differently there is a class; this is the only place where a code becomes one.
CLASSES: dict[int, type[MQIError]] = {
    mq.MQRC_CONNECTION_BROKEN: ConnectionBroken,
    mq.MQRC_HCONN_ERROR: ConnectionBroken,
    mq.MQRC_Q_MGR_NOT_AVAILABLE: ConnectionBroken,
    mq.MQRC_Q_MGR_QUIESCING: ConnectionBroken,
    mq.MQRC_Q_MGR_STOPPING: ConnectionBroken,
    mq.MQRC_CONNECTION_QUIESCING: ConnectionBroken,
    mq.MQRC_CONNECTION_STOPPING: ConnectionBroken,
    mq.MQRC_CHANNEL_NOT_AVAILABLE: ConnectionBroken,
    mq.MQRC_HOST_NOT_AVAILABLE: ConnectionBroken,
    mq.MQRC_NOT_AUTHORIZED: NotAuthorised,
    mq.MQRC_UNKNOWN_OBJECT_NAME: QueueMissing,
    mq.MQRC_Q_FULL: QueueFull,
    mq.MQRC_Q_SPACE_NOT_AVAILABLE: QueueFull,
    mq.MQRC_STORAGE_MEDIUM_FULL: QueueFull,
    mq.MQRC_GET_INHIBITED: QueueInhibited,
    mq.MQRC_PUT_INHIBITED: QueueInhibited,
    mq.MQRC_DATA_LENGTH_ERROR: MessageTooLong,
    mq.MQRC_MSG_TOO_BIG_FOR_Q: MessageTooLong,
    mq.MQRC_MSG_TOO_BIG_FOR_Q_MGR: MessageTooLong,
    mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL: MessageTooLong,
    mq.MQRC_SYNCPOINT_LIMIT_REACHED: SyncpointLimitReached,
    mq.MQRC_BACKED_OUT: UnitOfWorkBackedOut,
}

# MQCMIT may have committed although it answered one of these (IBM MQ, topics q040830, q042210, q042450, q045480).
COMMIT_OUTCOME_UNKNOWN = frozenset(
    {
        mq.MQRC_CONNECTION_BROKEN,
        mq.MQRC_Q_MGR_STOPPING,
        mq.MQRC_CONNECTION_STOPPING,
        mq.MQRC_CALL_INTERRUPTED,
    }
)

# What to do, where the class alone does not say it.
REMEDIES: dict[int, str] = {
    mq.MQRC_HCONN_ERROR: "The connection handle is not valid in this process or thread: a handle survives neither fork "
    "nor its own MQDISC. Connect again",
    mq.MQRC_NOT_AUTHORIZED: "Check user and password, and the authorities of that user for this object",
    mq.MQRC_UNKNOWN_OBJECT_NAME: "Define the queue, or correct its name (queue names are case-sensitive). "
    "Of a cluster queue, get at a queue manager that has an instance",
    mq.MQRC_Q_MGR_NAME_ERROR: "There is no queue manager of this name at that address; correct the name",
    mq.MQRC_Q_MGR_NOT_AVAILABLE: "Check that the queue manager and its listener run, and the channel is available",
    mq.MQRC_HOST_NOT_AVAILABLE: "Nothing answers at that address; check conn_name ('host(port)') and the listener",
    mq.MQRC_CHANNEL_NOT_AVAILABLE: "The channel is stopped or has no free instance; ask the queue manager's operator",
    mq.MQRC_UNKNOWN_CHANNEL_NAME: "Define the server-connection channel, or correct its name",
    mq.MQRC_KEY_REPOSITORY_ERROR: "Check key_repository (else MQSSLKEYR) and its password: the path, who may read it, the "
    "stash file beside it",
    mq.MQRC_SSL_INITIALIZATION_ERROR: "TLS could not be set up; the client's error log says why. The embedded queue manager has "
    "no TLS",
    mq.MQRC_SSL_PEER_NAME_MISMATCH: "The queue manager's certificate has another name than peer_name asks for",
    mq.MQRC_Q_FULL: "Let the queue be drained or raise its MAXDEPTH",
    mq.MQRC_STORAGE_MEDIUM_FULL: "The queue manager's storage is full; free space",
    mq.MQRC_GET_INHIBITED: "ALTER the queue to GET(ENABLED)",
    mq.MQRC_PUT_INHIBITED: "ALTER the queue to PUT(ENABLED)",
    mq.MQRC_DATA_LENGTH_ERROR: "Raise MAXMSGL of the server-connection channel, or put shorter messages",
    mq.MQRC_MSG_TOO_BIG_FOR_Q: "Raise MAXMSGL of the queue, or put shorter messages",
    mq.MQRC_MSG_TOO_BIG_FOR_Q_MGR: "Raise MAXMSGL of the queue manager, or put shorter messages",
    mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL: "Raise MAXMSGL of the channels on the way, or put shorter messages",
    mq.MQRC_SYNCPOINT_LIMIT_REACHED: "Make `every` smaller, or raise the queue manager's MAXUMSGS",
    mq.MQRC_RECONNECT_INCOMPATIBLE: "Message groups need a connection that is not reconnectable: make it with "
    "MQCNO_RECONNECT_DISABLED, or take it from mqgroups.connect",
    mq.MQRC_CCDT_URL_ERROR: "The channel definition table cannot be read there; check ccdt_url",
    mq.MQRC_FUNCTION_NOT_SUPPORTED: "This queue manager does not support the call",
}


def mqi_error(verb: str, object_name: str, comp: int, reason: int) -> MQIError:
    """Return the error for a verb's completion code and reason code, of the class a caller can react to."""
    cls: type[MQIError]
    if verb == "MQCMIT" and comp == mq.MQCC_FAILED and reason in COMMIT_OUTCOME_UNKNOWN:
        cls = CommitOutcomeUnknown
    else:
        cls = CLASSES.get(reason, MQIError)
    return cls(verb, object_name, comp, reason)

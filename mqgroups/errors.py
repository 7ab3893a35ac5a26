"""Every error this package raises, arranged by who has to act.

    MQGroupsError
     ├─ Stopped                     nobody has to act: `stop()` was called in the middle of a group
     ├─ ApplicationError            the program made an invalid request
     │   ├─ ConfigurationError      a name, an option or an environment variable is not valid (also a ValueError)
     │   ├─ GroupUsage              a call came at the wrong moment
     │   ├─ ForeignSyncpoint        other code ended the unit of work of a shared connection
     │   ├─ NotDecoded              the data of a message is not what a codec or the CCSID says (also a ValueError)
     │   ├─ MessageRefused          a payload, a property, a format or a CorrelId is not valid (also a ValueError)
     │   ├─ EmptyGroup              a group was ended without its last message
     │   ├─ InputChanged            a repeated batch gave a group different messages than before
     │   └─ KeyInTwoPartitions      two partitions of one batch have messages for the same group
     ├─ StatusError                 an operator must act: a status queue or a group is damaged; nothing was changed
     │   ├─ StatusQueueUnusable     the status queue is missing, has no model queue, or cannot keep a record
     │   ├─ StatusRecordCorrupt     a message on it is not a status record, or is damaged
     │   ├─ StatusRecordVersion     another version of mqgroups wrote the record
     │   ├─ StatusRecordForeign     the record has another name, role, queue or queue manager, or another user has put it
     │   ├─ StatusRecordHidden      an open unit of work hides the record, or it was removed without its anchor
     │   ├─ StatusRecordMissing     the record is gone, although only its owner may remove it
     │   ├─ DuplicateStatusRecords  there is more than one record
     │   ├─ StatusRecordsDisagree   the two records of a pipe are not from the same commit
     │   ├─ QueueManagerChanged     after a lost connection, a different queue manager answered
     │   ├─ GroupWouldSplit         a message went to another instance of a cluster queue than the first of its group
     │   ├─ GroupPropertiesLost     the record of an interrupted group does not have its properties
     │   ├─ TakeoverRefused         an owner cannot take over another owner's group
     │   ├─ SalvageRefused          the messages on a queue do not show how far its owner got
     │   │   └─ GroupOwned          another owner's record names the group
     │   └─ GroupIncomplete         a message of the group is not the next in sequence
     └─ EnvironmentFailure          something outside the program failed
         ├─ BindingMissing          pymqi, ibmmq or the MQ client library is not installed (also an ImportError)
         ├─ CcsidUnknown            neither mqgroups nor Python has a code page for the text of a message
         ├─ CommandRefused          the command server did not answer, or refused the command
         ├─ OwnershipLost           another instance of the same name has taken over
         │   └─ Fenced              another attempt has taken over this group of a batch
         ├─ MessagesTaken           after a lost connection, another consumer got the messages
         ├─ GroupAbandoned          the producer ended a group without completing it
         ├─ PoisonMessage           a message fails whenever it is processed, or cannot be decoded or joined
         ├─ GroupQuarantined        such a message, or what is behind one that did not come, went to the backout queue
         ├─ GroupRepeated           a group came again, or one that has the same identifiers
         ├─ GroupStalled            the next message of a group did not arrive in time
         └─ MQIError                a verb failed: verb, object name, completion code, reason code
             ├─ ConnectionBroken    the connection is gone; the queue manager backs out the unit of work
             ├─ CommitOutcomeUnknown    MQCMIT failed, and may or may not have committed
             ├─ HandleLost              2019, 2041, 2052: the handles of open queues are lost again and again
             ├─ UnitOfWorkBackedOut     the queue manager backed out the unit of work (2003)
             ├─ NotAuthorised       2035
             ├─ QueueMissing        2085
             ├─ QueueFull           2053, 2056, 2192
             ├─ QueueInhibited      2016, 2051
             ├─ MessageTooLong      2010, 2030, 2031, 2218
             ├─ SyncpointLimitReached   2024
             ├─ SegmentsDiffer      2243, 2244
             └─ OwnerActive         2042 on a status queue: the name is in use

All of them can be pickled and hold values, never handles; none shows a payload or a password. After any of them a group can
be resumed at its last commit: by ``producer.group()``, or by the consumer's next iteration.
"""

from __future__ import annotations

from typing import Any

from mqgroups.mqi import constants as mq
from mqgroups.printable import brief

# Longer than each of our sentences, also if somebody else's words are in it.
_LONGEST_TEXT = 10_000
# The remedy for a lost status record, as part of a sentence; and for one that is not to be left on its queue.
SALVAGE = "rebuild it from the messages of its group with `mqgroups salvage rebuild` before the next start"
# Why messages of a group do not come (IBM MQ, topics q032040, q097490, q015710).
NEVER_CAME = (
    "Usual causes: a JMS program that sets JMSXGroupID, but no JMS_IBM_Last_Msg_In_Group on the last message; a message that "
    "expired; a program that gets single messages; nonpersistent messages lost on a channel with NPMSPEED(FAST); a message on "
    "a dead-letter queue; a producer that was interrupted"
)
SALVAGE_UNREADABLE = "rebuild it from the messages of its group with `mqgroups salvage rebuild --unreadable-to QUEUE`"


class MQGroupsError(Exception):
    """The root of this package's errors. Its text is printable: names and reasons in it may be somebody else's."""

    def __str__(self) -> str:
        return brief(self._text(), _LONGEST_TEXT)

    def _text(self) -> str:
        return super().__str__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__.copy())


def _rebuild(cls: type[MQGroupsError], args: tuple[Any, ...], values: dict[str, Any]) -> MQGroupsError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(values)
    return error


class Stopped(MQGroupsError):
    """``stop()`` was called, so the program gets or puts no more of this group. Not a failure.

    What was processed or put is committed. The next start of the name resumes the group, if anything of it is committed.

    Attributes:
        owner: role and name, such as ``"get ORDERS.SINK"``.
        queue: the queue of the group.
        group_id: the interrupted group; ``MQGI_NONE`` (24 zero bytes) if no group is interrupted.
        msg_seq_number: of the last message that is committed completely; 0 if there is none.
    """

    def __init__(self, owner: str, queue: str, group_id: bytes, msg_seq_number: int) -> None:
        stands = "No group is interrupted"
        if any(group_id):
            up_to = f"Group {group_id.hex()} is committed up to message {msg_seq_number}"
            stands = f"{up_to}, and the next start of this name resumes it"
        super().__init__(f"{owner} at queue {queue} was asked to stop. {stands}")
        self.owner = owner
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number


class ApplicationError(MQGroupsError):
    """The program made an invalid request."""


class ConfigurationError(ApplicationError, ValueError):
    """A name, an option or an environment variable has a value that is not valid."""


class GroupUsage(ApplicationError):
    """A call came at a moment when it is not allowed."""


class ForeignSyncpoint(ApplicationError):
    """Other code committed or backed out the unit of work, on the same connection.

    The rest of the unit of work is backed out. The group can be resumed at its last commit.
    """

    def __init__(self, found: str) -> None:
        super().__init__(
            f"other code ended the unit of work on this connection: {found}. A connection has one unit of work, and only the "
            "producer, consumer or pipe whose messages are in it may end it. The rest of the unit of work is backed out. Find "
            "the code that commits or backs out, and give it a connection of its own; then resume the group"
        )
        self.found = found


class MessageRefused(ApplicationError, ValueError):
    """A payload, a property, a format name or a CorrelId is not valid for a message. Nothing of the message was put."""


class NotDecoded(ApplicationError, ValueError):
    """The data of a message is invalid. Codecs and ``message.text`` raise it, with a text that does not show the data.

    A consumer that decodes messages treats such a message as poison, with the text as the reason, and does not raise it.
    """


class EmptyGroup(ApplicationError):
    """A group was ended without a last message: nothing was put in it, or nothing since it was resumed."""


class InputChanged(ApplicationError):
    """A batch is repeated, and gives a group different messages than before. Part of the group, or all of it, is committed.

    Attributes:
        name: sink, batch and key of the group.
        group_id: 24 bytes.
        msg_seq_number: how many messages of it are committed.
    """

    def __init__(self, name: str, group_id: bytes, msg_seq_number: int, given: str) -> None:
        super().__init__(
            f"group {name}: {msg_seq_number} messages are committed, with GroupId {group_id.hex()}, and {given}. A repeated "
            "batch must give each group the same messages in the same order: no random values, no current time, no "
            "undefined order. Nothing was put. Make the batch give the messages of before, and run it again. Only if it cannot, "
            "`mqgroups batches purge` forgets what was put: whole groups stay on the queue, and have to be moved from it before "
            "the batch is run again, or consumers get them twice"
        )
        self.name = name
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number


class KeyInTwoPartitions(ApplicationError):
    """Two partitions of one execution of a batch have messages for the same group.

    Attributes:
        key: of the group.
        partitions: the partition that claimed the group, and the one that tried to.
    """

    def __init__(self, key: str, *partitions: int) -> None:
        super().__init__(
            f"key {key!r} has rows in partition {partitions[0]} and in partition {partitions[1]}, but one task must put the "
            "whole group. Bring the rows of a key together before writing: df.repartition(column). The rows of partition "
            f"{partitions[0]} may be on the queue already, as a complete group; InputChanged then refuses the batch when it is "
            "run again, and says what to do"
        )
        self.key = key
        self.partitions = partitions


class StatusError(MQGroupsError):
    """A status queue or a group is not in order. Nothing was changed; an operator must look at it.

    Attributes:
        status_queue: its name.
        found, expected: values that the message compares; ``None`` if it compares none.
    """

    def __init__(self, message: str, *, status_queue: str, found: object = None, expected: object = None) -> None:
        super().__init__(message)
        self.status_queue = status_queue
        self.found = found
        self.expected = expected


class StatusQueueUnusable(StatusError):
    """The status queue is missing and cannot be created, or it cannot keep a record."""


class StatusRecordCorrupt(StatusError):
    """A message on the status queue is not a status record, or is damaged."""


class StatusRecordVersion(StatusError):
    """Another version of mqgroups wrote the status record."""


class StatusRecordForeign(StatusError):
    """The status record has another name, role, queue or queue manager than its reader, or another user has put it.

    ``field`` says which of them; for the user it is ``user_identifier``, as in MQMD.
    """

    def __init__(self, message: str, *, status_queue: str, field: str, found: object, expected: object) -> None:
        super().__init__(message, status_queue=status_queue, found=found, expected=expected)
        self.field = field


class StatusRecordHidden(StatusError):
    """The status queue has an anchor, but its status record is not visible."""

    def __init__(self, status_queue: str, wait_s: float) -> None:
        super().__init__(
            f"status queue {status_queue} has an anchor, but its status record did not appear within {wait_s:g} s. Check "
            f"DISPLAY QSTATUS({status_queue}). UNCOM(YES): the unit of work of an earlier instance hides the record until the "
            "queue manager drops that instance's connection; start again later. UNCOM(NO): another program removed the record, "
            "or other code committed on a shared connection; a start without the record would put or get messages twice, so "
            f"{SALVAGE}. Nothing was changed",
            status_queue=status_queue,
            found="an anchor without its status record",
            expected="both",
        )


class StatusRecordMissing(StatusError):
    """The status record that this owner wrote is gone: another program removed it."""


class DuplicateStatusRecords(StatusError):
    """There is more than one status record on the status queue."""


class StatusRecordsDisagree(StatusError):
    """The status records of a pipe's consumer and producer are not from the same commit."""


class QueueManagerChanged(StatusError):
    """After a lost connection a different queue manager answered. The status queue is not there."""

    def __init__(self, q_mgr_name: str, *, found: str, expected: str) -> None:
        super().__init__(
            f"queue manager {q_mgr_name} answered with identifier {found}, expected {expected}. The status queue is on the "
            "queue manager that was lost. Connect to that one again; if it is gone for good, find out from its data what was "
            "committed",
            status_queue="",
            found=found,
            expected=expected,
        )


class SalvageRefused(StatusError):
    """A status record was not rebuilt, or a group not moved, because the queue does not show the right position.

    Attributes:
        because: the obstacle, a value of ``operate.rules.salvage.Obstacle``. An operator may override some of them.
    """

    def __init__(self, message: str, *, status_queue: str, because: str, found: object, expected: object) -> None:
        super().__init__(message, status_queue=status_queue, found=found, expected=expected)
        self.because = because


class GroupOwned(SalvageRefused):
    """A status record was not rebuilt, because another owner's record names the group. Nothing was changed.

    Attributes:
        group_id: 24 bytes.
        owner: the name of the producer or consumer that owns the group; on a shared status queue sink, batch and key.
        status_queue: the queue with the owner's record.
    """

    def __init__(self, group_id: bytes, owner: str, status_queue: str, state: str) -> None:
        found = f"a record of {owner} ({state}) for group {group_id.hex()}"
        super().__init__(
            f"status queue {status_queue}: found {found}, expected no other owner. A second owner would put or get the group's "
            f"messages twice. Start {owner} to resume the group; or, if it will not come back, give the group to another name: "
            f"`mqgroups recover --takeover {owner}`. Nothing was changed",
            status_queue=status_queue,
            because="owned",
            found=found,
            expected="no other owner",
        )
        self.group_id = group_id
        self.owner = owner


class GroupWouldSplit(StatusError):
    """A message went to another instance of a cluster queue than the group's first message. It is not committed.

    Attributes:
        queue, group_id, msg_seq_number: the message, and the queue that it was put to.
        found, expected: the queue manager that it went to, and that of the first message.
    """

    def __init__(self, queue: str, group_id: bytes, msg_seq_number: int, *, found: str, expected: str) -> None:
        super().__init__(
            f"message {msg_seq_number} of group {group_id.hex()}, put to queue {queue}, went to queue manager {found}; the first "
            f"message of the group went to {expected}. The unit of work is backed out; the group can be resumed at its last "
            "commit. An alias, a workload exit or a queue definition has probably changed. Correct it and start again; the rest "
            f"of the group then goes to {expected}",
            status_queue="",
            found=found,
            expected=expected,
        )
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number


class GroupPropertiesLost(StatusError):
    """An interrupted group was resumed, and its status record does not have the properties of its first message.

    The group itself can be resumed; only ``group.properties`` is not known.

    Attributes:
        group_id: 24 bytes.
    """

    def __init__(self, group_id: bytes, status_queue: str) -> None:
        super().__init__(
            f"the properties of group {group_id.hex()} are not known: its first message was committed before the group was "
            f"interrupted, and the record on status queue {status_queue} does not have them. The record was rebuilt, or the "
            "properties are longer than a record keeps. Identify the group by its GroupId or by a checkpoint",
            status_queue=status_queue,
        )
        self.group_id = group_id


class TakeoverRefused(StatusError):
    """An interrupted group cannot be given to another owner. Nothing was changed."""


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
    """Something outside the program failed, perhaps only for a while."""


class BindingMissing(EnvironmentFailure, ImportError):
    """The binding (pymqi or ibmmq) or the MQ client library is not installed."""

    def __init__(self, binding: str, problem: str) -> None:
        super().__init__(problem)
        self.binding = binding
        self.problem = problem


class CcsidUnknown(EnvironmentFailure):
    """Neither mqgroups nor Python has a code page for the text of a message. That is never the message's fault, so never poison.

    Attributes:
        ccsid: of the text.
        queue, group_id, msg_seq_number: the message, if a consumer raised it for its codec.
    """

    def __init__(self, ccsid: int, queue: str = "", group_id: bytes = b"", msg_seq_number: int = 0) -> None:
        message = f"message {msg_seq_number} of group {group_id.hex()} on queue {queue}" if queue else "this text"
        super().__init__(
            f"{message} cannot be decoded, because there is no code page for CCSID {ccsid} here. That is not poison: the message "
            "stays on its queue. Let the queue manager convert it (convert=True), use message.data without a codec, or register "
            f"a codec of Python's named cp{ccsid:03d} (codecs.register; the package ebcdic has some)"
        )
        self.ccsid = ccsid
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number


class CommandRefused(EnvironmentFailure):
    """The queue manager's command server cannot be reached, does not answer, or refuses the command."""


class GroupStalled(EnvironmentFailure):
    """The next message of a group did not arrive in the time given.

    The messages processed so far are committed; the next iteration continues the group.

    Attributes:
        queue, group_id: the group, and its queue.
        msg_seq_number: the missing message.
        waited_s: how long the consumer waited, in seconds.
        offset: for a streamed message, the offset of the missing segment: the number of bytes delivered so far.
    """

    def __init__(self, queue: str, group_id: bytes, msg_seq_number: int, waited_s: float, offset: int = 0) -> None:
        missing = (
            f"the rest of message {msg_seq_number}, from offset {offset}," if offset else f"message {msg_seq_number}"
        )
        delivered = f"The first {offset} bytes of the message were delivered and count as processed. " if offset else ""
        super().__init__(
            f"{missing} of group {group_id.hex()} did not arrive on queue {queue} in {waited_s:g} s. {delivered}"
            f"The group can be resumed at its last commit. Iterate again to wait longer. {NEVER_CAME}. `mqgroups doctor --queue "
            f"{queue}` says whether its producer may be started; `mqgroups groups --at` shows other instances of a cluster "
            "queue. If nobody can complete the group: stalled='quarantine' moves its rest to the backout queue, and the consumer "
            "goes on"
        )
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number
        self.waited_s = waited_s
        self.offset = offset


class OwnershipLost(EnvironmentFailure):
    """Another instance of the same name owns the status queue, or owned it while this one was disconnected. This one must stop.

    Nothing of this instance's unit of work is committed.

    Attributes:
        name: of the producer or consumer.
        status_queue: the queue with the record that shows it.
        found: owner and epoch of that record; empty and 0 if there is no record.
        expected: owner and epoch of this instance.
    """

    def __init__(self, name: str, status_queue: str, found: tuple[str, int], expected: tuple[str, int]) -> None:
        self.name = name
        self.status_queue = status_queue
        self.found = found
        self.expected = expected
        super().__init__(self._said(name))

    def _said(self, name: str) -> str:
        found, expected = self.found, self.expected
        if found == expected:
            return (
                f"status queue {self.status_queue} holds an older record of this instance of {name} than its last commit. The "
                "queue manager or this queue was restored from a backup. Its uncommitted work is backed out, and what it "
                "committed after the backup may be gone. Find out what that is before you start it again: it continues from the "
                "older record"
            )
        seen = f"a record of owner {found[0]}, epoch {found[1]}" if found[1] else "no record"
        return (
            f"another instance has taken over {name}: status queue {self.status_queue} holds {seen}, expected the record of "
            f"owner {expected[0]}, epoch {expected[1]}. This instance lost its connection to the queue manager, or its own "
            "program has started the name again on the same connection. Its uncommitted work is backed out. End this instance; "
            "the other one continues from the last commit"
        )


class Fenced(OwnershipLost):
    """Another attempt at the same batch has taken over this group. This attempt must end.

    Nothing of this attempt's unit of work is committed. ``name`` is sink, batch and key of the group.
    """

    def _said(self, name: str) -> str:
        seen = (
            f"attempt {self.found[0]} (claim {self.found[1]})" if self.found[1] else "an attempt that is committing now"
        )
        return (
            f"group {name} has been taken over by {seen}, as status queue {self.status_queue} shows; this is attempt "
            f"{self.expected[0]} (claim {self.expected[1]}). The scheduler replaced this attempt, or it lost its connection. Its "
            "uncommitted work is backed out. End this attempt; the other one continues from the last commit"
        )


class MessagesTaken(EnvironmentFailure):
    """The connection was lost, the unit of work was backed out, and another consumer got the messages.

    The application has processed these messages, but that is not committed; the other consumer processes them too.

    Attributes:
        queue, group_id, msg_seq_number: the first message that is gone.
    """

    def __init__(self, queue: str, group_id: bytes, msg_seq_number: int) -> None:
        super().__init__(
            f"queue {queue}: message {msg_seq_number} of group {group_id.hex()} was processed here, was backed out when the "
            "connection was lost, and is no longer on the queue. Either another consumer got it, or the lost unit of work still "
            "hides it and it will be delivered again. Undo the effects of processing it, and continue with the next group"
        )
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number


class GroupAbandoned(EnvironmentFailure):
    """The producer ended a group without completing it: the messages processed so far are not a whole group.

    The group is consumed to its end, and that is committed. Iterate over the consumer again for the next group.

    Attributes:
        queue, group_id: the group, and its queue.
        messages: how many messages the group had.
        result: the number that the producer gave.
        reason: the producer's text; empty if it gave none, or if the queue manager does not deliver the property.
        key: ``group.key``.
    """

    def __init__(
        self, queue: str, group_id: bytes, messages: int, result: int, reason: str = "", key: bytes = b""
    ) -> None:
        because = f" ({brief(reason)})" if reason else ""
        super().__init__(
            f"group {group_id.hex()} on queue {queue} was abandoned by its producer after {messages} messages, result "
            f"{result}{because}. Undo the effects of processing them, and continue with the next group"
        )
        self.queue = queue
        self.group_id = group_id
        self.messages = messages
        self.result = result
        self.reason = reason
        self.key = key


class GroupRepeated(EnvironmentFailure):
    """A group has the GroupId of the one that was completed before it, and its first message has the same MsgId.

    With ``repeats="halt"`` the consumer raises it before it hands out a message. The group stays on the queue.

    Attributes:
        queue, group_id: the group, and its queue.
        first_msg_id: the MsgId of its first message, 24 bytes.
        found: what was found, and the usual causes.
    """

    def __init__(self, queue: str, group_id: bytes, first_msg_id: bytes) -> None:
        self.found = (
            f"group {group_id.hex()} on queue {queue} repeats the group completed before it: its first message has the same "
            f"MsgId, {first_msg_id.hex()}. Either messages are there twice (after RESOLVE CHANNEL, a restored queue, or dead "
            "letters that were put back twice), or their putter uses identifiers again (for example an ACE flow that copies the "
            "MsgId of its input)"
        )
        super().__init__(
            f"{self.found}. Compare it with what was processed. If it is a copy, move it away, for example with `mqgroups "
            "salvage move`; if not, start once with repeats='tell'"
        )
        self.queue = queue
        self.group_id = group_id
        self.first_msg_id = first_msg_id


class PoisonMessage(EnvironmentFailure):
    """A message cannot be decoded; or it failed when it was processed alone, and has reached BOTHRESH. It stays on the queue.

    Attributes:
        queue, group_id, msg_seq_number: the message.
        backout_count, threshold: how often it was backed out, and BOTHRESH of the queue; 0 if backout counts are ignored.
        reason: why it cannot be decoded; empty if it fails when it is processed.
    """

    def __init__(
        self,
        queue: str,
        group_id: bytes,
        msg_seq_number: int,
        backout_count: int,
        threshold: int,
        reason: str = "",
    ) -> None:
        how = (
            f"cannot be decoded ({brief(reason)})"
            if reason
            else f"fails whenever it is processed: it was backed out {backout_count} times, the last time alone, and BOTHRESH is "
            f"{threshold}"
        )
        super().__init__(
            f"message {msg_seq_number} of group {group_id.hex()} on queue {queue} {how}. It stays on the queue. Correct the "
            "program, or what it needs, and start it again: it gets the message once more. Or let the consumer move the message: "
            "poison='skip' or poison='quarantine', for a queue with BOTHRESH and BOQNAME"
        )
        self.reason = reason
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number
        self.backout_count = backout_count
        self.threshold = threshold


class GroupQuarantined(EnvironmentFailure):
    """A message of a group is poison, or did not arrive. The rest of the group was moved, unchanged, to the backout queue.

    The messages before it are processed and committed. Iterate over the consumer again for the next group.

    Attributes:
        queue, group_id: the group, and the queue that it was on.
        msg_seq_number: of the first message that was moved; or of the one that did not arrive.
        backout_queue: the queue that the messages were moved to.
        reason: why the first one cannot be decoded, or that it did not arrive; empty if it fails when it is processed, or is not
            known after a restart.
    """

    def __init__(
        self,
        queue: str,
        group_id: bytes,
        msg_seq_number: int,
        backout_queue: str,
        reason: str = "",
        *,
        waited_s: float | None = None,
    ) -> None:
        """``waited_s``: how long the message was waited for, seconds, if it did not arrive."""
        how = f"cannot be decoded ({brief(reason)})" if reason else "fails whenever it is processed"
        causes = ""
        if waited_s is not None:
            how = f"did not arrive within {waited_s:g} s"
            reason, causes = f"message {msg_seq_number} {how}", f". {NEVER_CAME}"
        super().__init__(
            f"group {group_id.hex()} of queue {queue} was moved to {backout_queue} from message {msg_seq_number} on, because "
            f"that message {how}. The messages before it were consumed; iterate again for the next group{causes}"
        )
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number
        self.backout_queue = backout_queue
        self.reason = reason


class MQIError(EnvironmentFailure):
    """An MQI verb failed, or returned a warning that mqgroups does not accept.

    Attributes:
        verb: ``"MQPUT"`` and so on.
        object_name: the queue or queue manager it was called for.
        comp, reason: completion code and reason code.
        reason_name: the reason's ``MQRC_`` name.
        context: further facts, such as the last committed message of the group; may be empty.
        is_final: whether nothing is redone after it: a function of the application raised it, or redoing has ended with it.
        while_reconnecting: whether it is about a lost connection that could not be remade. Then it is retried whatever its
            reason: the same arguments have worked before, and a failover answers many things for a while.
    """

    remedy = ""
    is_final = False
    while_reconnecting = False

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

    def _text(self) -> str:
        outcome = "failed" if self.comp == mq.MQCC_FAILED else "ended with a warning"
        text = f"{self.verb} for {self.object_name} {outcome}: reason {self.reason} {self.reason_name}"
        # A caller that knows more about the failure has set a remedy of its own.
        remedy = self.__dict__.get("remedy") or REMEDIES.get(self.reason, self.remedy)
        return ". ".join(part for part in (text, remedy, self.context) if part)


class ConnectionBroken(MQIError):
    """The connection is lost or ending; the queue manager backs out its unit of work. Connect again."""

    remedy = "The connection can no longer be used; connect again, and the group resumes at its last commit"


class CommitOutcomeUnknown(MQIError):
    """MQCMIT failed, and the status queue could not be read in the time allowed. The unit of work may have been committed or
    backed out (IBM MQ, topic q040830).

    Do not repeat the work. Connect to the same queue manager again; the status record there shows the outcome.
    """

    remedy = (
        "It is not known whether the unit of work was committed; connect to the same queue manager again and resume"
    )

    def _text(self) -> str:
        text = f"{self.verb} for {self.object_name} failed: reason {self.reason} {self.reason_name}"
        return ". ".join(part for part in (text, self.remedy, self.context) if part)


class SegmentsDiffer(MQIError):
    """A message has segments of different character sets (2243) or encodings (2244), so the queue manager returns only a part.

    Attributes:
        md: the MQMD of that part, 364 bytes.
        group_status: GroupStatus of the MQGMO.
    """

    md = b""
    group_status = 0
    remedy = (
        "A message has segments of different character sets or encodings, so the queue manager does not join them. Make the "
        "consumer with stream=True, which gets them one by one; or find its group with `mqgroups groups`, and move it with "
        "`mqgroups salvage move`"
    )


class UnitOfWorkBackedOut(MQIError):
    """The queue manager has backed out the unit of work by itself, or is about to (2003). Nothing of it is committed."""

    remedy = "The unit of work was backed out; redo it"


class HandleLost(MQIError):
    """An open queue's handle is no longer valid, although the connection lives. The library has opened the queue again, and
    again, for ``reconnect_wait_s``; or the connection is a wrapped one.
    """

    remedy = (
        "An administrator has changed or deleted the queue while it was open (ALTER ... FORCE, DELETE), or refreshes the cluster "
        "(REFRESH CLUSTER). Wait until that has ended; the group resumes at its last commit. If it does not end, find out which "
        "program or script does it again and again"
    )


class NotAuthorised(MQIError):
    """The user is not authorised for this call."""


class QueueMissing(MQIError):
    """There is no queue of this name on the queue manager."""


class QueueFull(MQIError):
    """The queue, or the queue manager's storage, stayed full."""


class QueueInhibited(MQIError):
    """Puts to the queue, or gets from it, are inhibited."""


class MessageTooLong(MQIError):
    """The message is longer than the queue, the queue manager or the channel allows."""


class SyncpointLimitReached(MQIError):
    """The unit of work has as many messages as the queue manager allows."""


class OwnerActive(MQIError):
    """The status queue is in use: another instance of the same name is running, or its connection has not been dropped yet."""

    remedy = (
        "Another instance with this name is running; or it has ended, and the queue manager has not noticed yet (the loss "
        "of a client's host after twice the heartbeat interval). Stop that instance, or wait. Another name would not resume its "
        "group. DISPLAY QSTATUS(...) TYPE(HANDLE) shows the holder"
    )


# A reason code has a class of its own where a caller would react differently. This is the only place that maps one to the other.
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
    mq.MQRC_HOBJ_ERROR: HandleLost,
    mq.MQRC_OBJECT_CHANGED: HandleLost,
    mq.MQRC_Q_DELETED: HandleLost,
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
    mq.MQRC_INCONSISTENT_CCSIDS: SegmentsDiffer,
    mq.MQRC_INCONSISTENT_ENCODINGS: SegmentsDiffer,
}

# IBM MQ, topics q040920, q041120, q041230: close the handle, open the object again, and retry.
HANDLE_LOST = frozenset(reason for reason, cls in CLASSES.items() if cls is HandleLost)

# MQCMIT may have committed although it returned one of these (IBM MQ, topics q040830, q042210, q042450, q045480).
COMMIT_OUTCOME_UNKNOWN = frozenset(
    {
        mq.MQRC_CONNECTION_BROKEN,
        mq.MQRC_Q_MGR_STOPPING,
        mq.MQRC_CONNECTION_STOPPING,
        mq.MQRC_CALL_INTERRUPTED,
    }
)

_CLUSTER = (
    "The queue manager knows no instance of this cluster queue at the moment. Is REFRESH CLUSTER under way? Otherwise DISPLAY "
    "QCLUSTER shows what it knows, and the channels to the full repositories must run"
)
# Remedies by reason code, for codes whose class has none or is too general.
REMEDIES: dict[int, str] = {
    mq.MQRC_HCONN_ERROR: "The connection handle is not valid in this process or thread: a handle survives neither fork "
    "nor its own MQDISC, and serves other threads only if it was connected with MQCNO_HANDLE_SHARE_BLOCK. Connect again",
    mq.MQRC_NOT_AUTHORIZED: "Check user and password, and the authorities of that user for this object",
    mq.MQRC_UNKNOWN_OBJECT_NAME: "Define the queue (`mqgroups mqsc status --queue NAME` prints the definitions), or "
    "correct its name (queue names are case-sensitive). "
    "To get from a cluster queue, connect to a queue manager that has an instance of it",
    mq.MQRC_UNKNOWN_ALIAS_BASE_Q: "The queue that this alias names does not exist; define it, or ALTER TARGET of the alias",
    **dict.fromkeys(
        (
            mq.MQRC_UNKNOWN_REMOTE_Q_MGR,
            mq.MQRC_XMIT_Q_TYPE_ERROR,
            mq.MQRC_XMIT_Q_USAGE_ERROR,
            mq.MQRC_REMOTE_Q_NAME_ERROR,
            mq.MQRC_UNKNOWN_XMIT_Q,
            mq.MQRC_UNKNOWN_DEF_XMIT_Q,
            mq.MQRC_DEF_XMIT_Q_TYPE_ERROR,
            mq.MQRC_DEF_XMIT_Q_USAGE_ERROR,
        ),
        "There is no way to the queue manager that has this queue. Check RNAME, RQMNAME and XMITQ of the remote queue, or "
        "DEFXMITQ: messages need a local queue with USAGE(XMITQ) and a channel. Or connect to that queue manager",
    ),
    mq.MQRC_CLUSTER_RESOLUTION_ERROR: _CLUSTER,
    mq.MQRC_NO_DESTINATIONS_AVAILABLE: _CLUSTER,
    mq.MQRC_OPTION_NOT_VALID_FOR_TYPE: "This queue cannot be opened for that here; name a local queue, or an alias of one",
    mq.MQRC_DYNAMIC_Q_NAME_ERROR: "This is a model queue, which holds no messages; name a local queue. If a queue was to be made "
    "from it, the name of that queue is not valid",
    mq.MQRC_Q_MGR_NAME_ERROR: "There is no queue manager of this name at that address; correct the name",
    mq.MQRC_Q_MGR_NOT_AVAILABLE: "Check that the queue manager and its listener are running, and that the channel is available",
    mq.MQRC_HOST_NOT_AVAILABLE: "Nothing answers at that address; check the connection name, 'host(port)', and the listener",
    mq.MQRC_CHANNEL_NOT_AVAILABLE: "The channel is stopped or has no free instance; ask the operator of the queue manager",
    mq.MQRC_UNKNOWN_CHANNEL_NAME: "Define the server-connection channel, or correct its name",
    mq.MQRC_KEY_REPOSITORY_ERROR: "Check key_repository (or MQSSLKEYR) and its password: the path, the file permissions, the "
    "stash file beside it",
    mq.MQRC_SSL_INITIALIZATION_ERROR: "TLS could not be set up; the client's error log says why",
    mq.MQRC_SSL_PEER_NAME_MISMATCH: "The name in the queue manager's certificate does not match peer_name",
    mq.MQRC_RESOURCE_PROBLEM: "The queue manager lacks a resource, often room in its log; its error log says which. Long "
    "units of work fill a log: commit more often, or after a time (Every(seconds=))",
    mq.MQRC_Q_FULL: "Drain the queue or raise its MAXDEPTH",
    mq.MQRC_STORAGE_MEDIUM_FULL: "The queue manager's storage is full; free space",
    mq.MQRC_GET_INHIBITED: "ALTER the queue to GET(ENABLED)",
    mq.MQRC_PUT_INHIBITED: "ALTER the queue to PUT(ENABLED)",
    mq.MQRC_DATA_LENGTH_ERROR: "Raise MAXMSGL of the server-connection channel, or put shorter messages",
    mq.MQRC_MSG_TOO_BIG_FOR_Q: "Raise MAXMSGL of the queue, or put shorter messages",
    mq.MQRC_MSG_TOO_BIG_FOR_Q_MGR: "Raise MAXMSGL of the queue manager, or put shorter messages",
    mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL: "Raise MAXMSGL of the channels on the way, or put shorter messages",
    mq.MQRC_TRUNCATED_MSG_FAILED: "Raise max_message_length of the consumer",
    mq.MQRC_SEGMENTATION_NOT_ALLOWED: "This queue manager takes no properties on segments. Put the message whole (not as a "
    "stream, and without segment_bytes), put it without properties, or put the properties with another message of the group; "
    "`mqgroups send` needs --records lines or bytes:N",
    mq.MQRC_SYNCPOINT_LIMIT_REACHED: "Make commit_every smaller, or raise the queue manager's MAXUMSGS",
    mq.MQRC_RECONNECT_INCOMPATIBLE: "Message groups need a connection that is not reconnectable: connect with "
    "MQCNO_RECONNECT_DISABLED, or use mqgroups.connect",
    mq.MQRC_CCDT_URL_ERROR: "The channel definition table cannot be read; check ccdt_url or MQCCDTURL",
    mq.MQRC_FUNCTION_NOT_SUPPORTED: "This queue manager does not support the call",
}

# The remedy for MQRC_Q_MGR_NAME_ERROR if the application gave no address.
NO_ADDRESS = (
    "No address was given (conn_name), and then MQSERVER or a channel definition table must name one: check that it is set. If "
    "it is, there is no queue manager of this name there; correct the name"
)

# The remedies for MQCONNX with a channel definition table: for MQRC_Q_MGR_NAME_ERROR, and MQRC_FUNCTION_NOT_SUPPORTED.
NOT_IN_TABLE = (
    "The channel definition table has no definition for this name (queueManager), or it leads to another queue manager; names "
    "are case-sensitive"
)
TABLE_NOT_SUPPORTED = (
    "The client does not support this kind of channel definition table; try one in JSON, in a file (file: URL)"
)


def mqi_error(verb: str, object_name: str, comp: int, reason: int) -> MQIError:
    """Return the error for a verb's completion code and reason code, in the class that fits the reason code."""
    cls: type[MQIError]
    if verb == "MQCMIT" and comp == mq.MQCC_FAILED and reason in COMMIT_OUTCOME_UNKNOWN:
        cls = CommitOutcomeUnknown
    else:
        cls = CLASSES.get(reason, MQIError)
    return cls(verb, object_name, comp, reason)

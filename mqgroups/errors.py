"""All errors of this package, arranged by who has to act. Errors that programs handle differently have different classes.

    MQGroupsError
     ├─ Stopped                     nobody has to act: `stop()` was called in the middle of a group
     ├─ ApplicationError            the program made an invalid request
     │   ├─ ConfigurationError      a name, an option or an environment variable is not valid (also a ValueError)
     │   ├─ GroupUsage              a call came at the wrong moment
     │   ├─ EmptyGroup              a group was ended without its last message
     │   ├─ ForeignSyncpoint        other code ended the unit of work of a shared connection
     │   ├─ NotDecoded               the data of a message does not fit its codec or CCSID (also a ValueError)
     │   └─ MessageRefused          a payload, a property, a format or a CorrelId is not valid (also a ValueError)
     ├─ StatusError                 an operator must act: a status queue or a group is damaged; nothing was changed
     │   ├─ StatusQueueUnusable     the status queue is badly defined, or its record is damaged, gone or another owner's
     │   ├─ QueueManagerChanged     a different queue manager than before answered, or received a message of a group
     │   ├─ GroupPropertiesLost     the record of an interrupted group does not have its properties
     │   ├─ GroupIncomplete         a message of the group is not the next in sequence
     │   └─ RepairRefused           an operator's command would lose or double messages
     └─ EnvironmentFailure          something outside the program failed
         ├─ BindingMissing          pymqi, ibmmq or the MQ client library is not installed (also an ImportError)
         ├─ CcsidUnknown            neither mqgroups nor Python has a code page for the text of a message
         ├─ CommandRefused          the command server did not answer, or refused the command
         ├─ OwnershipLost           another instance of the same name, or another attempt at a batch, has taken over
         ├─ MessagesTaken           after a lost connection, another consumer got the messages
         ├─ GroupAbandoned          the producer ended a group without completing it
         ├─ PoisonMessage           a message fails whenever it is processed, or cannot be decoded or joined
         ├─ GroupQuarantined        the rest of a group, from a poison or missing message on, was moved to the backout queue
         ├─ GroupStalled            the next message of a group did not arrive in time
         └─ MQIError                a verb failed: verb, object name, completion code, reason code
             ├─ ConnectionBroken    the connection is gone; the queue manager backs out the unit of work
             ├─ CommitOutcomeUnknown    MQCMIT failed, and may or may not have committed
             ├─ NotAuthorised       2035
             ├─ QueueMissing        2085
             ├─ QueueUnavailable    the queue stayed full or inhibited, or its handles were lost repeatedly
             ├─ MessageTooLong      2010, 2030, 2031, 2218
             └─ OwnerActive         2042 on a status queue: the name is in use

``because`` names the case in a word, for operators. ``clears_up`` shows supervisors whether to restart the program. All errors
can be pickled, because they hold values and no handles. No error shows a payload or a password. After any error,
``producer.group()`` or the consumer's next iteration can resume a group at its last commit. Remedies for reason codes are in
``mqi/reasons.py``.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from mqgroups.core.to_copy import to_copy
from mqgroups.mqi import constants as mq
from mqgroups.mqi import reasons
from mqgroups.printable import brief

# Longer than any sentence of this package, even if it has a text from another program.
_LONGEST_TEXT = 10_000
# IBM MQ, "Mapping JMS fields onto IBM MQ fields", "Expiry", "Dead-letter queues".
NEVER_CAME = (
    "Usual causes: a JMS program that sets JMSXGroupID, but no JMS_IBM_Last_Msg_In_Group on the last message; a message that "
    "expired; a program that gets single messages; nonpersistent messages lost on a channel with NPMSPEED(FAST); a message on "
    "a dead-letter queue; a producer that was interrupted"
)


class MQGroupsError(Exception):
    """The root of this package's errors. The text is always printable, even if it has names from other programs.

    Attributes:
        because: one word for the case, for logs, metrics and reports. It is empty for a class that has only one case.
        clears_up: whether a later start can succeed although nobody corrects anything. Only then restart automatically.
    """

    because: str = ""
    clears_up: bool = False

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
    """``stop()`` was called in the middle of a group. This is not a failure.

    All messages that were processed or put are committed. An interrupted group is resumed at the next start of this name.

    Attributes:
        owner: role and name, such as ``"get ORDERS.SINK"``.
        queue: the queue of the group.
        group_id: the interrupted group; ``MQGI_NONE`` (24 zero bytes) if no group is interrupted.
        msg_seq_number: the number of the group's last message that is completely committed; 0 if there is none.
    """

    clears_up = True

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
    """A call came at the wrong moment."""


class ForeignSyncpoint(ApplicationError):
    """Other code committed or backed out the unit of work through the same connection.

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
    """A payload, a property, a format name or a CorrelId is not valid. No part of the message was put."""


class NotDecoded(ApplicationError, ValueError):
    """The data of a message is invalid. Codecs and ``message.text`` raise this error. Its text does not show the data.

    A consumer with a codec does not raise this error. It treats the message as poison, with the error's text as the reason.
    """


class EmptyGroup(ApplicationError):
    """A group was ended without a last message, because the program put no message, or put none after it resumed the group."""


class StatusError(MQGroupsError):
    """A status queue or a group is damaged. Nothing was changed; an operator must act.

    Attributes:
        status_queue: the name of the status queue.
        found, expected: the two values that the error's text compares; ``None`` if the text compares no values.
    """

    def __init__(self, message: str, *, status_queue: str, found: object = None, expected: object = None) -> None:
        super().__init__(message)
        self.status_queue = status_queue
        self.found = found
        self.expected = expected


StatusProblem: TypeAlias = Literal[
    "definition", "corrupt", "version", "foreign", "hidden", "gone", "several", "disagree"
]


class StatusQueueUnusable(StatusError):
    """The status queue, or the record on it, cannot be used. Nothing was changed.

    Attributes:
        because: ``"definition"``: the queue is missing and cannot be created, is of the wrong kind, or limits expiry.
            ``"corrupt"``: a message on it is not a status record, or is damaged. ``"version"``: another version of mqgroups wrote
            the record. ``"foreign"``: the record has another name, role, queue or queue manager than its reader, or another user
            has put it. ``"hidden"``: there is only an anchor (a message beside the record), because an open unit of work hides
            the record, or somebody removed it. ``"gone"``: somebody other than the owner removed the record.
            ``"several"``: there is more than one record. ``"disagree"``: the two records of a pipe are not from the same commit.
        field: which field of a foreign record differs. It is ``user_identifier`` if the user differs, empty in other cases.
    """

    because: StatusProblem

    def __init__(
        self,
        message: str,
        *,
        status_queue: str,
        because: StatusProblem = "definition",
        found: object = None,
        expected: object = None,
        field: str = "",
    ) -> None:
        super().__init__(message, status_queue=status_queue, found=found, expected=expected)
        self.because = because
        self.field = field


class QueueManagerChanged(StatusError):
    """A different queue manager than before answered, or received a message of a group. The unit of work is not committed.

    Attributes:
        because: ``"reconnected"``: the queue manager that answered after a lost connection does not have the status queue.
            ``"split"``: a message of a group went to another instance of a cluster queue than the first message.
        found, expected: the two queue managers.
    """

    because: Literal["reconnected", "split"]

    def __init__(self, message: str, *, because: Literal["reconnected", "split"], found: str, expected: str) -> None:
        super().__init__(message, status_queue="", found=found, expected=expected)
        self.because = because


class RepairRefused(StatusError):
    """An operator's command was refused, because messages would be lost or doubled. Nothing was changed.

    Attributes:
        because: the obstacle. It is ``"owned"`` if another owner's record names the group. Otherwise it is a value of
            ``operate.rules.salvage.Obstacle``. Operators can override some obstacles.
        owner: the owner whose record prevents the command (for a batch sink: batch and key); empty if no record does.
    """

    def __init__(
        self, message: str, *, status_queue: str, because: str, found: object, expected: object, owner: str = ""
    ) -> None:
        super().__init__(message, status_queue=status_queue, found=found, expected=expected)
        self.because = because
        self.owner = owner


class GroupPropertiesLost(StatusError):
    """The status record of a resumed group does not have the properties of the group's first message.

    The group can be continued; only ``group.properties`` is not known.

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


class GroupIncomplete(StatusError):
    """A message of a group is not the next in sequence.

    Attributes:
        group_id: 24 bytes.
        found, expected: the sequence number of the message that MQGET returned, and the expected sequence number.
    """

    def __init__(self, message: str, *, status_queue: str, group_id: bytes, found: object, expected: object) -> None:
        super().__init__(message, status_queue=status_queue, found=found, expected=expected)
        self.group_id = group_id


class EnvironmentFailure(MQGroupsError):
    """Something outside the program failed, perhaps only temporarily."""


class BindingMissing(EnvironmentFailure, ImportError):
    """The binding (pymqi or ibmmq) or the MQ client library is not installed."""

    def __init__(self, binding: str, problem: str) -> None:
        super().__init__(problem)
        self.binding = binding
        self.problem = problem


class CcsidUnknown(EnvironmentFailure):
    """Neither mqgroups nor Python has a code page for the text of a message. A program that uses no text never gets this error.

    Attributes:
        ccsid: the CCSID of the text.
        queue, group_id, msg_seq_number: these identify the message, if a consumer with a codec raised the error.
    """

    def __init__(self, ccsid: int, queue: str = "", group_id: bytes = b"", msg_seq_number: int = 0) -> None:
        message = f"message {msg_seq_number} of group {group_id.hex()} on queue {queue}" if queue else "this text"
        super().__init__(
            f"{message} cannot be decoded, because there is no code page for CCSID {ccsid} here. The message stays on its queue "
            "until it counts as poison. Let the queue manager convert it (convert=True), use message.data without a codec, or "
            f"register a codec of Python's named cp{ccsid:03d} (codecs.register; the package ebcdic has some)"
        )
        self.ccsid = ccsid
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number


class CommandRefused(EnvironmentFailure):
    """The queue manager's command server cannot be reached, does not answer, or refuses the command."""


class GroupStalled(EnvironmentFailure):
    """The next message of a group did not arrive in time.

    The messages processed so far are committed; the next iteration continues the group.

    Attributes:
        queue, group_id: the queue, and the group.
        msg_seq_number: the number of the missing message.
        waited_s: how long the consumer waited, in seconds.
        offset: the offset of the missing segment, if segments of a streamed message were already delivered; otherwise 0.
    """

    def __init__(self, queue: str, group_id: bytes, msg_seq_number: int, waited_s: float, offset: int = 0) -> None:
        missing = (
            f"the rest of message {msg_seq_number}, from offset {offset}," if offset else f"message {msg_seq_number}"
        )
        delivered = f"The first {offset} bytes of the message were delivered and count as processed. " if offset else ""
        super().__init__(
            f"{missing} of group {group_id.hex()} did not arrive on queue {queue} in {waited_s:g} s. {delivered}"
            f"The group can be resumed at its last commit. Iterate again to wait longer. {NEVER_CAME}. "
            f"`{to_copy('mqgroups doctor --queue {}', queue)}` says whether its producer may be started; "
            "a cluster queue may have the rest at another instance. If nobody can complete the group: "
            "stalled='quarantine' moves its rest to the backout queue, and the consumer goes on"
        )
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number
        self.waited_s = waited_s
        self.offset = offset


class OwnershipLost(EnvironmentFailure):
    """Another instance of the same name owns the status queue, or has owned it while this instance was disconnected.

    This instance must stop. Its unit of work is not committed. If the group belongs to a batch, another attempt at the batch has
    taken over the group.

    Attributes:
        because: ``"taken-over"``: another instance owns the name. ``"another-attempt"``: another attempt at the batch owns the
            group. ``"restored"``: the record is older than this instance's last commit.
        name: the name of the producer or consumer. For a batch sink, it is batch and key of the group.
        status_queue: the queue with the record that shows the new owner.
        found: owner and epoch of that record; empty and 0 if there is no record.
        expected: owner and epoch of this instance.
    """

    because: Literal["taken-over", "another-attempt", "restored"]

    def __init__(
        self,
        message: str,
        because: Literal["taken-over", "another-attempt", "restored"],
        *,
        name: str,
        status_queue: str,
        found: tuple[str, int],
        expected: tuple[str, int],
    ) -> None:
        super().__init__(message)
        self.because = because
        self.clears_up = because == "taken-over"
        self.name = name
        self.status_queue = status_queue
        self.found = found
        self.expected = expected


class MessagesTaken(EnvironmentFailure):
    """The connection was lost, the unit of work was backed out, and another consumer got the messages.

    The application has processed these messages, but has not committed them. So the other consumer processes them, too.

    Attributes:
        queue, group_id, msg_seq_number: these identify the first of the messages.
    """

    clears_up = True

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
    """The producer ended a group without completing it, so the messages that were processed are not a whole group.

    The group is consumed to its end and committed. Iterate over the consumer again for the next group.

    Attributes:
        queue, group_id: the queue, and the group.
        messages: the number of messages in the group.
        result: the number that the producer gave as the result.
        reason: the producer's text about the cause; empty if there is no text, or the queue manager does not deliver it.
        key: ``group.key``.
    """

    clears_up = True

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


class PoisonMessage(EnvironmentFailure):
    """A message cannot be decoded, or has reached BOTHRESH and failed even when it was processed alone. It stays on the queue.

    Attributes:
        queue, group_id, msg_seq_number: these identify the message.
        backout_count, threshold: the message's backout count, and the queue's BOTHRESH; 0 if backout counts are ignored.
        reason: why the message cannot be decoded; empty if it fails when it is processed.
        loop_left: whether the application left the loop over the group early. Then this may be the cause, and not a failure.
    """

    def __init__(
        self,
        queue: str,
        group_id: bytes,
        msg_seq_number: int,
        backout_count: int,
        threshold: int,
        reason: str = "",
        *,
        loop_left: bool = False,
    ) -> None:
        if reason:
            how = f"cannot be decoded ({brief(reason)})"
        else:
            left = ", or the loop over its group was left early" if loop_left else ""
            how = (
                f"fails whenever it is processed{left}: it was backed out {backout_count} times, the last time alone, and "
                f"BOTHRESH is {threshold}"
            )
        super().__init__(
            f"message {msg_seq_number} of group {group_id.hex()} on queue {queue} {how}. It stays on the queue. Correct the "
            "program, or what it needs, and start it again: it gets the message once more. Or let the consumer move it with the "
            "rest of its group: poison='quarantine', for a queue with BOTHRESH and BOQNAME"
        )
        self.reason = reason
        self.queue = queue
        self.group_id = group_id
        self.msg_seq_number = msg_seq_number
        self.backout_count = backout_count
        self.threshold = threshold
        self.loop_left = loop_left


class GroupQuarantined(EnvironmentFailure):
    """A message of a group is poison, or did not arrive. The rest of the group was moved to the backout queue.

    The earlier messages of the group are processed and committed. Iterate over the consumer again for the next group.

    Attributes:
        queue, group_id: the queue, and the group.
        msg_seq_number: the number of the first message that was moved, or of the missing message.
        backout_queue: the queue that has the messages now.
        reason: why the poison message cannot be decoded, or that the missing message did not arrive. It is empty if the poison
            message fails when it is processed, or if the reason is not known after a restart.
    """

    clears_up = True

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
        """``waited_s``: how many seconds the consumer waited for a missing message; ``None`` for poison."""
        how = f"cannot be decoded ({brief(reason)})" if reason else "fails whenever it is processed"
        rest, causes = f"from message {msg_seq_number} on", ""
        if waited_s is not None:
            how = f"did not arrive within {waited_s:g} s"
            reason, rest, causes = f"message {msg_seq_number} {how}", "as far as it had come", f". {NEVER_CAME}"
        super().__init__(
            f"group {group_id.hex()} of queue {queue} was moved to {backout_queue} {rest}, because message {msg_seq_number} "
            f"{how}. The messages before it were consumed; iterate again for the next group{causes}"
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
        object_name: the queue or queue manager of the call.
        comp, reason: completion code and reason code.
        reason_name: the reason's ``MQRC_`` name.
        context: further facts, such as the last committed message of the group; may be empty.
        is_final: whether nothing is retried after this error, because the application raised it, or all retries are over.
        while_reconnecting: whether reconnecting failed with this error. Reconnecting is retried for any reason code, because the
            same arguments have worked before, and MQ returns many different reason codes during a failover.
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
        self.clears_up = type(self).clears_up or reason in reasons.CLEARS_UP

    @property
    def reason_name(self) -> str:
        """The reason code's name, such as ``"MQRC_Q_FULL"``."""
        return mq.reason_name(self.reason)

    def _text(self) -> str:
        outcome = "failed" if self.comp == mq.MQCC_FAILED else "ended with a warning"
        text = f"{self.verb} for {self.object_name} {outcome}: reason {self.reason} {self.reason_name}"
        # A caller that knows more about the failure has set its own remedy.
        remedy = self.__dict__.get("remedy") or reasons.REMEDIES.get(self.reason, self.remedy)
        return ". ".join(part for part in (text, remedy, self.context) if part)


class ConnectionBroken(MQIError):
    """The connection is lost or ending. The queue manager backs out the connection's unit of work. Connect again."""

    remedy = "The connection can no longer be used; connect again, and the group resumes at its last commit"


class CommitOutcomeUnknown(MQIError):
    """MQCMIT failed, and the status queue could not be read in the time allowed. The unit of work may have been committed or
    backed out (IBM MQ, reason code 2009).

    Do not repeat the work. Connect to the same queue manager again; the status record there shows the outcome.
    """

    clears_up = True
    remedy = (
        "It is not known whether the unit of work was committed; connect to the same queue manager again and resume"
    )


class NotAuthorised(MQIError):
    """The user is not authorised for this call."""


class QueueMissing(MQIError):
    """There is no queue of this name on the queue manager."""


class QueueUnavailable(MQIError):
    """MQPUT or MQGET has not been possible on the queue within the time to wait. Start the program again later.

    The queue or its storage stayed full (2053, 2056, 2192) for ``full_wait_s``, puts or gets stayed inhibited (2051, 2016), or
    the queue's handles were lost repeatedly (2019, 2041, 2052) for ``reconnect_wait_s``.
    """


class MessageTooLong(MQIError):
    """The message is longer than the queue, the queue manager, the channel or ``max_message_length`` allows."""


class OwnerActive(MQIError):
    """The status queue is in use: another instance of the same name is running, or its connection has not been dropped yet."""

    clears_up = True
    remedy = (
        "Another instance with this name is running; or it has ended, and the queue manager has not noticed yet (the loss "
        "of a client's host after twice the heartbeat interval). Stop that instance, or wait. Another name would not resume its "
        "group. DISPLAY QSTATUS(...) TYPE(HANDLE) shows the holder"
    )


_CLASSES: dict[int, type[MQIError]] = {
    **dict.fromkeys(reasons.CONNECTION_BROKEN, ConnectionBroken),
    **dict.fromkeys(reasons.QUEUE_UNAVAILABLE, QueueUnavailable),
    **dict.fromkeys(reasons.MESSAGE_TOO_LONG, MessageTooLong),
    mq.MQRC_NOT_AUTHORIZED: NotAuthorised,
    mq.MQRC_UNKNOWN_OBJECT_NAME: QueueMissing,
}


def class_of(reason: int) -> type[MQIError]:
    """Return the error class for a reason code."""
    return _CLASSES.get(reason, MQIError)


def mqi_error(verb: str, object_name: str, comp: int, reason: int) -> MQIError:
    """Return the error for a verb's completion code and reason code. The reason code determines the class."""
    cls = class_of(reason)
    if verb == "MQCMIT" and comp == mq.MQCC_FAILED and reason in reasons.COMMIT_OUTCOME_UNKNOWN:
        cls = CommitOutcomeUnknown
    return cls(verb, object_name, comp, reason)

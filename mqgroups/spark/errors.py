"""Errors of the Spark source and sink, below those of the package (``mqgroups.errors``) by who has to act.

    ConfigurationError
     └─ SparkOptionError        an option is unknown, missing, not for this use, or has a value it cannot have
    ApplicationError
     ├─ ColumnsRefused          the columns of what is written are not those of messages
     ├─ RowRefused              a row cannot be a message
     └─ ModeRefused             an output mode that a queue cannot have
    StatusError
     └─ OffsetUnreadable        the checkpoint holds an offset that this version did not write
    EnvironmentFailure
     ├─ IdentityMissing         Spark does not say which task of which query this is
     ├─ JavaMissing             there is no Java that Spark runs on
     ├─ QueueReserved           another query, or any other application, gets from the source's queue
     ├─ GroupGone               a planned group is not on the queue any more, or not whole
     ├─ AmbiguousGroup          two messages of a group are in the same place
     └─ AmbiguousMessage        two messages in no group cannot be told apart

Spark shows them in a traceback of the Python worker; they pickle, and none shows a payload or a password.
"""

from __future__ import annotations

from mqgroups.errors import ApplicationError, ConfigurationError, EnvironmentFailure, StatusError


class SparkOptionError(ConfigurationError):
    """An option of the data source cannot be used.

    Attributes:
        option: its name as documented, or as it was given if there is no such option.
    """

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(f"option {option} of format 'ibmmq': {problem}")
        self.option = option


class ColumnsRefused(ApplicationError):
    """The columns of a DataFrame cannot be written as message groups."""


class RowRefused(ApplicationError):
    """A row of a DataFrame cannot be a message of a group."""


class ModeRefused(ApplicationError):
    """An output mode other than append: messages that are put cannot be replaced."""


class IdentityMissing(EnvironmentFailure):
    """Code that belongs into a Spark task is run outside one, or Spark does not tell which query and batch it is of.

    Attributes:
        what: the property of Spark's that is missing.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is not set in this process, and without it nothing tells which groups were put before. The sink works "
            "in tasks of a streaming query or of a batch job of Spark 4.2 and later; Spark Connect has not been tried"
        )
        self.what = what


class OffsetUnreadable(StatusError):
    """An offset in the query's checkpoint is not one of this version of the source."""


class JavaMissing(EnvironmentFailure):
    """There is no Java 17 or newer."""


class QueueReserved(EnvironmentFailure):
    """The queue is open for input elsewhere, and the source wants it for itself.

    Attributes:
        queue: its name.
        waited_s: how long it was waited for, seconds.
    """

    def __init__(self, queue: str, waited_s: float) -> None:
        super().__init__(
            f"queue {queue} is open for input by another application (2042), after {waited_s:g} s of waiting. A queue feeds "
            "one query: another one reads it, or the process of a query that died has not ended yet. Stop it, or wait; "
            f"DISPLAY QSTATUS('{queue}') TYPE(HANDLE) shows the holder. Option exclusive=false reads a queue that other "
            "applications consume too, and then groups can vanish between planning and reading"
        )
        self.queue = queue
        self.waited_s = waited_s


class GroupGone(EnvironmentFailure):
    """A group that was planned is not on the queue any more, or not all of it.

    Attributes:
        queue: where it was.
        key: the group's or message's identifier, as offsets have it.
        found, expected: logical messages of it.
    """

    def __init__(self, queue: str, key: str, found: int, expected: int) -> None:
        super().__init__(
            f"{key} on queue {queue} was planned with {expected} messages, and {found} of them could be read. Messages "
            "expired, or another application or an administrator took them. What is gone cannot be read again: option "
            "failOnDataLoss=false goes on without it"
        )
        self.queue = queue
        self.key = key
        self.found = found
        self.expected = expected


class AmbiguousMessage(EnvironmentFailure):
    """Two messages in no group have the same MsgId and were put at the same hundredth of a second.

    Attributes:
        queue: where they are.
        key: the identifier that both have, as offsets have it.
    """

    def __init__(self, queue: str, key: str) -> None:
        super().__init__(
            f"queue {queue} holds two messages in no group with the same identifier and time ({key}); one could be removed "
            "in place of the other. Let the queue manager make the MsgIds (MQPMO_NEW_MSG_ID), or put groups; consume one of "
            "the two with another program to go on"
        )
        self.queue = queue
        self.key = key


class AmbiguousGroup(EnvironmentFailure):
    """Two messages of a group are in one place: the one would be read, and both removed.

    Attributes:
        queue: where they are.
        key: of the group, as offsets have it.
        msg_seq_number, offset: which place.
    """

    def __init__(self, queue: str, key: str, msg_seq_number: int, offset: int) -> None:
        super().__init__(
            f"queue {queue} holds two messages with number {msg_seq_number} and offset {offset} in group {key}. Nothing was "
            "removed. Something has put to that group by hand, or restored messages: move the group to another queue "
            "(mqgroups salvage move), and the query goes on with failOnDataLoss=false"
        )
        self.queue = queue
        self.key = key
        self.msg_seq_number = msg_seq_number
        self.offset = offset

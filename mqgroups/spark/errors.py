"""Errors of the Spark source and sink. Their base class, from ``mqgroups.errors``, shows who has to act.

    ConfigurationError
     └─ SparkOptionError        an option is unknown, missing, not for this use, or has an invalid value
    ApplicationError
     └─ WriteRefused            the columns, a row or the output mode of a write are not possible for message groups
    StatusError
     └─ CheckpointUnusable      a query's checkpoint does not match the messages on the queues
    EnvironmentFailure
     ├─ IdentityMissing         Spark does not name the task, query or batch
     ├─ QueueReserved           another application has the source's queue open for input
     ├─ GroupGone               a planned group is no longer on the queue, or is not complete
     └─ AmbiguousGroup          two groups have the same GroupId, and their messages cannot be distinguished

The errors can be pickled, and Spark shows them in a traceback of the Python worker. Their texts have no payload and no password.
"""

from __future__ import annotations

from typing import Literal

from mqgroups.core.to_copy import to_copy
from mqgroups.errors import ApplicationError, ConfigurationError, EnvironmentFailure, StatusError


class SparkOptionError(ConfigurationError):
    """An option of the data source is not valid.

    Attributes:
        option: the documented name of the option, or the name that was given if there is no such option.
    """

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(f"option {option} of format 'ibmmq': {problem}")
        self.option = option


class WriteRefused(ApplicationError):
    """A DataFrame or one of its rows cannot be written as message groups.

    Attributes:
        because: what is refused (``"columns"``, ``"row"`` or ``"mode"``). Only append works, because messages cannot be replaced.
    """

    def __init__(self, message: str, because: Literal["columns", "row", "mode"]) -> None:
        super().__init__(message)
        self.because = because


class IdentityMissing(EnvironmentFailure):
    """Code that needs a Spark task runs outside a task, or Spark does not provide the ids of the task's query and batch.

    Attributes:
        what: the Spark property that is missing.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is not set in this process, and without it the sink cannot tell which groups were put before. Run the sink "
            "in tasks of a streaming query or a batch job, on Spark 4.0 or later"
        )
        self.what = what


class CheckpointUnusable(StatusError):
    """A checkpoint's micro-batch does not match the messages on the queues. The source removes no group of this micro-batch.

    Attributes:
        because: ``"version"``: another version wrote the offset. ``"missing"``: the status queue lacks the list of a
            micro-batch's groups. ``"not-read"``: Spark has finished a micro-batch that tasks have not read to its end.
    """

    def __init__(
        self,
        message: str,
        because: Literal["version", "missing", "not-read"],
        *,
        status_queue: str = "",
        found: object = None,
        expected: object = None,
    ) -> None:
        super().__init__(message, status_queue=status_queue, found=found, expected=expected)
        self.because = because


class QueueReserved(EnvironmentFailure):
    """Another application has the queue open for input, so the source cannot reserve it.

    Attributes:
        queue: the name of the queue.
        waited_s: how long the source has waited, in seconds.
    """

    clears_up = True

    def __init__(self, queue: str, waited_s: float) -> None:
        super().__init__(
            f"queue {queue} is still open for input by another application (2042) after {waited_s:g} s. Only one query can read "
            "a queue. Another query reads it, or the process of a failed query still runs. Stop that query or process, or wait; "
            + to_copy("DISPLAY QSTATUS({}) TYPE(HANDLE) shows the holder", queue)
        )
        self.queue = queue
        self.waited_s = waited_s


class GroupGone(EnvironmentFailure):
    """A planned group is no longer on the queue, or is not complete.

    Attributes:
        queue: the queue that the group was on.
        key: a text that identifies the group by its GroupId, or a message outside groups by its MsgId and put time.
        found, expected: the found and the planned number of logical messages. ``expected`` is 0 if they were not counted.
    """

    def __init__(self, queue: str, key: str, found: int, expected: int) -> None:
        planned = f"with {expected} messages" if expected else "as a complete group"
        super().__init__(
            f"{key} on queue {queue} was planned {planned}, but only {found} messages of it could be read. Messages "
            "expired, or another application or an administrator removed them. They cannot be read again. With the option "
            "failOnDataLoss=false, the query continues without them"
        )
        self.queue = queue
        self.key = key
        self.found = found
        self.expected = expected


class AmbiguousGroup(EnvironmentFailure):
    """A group's messages are not in sequence after its first message, and another group with the same GroupId precedes the group.

    Attributes:
        queue: the queue that the groups are on.
        key: a text that identifies the group by its GroupId.
        msg_seq_number: the sequence number of the first message that is not in sequence.
    """

    def __init__(self, queue: str, key: str, msg_seq_number: int) -> None:
        super().__init__(
            f"queue {queue} holds two groups with the GroupId of {key}. Of the second one, message {msg_seq_number} does not "
            "follow the first message, so it may be one of the first group. Nothing was removed. Move the messages with that "
            "GroupId to another queue (`mqgroups salvage move`), and restart the query with failOnDataLoss=false. An "
            "application that sets GroupIds must make them unique, as queue managers do"
        )
        self.queue = queue
        self.key = key
        self.msg_seq_number = msg_seq_number

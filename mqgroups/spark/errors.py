"""Errors of the Spark source and sink, arranged below the package's errors (``mqgroups.errors``) by who has to act.

    ConfigurationError
     └─ SparkOptionError        an option is unknown, missing, not for this use, or has an invalid value
    ApplicationError
     ├─ ColumnsRefused          the columns of a DataFrame cannot be written as messages
     ├─ RowRefused              a row cannot be written as a message
     └─ ModeRefused             the output mode is not possible for a queue
    StatusError
     ├─ OffsetUnreadable        the checkpoint has an offset that this version did not write
     ├─ ManifestUnreadable      the source's status queue has a message that this version did not write
     ├─ ManifestMissing         the list of a micro-batch's groups is not on the source's status queue
     └─ MicroBatchNotRead       Spark has finished a micro-batch, and no task has read it
    EnvironmentFailure
     ├─ IdentityMissing         Spark does not name the task, query or batch
     ├─ ExecutorBindingMissing  the MQ client library or its binding is missing where a task runs (also a BindingMissing)
     ├─ JavaMissing             no Java that Spark can use was found
     ├─ QueueReserved           another application has the source's queue open for input
     ├─ GroupGone               a planned group is no longer on the queue, or not complete
     └─ AmbiguousGroup          two groups have one GroupId, and their messages cannot be told apart

Spark shows them in a traceback of the Python worker. They can be pickled, and none shows a payload or a password.
"""

from __future__ import annotations

from mqgroups.errors import ApplicationError, BindingMissing, ConfigurationError, EnvironmentFailure, StatusError


class SparkOptionError(ConfigurationError):
    """An option of the data source is not valid.

    Attributes:
        option: its documented name, or the given name if there is no such option.
    """

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(f"option {option} of format 'ibmmq': {problem}")
        self.option = option


class ColumnsRefused(ApplicationError):
    """The columns of a DataFrame cannot be written as message groups."""


class RowRefused(ApplicationError):
    """A row of a DataFrame cannot be written as a message of a group."""


class ModeRefused(ApplicationError):
    """An output mode other than append: messages that are put cannot be replaced."""


class IdentityMissing(EnvironmentFailure):
    """Code for a Spark task runs outside a task, or Spark does not name the query and batch of the task.

    Attributes:
        what: the Spark property that is missing.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is not set in this process, and without it the sink cannot tell which groups were put before. Run the sink "
            "in tasks of a streaming query or a batch job, on Spark 4.2 or later"
        )
        self.what = what


class ExecutorBindingMissing(BindingMissing):
    """The binding or the MQ client library cannot be loaded in a task.

    Attributes:
        binding, problem: as for ``BindingMissing``.
        host: the executor's.
    """

    def __init__(self, binding: str, problem: str, host: str) -> None:
        EnvironmentFailure.__init__(
            self,
            f"on the executor at {host}: {problem}. Executors do not have the driver's environment. Install the IBM MQ client "
            "library and the binding there too, and set spark.executorEnv.LD_LIBRARY_PATH to the library's folder, as in "
            "--conf spark.executorEnv.LD_LIBRARY_PATH=/opt/mqm/lib64; PYSPARK_PYTHON must name a Python that has the binding",
        )
        self.binding = binding
        self.problem = problem
        self.host = host


class OffsetUnreadable(StatusError):
    """This version of the source did not write the offset in the query's checkpoint."""


class ManifestUnreadable(StatusError):
    """A message on the source's status queue is not a manifest of this version."""

    def __init__(self, status_queue: str, msg_id: bytes, found: str) -> None:
        super().__init__(
            f"status queue {status_queue} has a message (MsgId {msg_id.hex()}) that this version of format 'ibmmq' did not write "
            f"({found}). Run the query with the version that wrote it, until its last micro-batch is done; or, if another "
            "program put the message, remove it",
            status_queue=status_queue,
            found=found,
        )


class ManifestMissing(StatusError):
    """A manifest that the checkpoint names is not on the source's status queue, or not all of its parts.

    Attributes:
        manifest: its identifier.
    """

    def __init__(self, status_queue: str, manifest: str, found: int, expected: int) -> None:
        super().__init__(
            f"manifest {manifest}, which the query's checkpoint names, is not on status queue {status_queue}"
            + (f" (found {found} of its {expected} parts)" if expected else "")
            + ". It lists the groups of a micro-batch, so these could be read twice. Either the status queue was emptied, or the "
            "checkpoint is older than the queue: restore the one or the other. If the groups on the data queue may be processed "
            "again, start the query with a new checkpoint and a new output: up to two micro-batches that are in the old output "
            "already are then read again. To leave a checkpoint that still works, run its query once with "
            "trigger(availableNow=True) before: that removes what was processed",
            status_queue=status_queue,
            found=found,
            expected=expected,
        )
        self.manifest = manifest


class MicroBatchNotRead(StatusError):
    """Spark has finished a micro-batch whose first group no task has read: its groups would be lost, so they are not removed.

    Attributes:
        manifest: the identifier of the micro-batch's manifest.
    """

    def __init__(self, status_queue: str, manifest: str, groups: int) -> None:
        super().__init__(
            f"Spark has finished the micro-batch of manifest {manifest}, but its {groups} groups were not read, or not from the "
            f"first one on: status queue {status_queue} has no sign of it. They stay on the data queue. A sink passes over "
            "a micro-batch whose number it has written before, and a new checkpoint begins at 0 again. Start the query with a "
            "new checkpoint and also a new output folder (or another txnAppId, or another key for what foreachBatch has "
            "written). A foreachBatch function that does not want a micro-batch has to read it all the same, for example with "
            "count(): change it before that",
            status_queue=status_queue,
            found="no sign",
            expected="the sign of a task",
        )
        self.manifest = manifest


class JavaMissing(EnvironmentFailure):
    """There is no Java 17 or newer."""


class QueueReserved(EnvironmentFailure):
    """Another application has the queue open for input, but the source needs it exclusively.

    Attributes:
        queue: its name.
        waited_s: how long the source waited, in seconds.
    """

    def __init__(self, queue: str, waited_s: float) -> None:
        super().__init__(
            f"queue {queue} is still open for input by another application (2042) after {waited_s:g} s. Only one query may read "
            "a queue: another query reads it, or the process of a failed query has not ended yet. Stop it, or wait; "
            f"DISPLAY QSTATUS('{queue}') TYPE(HANDLE) shows the holder. With the option exclusive=false other applications may "
            "consume the queue too; groups can then disappear between planning and reading"
        )
        self.queue = queue
        self.waited_s = waited_s


class GroupGone(EnvironmentFailure):
    """A planned group is no longer on the queue, or not complete.

    Attributes:
        queue: the queue that it was on.
        key: the group with its GroupId, or the message with its MsgId and put time, in words.
        found, expected: numbers of logical messages; ``expected`` is 0 if they were not counted.
    """

    def __init__(self, queue: str, key: str, found: int, expected: int) -> None:
        planned = f"with {expected} messages" if expected else "as a complete group"
        super().__init__(
            f"{key} on queue {queue} was planned {planned}, but only {found} messages of it could be read. Messages "
            "expired, or another application or an administrator removed them. They cannot be read again; the option "
            "failOnDataLoss=false continues without them"
        )
        self.queue = queue
        self.key = key
        self.found = found
        self.expected = expected


class AmbiguousGroup(EnvironmentFailure):
    """Messages of a group do not follow its first one in sequence, and another group with the same GroupId is before it.

    Attributes:
        queue: the queue that they are on.
        key: the group with its GroupId, in words.
        msg_seq_number: the first message that does not follow.
    """

    def __init__(self, queue: str, key: str, msg_seq_number: int) -> None:
        super().__init__(
            f"queue {queue} holds two groups with the GroupId of {key}. Of the second one, message {msg_seq_number} does not "
            "follow the first message, so it may be one of the first group. Nothing was removed. Move the messages with that "
            "GroupId to another queue (`mqgroups salvage move`), and restart the query with failOnDataLoss=false. Queue managers "
            "make unique GroupIds; an application that sets its own has to do the same"
        )
        self.queue = queue
        self.key = key
        self.msg_seq_number = msg_seq_number

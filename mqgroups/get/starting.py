"""Opens a consumer's queue when the consumer starts, reads the backout attributes, and checks the settings."""

from __future__ import annotations

from contextlib import closing

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.connection.retry import OWNER_ACTIVE
from mqgroups.core.restart import Mismatch
from mqgroups.errors import ConfigurationError, MQIError
from mqgroups.get.backout_queue import BackoutQueue, backout_queue_of
from mqgroups.get.cursor import GroupCursor
from mqgroups.mqi import constants as mq
from mqgroups.settings import Consuming
from mqgroups.status.opening import check_apart
from mqgroups.status.owner import Owner
from mqgroups.status.records import foreign_record


def open_cursor(connection: Connection, settings: Consuming, owner: Owner) -> GroupCursor:
    """Open the queue at the position of the last commit. Raises MQIError; ConfigurationError if it is the status queue."""
    try:
        return GroupCursor(connection, settings, owner.committed)
    except MQIError as error:
        if error.reason not in OWNER_ACTIVE:
            raise
        _refuse_status_queue(connection, settings, error)
        raise


def _refuse_status_queue(connection: Connection, settings: Consuming, in_use: MQIError) -> None:
    """Raise ConfigurationError if the queue is the status queue, and therefore in use. ``in_use``: the error of the MQOPEN."""
    try:
        queue = connection.open_queue(settings.queue, mq.MQOO_BROWSE)
    except MQIError:
        raise in_use from None
    with closing(queue):
        check_apart(settings.record_queue, queue)


def find_backout_queue(connection: Connection, settings: Consuming, owner: Owner, queue: Queue) -> BackoutQueue | None:
    """Return the backout queue and threshold of the consumer's open ``queue``; ``None`` if the consumer needs neither.

    Raises the errors of ``backout_queue_of``.
    """
    moves_groups = settings.stalled == "quarantine" or owner.unit.note.quarantine
    found = backout_queue_of(connection, queue, settings.poison, "quarantine" if moves_groups else settings.stalled)
    return found if found.threshold or moves_groups else None


def refuse_unfit(settings: Consuming, owner: Owner, shown: str, *, is_pipe: bool) -> None:
    """Raise an error if an interrupted group, perhaps begun with other settings, cannot be finished with these settings.

    ``shown``: the consumer's repr. Raises StatusQueueUnusable if only a pipe can finish the group, else ConfigurationError.
    """
    committed, stream = owner.committed, settings.stream
    if committed.offset and not stream:
        raise ConfigurationError(
            f"{shown} was interrupted between two segments, after {committed.offset} bytes of message "
            f"{committed.msg_seq_number + 1}. The rest of that message can be got only segment by segment. Make the "
            "consumer with stream=True"
        )
    if owner.unit.note.quarantine and stream:
        raise ConfigurationError(
            f"{shown} was interrupted while it moved the rest of a group to the backout queue, message by message. With "
            "stream=True it would get segments. Make the consumer without stream=True until that group is moved"
        )
    resumed = owner.resumed
    if resumed is not None and resumed.outgoing is not None and not is_pipe:
        raise foreign_record(settings.record_queue, Mismatch("role", "get, of a pipe", "get, of a consumer"))

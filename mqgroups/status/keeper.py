"""A keeper of status records: what the performer makes the calls of one owner's record on.

StatusQueue       status/queue.py           a queue of the owner's own, open exclusively
ClaimedRecords    batch/claimed_records.py  one group's records on a queue that many share
NoStatus          here                      no record is kept, so an interrupted group cannot be resumed

How a record is kept is a value of the protocol (``core.ownership.Kept``). A keeper has the queue handle, and answers the calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mqgroups.connection.connection import Connection
from mqgroups.core.group_properties import GroupProperties, Value
from mqgroups.core.ownership import Kept
from mqgroups.core.status import Checkpoint, Mark, StatusRecord, check_checkpoint
from mqgroups.core.steps import Browse, Refused, Steps
from mqgroups.errors import GroupNotResumable, GroupPropertiesLost, GroupUsage


class Keeper(Protocol):
    """The handle of a status queue.

    Attributes:
        name: of the status queue.
        kept: the record before it was read.
    """

    name: str
    kept: Kept

    @property
    def is_stale(self) -> bool:
        """Whether the connection was replaced since, so that the queue has to be opened again."""
        return False

    def answer(self, step: Any) -> Any:
        """Make one call of the protocol; raises MQIError, StatusError."""

    def error_for(self, refused: Refused) -> BaseException:
        """Return the error for what the protocol refuses."""

    def unit_ended(self) -> None:
        """Take note that a unit of work was committed or backed out."""
        return

    def close(self, *, delete: bool = False) -> None:  # noqa: ARG002 - for subclasses
        """Close the queue; ``delete`` deletes it."""
        return


@dataclass(frozen=True, slots=True)
class _NoRecord(Kept):
    """The record of the last commit, kept nowhere."""

    queue: str
    record: StatusRecord | None = None
    most_messages: int = 0

    def read(self, marks: Sequence[Mark] = ()) -> Steps[tuple[_NoRecord, StatusRecord | None]]:  # noqa: ARG002 - as Kept
        yield Browse(self.queue)
        return self, self.record

    def replaced(self, record: StatusRecord, *, ends_chain: bool = False) -> Steps[_NoRecord]:  # noqa: ARG002 - as Kept
        yield from ()
        return _NoRecord(self.queue, record)


class NoStatus(Keeper):
    """Keeps no record. A group can go on only while its connection lives: after that it is not known what is committed."""

    name = "(none)"
    kept = _NoRecord(name)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._generation = connection.generation

    def answer(self, step: Any) -> bool:  # noqa: ARG002 - nothing is on a queue
        """Raise GroupNotResumable if the connection was lost since the start."""
        if self._connection.generation != self._generation:
            raise GroupNotResumable
        return False

    def error_for(self, refused: Refused) -> BaseException:
        """Return an error that cannot happen: nothing is read from a queue."""
        return AssertionError(refused)


def check_can_be_kept(checkpoint: Checkpoint) -> None:
    """Raise GroupUsage for a checkpoint that a record would not return unchanged."""
    try:
        check_checkpoint(checkpoint)
    except (TypeError, ValueError) as error:
        raise GroupUsage(
            f"the checkpoint ({type(checkpoint).__name__}) cannot be kept: it must be bytes or a JSON value ({error})"
        ) from error


def require_kept(properties: GroupProperties, group_id: bytes, status_queue: str) -> Mapping[str, Value]:
    """Return the properties of a group; raises GroupPropertiesLost if they are not known."""
    if properties is None:
        raise GroupPropertiesLost(group_id, status_queue)
    return properties

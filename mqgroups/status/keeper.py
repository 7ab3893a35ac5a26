"""The interface of keepers. A keeper has the queue handle for one owner's status record, and makes the calls on that queue.

StatusQueue       status/queue.py           a queue of the owner's own, open exclusively
ClaimedRecords    batch/claimed_records.py  one group's records on a queue that many attempts share

The record itself is a value of the protocol (``core.ownership.Kept``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from mqgroups.core.group_properties import GroupProperties, Value
from mqgroups.core.ownership import Kept
from mqgroups.core.status import Checkpoint, check_checkpoint
from mqgroups.core.steps import Refused
from mqgroups.errors import GroupPropertiesLost, GroupUsage


class Keeper(Protocol):
    """An owner's handle of a status queue.

    Attributes:
        kept: the value that describes the record when the protocol begins.
    """

    kept: Kept

    @property
    def name(self) -> str:
        """The name of the status queue."""

    @property
    def is_stale(self) -> bool:
        """Whether the connection was replaced, so that the queue must be opened again."""

    def answer(self, step: Any) -> Any:
        """Make the call that ``step`` of the protocol describes, and return the result. Raises MQIError, StatusError."""

    def error_for(self, refused: Refused) -> BaseException:
        """Return the error to raise when the protocol refuses what is on the queue."""

    def unit_ended(self) -> None:
        """Called after a unit of work was committed or backed out."""
        return

    def close(self, *, delete: bool = False) -> None:
        """Close the queue. With ``delete``, delete it too."""

    def give_up(self) -> None:
        """Close the queue, because the start has failed."""


def check_can_be_kept(checkpoint: Checkpoint) -> None:
    """Raise GroupUsage if a record cannot store the checkpoint and return it unchanged."""
    try:
        check_checkpoint(checkpoint)
    except (TypeError, ValueError) as error:
        raise GroupUsage(
            f"the checkpoint ({type(checkpoint).__name__}) cannot be kept: it must be bytes or a JSON value ({error})"
        ) from None


def require_kept(properties: GroupProperties, group_id: bytes, status_queue: str) -> Mapping[str, Value]:
    """Return the properties of a group. Raises GroupPropertiesLost if the properties are unknown."""
    if properties is None:
        raise GroupPropertiesLost(group_id, status_queue)
    return properties

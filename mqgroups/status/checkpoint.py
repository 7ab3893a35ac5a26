"""Removes a checkpoint from a status record, in a unit of work of its own, between two groups."""

from __future__ import annotations

from collections.abc import Callable

from mqgroups.errors import GroupUsage, MQIError
from mqgroups.status.owner import Owner
from mqgroups.status.units_of_work import UnitsOfWork


def forget_checkpoint(work: UnitsOfWork, owner: Owner) -> None:
    """Commit the record of ``owner`` without its checkpoint, if it has one.

    Raises:
        GroupUsage: a group is interrupted, so the checkpoint is needed.
        OwnershipLost, MQIError: as for any unit of work.
    """

    def forget(after: Callable[[], object]) -> None:
        after()
        if owner.committed_checkpoint is not None:
            work.note(owner, forget_checkpoint=True)

    if owner.committed_checkpoint is not None and not owner.committed.at_start:
        raise GroupUsage(f"the checkpoint of {owner.name} belongs to its interrupted group. End the group first")
    try:
        forget(lambda: None)
    except MQIError as error:
        work.redo(error, lambda: forget(work.settle))

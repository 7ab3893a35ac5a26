"""Errors of batches that only an operator's command meets, below the package's errors by who has to act."""

from __future__ import annotations

from collections.abc import Sequence

from mqgroups.core.claim import claim_values
from mqgroups.core.status import StatusRecord
from mqgroups.errors import StatusError

_MOST_NAMED = 10


class PurgeRefused(StatusError):
    """A sink has whole groups of a batch that is not completed; without their records, the batch would put them a second time.

    Attributes:
        groups: the records of these groups.
    """

    def __init__(self, status_queue: str, sink: str, groups: Sequence[StatusRecord]) -> None:
        queues = ", ".join(sorted({record.queue for record in groups}))
        more = len(groups) - _MOST_NAMED
        named = "; ".join(map(_named, groups[:_MOST_NAMED]))
        super().__init__(
            f"sink {sink}: found a batch that is not complete, with whole groups ({len(groups)}) on queue {queues}: "
            f"{named}{f'; and {more} more (`mqgroups batches list`)' if more > 0 else ''}. Without its record, a whole "
            "group is put a second time if the batch is run again. Nothing was changed. Best make the batch give each group the "
            "same messages as before, and run it again: it puts what is missing. Otherwise use --whole-groups-too, which removes "
            "these records and lists the groups; then move them from the queue (`mqgroups salvage move`) before the batch is run "
            "again, and undo what consumers have done with those that are no longer there",
            status_queue=status_queue,
            found=len(groups),
            expected=0,
        )
        self.groups = tuple(groups)


def _named(record: StatusRecord) -> str:
    claim = claim_values(record.checkpoint)
    return f"batch {claim['batch']} key {claim['key']!r} GroupId {record.group_id.hex()}"

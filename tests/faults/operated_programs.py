"""Applications of the campaign that an operator helps first: a record is rebuilt, or a group is moved.

What the operator does is part of each start. It is done again as long as it is needed, as an operator would after an error.
"""

from __future__ import annotations

from typing import Any

import mqgroups
from mqgroups import operate
from mqgroups.errors import RepairRefused
from tests.faults.application import MODEL, Application
from tests.faults.pattern import Pattern, cut
from tests.faults.programs import GetProgram, PutProgram
from tests.faults.reader import Reader

# So many messages of the group are committed when the record is lost.
_COMMITTED = 2


class _Rebuilt(Application):
    def _rebuild(self, connection: mqgroups.QueueManager, **more: Any) -> None:
        """Rebuild the record. This may end with a lost connection, and is done again."""
        self.asks_again = True
        if not self.is_there:
            try:
                operate.salvage_owner(
                    connection, self.name, self.owner, queue=self.queue, wait_s=self.patience_s, **more
                )
            except RepairRefused as error:
                if error.because != "record-there":
                    raise
        self.asks_again = False


class RebuiltPutProgram(_Rebuilt, PutProgram):
    """Goes on with a group whose status record is lost."""

    def prepare(self, reader: Reader) -> None:
        super().prepare(reader)
        begun = [cut(payload, self.pattern.segmented) for payload in self._payloads[:_COMMITTED]]
        reader.put_group(self.queue, begun, whole=False)

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        self._rebuild(connection)
        return super()._make(connection)


class RebuiltGetProgram(_Rebuilt, GetProgram):
    """Goes on with a group whose status record is lost."""

    def prepare(self, reader: Reader) -> None:
        super().prepare(reader)
        for seen in reader.take(self.queue, _COMMITTED):
            # Nobody knows the MsgId of a message that is gone.
            key = seen.group_id + bytes(24)
            self.notes.write(b"%s %s" % (key.hex().encode(), seen.data))

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        self._rebuild(connection, checkpoint=_COMMITTED)
        return super()._make(connection)


class MovedProgram(GetProgram):
    """Gets a group that was moved from another queue."""

    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        super().__init__(pattern, queue, name)
        self.others = (f"{queue}.FROM",)
        self._group_id = b""

    def prepare(self, reader: Reader) -> None:
        self._make_queue(reader)
        reader.make_queue(self.others[0], MODEL)
        messages = [cut(payload, self.pattern.segmented) for payload in self._payloads]
        self._group_id = reader.put_group(self.others[0], messages)

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        if not self.is_there:
            try:
                operate.move_group(connection, self.others[0], self._group_id, to=self.queue, commit_every=2)
            except RepairRefused as error:
                if "found no message of group" not in str(error):
                    raise
        return super()._make(connection)

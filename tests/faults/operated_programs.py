"""Applications of the campaign that an operator helps first: records are rebuilt and taken over, the rest of a group is moved.

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
from tests.faults.reader import Reader, Seen, says_nothing

# So many messages of the group are committed when the record is lost.
_COMMITTED = 2


class _Given(Application):
    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        super().__init__(pattern, queue, name)
        self._giver = f"{name}.GIVER"
        self.others = (f"MQGROUPS.{self.owner.upper()}.{self._giver}",)

    def _take_over(self, connection: mqgroups.QueueManager, **more: Any) -> None:
        """Rebuild the giver's record, and take it over; both may end with a lost connection, and are done again."""
        role, interrupted = self.owner, operate.OwnerState.INTERRUPTED
        self.asks_again = True
        if not self.is_there and operate.inspect_owner(connection, self.name, role).state is not interrupted:
            if operate.inspect_owner(connection, self._giver, role).state is not interrupted:
                self._rebuild(connection, **more)
            operate.take_over(connection, self._giver, role, by=self.name, wait_s=self.patience_s)
        self.asks_again = False

    def _rebuild(self, connection: mqgroups.QueueManager, **more: Any) -> None:
        try:
            operate.salvage_owner(connection, self._giver, self.owner, queue=self.queue, wait_s=self.patience_s, **more)
        except RepairRefused as error:
            # It was hidden, as by a takeover that has lost its connection.
            if error.because != "record-there":
                raise

    def left_behind(self, reader: Reader) -> dict[str, list[Seen]]:
        """Return what is left, but for a giver's record that says nothing: a takeover that stands may not have removed it."""
        seen = reader.browse(self.others[0])
        of_giver = {self.others[0]: seen} if seen and not says_nothing(seen) else {}
        return of_giver | super().left_behind(reader)


class GivenPutProgram(_Given, PutProgram):
    """Goes on with a group whose producer and whose status record are lost."""

    def prepare(self, reader: Reader) -> None:
        super().prepare(reader)
        begun = [cut(payload, self.pattern.segmented) for payload in self._payloads[:_COMMITTED]]
        reader.put_group(self.queue, begun, whole=False)

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        self._take_over(connection)
        return super()._make(connection)


class GivenGetProgram(_Given, GetProgram):
    """Goes on with a group whose consumer and whose status record are lost."""

    def prepare(self, reader: Reader) -> None:
        super().prepare(reader)
        for seen in reader.take(self.queue, _COMMITTED):
            # Nobody knows the MsgId of a message that is gone.
            key = seen.group_id + bytes(24)
            self.notes.write(b"%s %s" % (key.hex().encode(), seen.data))

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        self._take_over(connection, checkpoint=_COMMITTED)
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

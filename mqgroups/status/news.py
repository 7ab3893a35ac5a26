"""The news of an owner: what its hooks are told at the start, after a commit, and after a commit without an answer.

News is noted when it becomes known, and told when everything is consistent, because a hook may raise an error. Each commit counts
once, even if a call is interrupted between the two.
"""

from __future__ import annotations

import time

from mqgroups.core.group_properties import name_of
from mqgroups.core.restart import Expectations
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.status.hooks import Hooks, InDoubt, Progress, Resumed
from mqgroups.status.open_unit import OpenUnit


class News:
    """What is to be told to one owner's hooks."""

    def __init__(self, hooks: Hooks, expected: Expectations) -> None:
        self._hooks = hooks
        self._expected = expected
        self._began_s = time.monotonic()
        self._messages = self._data_bytes = self._unit_of_work = 0
        self._outcomes: list[InDoubt] = []
        self._progress: list[Progress] = []

    def tell_resumed(self, found: StatusRecord, epoch: int) -> None:
        """Call ``on_resume`` with the record of an interrupted group."""
        if self._hooks.on_resume is None:
            return
        self._hooks.on_resume(
            Resumed(
                role=found.role.value,
                name=found.name,
                queue=found.queue,
                group_id=found.group_id,
                msg_seq_number=found.msg_seq_number,
                offset=found.offset,
                checkpoint=found.checkpoint,
                group_name=name_of(found.properties),
                epoch=epoch,
                unit_of_work=found.unit_of_work,
            )
        )

    def settled(self, outcome: InDoubt) -> None:
        """Note the outcome of a commit that had no answer."""
        self._outcomes.append(outcome)

    def committed(self, record: StatusRecord, unit: OpenUnit) -> None:
        """Note that a unit of work with messages is committed, with its record."""
        if self._hooks.on_progress is None or record.unit_of_work == self._unit_of_work:
            return
        messages, data_bytes = self._messages + unit.messages, self._data_bytes + unit.data_bytes
        progress = Progress(
            role=self._expected.role.value,
            name=self._expected.name,
            queue=self._expected.queue,
            group_id=record.group_id,
            group_name=unit.group_name,
            msg_seq_number=record.msg_seq_number,
            offset=record.offset,
            group_ended=record.state is RecordState.COMPLETED,
            checkpoint=record.checkpoint,
            unit_of_work=record.unit_of_work,
            messages=unit.messages,
            data_bytes=unit.data_bytes,
            total_messages=messages,
            total_bytes=data_bytes,
            total_seconds=time.monotonic() - self._began_s,
        )
        self._messages, self._data_bytes, self._unit_of_work = messages, data_bytes, record.unit_of_work
        self._progress.append(progress)

    def tell_progress(self) -> None:
        """Call ``on_progress`` for each commit that was noted since."""
        while self._progress:
            progress = self._progress.pop(0)
            if self._hooks.on_progress is not None:
                self._hooks.on_progress(progress)

    def tell(self) -> None:
        """Call ``on_in_doubt`` and ``on_progress``."""
        while self._outcomes:
            outcome = self._outcomes.pop(0)
            if self._hooks.on_in_doubt is not None:
                self._hooks.on_in_doubt(outcome)
        self.tell_progress()

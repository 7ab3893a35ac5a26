"""The applications of the campaign on a cluster: producers, a consumer at each instance, and takeovers by another name.

A producer is at QM1 and puts groups to a queue with instances; each has to be whole at one. A consumer is at QM2 and disturbed;
those of the same name at the other instances work at the same time.
"""

from __future__ import annotations

import contextlib
from typing import Any

import mqgroups
from mqgroups import operate
from tests.faults.application import PATIENCE_S, Application, Notebook
from tests.faults.pattern import Pattern, wrong_with_handled
from tests.faults.programs import GetProgram, PutProgram
from tests.faults.reader import Reader

ALL = ("QM1", "QM2", "QM3")


class ClusterPutProgram(PutProgram):
    """Puts groups that go round the instances."""

    at = "QM1"
    instances: tuple[str, ...] = ALL


class ClusterPutOnOpenProgram(ClusterPutProgram):
    """Puts groups that all go to one instance, until it is started again."""

    bind = "open"


class RemotePutProgram(ClusterPutProgram):
    """Puts groups to a remote queue: by a transmission queue of its own, to a queue manager that the cluster does not know."""

    instances = ("QM2",)

    @property
    def opened(self) -> str:
        return f"{self.queue}.R"

    def _make_queue(self, reader: Reader) -> None:
        super()._make_queue(reader)
        reader.make_remote_queue(self.queue, "QM2")


class ClusterGetProgram(GetProgram):
    """Gets the groups of one instance; programs ``beside`` it have its name and get those of the others."""

    at = "QM2"
    instances: tuple[str, ...] = ALL

    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        super().__init__(pattern, queue, name)
        self.beside = {each: GetProgram(pattern, queue, name) for each in self.instances if each != self.at}

    def wrong(self, reader: Reader) -> str:
        left = reader.browse(self.queue)
        if left:
            return f"messages left: {[(message.at, message.msg_seq_number) for message in left]}"
        lines = {self.at: self.notes.lines(), **{at: one.notes.lines() for at, one in self.beside.items()}}
        groups = {(line.split(b" ")[0], at) for at in lines for line in lines[at]}
        self.places = {group: frozenset(at for one, at in groups if one == group) for group, _ in groups}
        return wrong_with_handled([line for at in lines for line in lines[at]], self.pattern)

    def close(self) -> None:
        for one in self.beside.values():
            one.close()
        super().close()


class _GaveUp(Exception):
    """The first one will not come back."""


class _Takeover(Application):
    """One that gives up in the middle of its first group, and one of another name that takes the group over.

    The first has one start. Whatever ends it, the next start is the other one's. A takeover that is cut off ends with an error,
    to be asked for again.
    """

    takes_over = True

    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        super().__init__(pattern, queue, name)
        self._turns = Notebook()
        # Whether this process is the first one, whatever others have begun since.
        self._is_first = False
        self.others = (self._status_queue_of(name), self._status_queue_of(self._second_name))

    def _status_queue_of(self, name: str) -> str:
        return f"MQGROUPS.{self.owner.upper()}.{name}"

    @property
    def _second_name(self) -> str:
        return f"{self.first_name}.2"

    @property
    def name(self) -> str:
        return self.first_name if len(self._turns.lines()) < 2 else self._second_name

    @property
    def is_there(self) -> bool:
        """The first one may give up at any time, and be the other one then."""
        return super().is_there and self.name != self.first_name

    def work(self, owner: Any) -> None:
        if self._is_first and self.name != self.first_name:
            # It comes late: it had no group to be taken over, and the other one does what there is to do.
            raise _GaveUp
        super().work(owner)

    def run(self, connection: mqgroups.QueueManager) -> None:
        self.asks_again = False
        self._is_first = not self._turns.lines()
        if self._is_first:
            self._turns.write(b"the first one")
            with contextlib.suppress(_GaveUp):
                super().run(connection)
            self._is_first = False
        if len(self._turns.lines()) == 1:
            self._turns.write(b"the other one")
        self.asks_again = True
        operate.take_over(connection, self.first_name, self.owner, by=self.name, wait_s=PATIENCE_S)
        self.asks_again = False
        super().run(connection)
        self.asks_again = True
        operate.inspect_owner(connection, self.first_name, self.owner, status_model=None, wait_s=PATIENCE_S, tidy=True)
        self.asks_again = False

    def _has_handled(self, count: int) -> None:
        if count == self.pattern.every + 2 and self.name == self.first_name:
            raise _GaveUp

    @property
    def status_queues(self) -> tuple[str, ...]:
        return self.others

    def close(self) -> None:
        self._turns.close()
        super().close()


class TakeoverPutProgram(_Takeover, ClusterPutProgram):
    """A producer whose group another one puts to its end."""

    instances = ("QM2", "QM3")


class TakeoverGetProgram(_Takeover, ClusterGetProgram):
    """A consumer whose group another one gets to its end, at the same instance."""

    instances = ("QM2", "QM3")

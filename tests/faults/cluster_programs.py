"""The applications of the campaign on a cluster: producers, and a consumer at each instance.

A producer is at QM1 and puts groups to a queue with instances; each has to be whole at one. A consumer is at QM2 and disturbed;
those of the same name at the other instances work at the same time.
"""

from __future__ import annotations

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

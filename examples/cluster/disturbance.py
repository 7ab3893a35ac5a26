"""Disturb the demo: kill programs and queue managers, and stop and cut channels, one after the other.

The kinds of disturbance and their times, as fractions of the messages put and got, are drawn beforehand; the target
is drawn when the time comes. A channel or queue manager is restored before the next disturbance, after a second at
the latest. A program is killed at its next line of progress, and restarted at once. When all messages are put and
have left the channels, a file informs the consumers.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any

from mqembedded import EmbeddedCluster
from mqgroups.demo.supervisor import Program, Supervisor

_POLL_S = 0.1
_LONGEST_S = 1.0
# As fractions of the work; towards the end no programs are left to disturb.
_FIRST, _LAST = 0.05, 0.8


class Kind(Enum):
    """The kinds of disturbances."""

    PRODUCER = "kill -9 producer"
    CONSUMER = "kill -9 consumer"
    QUEUE_MANAGER = "kill -9 queue manager"
    STOP = "stop channel"
    CUT = "cut channel"


ROUND = (*Kind, Kind.PRODUCER, Kind.CONSUMER)


def plan(chance: Random, rounds: int) -> list[tuple[float, Kind]]:
    """Return fractions of the work, ascending, each with a disturbance: in each round all kinds, programs twice."""
    kinds = [kind for _ in range(rounds) for kind in chance.sample(ROUND, len(ROUND))]
    step = (_LAST - _FIRST) / len(kinds)
    return [(_FIRST + (number + chance.random()) * step, kind) for number, kind in enumerate(kinds)]


@dataclass
class Member(Program):
    """A producer or consumer at a queue manager; ``what`` is the producer's airport, or the consumer's name."""

    q_mgr_name: str = ""
    what: str = ""
    is_producer: bool = False


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A group in which a program died, and the number of committed messages after which the next one continued."""

    program: Member
    group_id: str
    msg_seq_number: int


class Disturber(Supervisor):
    """Keeps the programs of a cluster going, and disturbs them and the cluster by a plan.

    Attributes:
        members: the programs.
        interrupted: the groups in the middle of which a program died.
        done: the number of disturbances of each kind.
        verdicts: the number of commits without an answer, by verdict.
        in_doubt: the number of messages in batches that were in doubt when their channel was started again.
    """

    def __init__(
        self,
        programs: Sequence[Member],
        cluster: EmbeddedCluster,
        *,
        environment: dict[str, str],
        all_put: Path,
        total: int,
        planned: Sequence[tuple[float, Kind]],
        chance: Random,
        tell: Callable[[str], None],
    ) -> None:
        """Take the programs and the cluster.

        Args:
            programs: producers and consumers.
            cluster: a running one.
            environment: of the programs.
            all_put: file to make when all messages have arrived at instances.
            total: messages to be put.
            planned: the disturbances and their times, as ``plan`` returns them.
            chance: draws the targets.
            tell: is called with a sentence for each event.
        """
        super().__init__(programs, environment=environment, tell=tell)
        self.members = programs
        self._cluster = cluster
        self._all_put = all_put
        self._total = total
        self._planned = list(planned)
        self._chance = chance
        self._to_kill: list[Kind] = []
        self._heal: Callable[[], None] | None = None
        self._heal_at_s = 0.0
        self.interrupted: list[Interrupted] = []
        self.done: Counter[Kind] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.in_doubt = 0

    def run(self) -> None:
        """Return when all programs are done and everything runs."""
        super().run()
        self._healed()

    def _step(self) -> None:
        self._listen(_POLL_S)
        if self._heal is not None and time.monotonic() >= self._heal_at_s:
            self._healed()
        if self._planned and self._work_done >= self._planned[0][0]:
            self._healed()
            _, kind = self._planned.pop(0)
            self._happens(kind)
        if not self._all_put.exists() and self._has_all_arrived():
            self._tell("all messages are put and have left the channels: consumers end when the queues are empty")
            self._all_put.touch()

    @property
    def _work_done(self) -> float:
        return sum(program.position for program in self.members) / (2 * self._total)

    def _has_all_arrived(self) -> bool:
        if self._heal is not None or not all(program.done for program in self.members if program.is_producer):
            return False
        nothing_waits = True
        for name, q_mgr in self._cluster.queue_managers.items():
            for each in self._channels(name):
                if each["status"] == "STOPPED":
                    # The cut happened at the moment when it was cancelled.
                    q_mgr.control.start_channel(each["to"])
                nothing_waits = nothing_waits and not each["waiting"] and not each["in_doubt"]
        return nothing_waits

    def _moved(self, program: Program) -> None:
        assert isinstance(program, Member)
        kind = Kind.PRODUCER if program.is_producer else Kind.CONSUMER
        if kind in self._to_kill and not program.dying:
            self._to_kill.remove(kind)
            self.done[kind] += 1
            self._tell(f"kill -9 {program.name}, at about message {program.position:,}")
            program.kill()

    def _said(self, program: Program, word: str, rest: str) -> None:
        assert isinstance(program, Member)
        if word == "resumed":
            program.resumes += 1
            group_id, msg_seq_number = rest.split()
            self.interrupted.append(Interrupted(program, group_id, int(msg_seq_number)))
            self._tell(f"{program.name} resumes group …{group_id[-8:]} after message {msg_seq_number}")
        elif word == "doubt":
            self.verdicts[rest] += 1
            self._tell(f"{program.name} had a commit without an answer; by its status record it is {rest}")
        else:
            super()._said(program, word, rest)

    # --- disturbances

    def _happens(self, kind: Kind) -> None:
        if kind in (Kind.PRODUCER, Kind.CONSUMER):
            self._to_kill.append(kind)
            return
        names = self._cluster.file.names
        # A channel from a queue manager with a working producer.
        one = self._chance.choice(
            [each.q_mgr_name for each in self.members if each.is_producer and not each.done] or names
        )
        other = self._chance.choice([name for name in names if name != one])
        self._heal_at_s = time.monotonic() + _LONGEST_S
        self.done[kind] += 1
        control = self._cluster[one].control
        if kind is Kind.QUEUE_MANAGER:
            self._tell(f"kill -9 queue manager {one}")
            self._cluster[one].kill()
            self._heal = lambda: self._start_q_mgr(one)
        elif kind is Kind.STOP:
            control.stop_channel(other)
            self._tell(f"the channel from {one} to {other} is stopped")
            self._heal = lambda: self._start_channel(one, other)
        else:
            when = self._chance.choice(["before", "after"])
            control.cut_channel(other, when, stop=True)
            self._tell(f"the channel from {one} to {other} breaks {when} its next batch is received")
            self._heal = lambda: self._start_channel(one, other)

    def _healed(self) -> None:
        heal, self._heal = self._heal, None
        if heal is not None:
            heal()

    def _start_q_mgr(self, name: str) -> None:
        to_it = [each for other in self._cluster.queue_managers if other != name for each in self._channels(other)]
        waiting = sum(each["waiting"] + each["in_doubt"] for each in to_it if each["to"] == name)
        began_s = time.monotonic()
        self._cluster[name].start()
        self._tell(f"{name} started again in {time.monotonic() - began_s:.2f} s; {waiting} messages have waited for it")

    def _start_channel(self, one: str, other: str) -> None:
        (channel,) = [each for each in self._channels(one) if each["to"] == other]
        self.in_doubt += channel["in_doubt"]
        control = self._cluster[one].control
        control.cut_channel(other, "")
        control.start_channel(other)
        waited = f"{channel['waiting']} messages have waited, {channel['in_doubt']} are in doubt"
        self._tell(f"the channel from {one} to {other} is started: {waited}")

    def _channels(self, name: str) -> list[dict[str, Any]]:
        return self._cluster[name].control.channels()

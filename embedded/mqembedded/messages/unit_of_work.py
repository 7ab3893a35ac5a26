"""A unit of work: the messages that a connection has put or got, but not yet committed.

A connection has at most one unit of work. The first MQPUT or MQGET in syncpoint starts it. MQCMIT, MQBACK, MQDISC or the loss of
the connection ends it. The unit of work also keeps the group and segment information that handles had at its start. MQBACK
restores this information (IBM MQ, "MQBACK", usage note 4).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mqembedded.messages.handle import Direction, Handle
from mqembedded.messages.logical_order import GroupState
from mqembedded.messages.queue import Message, Queue


@dataclass(slots=True)
class UnitOfWork:
    """The puts and gets of a unit of work, in the order of the calls. None of these messages is available.

    A ``doomed`` unit of work cannot be committed any more, because an asynchronous put in it has failed.
    """

    puts: list[Message] = field(default_factory=list)
    gets: list[Message] = field(default_factory=list)
    doomed: bool = False
    _states: dict[tuple[Handle, Direction], GroupState] = field(default_factory=dict)
    _size: int = 0

    def __len__(self) -> int:
        """Return the number of messages that count for MAXUMSGS. A put counts once, even if it is split into segments."""
        return self._size

    def add_put(self, messages: list[Message]) -> None:
        """Add the messages that an MQPUT has put."""
        self.puts.extend(messages)
        self._size += 1

    def add_reports(self, reports: list[Message]) -> None:
        """Add the reports that the queue manager has made about the unit of work's messages. Each report counts as a put."""
        for report in reports:
            report.queue.uncommitted_puts += 1
            self.add_put([report])

    def add_gets(self, messages: list[Message]) -> None:
        """Add the messages that an MQGET has got."""
        self.gets.extend(messages)
        self._size += len(messages)

    def keep_state(self, handle: Handle, direction: Direction) -> None:
        """Save a handle's state for a direction, unless this unit of work has already saved one."""
        self._states.setdefault((handle, direction), handle.states[direction])

    def forget_state(self, handle: Handle, direction: Direction) -> None:
        """Forget a saved state, because a call outside syncpoint has changed the state and MQBACK must not undo that change."""
        self._states.pop((handle, direction), None)

    def restore_states(self) -> None:
        """Restore the saved state of every handle."""
        for (handle, direction), state in self._states.items():
            handle.states[direction] = state

    def queues(self) -> dict[Queue, tuple[list[Message], list[Message]]]:
        """Return, for each queue, the messages that were put and the messages that were got."""
        by_queue: dict[Queue, tuple[list[Message], list[Message]]] = {}
        for message in self.puts:
            by_queue.setdefault(message.queue, ([], []))[0].append(message)
        for message in self.gets:
            by_queue.setdefault(message.queue, ([], []))[1].append(message)
        return by_queue

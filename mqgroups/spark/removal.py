"""Removes the groups of a finished micro-batch in several threads, while the next micro-batch is planned and read.

The groups are divided into *shares*. A *remover* is a thread that removes one share after another. It has its own connection, on
which the queue is open for shared input. At its first error, a remover leaves the rest of its share and disconnects, so the queue
manager backs out its unit of work. The other removers continue. Another thread, which Spark calls, starts the removers and later
waits for them. It also decides whether a share is removed again (``reservation.py``). Two groups with one GroupId are never
removed at the same time, because ``arrivals.py`` holds one of them back.

A missing group is not an error, so removal can be repeated after any interruption. A group is gone if committed units of work got
all of its messages. Otherwise it is *missed*, because the unit of work of a dead connection may still hide the group. IBM does
not document that this unit of work is backed out before another application can open the queue exclusively. If a remover got
messages of a group, and lost the connection before MQCMIT, these messages certainly reappear. Such a group is *coming back*.

If a unit of work may hide the beginning of a group, the rest of the group stays on the queue. If the rest were removed, the
beginning could reappear alone, and messages of the next group with this GroupId would be mistaken for the rest. If a unit of work
ends in the middle of a group, it also puts a *note* on the status queue. The note says that the group's beginning is gone. So
another process can remove the rest at once. Without a note, it leaves the rest until no message can reappear any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias

from mqgroups.connection.connection import Connection
from mqgroups.errors import CommitOutcomeUnknown
from mqgroups.spark.offsets import Key
from mqgroups.spark.taker import GotSoFar, Taker

Note: TypeAlias = Callable[[Connection, Key], None]


class Share:
    """Groups that one remover removes, and how much of them is removed.

    Attributes:
        left: the keys of groups that may not be gone, each with the part of the group that committed units of work got.
        coming_back: the keys of groups that certainly reappear, because their messages were got and not committed.
        is_done: whether the remover has searched for all groups without an error, and no group is coming back.
    """

    def __init__(self, keys: Iterable[Key], hidden: Container[Key] = (), note: Note = lambda *_: None) -> None:
        """Make a share of which nothing is removed yet.

        Args:
            keys: the keys of the groups.
            hidden: the keys of groups whose beginning another process may hide in its unit of work.
            note: a function that puts, in syncpoint, the note that the beginning of a group is gone.
        """
        self.left = {key: GotSoFar() for key in keys}
        self._note = note
        self.coming_back: set[Key] = set()
        self.is_done = False
        self._uncommitted: dict[Key, GotSoFar] = {}
        # Keys of groups that a unit of work may hide. It belongs to a lost connection, an unanswered commit or another process.
        self._hidden = {key for key in self.left if key in hidden}

    def remove(self, taker: Taker, every: int) -> None:
        """Remove the groups that are left, with ``every`` physical messages in a unit of work. This runs in a remover.

        Raises MQIError. Committed removals are final. Another call removes the rest.
        """
        connection, uncommitted, at = taker.connection, 0, None
        try:
            with connection.unit_of_work(self):
                for key in tuple(self.left):
                    at = key
                    for md, length in taker.take(key, self.left[key], may_be_hidden=key in self._hidden):
                        before = self._uncommitted.get(key) or self.left[key]
                        self._uncommitted[key] = before.and_also(md, length)
                        uncommitted += 1
                        if uncommitted == every:
                            if self._ends_within(key):
                                self._note(connection, key)
                            connection.commit()
                            self._committed()
                            connection.begin(self)
                            uncommitted = 0
        except BaseException as error:
            # The group of ``at`` is one of the lost groups, because MQGET may have removed a message although its reply was lost.
            lost = {key for key in (*self._uncommitted, at) if key in self.left}
            self._hidden |= lost
            # A commit with an unknown outcome may have removed the lost groups.
            if not isinstance(error, CommitOutcomeUnknown):
                self.coming_back |= lost
            self._uncommitted.clear()
            raise
        self._committed()
        self.is_done = not self.coming_back

    def _ends_within(self, key: Key) -> bool:
        """Return whether the unit of work has got the beginning of a group, but not the group's end."""
        return key.is_group and self.left[key] == GotSoFar() and not self._uncommitted[key].is_whole

    def _committed(self) -> None:
        self.left.update(self._uncommitted)
        for key, got in self._uncommitted.items():
            if got.is_whole if key.is_group else got.messages == key.copies:
                del self.left[key]
                self.coming_back.discard(key)
        self._uncommitted.clear()


class Removers:
    """The threads that remove groups from a queue (*removers*). All calls come from a single other thread."""

    def __init__(self, connect: Callable[[], Connection], name: str, most: int, every: int) -> None:
        """Prepare the removers. No connection is opened yet.

        Args:
            connect: a function that makes a connection.
            name: the name of the queue.
            most: the maximum number of removers.
            every: the number of physical messages in a unit of work.
        """
        self._connect = connect
        self._name = name
        self._most = most
        self._every = every
        self._threads = ThreadPoolExecutor(most, "mqgroups-remover")
        self._takers: list[Taker] = []
        self._working: list[Future[None]] = []

    @property
    def were_started(self) -> bool:
        """Whether removers were started and ``wait`` has not been called since then."""
        return bool(self._working)

    @property
    def are_working(self) -> bool:
        """Whether at least one remover is at work."""
        return not all(each.done() for each in self._working)

    def open(self, number: int) -> bool:
        """Add removers until ``number`` or the maximum is reached. Returns whether a remover was added. Raises MQGroupsError."""
        missing = min(number, self._most) - len(self._takers)
        opening = [self._threads.submit(self._open) for _ in range(missing)]
        for error in [each.exception() for each in opening]:
            if error is not None:
                raise error
        return missing > 0

    def _open(self) -> None:
        connection = self._connect()
        try:
            self._takers.append(Taker(connection, self._name))
        except BaseException:
            connection.close()
            raise

    def start(self, shares: Iterable[Share]) -> None:
        """Let the removers begin to remove these shares."""
        waiting = deque(shares)
        self._working = [self._threads.submit(self._work, taker, waiting) for taker in self._takers]

    def _work(self, taker: Taker, waiting: deque[Share]) -> None:
        try:
            while (share := _next_of(waiting)) is not None:
                share.remove(taker, self._every)
        except BaseException:
            self._takers.remove(taker)
            taker.connection.close()
            raise

    def wait(self) -> Sequence[BaseException]:
        """Wait until all removers have ended, and return their errors."""
        errors = [error for each in self._working if (error := each.exception()) is not None]
        self._working = []
        return errors

    def close(self) -> None:
        """Wait until all removers have ended, and disconnect them."""
        self.wait()
        while self._takers:
            self._takers.pop().connection.close()


def _next_of(waiting: deque[Share]) -> Share | None:
    try:
        return waiting.popleft()
    except IndexError:  # another remover was faster
        return None

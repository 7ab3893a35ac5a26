"""A queue manager of the model: what its answers and its clean-up may be, each possibility a state of its own.

Messages have no places: nothing in the protocol may depend on them. A message is its body; where two have the same one, they
are the same to everybody. The state is values only, so that equal states are found equal.

After a connection is lost, its open unit of work is backed out and its handles are closed. IBM's texts say neither in which
order nor how soon, so ``Reading`` has both, and each happens at any later time:

    BACKS_OUT_FIRST   handles are closed when the unit of work is backed out
    CLOSES_FIRST      the unit of work is backed out at any time after the handles are closed
    EITHER            the one or the other
    COMMITS_LATE      as EITHER; and an MQCMIT that was being executed may take effect after the handles are closed

But for COMMITS_LATE, a call that was being executed ends before the clean-up begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

Body: TypeAlias = tuple[Any, ...]
Life: TypeAlias = tuple[Any, ...]
# An instance's number, and which of its connections.
Connection: TypeAlias = tuple[int, int]
# A verb, an object, and what else the call says.
Call: TypeAlias = tuple[Any, ...]

COMMITTED: Life = ()
OK, IN_USE, NO_MESSAGE = "0", "2042", "2033"


def is_segment(body: Body, of: Body) -> bool:
    """Whether both are segments of one record."""
    return body[0] == of[0] == "R" and body[1] == of[1] != 0


class Reading(Enum):
    """What a queue manager does after it lost a connection."""

    BACKS_OUT_FIRST = "backs out first"
    CLOSES_FIRST = "closes first"
    EITHER = "either"
    COMMITS_LATE = "commits late"


class Message(NamedTuple):
    """A message on a queue; ``life`` is COMMITTED, or put or got in the unit of work of a connection."""

    queue: str
    body: Body
    life: Life = COMMITTED


class Ghost(NamedTuple):
    """A connection that is lost to its program and not cleaned up; ``committing`` says what for, while an MQCMIT is executed."""

    connection: Connection
    committing: str


class QueueManager(NamedTuple):
    """The state: messages, handles for input as (queue, connection, exclusive), and ghosts. All of them sorted."""

    messages: tuple[Message, ...] = ()
    handles: tuple[tuple[str, Connection, bool], ...] = ()
    ghosts: tuple[Ghost, ...] = ()

    # --- looking

    def visible(self, queue: str, connection: Connection | None = None) -> tuple[Body, ...]:
        """Return what a connection sees on a queue."""
        own = ("put", connection)
        return tuple(m.body for m in self.messages if m.queue == queue and (not m.life or m.life == own))

    def committed(self, queue: str) -> list[Body]:
        """Return what is committed on a queue, seen or not: what there would be if all open units of work were backed out."""
        return [m.body for m in self.messages if m.queue == queue and (not m.life or m.life[0] == "got")]

    def is_free(self, connection: Connection) -> bool:
        """Whether nothing is left of a connection."""
        return not (
            any(c == connection for _, c, _ in self.handles)
            or any(m.life and m.life[1] == connection for m in self.messages)
            or any(g.connection == connection for g in self.ghosts)
        )

    # --- calls

    def perform(self, connection: Connection, call: Call) -> Iterator[tuple[QueueManager, Any]]:
        """Make a call; yields each state and answer that may come of it."""
        verb, queue, *more = call
        if verb == "MQOPEN":
            exclusive = more[0]
            others = [e for q, c, e in self.handles if q == queue and c != connection]
            if others and (exclusive or any(others)):
                yield self, IN_USE
            else:
                handles = {*self.handles, (queue, connection, exclusive)}
                yield self._replace(handles=tuple(sorted(handles))), OK
        elif verb == "browse":
            yield self, self.visible(queue, connection)
        elif verb == "browse on":
            # The rest of a browse that began with ``more[0]`` in sight: what has come or gone since may have been passed or not.
            seen, now = more[0], self.visible(queue, connection)
            new = [body for body in now if body not in seen]
            doubtful = [*new, *(body for body in seen if body not in now)]
            for number in range(len(doubtful) + 1):
                for some in combinations(doubtful, number):
                    # Segments lie one behind the other, so the cursor does not pass a later one and then come to an earlier one.
                    if not any(is_segment(a, b) and a < b for a in some for b in new if b not in some):
                        yield self, tuple(sorted([*(b for b in now if b in seen), *some]))
        elif verb == "MQPUT":
            put = Message(queue, more[0], ("put", connection))
            yield self._replace(messages=tuple(sorted([*self.messages, put]))), OK
        elif verb == "MQGET":
            yield self._got(connection, queue, more[0])
        elif verb == "MQCMIT":
            yield self.commit(connection), OK
        elif verb == "MQBACK":
            yield self.back_out(connection), OK
        elif verb == "MQCLOSE":
            yield self._replace(handles=tuple(h for h in self.handles if h[:2] != (queue, connection))), OK
        else:
            raise ValueError(call)

    def _got(self, connection: Connection, queue: str, body: Body) -> tuple[QueueManager, str]:
        """Get a message; or ("chain", its number): all its segments, of which none may be missing (MQGMO_COMPLETE_MSG)."""
        if body[0] == "chain":
            there = [
                m for m in self.messages if m.queue == queue and m.body[:2] == ("R", body[1]) and m.life[:1] != ("put",)
            ]
            if not there or any(m.life for m in there):
                return self, NO_MESSAGE
        else:
            there = [Message(queue, body)]
            if there[0] not in self.messages:
                return self, NO_MESSAGE
        messages = list(self.messages)
        for message in there:
            messages.remove(message)
            messages.append(message._replace(life=("got", connection)))
        return self._replace(messages=tuple(sorted(messages))), OK

    def commit(self, connection: Connection) -> QueueManager:
        """End a unit of work."""
        return self._ended(connection, kept="put")

    def back_out(self, connection: Connection) -> QueueManager:
        """Back a unit of work out."""
        return self._ended(connection, kept="got")

    def _ended(self, connection: Connection, kept: str) -> QueueManager:
        messages = []
        for message in self.messages:
            if not message.life or message.life[1] != connection:
                messages.append(message)
            elif message.life[0] == kept:
                messages.append(message._replace(life=COMMITTED))
        return self._replace(messages=tuple(sorted(messages)))

    # --- what happens by itself

    def disconnected(self, connection: Connection) -> QueueManager:
        """Close the handles of a program that has ended in good order."""
        return self.back_out(connection)._replace(handles=tuple(h for h in self.handles if h[1] != connection))

    def lost(self, connection: Connection, committing: str = "") -> QueueManager:
        """Lose a connection, while an MQCMIT is being executed or without."""
        if self.is_free(connection) and not committing:
            return self
        return self._replace(ghosts=tuple(sorted([*self.ghosts, Ghost(connection, committing)])))

    def clean_up(self, reading: Reading) -> Iterator[tuple[QueueManager, Ghost, str]]:
        """Yield each next step of cleaning up after lost connections."""
        for ghost in self.ghosts:
            connection = ghost.connection
            idle = self._with(ghost, ghost._replace(committing=""))
            if ghost.committing:
                yield idle.commit(connection)._swept(connection), ghost, "MQCMIT takes effect"
                yield idle._swept(connection), ghost, "MQCMIT never began"
            opened = any(h[1] == connection for h in self.handles)
            works = any(m.life and m.life[1] == connection for m in self.messages)
            may_close = not ghost.committing or reading is Reading.COMMITS_LATE
            if opened and may_close and not (works and reading is Reading.BACKS_OUT_FIRST):
                closed = self._replace(handles=tuple(h for h in self.handles if h[1] != connection))
                yield closed._swept(connection), ghost, "handles are closed"
            if works and not ghost.committing and not (opened and reading is Reading.CLOSES_FIRST):
                yield self.back_out(connection)._swept(connection), ghost, "unit of work is backed out"

    def _with(self, ghost: Ghost, other: Ghost) -> QueueManager:
        return self._replace(ghosts=tuple(sorted([*(g for g in self.ghosts if g is not ghost), other])))

    def _swept(self, connection: Connection) -> QueueManager:
        """Without the ghost of a connection of which nothing else is left."""
        rest = tuple(g for g in self.ghosts if g.connection != connection or g.committing)
        without = self._replace(ghosts=rest)
        return without if without.is_free(connection) else self

"""The calls that the ownership protocol makes, each as a value, and the errors that these calls can raise.

``core/protocol.py`` yields these values, and is sent the answers. ``status/performer.py`` makes the calls; ``tests/ownership``
answers them from a model of a queue manager. ``queue`` is always the name of a status queue.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple, TypeAlias, TypeVar

from mqgroups.core.status import Mark, StatusRecord
from mqgroups.core.status_chain import RecordPut, StoredRecord

_T = TypeVar("_T")
Steps: TypeAlias = Generator[Any, Any, _T]


class Begin(NamedTuple):
    """Begin a unit of work on the connection. It is an error if somebody else has a unit of work open there."""


class OpenAgain(NamedTuple):
    """Open a status queue exclusively, in one try, if its handle was lost. Answer: whether the handle was lost."""

    queue: str


class LookAtHolder(NamedTuple):
    """Browse a status queue that another program has open. Answer: the current record; ``None`` if not all of it is visible.

    ``users``: the users whose records are believed; ``None`` means all users. ``marks``: as for ``Kept.read``.
    """

    queue: str
    users: frozenset[str] | None
    marks: tuple[Mark, ...]


class Browse(NamedTuple):
    """Browse a status queue. Answer: a tuple of ``FoundMessage``."""

    queue: str


class WaitForRecord(NamedTuple):
    """Pause, because a unit of work hides the record. If the owner has already waited for the maximum time, this is an error.

    ``first``: whether this is the first pause. ``at_start``: whether the owner is starting, and so has committed nothing yet.
    """

    queue: str
    first: bool
    at_start: bool


class Take(NamedTuple):
    """Get a record, or a whole chain, in the unit of work. Answer: whether it was there.

    ``must_stay``: whether a record that expires is an error, because the record that replaces it would expire too.
    """

    queue: str
    stored: StoredRecord
    must_stay: bool = False


class TakeAnchor(NamedTuple):
    """Get an anchor in the unit of work, if it is there."""

    queue: str
    msg_id: bytes


class PutAnchor(NamedTuple):
    """Put an anchor for a record. Answer: its MsgId."""

    queue: str
    record: StatusRecord


class PutRecord(NamedTuple):
    """Put a record, with the MsgId of its anchor as CorrelId. Answer: ``RecordArrived``."""

    queue: str
    record: StatusRecord
    how: RecordPut
    anchor: bytes


class IsThere(NamedTuple):
    """Browse one record. Answer: whether it is there. A record that expires is an error."""

    queue: str
    stored: StoredRecord


class Commit(NamedTuple):
    """Call MQCMIT."""


class BackOut(NamedTuple):
    """Reconnect if the connection is lost. Otherwise call MQBACK if a unit of work is open."""


class Remember(NamedTuple):
    """Store these ownerships, in one assignment, as the present ones. After an interruption the protocol continues from them."""

    ownerships: tuple[Any, ...]


class RecordArrived(NamedTuple):
    """What MQPUT returned for a record: MsgId, GroupId and UserIdentifier from the MQMD, and the length of the data in bytes."""

    msg_id: bytes
    group_id: bytes
    length: int
    user: str


class Failed(Exception):
    """A call failed. The application gets ``error``, unless the protocol handles the failure. ``reason``: the reason code."""

    def __init__(self, error: BaseException, reason: int = 0) -> None:
        super().__init__(error)
        self.error = error
        self.reason = reason


class Lost(Failed):
    """The connection was lost during the call, so nobody knows whether the call was executed."""


class InUse(Failed):
    """Another program has the status queue open."""


class NoQueue(Failed):
    """The status queue does not exist any more."""


class Refused(Exception):
    """A status queue has contents that its owner must not replace. The keeper's ``error_for`` makes the application's error."""

    def __init__(self, queue: str) -> None:
        super().__init__(queue)
        self.queue = queue


class Disordered(Refused):
    """The messages are neither one record nor one chain of segments. ``several``: whether there are several records."""

    def __init__(self, queue: str, found: str, expected: str, *, several: bool, users: tuple[str, ...]) -> None:
        super().__init__(queue)
        self.found = found
        self.expected = expected
        self.several = several
        self.users = users


class PutByOthers(Refused):
    """A user whose records are not believed has put a record."""

    def __init__(self, queue: str, user: str, believed: frozenset[str]) -> None:
        super().__init__(queue)
        self.user = user
        self.believed = believed


class RecordGone(Refused):
    """The record that this owner put is not on the queue any more."""

    def __init__(self, queue: str, stored: StoredRecord) -> None:
        super().__init__(queue)
        self.stored = stored


class NotCommitted(RecordGone):
    """The record that was committed is not on the queue."""


class RecordBack(Refused):
    """The record that was got in this unit of work is on the queue again, because somebody else has backed out."""

"""KeptRecord: the record on one owner's status queue, and the steps that read, replace and remove the record.

``core/status_chain.py`` explains how records and anchors are stored. This module has generators, which yield the calls to make
(``core/steps.py``). Each generator returns a new ``KeptRecord`` and leaves the old one unchanged. So after a failed call the
caller still has the old one, and reads the record anew from the queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mqgroups.core.status import Mark, StatusRecord
from mqgroups.core.status_chain import (
    MOST_SEGMENTS,
    ChainBroken,
    FoundMessage,
    LookAgain,
    QueueContents,
    RecordHidden,
    StoredRecord,
    after_record_put,
    contents_of,
    next_record_put,
    users_of_records,
)
from mqgroups.core.steps import (
    Browse,
    Disordered,
    IsThere,
    LookAtHolder,
    NotCommitted,
    PutAnchor,
    PutByOthers,
    PutRecord,
    RecordBack,
    RecordGone,
    Steps,
    Take,
    TakeAnchor,
    WaitForRecord,
)

_NOTHING = QueueContents()


class KeptRecord(NamedTuple):
    """A record on its status queue, as a unit of work sees it, or as the last commit has left it; see ``ownership.Kept``.

    Attributes:
        queue: the name of the status queue.
        segmented: whether records are put as segments of one logical message.
        for_owner: whether an owner keeps the record; otherwise an operator replaces it.
        users: the users whose records are believed. An owner also believes its own user's records.
        contents: what is on the queue.
        found: the messages that ``read`` has found; the commit of the claim empties this.
        held: the record that was got at the beginning of the open unit of work; ``None`` if none was.
        claimed: whether the record is this owner's own, and committed.
    """

    queue: str
    segmented: bool = False
    for_owner: bool = True
    users: frozenset[str] = frozenset()
    contents: QueueContents = _NOTHING
    found: tuple[FoundMessage, ...] = ()
    held: StoredRecord | None = None
    claimed: bool = False

    @property
    def believes_all(self) -> bool:
        """Whether all users' records are believed. An owner believes all until its first put has shown its own user."""
        return not self.claimed if self.for_owner else not self.users

    @property
    def most_messages(self) -> int:
        stored = self.contents.stored
        return 1 + (MOST_SEGMENTS if self.segmented or (stored is not None and stored.segments) else 1)

    @property
    def can_be_removed(self) -> bool:
        """Whether ``removed`` can be called. A chain of segments must be ended first, in a separate unit of work."""
        stored = self.contents.stored
        return stored is None or not stored.is_open

    def read(self, marks: Sequence[Mark] = (), *, waits: bool = True) -> Steps[tuple[KeptRecord, StatusRecord | None]]:
        """Browse the queue. Return two values: this object with the new contents, and the current record.

        Args:
            marks: the marks of the caller's own records. If no record is still needed, one with such a mark is the current one.
            waits: whether to wait for a record that a unit of work hides. Otherwise RecordHidden is raised.
        """
        before: tuple[FoundMessage, ...] | None = None
        has_waited = False
        while True:
            messages = yield Browse(self.queue)
            if not self.believes_all:
                self._refuse_others(messages)
            try:
                contents, record = contents_of(messages, marks, seen_twice=messages == before)
            except RecordHidden:
                if not waits:
                    raise
                yield WaitForRecord(self.queue, not has_waited, not marks)
                has_waited, before = True, None
                continue
            except LookAgain:
                before = messages
                continue
            except ChainBroken as broken:
                if messages == before:
                    users = tuple(users_of_records(messages))
                    found, expected = broken.found, broken.expected
                    raise Disordered(self.queue, found, expected, several=broken.several, users=users) from broken
                before = messages
                continue
            return self._replace(contents=contents, found=messages, held=None), record

    def seen_elsewhere(self, marks: tuple[Mark, ...]) -> Steps[StatusRecord | None]:
        users = None if self.believes_all else self.users
        record: StatusRecord | None = yield LookAtHolder(self.queue, users, marks)
        return record

    def got_first(self) -> Steps[KeptRecord]:
        """Get the record at the beginning of a unit of work, so that ``replaced`` can detect a backout by the application."""
        stored = self.contents.stored
        if stored is None or stored.is_open:
            return self
        yield from self._take(stored)
        return self._replace(contents=QueueContents(None, self.contents.anchor), held=stored)

    def replaced(self, record: StatusRecord, *, ends_chain: bool = False) -> Steps[KeptRecord]:
        """Put a record in place of the current one. Put an anchor if there is none.

        The claim, an owner's first put, also removes leftover records. ``ends_chain``: whether to end a chain of segments with
        the new record, so that the next unit of work can remove it.
        """
        contents = self.contents
        if not self.claimed:
            for leftover in contents.leftovers:
                yield Take(self.queue, leftover.stored)
                if leftover.anchor is not None:
                    yield TakeAnchor(self.queue, leftover.anchor)
        stored, anchor = contents.stored, contents.anchor
        if anchor is not None and not self.claimed and self._expires(anchor):
            # The anchor was put when the queue limited the expiry of its messages.
            yield TakeAnchor(self.queue, anchor)
            anchor = None
        if anchor is None:
            anchor = yield PutAnchor(self.queue, record)
        if stored is not None and not self.for_owner:
            # Get even an open chain, because the new record keeps the user of the message that was got last.
            yield from self._take(stored)
            stored = None
        how = next_record_put(stored, segmented=self.segmented and not ends_chain)
        if stored is not None and how.takes:
            yield from self._take(stored)
        arrived = yield PutRecord(self.queue, record, how, anchor)
        if self.held is not None and (yield Take(self.queue, self.held)):
            # This is the last call. A foreign backout at any earlier moment has brought the old record back.
            raise RecordBack(self.queue)
        if self.for_owner and not self.claimed:
            # The put has shown which user this owner's own records have.
            self._refuse_others(self.found, arrived.user)
        stored = after_record_put(stored, how, arrived.msg_id, arrived.group_id, arrived.length)
        return self._replace(contents=QueueContents(stored, anchor))

    def removed(self) -> Steps[KeptRecord]:
        """Get the record and its anchor. Other programs then see neither, so the record must not be needed any more."""
        stored, anchor = self.contents.stored, self.contents.anchor
        if stored is not None:
            yield from self._take(stored, must_stay=False)
        if anchor is not None:
            yield TakeAnchor(self.queue, anchor)
        return self._replace(contents=_NOTHING)

    def checked(self) -> Steps[None]:
        """Check that the record is on the queue, and does not expire."""
        stored = self.contents.stored
        if stored is not None and not (yield IsThere(self.queue, stored)):
            raise NotCommitted(self.queue, stored)

    def after_commit(self) -> KeptRecord:
        if self.claimed and self.held is None:
            return self
        return self._replace(held=None, claimed=True, found=())

    def _take(self, stored: StoredRecord, *, must_stay: bool = True) -> Steps[None]:
        # An owner's own record must not expire, or the next record would expire too.
        if not (yield Take(self.queue, stored, must_stay and self.claimed)):
            raise RecordGone(self.queue, stored)

    def _expires(self, msg_id: bytes) -> bool:
        return any(each.expires and each.msg_id == msg_id for each in self.found)

    def _refuse_others(self, messages: Sequence[FoundMessage], own_user: str | None = None) -> None:
        own = {each.user for each in messages if each.is_own} | ({own_user} if own_user is not None else set())
        for user in users_of_records(messages):
            if user not in self.users and user not in own:
                raise PutByOthers(self.queue, user, self.users | own)

"""Whose unit of work a connection has: only this package's, or also the application's (``mqgroups.wrap``).

The application may put and get on its own connection, and may commit or back out there at any moment. So on such a connection

* a unit of work gets the status record before the first message, and looks for the new one after its commit. If somebody else has
  backed out before the new record is put, the old one is back on the queue; if later, the new one is missing. A foreign commit
  removes the old record for good. That does no harm if the unit of work goes on; otherwise the next start finds an anchor alone;
* nothing is committed, backed out or done again without the application, except after an error: what it has put and got itself
  would be committed or lost;
* records are no segments, because each has to be got in any case.
"""

from __future__ import annotations


class Own:
    """Only this package uses the unit of work.

    Attributes:
        gets_record_first: whether a unit of work gets the status record before its first message, and looks for it at the end.
        can_be_redone: whether a unit of work can be put and got again without the application.
    """

    gets_record_first = False
    can_be_redone = True

    def may_end_early(self, messages: int) -> bool:
        """Whether a unit of work with so many messages may be committed before the application gives the next one."""
        return messages > 0

    def may_be_split(self, messages: int) -> bool:
        """Whether the messages in the unit of work can be got again, so that the last one can be taken out of it."""
        return messages >= 0

    def has_to_back_out(self, why: object, *, is_open: bool, is_others: bool) -> bool:  # noqa: ARG002 - for subclasses
        """Whether MQBACK has to be called: the unit of work is this owner's, or another owner's, or nobody's."""
        return is_open

    def who_removes_records(self) -> str:
        """Say who may have removed an owner's record, for an error text."""
        return "Another program has removed it"


class Shared(Own):
    """The application may put and get, and may even commit and back out, in the same unit of work."""

    gets_record_first = True
    can_be_redone = False

    def may_end_early(self, messages: int) -> bool:  # noqa: ARG002 - as Own
        """Never, because the application's own puts and gets for the next message may be in the unit of work already."""
        return False

    def may_be_split(self, messages: int) -> bool:
        """Only if no message is processed, because the application's own puts and gets for it would be backed out too."""
        return messages == 0

    def has_to_back_out(self, why: object, *, is_open: bool, is_others: bool) -> bool:
        """Also after an error without messages of an owner: the application's puts may belong to one that is put again."""
        return is_open or (why is not None and not is_others)

    def who_removes_records(self) -> str:
        """Say who may have removed an owner's record, for an error text."""
        return f"{super().who_removes_records()}, or the application has committed a unit of work of this connection itself"


OWN, SHARED = Own(), Shared()

"""Rules for a unit of work that only this package uses, or that the application uses, too (``mqgroups.wrap``).

The application may put and get on its own connection, and may commit or back out there at any moment. So on such a connection

* this package gets the status record before the first message of a unit of work, and looks for the new record after the commit.
  If other code backs out before the new record is put, the old record is on the queue again. If it backs out later, the
  new record is missing. If other code commits, the old record is gone, and perhaps the next start finds only the record's anchor;
* this package neither commits nor backs out nor redoes anything on its own, except after an error. Otherwise it would commit or
  lose the application's own messages in the unit of work;
* records are not put as segments. Segments would save an MQGET, but here each record has to be got in any case.
"""

from __future__ import annotations


class Own:
    """The rules for a unit of work that only this package uses.

    Attributes:
        gets_record_first: whether to get the status record before the first message, and look for it after the commit.
        can_be_redone: whether this package can redo a unit of work without the application.
    """

    gets_record_first = False
    can_be_redone = True

    def may_end_early(self, messages: int) -> bool:
        """Return whether a unit of work with this number of messages may be committed before the application's next call."""
        return messages > 0

    def may_be_split(self, messages: int) -> bool:
        """Return whether a unit of work with this number of processed messages can be redone without its last message."""
        return messages >= 0

    def has_to_back_out(self, why: object, *, is_open: bool, is_others: bool) -> bool:  # noqa: ARG002 - for subclasses
        """Return whether to call MQBACK after ``why``. ``is_open``, ``is_others``: this or another owner has the unit."""
        return is_open

    def who_removes_records(self) -> str:
        """Return the part of an error text that says who may have removed an owner's record."""
        return "Another program has removed it"


class Shared(Own):
    """The rules for a unit of work in which the application may put and get, and which it may even commit or back out."""

    gets_record_first = True
    can_be_redone = False

    def may_end_early(self, messages: int) -> bool:  # noqa: ARG002 - as Own
        """Return False, because the unit of work may already have the application's own messages that belong to its next call."""
        return False

    def may_be_split(self, messages: int) -> bool:
        """Return True only for 0 messages, because splitting would also back out the application's own puts and gets."""
        return messages == 0

    def has_to_back_out(self, why: object, *, is_open: bool, is_others: bool) -> bool:
        """Return true if this owner has the unit, or no owner has it after an error, because the application may have used it."""
        return is_open or (why is not None and not is_others)

    def who_removes_records(self) -> str:
        """Return who may have removed an owner's record, as part of an error text."""
        return f"{super().who_removes_records()}, or the application has committed a unit of work of this connection itself"


OWN, SHARED = Own(), Shared()

"""Rules for a unit of work that only this package uses, or that the application uses, too (``mqgroups.wrap``).

The application may put and get on its own connection, and may commit or back out there at any moment. So on such a connection

* a unit of work gets the status record before its first message, and looks for the new record after its commit. If other code
  backs out before the new record is put, the old record is on the queue again; if later, the new record is missing. If other code
  commits, the old record is gone. Then, if the unit of work does not continue, the next start finds the record's anchor alone;
* except after an error, this package commits, backs out and redoes nothing on its own, because the application's own messages in
  the unit of work would be committed or lost;
* records are not segments, because each record has to be got in any case.
"""

from __future__ import annotations


class Own:
    """Only this package uses the unit of work.

    Attributes:
        gets_record_first: whether the status record is got before a unit's first message, and looked for after the commit.
        can_be_redone: whether a unit of work can be put and got again without the application.
    """

    gets_record_first = False
    can_be_redone = True

    def may_end_early(self, messages: int) -> bool:
        """Whether a unit of work with this number of messages may be committed before the application's next call."""
        return messages > 0

    def may_be_split(self, messages: int) -> bool:
        """Whether a unit of work of this number of processed messages can be got again without its last message."""
        return messages >= 0

    def has_to_back_out(self, why: object, *, is_open: bool, is_others: bool) -> bool:  # noqa: ARG002 - for subclasses
        """Whether to call MQBACK after ``why``. ``is_open``, ``is_others``: this owner, or another one, has the unit of work."""
        return is_open

    def who_removes_records(self) -> str:
        """Return who may have removed an owner's record, as part of an error text."""
        return "Another program has removed it"


class Shared(Own):
    """The application may put and get, and may even commit and back out, in the same unit of work."""

    gets_record_first = True
    can_be_redone = False

    def may_end_early(self, messages: int) -> bool:  # noqa: ARG002 - as Own
        """Return False, because the application's own messages for the next call may be in the unit of work already."""
        return False

    def may_be_split(self, messages: int) -> bool:
        """Return whether no message is processed. Otherwise the application's own puts and gets would be backed out, too."""
        return messages == 0

    def has_to_back_out(self, why: object, *, is_open: bool, is_others: bool) -> bool:
        """As ``Own``, but also after an error if no owner has the unit of work, which may have the application's messages."""
        return is_open or (why is not None and not is_others)

    def who_removes_records(self) -> str:
        """Return who may have removed an owner's record, as part of an error text."""
        return f"{super().who_removes_records()}, or the application has committed a unit of work of this connection itself"


OWN, SHARED = Own(), Shared()

"""A message handle: the properties and the descriptor of one message, in or out of a queue.

MQCRTMH makes it, MQSETMP fills it or an MQGET does, MQPUT takes from it. It belongs to one connection. Not here: the verbs
(``message_properties.py``), the properties themselves (``properties.py``).
"""

from __future__ import annotations

from mqgroups.embedded.properties import PropertySet


class MessageHandle:
    """One message handle.

    ``validates`` says whether MQSETMP checks names (MQCMHO_NO_VALIDATION leaves it to MQPUT). ``md`` is the descriptor of
    the message that was got with it, version 2; None before.
    """

    __slots__ = ("hmsg", "md", "properties", "validates")

    def __init__(self, hmsg: int, *, validates: bool = True) -> None:
        self.hmsg = hmsg
        self.validates = validates
        self.properties = PropertySet()
        self.md: bytes | None = None

    def clear(self) -> None:
        """Forget everything, as MQGET does before it looks for a message."""
        self.properties = PropertySet()
        self.md = None

    def fill(self, md: bytes, properties: PropertySet) -> None:
        """Take the descriptor and the properties of a message that was got."""
        self.properties = properties
        self.md = md

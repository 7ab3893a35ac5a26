"""The answer and the exceptions of a verb, and the interface through which a waiting call sleeps."""

from __future__ import annotations

from typing import Protocol

from mqembedded import constants as mq

# Completion code, reason code, and the fields of the reply in the order of the verb table.
Answer = tuple[int, int, list[object]]


class Failed(Exception):
    """The verb fails with MQCC_FAILED and this reason code."""

    def __init__(self, reason: int) -> None:
        super().__init__(mq.reason_name(reason))
        self.reason = reason


class ConnectionGone(Exception):
    """The application disconnected while its call was waiting."""


class Interrupted(ConnectionGone):
    """The application sent a request while its call was waiting. Only the verb CALLBACK expects this."""


class Waiter(Protocol):
    """The interface through which a waiting MQGET sleeps. The server implements it, because the server also watches sockets."""

    def wait(self, timeout_s: float | None) -> None:
        """Wait for ``wake`` or the timeout. Raises ConnectionGone if the application ends, Interrupted if it sends a request."""

    def wake(self) -> None:
        """End the current or the next ``wait``. Any thread can call this method."""

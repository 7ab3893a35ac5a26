"""The answer of a verb, the exception of a failed verb, and the interface through which a waiting call sleeps."""

from __future__ import annotations

from typing import Protocol

from mqembedded import constants as mq

# Completion code, reason code, and the fields of the reply in the order of the verb table.
Answer = tuple[int, int, list[object]]


class Failed(Exception):
    """Ends a verb with MQCC_FAILED and this reason code."""

    def __init__(self, reason: int) -> None:
        super().__init__(mq.reason_name(reason))
        self.reason = reason


class ConnectionGone(Exception):
    """The application disconnected while its call was waiting."""


class Interrupted(ConnectionGone):
    """The application sent something while its call was waiting. Only a CALLBACK expects that."""


class Waiter(Protocol):
    """How a waiting MQGET sleeps. The server provides it, because the server also watches the socket."""

    def wait(self, timeout_s: float | None) -> None:
        """Return when woken, or when the time is over. Raises ConnectionGone if the application is gone, or Interrupted."""

    def wake(self) -> None:
        """End the current or the next ``wait``. May be called from any thread."""

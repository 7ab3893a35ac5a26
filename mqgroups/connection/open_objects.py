"""Calls MQOPEN and MQCLOSE, knows which objects are open on a connection, and turns the codes of MQOPEN into errors."""

from __future__ import annotations

from typing import TypeAlias

from mqgroups.connection.handle import CallsOn
from mqgroups.connection.interruptions import call_and_keep
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st

# The result of MQOPEN: handle, MQOD, completion code, reason code.
Opened: TypeAlias = tuple[int, bytes, int, int]


class OpenObjects:
    """The objects that are open on a connection. They include objects that an interrupted call has opened."""

    def __init__(self, connection: CallsOn) -> None:
        self._connection = connection
        self._opened: list[Opened] = []
        # Handles whose MQCLOSE was refused, or that are to be opened again. While an exclusive handle is not closed, the next
        # owner cannot open the queue.
        self._unclosed: set[int] = set()

    def open(self, od: bytes, options: int, object_name: str) -> Opened:
        """Close the handles that are still to be closed, then open an object with MQOPEN. Raises MQIError."""
        for hobj in tuple(self._unclosed):
            self.close(hobj)
        connection = self._connection
        opened = call_and_keep(self._opened, connection.binding.MQOPEN, connection.hconn, od, options)
        comp, reason = opened[2:]
        if comp == mq.MQCC_FAILED:
            self._opened.pop()
            raise connection.failed("MQOPEN", object_name, comp, reason)
        return opened

    def has(self, opened: Opened) -> bool:
        """Return whether the object of this MQOPEN is still open. A later object may have the same handle number."""
        return any(each is opened for each in self._opened)

    def close(self, hobj: int, options: int = mq.MQCO_NONE) -> tuple[int, int]:
        """Close a handle with MQCLOSE; returns completion and reason code."""
        comp, reason = self._connection.binding.MQCLOSE(self._connection.hconn, hobj, options)
        if comp == mq.MQCC_FAILED and reason != mq.MQRC_HOBJ_ERROR:
            self._unclosed.add(hobj)
        else:
            self._unclosed.discard(hobj)
            self._opened = [answer for answer in self._opened if answer[0] != hobj]
        return comp, reason

    def close_queue(self, name: str) -> None:
        """Close all handles of a queue with MQCLOSE."""
        for hobj, od, _, _ in tuple(self._opened):
            if name in (st.name_at(od, st.OD_OBJECT_NAME), st.name_at(od, st.OD_RESOLVED_Q_NAME)):
                self.close(hobj)

    def close_all(self) -> None:
        """Close every handle with MQCLOSE, and ignore its reason codes."""
        for answer in tuple(self._opened):
            self._connection.binding.MQCLOSE(self._connection.hconn, answer[0], mq.MQCO_NONE)

    def close_before_next_open(self) -> None:
        """Make the next ``open`` close every handle first."""
        self._unclosed.update(answer[0] for answer in self._opened)

    def forget(self) -> None:
        """Forget all handles, because nothing is open any longer."""
        self._opened.clear()
        self._unclosed.clear()

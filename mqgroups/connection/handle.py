"""A connection handle that this package made. When the object is garbage-collected, the connection is backed out and ended.

So an interruption cannot leave a connection behind (``interruptions.py``). One ``Handle`` makes all tries to (re)connect.
If each try had its own object, Python would collect objects between two tries, and ignore an interruption during that time.

MQDISC commits, so it is called only after an MQBACK that succeeded.
"""

from __future__ import annotations

import os
import sys
from typing import Protocol

from mqgroups.errors import ConfigurationError, MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import Binding, ConnectArguments, ConnectedQueueManager
from mqgroups.mqi.reasons import NOT_OURS
from mqgroups.telemetry.forgotten import tell_forgotten

# If MQBACK fails with one of these reason codes, this process and thread have no unit of work left to commit.
NO_CONNECTION = NOT_OURS | {mq.MQRC_CONNECTION_BROKEN}


class CallsOn(Protocol):
    """The part of ``Connection`` that is needed to call verbs on its handle."""

    binding: Binding
    generation: int

    @property
    def hconn(self) -> int: ...
    @property
    def q_mgr_name(self) -> str: ...
    def failed(self, verb: str, object_name: str, comp: int, reason: int, /) -> MQIError: ...


class Handle:
    """A connection handle.

    Attributes:
        hconn: the handle itself; ``MQHC_UNUSABLE_HCONN`` before MQCONNX and after ``release``.
    """

    def __init__(self, binding: Binding) -> None:
        self.hconn = mq.MQHC_UNUSABLE_HCONN
        self._binding = binding
        self._pid = os.getpid()
        # The binding's objects that hold the handle; an interruption may come before ``hconn`` is set.
        self._made: list[ConnectedQueueManager] = []

    def connect(self, arguments: ConnectArguments) -> tuple[int, int]:
        """End the former connection, then connect with MQCONNX. Returns completion and reason code."""
        self.release()
        self.hconn, comp, reason = self._binding.connect(arguments, self._made)
        return comp, reason

    def release(self) -> tuple[str, int, int]:
        """Call MQBACK, then MQDISC. If MQBACK fails on a live connection, skip MQDISC. Returns the last verb and its codes."""
        hconn = self._hconn()
        if hconn == mq.MQHC_UNUSABLE_HCONN:
            return "MQDISC", mq.MQCC_OK, mq.MQRC_NONE
        verb, (comp, reason) = "MQBACK", self._binding.MQBACK(hconn)
        if comp != mq.MQCC_FAILED or reason in NO_CONNECTION:
            verb, (comp, reason) = "MQDISC", self._binding.MQDISC(hconn)
        self._made.clear()
        self.hconn = mq.MQHC_UNUSABLE_HCONN
        return verb, comp, reason

    def _hconn(self) -> int:
        if self.hconn == mq.MQHC_UNUSABLE_HCONN and self._made:
            try:
                return self._binding.handle_of(self._made[0])
            except ConfigurationError:
                pass  # it is not connected
        return self.hconn

    def __del__(self) -> None:
        try:
            self._release_what_is_left()
        except BaseException:
            # The first call was interrupted, and no later call would finish its work.
            self._release_what_is_left()
            raise

    def _release_what_is_left(self) -> None:
        # A handle is not valid in a forked process, and while the interpreter ends the functions may already be gone.
        if not getattr(self, "_made", None) or os.getpid() != self._pid or sys.is_finalizing():
            return
        if self._hconn() != mq.MQHC_UNUSABLE_HCONN:
            self.release()
            tell_forgotten(
                "a connection to a queue manager was not closed: use it in a with statement, or call close()",
                self,
                self._pid,
                stacklevel=3,
            )

"""A connection handle of this package's own: backed out and disconnected when nobody has it any more.

A program can be interrupted between MQCONNX and the line that keeps its answer, or in the middle of closing. What it made then
is garbage, and would stay connected, with what is open on it, to the end of the process. MQDISC commits (IBM MQ, topic
q106120): so it comes behind an MQBACK that succeeded, or not at all.
"""

from __future__ import annotations

import os
import sys
import warnings

from mqgroups.errors import ConfigurationError
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import Binding, ConnectArguments, ConnectedQueueManager

# MQBACK's way of saying that there is no unit of work any more, at least none that this process and thread could commit.
NO_CONNECTION = frozenset({mq.MQRC_CONNECTION_BROKEN, mq.MQRC_HCONN_ERROR})


class Handle:
    """A connection handle.

    Attributes:
        hconn: the handle itself; ``MQHC_UNUSABLE_HCONN`` before MQCONNX and when it was let go.
    """

    def __init__(self, binding: Binding) -> None:
        self.hconn = mq.MQHC_UNUSABLE_HCONN
        self._binding = binding
        self._pid = os.getpid()
        # The binding's objects through which the handle was made; an interruption may come before ``hconn`` is there.
        self._made: list[ConnectedQueueManager] = []

    def connect(self, arguments: ConnectArguments) -> tuple[int, int]:
        """MQCONNX; returns completion and reason code."""
        self.hconn, comp, reason = self._binding.connect(arguments, self._made)
        return comp, reason

    def let_go(self) -> tuple[str, int, int]:
        """MQBACK and MQDISC, which is left out where MQBACK fails on a connection that lives; returns the last verb and codes."""
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
            self._let_go_of_what_is_left()
        except BaseException:
            # Interrupted too, and nobody comes after this.
            self._let_go_of_what_is_left()
            raise

    def _let_go_of_what_is_left(self) -> None:
        # A handle means nothing in a process that was forked, and at the end of the interpreter there may be nothing to call.
        if not getattr(self, "_made", None) or os.getpid() != self._pid or sys.is_finalizing():
            return
        if self._hconn() != mq.MQHC_UNUSABLE_HCONN:
            self.let_go()
            warnings.warn(
                "a connection to a queue manager was not closed: use it in a with statement, or close() it",
                ResourceWarning,
                stacklevel=3,
                source=self,
            )

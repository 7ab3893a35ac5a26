"""Watching the library at work in this process: which calls it makes, and what it concludes about commits in doubt.

Each conclusion is compared, at the moment it is drawn, with what the independent reader sees: the status queue says by its
record, and the data queue by its messages, whether the unit of work took effect.
"""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pymqi

import mqgroups.queue_manager
from mqgroups.core.restart import CommitOutcome
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import Binding, ConnectedQueueManager
from mqgroups.mqi.binding import binding_of, load_binding
from mqgroups.mqi.reasons import COMMIT_OUTCOME_UNKNOWN
from mqgroups.status.units_of_work import UnitsOfWork
from tests.faults.application import Program
from tests.faults.reader import Reader, says_nothing

_VERBS = ("MQOPEN", "MQCLOSE", "MQPUT", "MQGET", "MQCMIT", "MQBACK", "MQDISC", "MQSTAT")
_settle = UnitsOfWork.settle
_installed: Watch


@dataclass
class Watched:
    """What was seen since the watch began.

    Attributes:
        calls: (verb, reason) of each call.
        in_doubt: commits whose answer left open what became of them.
        verdicts: conclusions about them.
        wrong: those that are not what the reader sees.
    """

    calls: list[tuple[str, int]] = field(default_factory=list)
    in_doubt: int = 0
    verdicts: int = 0
    wrong: list[str] = field(default_factory=list)


class Watch:
    """Stands between the library and its binding, and behind ``UnitsOfWork.settle``."""

    def __init__(self) -> None:
        self.seen = Watched()
        # As ``Machine.hides``.
        self.hides = False
        # What to do before and after the call of a number, once.
        self.hooks: dict[tuple[str, int], Callable[[], None]] = {}
        self._program: Program | None = None
        self._reader: Reader | None = None
        self._binding = load_binding()
        self.name = self._binding.name
        for verb in _VERBS:
            setattr(self, verb, self._counted(verb, getattr(self._binding, verb)))
        self.connect = self._counted("MQCONNX", self._binding.connect)
        self.inquire = self._counted("MQINQ", self._binding.inquire)

    def __getattr__(self, name: str) -> Any:
        """Return what of the binding is not counted."""
        return getattr(self._binding, name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process gets one: it has its own."""
        return _of_process, ()

    def install(self) -> None:
        """Have the library of this process use it, and of those forked from it."""
        global _installed
        _installed = self

        def settle(work: UnitsOfWork) -> CommitOutcome:
            known = [owner.own for owner in work.owners]
            verdict = _settle(work)
            for before in known:
                mine = self._program is not None and before.kept.queue == self._program.status_queue
                if before.pending is not None and self._reader is not None and mine:
                    self._compare(verdict, before.pending.record, before.record)
            return verdict

        def the_binding_of(q_mgr: ConnectedQueueManager) -> Binding:
            return binding

        binding: Binding = self
        mqgroups.queue_manager.load_binding = lambda: binding  # type: ignore[attr-defined]  # the campaign's own
        mqgroups.queue_manager.binding_of = the_binding_of  # type: ignore[attr-defined]  # the campaign's own
        UnitsOfWork.settle = settle  # type: ignore[assignment, method-assign]  # to see each verdict

    def stand_aside(self) -> None:
        """Have the library of this process use its binding with nothing between, from now on.

        Between an answer of the C function and who called it, a signal would come that cannot come there without this.
        """
        mqgroups.queue_manager.load_binding = load_binding  # type: ignore[attr-defined]  # as it was
        mqgroups.queue_manager.binding_of = binding_of  # type: ignore[attr-defined]  # as it was
        UnitsOfWork.settle = _settle  # type: ignore[method-assign]  # as it was

    def begin(self, program: Program | None, reader: Reader | None) -> Watched:
        """Begin anew; without a reader verdicts are not looked at."""
        self._program, self._reader = program, reader
        self.seen = Watched()
        self.hooks = {}
        return self.seen

    def stop_before(self, nth: int) -> None:
        """Have this process stopped before its n-th call."""
        # To the thread that makes the call: another one would take a signal to the process a little later.
        self.hooks["before", nth] = lambda: signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    # --- the binding without the library

    @property
    def raw_errors(self) -> tuple[type[Exception], ...]:
        """The exceptions that the binding's own objects raise."""
        return self._package.MQMIError, self._package.PYIFError

    def connect_raw(self, qmgr: Any, credentials: Mapping[str, Any]) -> Any:
        """Return a connected object of the binding's own class."""
        package = self._package
        raw = package.QueueManager(None, disconnect_on_exit=False)
        raw.connect_tcp_client(qmgr.q_mgr_name, package.CD(), qmgr.channel, qmgr.conn_name, **credentials)
        return raw

    def call_c(self, verb: str, hconn: int) -> tuple[int, int]:
        """Call a function of the binding's C module that takes a connection handle alone."""
        answer: tuple[int, int] = getattr(self._binding, verb)(hconn)
        return answer

    @property
    def _package(self) -> Any:
        return importlib.import_module(self.name)

    def _counted(self, verb: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            nth = len(self.seen.calls) + 1
            self._do("before", nth)
            answer = call(*arguments)
            self.seen.calls.append((verb, answer[-1]))
            self._do("after", nth)
            if verb == "MQCMIT" and answer[0] == mq.MQCC_FAILED and answer[1] in COMMIT_OUTCOME_UNKNOWN:
                self.seen.in_doubt += 1
            return answer

        return counted

    def _do(self, when: str, nth: int) -> None:
        hook = self.hooks.pop((when, nth), None) if self.hooks else None
        if hook is not None:
            hook()

    def _compare(self, verdict: CommitOutcome, after: Any, before: Any) -> None:
        """Compare a verdict with what is there; ``after`` and ``before`` are the records it had to tell apart."""
        assert self._program is not None
        assert self._reader is not None
        try:
            wrong = self._wrong(verdict, after, before)
        except pymqi.MQMIError as error:
            if error.reason != mq.MQRC_OBJECT_IN_USE:
                raise
            # Under one reading nobody browses what its owner has open; what is there at the end is looked at all the same.
            return
        self.seen.verdicts += 1
        if wrong:
            # The queue manager may not have backed out yet what the lost connection had.
            for queue in (self._program.queue, self._program.status_queue):
                self._reader.wait_until_settled(queue)
            wrong = self._wrong(verdict, after, before)
        self.seen.wrong += wrong

    def _wrong(self, verdict: CommitOutcome, after: Any, before: Any) -> list[str]:
        """Say what of a verdict is not so."""
        assert self._program is not None
        assert self._reader is not None
        wrong = []
        found = self._reader.record(self._program.status_queue)
        closed = verdict is CommitOutcome.COMMITTED and after is None
        if self.hides and closed and says_nothing(self._reader.browse(self._program.status_queue)):
            # Who closes takes a record that is not there for one that is gone. It comes back later, and nobody misses it.
            found = None
        expected = after if verdict is CommitOutcome.COMMITTED else before
        mark = found and (found["owner_id"], found["epoch"], found["unit_of_work"], found["state"])
        if mark != (expected and (expected.owner_id, expected.epoch, expected.unit_of_work, expected.state.value)):
            wrong.append(f"verdict {verdict.value}, expected record {expected}, on the status queue {found}")
        known = after if after is not None and after.msg_seq_number + after.offset else None
        if known is not None:
            there = self._program.progress(self._reader, known.group_id)
            # Before its first commit a group's record is of the group before, or of none.
            same = expected is not None and expected.group_id == known.group_id
            should = (expected.msg_seq_number, expected.offset) if same else (0, 0)
            if there != should:
                wrong.append(f"verdict {verdict.value}, expected {should} of the group, on the queue {there}")
        return wrong


def _of_process() -> Watch:
    return _installed

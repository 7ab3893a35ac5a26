"""Forks the processes of a worker that has made MQI calls, from a process that never makes one.

IBM MQ refuses each call of a process that was forked after its parent's first MQI call (topic q025875). So a worker starts a
``Forker`` before its first call. What a process is to run is pickled to it. The processes are adopted by the worker, so that it
waits for them as for its own children.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import socket
import struct
import traceback
from collections.abc import Callable
from typing import NoReturn

_PR_SET_CHILD_SUBREAPER = 36
_LENGTH = struct.Struct("=q")
_ADOPTED = b"."


class Forker:
    """A process that forks others for this one."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._socket, other = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            self._socket.close()
            _serve(other)
        other.close()

    def fork(self, run: Callable[[], int]) -> int:
        """Have a process call ``run`` and end with the exit code that this returns; returns its number."""
        data = pickle.dumps(run)
        self._socket.sendall(_LENGTH.pack(len(data)) + data)
        (pid,) = _LENGTH.unpack(_read(self._socket, _LENGTH.size))
        _read(self._socket, len(_ADOPTED))
        return int(pid)

    def stop(self) -> None:
        """End it."""
        self._socket.close()
        # Its worker, which waits for all that it has adopted, may have seen it end.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _serve(orders: socket.socket) -> NoReturn:
    # Programs begin with SIGINT blocked: a start that wants one unblocks it.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    while header := orders.recv(_LENGTH.size, socket.MSG_WAITALL):
        (length,) = _LENGTH.unpack(header)
        data = _read(orders, length)
        between = os.fork()
        if not between:
            pid = os.fork()
            if not pid:
                orders.close()
                _run(data)
            orders.sendall(_LENGTH.pack(pid))
            os._exit(0)
        # From its end on, the worker is the parent.
        os.waitpid(between, 0)
        orders.sendall(_ADOPTED)
    os._exit(0)


def _run(data: bytes) -> NoReturn:
    code = 1
    try:
        code = pickle.loads(data)()
    except BaseException:
        traceback.print_exc()
    finally:
        while True:
            try:
                os._exit(code)
            except BaseException:
                # A signal that came before the end.
                continue


def _read(source: socket.socket, length: int) -> bytes:
    data = source.recv(length, socket.MSG_WAITALL) if length else b""
    if len(data) < length:
        raise EOFError("the other end is gone")
    return data

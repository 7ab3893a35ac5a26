"""A program inside the process of an embedded queue manager: it calls the verbs as functions, without a wire.

So processor time is that of the queue manager alone, and thousands of connections need no threads. Not here: what is measured
(``growing.py``).
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.callbacks import consuming
from mqembedded.calls import getting, message_properties
from mqembedded.calls.get_call import Get
from mqembedded.connection import Connection
from mqembedded.messages.waiting import WaitingCall
from mqembedded.objects.attributes import LOCAL
from mqembedded.pubsub import opening, publishing, subscribing
from mqembedded.queue_manager import QueueManager
from mqembedded.serve.start_up import started
from mqembedded.wire.structures import GetMessageOptions, SearchDescriptor
from mqgroups.mqi import structures

INPUT_AND_OUTPUT = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE
_LIMIT = 999_999_999
_LENGTH = 100
_LONGEST_MSG = 104_857_600


class _Awake:
    """The waiter of an application that never sleeps."""

    def wait(self, timeout_s: float | None) -> None:
        raise AssertionError(f"nothing waits here, {timeout_s} s")

    def wake(self) -> None:
        pass


class Program:
    """One connection with what it has open. Raises Failed where a verb fails."""

    def __init__(self, q_mgr: QueueManager, connection: Connection | None = None) -> None:
        self.q_mgr = q_mgr
        self.connection = connection or self.connect()

    def connect(self) -> Connection:
        """MQCONNX."""
        return self.q_mgr.connect(
            _Awake(),
            q_mgr_name=self.q_mgr.name,
            channel_name="DEV.APP.SVRCONN",
            user="",
            password="",
            appl_name="bench",
            max_msg_length=0,
        )

    def define(self, name: str) -> str:
        """DEFINE QLOCAL without limits; returns the name."""
        with self.q_mgr.lock:
            self.q_mgr.catalogue.define(LOCAL, name, {mq.MQIA_MAX_Q_DEPTH: _LIMIT})
        return name

    def open(self, name: str, options: int = INPUT_AND_OUTPUT, connection: Connection | None = None) -> int:
        """MQOPEN of a queue; returns the handle."""
        return self._opened(structures.od(name), b"", options, connection)

    def open_topic(self, topic_string: str) -> int:
        """MQOPEN of a topic, to publish."""
        raw = topic_string.encode()
        # Version 4, whose ObjectString begins at 344; the pointer says that there is one.
        od = bytearray(structures.od("", object_type=mq.MQOT_TOPIC).ljust(424, b"\0"))
        struct.pack_into("<i", od, 4, 4)
        struct.pack_into("<qiiii", od, 344, 1, 0, 0, len(raw), 1208)
        return self._opened(bytes(od), raw, mq.MQOO_OUTPUT, None)

    def _opened(self, od: bytes, object_string: bytes, options: int, connection: Connection | None) -> int:
        answer = opening.open_object(self.q_mgr, connection or self.connection, od, options, object_string)
        hobj = answer[2][0]
        assert isinstance(hobj, int)
        return hobj

    def close(self, hobj: int, options: int = 0) -> None:
        """MQCLOSE."""
        consuming.close_object(self.q_mgr, self.connection, hobj, options)

    def put(self, hobj: int, *, options: int = mq.MQPMO_NO_SYNCPOINT, handle: int = 0, **fields: Any) -> bytes:
        """MQPUT of 100 bytes that are not persistent; returns the MQMD."""
        md = structures.md(persistence=mq.MQPER_NOT_PERSISTENT, **fields)
        pmo = structures.pmo(options | mq.MQPMO_SYNC_RESPONSE, handle)
        answer = publishing.put(self.q_mgr, self.connection, hobj, bytes(md), bytes(pmo), bytes(_LENGTH))
        returned = answer[2][0]
        assert isinstance(returned, bytes)
        return returned

    def get(
        self,
        hobj: int,
        options: int = mq.MQGMO_NO_SYNCPOINT,
        *,
        match: int = mq.MQMO_NONE,
        handle: int = 0,
        **fields: Any,
    ) -> int:
        """MQGET; returns the length of the data, or -1 if there is no message."""
        md, gmo = structures.md(**fields), structures.gmo(options, match_options=match, msg_handle=handle)
        try:
            answer = getting.get(
                self.q_mgr, self.connection, hobj, bytes(md), bytes(gmo), self.connection.max_msg_length
            )
        except Failed as failed:
            if failed.reason != mq.MQRC_NO_MSG_AVAILABLE:
                raise
            return -1
        length = answer[2][2]
        assert isinstance(length, int)
        return length

    def wait(self, hobj: int, options: int = 0, *, match: int = mq.MQMO_NONE, **fields: Any) -> WaitingCall[Any]:
        """Let an MQGET wait for a message; there is none yet."""
        gmo = GetMessageOptions.read(bytes(structures.gmo(options | mq.MQGMO_WAIT, match_options=match)))
        md = SearchDescriptor(bytes(structures.md(**fields)))
        call = Get(self.q_mgr, self.connection, hobj, md, gmo, _LENGTH)
        waiting: WaitingCall[Any] = WaitingCall(call.turn(), call.attempt, lambda: None)
        with self.q_mgr.lock:
            assert call.attempt() is None
            call.begin_wait(waiting)
        return waiting

    def commit(self) -> None:
        """MQCMIT."""
        self.q_mgr.commit(self.connection)

    def back_out(self) -> None:
        """MQBACK."""
        self.q_mgr.back_out(self.connection)

    def subscribe(self, topic_string: str, hobj: int, options: int = mq.MQSO_WILDCARD_TOPIC) -> int:
        """MQSUB, not durable, with a queue of its own; returns the handle of the subscription."""
        raw = topic_string.encode()
        sd = bytearray(struct.pack("<4si", b"SD  ", 1).ljust(344, b"\0"))
        struct.pack_into("<i", sd, 8, mq.MQSO_CREATE | options)
        struct.pack_into("<i", sd, 112, mq.MQEI_UNLIMITED)
        struct.pack_into("<qiiii", sd, 120, 1, 0, 0, len(raw), 1208)
        struct.pack_into("<i", sd, 216, mq.MQPRI_PRIORITY_AS_PUBLISHED)
        struct.pack_into("<i", sd, 284, 1)
        answer = subscribing.subscribe(self.q_mgr, self.connection, bytes(sd), hobj, raw, b"", b"")
        hsub = answer[2][1]
        assert isinstance(hsub, int)
        return hsub

    def message_handle(self) -> int:
        """MQCRTMH."""
        answer = message_properties.create_handle(
            self.q_mgr, self.connection, struct.pack("<4sii", b"CMHO", 1, mq.MQCMHO_DEFAULT_VALIDATION)
        )
        hmsg = answer[2][0]
        assert isinstance(hmsg, int)
        return hmsg

    def set_property(self, hmsg: int, name: str) -> None:
        """MQSETMP of a number."""
        smpo = struct.pack("<4siiii", b"SMPO", 1, mq.MQSMPO_SET_FIRST, mq.MQENC_NATIVE, 1208)
        message_properties.set_property(
            self.q_mgr, self.connection, hmsg, smpo, name.encode(), 1208, _PD, mq.MQTYPE_INT32, 4, bytes(4)
        )

    def inquire_property(self, hmsg: int, name: str, options: int = mq.MQIMPO_INQ_FIRST) -> None:
        """MQINQMP."""
        impo = struct.pack("<4siiii", b"IMPO", 1, options, mq.MQENC_NATIVE, 1208).ljust(64, b"\0")
        message_properties.inquire_property(
            self.q_mgr, self.connection, hmsg, impo, name.encode(), 1208, _PD, mq.MQTYPE_AS_SET, _LENGTH, -1
        )

    def delete_property(self, hmsg: int, name: str) -> None:
        """MQDLTMP."""
        dmpo = struct.pack("<4sii", b"DMPO", 1, mq.MQDMPO_DEL_FIRST)
        message_properties.delete_property(self.q_mgr, self.connection, hmsg, dmpo, name.encode(), 1208)


_PD = struct.pack("<4s5i", b"PD  ", 1, mq.MQPD_NONE, mq.MQPD_SUPPORT_OPTIONAL, mq.MQPD_NO_CONTEXT, mq.MQCOPY_DEFAULT)


@contextmanager
def program() -> Iterator[Program]:
    """A program on a queue manager of its own, which has no limits that would be in the way."""
    with tempfile.TemporaryDirectory() as directory:
        q_mgr = started("GROWTH", Path(directory))
        values = {
            mq.MQIA_MAX_HANDLES: _LIMIT,
            mq.MQIA_MAX_UNCOMMITTED_MSGS: _LIMIT,
            mq.MQIA_MAX_MSG_LENGTH: _LONGEST_MSG,
        }
        with q_mgr.lock:
            q_mgr.catalogue.alter_q_mgr(values)
        try:
            yield Program(q_mgr)
        finally:
            q_mgr.close()

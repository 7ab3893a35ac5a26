"""The independent reader: raw pymqi, and none of the library under test.

It makes queues, fills and deletes them, browses what is committed, and says whether that is one whole group. It connects under
an application name of its own, so that a fault armed for ``PROGRAM`` neither hits it nor counts its calls.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pymqi
from pymqi import CMQC, CMQCFC, CMQXC

from mqembedded import EmbeddedQueueManager
from tests.faults.stranger.queue_manager import Address

IN_GROUP, LAST_IN_GROUP = CMQC.MQMF_MSG_IN_GROUP, CMQC.MQMF_LAST_MSG_IN_GROUP
PROGRAM = "faults.program"
_READER = "faults.reader"
_NOTHING_THERE = (CMQC.MQRC_NO_MSG_AVAILABLE, CMQC.MQRC_UNKNOWN_OBJECT_NAME, CMQCFC.MQRCCF_Q_STATUS_NOT_FOUND)
_SETTLED_AFTER_S, _NAP_S = 5, 0.001
_IN_USE = (CMQC.MQIA_OPEN_INPUT_COUNT, CMQC.MQIA_OPEN_OUTPUT_COUNT, CMQCFC.MQIACF_UNCOMMITTED_MSGS)
# The C library tells the queue manager this name, as IBM's tells the program's.
_appl_name = ctypes.c_char_p.in_dll(ctypes.CDLL(None), "program_invocation_short_name")


def call_yourself(appl_name: str) -> None:
    """Set the application name of connections made from now on."""
    _appl_name.value = appl_name.encode()
    # The library names the script, where the binding has a field for it.
    sys.argv[0] = appl_name


def begin_program() -> None:
    """Begin a process under test: it has the name PROGRAM, and prints no warnings, because each fault is one."""
    call_yourself(PROGRAM)
    logging.getLogger("mqgroups").addHandler(logging.NullHandler())


@contextlib.contextmanager
def _called(appl_name: str) -> Iterator[None]:
    before, script = _appl_name.value, sys.argv[0]
    call_yourself(appl_name)
    yield
    _appl_name.value, sys.argv[0] = before, script


@dataclass(frozen=True, slots=True)
class Seen:
    """A physical message as it lies on a queue; ``at`` is the queue manager of an instance of a cluster queue."""

    group_id: bytes
    msg_seq_number: int
    offset: int
    msg_flags: int
    persistence: int
    data: bytes
    at: str = ""
    msg_id: bytes = b""
    correl_id: bytes = b""

    @property
    def is_last(self) -> bool:
        """Whether its flags say that it belongs to the last message of its group."""
        return bool(self.msg_flags & CMQC.MQMF_LAST_MSG_IN_GROUP)

    @property
    def goes_on(self) -> bool:
        """Whether it is a segment that is not its message's last."""
        return bool(self.msg_flags & CMQC.MQMF_SEGMENT) and not self.msg_flags & CMQC.MQMF_LAST_SEGMENT


class Reader:
    """A connection of its own to one queue manager; made again when the queue manager was away."""

    def __init__(self, qmgr: EmbeddedQueueManager | Address) -> None:
        self._qmgr = qmgr
        self._connection: Any = None
        self._executor: pymqi.PCFExecute | None = None
        self._handle: Any = None
        # The process that it is a connection to.
        self._pid = 0

    def _connected(self) -> Any:
        qmgr = self._qmgr
        if self._pid != qmgr.pid:
            self.close()
        if self._connection is None:
            self._pid = qmgr.pid
            connection = pymqi.QueueManager(None, disconnect_on_exit=False)
            with _called(_READER):
                cd = pymqi.CD(
                    ChannelName=qmgr.channel.encode(),
                    ConnectionName=qmgr.conn_name.encode(),
                    ChannelType=CMQC.MQCHT_CLNTCONN,
                    TransportType=CMQC.MQXPT_TCP,
                )
                # What a program for asyncio concludes about a commit is compared in its connection's thread.
                credentials = qmgr.credentials if isinstance(qmgr, Address) else {}
                connection.connect_with_options(
                    qmgr.q_mgr_name, cd=cd, opts=CMQC.MQCNO_HANDLE_SHARE_BLOCK, **credentials
                )
            self._connection = connection
            # For the properties of messages that are got, and of those that are put, which all have the same ones.
            self._handle = pymqi.MessageHandle(connection)
        return self._connection

    def close(self) -> None:
        """Disconnect; the next look connects again."""
        executor, self._executor = self._executor, None
        if executor is not None:
            with contextlib.suppress(pymqi.MQMIError):
                executor.disconnect()
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(pymqi.MQMIError):
                connection.disconnect()

    def mqsc(self, command: str) -> None:
        """Carry out an MQSC command; raises MQMIError if it is refused."""
        escape = {CMQCFC.MQIACF_ESCAPE_TYPE: CMQCFC.MQET_MQSC, CMQCFC.MQCACF_ESCAPE_TEXT: command.encode()}
        self._commands().MQCMD_ESCAPE(escape)

    def end_handles(self, name: str) -> None:
        """Change a queue and change it back: nobody's handle of it is valid then. Nothing if there is no such queue."""
        with contextlib.suppress(pymqi.MQMIError):
            for usage in ("XMITQ", "NORMAL"):
                self.mqsc(f"ALTER QLOCAL('{name}') USAGE({usage}) FORCE")

    def make_queue(self, name: str, model: str) -> None:
        """Make a queue from a model queue."""
        od = pymqi.OD(ObjectName=model.encode(), DynamicQName=name.encode())
        pymqi.Queue(self._connected(), od, CMQC.MQOO_OUTPUT).close()

    def make_remote_queue(self, name: str, at: str) -> None:
        """Make the definitions that lead to a queue at another queue manager; ``cluster.ClusterReader`` can."""
        raise NotImplementedError(f"{name} at {at}: this reader looks at one queue manager")

    def make_cluster_queue(self, name: str, at: Sequence[str]) -> None:
        """Define a cluster queue with an instance at each of these queue managers; ``cluster.ClusterReader`` can."""
        raise NotImplementedError(f"{name} at {at}: this reader looks at one queue manager")

    def delete(self, name: str) -> None:
        """Delete a queue that was made from a model queue, with what is on it; nothing if there is none."""
        try:
            pymqi.Queue(self._connected(), name, CMQC.MQOO_INQUIRE).close(CMQC.MQCO_DELETE_PURGE)
        except pymqi.MQMIError as error:
            if error.reason not in _NOTHING_THERE:
                raise

    def put_group(
        self,
        name: str,
        messages: Sequence[Sequence[bytes]],
        *,
        backwards: bool = False,
        whole: bool = True,
        without: int = 0,
        properties: Mapping[str, str] | None = None,
    ) -> bytes:
        """Put one group in one unit of work, each message as its segments; return its GroupId.

        Args:
            name: of the queue.
            messages: each as its segments.
            backwards: put the last one first, as messages may arrive that took several channels.
            whole: whether the last one of these messages is that of the group.
            without: the number of a message that is not put.
            properties: of its first message.
        """
        connection = self._connected()
        queue = pymqi.Queue(connection, name, CMQC.MQOO_OUTPUT)
        group_id = os.urandom(24)
        parts = []
        for number, segments in enumerate(messages, 1):
            offset = 0
            for count, data in enumerate(segments, 1):
                flags = CMQC.MQMF_LAST_MSG_IN_GROUP if whole and number == len(messages) else CMQC.MQMF_MSG_IN_GROUP
                if len(segments) > 1:
                    flags |= CMQC.MQMF_LAST_SEGMENT if count == len(segments) else CMQC.MQMF_SEGMENT
                if number != without:
                    parts.append((number, offset, flags, data))
                offset += len(data)
        names_places = backwards or without > 0
        order = CMQC.MQPMO_NONE if names_places else CMQC.MQPMO_LOGICAL_ORDER
        for number, offset, flags, data in reversed(parts) if backwards else parts:
            place = {"GroupId": group_id, "MsgSeqNumber": number, "Offset": offset} if names_places else {}
            md = pymqi.MD(Version=2, MsgFlags=flags, Persistence=CMQC.MQPER_PERSISTENT, **place)
            described = self._described(properties) if properties and number == 1 else {}
            queue.put(data, md, pymqi.PMO(Version=3, Options=order | CMQC.MQPMO_SYNCPOINT, **described))
            group_id = md.GroupId
        connection.commit()
        with contextlib.suppress(pymqi.MQMIError):
            # 2241 warns of a group that is not whole.
            queue.close()
        return group_id

    def put_alone(self, name: str, data: bytes, group_id: bytes, number: int, flags: int) -> bytes:
        """Put one message, in a group or not, by itself; return its MsgId."""
        queue = pymqi.Queue(self._connected(), name, CMQC.MQOO_OUTPUT)
        place = {"GroupId": group_id, "MsgSeqNumber": number, "MsgFlags": flags}
        md = pymqi.MD(Version=2, Persistence=CMQC.MQPER_PERSISTENT, **place)
        queue.put(data, md, pymqi.PMO(Version=2, Options=CMQC.MQPMO_NO_SYNCPOINT))
        queue.close()
        return bytes(md.MsgId)

    def put_abandoned_group(self, name: str) -> bytes:
        """Put the message that ends an abandoned group, which has no other one; return its GroupId."""
        connection = self._connected()
        queue = pymqi.Queue(connection, name, CMQC.MQOO_OUTPUT)
        ends = {"MsgType": CMQC.MQMT_REPORT, "Feedback": CMQC.MQFB_APPL_FIRST, "MsgFlags": CMQC.MQMF_LAST_MSG_IN_GROUP}
        md = pymqi.MD(Version=2, Persistence=CMQC.MQPER_PERSISTENT, **ends)
        queue.put(b"", md, pymqi.PMO(Version=2, Options=CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_NO_SYNCPOINT))
        queue.close()
        return bytes(md.GroupId)

    def _described(self, properties: Mapping[str, str]) -> dict[str, int]:
        """Return what gives a put these properties."""
        for name, value in properties.items():
            self._handle.properties.set(name.encode(), value)
        return {"OriginalMsgHandle": self._handle.msg_handle}

    def properties(self, name: str, asked: Sequence[str]) -> list[tuple[int, list[Any]]]:
        """Return MsgSeqNumber and the values of properties of each message on a queue; ``None`` for one that it has not."""
        queue = pymqi.Queue(self._connected(), name, CMQC.MQOO_BROWSE)
        handle = self._handle

        def value(of: str) -> Any:
            try:
                return handle.properties.get(of.encode())
            except pymqi.MQMIError as error:
                if error.reason != CMQC.MQRC_PROPERTY_NOT_AVAILABLE:
                    raise
                return None

        found = []
        for _ in self.browse(name):
            md = pymqi.MD(Version=2)
            options = CMQC.MQGMO_BROWSE_NEXT | CMQC.MQGMO_PROPERTIES_IN_HANDLE
            more = {"MatchOptions": CMQC.MQMO_NONE, "MsgHandle": handle.msg_handle}
            queue.get(100_000, md, pymqi.GMO(Version=4, Options=options, **more))
            found.append((md.MsgSeqNumber, [value(each) for each in asked]))
        queue.close()
        return found

    def take(self, name: str, number: int) -> list[Seen]:
        """Get the first messages of a queue."""
        queue = pymqi.Queue(self._connected(), name, CMQC.MQOO_INPUT_SHARED)
        first = self.browse(name)[:number]
        for seen in first:
            gmo = pymqi.GMO(Version=2, Options=CMQC.MQGMO_NO_SYNCPOINT, MatchOptions=CMQC.MQMO_MATCH_MSG_ID)
            queue.get(None, pymqi.MD(Version=2, MsgId=seen.msg_id), gmo)
        queue.close()
        return first

    def browse(self, name: str) -> list[Seen]:
        """Return everything that is committed on a queue, in physical order, without properties; nothing if it is not there."""
        found = []
        try:
            queue = pymqi.Queue(self._connected(), name, CMQC.MQOO_BROWSE)
        except pymqi.MQMIError as error:
            if error.reason not in _NOTHING_THERE:
                raise
            return []
        try:
            while True:
                md = pymqi.MD(Version=2)
                options = CMQC.MQGMO_BROWSE_NEXT | CMQC.MQGMO_NO_PROPERTIES
                gmo = pymqi.GMO(Version=2, Options=options, MatchOptions=CMQC.MQMO_NONE)
                data = queue.get(100_000, md, gmo)
                found.append(
                    Seen(
                        md.GroupId,
                        md.MsgSeqNumber,
                        md.Offset,
                        md.MsgFlags,
                        md.Persistence,
                        data,
                        msg_id=md.MsgId,
                        correl_id=md.CorrelId,
                    )
                )
        except pymqi.MQMIError as error:
            if error.reason not in _NOTHING_THERE:
                raise
        queue.close()
        return found

    def record(self, status_queue: str) -> dict[str, Any] | None:
        """Return the content of the status record that counts: the one put last. An anchor beside it is none."""
        found = sorted(self.browse(status_queue), key=lambda seen: seen.offset)
        records = [seen.data for seen in found if not is_anchor(seen.data)]
        return json.loads(records[-1]) if records else None

    def is_in_use(self, name: str) -> bool:
        """Whether somebody has a queue open, or has put to it or got from it in a unit of work that has not ended yet."""
        return any(map(self._status(name).get, _IN_USE))

    def heartbeat_s(self, channel: str) -> int:
        """Return HBINT of a server-connection channel."""
        asked = {CMQCFC.MQCACH_CHANNEL_NAME: channel.encode(), CMQCFC.MQIACH_CHANNEL_TYPE: CMQXC.MQCHT_SVRCONN}
        (found,) = self._commands().MQCMD_INQUIRE_CHANNEL(asked)
        return int(found[CMQCFC.MQIACH_HB_INTERVAL])

    def wait_until_settled(self, name: str) -> None:
        """Wait, not for ever, until no unit of work has anything of a queue: what is hidden is neither there nor gone."""
        deadline_s = time.monotonic() + _SETTLED_AFTER_S
        while self._status(name).get(CMQCFC.MQIACF_UNCOMMITTED_MSGS) and time.monotonic() < deadline_s:
            time.sleep(_NAP_S)

    def _status(self, name: str) -> dict[int, Any]:
        """Return the status of a queue's use, by selectors; nothing of one that there is not."""
        try:
            (status,) = self._commands().MQCMD_INQUIRE_Q_STATUS({CMQC.MQCA_Q_NAME: name.encode()})
        except pymqi.MQMIError as error:
            if error.reason not in _NOTHING_THERE:
                raise
            return {}
        return dict(status)

    def _commands(self) -> Any:
        connection = self._connected()
        if self._executor is None:
            self._executor = pymqi.PCFExecute(connection)
        return self._executor


def put_so_far(seen: Sequence[Seen], group_id: bytes) -> tuple[int, int]:
    """Return how much of a group is on a queue: whole messages, and bytes of the one after them."""
    number = offset = 0
    for message in _in_sequence(seen, group_id):
        if message.goes_on:
            offset = message.offset + len(message.data)
        else:
            number, offset = message.msg_seq_number, 0
    return number, offset


def got_so_far(seen: Sequence[Seen], group_id: bytes, messages: int) -> tuple[int, int]:
    """Return how much of a group of so many messages is gone from a queue: whole messages, and bytes of the next."""
    for message in _in_sequence(seen, group_id):
        return message.msg_seq_number - 1, message.offset
    return messages, 0


def _in_sequence(seen: Sequence[Seen], group_id: bytes) -> list[Seen]:
    """Return the messages of a group, whatever their physical order is."""
    found = [message for message in seen if message.group_id == group_id]
    return sorted(found, key=lambda message: (message.msg_seq_number, message.offset))


def wrong_with_group(seen: Sequence[Seen], payloads: Sequence[bytes]) -> str:
    """Say what keeps messages, in physical order, from being one whole group with this data; empty if nothing does."""
    if not seen:
        return "no group"
    if len({message.at for message in seen}) > 1:
        return f"split: {[(message.msg_seq_number, message.at) for message in seen]}"
    messages: list[bytes] = []
    open_message = False
    for message in seen:
        number = len(messages) + (not open_message)
        offset = len(messages[-1]) if open_message else 0
        if (message.msg_seq_number, message.offset) != (number, offset):
            return f"message {message.msg_seq_number} offset {message.offset} where {number} offset {offset} belongs"
        if message.is_last != (number == len(payloads)):
            return f"message {number} of {len(payloads)}: last is {message.is_last}"
        if open_message:
            messages[-1] += message.data
        else:
            messages.append(message.data)
        open_message = message.goes_on
    if open_message:
        return f"message {len(messages)} has no last segment"
    if messages != list(payloads):
        return f"{len(messages)} messages of {len(payloads)}, or other data: {messages}"
    if len({message.group_id for message in seen}) > 1:
        return "several GroupIds"
    if len({message.persistence for message in seen}) > 1:
        return "several persistences"
    return ""


def is_anchor(record: bytes) -> bool:
    """Whether what lies on a status queue is the anchor beside the record."""
    return bool(json.loads(record).get("state") == "anchor")


def says_nothing(seen: Sequence[Seen]) -> bool:
    """Whether messages of a status queue are one record that nobody would miss, or its segments, and the anchor of it."""
    anchors = [message for message in seen if is_anchor(message.data)]
    record = sorted((message for message in seen if not is_anchor(message.data)), key=lambda one: one.offset)
    if len(anchors) != 1 or not record or {message.correl_id for message in record} != {anchors[0].msg_id}:
        return False
    offset = 0
    for message in record:
        if message.offset != offset or message.group_id != record[0].group_id:
            return False
        offset += len(message.data)
    if len(record) > 1 and record[-1].goes_on:
        return False
    last = json.loads(record[-1].data)
    return last["state"] in ("idle", "completed") and not any(
        last.get(note) for note in ("checkpoint", "suspect", "done")
    )


def looks_whole(seen: Sequence[Seen]) -> bool:
    """Whether messages of one group are what ALL_MSGS_AVAILABLE takes for a whole group: no gap, and a last one."""
    expected = (1, 0)
    last = False
    for message in sorted(seen, key=lambda one: (one.msg_seq_number, one.offset)):
        if last or (message.msg_seq_number, message.offset) != expected:
            return False
        number, offset = expected
        expected = (number, offset + len(message.data)) if message.goes_on else (number + 1, 0)
        last = message.is_last and not message.goes_on
    return last


def places_of(seen: Sequence[Seen]) -> dict[bytes, frozenset[str]]:
    """Return the queue managers at which there are messages of each group."""
    groups = {message.group_id for message in seen}
    return {group_id: frozenset(message.at for message in seen if message.group_id == group_id) for group_id in groups}

"""Asynchronous puts on the wire: the C library goes on without the answer, and collects what came at the next call that waits.

IBM MQ, topics "Using asynchronous put in a client application" (q027340): "without waiting for a response from the queue
manager"; "MQPMO options" (q098730): which fields are completed; "MQSTAT" (q101920). What the application sees of such puts is in
``test_asynchronous_put.py``.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest

from embedded_tests import fix_mqi
from embedded_tests.fix_mqi import warning
from embedded_tests.peer import Caller, Peer, well_behaved
from embedded_tests.tables import table
from mqembedded import Fault
from mqembedded import constants as mq
from mqembedded.libmqm.build import CLIENT_LIBRARY, build
from mqembedded.serve.latency import delayed
from mqembedded.wire.frames import encode_reply
from mqembedded.wire.verbs import Verb

pytestmark = pytest.mark.embedded

ASYNC = mq.MQPMO_ASYNC_RESPONSE
OK = (mq.MQCC_OK, mq.MQRC_NONE)
WINDOW = 256
PREFIX, CONTEXT = b"AMQ TESTQM".ljust(16), b"identity".ljust(32) + b"\6\0\0\0" + b"program".ljust(28) + b"orig"
SYNC_QUEUE, ASYNC_QUEUE, NO_OUTPUT = 101, 102, 103
HANDLES = {SYNC_QUEUE: mq.MQPRT_SYNC_RESPONSE, ASYNC_QUEUE: mq.MQPRT_ASYNC_RESPONSE, NO_OUTPUT: 0}


class PutPeer:
    """A peer that answers asynchronous puts only when it has to: their window is full, or a call waits.

    ``requests`` are the verbs it saw and what came with them; ``turns`` how often it spoke. ``spoil`` makes the answers to puts.
    """

    def __init__(self, peer: Peer) -> None:
        self.requests: list[tuple[str, list[Any]]] = []
        self.turns = 0
        self.numbers = [7]
        self.spoil = lambda verb, serial: encode_reply(verb, serial, 0, 0, [])
        self._held: list[bytes] = []
        peer.answer = self._answer

    def puts(self) -> list[tuple[str, list[Any]]]:
        return [each for each in self.requests if each[0] in ("MQPUT", "ASYNC_PUT")]

    def _answer(self, verb: Verb, serial: int, values: list[Any]) -> bytes:
        self.requests.append((verb.name, values))
        if verb.name == "ASYNC_PUT":
            self._held.append(self.spoil(verb, serial))
            if len(self._held) < WINDOW:
                return b""
            answer = b""
        elif verb.name == "MQOPEN":
            hobj = SYNC_QUEUE + sum(name == "MQOPEN" for name, _ in self.requests) - 1
            answer = encode_reply(verb, serial, 0, 0, [hobj, b"", b"", HANDLES[hobj]])
        elif verb.name == "IDENTIFIERS":
            first = PREFIX + self.numbers.pop(0).to_bytes(8, "big")
            answer = encode_reply(verb, serial, 0, 0, [first, 16, 300, CONTEXT])
        else:
            answer = well_behaved(verb, serial, values)
        held, self._held = self._held, []
        self.turns += 1
        return b"".join([*held, answer])


@pytest.fixture
def put_peer(peer: Peer) -> PutPeer:
    return PutPeer(peer)


@pytest.fixture
def caller(peer: Peer, put_peer: PutPeer) -> Iterator[Caller]:
    """Connected, with the handles open that ``HANDLES`` names."""
    made = Caller(ctypes.CDLL(str(build() / "lib64" / CLIENT_LIBRARY)))
    assert made.connected == OK
    od = ctypes.create_string_buffer(struct.pack("<4sii", b"OD  ", 1, 1).ljust(168, b"\0"), 168)
    for expected in HANDLES:
        hobj = ctypes.c_int32()
        assert made("MQOPEN", made.hconn, od, 16, ctypes.byref(hobj)) == OK
        assert hobj.value == expected
    yield made
    made.disconnect()


def descriptor(
    version: int = 2, msg_id: bytes = bytes(24), correl_id: bytes = bytes(24)
) -> ctypes.Array[ctypes.c_char]:
    raw = bytearray(struct.pack("<4si", b"MD  ", version).ljust({1: 324, 2: 364}[version], b"\x11"))
    raw[48:72], raw[72:96] = msg_id, correl_id
    return ctypes.create_string_buffer(bytes(raw), len(raw))


def options(flags: int, version: int = 3, **fields: bytes) -> ctypes.Array[ctypes.c_char]:
    raw = bytearray(struct.pack("<4sii", b"PMO ", version, flags).ljust({1: 128, 2: 160, 3: 184}[version], b"\0"))
    for at, value in fields.items():
        raw[int(at[2:]) : int(at[2:]) + len(value)] = value
    return ctypes.create_string_buffer(bytes(raw), len(raw))


def put(caller: Caller, flags: int = ASYNC, hobj: int = SYNC_QUEUE, md: Any = None, pmo: Any = None) -> tuple[int, int]:
    return caller("MQPUT", caller.hconn, hobj, md or descriptor(), pmo or options(flags), 5, b"hello")


# --- round trips


def test_a_thousand_asynchronous_puts_take_a_few_round_trips(caller: Caller, put_peer: PutPeer) -> None:
    put_peer.numbers = [7, 307, 607, 907]
    before = put_peer.turns
    assert {put(caller) for _ in range(1_000)} == {OK}
    assert caller.commit() == OK
    assert len(put_peer.puts()) == 1_000
    # Three full windows, four times identifiers, and MQCMIT.
    assert put_peer.turns - before == 8


def test_a_synchronous_put_is_a_round_trip(caller: Caller, put_peer: PutPeer) -> None:
    before = put_peer.turns
    for _ in range(10):
        assert put(caller, mq.MQPMO_SYNC_RESPONSE) == OK
    assert put_peer.turns - before == 10


@pytest.mark.parametrize("verb", ["MQCMIT", "MQBACK", "MQSTAT", "MQCLOSE", "MQDISC"])
def test_every_call_that_waits_collects_the_answers_first(caller: Caller, put_peer: PutPeer, verb: str) -> None:
    assert [put(caller) for _ in range(20)] == [OK] * 20
    arguments: dict[str, tuple[object, ...]] = {
        "MQSTAT": (0, ctypes.create_string_buffer(struct.pack("<4si", b"STAT", 1).ljust(224, b"\0"), 224)),
        "MQCLOSE": (ctypes.byref(ctypes.c_int32(SYNC_QUEUE)), 0),
    }
    hconn = ctypes.byref(caller.hconn) if verb == "MQDISC" else caller.hconn
    assert caller(verb, hconn, *arguments.get(verb, ())) == OK


def test_big_messages_are_not_all_on_the_way_at_once(caller: Caller, put_peer: PutPeer, peer: Peer) -> None:
    # Given a peer that answers each put at once, and messages of a megabyte
    seen: list[int] = []
    answer = peer.answer

    def at_once(verb: Verb, serial: int, values: list[object]) -> bytes:
        if verb.name != "ASYNC_PUT":
            return answer(verb, serial, values) or b""
        seen.append(serial)
        return encode_reply(verb, serial, 0, 0, [])

    peer.answer = at_once
    data = ctypes.create_string_buffer(1024 * 1024)
    for number in range(1, 31):
        assert caller("MQPUT", caller.hconn, SYNC_QUEUE, descriptor(), options(ASYNC), len(data), data) == OK
        # Then at most six of them have not reached it
        assert len(seen) >= number - 6
    assert caller.commit() == OK
    assert len(seen) == 30


# --- what comes back


def test_the_documented_fields_come_back_and_no_others(caller: Caller, put_peer: PutPeer) -> None:
    md, pmo = descriptor(correl_id=b"c" * 24), options(ASYNC)
    before = pmo.raw
    assert put(caller, md=md, pmo=pmo) == OK
    expected = bytearray(descriptor(correl_id=b"c" * 24).raw)
    expected[48:72] = PREFIX + (7).to_bytes(8, "big")
    expected[240:304], expected[320:324] = CONTEXT[:64], CONTEXT[64:]
    assert md.raw == bytes(expected)
    assert pmo.raw == before


def test_identifiers_are_made_by_the_client_and_sent(caller: Caller, put_peer: PutPeer) -> None:
    put_peer.numbers = [0xFFFF_FFFF_FFFF]
    mine = descriptor(msg_id=b"m" * 24, correl_id=b"c" * 24)
    assert put(caller, md=mine) == OK
    both = descriptor(msg_id=b"m" * 24, correl_id=b"c" * 24)
    assert put(caller, ASYNC | mq.MQPMO_NEW_MSG_ID | mq.MQPMO_NEW_CORREL_ID, md=both) == OK
    assert (mine.raw[48:72], mine.raw[72:96]) == (b"m" * 24, b"c" * 24)
    numbers = [PREFIX + number.to_bytes(8, "big") for number in (0xFFFF_FFFF_FFFF, 0x1_0000_0000_0000)]
    assert [both.raw[48:72], both.raw[72:96]] == numbers
    assert caller.commit() == OK
    sent = [values for _, values in put_peer.puts()]
    assert [md[48:96] for _, md, _, _ in sent] == [b"m" * 24 + b"c" * 24, b"".join(numbers)]
    # They are made already.
    assert [struct.unpack_from("<i", pmo, 8)[0] for _, _, pmo, _ in sent] == [ASYNC, ASYNC]


# --- which puts


@table(
    ("waits", "arguments"),
    [
        (False, {}),
        (False, {"flags": ASYNC | mq.MQPMO_SYNCPOINT | mq.MQPMO_LOGICAL_ORDER | mq.MQPMO_FAIL_IF_QUIESCING}),
        (False, {"flags": 0, "hobj": ASYNC_QUEUE}),
        (False, {"md": descriptor(1), "pmo": options(ASYNC, 1)}),
        (True, {"flags": 0}),
        (True, {"flags": mq.MQPMO_SYNC_RESPONSE, "hobj": ASYNC_QUEUE}),
        (True, {"flags": ASYNC | mq.MQPMO_SYNC_RESPONSE}),
        (True, {"flags": ASYNC | mq.MQPMO_SYNCPOINT | mq.MQPMO_NO_SYNCPOINT}),
        (True, {"flags": ASYNC | mq.MQPMO_PASS_ALL_CONTEXT}),
        (True, {"flags": ASYNC | mq.MQPMO_SET_IDENTITY_CONTEXT}),
        (True, {"flags": ASYNC | mq.MQPMO_NO_CONTEXT}),
        (True, {"hobj": NO_OUTPUT}),
        (True, {"hobj": 4711}),
        (True, {"pmo": options(ASYNC, at128=b"\1")}),
        (True, {"pmo": options(ASYNC, at160=b"\1")}),
        (True, {"pmo": options(ASYNC, at168=b"\1")}),
        (True, {"md": ctypes.create_string_buffer(b"XX  \2\0\0\0".ljust(364, b"\0"), 364)}),
        (True, {"pmo": ctypes.create_string_buffer(b"PMO \4\0\0\0\0\0\1\0".ljust(184, b"\0"), 184)}),
    ],
)
def test_what_is_not_plain_is_put_synchronously(
    caller: Caller, put_peer: PutPeer, waits: bool, arguments: dict[str, Any]
) -> None:
    """ "If a message is not eligible for asynchronous put, it is put to a queue synchronously." """
    put_peer.requests.clear()
    assert put(caller, **arguments) == OK
    assert caller.commit() == OK
    assert [name for name, _ in put_peer.puts()] == ["MQPUT" if waits else "ASYNC_PUT"]


def test_a_handle_that_was_closed_waits_for_its_error(caller: Caller, put_peer: PutPeer) -> None:
    hobj = ctypes.c_int32(SYNC_QUEUE)
    assert put(caller) == OK
    assert caller("MQCLOSE", caller.hconn, ctypes.byref(hobj), 0) == OK
    assert put(caller) == OK
    assert [name for name, _ in put_peer.puts()] == ["ASYNC_PUT", "MQPUT"]


# --- answers that are none


@pytest.mark.parametrize(
    "spoil",
    [
        lambda verb, serial: encode_reply(verb, serial + 1, 0, 0, []),
        lambda verb, serial: encode_reply(verb, serial, 0, 0, []) + b"more",
        lambda verb, serial: struct.pack("<IHHiii", 12, verb.code, serial, 0, 0, 0),
        lambda verb, serial: struct.pack("<IHHi", 4, verb.code, serial, 0),
        lambda verb, serial: struct.pack("<IHHii", 8, verb.code + 1, serial, 0, 0),
        lambda *_: b"",
    ],
    ids=["another serial", "more than an answer", "more fields", "no codes", "another verb", "none at all"],
)
def test_an_answer_that_is_none_breaks_the_connection_when_it_is_collected(
    caller: Caller, put_peer: PutPeer, spoil: Any
) -> None:
    put_peer.spoil = spoil
    assert [put(caller) for _ in range(3)] == [OK] * 3
    assert caller.commit() == (mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN)
    assert put(caller) == (mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN)


@pytest.mark.parametrize(
    "answer",
    [
        [b"x" * 23, 16, 300, CONTEXT],
        [b"x" * 24, 17, 300, CONTEXT],
        [b"x" * 24, -1, 300, CONTEXT],
        [b"x" * 24, 16, 0, CONTEXT],
        [b"x" * 24, 16, -5, CONTEXT],
        [b"x" * 24, 16, 300, CONTEXT[:-1]],
    ],
)
def test_identifiers_that_are_none_break_the_connection(caller: Caller, peer: Peer, answer: list[object]) -> None:
    before = peer.answer
    peer.answer = lambda verb, serial, values: (
        encode_reply(verb, serial, 0, 0, answer) if verb.name == "IDENTIFIERS" else before(verb, serial, values)
    )
    assert put(caller) == (mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN)


# --- on an embedded queue manager


@pytest.fixture
def stat(mqi):
    if mqi.name == "pymqi":
        pytest.skip("pymqi has no MQSTAT")

    def call(connection):
        sts = mqi.package.STS()
        packed, comp, reason = mqi.c.MQSTAT(connection.hconn, mq.MQSTAT_TYPE_ASYNC_ERROR, sts.pack())
        assert (comp, reason) == OK
        sts.unpack(packed)
        return sts

    return call


@pytest.mark.parametrize(("number", "latency_ms"), [(1_000, 0), (300, 5)])
def test_asynchronous_puts_arrive_in_order(connect, own_queue_manager, stat, tmp_path, number, latency_ms):
    mqsc = tmp_path / "queue.mqsc"
    mqsc.write_text("DEFINE QLOCAL(MANY)\n")
    q_mgr = own_queue_manager("QMA", mqsc=[mqsc], latency_ms=latency_ms)
    connection = connect(to=q_mgr)
    out = connection.open("MANY", mq.MQOO_OUTPUT)
    answers = [out.put(b"%d" % each, ASYNC) for each in range(number)]
    assert {answer.code for answer in answers} == {fix_mqi.OK}
    assert stat(connection).PutSuccessCount == number
    messages = connection.browse("MANY")
    assert [message.data for message in messages] == [b"%d" % each for each in range(number)]
    assert [message.md.MsgId for message in messages] == [answer.md.MsgId for answer in answers]
    assert len({answer.md.MsgId for answer in answers}) == number
    assert q_mgr.calls()["MQPUT"] == number


def test_a_fault_at_an_asynchronous_put_is_told_by_mqstat_and_mqcmit(connect, own_queue_manager, stat, tmp_path):
    mqsc = tmp_path / "queue.mqsc"
    mqsc.write_text("DEFINE QLOCAL(MANY) DEFPSIST(YES)\n")
    q_mgr = own_queue_manager("QMA", mqsc=[mqsc])
    connection = connect(to=q_mgr)
    out = connection.open("MANY", mq.MQOO_OUTPUT)
    q_mgr.arm(Fault("answer", nth=2, verb="MQPUT", reason=mq.MQRC_Q_FULL))
    for number in range(3):
        assert out.put(b"%d" % number, ASYNC | mq.MQPMO_SYNCPOINT).code == fix_mqi.OK
    assert connection.commit() == warning(mq.MQRC_BACKED_OUT)
    sts = stat(connection)
    assert (sts.PutSuccessCount, sts.PutFailureCount, sts.Reason) == (2, 1, mq.MQRC_Q_FULL)
    assert connection.depth("MANY") == 0


def test_a_queue_that_was_deleted_is_told_by_mqstat(connect, own_queue_manager, stat, tmp_path):
    # Given a handle of a temporary dynamic queue that goes with another connection
    mqsc = tmp_path / "model.mqsc"
    mqsc.write_text("DEFINE QMODEL(MODEL) DEFTYPE(TEMPDYN) SHARE\n")
    q_mgr = own_queue_manager("QMA", mqsc=[mqsc])
    owner, connection = connect(to=q_mgr), connect(to=q_mgr)
    name = owner.open("MODEL", mq.MQOO_INPUT_SHARED).name
    out = connection.open(name, mq.MQOO_OUTPUT)
    assert out.put(b"m", ASYNC).code == fix_mqi.OK
    assert stat(connection).PutSuccessCount == 1
    owner.disconnect()
    # When it puts, then the put is OK, and MQSTAT knows better
    assert out.put(b"m", ASYNC).code == fix_mqi.OK
    sts = stat(connection)
    assert (sts.PutSuccessCount, sts.PutFailureCount, sts.Reason) == (0, 1, mq.MQRC_Q_DELETED)


# --- latency


def test_latency_is_in_both_directions(connect, own_queue_manager):
    connection = connect(to=own_queue_manager("QMA", latency_ms=40))
    began_s = time.monotonic()
    assert connection.commit() == fix_mqi.OK
    assert time.monotonic() - began_s >= 0.08


def test_latency_limits_nothing_that_is_on_the_way():
    # Given a slow line whose other end does not read
    ours, theirs = socket.socketpair()
    end = delayed(theirs, 0.05)
    # When far more is sent than sockets hold, then it is taken
    pieces = [bytes([number]) * 1_000_000 for number in range(32)]
    for piece in pieces:
        ours.sendall(piece)
    # and it all arrives
    received = bytearray()
    while len(received) < 32_000_000:
        received += end.recv(1 << 20)
    assert bytes(received) == b"".join(pieces)
    ours.close()
    assert end.recv(1) == b""
    end.close()


@pytest.mark.parametrize("first", [0, 1])
def test_the_end_of_either_side_ends_a_slow_line(first):
    ours, theirs = socket.socketpair()
    ends = ours, delayed(theirs, 0.01)
    ends[first].close()
    assert ends[1 - first].recv(1) == b""
    ends[1 - first].close()

"""Bytes that are no frame: the connection they came over ends, the queue manager and everybody else go on."""

from __future__ import annotations

import random
import socket
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_tests.fix_mqi import OK
from embedded_tests.tables import table
from mqembedded import constants as mq
from mqembedded.constants import MQOO_INPUT_SHARED, MQOO_OUTPUT, MQPMO_SYNCPOINT
from mqembedded.wire.frames import (
    HEADER,
    MAX_BODY_LENGTH,
    FrameError,
    FrameReader,
    Layout,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
)
from mqembedded.wire.verbs import BY_NAME, STRUCTURE_FIELDS, STRUCTURE_LENGTHS, VERBS, Field, table_digest

VALUES = {
    "i32": st.integers(-(2**31), 2**31 - 1),
    "i64": st.integers(-(2**63), 2**63 - 1),
    "blob": st.binary(max_size=60),
}


def values_of(fields):
    return st.tuples(*(VALUES[field.kind] for field in fields)).map(list)


# --- encoding


@given(verb=st.sampled_from(VERBS), data=st.data())
@settings(max_examples=400)
def test_decoding_is_the_inverse_of_encoding(verb, data):
    values = data.draw(values_of(verb.request))
    frame = encode_request(verb, 7, values)
    length, code, serial = HEADER.unpack_from(frame)
    assert (length, code, serial) == (len(frame) - HEADER.size, verb.code, 7)
    assert decode_request(code, frame[HEADER.size :]) == (verb, values)
    values = data.draw(values_of(verb.reply))
    assert decode_reply(verb, encode_reply(verb, 7, 1, 2241, values)[HEADER.size :]) == (1, 2241, values)


@given(values=values_of(BY_NAME["MQPUT"].request), cut=st.integers(0, 10_000), more=st.binary(min_size=1, max_size=9))
def test_a_body_cut_short_or_too_long_is_no_body(values, cut, more):
    layout = Layout(BY_NAME["MQPUT"].request)
    body = layout.encode(values)
    with pytest.raises(FrameError):
        layout.decode(body[: cut % len(body)])
    with pytest.raises(FrameError):
        layout.decode(body + more)


@given(body=st.binary(max_size=200), code=st.integers(0, 65_535))
def test_any_bytes_decode_or_are_refused(body, code):
    try:
        verb, values = decode_request(code, body)
    except FrameError:
        return
    assert Layout(verb.request).encode(values) == body


def test_values_that_do_not_fit_the_table_are_refused():
    with pytest.raises(FrameError, match="2 fields"):
        Layout((Field("a", "i32"), Field("b", "blob"))).encode([1])


def test_a_reply_without_codes_is_refused():
    with pytest.raises(FrameError):
        decode_reply(BY_NAME["MQCMIT"], b"\0" * 7)


@given(pieces=st.lists(st.integers(1, 9), min_size=1, max_size=80))
def test_frames_arrive_in_any_pieces(pieces):
    frames = [encode_request(BY_NAME["MQPUT"], serial, [serial, b"md" * serial, b"", b"data"]) for serial in (1, 2, 3)]
    whole = b"".join(frames)
    near, far = socket.socketpair()
    with near, far:
        reader, at, turn = FrameReader(far), 0, 0
        while at < len(whole):
            size = pieces[turn % len(pieces)]
            near.sendall(whole[at : at + size])
            at, turn = at + size, turn + 1
        found = [reader.read() or (0, 0, b"") for _ in frames]
        assert [(code, serial) for code, serial, _ in found] == [(BY_NAME["MQPUT"].code, n) for n in (1, 2, 3)]
        near.shutdown(socket.SHUT_WR)
        assert reader.read() is None


def test_a_frame_cut_off_by_the_end_is_no_frame():
    near, far = socket.socketpair()
    with near, far:
        near.sendall(encode_request(BY_NAME["MQCMIT"], 1, [])[:-1])
        near.shutdown(socket.SHUT_WR)
        assert FrameReader(far).read() is None


def test_an_oversized_frame_is_refused_before_it_is_read():
    near, far = socket.socketpair()
    with near, far:
        near.sendall(HEADER.pack(MAX_BODY_LENGTH + 1, 1, 1))
        with pytest.raises(FrameError, match=str(MAX_BODY_LENGTH)):
            FrameReader(far).read()


# --- a server that is sent them


@pytest.fixture
def address(mq):
    """Where the embedded queue manager listens."""
    if mq.queue_manager is None:
        pytest.skip("needs --mq=embedded")
    return mq.queue_manager.host, mq.queue_manager.port


def send(address, data, *, half_close=True):
    """Send bytes, read until the server closes; returns what it said."""
    said = b""
    with socket.create_connection(address, timeout=30) as sock:
        try:
            sock.sendall(data)
            if half_close:
                sock.shutdown(socket.SHUT_WR)
            while piece := sock.recv(65_536):
                said += piece
        except ConnectionError:
            pass
    return said


def frame(name, *values, serial=1):
    return encode_request(BY_NAME[name], serial, values)


def hello(digest=None):
    return frame(
        "MQCONNX",
        (digest or table_digest()).encode(),
        0,
        b"test_frames",
        b"QM1",
        b"DEV.APP.SVRCONN",
        b"",
        b"",
        0,
        0,
        0,
        b"",
        0,
        0,
    )


BROKEN = {
    "nothing": b"",
    "half a header": b"\0\0\0",
    "a header only": HEADER.pack(100, 1, 1),
    "a verb that is none": HEADER.pack(0, 999, 1),
    "a verb before MQCONNX": frame("MQCMIT"),
    "another table": hello(digest="0" * 16),
    "too much": HEADER.pack(MAX_BODY_LENGTH + 1, 1, 1),
    "all ones": b"\xff" * 4096,
    "another protocol": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a cut body": hello()[:-3],
    "a blob beyond the body": HEADER.pack(8, BY_NAME["MQCONNX"].code, 1) + struct.pack("<Ii", 2**31, 0),
    "connected, then a verb that is none": hello() + HEADER.pack(4, 77, 2) + b"????",
    "connected, then a cut MQPUT": hello() + frame("MQPUT", 101, b"", b"", b"x" * 100)[:-50],
    "connected, then too much": hello() + HEADER.pack(2**32 - 1, 5, 2),
    "connected, then bytes behind the last field": hello() + HEADER.pack(4, BY_NAME["MQCMIT"].code, 2) + b"more",
    "connected twice": hello() + hello(),
    "control without the token": frame("CONTROL", b"guess", b'{"do": "count"}'),
    "control with no command": frame("CONTROL", b"", b""),
}


@pytest.mark.embedded
@table("data", BROKEN.values())
def test_broken_frames_touch_nobody_else(address, connection, queue, data):
    # Given a connection with a unit of work
    out = connection.open(queue, MQOO_OUTPUT | MQOO_INPUT_SHARED)
    assert out.put(b"in a unit of work", MQPMO_SYNCPOINT).code == OK
    # When somebody sends bytes that are no frame
    send(address, data)
    # Then the connection goes on, and so do new ones
    assert connection.commit() == OK
    assert out.get().data == b"in a unit of work"
    assert connection.open(queue, MQOO_OUTPUT).code == OK


@pytest.mark.embedded
@table("name", ["a verb that is none", "too much", "all ones", "connected, then too much", "control without the token"])
def test_a_connection_that_sends_no_frames_is_ended_by_the_server(address, name):
    send(address, BROKEN[name], half_close=False)


@pytest.mark.embedded
def test_a_connection_cut_in_the_middle_of_a_frame_is_backed_out(address, connection, queue):
    connection.put1(queue, b"m")
    source = connection.open(queue, MQOO_INPUT_SHARED)
    send(address, BROKEN["connected, then a cut MQPUT"])
    assert source.get().data == b"m"


@pytest.mark.embedded
def test_structures_of_any_length_are_refused_not_read_beyond(address, connection, queue):
    """What the C library would never send: structures cut short, or of nothing, in frames that are whole."""
    lengths = (0, 1, 4, 8, 71, 100, 323, 363, 365, 5000)
    for length in lengths:
        filling = (b"MD  \x02\0\0\0" + bytes(5000))[:length]
        requests = [
            frame("MQOPEN", filling, 16, filling, serial=2),
            frame("MQPUT", 101, filling, filling, b"data", serial=3),
            frame("MQPUT1", filling, filling, filling, b"data", filling, serial=4),
            frame("MQGET", 101, filling, filling, 100, serial=5),
            frame("MQGET", 101, filling, filling, -1, serial=6),
            frame("MQINQ", 101, filling, -1, 2**31 - 1, serial=7),
            frame("MQSET", 101, filling, filling, filling, serial=8),
            frame("MQCLOSE", -1, -1, serial=9),
            frame("MQSUB", filling, -1, filling, filling, filling, serial=10),
            frame("MQSUBRQ", 101, 1, filling, serial=11),
        ]
        for request in requests:
            send(address, hello() + request)
    assert connection.put1(queue, b"still there").code == OK


# Structures of each verb's request, by field, and the reason if one is too short (IBM MQ, the reason codes' topics).
BAD = {
    "od": mq.MQRC_OD_ERROR,
    "md": mq.MQRC_MD_ERROR,
    "pmo": mq.MQRC_PMO_ERROR,
    "gmo": mq.MQRC_GMO_ERROR,
    "sd": mq.MQRC_SD_ERROR,
    "sro": mq.MQRC_SRO_ERROR,
    "sts": mq.MQRC_STS_ERROR,
    "cbd": mq.MQRC_CBD_ERROR,
    "ctlo": mq.MQRC_CTLO_ERROR,
    "cmho": mq.MQRC_CMHO_ERROR,
    "dmho": mq.MQRC_DMHO_ERROR,
    "smpo": mq.MQRC_SMPO_ERROR,
    "impo": mq.MQRC_IMPO_ERROR,
    "dmpo": mq.MQRC_DMPO_ERROR,
    "pd": mq.MQRC_PD_ERROR,
}
STRUCTURES = [
    (verb, field.name)
    for verb in VERBS
    if verb.name not in ("ASYNC_PUT", "CALLBACK")
    for field in verb.request
    if field.name in STRUCTURE_FIELDS
]
OTHERS = {"options": 16, "name": b"usr.a", "name_ccsid": 1208, "value": bytes(4), "value_length": 4}


def structure(field):
    """A structure of its latest version that is zeros otherwise, as far as that is valid."""
    name = STRUCTURE_FIELDS[field]
    version = max(STRUCTURE_LENGTHS[name])
    struc_id = {"MQSTS": b"STAT"}.get(name, name.removeprefix("MQ").encode().ljust(4))
    begin = struct.pack("<4sii", struc_id, version, 0) + struct.pack("<i", mq.MQPD_SUPPORT_OPTIONAL) * (field == "pd")
    return begin.ljust(STRUCTURE_LENGTHS[name][version], b"\0")


@pytest.mark.embedded
@table(("verb", "field"), STRUCTURES)
def test_a_structure_that_is_too_short_is_refused_with_its_reason_and_the_connection_goes_on(
    address, queue, verb, field
):
    with socket.create_connection(address, timeout=30) as sock:
        reader = FrameReader(sock)

        def ask(asked, *values):
            sock.sendall(frame(asked, *values))
            answered = reader.read()
            assert answered is not None, "the connection has ended"
            return decode_reply(BY_NAME[asked], answered[2])

        sock.sendall(hello())
        assert reader.read() is not None
        od = bytearray(structure("od"))
        od[8:60] = struct.pack("<i48s", mq.MQOT_Q, queue.encode().ljust(48))
        opened = ask("MQOPEN", bytes(od), MQOO_OUTPUT | MQOO_INPUT_SHARED, b"")[2]
        handles = {"hobj": opened[0], "hmsg": ask("MQCRTMH", structure("cmho"))[2][0], "od": bytes(od)}
        if verb.name == "MQCB":
            handles["operation"] = mq.MQOP_REGISTER
            consumer = struct.pack("<iiqq128si", mq.MQCBT_MESSAGE_CONSUMER, 0, 0, 1, b"", mq.MQCBD_FULL_MSG_LENGTH)
            handles["cbd"] = (structure("cbd")[:8] + consumer).ljust(STRUCTURE_LENGTHS["MQCBD"][1], b"\0")
        if verb.name == "MQSETMP":
            handles["type"] = mq.MQTYPE_INT32
        given: list[Any] = [
            handles.get(each.name)
            or (structure(each.name) if each.name in STRUCTURE_FIELDS else None)
            or OTHERS.get(each.name, b"" if each.kind == "blob" else 0)
            for each in verb.request
        ]
        at = [each.name for each in verb.request].index(field)
        whole = given[at]
        for length in range(1, len(whole)):
            given[at] = whole[:length]
            assert ask(verb.name, *given)[:2] == (2, BAD[field]), length
        # What is behind a structure is not read.
        for version, length in STRUCTURE_LENGTHS[STRUCTURE_FIELDS[field]].items():
            given[at] = whole[:4] + struct.pack("<i", version) + whole[8:length] + b"more"
            assert ask(verb.name, *given)[1] != BAD[field]


@pytest.mark.embedded
def test_random_frames_never_end_the_server(mq, address, connection, queue):
    source = random.Random(20_26)
    pid = mq.queue_manager.pid
    for _ in range(150):
        whole = bytearray(hello() + frame("MQPUT", 101, bytes(364), bytes(184), b"x" * 20, serial=2) + frame("MQCMIT"))
        for _ in range(source.randrange(1, 8)):
            whole[source.randrange(len(whole))] = source.randrange(256)
        # An announced length may now be longer than what comes; the half-closed socket ends the wait for it.
        send(address, bytes(whole[: source.randrange(1, len(whole) + 1)]))
    assert mq.queue_manager.pid == pid
    assert connection.put1(queue, b"still there").code == OK

"""Replies that mean harm: the C library takes nothing from one but what it asked for, and gives up the connection otherwise.

Layouts of structures and what their fields mean are those of IBM's topics "MQOD", "MQSD", "MQCHARV", "MQGMO", "MQIMPO", "MQSTS",
"MQGET" (DataLength), "MQINQ", "MQINQMP", "MQCBC". That a reply which cannot be one ends in MQRC_CONNECTION_BROKEN is this
library's choice.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedded_tests.peer import Caller, Peer, well_behaved
from embedded_tests.tables import table
from mqembedded import constants as mq
from mqembedded.wire.frames import HEADER, empty_reply_values, encode_reply
from mqembedded.wire.verbs import Verb

pytestmark = pytest.mark.embedded

OK, BROKEN = (mq.MQCC_OK, mq.MQRC_NONE), (mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN)
VICTIM = b"memory that is nobody's business"
OBJECT_STRING, RES_OBJECT_STRING = 344, 392  # of MQOD
TOPIC = b"prices/fruit"


@pytest.fixture
def victim() -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(VICTIM, 64)


def answering(**fields: object) -> Callable[[Verb, int, list[Any]], bytes]:
    """Return an answer with these fields; ``comp`` and ``reason`` are the codes, a function makes its field from the request."""

    def answer(verb: Verb, serial: int, values: list[Any]) -> bytes:
        if verb.name not in ("MQOPEN", "MQPUT", "MQPUT1", "MQGET", "MQINQ", "MQINQMP", "MQSUB", "MQSTAT", "MQCMIT"):
            return well_behaved(verb, serial, values)
        sent = dict(zip((field.name for field in verb.request), values, strict=True))
        codes: dict[str, Any] = {"comp": 0, "reason": 0}
        reply = dict(zip((field.name for field in verb.reply), empty_reply_values(verb), strict=True))
        for name, value in fields.items():
            (codes if name in codes else reply)[name] = value(sent) if callable(value) else value
        return encode_reply(verb, serial, codes["comp"], codes["reason"], list(reply.values()))

    return answer


def put_into(structure: bytes, at: int, layout: str, *values: object) -> bytes:
    changed = bytearray(structure)
    struct.pack_into(layout, changed, at, *values)
    return bytes(changed)


def topic(room: ctypes.Array[ctypes.c_char] | None = None, length: int = 0) -> ctypes.Array[ctypes.c_char]:
    """MQOD Version 4 of a topic, whose topic string is to come back in ``room``."""
    od = bytearray(struct.pack("<4sii", b"OD  ", 4, 8).ljust(424, b"\0"))
    struct.pack_into("<Qiiii", od, OBJECT_STRING, ctypes.addressof(TOPIC_TEXT), 0, 0, len(TOPIC), 1208)
    if room is not None:
        struct.pack_into("<Qiiii", od, RES_OBJECT_STRING, ctypes.addressof(room), 0, len(room), length, 1208)
    return ctypes.create_string_buffer(bytes(od), len(od))


TOPIC_TEXT = ctypes.create_string_buffer(TOPIC)


def subscription(room: ctypes.Array[ctypes.c_char]) -> ctypes.Array[ctypes.c_char]:
    """MQSD whose SubUserData and whose topic string are to come back in the halves of ``room``."""
    sd = bytearray(struct.pack("<4sii", b"SD  ", 1, 0).ljust(344, b"\0"))
    half = len(room) // 2
    struct.pack_into("<Qiiii", sd, 168, ctypes.addressof(room), 0, half, 0, 1208)
    struct.pack_into("<Qiiii", sd, 320, ctypes.addressof(room) + half, 0, half, 0, 1208)
    return ctypes.create_string_buffer(bytes(sd), len(sd))


def open_it(caller: Caller, od: ctypes.Array[ctypes.c_char]) -> tuple[int, int]:
    return caller("MQOPEN", caller.hconn, od, 16, ctypes.byref(ctypes.c_int32()))


def get(caller: Caller, gmo: ctypes.Array[ctypes.c_char] | None = None, room: int = 4096) -> tuple[int, int]:
    buffer = ctypes.create_string_buffer(b"-" * room, room + 1)
    length = ctypes.c_int32(7)
    codes = caller("MQGET", caller.hconn, 101, None, gmo, room, buffer, ctypes.byref(length))
    if codes == BROKEN:
        # Not a byte of it.
        assert (buffer.raw, length.value) == (b"-" * room + b"\0", 0)
    return codes


def is_given_up(caller: Caller, peer: Peer) -> bool:
    """Whether the connection was closed by the library and stays broken, whatever the peer does now."""
    peer.answer = well_behaved
    return caller.commit() == BROKEN and peer.ended.wait(10)


# --- pointers


def test_a_pointer_in_an_answered_mqod_is_neither_followed_nor_returned(
    caller: Caller, peer: Peer, victim: ctypes.Array[ctypes.c_char]
) -> None:
    room = ctypes.create_string_buffer(32)
    evil = (ctypes.addressof(victim), 0, 0x1000, len(TOPIC), 1208)
    peer.answer = answering(od=lambda s: put_into(s["od"], RES_OBJECT_STRING, "<Qiiii", *evil), res_object_string=TOPIC)
    od = topic(room)
    assert open_it(caller, od) == OK
    assert victim.value == VICTIM
    assert room.value == TOPIC
    pointer, _, size, length, _ = struct.unpack_from("<Qiiii", od.raw, RES_OBJECT_STRING)
    assert (pointer, size, length) == (ctypes.addressof(room), 32, len(TOPIC))


def test_a_pointer_where_the_caller_has_none_gets_nothing(
    caller: Caller, peer: Peer, victim: ctypes.Array[ctypes.c_char]
) -> None:
    evil = (ctypes.addressof(victim), 0, 0x1000, 8, 1208)
    peer.answer = answering(
        od=lambda s: put_into(s["od"], RES_OBJECT_STRING, "<Qiiii", *evil), res_object_string=b"A" * 8
    )
    assert open_it(caller, topic()) == BROKEN
    assert victim.value == VICTIM


@table(
    "at",
    [184, 344, 368, 392],
    ids=["ObjectRecOffset", "ObjectString", "SelectionString", "ResObjectString"],
    anew=["caller"],
)
def test_no_pointer_or_offset_of_an_mqod_changes(caller: Caller, peer: Peer, at: int) -> None:
    peer.answer = answering(od=lambda s: put_into(s["od"], at, "<Qii", 0x4141414141414141, 99, 99))
    od = topic()
    before = od.raw
    assert open_it(caller, od) == OK
    assert od.raw == before


def test_mqput1_takes_its_pointers_from_the_caller(
    caller: Caller, peer: Peer, victim: ctypes.Array[ctypes.c_char]
) -> None:
    room = ctypes.create_string_buffer(32)
    evil = (ctypes.addressof(victim), 0, 0x1000, len(TOPIC), 1208)
    peer.answer = answering(
        od=lambda s: put_into(s["od"], RES_OBJECT_STRING, "<Qiiii", *evil),
        res_object_string=TOPIC,
        pmo=lambda s: put_into(s["pmo"], 128, "<iiiiQQ", 5, 1, 1, 1, 0x4141414141414141, 0x4242424242424242),
    )
    pmo = ctypes.create_string_buffer(struct.pack("<4si", b"PMO ", 2).ljust(160, b"\0"), 160)
    od = topic(room)
    assert caller("MQPUT1", caller.hconn, od, None, pmo, 0, None) == OK
    assert (victim.value, room.value) == (VICTIM, TOPIC)
    assert pmo.raw[128:] == bytes(32)


def test_mqsub_takes_its_pointers_from_the_caller(
    caller: Caller, peer: Peer, victim: ctypes.Array[ctypes.c_char]
) -> None:
    room = ctypes.create_string_buffer(32)

    def evil(sent: dict[str, Any]) -> bytes:
        sd = sent["sd"]
        for at in (120, 144, 168, 288, 320):
            sd = put_into(sd, at, "<Qiiii", ctypes.addressof(victim), 0, 0x1000, 4, 1208)
        return bytes(sd)

    peer.answer = answering(sd=evil, sub_user_data=b"user", res_object_string=b"name")
    sd = subscription(room)
    handles = ctypes.c_int32(), ctypes.c_int32()
    assert caller("MQSUB", caller.hconn, sd, *map(ctypes.byref, handles)) == OK
    assert victim.value == VICTIM
    assert room.raw == b"user".ljust(16, b"\0") + b"name".ljust(16, b"\0")
    assert [struct.unpack_from("<Q", sd.raw, at)[0] for at in (120, 144, 288)] == [0, 0, 0]
    assert struct.unpack_from("<Q", sd.raw, 320)[0] == ctypes.addressof(room) + 16


# --- lengths of texts


@table(
    ("length", "text"),
    [
        (-1, b""),
        (-(2**31), b""),
        (4, b"longer"),
        (40, b"only this"),
        (33, b"x" * 33),
        (2**31 - 1, b""),
        (0, b"x"),
        (9, b""),
    ],
    anew=["caller"],
)
def test_a_text_has_the_length_that_the_structure_says(caller: Caller, peer: Peer, length: int, text: bytes) -> None:
    room = ctypes.create_string_buffer(32)
    peer.answer = answering(od=lambda s: put_into(s["od"], 408, "<i", length), res_object_string=text)
    od = topic(room)
    before = od.raw
    assert open_it(caller, od) == BROKEN
    assert (room.raw, od.raw) == (bytes(32), before)
    assert is_given_up(caller, peer)


def test_a_text_that_is_longer_than_its_room_is_cut_and_told_in_full(caller: Caller, peer: Peer) -> None:
    room = ctypes.create_string_buffer(4)
    peer.answer = answering(od=lambda s: put_into(s["od"], 408, "<i", 12), res_object_string=b"ruit")
    od = topic(room)
    assert open_it(caller, od) == OK
    assert (room.raw, struct.unpack_from("<i", od.raw, 408)[0]) == (b"ruit", 12)


@table("at", [240, 264], ids=["ObjectString", "SubName"], anew=["caller"])
def test_mqstat_returns_no_length_without_its_text(caller: Caller, peer: Peer, at: int) -> None:
    sts = bytearray(struct.pack("<4si", b"STAT", 2).ljust(280, b"\0"))
    room = ctypes.create_string_buffer(32)
    struct.pack_into("<Qii", sts, at - 16, ctypes.addressof(room), 0, len(room))
    peer.answer = answering(sts=lambda s: put_into(s["sts"], at, "<i", 20))
    assert caller("MQSTAT", caller.hconn, 0, ctypes.create_string_buffer(bytes(sts), 280)) == BROKEN


# --- structures


@table(
    "spoiled",
    [
        b"OD  \1\0\0\0".ljust(168, b"\0"),
        b"OD  \3\0\0\0".ljust(424, b"\0"),
        b"MD  \4\0\0\0".ljust(424, b"\0"),
        b"O",
        b"x" * 1000,
    ],
    ids=["a shorter version", "another Version", "another StrucId", "a byte", "a thousand bytes"],
    anew=["caller"],
)
def test_a_structure_comes_back_as_it_was_sent_or_not_at_all(caller: Caller, peer: Peer, spoiled: bytes) -> None:
    # A Version that is the server's choice would let the next call read behind the caller's structure.
    peer.answer = answering(comp=2, reason=2085, od=spoiled)
    od = topic()
    before = od.raw
    assert open_it(caller, od) == BROKEN
    assert od.raw == before
    assert is_given_up(caller, peer)


def test_a_structure_nobody_sent_is_no_reply(caller: Caller, peer: Peer) -> None:
    peer.answer = answering(md=b"MD  \2\0\0\0".ljust(364, b"\0"))
    assert caller("MQPUT", caller.hconn, 101, None, None, 0, None) == BROKEN


@table("comp", [-1, 3, 2**31 - 1], anew=["caller"])
def test_there_are_three_completion_codes(caller: Caller, peer: Peer, comp: int) -> None:
    peer.answer = answering(comp=comp, reason=1)
    assert caller.commit() == BROKEN
    assert is_given_up(caller, peer)


@table("length", [0, 23, 25, 4096])
def test_a_connection_id_has_24_bytes(library: ctypes.CDLL, peer: Peer, length: int) -> None:
    peer.answer = lambda verb, serial, _: encode_reply(verb, serial, 0, 0, [b"x" * length, 0, 0])
    assert Caller(library).connected == BROKEN


@table("heartbeat", [-1, 1_000_000])
def test_a_heartbeat_interval_is_one_that_a_channel_can_have(library: ctypes.CDLL, peer: Peer, heartbeat: int) -> None:
    peer.answer = lambda verb, serial, _: encode_reply(verb, serial, 0, 0, [b"x" * 24, heartbeat, 1])
    assert Caller(library).connected == BROKEN


# --- messages


@table("comp", [mq.MQCC_OK, mq.MQCC_WARNING, mq.MQCC_FAILED])
@table("length", [4000, 11, 9, 0, -1, -(2**31), 2**31 - 1], anew=["caller"])
def test_data_length_is_not_believed(caller: Caller, peer: Peer, length: int, comp: int) -> None:
    # Ten bytes came; a binding that returns DataLength of them would return what was in its heap.
    peer.answer = answering(comp=comp, reason=comp and 2079, data_length=length, data=b"only 10 by")
    assert get(caller) == BROKEN
    assert is_given_up(caller, peer)


def test_more_data_than_the_buffer_holds_is_no_reply(caller: Caller, peer: Peer) -> None:
    peer.answer = answering(comp=1, reason=2079, data_length=100, data=b"y" * 100)
    assert get(caller, room=10) == BROKEN


def test_a_message_that_was_cut_tells_its_whole_length(caller: Caller, peer: Peer) -> None:
    peer.answer = answering(comp=1, reason=2079, data_length=100, data=b"y" * 10)
    buffer, length = ctypes.create_string_buffer(b"-" * 16, 16), ctypes.c_int32()
    assert caller("MQGET", caller.hconn, 101, None, None, 10, buffer, ctypes.byref(length)) == (1, 2079)
    assert (buffer.raw, length.value) == (b"y" * 10 + b"-" * 6, 100)


def test_a_message_is_not_cut_without_a_warning(caller: Caller, peer: Peer) -> None:
    peer.answer = answering(data_length=100, data=b"y" * 10)
    assert get(caller, room=10) == BROKEN


@table(
    ("returned", "codes"),
    [(5, OK), (-1, OK), (0x11111111, OK), (4, BROKEN), (99, BROKEN), (-2, BROKEN)],
    anew=["caller"],
)
def test_returned_length_is_that_of_the_data_or_undefined(
    caller: Caller, peer: Peer, returned: int, codes: tuple[int, int]
) -> None:
    gmo = struct.pack("<4si", b"GMO ", 3) + b"\x11" * 92
    peer.answer = answering(gmo=lambda s: put_into(s["gmo"], 96, "<i", returned), data_length=5, data=b"12345")
    assert get(caller, ctypes.create_string_buffer(gmo, 100)) == codes


# --- attributes


@table(
    ("integers", "characters", "codes"),
    [
        (b"\1\0\0\0\2\0\0\0", b"x" * 48, OK),
        (b"\1\0\0\0", b"x" * 48, BROKEN),
        (b"", b"x" * 48, BROKEN),
        (b"\1\0\0\0\2\0\0", b"", BROKEN),
        (b"\1\0\0\0" * 3, b"", BROKEN),
        (b"\1\0\0\0\2\0\0\0", b"x" * 49, BROKEN),
    ],
    ids=["what was asked for", "one short", "none", "half a number", "one too many", "a character too many"],
    anew=["caller"],
)
def test_mqinq_returns_the_integers_that_were_asked_for(
    caller: Caller, peer: Peer, integers: bytes, characters: bytes, codes: tuple[int, int]
) -> None:
    peer.answer = answering(int_attrs=integers, char_attrs=characters)
    selectors = (ctypes.c_int32 * 3)(3, 2016, 15)
    values, text = (ctypes.c_int32 * 4)(-9, -9, -9, -9), ctypes.create_string_buffer(b"-" * 48, 48)
    assert caller("MQINQ", caller.hconn, 101, 3, selectors, 4, values, 48, text) == codes
    if codes == OK:
        assert (list(values), text.raw) == ([1, 2, -9, -9], b"x" * 48)
    else:
        assert (list(values), text.raw) == ([-9] * 4, b"-" * 48)


# --- properties


def impo(room: ctypes.Array[ctypes.c_char], options: int = 0) -> ctypes.Array[ctypes.c_char]:
    raw = bytearray(struct.pack("<4sii", b"IMPO", 1, options).ljust(64, b"\0"))
    struct.pack_into("<Qiiii", raw, 32, ctypes.addressof(room), 0, len(room), 0, 1208)
    return ctypes.create_string_buffer(bytes(raw), 64)


@table(
    ("fields", "codes"),
    [
        ({"type": mq.MQTYPE_STRING, "data_length": 4, "value": b"text"}, OK),
        ({"type": mq.MQTYPE_STRING, "data_length": 5, "value": b"text"}, BROKEN),
        ({"type": mq.MQTYPE_STRING, "data_length": -1, "value": b""}, BROKEN),
        ({"type": mq.MQTYPE_STRING, "data_length": 9, "value": b"9 letters"}, BROKEN),
        ({"type": mq.MQTYPE_STRING, "data_length": 9, "value": b"9 letter"}, BROKEN),
        ({"comp": 2, "reason": 2469, "type": mq.MQTYPE_STRING, "data_length": 9, "value": b"9 letter"}, (2, 2469)),
        ({"comp": 2, "reason": 2469, "type": mq.MQTYPE_STRING, "data_length": 9, "value": b"9 let"}, BROKEN),
        ({"comp": 2, "reason": 2471, "type": mq.MQTYPE_STRING, "data_length": 9, "value": b""}, BROKEN),
        ({"type": mq.MQTYPE_INT64, "data_length": 8, "value": b"8 bytes!"}, OK),
        ({"type": mq.MQTYPE_INT64, "data_length": 4, "value": b"four"}, BROKEN),
        ({"type": mq.MQTYPE_BOOLEAN, "data_length": 1, "value": b"x"}, BROKEN),
        ({"type": mq.MQTYPE_NULL, "data_length": 0, "value": b""}, OK),
        ({"type": 0x4141, "data_length": 4, "value": b"what"}, BROKEN),
    ],
    anew=["caller"],
)
def test_a_property_has_the_length_of_its_value_and_of_its_type(
    caller: Caller, peer: Peer, fields: dict[str, object], codes: tuple[int, int]
) -> None:
    peer.answer = answering(**fields)
    value, length = ctypes.create_string_buffer(8), ctypes.c_int32(77)
    kind = ctypes.c_int32(0)
    arguments = (None, None, None, ctypes.byref(kind), 8, value, ctypes.byref(length))
    assert caller("MQINQMP", caller.hconn, ctypes.c_int64(101), *arguments) == codes
    assert length.value == (0 if codes == BROKEN else fields["data_length"])


@table(
    ("length", "name", "codes"),
    [(4, b"name", OK), (9, b"too long", BROKEN), (7, b"name", BROKEN), (-1, b"", BROKEN), (4, b"", BROKEN)],
    anew=["caller"],
)
def test_the_returned_name_is_whole_and_goes_where_the_caller_said(
    caller: Caller, peer: Peer, victim: ctypes.Array[ctypes.c_char], length: int, name: bytes, codes: tuple[int, int]
) -> None:
    room = ctypes.create_string_buffer(8)
    evil = (ctypes.addressof(victim), 0, 0x1000, length, 1208)
    peer.answer = answering(
        type=mq.MQTYPE_NULL, impo=lambda s: put_into(s["impo"], 32, "<Qiiii", *evil), returned_name=name
    )
    kind = ctypes.c_int32(0)
    asked = impo(room)
    arguments = (asked, None, None, ctypes.byref(kind), 0, None, ctypes.byref(ctypes.c_int32()))
    assert caller("MQINQMP", caller.hconn, ctypes.c_int64(101), *arguments) == codes
    assert (victim.value, room.value) == (VICTIM, name if codes == OK else b"")
    assert struct.unpack_from("<Qii", asked.raw, 32) == (ctypes.addressof(room), 0, 8)


# --- callbacks

CALLED = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
MESSAGE, EVENT = 6, 5
_MD = struct.pack("<4si", b"MD  ", 2).ljust(364, b"\0")
_GMO = struct.pack("<4si", b"GMO ", 4).ljust(112, b"\0")
_NOTHING = [mq.MQHO_UNUSABLE_HOBJ, b"", b"", b"", b""]


def cbc(
    kind: int,
    length: int = 0,
    room: int | None = None,
    *,
    hobj: int = 101,
    comp: int = 0,
    head: bytes = b"CBC \2\0\0\0",
) -> bytes:
    """MQCBC, version 2; ``room`` is BufferLength."""
    codes = (comp, 0, 0, length, length if room is None else room)
    return head + struct.pack("<iiqqiiiiiiii", kind, hobj, 0, 0, *codes, 0, 0, 0)


CALLS: dict[str, list[object]] = {
    "a handle that nobody registered": [999, cbc(MESSAGE, 4, hobj=999), _MD, _GMO, b"data"],
    "another handle in MQCBC": [101, cbc(MESSAGE, 4, hobj=102), _MD, _GMO, b"data"],
    "no MQCBC": [101, b"", _MD, _GMO, b"data"],
    "half an MQCBC": [101, cbc(MESSAGE, 4)[:32], _MD, _GMO, b"data"],
    "an MQCBC that is none": [101, cbc(MESSAGE, 4, head=b"MD  \2\0\0\0"), _MD, _GMO, b"data"],
    "more BufferLength than data": [101, cbc(MESSAGE, 4000), _MD, _GMO, b"data"],
    "less BufferLength than data": [101, cbc(MESSAGE, 2), _MD, _GMO, b"data"],
    "a negative DataLength": [101, cbc(MESSAGE, -1, 0), _MD, _GMO, b""],
    "a longer DataLength without a warning": [101, cbc(MESSAGE, 4000, 4), _MD, _GMO, b"data"],
    "a shorter DataLength": [101, cbc(MESSAGE, 3, 4), _MD, _GMO, b"data"],
    "a message without MQMD": [101, cbc(MESSAGE, 4), b"", _GMO, b"data"],
    "a message without MQGMO": [101, cbc(MESSAGE, 4), _MD, b"", b"data"],
    "an MQMD of another version": [101, cbc(MESSAGE, 4), _MD[:324], _GMO, b"data"],
    "an MQMD that is too long": [101, cbc(MESSAGE, 4), _MD + b"x", _GMO, b"data"],
    "an event with data": [101, cbc(EVENT, 4), b"", b"", b"data"],
    "a type of call that there is not": [101, cbc(77), b"", b"", b""],
}


class Consumer:
    """A message consumer on handle 101 and the peer that serves it: ``calls`` are answered one after the other."""

    def __init__(self, library: ctypes.CDLL, peer: Peer, calls: list[list[object]], *, owed: bool = False) -> None:
        self.calls = calls
        self.seen: list[tuple[int, int]] = []
        self._peer = peer
        self._owed = owed
        peer.answer = self._answer
        self.caller = Caller(library, mq.MQCNO_HANDLE_SHARE_BLOCK)
        self._function = CALLED(self._called)
        cbd = bytearray(168)
        struct.pack_into("<4siii", cbd, 0, b"CBD ", 1, 1, 0)
        struct.pack_into("<Q", cbd, 24, ctypes.cast(self._function, ctypes.c_void_p).value or 0)
        self._cbd = ctypes.create_string_buffer(bytes(cbd), 168)

    def register(self) -> tuple[int, int]:
        return self.caller("MQCB", self.caller.hconn, mq.MQOP_REGISTER, self._cbd, 101, None, None)

    def start_and_wait(self) -> tuple[int, int]:
        ctlo = ctypes.create_string_buffer(struct.pack("<4si", b"CTLO", 1).ljust(24, b"\0"), 24)
        return self.caller("MQCTL", self.caller.hconn, mq.MQOP_START_WAIT, ctlo)

    def _called(self, _hconn: int, _md: int, _gmo: int, _buffer: int, context: int) -> None:
        kind, reason = (
            struct.unpack_from("<i", ctypes.string_at(context, 64), 8)[0],
            ctypes.string_at(context, 64)[36:40],
        )
        self.seen.append((kind, int.from_bytes(reason, "little")))

    def _answer(self, verb: Verb, serial: int, values: list[Any]) -> bytes:
        if verb.name == "MQCB":
            return encode_reply(verb, serial, 0, 0, [101, 1])
        if verb.name == "CALLBACK" and bool(values[0]) != self._owed:
            return encode_reply(verb, serial, 0, 0, self.calls.pop(0) if self.calls else _NOTHING)
        if verb.name == "CALLBACK":
            return encode_reply(verb, serial, 0, 0, _NOTHING)
        return well_behaved(verb, serial, values)


@table("call", list(CALLS))
def test_what_is_no_call_ends_the_connection_and_the_callback_is_told(
    library: ctypes.CDLL, peer: Peer, call: str
) -> None:
    consumer = Consumer(library, peer, [[101, cbc(MESSAGE, 4), _MD, _GMO, b"good"], CALLS[call]])
    assert consumer.register() == OK
    assert consumer.start_and_wait() == BROKEN
    assert consumer.seen == [(MESSAGE, 0), (EVENT, mq.MQRC_CONNECTION_BROKEN)]
    assert consumer.caller.commit() == BROKEN
    consumer.caller.disconnect()


def test_a_message_is_never_owed(library: ctypes.CDLL, peer: Peer) -> None:
    consumer = Consumer(library, peer, [[101, cbc(MESSAGE, 4), _MD, _GMO, b"data"]], owed=True)
    assert consumer.register() == OK
    assert (consumer.seen, consumer.caller.commit()) == ([], BROKEN)
    consumer.caller.disconnect()


def test_an_mqcb_is_not_answered_for_another_callback(library: ctypes.CDLL, peer: Peer) -> None:
    consumer = Consumer(library, peer, [])
    peer.answer = lambda verb, serial, values: (
        encode_reply(verb, serial, 0, 0, [102, 1]) if verb.name == "MQCB" else well_behaved(verb, serial, values)
    )
    assert consumer.register() == BROKEN
    consumer.caller.disconnect()


# --- silence


def test_silence_in_the_middle_of_a_reply_is_the_end_of_the_connection(impatient_library: Path, peer: Peer) -> None:
    caller = Caller(ctypes.CDLL(str(impatient_library)))
    peer.answer = lambda verb, serial, _: HEADER.pack(8, verb.code, serial) + b"\0\0\0"
    assert caller.commit() == BROKEN
    caller.disconnect()

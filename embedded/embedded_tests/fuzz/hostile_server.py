"""A server that answers every verb of the table, plausibly or with what it makes of that.

It never sends the byte 0xA5, which the program fills its buffers with: where the program finds one among bytes that it was told
of, they did not come from here. A reply that is not a whole frame is the last one of its connection, so that nobody waits for
the rest.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
from typing import Any

from mqembedded import constants as mq
from mqembedded.wire.frames import (
    HEADER,
    HEARTBEAT,
    FrameError,
    FrameReader,
    decode_request,
    empty_reply_values,
    encode_reply,
)
from mqembedded.wire.verbs import CALLERS_OWN, STRUCTURE_FIELDS, Verb

CANARY = b"\xa5"
_INTERESTING = (0, 1, -1, 2, 4, 7, 8, 24, 100, 101, 4096, 65_536, 2**31 - 1, -(2**31), 2009, 2079)
_REASONS = (*_INTERESTING, 2465, 2469)
_MD = struct.pack("<4si", b"MD  ", 2).ljust(364, b"\0")
_GMO = struct.pack("<4si", b"GMO ", 4).ljust(112, b"\0")
_NO_CALL = [mq.MQHO_UNUSABLE_HOBJ, b"", b"", b"", b""]
_CONTROL_CALLS = (mq.MQCBCT_START_CALL, mq.MQCBCT_STOP_CALL, mq.MQCBCT_REGISTER_CALL, mq.MQCBCT_DEREGISTER_CALL)
_TYPES = {mq.MQTYPE_INT32: 4, mq.MQTYPE_INT64: 8, mq.MQTYPE_BOOLEAN: 4, mq.MQTYPE_INT8: 1, mq.MQTYPE_NULL: 0}


class HostileServer:
    """Serves until ``close``. Each connection has its share of replies that are spoiled.

    ``replies`` counts answers, ``spoiled`` those that are not plausible, by verb.
    """

    def __init__(self, seed: int, shares_spoiled: tuple[float, ...] = (0.01, 0.05, 0.3)) -> None:
        self.replies: dict[str, int] = {}
        self.spoiled: dict[str, int] = {}
        self._seed = seed
        self._shares_spoiled = shares_spoiled
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        number = 0
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            number += 1
            draw = random.Random(f"{self._seed}:{number}")
            threading.Thread(target=self._serve, args=(sock, draw), daemon=True).start()

    def _serve(self, sock: socket.socket, draw: random.Random) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        share = draw.choice(self._shares_spoiled)
        consumers: set[int] = set()
        has_heartbeats = False
        with sock, contextlib.suppress(OSError, FrameError):
            reader = FrameReader(sock)
            while (frame := reader.read()) is not None:
                code, serial, body = frame
                verb, values = decode_request(code, body)
                if verb.name == "WAKE":
                    continue
                sent = dict(zip((field.name for field in verb.request), values, strict=True))
                if verb.name == "CALLBACK" and sent["asked"] == 1 and draw.random() < 0.2 and reader.read() is None:
                    # Until it is woken, there is nothing to be called.
                    return
                self._count(self.replies, verb)
                if draw.random() < share:
                    self._count(self.spoiled, verb)
                    if not self._spoil(sock, draw, verb, serial, _plausible(draw, verb, sent, consumers)):
                        return
                else:
                    comp, reason, answer = _plausible(draw, verb, sent, consumers)
                    heartbeats = draw.choice((0, 0, 0, 1, 3, 700)) if has_heartbeats else 0
                    sock.sendall(HEARTBEAT * heartbeats + encode_reply(verb, serial, comp, reason, answer))
                    has_heartbeats |= verb.name == "MQCONNX" and answer[1] > 0

    def _count(self, counts: dict[str, int], verb: Verb) -> None:
        counts[verb.name] = counts.get(verb.name, 0) + 1

    def _spoil(
        self, sock: socket.socket, draw: random.Random, verb: Verb, serial: int, answer: tuple[int, int, list[Any]]
    ) -> bool:
        """Send what is no plausible reply; returns whether it is a whole frame, so that the connection goes on."""
        how = draw.random()
        comp, reason, values = answer
        if how < 0.7:
            if draw.random() < 0.15:
                comp = draw.choice(_INTERESTING)
            if draw.random() < 0.15:
                reason = draw.choice(_REASONS)
            for _ in range(draw.choice((1, 1, 1, 2, 4))):
                _spoil_field(draw, verb, values)
            sock.sendall(encode_reply(verb, serial, comp, reason, values))
            return True
        frame = bytearray(encode_reply(verb, serial, comp, reason, values))
        if how < 0.8:
            for _ in range(draw.choice((1, 2, 8))):
                frame[draw.randrange(len(frame))] = _byte(draw)
        elif how < 0.88:
            del frame[draw.randrange(len(frame)) :]
        elif how < 0.94:
            frame[:4] = struct.pack("<i", draw.choice(_INTERESTING))
        else:
            extra = _bytes(draw, draw.choice((1, 7, 100, 70_000)))
            frame += extra
            if draw.random() < 0.5:
                frame[:4] = struct.pack("<I", len(frame) - HEADER.size)
        sock.sendall(frame)
        sock.shutdown(socket.SHUT_RDWR)
        return False


def _byte(draw: random.Random) -> int:
    byte = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
    return 0 if byte == CANARY[0] else byte


def _bytes(draw: random.Random, length: int) -> bytes:
    return draw.randbytes(length).replace(CANARY, b"\x5a")


def _length(draw: random.Random, most: int) -> int:
    return draw.choice((0, 1, most // 2, most, draw.randint(0, most))) if most > 0 else 0


def _charv_room(structure: bytes, at: int) -> int:
    pointer, offset, size = struct.unpack_from("<Qii", structure, at)
    return max(0, size) if pointer or offset else 0


def _with_text(draw: random.Random, structure: bytes, at: int, longer: int = 5) -> tuple[bytes, bytes]:
    """Return a structure that tells of a text in its MQCHARV at an offset, and as much of it as there is room for.

    It may be longer than that by ``longer``.
    """
    if len(structure) < at + 24:
        return structure, b""
    room = _charv_room(structure, at)
    length = draw.choice((0, room, room // 2, room + longer)) if room else draw.choice((0, longer))
    text = _bytes(draw, min(length, room))
    return structure[: at + 16] + struct.pack("<ii", length, 1208) + structure[at + 24 :], text


def _plausible(
    draw: random.Random, verb: Verb, sent: dict[str, Any], consumers: set[int]
) -> tuple[int, int, list[Any]]:
    """Return codes and values that an honest server might answer; ``consumers`` are the handles with a callback."""
    if draw.random() < 0.1 and verb.name not in ("CALLBACK", "MQCB"):
        return mq.MQCC_FAILED, draw.choice((2033, 2085, 2019, 2161)), empty_reply_values(verb)
    reply: dict[str, Any] = dict(zip((field.name for field in verb.reply), empty_reply_values(verb), strict=True))
    for name in reply:
        if name in STRUCTURE_FIELDS and name in sent:
            reply[name] = sent[name]
    comp = reason = 0
    if verb.name == "MQCONNX":
        reply["connection_id"] = _bytes(draw, 24)
        reply["heartbeat"], reply["sharing"] = draw.choice((0, 1, 300)), draw.choice((0, 10))
    elif verb.name in ("MQOPEN", "MQPUT1"):
        reply["od"], reply["res_object_string"] = _with_text(draw, sent["od"], 392)
        if verb.name == "MQOPEN":
            reply["hobj"], reply["put_response"] = draw.randint(101, 104), draw.choice((0, 1, 1, 2))
    elif verb.name == "MQGET":
        room = max(0, sent["buffer_length"])
        whole = _length(draw, room + (50 if draw.random() < 0.3 else 0))
        comp, reason = (mq.MQCC_WARNING, 2080) if whole > room else (0, 0)
        reply["data_length"], reply["data"] = whole, _bytes(draw, min(whole, room))
        if len(sent["gmo"]) >= 100:
            reply["gmo"] = sent["gmo"][:96] + struct.pack("<i", len(reply["data"])) + sent["gmo"][100:]
    elif verb.name == "MQINQ":
        integers = [each for (each,) in struct.iter_unpack("<i", sent["selectors"]) if 1 <= each <= 2000]
        reply["int_attrs"] = _bytes(draw, 4 * min(len(integers), max(0, sent["int_attr_count"])))
        reply["char_attrs"] = _bytes(draw, _length(draw, max(0, sent["char_attr_length"])))
    elif verb.name == "MQSUB":
        sd, reply["sub_user_data"] = _with_text(draw, sent["sd"], 168)
        reply["sd"], reply["res_object_string"] = _with_text(draw, sd, 320)
        reply["hobj"], reply["hsub"] = draw.randint(101, 104), draw.randint(200, 204)
    elif verb.name == "MQCB":
        handler = len(sent["cbd"]) >= 12 and sent["cbd"][8:12] == b"\2\0\0\0"
        hobj = 0 if handler else sent["hobj"]
        registers = sent["operation"] & mq.MQOP_REGISTER
        (consumers.add if registers else consumers.discard)(hobj)
        reply["hobj"], reply["registered"] = hobj, int(hobj in consumers)
    elif verb.name == "MQCRTMH":
        reply["hmsg"] = draw.randint(1, 2**40)
    elif verb.name == "MQINQMP":
        kind = draw.choice([*_TYPES, mq.MQTYPE_STRING, mq.MQTYPE_BYTE_STRING])
        length = _TYPES.get(kind, _length(draw, max(0, sent["value_length"])))
        if sent["impo"]:
            reply["impo"], reply["returned_name"] = _with_text(draw, sent["impo"], 32, longer=0)
        room = max(0, sent["value_length"])
        comp, reason = (mq.MQCC_FAILED, mq.MQRC_PROPERTY_VALUE_TOO_BIG) if length > room else (0, 0)
        reply["type"], reply["data_length"], reply["value"] = kind, length, _bytes(draw, min(length, room))
    elif verb.name == "IDENTIFIERS":
        reply["first"], reply["at"], reply["count"] = (
            b"AMQ " + _bytes(draw, 20),
            draw.choice((0, 16)),
            draw.randint(1, 40),
        )
        reply["context"] = _bytes(draw, 68)
    elif verb.name == "CALLBACK":
        return 0, 0, _call(draw, sent["asked"], consumers)
    elif verb.name == "MQCLOSE":
        consumers.discard(sent["hobj"])
    return comp, reason, list(reply.values())


def _call(draw: random.Random, asked: int, consumers: set[int]) -> list[Any]:
    """Return a callback to be made: of a message if they were asked for, a control call seldom, or none."""
    if not consumers or draw.random() < (0.1 if asked == 1 else 0.7):
        return list(_NO_CALL)
    hobj = draw.choice(sorted(consumers))
    kinds = [*_CONTROL_CALLS] if asked != 1 else [*_CONTROL_CALLS, mq.MQCBCT_EVENT_CALL]
    if hobj and asked == 1:
        kinds += [mq.MQCBCT_MSG_REMOVED, mq.MQCBCT_MSG_NOT_REMOVED] * 5
    kind = draw.choice(kinds)
    with_message = kind in (mq.MQCBCT_MSG_REMOVED, mq.MQCBCT_MSG_NOT_REMOVED)
    data = _bytes(draw, _length(draw, 300)) if with_message else b""
    length = len(data) + (draw.choice((0, 0, 9)) if with_message else 0)
    comp, reason = (1, 2079) if length > len(data) else (0, 0)
    cbc = struct.pack("<4siiiqqiiiiiiii", b"CBC ", 2, kind, hobj, 0, 0, comp, reason, 0, length, len(data), 0, 0, 0)
    return [hobj, cbc, *((_MD, _GMO) if with_message else (b"", b"")), data]


def _spoil_field(draw: random.Random, verb: Verb, values: list[Any]) -> None:
    if not values:
        return
    at = draw.randrange(len(values))
    kind, value = verb.reply[at].kind, values[at]
    if kind == "i32":
        values[at] = draw.choice((*_INTERESTING, value + 1 if value < 2**31 - 1 else 0))
    elif kind == "i64":
        values[at] = draw.choice((*_INTERESTING, 2**63 - 1, -(2**63)))
    elif draw.random() < 0.5 and len(value) > 8 and CALLERS_OWN.get(STRUCTURE_FIELDS.get(verb.reply[at].name, "")):
        values[at] = _with_a_pointer(draw, value, CALLERS_OWN[STRUCTURE_FIELDS[verb.reply[at].name]])
    else:
        values[at] = _spoiled_blob(draw, value)


def _with_a_pointer(draw: random.Random, structure: bytes, owned: tuple[tuple[int, int], ...]) -> bytes:
    """Return a structure with something else where the caller's pointers, offsets and room are."""
    at, length = draw.choice(owned)
    if at + length > len(structure):
        return structure
    return structure[:at] + _bytes(draw, length) + structure[at + length :]


def _spoiled_blob(draw: random.Random, value: bytes) -> bytes:
    how = draw.random()
    if how < 0.2 or not value:
        return _bytes(draw, draw.choice((0, 1, 4, 8, 24, len(value) + 1, 324, 364, 424, 5_000)))
    if how < 0.3:
        return value[: draw.randrange(len(value))]
    if how < 0.4:
        return value + _bytes(draw, draw.choice((1, 4, 100)))
    spoiled = bytearray(value)
    for _ in range(draw.choice((1, 1, 3, 10))):
        if draw.random() < 0.6 and len(spoiled) >= 4:
            place = draw.randrange(len(spoiled) // 4) * 4
            spoiled[place : place + 4] = struct.pack("<i", draw.choice(_INTERESTING))
        else:
            spoiled[draw.randrange(len(spoiled))] = _byte(draw)
    return bytes(spoiled)

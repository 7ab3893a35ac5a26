"""Messages, replies and manifests of somebody who wants to stop, fill or deceive the program that gets them.

Nearly all of it is valid for a queue manager: the rest is refused at MQPUT. Names, texts and numbers are chosen for what they are
converted to: a file's name, a number, a time, a line of a log.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from mqembedded import constants as mq

WORDS = [
    "", "a.csv", "../../etc/x", "/etc/x", "-rf", ".x", "quarantine", "a\nb", "2026-01-01 ERROR forged",
    "\x1b]0;pwned\x07", "gpj\u202eexe", "\N{EURO SIGN}", "\N{GRINNING FACE}" * 50, "x" * 300, "=cmd|'/c calc'!A1",
    'a,b"c', "%s %n {0}", "[/bold][link=x]", "inf", "-inf", "nan", "1e999", "9" * 30, "9" * 5000, "-5", "0", "7",
    "TRUE", "00FF", "0" * 64, "9" * 19, "\N{ARABIC-INDIC DIGIT SEVEN}", "&#0;", "&#xD800;", "&amp;lt;", "]]>", "'",
    "C:\\x\\..\\..", "\ufffd", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
]  # fmt: skip
_PROPERTIES = [
    "mqgroups.Name", "mqgroups.Reason", "mqgroups.FileBytes", "mqgroups.FileModifiedMs", "mqgroups.FileSha256",
    "WMQFTEFileName", "WMQFTEFileSize", "WMQFTEFileLastModified", "WMQFTEResultCode", "WMQFTESupplement",
    "UserReturnCode", "UserSupplement", "traceparent", "tracestate", "colour", "a$b",
]  # fmt: skip
_FOLDERS = ["usr", "usr", "mqgroups", "jms", "mcd", "mq_usr", "mqps", "mqext", "shop", "f" * 300]
_TYPES = ["", "string", "i4", "i8", "int", "boolean", "bin.hex", "r4", "r8", "r8", "other"]
_BODIES = [
    b"", b"a", b'{"a": 1}', b'{"item": "\\ud800"}', b'"\\ud800"', b"[" * 100_000, b"1e999", b"9" * 5000, b"NaN",
    b"\xff\xfe", b"\x85\xa2", b"TRAILER,1", b"TRAILER," + b"9" * 5000, b'{"TRAILER": 9223372036854775808}',
    b'{"a":' * 2000, b'"', b"a,b\n\x1b[2J", b"\0" * 100,
]  # fmt: skip
_CCSIDS = [1208, 1208, 819, 37, 500, 930, 1200, 13488, 850, 0, -2, -1, 65535, 99999]
_ENCODINGS = [546, 546, 273, 785, 0, -1, 0x7FFFFFFF]
# The queue that nobody may put to but the readers.
VICTIM = "FUZZ.VICTIM"
_REPORTS = [
    mq.MQRO_COA_WITH_FULL_DATA, mq.MQRO_COD_WITH_FULL_DATA, mq.MQRO_EXPIRATION_WITH_FULL_DATA,
    mq.MQRO_EXCEPTION_WITH_FULL_DATA, mq.MQRO_ACTIVITY, mq.MQRO_PAN | mq.MQRO_NAN, mq.MQRO_DISCARD_MSG,
    mq.MQRO_PASS_MSG_ID, mq.MQRO_PASS_CORREL_ID, mq.MQRO_PASS_DISCARD_AND_EXPIRY,
]  # fmt: skip
_IN, _LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP
_SEGMENT, _LAST_SEGMENT = mq.MQMF_SEGMENT, mq.MQMF_LAST_SEGMENT
_LONG = 4_000_000


@dataclass(frozen=True)
class Hostile:
    """A message: the fields of its descriptor that are not the default, and its data."""

    data: bytes
    fields: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"{len(self.data)} bytes {self.data[:60]!r} {self.fields}"


def messages(draw: random.Random) -> list[Hostile]:
    """Return the messages of one example: some groups, whole or not, and messages outside groups; sometimes a very long one."""
    found: list[Hostile] = []
    for number in range(draw.choice((1, 1, 2, 3))):
        found += _group(draw, bytes([draw.randrange(256), number]) * 12)
    if found and draw.random() < 0.1:
        # The same GroupId comes again.
        found += _group(draw, found[0].fields["GroupId"])
    if draw.random() < 0.2:
        found.append(Hostile(*_data(draw)))
    if draw.random() < 0.2:
        draw.shuffle(found)
    return found


def _group(draw: random.Random, group_id: bytes) -> Iterator[Hostile]:
    places = list(draw.choice(_SHAPES)(draw))
    priority, persistence = draw.choice((0, 4, 9)), draw.choice((0, 1))
    end = 0
    for number, (seq, offset, flags, behind) in enumerate(places):
        # Only in front of the first part a header is likely, as with a queue manager's properties.
        data, fields = _data(draw, header=0.8 if number == 0 else 0.1)
        offset = max(0, end + offset) if behind else offset
        fields |= {"GroupId": group_id, "MsgSeqNumber": seq, "Offset": offset, "MsgFlags": flags}
        if draw.random() < 0.9:
            fields |= {"Priority": priority, "Persistence": persistence}
        if number == len(places) - 1 and draw.random() < 0.15:
            code = draw.choice((mq.MQFB_APPL_FIRST, mq.MQFB_APPL_FIRST + 7, 999_999_999, mq.MQFB_NONE))
            data, said = _headers(draw, b"") if draw.random() < 0.7 else (b"", fields)
            fields |= {**said, "MsgType": mq.MQMT_REPORT, "Feedback": code}
        end = offset + len(data)
        yield Hostile(data, fields)


# Sequence number, offset, flags; and whether the offset counts from the end of the message before.
_Place = tuple[int, int, int, bool]


def _whole(draw: random.Random) -> Iterator[_Place]:
    count = draw.choice((1, 1, 2, 5))
    for seq in range(1, count + 1):
        yield seq, 0, _IN | (_LAST if seq == count else 0), False


def _segments(draw: random.Random) -> Iterator[_Place]:
    count = draw.choice((1, 2, 4))
    for number in range(count):
        gap = draw.choice((0, 0, 0, 0, 3, -1)) if number else 0
        yield 1, gap, _IN | _LAST | _SEGMENT | (_LAST_SEGMENT if number == count - 1 else 0), True


def _without_some(draw: random.Random) -> Iterator[_Place]:
    yield from (place for place in [*_whole(draw), *_segments(draw)] if draw.random() < 0.7)


def _doubled(draw: random.Random) -> Iterator[_Place]:
    for place in _whole(draw):
        yield place
        if draw.random() < 0.5:
            yield place


def _any_place(draw: random.Random) -> Iterator[_Place]:
    for _ in range(draw.choice((1, 2, 4))):
        yield (
            draw.choice((1, 1, 2, 3, 999_999_999)),
            draw.choice((0, 0, 1, 100, 999_999_999)),
            draw.choice(
                (_IN, _IN | _LAST, _LAST, _IN | _SEGMENT, _SEGMENT, _LAST_SEGMENT, _IN | _LAST | _LAST_SEGMENT, 0)
            ),
            False,
        )


_SHAPES: list[Callable[[random.Random], Iterator[_Place]]] = [
    _whole,
    _whole,
    _whole,
    _segments,
    _without_some,
    _doubled,
    _any_place,
]


def _data(draw: random.Random, header: float = 0.5) -> tuple[bytes, dict[str, Any]]:
    body = draw.choice(_BODIES) if draw.random() < 0.98 else draw.randbytes(1000) * (_LONG // 1000)
    fields: dict[str, Any] = {
        "Format": draw.choice(
            (mq.MQFMT_STRING, mq.MQFMT_STRING, mq.MQFMT_NONE, mq.MQFMT_DEAD_LETTER_HEADER, b"\xff\xfe\x1b     ")
        ),
        "CodedCharSetId": draw.choice(_CCSIDS),
        "Encoding": draw.choice(_ENCODINGS),
        "PutApplName": draw.choice(WORDS).encode()[:28],
        "PutDate": draw.choice((b"20261231", b"99999999", b"", b"2026\n\x1b[2J")),
        "PutTime": draw.choice((b"23595999", b"99999999", b"", b"\xff" * 8)),
        "ReplyToQ": draw.choice((*WORDS, *[VICTIM] * len(WORDS))).encode()[:48],
        "Report": draw.choice((0, draw.choice(_REPORTS) | draw.choice(_REPORTS))),
        "Expiry": draw.choice((-1, -1, -1, -1, 1, 2, 100, 999_999_999)),
        "MsgType": draw.choice((8, 8, 8, 8, 1, 2, 4, 65536)),
        "UserIdentifier": draw.choice(WORDS).encode()[:12],
        "CorrelId": draw.randbytes(24),
    }
    if draw.random() < 0.02:
        fields["Report"] = draw.getrandbits(31)
    if draw.random() < header:
        body, said = _headers(draw, body)
        fields |= said
    return body, fields


def _headers(draw: random.Random, body: bytes) -> tuple[bytes, dict[str, Any]]:
    """Return data with headers in front of it, and the fields of the descriptor that tell of the first."""
    # What is said of the data behind: its encoding, CCSID and format.
    behind = 546, 1208, draw.choice((mq.MQFMT_STRING, mq.MQFMT_NONE))
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        encoding = draw.choice((546, 546, 273))
        order = "<" if encoding == 546 else ">"
        if draw.random() < 0.1:
            body = _dead_letter_header(draw, order, *behind) + body
            behind = encoding, 1208, mq.MQFMT_DEAD_LETTER_HEADER
        else:
            body = _rfh2(draw, order, *behind) + body
            behind = encoding, 1208, mq.MQFMT_RF_HEADER_2
    return body, dict(zip(("Encoding", "CodedCharSetId", "Format"), behind, strict=True))


def _dead_letter_header(draw: random.Random, order: str, encoding: int, ccsid: int, format_name: bytes) -> bytes:
    words = draw.choice(WORDS).encode()
    queue, by = words[:48].ljust(48), words[:28].ljust(28)
    fields = (b"DLH ", 1, 2085, queue, queue, encoding, ccsid, format_name, 28, by, b"20260101", b"00000000")
    return struct.pack(order + "4sii48s48sii8si28s8s8s", *fields)


def _rfh2(draw: random.Random, order: str, encoding: int, ccsid: int, format_name: bytes) -> bytes:
    """Return an MQRFH2, mostly a valid one."""
    characters, name_value_ccsid = "utf-8", 1208
    if draw.random() < 0.1:
        characters, name_value_ccsid = ("utf-16-le" if order == "<" else "utf-16-be"), 1200
    variable = b""
    for _ in range(draw.choice((0, 1, 1, 1, 2, 5))):
        text = folder(draw)
        # Blanks fill the folder up to a multiple of four bytes.
        while len(raw := text.encode(characters)) % 4:
            text += " "
        length = draw.choice((len(raw) + 4, 0, -4, 0x7FFFFFFF)) if draw.random() < 0.02 else len(raw)
        variable += struct.pack(order + "i", length) + raw
    total = draw.choice((0, 35, 36, -1, 36 + len(variable) + 4)) if draw.random() < 0.02 else 36 + len(variable)
    version = draw.choice((1, 3)) if draw.random() < 0.02 else 2
    fixed = struct.pack(order + "4i8s2i", version, total, encoding, ccsid, format_name, 0, name_value_ccsid)
    return b"RFH " + fixed + variable


def folder(draw: random.Random) -> str:
    """Return the text of a folder: properties with names that mean something, or a text that is hard to read."""
    how = draw.random()
    if how < 0.03:
        return draw.choice(_LARGE)(draw)
    name = draw.choice(_FOLDERS)
    content = " content='properties'" if draw.random() < 0.7 else ""
    text = f"<{name}{content}>{''.join(_element(draw, name) for _ in range(draw.choice((0, 1, 3, 8))))}</{name}>"
    if how < 0.08:
        # Spoil it.
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice(("", "<", ">", "'", "</", "&", "\0")) + text[at + 1 :]
    return text


def _element(draw: random.Random, in_folder: str, depth: int = 0) -> str:
    name = draw.choice(_PROPERTIES)
    if in_folder == "mqgroups":
        name = name.removeprefix("mqgroups.")
    if draw.random() < 0.1 and depth < 4:
        return f"<{name}>{_element(draw, in_folder, depth + 1)}</{name}>"
    kind = draw.choice(_TYPES)
    attributes = f" dt='{kind}'" if kind else ""
    if draw.random() < 0.03:
        attributes += " xsi:nil='true'"
    text = draw.choice(WORDS)
    if draw.random() < 0.9:
        text = text.replace("<", "&lt;")
    return f"<{name}{attributes}>{text}</{name}>"


def _nested(draw: random.Random) -> str:
    depth, name = draw.choice((10, 200, 3000)), "g" * draw.choice((1, 20, 400))
    elements = "".join(f"<e{number}/>" for number in range(draw.choice((10, 2000, 50_000))))
    return f"<usr>{f'<{name}>' * depth}{elements}{f'</{name}>' * depth}</usr>"


_LARGE: list[Callable[[random.Random], str]] = [
    _nested,
    lambda draw: f"<usr>{'<a/>' * draw.choice((9_000, 200_000))}</usr>",
    lambda draw: f"<usr><a{''.join(f' a{n}=``' for n in range(draw.choice((100, 100_000))))}/></usr>".replace("`", "'"),
    lambda draw: f"<usr><mqgroups.Name>{draw.choice(WORDS) or 'x'}{'y' * _LONG}</mqgroups.Name></usr>",
    lambda draw: f"<usr><a dt='{draw.choice(_TYPES)}'>{'1' * draw.choice((1000, 900_000))}</a></usr>",
    lambda _: f"<usr><mqgroups.Name>\N{GRINNING FACE}{'y' * 900_000}</mqgroups.Name></usr>",
    lambda _: f"<usr><a>{'&#999;' * 150_000}</a></usr>",
    lambda _: "<usr>" + "<a b='\" c=\"' " * 70_000 + "</usr>",
]


# --- what the library reads from other queues

_NUMBERS = [0, 1, 2, 3, 8, 12, 24, -1, 100, 65_536, 10**8, 0x7FFFFFFF, -0x80000000]
_STRUCTURES = [3, 4, 5, 6, 6, 6, 9, 20, 23, 0]
_IDENTIFIERS = [1017, 1027, 3011, 3014, 3025, 7003, 7004]


def reply(draw: random.Random, order: str) -> bytes:
    """Return a PCF message that a command server might answer, with some numbers that are not true."""
    structures = b"".join(_structure(draw, order) for _ in range(draw.choice((0, 1, 1, 3))))
    count = draw.choice((1, 1, 3, *_NUMBERS))
    length = 36 if draw.random() < 0.9 else draw.choice(_NUMBERS)
    header = struct.pack(order + "9i", draw.choice((2, 17, 18, 19)), length, 1, 18, 1, draw.choice((0, 1)), 0, 0, count)
    data = header + structures
    return data[: draw.randrange(len(data))] if draw.random() < 0.1 else data


def _structure(draw: random.Random, order: str) -> bytes:
    numbers = [draw.choice(_NUMBERS) for _ in range(draw.choice((0, 1, 2, 3, 3)))]
    body = struct.pack(f"{order}{len(numbers)}i", *numbers) + draw.choice((b"", b"ABCD", b"\xff" * 48, b"Q" * 4000))
    length = 12 + len(body) if draw.random() < 0.9 else draw.choice(_NUMBERS)
    return struct.pack(order + "3i", draw.choice(_STRUCTURES), length, draw.choice(_IDENTIFIERS)) + body


def manifest(draw: random.Random, part: dict[str, Any]) -> bytes:
    """Return a part of a manifest with some values that are not true."""
    found = dict(part)
    for _ in range(draw.choice((1, 1, 2))):
        wrong: list[Any] = [
            *_NUMBERS,
            10**100,
            -0.5,
            None,
            True,
            "",
            [],
            {},
            "f" * 32,
            draw.choice(WORDS),
            _groups(draw),
        ]
        name = draw.choice((*part, "groups", "bundles", "missed", "begun", "removed", "read"))
        found[name] = _groups(draw) if name == "groups" and draw.random() < 0.7 else draw.choice(wrong)
    data = json.dumps(found).encode()
    return data if draw.random() < 0.9 else draw.choice([*_BODIES, data[: draw.randrange(len(data))]])


def _groups(draw: random.Random) -> list[Any]:
    key = (
        draw.choice("GM")
        + "A" * draw.choice((32, 64))
        + "2026010100000000"
        + draw.choice(("", "7", "9" * 10, "9" * 5000))
    )
    return [[key, draw.choice(_NUMBERS)] for _ in range(draw.choice((0, 1, 3)))]

"""Properties in an MQRFH2 in front of the data."""

from __future__ import annotations

import struct

from embedded_tests.tables import table
from mqgroups.spark.rows import Headed, taken_off


def header(*folders, order="<", format_name=b"MQSTR   ", length=None):
    variable = b""
    for folder in folders:
        raw = folder.encode()
        raw = raw.ljust(-len(raw) % 4 + len(raw))
        variable += struct.pack(order + "i", len(raw)) + raw
    length = 36 + len(variable) if length is None else length
    return struct.pack(order + "4siiii8sii", b"RFH ", 2, length, 546, 1208, format_name, 0, 1208) + variable


@table(("order", "encoding"), [("<", 546), (">", 273)])
def test_a_header_is_taken_off_and_read_in_either_byte_order(order, encoding):
    data = header("<usr><colour>green</colour></usr>", order=order) + b"the data"
    assert taken_off(data, encoding, 1208) == Headed(b"the data", 546, 1208, "MQSTR", {"colour": b"green"})


@table(
    ("folder", "properties"),
    [
        ("<usr><n dt='i4'>7</n><b dt='boolean'>1</b></usr>", {"n": b"7", "b": b"1"}),
        ("<usr><raw dt='bin.hex'>00FF</raw></usr>", {"raw": b"\x00\xff"}),
        ("<usr><raw dt='bin.hex'>0</raw></usr>", {"raw": b"0"}),
        ("<usr><nothing xsi:nil='true'></nothing></usr>", {"nothing": None}),
        ("<usr><text>&lt;ä&gt;</text></usr>", {"text": "<ä>".encode()}),
        ("<jms><Dst>queue:///Q</Dst></jms>", {"jms.Dst": b"queue:///Q"}),
        ("<a><b><c>1</c></b></a>", {"a.b.c": b"1"}),
        ("<usr></usr>", {}),
        ("no XML at all", {}),
        ("<!DOCTYPE x [<!ENTITY e 'x'>]><usr><a>&e;</a></usr>", {}),
    ],
)
def test_what_a_folder_says(folder, properties):
    headed = taken_off(header(folder), 546, 1208)
    assert headed is not None
    assert headed.properties == properties


def test_several_folders_are_one_set_of_properties():
    headed = taken_off(header("<usr><a>1</a></usr>", "<mcd><Msd>jms_text</Msd></mcd>"), 546, 1208)
    assert headed is not None
    assert headed.properties == {"a": b"1", "mcd.Msd": b"jms_text"}


@table(
    "data",
    [
        b"",
        b"RFH ",
        b"MD  " + bytes(40),
        header("<usr></usr>", length=20),
        header("<usr></usr>", length=10_000),
        header("<usr></usr>").replace(struct.pack("<i", 12), struct.pack("<i", 16)),
        header("<usr></usr>").replace(struct.pack("<i", 12), struct.pack("<i", -1)),
    ],
)
def test_what_is_no_header_stays_data(data):
    assert taken_off(data, 546, 1208) is None

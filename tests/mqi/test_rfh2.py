"""The MQRFH2 in front of a message, read; and trace context taken out of it.

Layout: IBM MQ Developing applications reference, topic MQRFH2: StrucId, Version, StrucLength, Encoding, CodedCharSetId, Format,
Flags, NameValueCCSID, then each folder behind its length, padded to a multiple of four.
"""

from __future__ import annotations

import struct

import pytest

from mqgroups.mqi import constants as mq
from mqgroups.mqi import rfh2
from mqgroups.mqi import structures as st
from mqgroups.telemetry.context import without_context

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def header(*folders, order="<", struc_id=b"RFH ", version=2, ccsid=819, format_=b"MQSTR   ", name_value_ccsid=1208):
    variable = b""
    for folder in folders:
        raw = folder.encode()
        raw += b" " * (-len(raw) % 4)
        variable += struct.pack(order + "i", len(raw)) + raw
    fixed = struct.pack(order + "4i", version, 36 + len(variable), 273, ccsid)
    return struc_id + fixed + format_ + struct.pack(order + "2i", 0, name_value_ccsid) + variable


def md(encoding=mq.MQENC_REVERSED, ccsid=1208, format_name=mq.MQFMT_RF_HEADER_2):
    return st.describing(bytes(st.md()), encoding, ccsid, format_name)


@pytest.mark.parametrize(
    ("order", "encoding"), [("<", mq.MQENC_REVERSED), (">", mq.MQENC_NORMAL), (">", mq.MQENC_S390)]
)
def test_a_header_is_read_in_the_encoding_of_its_descriptor(order, encoding):
    found = rfh2.leading(md(encoding), header("<mcd><Msd>none</Msd></mcd>", "<usr></usr>", order=order) + b"data")
    assert found == rfh2.Header(36 + 32 + 16, 273, 819, b"MQSTR   ", (b"<mcd><Msd>none</Msd></mcd>", b"<usr></usr>"))


def test_a_header_of_zos_is_read():
    data = header("<usr></usr>", order=">", struc_id="RFH ".encode("cp500"), format_="MQSTR   ".encode("cp500"))
    found = rfh2.leading(md(mq.MQENC_S390, 500), data)
    assert found is not None
    assert (found.format_name, found.folders) == (b"MQSTR   ", (b"<usr></usr>",))


def test_a_format_that_is_no_text_is_no_error():
    found = rfh2.leading(md(), header(format_=b"\xff\xfe      "))
    assert found is not None
    assert found.length == 36


def test_a_character_set_that_is_inherited_is_that_of_the_descriptor():
    found = rfh2.leading(md(ccsid=850), header(ccsid=mq.MQCCSI_INHERIT))
    assert found is not None
    assert found.ccsid == 850


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"RFH ",
        header()[:35],
        header("<usr></usr>")[:-1],
        header(struc_id=b"RFH1"),
        header(version=1),
        header(name_value_ccsid=1200),
        header()[:8] + struct.pack("<i", 35) + header()[12:],
        header()[:8] + struct.pack("<i", -1) + header()[12:],
        header("<usr></usr>")[:36] + struct.pack("<i", 16) + b"<usr></usr> ",
        header("<usr></usr>")[:36] + struct.pack("<i", -4) + b"<usr></usr> ",
    ],
)
def test_what_is_no_header_is_data(data):
    assert rfh2.leading(md(), data) is None
    assert without_context(md(), data) is None


@pytest.mark.parametrize("format_name", [mq.MQFMT_NONE, mq.MQFMT_STRING, mq.MQFMT_RF_HEADER_1])
def test_what_the_descriptor_does_not_say_is_no_header(format_name):
    data = header(f"<usr><traceparent>{PARENT}</traceparent></usr>") + b"data"
    assert rfh2.leading(md(format_name=format_name), data) is None


def test_context_alone_is_taken_out_with_its_header():
    data = header(f"<usr><traceparent>{PARENT}</traceparent><tracestate>v=a&amp;b&lt;c</tracestate></usr>") + b"data"
    found = without_context(md(), data)
    assert found is not None
    shown, body, carried = found
    assert body == b"data"
    assert (st.long_at(shown, st.MD_ENCODING), st.long_at(shown, st.MD_CODED_CHAR_SET_ID)) == (273, 819)
    assert shown[st.MD_FORMAT] == b"MQSTR   "
    assert carried == (PARENT, "v=a&b<c", md(), data)


@pytest.mark.parametrize(
    "folders",
    [
        (f"<usr><traceparent>{PARENT}</traceparent><colour>green</colour></usr>",),
        (f"<usr><traceparent dt='string'>{PARENT}</traceparent></usr>", "<shop content='properties'><a>1</a></shop>"),
        ("<mcd><Msd>jms_text</Msd></mcd>", f"<usr><traceparent>{PARENT}</traceparent></usr>"),
    ],
)
def test_context_among_other_things_is_read_and_left(folders):
    data = header(*folders) + b"data"
    found = without_context(md(), data)
    assert found is not None
    assert (found[0], found[1], found[2].traceparent) == (md(), data, PARENT)


@pytest.mark.parametrize(
    "folder",
    [
        "<usr><colour>green</colour></usr>",
        f"<shop><traceparent>{PARENT}</traceparent></shop>",
        f"<usr><parent>{PARENT}</parent></usr>",
        f"<usr><traceparent>{PARENT}</traceparent>",
        f"<usr><traceparent>{PARENT}</tracestate></usr>",
        "<usr><traceparent></traceparent></usr>",
        "<usr><tracestate>v=1</tracestate></usr>",
    ],
)
def test_what_is_no_context_is_left_alone(folder):
    assert without_context(md(), header(folder) + b"data") is None


def test_characters_that_are_no_utf_8_break_nothing():
    data = header("<usr><traceparent>xxxx</traceparent></usr>").replace(b"xxxx", b"\xff\xfe\xfd\xfc")
    assert without_context(md(), data) is None

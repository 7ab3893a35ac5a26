"""The MQRFH2 headers in front of a message, read; and message properties taken off.

Layout: IBM MQ Developing applications reference, topic MQRFH2: StrucId, Version, StrucLength, Encoding, CodedCharSetId, Format,
Flags, NameValueCCSID, then each folder behind its length, padded to a multiple of four.
"""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as hypothesis
from opentelemetry import trace
from opentelemetry.context import Context

from embedded_tests.tables import table
from mqembedded import constants as mq
from mqgroups.mqi import rfh2
from mqgroups.mqi import structures as st
from mqgroups.mqi.property_folders import values
from mqgroups.telemetry.context import PROPAGATOR, in_folders, in_header, link, of_span

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


def leading(descriptor, data):
    return rfh2.header(data, *rfh2.described_by(descriptor)[:2])


@table(("order", "encoding"), [("<", mq.MQENC_REVERSED), (">", mq.MQENC_NORMAL), (">", mq.MQENC_S390)])
def test_a_header_is_read_in_the_encoding_of_its_descriptor(order, encoding):
    found = leading(md(encoding), header("<mcd><Msd>none</Msd></mcd>", "<usr></usr>", order=order) + b"data")
    assert found is not None
    assert (found.length, found.describes) == (36 + 32 + 16, (273, 819, b"MQSTR   "))
    assert found.folders == ("<mcd><Msd>none</Msd></mcd>", "<usr></usr>")


def test_a_header_of_zos_is_read():
    data = header("<usr></usr>", order=">", struc_id="RFH ".encode("cp500"), format_="MQSTR   ".encode("cp500"))
    found = leading(md(mq.MQENC_S390, 500), data)
    assert found is not None
    assert (found.describes.format_name, found.folders) == (b"MQSTR   ", ("<usr></usr>",))


def test_a_nul_ends_the_name_of_a_format():
    """MQRFH2's Format: "the rules for coding this field are the same as those for the Format field in MQMD"."""
    two = (
        header("<mcd></mcd>", format_=b"MQHRF2\0\0") + header("<usr></usr>", order=">", format_=b"MQSTR\0xx") + b"data"
    )
    for name in (mq.MQFMT_RF_HEADER_2, b"MQHRF2\0\xff"):
        got = rfh2.without_properties(md(format_name=name), two)
        assert got is not None
        assert (got[0][st.MD_FORMAT], got[1]) == (mq.MQFMT_STRING, b"data")
        assert got[2].folders == ("<mcd></mcd>", "<usr></usr>")


def test_a_format_that_is_no_text_is_no_error():
    found = leading(md(), header(format_=b"\xff\xfe      "))
    assert found is not None
    assert found.length == 36


def test_a_character_set_that_is_inherited_is_that_of_the_descriptor():
    found = leading(md(ccsid=850), header(ccsid=mq.MQCCSI_INHERIT))
    assert found is not None
    assert found.describes.ccsid == 850


@table(
    "data",
    [
        b"",
        b"RFH ",
        header()[:35],
        header("<usr></usr>")[:-1],
        header(struc_id=b"RFH1"),
        header(version=1),
        header(name_value_ccsid=850),
        header("<usr></usr>", name_value_ccsid=1200)[:-2] + b"\x00\xd8",
        header("<usr></usr>").replace(b"usr", b"\xff\xfe\xfd"),
        header()[:8] + struct.pack("<i", 39) + header()[12:] + b"\0\0\0",
        header()[:8] + struct.pack("<i", 35) + header()[12:],
        header()[:8] + struct.pack("<i", -1) + header()[12:],
        header("<usr></usr>")[:36] + struct.pack("<i", 16) + b"<usr></usr> ",
        header("<usr></usr>")[:36] + struct.pack("<i", -4) + b"<usr></usr> ",
    ],
)
def test_what_is_no_header_is_data(data):
    assert leading(md(), data) is None
    assert rfh2.without_properties(md(), data) is None


@table("format_name", [mq.MQFMT_NONE, mq.MQFMT_STRING, mq.MQFMT_RF_HEADER_1])
def test_what_the_descriptor_does_not_say_is_no_header(format_name):
    data = header(f"<usr><traceparent>{PARENT}</traceparent></usr>") + b"data"
    assert rfh2.without_properties(md(format_name=format_name), data) is None


@table(("ccsid", "order"), [(1200, "<"), (13488, ">"), (17584, "<")])
def test_folders_in_utf_16_are_in_the_byte_order_of_the_header(ccsid, order):
    folder = "<usr><a>ä</a></usr>".encode("utf-16-le" if order == "<" else "utf-16-be") + b"\0\0"
    fixed = b"RFH " + struct.pack(order + "4i8s2i", 2, 36 + 4 + 40, 273, 819, b"MQSTR   ", 0, ccsid)
    data = fixed + struct.pack(order + "i", 40) + folder + b"data"
    found = leading(md(mq.MQENC_REVERSED if order == "<" else mq.MQENC_NORMAL), data)
    assert found is not None
    assert found.folders == ("<usr><a>ä</a></usr>",)


def shown(found):
    """What is left of a message: its encoding, CCSID and format, the data, and the folders that were taken off."""
    assert found is not None
    descriptor, body, taken = found
    said = (
        st.long_at(descriptor, st.MD_ENCODING),
        st.long_at(descriptor, st.MD_CODED_CHAR_SET_ID),
        descriptor[st.MD_FORMAT],
    )
    return said, body, taken.folders


PROPERTIES = ("<usr><colour>green</colour></usr>", "<shop content='properties'><a>1</a></shop>")
OWN = "<shop><a>1</a></shop>"


@table(
    "folders",
    [
        PROPERTIES,
        ("<usr></usr>",),
        ("<mcd><Msd>jms_text</Msd></mcd>", "<jms><Dst>queue:///Q</Dst></jms>"),
        ("<mq_usr><a><b>1</b><c/></a></mq_usr>",),
        ("<mqps><Top>fruit</Top></mqps>", "<mqext/>", "<mq></mq>"),
        ("<sib><a>1</a></sib>", "<sib_usr></sib_usr>", "<sib_context></sib_context>"),
        ('<x  a="1" content = "properties" ><a$b dt=\'i4\' >1</a$b ></x >',),
    ],
)
def test_a_header_of_properties_is_taken_off(folders):
    data = header(*folders) + b"data"
    found = rfh2.without_properties(md(), data)
    assert shown(found) == ((273, 819, b"MQSTR   "), b"data", folders)
    assert found is not None
    assert found[2][1:] == (md(), data)


@table(
    "folders",
    [
        (),
        (OWN,),
        ("<psc><Command>Publish</Command></psc>",),
        ("<shop content='other'></shop>",),
        ("<usr><a>1</a>",),
        ("<usr><a>1</b></usr>",),
        ("<usr><a>1</a></usr><usr></usr>",),
        ("<usr><a>1 < 2</a></usr>",),
        ("<usr>text<a>1</a></usr>",),
        ("<usr><a>1</a></usr>text",),
        ("text",),
        ("",),
    ],
)
def test_what_holds_no_properties_stays_in_the_data(folders):
    data = header(*folders) + b"data"
    assert rfh2.without_properties(md(), data) is None


@table(("order", "encoding"), [("<", mq.MQENC_REVERSED), (">", mq.MQENC_NORMAL)])
def test_an_application_s_own_folder_stays_in_the_header_it_was_put_in(order, encoding):
    data = header(PROPERTIES[0], OWN, PROPERTIES[1], order=order) + b"data"
    found = rfh2.without_properties(md(encoding), data)
    assert shown(found) == ((encoding, 1208, b"MQHRF2  "), header(OWN, order=order) + b"data", PROPERTIES)


def test_an_own_folder_in_a_header_of_zos_stays():
    ebcdic = {"order": ">", "struc_id": "RFH ".encode("cp500"), "format_": "MQSTR   ".encode("cp500")}
    data = header(PROPERTIES[0], OWN, **ebcdic) + b"data"
    found = rfh2.without_properties(md(mq.MQENC_S390, 500), data)
    assert shown(found)[1] == header(OWN, **ebcdic) + b"data"


HRF2 = {"format_": mq.MQFMT_RF_HEADER_2, "ccsid": 1208}


def behind(data, encoding=mq.MQENC_REVERSED, **more):
    """A header of properties in front of another header, which it describes."""
    raw = header(PROPERTIES[0], **HRF2, **more)
    return raw[:12] + struct.pack("<i", encoding) + raw[16:] + data


def test_headers_in_a_row_are_all_taken_off():
    data = behind(header(PROPERTIES[1]) + b"data")
    assert shown(rfh2.without_properties(md(), data)) == ((273, 819, b"MQSTR   "), b"data", PROPERTIES)


def test_an_own_header_behind_properties_is_described_by_the_descriptor():
    own = header(OWN, order=">")
    data = behind(own + b"data", mq.MQENC_NORMAL)
    expected = (mq.MQENC_NORMAL, 1208, b"MQHRF2  "), own + b"data", PROPERTIES[:1]
    assert shown(rfh2.without_properties(md(), data)) == expected


def test_an_own_header_in_front_of_properties_describes_what_was_behind_these():
    own = header(OWN, **HRF2)
    own = own[:12] + struct.pack("<i", mq.MQENC_REVERSED) + own[16:]
    data = own + header(PROPERTIES[0], ccsid=mq.MQCCSI_INHERIT) + b"data"
    expected = (mq.MQENC_REVERSED, 1208, b"MQHRF2  "), header(OWN, ccsid=1208) + b"data", PROPERTIES[:1]
    assert shown(rfh2.without_properties(md(), data)) == expected


@table("rest", [b"", b"RFH ", header(version=1) + b"data", header("<usr></usr>")[:-1]])
def test_a_header_that_cannot_be_read_stays_behind_those_that_can(rest):
    found = rfh2.without_properties(md(), behind(rest))
    assert shown(found) == ((mq.MQENC_REVERSED, 1208, b"MQHRF2  "), rest, PROPERTIES[:1])


@given(data=hypothesis.binary(max_size=200), encoding=hypothesis.sampled_from([0, mq.MQENC_NORMAL, mq.MQENC_REVERSED]))
def test_nothing_in_front_of_a_message_is_an_error(data, encoding):
    rfh2.without_properties(md(encoding), data)
    rfh2.without_properties(md(encoding), b"RFH " + struct.pack("<2i", 2, 36 + len(data) // 2) + data)


@given(at=hypothesis.integers(0, 200), new=hypothesis.binary(min_size=1, max_size=4))
def test_nothing_in_a_header_is_an_error(at, new):
    data = bytearray(behind(header(OWN, "<mq_usr><a><b>1</b></a></mq_usr>") + b"data"))
    data[at : at + len(new)] = new
    found = rfh2.without_properties(md(), bytes(data))
    if found is not None:
        values(found[2].folders)


# --- trace context


@table(
    ("folders", "context"),
    [
        ((f"<usr><traceparent>{PARENT}</traceparent></usr>",), (PARENT, "")),
        (
            (
                f"<usr><a>1</a><traceparent dt='string'>{PARENT}</traceparent><tracestate>v=a&amp;b&lt;c</tracestate></usr>",
            ),
            (PARENT, "v=a&b<c"),
        ),
        (("<mcd><Msd>jms_text</Msd></mcd>", f"<usr><traceparent>{PARENT}</traceparent></usr>"), (PARENT, "")),
        ((f"<mq_usr><traceparent>{PARENT}</traceparent></mq_usr>",), ("", "")),
        ((f"<usr><parent>{PARENT}</parent></usr>",), ("", "")),
        (("<usr><traceparent dt='i4'>1</traceparent></usr>",), ("", "")),
        (("<usr><traceparent></traceparent></usr>",), ("", "")),
        (PROPERTIES, ("", "")),
    ],
)
def test_context_is_found_among_properties(folders, context):
    assert in_folders(folders) == context
    assert bool(in_header(md(), header(*folders))) is bool(context[0])


CONTEXT = rfh2.usr_folder({"traceparent": PARENT})


@table(
    ("ccsid", "format_name", "behind"),
    [
        (mq.MQCCSI_INHERIT, mq.MQFMT_NONE, b"data"),
        (1208, mq.MQFMT_STRING, b"text"),
        (1200, b"OWN     ", b""),
        (1208, b"A\0      ", b"data"),
        (1208, b"\xff       ", b"data"),
        (1208, mq.MQFMT_RF_HEADER_2, rfh2.packed(CONTEXT, 1208, mq.MQFMT_STRING) + b"text"),
        (1208, mq.MQFMT_RF_HEADER_2, b"no header"),
    ],
)
def test_a_header_with_context_only_is_taken_off_as_any_other(monkeypatch, ccsid, format_name, behind):
    data = rfh2.packed(CONTEXT, ccsid, format_name) + behind
    descriptors = [
        md(mq.MQENC_NATIVE),
        md(mq.MQENC_NATIVE, 819),
        md(0x111),
        md(format_name=b"MQHRF2\0\0"),
        md(format_name=b"OWN"),
    ]
    found = [rfh2.without_properties(each, data) for each in descriptors]
    monkeypatch.setattr(rfh2, "_with_context_only", lambda *_: None)
    assert found == [rfh2.without_properties(each, data) for each in descriptors]


def test_texts_are_escaped_in_a_folder():
    folder = rfh2.usr_folder({"traceparent": PARENT, "tracestate": "v=a&b<c"})
    found = rfh2.without_properties(md(), rfh2.packed(folder, 1208, mq.MQFMT_STRING) + b"text")
    assert found is not None
    _, data, taken = found
    assert data == b"text"
    assert values(taken.folders) == {"traceparent": PARENT, "tracestate": "v=a&b<c"}


@table(
    ("text",),
    [
        (PARENT,),
        (PARENT[:-2] + "03",),
        ("00-" + "0" * 32 + PARENT[35:],),
        (PARENT[:36] + "0" * 16 + "-01",),
        ("01" + PARENT[2:],),
        ("ff" + PARENT[2:],),
        (PARENT + "-more",),
        (PARENT.upper(),),
        (f" {PARENT} ",),
        ("",),
    ],
)
def test_a_traceparent_is_read_and_written_as_the_propagator_does(text):
    extracted = trace.get_current_span(PROPAGATOR.extract({"traceparent": text}, Context()))
    found = link(text)
    assert (found.context if found is not None else trace.INVALID_SPAN_CONTEXT) == extracted.get_span_context()
    carrier: dict[str, str] = {}
    PROPAGATOR.inject(carrier, trace.set_span_in_context(extracted, Context()))
    assert of_span(extracted).as_properties() == carrier

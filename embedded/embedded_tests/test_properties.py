"""Message handles and properties through the bindings: every verb, every reason code, and from MQPUT to MQGET."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embedded_tests.fix_mqi import EMPTY, OK, failed, warning
from embedded_tests.fix_properties import LENGTHS, Inquiry, MessageHandle, get, put, rfh2
from embedded_tests.tables import table
from embedded_tests.test_property_sets import ILLEGAL, PARTS
from mqembedded import constants as c
from mqembedded.answer import Answer, Failed
from mqembedded.calls import message_properties
from mqembedded.connection import Connection
from mqembedded.properties import control
from mqembedded.serve.start_up import started
from mqembedded.wire.frames import decode_reply, encode_reply
from mqembedded.wire.verbs import BY_NAME

pytestmark = pytest.mark.embedded

EVERY_TYPE: dict[int, Any] = {
    c.MQTYPE_BOOLEAN: True,
    c.MQTYPE_BYTE_STRING: b"\x00\x01\xff",
    c.MQTYPE_INT8: -128,
    c.MQTYPE_INT16: -32768,
    c.MQTYPE_INT32: 2147483647,
    c.MQTYPE_INT64: -9223372036854775808,
    c.MQTYPE_FLOAT32: 0.5,
    c.MQTYPE_FLOAT64: 2.2250738585072014e-308,
    c.MQTYPE_STRING: "grün & <blau>",
    c.MQTYPE_NULL: None,
}


@pytest.fixture
def handle(connection):
    return MessageHandle(connection)


@pytest.fixture
def other(connection):
    return MessageHandle(connection)


@pytest.fixture
def both(connection, queue):
    """An object handle to put and to get."""
    return connection.open(queue, c.MQOO_OUTPUT | c.MQOO_INPUT_SHARED)


@pytest.fixture
def ibmmq_only(mqi):
    if mqi.name != "ibmmq":
        pytest.skip("pymqi has no such call")


# --- the bindings' own classes


def test_a_property_arrives_through_the_bindings_classes(binding, mq, queue):
    q_mgr = mq.connect(binding)
    sent, received = binding.MessageHandle(q_mgr), binding.MessageHandle(q_mgr)
    sent.properties[b"colour"] = "green"
    sent.properties.set(b"shop.size", 42, property_type=c.MQTYPE_INT32, value_length=4)
    opened = binding.Queue(q_mgr, queue, c.MQOO_OUTPUT | c.MQOO_INPUT_SHARED)
    opened.put(b"data", binding.MD(), binding.PMO(Version=3, OriginalMsgHandle=sent.msg_handle))
    md = binding.MD()
    gmo = binding.GMO(Version=4, Options=c.MQGMO_PROPERTIES_IN_HANDLE, MsgHandle=received.msg_handle)
    assert opened.get(None, md, gmo) == b"data"
    assert (received.properties[b"colour"], received.properties.get(b"shop.size")) == ("green", 42)
    with pytest.raises(binding.MQMIError) as caught:
        received.properties.get(b"weight")
    assert caught.value.reason == c.MQRC_PROPERTY_NOT_AVAILABLE
    opened.close()
    q_mgr.disconnect()


# --- MQSETMP and MQINQMP


def test_every_type_comes_back(handle):
    for kind, value in EVERY_TYPE.items():
        assert handle.set(f"p{kind}", value, kind) == OK
    for kind, value in EVERY_TYPE.items():
        length = LENGTHS[kind] if kind in LENGTHS else len(value.encode() if isinstance(value, str) else value)
        assert handle.inquire(f"p{kind}") == Inquiry(OK, value, length)


@table("name", [name for name in ILLEGAL if name])
def test_an_illegal_name_is_refused(handle, name):
    assert handle.set(name, "x") == failed(c.MQRC_PROPERTY_NAME_ERROR)
    assert handle.inquire("%").code == failed(c.MQRC_PROPERTY_NOT_AVAILABLE)


@table("name", [b"", b"n" * 4096])
def test_a_name_too_long_or_empty_is_2513(handle, name):
    if name or handle.mqi.name == "pymqi":  # ibmmq asks strlen for the length of an empty name
        assert handle.set(name, "x") == failed(c.MQRC_PROPERTY_NAME_LENGTH_ERR)
    assert handle.inquire(name).code == failed(c.MQRC_PROPERTY_NAME_LENGTH_ERR)


def test_the_longest_name(handle):
    assert handle.set(b"n" * 4095, "x") == OK
    assert handle.inquire(b"n" * 4095).value == "x"


def test_bytes_that_are_no_text_are_no_name(handle):
    assert handle.set(b"\xff", "x") == failed(c.MQRC_PROPERTY_NAME_ERROR)


def test_property_types(handle):
    assert handle.set("a", None, 3, length=0) == failed(c.MQRC_PROPERTY_TYPE_ERROR)
    assert handle.set("JMSXGroupSeq", "x") == failed(c.MQRC_PROPERTY_TYPE_ERROR)
    assert handle.set("JMSXGroupSeq", 7, c.MQTYPE_INT32) == OK
    assert handle.inquire("jms.Seq").value == 7
    assert handle.inquire("JMSXGroupSeq", c.MQIMPO_CONVERT_TYPE, 3).code == failed(c.MQRC_PROPERTY_TYPE_ERROR)


def test_lengths(handle):
    if handle.mqi.name == "pymqi":  # ibmmq puts the right length itself
        assert handle.set("a", 1, c.MQTYPE_INT32, length=8) == failed(c.MQRC_BUFFER_LENGTH_ERROR)
        assert handle.set("a", None, c.MQTYPE_NULL, length=-1) == failed(c.MQRC_BUFFER_LENGTH_ERROR)
    assert handle.set("a", b"x", c.MQTYPE_BYTE_STRING, length=-1) == failed(c.MQRC_BUFFER_LENGTH_ERROR)
    assert handle.set("a", "x", length=-2) == failed(c.MQRC_BUFFER_LENGTH_ERROR)
    assert handle.set("a", "abc", length=0) == OK
    assert handle.inquire("a") == Inquiry(OK, "", 0)


def test_structures_that_are_none(connection, handle):
    package = connection.mqi.package
    assert MessageHandle(connection, Version=2).code == failed(c.MQRC_CMHO_ERROR)
    assert MessageHandle(connection, Options=3).code == failed(c.MQRC_OPTIONS_ERROR)
    assert handle.set("a", "x", smpo=package.SMPO(Version=2)) == failed(c.MQRC_SMPO_ERROR)
    assert handle.set("a", "x", options=3) == failed(c.MQRC_OPTIONS_ERROR)
    for wrong in ({"Version": 2}, {"Options": 1}, {"Support": 2}, {"Context": 2}, {"CopyOptions": 32}):
        assert handle.set("a", "x", **wrong) == failed(c.MQRC_PD_ERROR)
    assert handle.inquire("a", 1).code == failed(c.MQRC_OPTIONS_ERROR)
    assert handle.inquire("a", c.MQIMPO_INQ_NEXT | c.MQIMPO_INQ_PROP_UNDER_CURSOR).code == failed(c.MQRC_OPTIONS_ERROR)


def test_structures_that_are_none_of_calls_that_pymqi_lacks(connection, handle, ibmmq_only):
    package = connection.mqi.package
    assert handle.inquire_with(b"a", package.IMPO(Version=2))[0].code == failed(c.MQRC_IMPO_ERROR)
    calls, hconn = connection.mqi.c, connection.hconn
    assert calls.MQDLTMP(hconn, handle.hmsg, package.DMPO(Version=2).pack(), b"a") == (2, c.MQRC_DMPO_ERROR)
    assert calls.MQDLTMP(hconn, handle.hmsg, package.DMPO(Options=2).pack(), b"a") == (2, c.MQRC_OPTIONS_ERROR)
    assert calls.MQDLTMH(hconn, handle.hmsg, package.DMHO(Version=2).pack()) == (2, c.MQRC_DMHO_ERROR)
    assert calls.MQDLTMH(hconn, handle.hmsg, package.DMHO(Options=1).pack()) == (2, c.MQRC_OPTIONS_ERROR)


def test_a_message_handle_belongs_to_its_connection(connect, handle, queue):
    stranger = connect()
    inherited = MessageHandle(stranger)
    inherited.hmsg = handle.hmsg
    assert inherited.set("a", "x") == failed(c.MQRC_HMSG_ERROR)
    assert inherited.inquire("a").code == failed(c.MQRC_HMSG_ERROR)
    opened = stranger.open(queue, c.MQOO_OUTPUT | c.MQOO_INPUT_SHARED)
    assert put(opened, b"", inherited).code == failed(c.MQRC_HMSG_ERROR)
    assert get(opened, inherited).code == failed(c.MQRC_HMSG_ERROR)
    assert get(opened, options=c.MQGMO_PROPERTIES_IN_HANDLE).code == failed(c.MQRC_HMSG_ERROR)


def test_a_deleted_handle_is_none(handle, ibmmq_only):
    assert handle.delete() == OK
    assert handle.delete() == failed(c.MQRC_HMSG_ERROR)
    assert handle.inquire("a").code == failed(c.MQRC_HMSG_ERROR)


def test_a_property_and_a_group_of_one_name_are_2498(handle):
    assert handle.set("a.b", "x") == OK
    assert handle.set("a.b.c", "x") == failed(c.MQRC_MIXED_CONTENT_NOT_ALLOWED)


def test_first_next_and_under_cursor(handle):
    for name in ("a", "b", "x.c"):
        handle.set(name, name)
    assert handle.inquire("%", c.MQIMPO_INQ_PROP_UNDER_CURSOR).code == failed(c.MQRC_PROPERTY_NOT_AVAILABLE)
    assert handle.all() == ["a", "b", "x.c"]
    assert handle.all("x.%") == ["x.c"]
    assert handle.inquire("%", c.MQIMPO_INQ_FIRST).value == "a"
    assert handle.inquire("%", c.MQIMPO_INQ_NEXT).value == "b"
    assert handle.inquire("%", c.MQIMPO_INQ_PROP_UNDER_CURSOR).value == "b"
    assert handle.set("b", "changed", options=c.MQSMPO_SET_PROP_UNDER_CURSOR) == OK
    assert handle.set("b", "second", options=c.MQSMPO_APPEND_PROPERTY) == OK
    assert handle.all() == ["a", "changed", "second", "x.c"]
    assert handle.inquire("a%b").code == failed(c.MQRC_PROPERTY_NAME_ERROR)


def test_a_wildcard_tells_the_name(handle, ibmmq_only):
    for name in ("usr.a", "jms.Cid", "x.b"):
        assert handle.set(name, "1") == OK
    assert [one.name for one in handle.walk()] == ["a", "JMSCorrelationID", "x.b"]


def test_a_value_too_big_is_cut_and_stays_under_the_cursor(handle):
    handle.set("a", "0123456789")
    assert handle.inquire("%", room=4) == Inquiry(
        failed(c.MQRC_PROPERTY_VALUE_TOO_BIG), "0123", 10, None if handle.mqi.name == "pymqi" else "a"
    )
    assert handle.inquire("%", c.MQIMPO_INQ_PROP_UNDER_CURSOR).value == "0123456789"
    # With conversion asked for the cursor stays where it was.
    assert handle.inquire("a", c.MQIMPO_CONVERT_VALUE, room=4).code == failed(c.MQRC_PROPERTY_VALUE_TOO_BIG)
    assert handle.inquire("a", c.MQIMPO_INQ_PROP_UNDER_CURSOR).code == failed(c.MQRC_PROPERTY_NOT_AVAILABLE)


def test_query_length_tells_the_length_alone(handle):
    handle.set("a", "0123456789")
    assert handle.inquire("a", c.MQIMPO_QUERY_LENGTH, room=0) == Inquiry(OK, "", 10)


def test_types_are_converted_when_asked(handle):
    handle.set("a", "42")
    handle.set("b", 300, c.MQTYPE_INT16)
    assert handle.inquire("a", c.MQIMPO_CONVERT_TYPE, c.MQTYPE_INT8).value == 42
    assert handle.inquire("b", c.MQIMPO_CONVERT_TYPE, c.MQTYPE_STRING).value == "300"
    assert handle.inquire("b", kind=c.MQTYPE_STRING).value == 300
    assert handle.inquire("b", c.MQIMPO_CONVERT_TYPE, c.MQTYPE_INT8).code == failed(c.MQRC_PROP_CONV_NOT_SUPPORTED)
    handle.set("a", "apples")
    assert handle.inquire("a", c.MQIMPO_CONVERT_TYPE, c.MQTYPE_INT8).code == failed(c.MQRC_PROP_NUMBER_FORMAT_ERROR)


def test_values_in_other_encodings_and_character_sets(handle, ibmmq_only):
    package = handle.mqi.package
    assert handle.set("a", "é", smpo=package.SMPO(ValueCCSID=4711)) == failed(c.MQRC_SOURCE_CCSID_ERROR)
    assert handle.set("a", "é", smpo=package.SMPO(ValueCCSID=819)) == OK  # two bytes, two characters
    assert handle.inquire("a").value == "Ã©"
    assert handle.set("b", 1, c.MQTYPE_INT32, smpo=package.SMPO(ValueEncoding=c.MQENC_NORMAL)) == OK
    assert handle.inquire("b").value == int.from_bytes((1).to_bytes(4, sys.byteorder), "big")
    asked = package.IMPO(Options=c.MQIMPO_CONVERT_VALUE, RequestedEncoding=c.MQENC_NORMAL, RequestedCCSID=367)
    inquiry, impo, _ = handle.inquire_with(b"b", asked)
    assert (inquiry.value, impo.ReturnedEncoding, impo.ReturnedCCSID) == (1, c.MQENC_NORMAL, 367)
    inquiry, impo, _ = handle.inquire_with(b"a", asked)
    assert (inquiry.code, inquiry.value) == (warning(c.MQRC_PROP_VALUE_NOT_CONVERTED), "Ã©")
    assert (impo.ReturnedEncoding, impo.ReturnedCCSID) == (c.MQENC_NATIVE, 1208)
    handle.set("gr.größe", "1")
    inquiry, _, _ = handle.inquire_with(b"gr.%", asked)
    assert (inquiry.code, inquiry.name) == (warning(c.MQRC_PROP_NAME_NOT_CONVERTED), "gr.größe")


def test_the_descriptor_of_a_property_is_kept(both, handle, other, ibmmq_only):
    handle.set("a", "x", Support=c.MQPD_SUPPORT_REQUIRED, Context=c.MQPD_USER_CONTEXT, CopyOptions=c.MQCOPY_REPLY)
    put(both, b"", handle)
    get(both, other)
    _, _, pd = other.inquire_with(b"a", both.mqi.package.IMPO())
    assert (pd.Support, pd.Context, pd.CopyOptions) == (c.MQPD_SUPPORT_REQUIRED, c.MQPD_USER_CONTEXT, c.MQCOPY_REPLY)


def test_deleting_properties(handle, ibmmq_only):
    for name in ("a", "b", "c"):
        handle.set(name, name)
    assert handle.delete_property("x") == warning(c.MQRC_PROPERTY_NOT_AVAILABLE)
    assert handle.delete_property("a%") == failed(c.MQRC_PROPERTY_NAME_ERROR)
    assert handle.delete_property("a", c.MQDMPO_DEL_PROP_UNDER_CURSOR) == failed(c.MQRC_PROPERTY_NOT_AVAILABLE)
    assert handle.delete_property("usr.a") == OK
    assert handle.inquire("%").value == "b"
    assert handle.delete_property("%", c.MQDMPO_DEL_PROP_UNDER_CURSOR) == OK
    assert handle.all() == ["c"]


# --- MQPUT and MQGET


def test_a_got_message_replaces_what_the_handle_held(both, handle, other):
    other.set("old", "x")
    assert get(both, other).code == EMPTY
    assert other.all() == []
    handle.set("a", "1")
    put(both, b"one", handle)
    put(both, b"two")
    assert get(both, other).data == b"one"
    assert other.all() == ["1"]
    assert get(both, other).data == b"two"
    assert other.all() == []
    assert handle.all() == ["1"]


def test_properties_are_in_no_length_and_no_data(both, handle, other):
    handle.set("a", "1" * 1000)
    put(both, b"data", handle)
    answer = get(both, other, length=4)
    assert (answer.code, answer.data, answer.length, answer.md.Format) == (OK, b"data", 4, c.MQFMT_NONE)


def test_properties_of_a_backed_out_put_and_get(connection, both, handle, other):
    handle.set("a", "1")
    put(both, b"", handle, options=c.MQPMO_SYNCPOINT)
    assert get(both, other).code == EMPTY
    connection.back_out()
    assert get(both, other).code == EMPTY
    put(both, b"", handle, options=c.MQPMO_SYNCPOINT)
    connection.commit()
    assert get(both, other).code == OK
    assert other.all() == ["1"]


def test_mqput1_takes_a_handle(connection, both, handle, other):
    handle.set("a", "1")
    package = connection.mqi.package
    od, md, pmo = connection.mqi.od(ObjectName=both.od.ObjectName), connection.mqi.md(), package.PMO(Version=3)
    pmo.OriginalMsgHandle = handle.hmsg
    *_, comp, reason = connection.mqi.c.MQPUT1(connection.hconn, od.pack(), md.pack(), pmo.pack(), b"")
    assert (comp, reason) == (0, 0)
    get(both, other)
    assert other.all() == ["1"]


def test_actions(connection, both, handle, other):
    handle.set("default", "d")
    handle.set("reply", "r", CopyOptions=c.MQCOPY_REPLY)
    handle.set("none", "n", CopyOptions=c.MQCOPY_NONE)
    other.set("default", None, c.MQTYPE_NULL)
    other.set("new", "x")
    received = MessageHandle(connection)
    for action, expected in (
        (c.MQACTP_NEW, ["r", "n", "x"]),
        (c.MQACTP_FORWARD, ["x"]),
        (c.MQACTP_REPLY, ["r", None, "x"]),
    ):
        assert put(both, b"", handle, new=other, action=action).code == OK
        get(both, received)
        assert received.all() == expected
    assert put(both, b"", handle, action=4).code == failed(c.MQRC_ACTION_ERROR)
    assert put(both, b"", new=other, action=c.MQACTP_FORWARD).code == failed(c.MQRC_HMSG_ERROR)
    assert put(both, b"", new=other).code == OK


def test_a_name_that_mqsetmp_did_not_check_is_checked_by_mqput(connection, both):
    handle = MessageHandle(connection, Options=c.MQCMHO_NO_VALIDATION)
    assert handle.set("a-b", "x") == OK
    assert put(both, b"", handle).code == failed(c.MQRC_PROPERTY_NAME_ERROR)


def test_fields_of_the_descriptor_are_properties(both, other):
    sent = put(both, b"", MsgId=b"m" * 24, Format=b"MQSTR")
    assert other.inquire("Root.MQMD.MsgId").code == failed(c.MQRC_PROPERTY_NOT_AVAILABLE)
    get(both, other)
    assert sent.code == OK
    assert other.inquire("Root.MQMD.MsgId").value == b"m" * 24
    assert other.inquire("Root.MQMD.Format").value == "MQSTR   "
    assert other.inquire("Root.MQMD.MsgSeqNumber").value == 1
    assert other.inquire("Root.MQMD.Nonsense").code == failed(c.MQRC_PROPERTY_NOT_AVAILABLE)
    assert other.set("Root.MQMD.Priority", 5, c.MQTYPE_INT32) == failed(c.MQRC_FUNCTION_NOT_SUPPORTED)


def test_maxpropl_limits_names_and_values(own_queue_manager, mqi, tmp_path):
    commands = tmp_path / "limit.mqsc"
    commands.write_text("ALTER QMGR MAXPROPL(20)\n")
    queue_manager = own_queue_manager(mqsc=[commands])
    _, connection = mqi.connect(queue_manager.q_mgr_name, queue_manager.channel, queue_manager.conn_name)
    handle, opened = MessageHandle(connection), connection.open("SYSTEM.DEFAULT.LOCAL.QUEUE", c.MQOO_OUTPUT)
    handle.set("a", "1" * 15)  # and "usr.a"
    assert put(opened, b"", handle).code == OK
    handle.set("a", "1" * 16)
    assert put(opened, b"", handle).code == failed(c.MQRC_PROPERTIES_TOO_BIG)
    connection.disconnect()


def test_a_type_that_nobody_knows_is_a_warning_and_told(both, other):
    both.put(rfh2("<usr><a dt='decimal'>1.50</a></usr>"), Format=c.MQFMT_RF_HEADER_2)
    get(both, other)
    inquiry = other.inquire("a")
    assert (inquiry.code, inquiry.value) == (warning(c.MQRC_PROP_TYPE_NOT_SUPPORTED), "1.50")
    if both.mqi.name == "ibmmq":
        _, impo, _ = other.inquire_with(b"a", both.mqi.package.IMPO())
        assert impo.TypeString == b"decimal\0"


@table(
    ("data", "reason"),
    [
        (b"", c.MQRC_RFH_ERROR),
        (b"no header at all, whatever the Format says", c.MQRC_RFH_ERROR),
        (rfh2("<usr></usr>")[:-4], c.MQRC_RFH_ERROR),
        (rfh2("<usr><a>1</b></usr>"), c.MQRC_RFH_FORMAT_ERROR),
        (rfh2("<usr><a>1</a></usr>", "<usr><b>2</b></usr>"), c.MQRC_RFH_FORMAT_ERROR),
        (rfh2("<psc>whatever", "<usr><a>1</a></usr>"), 0),
    ],
)
def test_mqput_looks_into_an_mqrfh2(both, data, reason):
    assert both.put(data, Format=c.MQFMT_RF_HEADER_2).code == (failed(reason) if reason else OK)


def test_mqput_looks_into_no_segment(both):
    flags = c.MQMF_SEGMENT | c.MQMF_SEGMENTATION_ALLOWED
    assert both.put(b"half a header", Format=c.MQFMT_RF_HEADER_2, MsgFlags=flags).code == OK


VALUES = {
    c.MQTYPE_BOOLEAN: st.booleans(),
    c.MQTYPE_BYTE_STRING: st.binary(max_size=50),
    c.MQTYPE_INT8: st.integers(-128, 127),
    c.MQTYPE_INT16: st.integers(-(2**15), 2**15 - 1),
    c.MQTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    c.MQTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    c.MQTYPE_FLOAT32: st.floats(width=32, allow_nan=False),
    c.MQTYPE_FLOAT64: st.floats(allow_nan=False),
    # The bindings end a text at its first null.
    c.MQTYPE_STRING: st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
    c.MQTYPE_NULL: st.none(),
}


@given(
    st.dictionaries(
        st.lists(PARTS, min_size=1, max_size=2).map(".".join),
        st.sampled_from(sorted(VALUES)).flatmap(lambda kind: st.tuples(st.just(kind), VALUES[kind])),
        max_size=5,
    )
)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_set_put_get_inquire_is_the_identity(connection, both, properties):
    handle, received = MessageHandle(connection), MessageHandle(connection)
    for name, (kind, value) in properties.items():
        assert handle.set(name, value, kind) == OK
    assert put(both, b"data", handle).code == OK
    assert get(both, received).data == b"data"
    for name, (_, value) in properties.items():
        inquiry = received.inquire(name)
        assert (inquiry.code, inquiry.value) == (OK, value)
        assert type(inquiry.value) in (type(value), int)
    assert len(received.walk()) == len(properties)


BLOBS = st.binary(max_size=70)
I32 = st.one_of(st.sampled_from([-3, -1, 0, 1, 4, 64, 1024]), st.integers(-(2**31), 2**31 - 1))


def structure(struc_id: bytes, length: int) -> st.SearchStrategy[bytes]:
    """Anything, most often a structure of this kind."""
    fields = st.lists(I32, min_size=(length - 8) // 4, max_size=(length - 8) // 4)
    packed = fields.map(lambda values: struct.pack(f"<4si{len(values)}i", struc_id, 1, *values))
    small = st.binary(min_size=length - 8, max_size=length - 8).map(
        lambda raw: (
            struct.pack("<4si", struc_id, 1) + bytes(byte & 3 if at % 4 == 0 else 0 for at, byte in enumerate(raw))
        )
    )
    return st.one_of(small, packed, BLOBS)


CALLS: dict[str, tuple[Callable[..., Answer], st.SearchStrategy[tuple[Any, ...]]]] = {
    "MQSETMP": (
        message_properties.set_property,
        st.tuples(
            structure(b"SMPO", 20), st.one_of(BLOBS, st.just(b"a")), I32, structure(b"PD  ", 24), I32, I32, BLOBS
        ),
    ),
    "MQINQMP": (
        message_properties.inquire_property,
        st.tuples(structure(b"IMPO", 64), st.one_of(BLOBS, st.just(b"%")), I32, structure(b"PD  ", 24), I32, I32, I32),
    ),
    "MQDLTMP": (message_properties.delete_property, st.tuples(structure(b"DMPO", 12), BLOBS, I32)),
}


@pytest.fixture(scope="module")
def q_mgr(tmp_path_factory):
    made = started("QM3", tmp_path_factory.mktemp("properties"))
    yield made
    made.close()


class NeverWaits:
    def wait(self, timeout_s: float | None) -> None: ...

    def wake(self) -> None: ...


@given(
    st.lists(st.sampled_from(sorted(CALLS)).flatmap(lambda name: st.tuples(st.just(name), CALLS[name][1])), max_size=8)
)
@settings(deadline=None, max_examples=100)
def test_no_arguments_do_anything_but_answer(q_mgr, calls):
    connection = Connection(NeverWaits(), "app", "test", 0, bytes(24))
    message_properties.create_handle(q_mgr, connection, struct.pack("<4sii", b"CMHO", 1, 0))
    (hmsg,) = connection.message_handles
    for name, arguments in calls:
        try:
            comp, reason, values = CALLS[name][0](q_mgr, connection, hmsg, *arguments)
        except Failed:
            continue
        # What the wire would carry
        assert decode_reply(BY_NAME[name], encode_reply(BY_NAME[name], 1, comp, reason, values)[8:])[:2] == (
            comp,
            reason,
        )
        assert len(control.kept(connection.message_handles[hmsg].properties)) % 4 == 0

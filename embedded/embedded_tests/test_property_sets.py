"""Message properties without a queue manager: names, values, sets, MQRFH2 folders."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqembedded import constants as mq
from mqembedded.properties import rfh2
from mqembedded.properties.control import Delivery, kept, present, read
from mqembedded.properties.folders import (
    holds_properties,
    looks_like_properties,
    parse_folder,
    properties_of,
)
from mqembedded.properties.names import PropertyError, check_length, check_name, matcher, name_of, path_of
from mqembedded.properties.sets import Property, PropertySet, combined
from mqembedded.properties.values import TYPES, convert, pack, unpack

# --- names

LEGAL = [
    "colour",
    "a.b.c",
    "usr.colour",
    "mq_usr.a.b.c",
    "mq.a",
    "MQsomething",
    "jms.Cid",
    "JMSCorrelationID",
    "JMSReplyTo",
    "JMSType",
    "JMSXGroupID",
    "JMSXGroupSeq",
    "_a$1",
    "größe",
    "属性.名",
    "Root.MQMD.MsgId",
    "nullable",
]
ILLEGAL = [
    ".a",
    "a.",
    "a..b",
    "a b",
    "a=b",
    "a-b",
    "1a",
    "a.1b",
    "a<b",
    "a%",
    "JMSMessageID",
    "JMSX",
    "JMS_IBM_Format",
    "usr.JMSType",
    "Root",
    "Root.a",
    "Body",
    "Body.a",
    "mq.a.b",
    "MQps.a.b",
    "usr.a.b",
    "\U00010437ame",
    *("NULL TRUE FALSE NOT AND OR BETWEEN LIKE IN IS ESCAPE null True usr.between".split()),
]


@table("name", LEGAL)
def test_a_legal_name(name):
    check_name(name)
    assert path_of(name_of(path_of(name))) == path_of(name)


@table("name", ILLEGAL)
def test_an_illegal_name_is_2442(name):
    assert refusal(check_name, name) == mq.MQRC_PROPERTY_NAME_ERROR


@table(("length", "reason"), [(0, 2513), (1, None), (4095, None), (4096, 2513)])
def test_the_length_of_a_name(length, reason):
    assert refusal(check_length, b"n" * length) == reason


@table(
    ("name", "path", "answered"),
    [
        ("colour", ("usr", "colour"), "colour"),
        ("usr.colour", ("usr", "colour"), "colour"),
        ("jms.Exp", ("jms", "Exp"), "JMSExpiration"),
        ("JMSType", ("mcd", "Type"), "JMSType"),
        ("mcd.Msd", ("mcd", "Msd"), "mcd.Msd"),
        ("mqps.Top", ("mqps", "Top"), "MQTopicString"),
        ("a.b.c", ("a", "b", "c"), "a.b.c"),
    ],
)
def test_synonyms_are_one_property(name, path, answered):
    assert path_of(name) == path
    assert name_of(path) == answered


@table(
    ("pattern", "matched"),
    [
        ("%", {"colour", "cost", "JMSType", "a.b.c", "a.d"}),
        ("c%", {"colour", "cost"}),
        ("usr.%", {"colour", "cost"}),
        ("usr.co%", {"colour", "cost"}),
        ("a.%", {"a.b.c", "a.d"}),
        ("a.b.%", {"a.b.c"}),
        ("JMS%", {"JMSType"}),
        ("mcd.%", {"JMSType"}),
        ("a.b", set()),
        ("colour", {"colour"}),
    ],
)
def test_a_wildcard_stands_at_the_end(pattern, matched):
    names = ["colour", "cost", "JMSType", "a.b.c", "a.d"]
    assert {name for name in names if matcher(pattern)(path_of(name))} == matched


def test_a_wildcard_elsewhere_is_2442():
    assert refusal(matcher, "a%b") == mq.MQRC_PROPERTY_NAME_ERROR


# --- values


def refusal(call, *arguments):
    """Return the reason that a call is refused for, or None."""
    try:
        call(*arguments)
    except PropertyError as error:
        return error.reason
    return None


VALUES = {
    mq.MQTYPE_BOOLEAN: st.booleans(),
    mq.MQTYPE_BYTE_STRING: st.binary(),
    mq.MQTYPE_INT8: st.integers(-(2**7), 2**7 - 1),
    mq.MQTYPE_INT16: st.integers(-(2**15), 2**15 - 1),
    mq.MQTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    mq.MQTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    mq.MQTYPE_FLOAT32: st.floats(width=32, allow_nan=False),
    mq.MQTYPE_FLOAT64: st.floats(allow_nan=False),
    mq.MQTYPE_STRING: st.text(st.characters(exclude_categories=["Cs"])),
    mq.MQTYPE_NULL: st.none(),
}
TYPED_VALUES = st.sampled_from(sorted(TYPES)).flatmap(lambda kind: st.tuples(st.just(kind), VALUES[kind]))


@given(TYPED_VALUES, st.sampled_from([0x111, 0x222]), st.sampled_from([0, -3, 1200, 1208]))
def test_a_value_survives_its_bytes(typed, encoding, ccsid):
    kind, value = typed
    raw = pack(kind, value, encoding, ccsid)
    assert raw is not None
    assert unpack(kind, raw, len(raw), encoding, ccsid) == value


@table(
    ("kind", "raw", "length", "reason"),
    [
        (3, b"", 0, mq.MQRC_PROPERTY_TYPE_ERROR),
        (mq.MQTYPE_AS_SET, b"", 0, mq.MQRC_PROPERTY_TYPE_ERROR),
        (mq.MQTYPE_INT32, b"\0" * 8, 8, mq.MQRC_BUFFER_LENGTH_ERROR),
        (mq.MQTYPE_INT32, b"", -1, mq.MQRC_BUFFER_LENGTH_ERROR),
        (mq.MQTYPE_NULL, b"\0", 1, mq.MQRC_BUFFER_LENGTH_ERROR),
        (mq.MQTYPE_NULL, b"", -1, mq.MQRC_BUFFER_LENGTH_ERROR),
        (mq.MQTYPE_BYTE_STRING, b"", -1, mq.MQRC_BUFFER_LENGTH_ERROR),
        (mq.MQTYPE_STRING, b"", -2, mq.MQRC_BUFFER_LENGTH_ERROR),
        (mq.MQTYPE_STRING, b"", 5, mq.MQRC_BUFFER_ERROR),
        (mq.MQTYPE_STRING, b"\xff", 1, mq.MQRC_SOURCE_CCSID_ERROR),
    ],
)
def test_a_value_that_is_none(kind, raw, length, reason):
    assert refusal(unpack, kind, raw, length, mq.MQENC_NATIVE, 1208) == reason


def test_an_unknown_character_set_is_2111_and_a_foreign_float_2472():
    assert refusal(unpack, mq.MQTYPE_STRING, b"a", 1, 0x222, 4711) == mq.MQRC_SOURCE_CCSID_ERROR
    assert refusal(unpack, mq.MQTYPE_FLOAT64, bytes(8), 8, 0x322, 0) == mq.MQRC_PROP_NUMBER_FORMAT_ERROR


INTEGERS = [mq.MQTYPE_INT8, mq.MQTYPE_INT16, mq.MQTYPE_INT32, mq.MQTYPE_INT64]
FLOATS = [mq.MQTYPE_FLOAT32, mq.MQTYPE_FLOAT64]
# The table of MQIMPO_CONVERT_TYPE: what a value of a type may become besides what it is.
CONVERSIONS = {
    mq.MQTYPE_BOOLEAN: {mq.MQTYPE_STRING, *INTEGERS},
    mq.MQTYPE_BYTE_STRING: {mq.MQTYPE_STRING},
    mq.MQTYPE_INT8: {mq.MQTYPE_STRING, *INTEGERS[1:]},
    mq.MQTYPE_INT16: {mq.MQTYPE_STRING, *INTEGERS[2:]},
    mq.MQTYPE_INT32: {mq.MQTYPE_STRING, *INTEGERS[3:]},
    mq.MQTYPE_INT64: {mq.MQTYPE_STRING},
    mq.MQTYPE_FLOAT32: {mq.MQTYPE_STRING, mq.MQTYPE_FLOAT64},
    mq.MQTYPE_FLOAT64: {mq.MQTYPE_STRING},
    mq.MQTYPE_STRING: {mq.MQTYPE_BOOLEAN, *INTEGERS, *FLOATS},
    mq.MQTYPE_NULL: set(),
}
SAMPLES = {
    mq.MQTYPE_BOOLEAN: True,
    mq.MQTYPE_BYTE_STRING: b"\x00\xff",
    mq.MQTYPE_STRING: "1",
    mq.MQTYPE_NULL: None,
    **dict.fromkeys(INTEGERS, -7),
    **dict.fromkeys(FLOATS, 0.5),
}


@table("kind", sorted(TYPES))
@table("wanted", sorted(TYPES))
def test_which_types_become_which(kind, wanted):
    supported = wanted == kind or wanted in CONVERSIONS[kind]
    assert refusal(convert, kind, SAMPLES[kind], wanted) == (None if supported else mq.MQRC_PROP_CONV_NOT_SUPPORTED)


@table(
    ("kind", "value", "wanted", "result"),
    [
        (mq.MQTYPE_BOOLEAN, True, mq.MQTYPE_STRING, "TRUE"),
        (mq.MQTYPE_BOOLEAN, False, mq.MQTYPE_STRING, "FALSE"),
        (mq.MQTYPE_BOOLEAN, True, mq.MQTYPE_INT64, 1),
        (mq.MQTYPE_BYTE_STRING, b"\x0f\xa0", mq.MQTYPE_STRING, "0FA0"),
        (mq.MQTYPE_INT16, -300, mq.MQTYPE_STRING, "-300"),
        (mq.MQTYPE_FLOAT64, 0.1, mq.MQTYPE_STRING, "0.1"),
        (mq.MQTYPE_STRING, "true", mq.MQTYPE_BOOLEAN, True),
        (mq.MQTYPE_STRING, "0", mq.MQTYPE_BOOLEAN, False),
        (mq.MQTYPE_STRING, "  +12 apples", mq.MQTYPE_INT8, 12),
        (mq.MQTYPE_STRING, "-1.5e2x", mq.MQTYPE_FLOAT64, -150.0),
        (mq.MQTYPE_STRING, "maybe", mq.MQTYPE_BOOLEAN, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, "apples", mq.MQTYPE_INT32, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, "128", mq.MQTYPE_INT8, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, "9" * 5000, mq.MQTYPE_INT64, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, "1e99", mq.MQTYPE_FLOAT32, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, "1", 77, mq.MQRC_PROPERTY_TYPE_ERROR),
        (mq.MQTYPE_INT8, 1, mq.MQTYPE_AS_SET, 1),
    ],
)
def test_conversion(kind, value, wanted, result):
    reason = refusal(convert, kind, value, wanted)
    assert reason == result if reason else convert(kind, value, wanted) == result


# --- sets


def prop(name, value=None, kind=mq.MQTYPE_STRING, **more):
    return Property(path_of(name), kind, name if value is None else value, **more)


def names(properties):
    return [name_of(one.path) for one in properties]


def test_new_properties_go_behind_their_folder_and_group():
    some = PropertySet()
    for name in ["a", "x.p.one", "b", "x.q.two", "x.p.three", "y.z", "x.r"]:
        some.set(prop(name))
    assert names(some) == ["a", "b", "x.p.one", "x.p.three", "x.q.two", "x.r", "y.z"]


def test_append_makes_a_second_of_the_name_and_set_first_changes_the_first():
    some = PropertySet([prop("a", "1"), prop("b")])
    some.set(prop("a", "2"), mq.MQSMPO_APPEND_PROPERTY)
    some.set(prop("a", "3"))
    assert [(name_of(one.path), one.value) for one in some] == [("a", "3"), ("b", "b"), ("a", "2")]


def test_a_property_is_no_group():
    for first, second in (("a.b", "a.b.c"), ("a.b.c", "a.b")):
        some = PropertySet([prop(first)])
        assert refusal(some.set, prop(second)) == mq.MQRC_MIXED_CONTENT_NOT_ALLOWED
    assert refusal(PropertySet([prop("a.bc")]).set, prop("a.b.d")) is None


def walk(some, pattern="%"):
    found = []
    how = mq.MQIMPO_INQ_FIRST
    while refusal(some.inquire, pattern, how) is None:
        at, one = some.inquire(pattern, how)
        some.move_cursor(at, pattern)
        found.append(name_of(one.path))
        how = mq.MQIMPO_INQ_NEXT
    assert refusal(some.inquire, pattern, how) == mq.MQRC_PROPERTY_NOT_AVAILABLE
    return found


def test_first_and_next_walk_over_what_matches():
    some = PropertySet(map(prop, ["a", "b", "x.y", "x.z"]))
    assert walk(some) == ["a", "b", "x.y", "x.z"]
    assert walk(some, "x.%") == ["x.y", "x.z"]
    assert walk(some, "b") == ["b"]


def test_next_with_another_name_starts_anew():
    some = PropertySet(map(prop, ["a", "b"]))
    some.move_cursor(some.inquire("%")[0], "%")
    assert some.inquire("a%", mq.MQIMPO_INQ_NEXT)[1] == prop("a")
    assert some.inquire("%", mq.MQIMPO_INQ_NEXT)[1] == prop("b")


def test_deleting_under_the_cursor_leaves_it_before_the_next():
    some = PropertySet(map(prop, ["a", "b", "c"]))
    some.move_cursor(some.inquire("b")[0], "%")
    some.delete_under_cursor()
    assert refusal(some.delete_under_cursor) == mq.MQRC_PROPERTY_NOT_AVAILABLE
    assert refusal(some.inquire, "%", mq.MQIMPO_INQ_PROP_UNDER_CURSOR) == mq.MQRC_PROPERTY_NOT_AVAILABLE
    assert some.inquire("%", mq.MQIMPO_INQ_NEXT)[1] == prop("c")
    some.delete(path_of("a"))
    assert some.inquire("%", mq.MQIMPO_INQ_NEXT)[1] == prop("c")


def test_setting_around_the_cursor():
    some = PropertySet(map(prop, ["a", "c"]))
    for how in (mq.MQSMPO_SET_PROP_BEFORE_CURSOR, mq.MQSMPO_SET_PROP_AFTER_CURSOR, mq.MQSMPO_SET_PROP_UNDER_CURSOR):
        assert refusal(some.set, prop("x"), how) == mq.MQRC_PROPERTY_NOT_AVAILABLE
    some.move_cursor(some.inquire("c")[0], "%")
    some.set(prop("b"), mq.MQSMPO_SET_PROP_BEFORE_CURSOR)
    some.set(prop("d"), mq.MQSMPO_SET_PROP_AFTER_CURSOR)
    some.set(prop("C"), mq.MQSMPO_SET_PROP_UNDER_CURSOR)
    assert names(some) == ["a", "b", "C", "d"]
    assert some.inquire("%", mq.MQIMPO_INQ_PROP_UNDER_CURSOR)[1] == prop("C")


class Listed:
    """The same as a list, step by step. The cursor is an index, or between two properties when its own was deleted."""

    def __init__(self):
        self.properties, self.cursor, self.deleted = [], None, False

    def find(self, path, start=0):
        return next((at for at in range(start, len(self.properties)) if self.properties[at].path == path), None)

    def set(self, new, how):
        at = self.find(new.path)
        if how == mq.MQSMPO_SET_FIRST and at is not None:
            self.properties[at] = new
        elif how in (mq.MQSMPO_SET_FIRST, mq.MQSMPO_APPEND_PROPERTY):
            shares = [at for at, one in enumerate(self.properties) if one.path[:1] == new.path[:1]]
            deeper = [at for at in shares if self.properties[at].path[:2] == new.path[:2] and len(new.path) > 2]
            self.insert((deeper or shares or [len(self.properties) - 1])[-1] + 1, new)
        elif self.cursor is not None and not self.deleted:
            if how == mq.MQSMPO_SET_PROP_UNDER_CURSOR:
                self.properties[self.cursor] = new
            else:
                self.insert(self.cursor + (how == mq.MQSMPO_SET_PROP_AFTER_CURSOR), new)

    def insert(self, at, new):
        self.properties.insert(at, new)
        if self.cursor is not None and at <= self.cursor:
            self.cursor += 1

    def inquire(self, goes_on):
        start = self.cursor + (not self.deleted) if goes_on and self.cursor is not None else 0
        if start < len(self.properties):
            self.cursor, self.deleted = start, False

    def delete(self, at):
        if at is None:
            return
        del self.properties[at]
        if self.cursor == at:
            self.deleted = True
        elif self.cursor is not None and at < self.cursor:
            self.cursor -= 1


steps = st.one_of(
    st.tuples(
        st.just("set"),
        st.sampled_from(["a", "b", "x.p.one", "x.p.two", "x.q.one", "x.r", "y.z"]),
        st.sampled_from(
            [
                mq.MQSMPO_SET_FIRST,
                mq.MQSMPO_APPEND_PROPERTY,
                mq.MQSMPO_SET_PROP_UNDER_CURSOR,
                mq.MQSMPO_SET_PROP_BEFORE_CURSOR,
                mq.MQSMPO_SET_PROP_AFTER_CURSOR,
            ]
        ),
    ),
    st.tuples(st.just("inquire"), st.booleans()),
    st.tuples(st.just("delete"), st.sampled_from(["a", "x.p.one", "y.z"])),
    st.just(("delete under cursor",)),
)


_APPENDED = [("set", name, mq.MQSMPO_SET_FIRST) for name in ("b", "x.r", "y.z", "x.q.one", "x.p.two")]


@pytest.mark.parametrize("room", [1 << 16, 4])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, max_size=25))
@example([("set", "a", mq.MQSMPO_SET_FIRST), ("inquire", False), ("delete under cursor",), *_APPENDED])
@example([("set", "a", mq.MQSMPO_SET_FIRST), ("inquire", True), ("delete under cursor",)] * 8)
@example([*_APPENDED, *[("inquire", True), ("delete under cursor",), ("set", "b", mq.MQSMPO_SET_FIRST)] * 6])
def test_any_walk_is_that_over_a_list(monkeypatch, room, steps):
    """With little room between places they are often laid out anew."""
    monkeypatch.setattr("mqembedded.properties.sets._ROOM", room)
    some, listed = PropertySet(), Listed()
    for number, (what, *given_values) in enumerate(steps):
        if what == "set":
            new = prop(given_values[0], str(number))
            refusal(some.set, new, given_values[1])
            listed.set(new, given_values[1])
        elif what == "inquire":
            how = mq.MQIMPO_INQ_NEXT if given_values[0] else mq.MQIMPO_INQ_FIRST
            if refusal(some.inquire, "%", how) is None:
                some.move_cursor(some.inquire("%", how)[0], "%")
            listed.inquire(given_values[0])
        elif what == "delete":
            at = listed.find(path_of(given_values[0]))
            assert some.delete(path_of(given_values[0])) == (at is not None)
            listed.delete(at)
        elif refusal(some.delete_under_cursor) is None:
            listed.delete(listed.cursor)
        assert list(some) == listed.properties
        assert len(some) == len(listed.properties)
        for name in ("a", "x.q.one"):
            at = listed.find(path_of(name))
            found = None if refusal(some.inquire, name) else some.inquire(name)[1]
            assert found == (None if at is None else listed.properties[at])


def test_actions_copy_what_the_copy_options_say():
    original = [
        prop("default"),
        prop("all", copy_options=mq.MQCOPY_ALL),
        prop("reply", copy_options=mq.MQCOPY_REPLY),
        prop("none", copy_options=mq.MQCOPY_NONE),
    ]
    copied = {
        mq.MQACTP_NEW: ["default", "all", "reply", "none"],
        mq.MQACTP_FORWARD: ["default", "all"],
        mq.MQACTP_REPLY: ["all", "reply"],
        mq.MQACTP_REPORT: ["default", "all"],
    }
    for action, expected in copied.items():
        assert names(combined(original, [], action)) == expected
    assert refusal(combined, original, [], 4) == mq.MQRC_ACTION_ERROR


def test_the_new_handle_overrides_and_a_null_removes():
    original = [prop("a", "old"), prop("b"), prop("c")]
    new = [prop("a", "new"), Property(path_of("b"), mq.MQTYPE_NULL, None), Property(path_of("d"), mq.MQTYPE_NULL, None)]
    result = combined(original, new, mq.MQACTP_FORWARD)
    assert {name_of(one.path): one.value for one in result} == {"a": "new", "c": "c", "d": None}


# --- MQRFH2

PARTS = st.text(st.characters(categories=["Lu", "Ll", "Nd"], max_codepoint=0xFFFF), min_size=1, max_size=8).map(
    lambda part: "p" + part
)
PATHS = st.one_of(
    st.tuples(st.just("usr"), PARTS), st.lists(PARTS, min_size=2, max_size=4).map(lambda parts: ("q", *parts))
)
PROPERTIES = st.builds(
    lambda path, typed, support, context, copies: Property(path, typed[0], typed[1], support, context, copies),
    PATHS,
    TYPED_VALUES,
    st.sampled_from([mq.MQPD_SUPPORT_OPTIONAL, mq.MQPD_SUPPORT_REQUIRED, mq.MQPD_SUPPORT_REQUIRED_IF_LOCAL]),
    st.sampled_from([mq.MQPD_NO_CONTEXT, mq.MQPD_USER_CONTEXT]),
    st.integers(0, 31),
)


@given(st.lists(PROPERTIES, max_size=6))
def test_what_a_message_keeps_is_what_was_set(properties):
    some = PropertySet()
    for one in properties:
        assert refusal(some.set, one) in (None, mq.MQRC_MIXED_CONTENT_NOT_ALLOWED)
    assert read(kept(some)) == grouped(some)


def grouped(properties):
    """Return properties with folders put together; within one the order stays."""
    folders = [one.path[0] for one in properties]
    return sorted(properties, key=lambda one: folders.index(one.path[0]))


def test_a_nan_is_kept():
    (one,) = read(kept([Property(("usr", "a"), mq.MQTYPE_FLOAT64, math.nan)]))
    assert isinstance(one.value, float)
    assert math.isnan(one.value)


@given(st.text(alphabet="<>/usr a='&;\"1\0", max_size=40))
def test_no_folder_text_does_anything_but_parse_or_answer_2421(text):
    for folder in (text, f"<usr>{text}</usr>"):
        reason = refusal(lambda text: properties_of(parse_folder(text)), folder)
        assert reason in (None, mq.MQRC_RFH_FORMAT_ERROR)


@given(st.binary(max_size=80))
def test_no_bytes_do_anything_but_parse_or_answer_2334_or_2421(data):
    header = struct.pack("<4siiii8sii", b"RFH ", 2, 36 + len(data), 546, 1208, mq.MQFMT_NONE, 0, 1208)
    for whole in (data, header + data, (header + data)[:40]):
        assert refusal(rfh2.check, whole, 546, mq.MQFMT_RF_HEADER_2) in (None, 2334, 2421)


@table(
    ("folder", "expected"),
    [
        ("<usr><a>x &amp; &#65;&lt;</a></usr>", [("a", "x & A<")]),
        ("<usr><a dt='i4'>42</a><b dt=\"boolean\">true</b></usr>  ", [("a", 42), ("b", True)]),
        ("<usr ><a xsi:nil='true' ></a><b/></usr>", [("a", None), ("b", "")]),
        ("<usr><a dt='decimal'>1.50</a><b dt='i1'>300</b></usr>", [("a", "1.50"), ("b", "300")]),
        ("<usr><JMSfoo>x</JMSfoo><null>x</null><g><h>x</h></g><a.b>x</a.b></usr>", []),
        ("<shop content='properties'> <g> <h>x</h> </g> </shop>", [("shop.g.h", "x")]),
    ],
)
def test_a_folder_reads_as_documented(folder, expected):
    element = parse_folder(folder)
    assert holds_properties(element)
    assert [(name_of(one.path), one.value) for one in properties_of(element)] == expected


FORMS = st.text(alphabet="<>/ab ='\"&;#xD80.\0", max_size=30)


@given(
    st.lists(FORMS.map(lambda text: f"<usr>{text}</usr>"), max_size=2),
    FORMS.map(lambda text: f"<q content='properties'>{text}</q>"),
    st.lists(PROPERTIES, max_size=2),
    st.sampled_from(Delivery),
)
@example([], "<q content='properties'><a dt='&apos;&lt;'>1</a></q>", [prop("b")], Delivery.IN_RFH2)
@example([], "<q content='properties'><a><b>1</b></a></q>", [prop("q.a")], Delivery.IN_RFH2)
@example(["<usr><a>&#xD800;</a></usr>"], "<q/>", [prop("b")], Delivery.IN_RFH2)
def test_every_message_can_be_delivered_in_every_form(user, other, properties, how):
    header = rfh2.packed(rfh2.variable_part([*user, other]), 546, 1208, mq.MQFMT_STRING)
    md = struct.pack("<4s5i", b"MD  ", 2, 0, 0, 0, 0) + struct.pack("<ii8s", 546, 1208, mq.MQFMT_RF_HEADER_2)
    md = md.ljust(364, b"\0")
    apart = kept(properties)
    got_md, got_data, presented = present(md, header + b"data", apart, how)
    got_md, got_data = presented.with_header(got_md, got_data)
    assert len(got_md) == 364
    assert got_data.endswith(b"data")
    if how is Delivery.IN_RFH2 and refusal(rfh2.check, header, 546, mq.MQFMT_RF_HEADER_2) is None:
        # All of them are in the header now, as they were.
        put = present(md, header + b"data", apart, Delivery.IN_HANDLE)[2].in_handle
        got = present(got_md, got_data, b"", Delivery.IN_HANDLE)[2].in_handle
        assert list(got or ()) == grouped(put or ())


@table("folder", ["<psc><Command>RegSub</Command></psc>", "<shop><a>x</a></shop>"])
def test_other_folders_hold_no_properties(folder):
    assert not looks_like_properties(folder)
    assert not holds_properties(parse_folder(folder))

"""MatchOptions of MQGMO: which fields of the MQMD select (IBM MQ, topics q096750, js50716, q042800)."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, failed
from embedded_tests.tables import table
from mqembedded import constants as mq

LO = mq.MQGMO_LOGICAL_ORDER
MIG, LAST_MIG, SEG = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP, mq.MQMF_SEGMENT


def identifier(text):
    return text.encode().ljust(24, b"\0")


# Each message differs from the last, wanted one in one field at least.
WANTED = {
    "MsgId": identifier("m"),
    "CorrelId": identifier("c"),
    "GroupId": identifier("g"),
    "MsgSeqNumber": 3,
    "Offset": 20,
}
OTHER = {
    "MsgId": identifier("other"),
    "CorrelId": identifier("other"),
    "GroupId": identifier("other"),
    "MsgSeqNumber": 2,
    "Offset": 10,
}
OPTION = {
    "MsgId": mq.MQMO_MATCH_MSG_ID,
    "CorrelId": mq.MQMO_MATCH_CORREL_ID,
    "GroupId": mq.MQMO_MATCH_GROUP_ID,
    "MsgSeqNumber": mq.MQMO_MATCH_MSG_SEQ_NUMBER,
    "Offset": mq.MQMO_MATCH_OFFSET,
}


@pytest.fixture
def make_source(connection, make_queue):
    """A function: open a queue on which one message stands behind those that differ from it in one field each."""

    def make():
        queue = make_queue()
        out = connection.open(queue, mq.MQOO_OUTPUT)
        for name in WANTED:
            assert out.put(name.encode(), MsgFlags=MIG | SEG, **{**WANTED, name: OTHER[name]}).code == OK
        assert out.put(b"wanted", MsgFlags=MIG | SEG, **WANTED).code == OK
        return connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)

    return make


@pytest.fixture
def source(make_source):
    return make_source()


@table("name", WANTED, anew=["source"])
def test_each_option_selects_by_its_field(source, name):
    answer = source.get(match=OPTION[name], **{name: OTHER[name]})
    assert (answer.code, answer.data) == (OK, name.encode())


def test_all_options_together_select_one_message(source):
    answer = source.get(match=sum(OPTION.values()), **WANTED)
    assert (answer.code, answer.data) == (OK, b"wanted")
    assert source.get(match=sum(OPTION.values()), **WANTED).code == EMPTY


@table("left_out", WANTED, anew=["source"])
def test_a_field_whose_option_is_not_given_does_not_count(source, left_out):
    match = sum(option for name, option in OPTION.items() if name != left_out)
    answer = source.get(match=match, **{**WANTED, left_out: OTHER[left_out]})
    assert (answer.code, answer.data) == (OK, left_out.encode())


@table("name", WANTED)
def test_an_option_that_nothing_matches_finds_nothing(source, name):
    value = 7 if isinstance(WANTED[name], int) else identifier("nobody")
    assert source.get(match=OPTION[name], **{name: value}).code == EMPTY


def test_without_options_any_message_matches(source):
    assert source.get(match=mq.MQMO_NONE, **OTHER).data == b"MsgId"


@table(
    ("name", "null"), [("MsgId", mq.MQMI_NONE), ("CorrelId", mq.MQCI_NONE), ("GroupId", mq.MQGI_NONE)], anew=["source"]
)
def test_a_null_identifier_matches_any(source, name, null):
    assert source.get(match=OPTION[name], **{name: null}).data == b"MsgId"


def test_the_descriptor_returns_the_identifiers_of_the_message(source):
    answer = source.get(match=mq.MQMO_MATCH_GROUP_ID, GroupId=OTHER["GroupId"])
    assert (answer.md.MsgId, answer.md.CorrelId) == (WANTED["MsgId"], WANTED["CorrelId"])
    assert answer.place == (OTHER["GroupId"], 3, 20)


def test_a_version_1_gmo_matches_msg_id_and_correl_id(source, mqi):
    """MatchOptions came with Version 2; before, MsgId and CorrelId select, null matching any."""
    gmo = mqi.gmo(Version=1, Options=mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_NO_PROPERTIES, MatchOptions=mq.MQMO_NONE)
    answer = source.get(gmo=gmo, MsgId=WANTED["MsgId"], CorrelId=OTHER["CorrelId"], GroupId=identifier("nobody"))
    assert answer.data == b"CorrelId"
    gmo = mqi.gmo(Version=1, Options=mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_NO_PROPERTIES, MatchOptions=mq.MQMO_NONE)
    assert source.get(gmo=gmo, MsgId=OTHER["MsgId"]).data == b"MsgId"
    gmo = mqi.gmo(Version=1, Options=mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_NO_PROPERTIES, MatchOptions=mq.MQMO_MATCH_OFFSET)
    assert source.get(gmo=gmo).data == b"GroupId"


def test_the_default_of_the_structure_is_msg_id_and_correl_id(source, mqi):
    gmo = mqi.package.GMO(Version=2)
    assert gmo.MatchOptions == mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_CORREL_ID


def test_a_reused_descriptor_asks_for_the_same_message_again(connection, queue, mqi):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    for _ in range(2):
        assert out.put(b"").code == OK
    md, source = mqi.md(), connection.open(queue, mq.MQOO_INPUT_SHARED)
    match = mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_CORREL_ID
    assert source.get(match=match, md=md).code == OK
    assert source.get(match=match, md=md).code == EMPTY
    assert source.get(match=mq.MQMO_NONE, md=md).code == OK


@table("bit", [0x40, 0x80, 0x1000])
def test_an_unknown_option_is_refused(source, bit):
    assert source.get(match=bit).code == failed(mq.MQRC_MATCH_OPTIONS_ERROR)


# --- in logical order with a current group, what is named must be what is returned next


@pytest.fixture
def make_in_group(connection, make_queue):
    """A function that opens a handle in a group: sequence number 1 is got, 2 is next."""

    def make():
        queue = make_queue()
        out = connection.open(queue, mq.MQOO_OUTPUT)
        first = out.put(b"1", mq.MQPMO_LOGICAL_ORDER, MsgFlags=MIG)
        second = out.put(b"2", mq.MQPMO_LOGICAL_ORDER, MsgFlags=LAST_MIG)
        assert out.put(b"a", MsgId=identifier("a")).code == OK
        source = connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)
        assert source.get(LO).md.MsgId == first.md.MsgId
        return source, second.md

    return make


@pytest.fixture
def in_group(make_in_group):
    return make_in_group()


@table("name", WANTED, anew=["in_group"])
def test_an_option_that_names_another_message_than_the_next_is_refused_and_the_next_accepted(in_group, name):
    source, following = in_group
    wrong = 9 if isinstance(WANTED[name], int) else identifier("nobody")
    assert source.get(LO, match=OPTION[name], **{name: wrong}).code == failed(mq.MQRC_MATCH_OPTIONS_ERROR)
    answer = source.get(LO, match=OPTION[name], **{name: getattr(following, name)})
    assert (answer.code, answer.data) == (OK, b"2")


def test_under_the_cursor_the_options_do_not_count(in_group):
    source, _ = in_group
    found = source.get(mq.MQGMO_BROWSE_FIRST, match=mq.MQMO_MATCH_MSG_ID, MsgId=identifier("a"))
    assert found.data == b"a"
    nobody = {"match": mq.MQMO_MATCH_MSG_ID, "MsgId": identifier("nobody")}
    assert source.get(mq.MQGMO_BROWSE_MSG_UNDER_CURSOR, **nobody).data == b"a"
    assert source.get(mq.MQGMO_MSG_UNDER_CURSOR, **nobody).data == b"a"


def test_options_choose_the_group_to_begin(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    groups = []
    for name in (b"y", b"z"):
        out.put(name + b"1", mq.MQPMO_LOGICAL_ORDER, MsgFlags=MIG)
        groups.append(out.put(name + b"2", mq.MQPMO_LOGICAL_ORDER, MsgFlags=LAST_MIG).md.GroupId)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    answers = [source.get(LO, match=mq.MQMO_MATCH_GROUP_ID, GroupId=groups[1]) for _ in range(2)]
    assert [answer.data for answer in answers] == [b"z1", b"z2"]
    assert source.get(LO, match=mq.MQMO_MATCH_GROUP_ID, GroupId=groups[1]).code == EMPTY
    assert source.get(LO).data == b"y1"


@table("number", [-1, 0, 1_000_000_000])
@table("more", [0, mq.MQGMO_LOGICAL_ORDER, mq.MQGMO_BROWSE_FIRST])
def test_a_number_that_no_message_has_cannot_be_asked_for(connection, queue, number, more):
    """2250 is for MQGET too: "the value of the MsgSeqNumber field ... is less than one or greater than 999 999 999" (q042830)."""
    handle = connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE | mq.MQOO_OUTPUT)
    assert handle.put(b"m").code == OK
    refused = handle.get(more, match=mq.MQMO_MATCH_MSG_SEQ_NUMBER, MsgSeqNumber=number)
    assert refused.code == failed(mq.MQRC_MSG_SEQ_NUMBER_ERROR)
    # The highest that there can be, and numbers that are no criterion
    assert handle.get(match=mq.MQMO_MATCH_MSG_SEQ_NUMBER, MsgSeqNumber=999_999_999).code == EMPTY
    assert handle.get(mq.MQGMO_BROWSE_FIRST, MsgSeqNumber=number).code == OK
    under_cursor = handle.get(mq.MQGMO_MSG_UNDER_CURSOR, match=mq.MQMO_MATCH_MSG_SEQ_NUMBER, MsgSeqNumber=number)
    assert under_cursor.code == OK

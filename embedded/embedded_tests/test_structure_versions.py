"""Every version of MQMD, MQGMO, MQPMO and MQOD, and the MQMDE that stands in for a version 2 MQMD.

IBM MQ, topics of these structures, "MQMDE" and the reason codes 2026, 2186, 2173, 2044.
"""

from __future__ import annotations

import struct

from embedded_tests.fix_mqi import EMPTY, OK, failed, text
from embedded_tests.tables import table
from mqembedded import constants as c

MDE = struct.Struct("4s4i8si24s4i")
GROUP = b"the group".ljust(24)
# Lengths on a 64-bit platform by version: what is behind belongs to somebody else.
LENGTHS = {
    "MD": {1: 324, 2: 364},
    "GMO": {1: 72, 2: 80, 3: 100, 4: 112},
    "PMO": {1: 128, 2: 160, 3: 184},
    "OD": {1: 168, 2: 208, 3: 344, 4: 424},
}
CASES = [(name, version) for name, versions in LENGTHS.items() for version in versions]


class Raw:
    """A packed structure whose bytes a test has changed by hand."""

    def __init__(self, packed):
        self.packed = packed

    def pack(self):
        return self.packed

    def unpack(self, packed):
        self.packed = packed


def structure(mqi, name, version):
    options = {"GMO": c.MQGMO_NO_SYNCPOINT, "PMO": c.MQPMO_NO_SYNCPOINT}
    fields = {"Options": options[name]} if name in options else {}
    return getattr(mqi.package, name)(Version=version, **fields)


def call_with(connection, queue, name, given):
    """Make a call that takes the structure; returns its code."""
    if name == "OD":
        return connection.open("", c.MQOO_OUTPUT, od=given).code
    handle = connection.open(queue, c.MQOO_OUTPUT | c.MQOO_INPUT_SHARED)
    if name == "PMO":
        return handle.put(b"m", pmo=given).code
    assert handle.put(b"m").code == OK
    return handle.get(**{name.lower(): given}).code


@table(("name", "version"), CASES)
def test_every_version_is_accepted_and_nothing_behind_it_is_written(connection, queue, mqi, name, version):
    made = structure(mqi, name, version)
    if name == "OD":
        made.ObjectName = queue.encode()
    packed, length = made.pack(), LENGTHS[name][version]
    given = Raw(packed[:length] + b"\xa5" * (len(packed) - length))
    assert call_with(connection, queue, name, given) == OK
    assert len(given.packed) == len(packed)
    assert given.packed[length:] == b"\xa5" * (len(packed) - length)
    assert given.packed[:8] == packed[:8]


ERRORS = {"MD": c.MQRC_MD_ERROR, "GMO": c.MQRC_GMO_ERROR, "PMO": c.MQRC_PMO_ERROR, "OD": c.MQRC_OD_ERROR}


@table("name", LENGTHS)
@table("version", [0, -1, 9, 2_000_000_000])
def test_an_unknown_version_is_refused(connection, queue, mqi, name, version):
    assert call_with(connection, queue, name, structure(mqi, name, version)) == failed(ERRORS[name])


@table("name", LENGTHS)
def test_a_wrong_structure_identifier_is_refused(connection, queue, mqi, name):
    given = Raw(b"XXXX" + structure(mqi, name, 1).pack()[4:])
    assert call_with(connection, queue, name, given) == failed(ERRORS[name])


def test_a_put_with_a_broken_descriptor_puts_nothing(connection, queue, mqi):
    out = connection.open(queue, c.MQOO_OUTPUT)
    assert out.put(b"m", md=structure(mqi, "MD", 3)).code == failed(c.MQRC_MD_ERROR)
    assert out.put(b"m", pmo=structure(mqi, "PMO", 4)).code == failed(c.MQRC_PMO_ERROR)
    assert connection.depth(queue) == 0


# --- what each version returns


@table(("version", "status"), [(1, "   "), (2, "G  "), (3, "G  "), (4, "G  ")])
def test_the_statuses_come_with_version_2_of_the_gmo(connection, queue, mqi, version, status):
    connection.open(queue, c.MQOO_OUTPUT).put(b"", c.MQPMO_LOGICAL_ORDER, MsgFlags=c.MQMF_MSG_IN_GROUP)
    gmo = structure(mqi, "GMO", version)
    answer = connection.open(queue, c.MQOO_INPUT_SHARED).get(gmo=gmo)
    assert (answer.code, answer.status) == (OK, status)


@table("version", [3, 4])
def test_the_returned_length_comes_with_version_3_of_the_gmo(connection, queue, mqi, version):
    connection.put1(queue, b"ten bytes!")
    source = connection.open(queue, c.MQOO_INPUT_SHARED | c.MQOO_BROWSE)
    gmo = mqi.gmo(Version=version, Options=c.MQGMO_BROWSE_FIRST | c.MQGMO_ACCEPT_TRUNCATED_MSG | c.MQGMO_NO_PROPERTIES)
    assert source.get(gmo=gmo, length=4).gmo.ReturnedLength == 4
    gmo = mqi.gmo(Version=version, Options=c.MQGMO_NO_SYNCPOINT | c.MQGMO_NO_PROPERTIES)
    assert source.get(gmo=gmo).gmo.ReturnedLength == 10


@table("version", [1, 2, 3, 4])
def test_the_gmo_returns_the_queue_s_name(connection, queue, mqi, version):
    connection.put1(queue, b"")
    answer = connection.open(queue, c.MQOO_INPUT_SHARED).get(gmo=structure(mqi, "GMO", version))
    assert text(answer.gmo.ResolvedQName) == queue


@table("version", [1, 2, 3])
def test_the_pmo_returns_where_the_message_went(connection, queue, mqi, mq, version):
    answer = connection.open(queue, c.MQOO_OUTPUT).put(b"", pmo=structure(mqi, "PMO", version))
    assert (text(answer.pmo.ResolvedQName), text(answer.pmo.ResolvedQMgrName)) == (queue, mq.q_mgr_name)


@table("version", [1, 2, 3, 4])
def test_the_resolved_names_come_with_version_3_of_the_od(connection, queue, mqi, mq, version):
    handle = connection.open(queue, c.MQOO_OUTPUT, od=mqi.od(Version=version, ObjectName=queue.encode()))
    found = text(handle.od.ResolvedQName), text(handle.od.ResolvedQMgrName)
    assert found == ((queue, mq.q_mgr_name) if version >= 3 else ("", ""))


@table("version", [1, 2])
def test_character_fields_come_back_blank_padded(connection, queue, mqi, version):
    connection.put1(queue, b"", Format=b"MQSTR\0\0\0", ReplyToQ=b"REPLIES\0garbage")
    answer = connection.open(queue, c.MQOO_INPUT_SHARED).get(md=mqi.md(Version=version))
    assert answer.md.Format == b"MQSTR   "
    assert answer.md.ReplyToQ == b"REPLIES".ljust(48)


def test_what_a_put_returns_in_the_descriptor(connection, queue):
    answer = connection.open(queue, c.MQOO_OUTPUT).put(b"m")
    assert answer.md.MsgId != bytes(24)
    assert answer.md.Priority == 0
    assert answer.md.Persistence == 0
    assert answer.md.PutDate.isdigit()
    assert answer.md.PutTime.isdigit()
    got = connection.open(queue, c.MQOO_INPUT_SHARED).get()
    for field in (
        "MsgId",
        "CorrelId",
        "Priority",
        "Persistence",
        "PutDate",
        "PutTime",
        "PutApplName",
        "UserIdentifier",
    ):
        assert getattr(got.md, field) == getattr(answer.md, field)


def test_a_message_keeps_what_the_application_said(connection, queue):
    fields = {
        "MsgId": b"m" * 24,
        "CorrelId": b"c" * 24,
        "MsgType": 1,
        "Format": b"MYFORMAT",
        "CodedCharSetId": 1208,
        "Encoding": 0x111,
        "ReplyToQ": b"R".ljust(48),
        "Feedback": 70_000,
        "Priority": 4,
        "Persistence": 1,
    }
    assert connection.put1(queue, b"m", **fields).code == OK
    got = connection.open(queue, c.MQOO_INPUT_SHARED).get().md
    assert {name: getattr(got, name) for name in fields} == fields


# --- MQMDE


def extension(
    group=GROUP, seq=2, offset=0, flags=c.MQMF_MSG_IN_GROUP, *, format_name=c.MQFMT_STRING, ccsid=1208, **changed
):
    """Return an MQMDE; ``changed`` are fields to spoil."""
    whole = {"struc_id": b"MDE ", "version": 2, "length": 72, **changed}
    head = (whole["struc_id"], whole["version"], whole["length"], c.MQENC_NATIVE, ccsid, format_name.ljust(8), 0)
    return MDE.pack(*head, group, seq, offset, flags, c.MQOL_UNDEFINED)


def test_a_version_1_reader_gets_an_mqmde_before_the_data(connection, queue, mqi):
    out = connection.open(queue, c.MQOO_OUTPUT)
    fields = {"Format": c.MQFMT_STRING, "CodedCharSetId": 1208, "Encoding": c.MQENC_NATIVE}
    out.put(b"text", MsgFlags=c.MQMF_LAST_MSG_IN_GROUP, GroupId=GROUP, MsgSeqNumber=5, **fields)
    answer = connection.open(queue, c.MQOO_INPUT_SHARED).get(md=mqi.md(Version=1))
    assert (answer.code, answer.length) == (OK, 76)
    assert answer.md.Version == 1
    assert answer.md.Format == c.MQFMT_MD_EXTENSION
    # "the last of a group is also in it", and OriginalLength is set by the queue manager or left undefined
    found = MDE.unpack(answer.data[:72])
    assert found[:11] == (b"MDE ", 2, 72, c.MQENC_NATIVE, 1208, b"MQSTR   ", 0, GROUP, 5, 0, 0x18)
    assert answer.data[72:] == b"text"


def test_a_version_1_reader_needs_room_for_the_mqmde(connection, queue, mqi):
    connection.open(queue, c.MQOO_OUTPUT).put(b"text", MsgFlags=c.MQMF_MSG_IN_GROUP, GroupId=GROUP)
    source = connection.open(queue, c.MQOO_INPUT_SHARED)
    answer = source.get(md=mqi.md(Version=1), length=75)
    assert (answer.code.reason, answer.length, len(answer.data)) == (2080, 76, 75)
    assert source.get(length=4).data == b"text"


def test_a_version_1_reader_gets_ungrouped_messages_as_they_are(connection, queue, mqi):
    connection.put1(queue, b"text", Format=c.MQFMT_STRING)
    answer = connection.open(queue, c.MQOO_INPUT_SHARED).get(md=mqi.md(Version=1))
    assert (answer.data, answer.md.Format) == (b"text", b"MQSTR   ")


def test_a_version_1_descriptor_puts_no_group_fields(connection, queue, mqi):
    md = mqi.md(Version=1, GroupId=GROUP, MsgSeqNumber=5, Offset=6, MsgFlags=c.MQMF_MSG_IN_GROUP | c.MQMF_SEGMENT)
    assert connection.open(queue, c.MQOO_OUTPUT).put(b"m", md=md).code == OK
    found = connection.browse(queue)[0]
    assert (found.place, found.md.MsgFlags) == ((c.MQGI_NONE, 1, 0), 0)


def test_an_mqmde_after_a_version_1_descriptor_is_honoured(connection, queue, mqi):
    md = mqi.md(Version=1, Format=c.MQFMT_MD_EXTENSION)
    out = connection.open(queue, c.MQOO_OUTPUT)
    assert out.put(extension(seq=3) + b"text", md=md).code == OK
    answer = connection.open(queue, c.MQOO_INPUT_SHARED).get()
    assert (answer.place, answer.md.MsgFlags) == ((GROUP, 3, 0), c.MQMF_MSG_IN_GROUP)
    assert (answer.data, answer.md.Format, answer.md.CodedCharSetId) == (b"text", b"MQSTR   ", 1208)


def test_an_mqmde_survives_the_way_from_version_1_to_version_1(connection, queue, mqi):
    whole = extension(seq=3, offset=7, flags=c.MQMF_MSG_IN_GROUP | c.MQMF_SEGMENT) + b"text"
    md = mqi.md(Version=1, Format=c.MQFMT_MD_EXTENSION)
    assert connection.open(queue, c.MQOO_OUTPUT).put(whole, md=md).code == OK
    answer = connection.open(queue, c.MQOO_INPUT_SHARED).get(md=mqi.md(Version=1))
    assert answer.data[:68] == whole[:68]
    assert answer.data[72:] == b"text"


@table(
    "data",
    [
        b"",
        extension()[:71],
        extension(struc_id=b"XXX ") + b"text",
        extension(version=3) + b"text",
        extension(length=71) + b"text",
        extension(length=80) + b"text",
    ],
    ids=["nothing", "cut short", "identifier", "version", "too short", "too long"],
)
def test_a_malformed_mqmde_is_refused(connection, queue, mqi, data):
    out = connection.open(queue, c.MQOO_OUTPUT)
    assert out.put(data, md=mqi.md(Version=1, Format=c.MQFMT_MD_EXTENSION)).code == failed(c.MQRC_MDE_ERROR)
    assert connection.depth(queue) == 0


def test_the_data_behind_an_mqmde_may_be_empty(connection, queue, mqi):
    md = mqi.md(Version=1, Format=c.MQFMT_MD_EXTENSION)
    assert connection.open(queue, c.MQOO_OUTPUT).put(extension(format_name=c.MQFMT_NONE), md=md).code == OK
    answer = connection.open(queue, c.MQOO_INPUT_SHARED).get()
    assert (answer.data, answer.md.Format) == (b"", b"        ")


def test_a_default_get_of_the_binding_sees_groups_as_its_versions_let_it(connection, queue, mqi):
    """pymqi's structures are version 1 by default, ibmmq's are not (docs of both)."""
    connection.open(queue, c.MQOO_OUTPUT).put(b"m", c.MQPMO_LOGICAL_ORDER, MsgFlags=c.MQMF_LAST_MSG_IN_GROUP)
    source = connection.open(queue, c.MQOO_INPUT_SHARED)
    answer = source.get(md=mqi.package.MD(), gmo=mqi.package.GMO(Options=c.MQGMO_NO_PROPERTIES))
    assert len(answer.data) == (73 if mqi.name == "pymqi" else 1)
    assert source.get().code == EMPTY

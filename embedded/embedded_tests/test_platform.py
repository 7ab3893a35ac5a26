"""The z/OS profile: what IBM's documents say is different there."""

from __future__ import annotations

import struct

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, empty, failed
from embedded_tests.fix_properties import MessageHandle, put
from embedded_tests.tables import table
from mqembedded import EmbeddedQueueManagerError
from mqembedded import constants as mq

pytestmark = pytest.mark.embedded

MQSC = """
DEFINE QLOCAL(PLAIN) SHARE DEFSOPT(SHARED)
DEFINE QLOCAL(GROUPS) INDXTYPE(GROUPID) SHARE DEFSOPT(SHARED)
DEFINE QLOCAL(FIFO) INDXTYPE(GROUPID) MSGDLVSQ(FIFO) SHARE DEFSOPT(SHARED)
"""


@pytest.fixture(scope="module")
def zos(module_queue_manager):
    return module_queue_manager(MQSC, "QMZ", platform="zos")


@pytest.fixture
def connection(connect, zos):
    connected = connect(to=zos)
    empty(connected, "PLAIN", "GROUPS")
    return connected


def test_mqinq_says_which_platform(connection):
    handle = connection.open("", mq.MQOO_INQUIRE, ObjectType=mq.MQOT_Q_MGR)
    assert handle.inquire(mq.MQIA_PLATFORM) == (OK, mq.MQPL_ZOS)


@table(("version", "code"), [(1, OK), (2, failed(mq.MQRC_PMO_ERROR)), (3, OK)])
def test_version_2_of_mqpmo_is_not_supported(connection, version, code):
    """q098870: AIX, IBM i, Linux and Windows, and clients connected to these."""
    assert connection.open("PLAIN", mq.MQOO_OUTPUT).put(b"x", pmo=connection.mqi.pmo(Version=version)).code == code


@table(
    "option",
    [mq.MQGMO_LOGICAL_ORDER, mq.MQGMO_ALL_MSGS_AVAILABLE, mq.MQGMO_ALL_SEGMENTS_AVAILABLE, mq.MQGMO_COMPLETE_MSG],
)
def test_getting_by_groups_needs_a_queue_that_is_indexed_by_group(connection, option):
    assert connection.open("PLAIN", mq.MQOO_INPUT_SHARED).get(option).code == failed(mq.MQRC_Q_INDEX_TYPE_ERROR)
    assert connection.open("GROUPS", mq.MQOO_INPUT_SHARED).get(option).code == EMPTY


def test_segments_are_not_put_on_a_queue_that_is_indexed_by_group(connection):
    """2365: "the queue on which the message is to be placed has an IndexType of MQIT_GROUP_ID" (q043940)."""
    out = connection.open("GROUPS", mq.MQOO_OUTPUT)
    assert out.put(b"x", MsgFlags=mq.MQMF_LAST_SEGMENT).code == failed(mq.MQRC_SEGMENTS_NOT_SUPPORTED)
    assert connection.put1("GROUPS", b"x", MsgFlags=mq.MQMF_SEGMENT).code == failed(mq.MQRC_SEGMENTS_NOT_SUPPORTED)
    plain = connection.open("PLAIN", mq.MQOO_OUTPUT)
    assert [
        plain.put(b"x", mq.MQPMO_LOGICAL_ORDER, MsgFlags=flag).code for flag in (mq.MQMF_SEGMENT, mq.MQMF_LAST_SEGMENT)
    ] == [
        OK,
        OK,
    ]
    found = connection.open("PLAIN", mq.MQOO_INPUT_SHARED).all(mq.MQGMO_NO_SYNCPOINT)
    assert [(answer.md.Offset, answer.status) for answer in found] == [(0, " S "), (1, " L ")]


def test_a_report_on_a_segment_is_not_put_on_such_a_queue_either(connection):
    fields = {"MsgFlags": mq.MQMF_LAST_SEGMENT, "Report": mq.MQRO_COA, "ReplyToQ": b"GROUPS"}
    assert connection.put1("PLAIN", b"x", **fields).code == OK
    assert connection.put1("PLAIN", b"x", Report=mq.MQRO_COA, ReplyToQ=b"GROUPS").code == OK
    assert [answer.md.MsgFlags for answer in connection.browse("GROUPS")] == [0]


def test_that_the_queue_manager_may_split_is_accepted_and_ignored(connection):
    out = connection.open("GROUPS", mq.MQOO_OUTPUT)
    # No group identifier, no Segmentation status
    assert out.put(b"x", MsgFlags=mq.MQMF_SEGMENTATION_ALLOWED).code == OK
    answer = connection.open("GROUPS", mq.MQOO_INPUT_SHARED).get()
    assert (answer.md.GroupId, answer.md.MsgFlags, answer.status) == (bytes(24), 0, "   ")


def test_calls_without_a_syncpoint_option_are_in_the_unit_of_work(connection):
    pmo = connection.mqi.pmo(Options=0)
    assert connection.open("PLAIN", mq.MQOO_OUTPUT).put(b"x", pmo=pmo).code == OK
    assert connection.browse("PLAIN") == []
    assert connection.commit() == OK
    into = connection.open("PLAIN", mq.MQOO_INPUT_SHARED)
    assert into.get(gmo=connection.mqi.gmo(Options=0)).data == b"x"
    assert connection.back_out() == OK
    assert into.get(mq.MQGMO_NO_SYNCPOINT).md.BackoutCount == 1


@table("priority", [0, 1])
def test_a_group_of_the_lowest_priorities_is_placed_as_one_of_priority_2(connection, priority):
    out = connection.open("GROUPS", mq.MQOO_OUTPUT)
    out.put(b"alone", Priority=1)
    out.put(b"first", mq.MQPMO_LOGICAL_ORDER, MsgFlags=mq.MQMF_MSG_IN_GROUP, Priority=priority)
    out.put(b"last", mq.MQPMO_LOGICAL_ORDER, MsgFlags=mq.MQMF_LAST_MSG_IN_GROUP, Priority=priority)
    found = connection.open("GROUPS", mq.MQOO_INPUT_SHARED).all(mq.MQGMO_LOGICAL_ORDER)
    # "The Priority field in the MQMD structure is not changed"
    assert [(a.data, a.md.Priority) for a in found] == [(b"first", priority), (b"last", priority), (b"alone", 1)]


def test_elsewhere_indxtype_is_not_known(own_queue_manager, connect, tmp_path):
    mqsc = tmp_path / "indexed.mqsc"
    mqsc.write_text("DEFINE QLOCAL(GROUPS) INDXTYPE(GROUPID)\n")
    with pytest.raises(EmbeddedQueueManagerError, match="INDXTYPE"):
        own_queue_manager("QMU", mqsc=[mqsc])
    connection = connect(to=own_queue_manager("QMU"))
    assert connection.open("", mq.MQOO_INQUIRE, ObjectType=mq.MQOT_Q_MGR).inquire(mq.MQIA_PLATFORM) == (
        OK,
        mq.MQPL_UNIX,
    )


def test_the_first_messages_of_groups_lie_as_they_came_and_the_order_of_the_others_is_not_defined(zos, connect):
    """ "The physical order of messages on the queue is not defined" (topic "MsgDeliverySequence")."""
    connection = connect(to=zos)
    empty(connection, "FIFO")
    out = connection.open("FIFO", mq.MQOO_OUTPUT)
    for flags, data in [(mq.MQMF_MSG_IN_GROUP, b"A1 A2"), (mq.MQMF_LAST_MSG_IN_GROUP, b"A3")] * 2:
        for each in data.split():
            out.put(each, mq.MQPMO_LOGICAL_ORDER | mq.MQPMO_NO_SYNCPOINT, MsgFlags=flags)
    # Arrivals behind the cursor: the rest of the second group lies before that of the first.
    numbers = [answer.md.MsgSeqNumber for answer in connection.browse("FIFO")]
    assert numbers == [3, 2, 3, 2, 1, 1]
    into = connection.open("FIFO", mq.MQOO_INPUT_SHARED)
    in_order = [into.get(mq.MQGMO_LOGICAL_ORDER | mq.MQGMO_NO_SYNCPOINT).md.MsgSeqNumber for _ in range(6)]
    assert in_order == [1, 2, 3, 1, 2, 3]


def test_identifiers_begin_with_the_product(connection):
    """ "A 4-byte product identifier ('AMQ ' or 'CSQ ')" (q097550)."""
    answer = connection.put1("PLAIN", b"x", MsgFlags=mq.MQMF_LAST_MSG_IN_GROUP)
    assert (answer.md.MsgId[:7], answer.md.GroupId[:7]) == (b"CSQ QMZ", b"CSQ QMZ")


SECURED = """
DEFINE QMODEL(MODEL) DEFTYPE(PERMDYN)
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('model') AUTHADD(CONNECT)
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('both') AUTHADD(CONNECT)
SET AUTHREC PROFILE('MODEL') OBJTYPE(QUEUE) PRINCIPAL('model') AUTHADD(DSP,GET,PUT)
SET AUTHREC PROFILE('MODEL') OBJTYPE(QUEUE) PRINCIPAL('both') AUTHADD(DSP,GET,PUT)
SET AUTHREC PROFILE('MADE.**') OBJTYPE(QUEUE) PRINCIPAL('both') AUTHADD(GET)
SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('CHINUSER') AUTHADD(ALL)
SET AUTHREC PROFILE('MADE.ALONE') OBJTYPE(QUEUE) PRINCIPAL('CHINUSER') AUTHADD(NONE)
"""
REFUSED = failed(mq.MQRC_NOT_AUTHORIZED)


def test_a_dynamic_queue_is_checked_by_its_own_name_too(module_queue_manager, connect):
    """Two checks, of the model queue and of the dynamic queue ("Considerations for model queues")."""
    zos = module_queue_manager(SECURED, "QMS", platform="zos", users={"model": "pw", "both": "pw"})
    get, put = mq.MQOO_INPUT_SHARED, mq.MQOO_OUTPUT
    model, both = (connect(to=zos, user=user, password="pw") for user in ("model", "both"))
    assert model.open("MODEL", get, DynamicQName=b"MADE.1").code == REFUSED
    assert both.open("MODEL", get | put, DynamicQName=b"MADE.1").code == REFUSED
    made = both.open("MODEL", get, DynamicQName=b"MADE.1")
    assert made.code == OK
    # CHL + MCA: with a blank MCAUSER the second user is that of the channel initiator (q011940).
    assert both.open("MODEL", get, DynamicQName=b"MADE.ALONE").code == REFUSED
    # Nothing of what was refused is left, and whoever makes a queue gets no authority by that.
    assert both.open("MADE.1", put).code == REFUSED
    # "Those names are not included in any security checks when RACF generic profiles are used" (q098180).
    assert model.open("MODEL", get, DynamicQName=b"MADE.%1").code == OK
    assert model.open("MADE.%1", put).code == OK


# --- EBCDIC (CCSID 500) and big-endian integers (Encoding 785)


def test_the_queue_manager_s_own_character_set_is_ebcdic(connection):
    handle = connection.open("", mq.MQOO_INQUIRE, ObjectType=mq.MQOT_Q_MGR)
    assert handle.inquire(mq.MQIA_CODED_CHAR_SET_ID) == (OK, 500)


def test_an_mqrfh2_that_the_queue_manager_makes_is_in_its_own_form_unless_it_is_to_be_converted(connection):
    handle = MessageHandle(connection)
    handle.set("colour", "blue")
    assert put(connection.open("PLAIN", mq.MQOO_OUTPUT), b"data", handle).code == OK
    into = connection.open("PLAIN", mq.MQOO_BROWSE)
    force = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_PROPERTIES_FORCE_MQRFH2
    answer = into.get(force)
    assert (answer.md.Encoding, answer.md.CodedCharSetId, answer.md.Format) == (785, 500, mq.MQFMT_RF_HEADER_2)
    struc_id, version, length, *_, name_value_ccsid, first = struct.unpack_from(">4s2i2i8s3i", answer.data)
    assert (struc_id.decode("cp500"), version, name_value_ccsid) == ("RFH ", 2, 1208)
    assert answer.data[40 : 40 + first].decode().startswith("<usr><colour>blue")
    assert answer.data[length:] == b"data"
    answer = into.get(force | mq.MQGMO_CONVERT)
    assert (answer.md.Encoding, answer.data[:4]) == (mq.MQENC_NATIVE, b"RFH ")


def test_a_dead_letter_has_its_header_in_the_form_of_the_queue_manager(connection):
    empty(connection, "DEV.DEAD.LETTER.QUEUE")
    fields = {"Report": mq.MQRO_COA_WITH_FULL_DATA, "ReplyToQ": b"NOWHERE"}
    assert connection.put1("PLAIN", b"x", **fields).code == OK
    letter = connection.open("DEV.DEAD.LETTER.QUEUE", mq.MQOO_INPUT_SHARED).get(mq.MQGMO_NO_SYNCPOINT)
    assert (letter.md.Encoding, letter.md.CodedCharSetId, letter.md.Format) == (785, 500, b"MQDEAD  ")
    struc_id, version, reason, queue = struct.unpack_from(">4s2i48s", letter.data)
    assert (struc_id.decode("cp500"), version, reason) == ("DLH ", 1, mq.MQRC_UNKNOWN_OBJECT_NAME)
    assert queue.decode("cp500").rstrip() == "NOWHERE"

"""The structures' layouts, field by field at the offsets of IBM's topics MQMD, MQPMO, MQGMO, MQOD and MQSTS."""

from __future__ import annotations

import importlib
import struct

import pytest

from embedded_tests.tables import table
from mqgroups.errors import BindingMissing
from mqgroups.mqi import binding as chooser
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st

GROUP = b"G" * 24


@table(
    ("structure", "length", "struc_id", "version"),
    [
        (st.md(), 364, b"MD  ", 2),
        (st.pmo(0), 184, b"PMO ", 1),
        (st.pmo(0, 4711), 184, b"PMO ", 3),
        (st.gmo(0), 112, b"GMO ", 2),
        (st.od("Q"), 424, b"OD  ", 3),
        (st.sts(), 280, b"STAT", 1),
    ],
)
def test_length_identifier_and_version(structure, length, struc_id, version):
    assert len(structure) == length
    assert structure[:4] == struc_id
    assert struct.unpack_from("i", structure, 4) == (version,)


def test_every_field_of_an_md_is_where_it_belongs():
    md = bytes(
        st.md(
            format_name=b"MQSTR   ",
            ccsid=1208,
            priority=4,
            persistence=0,
            msg_id=b"M" * 24,
            correl_id=b"C" * 24,
            group_id=GROUP,
            msg_seq_number=7,
            offset=3,
            msg_flags=0x18,
        )
    )
    longs = {8: 0, 12: 8, 16: -1, 20: 0, 24: mq.MQENC_NATIVE, 28: 1208, 40: 4, 44: 0, 96: 0, 272: 0, 360: -1}
    longs |= {348: 7, 352: 3, 356: 0x18}
    assert {offset: struct.unpack_from("i", md, offset)[0] for offset in longs} == longs
    assert md[32:40] == b"MQSTR   "
    assert (md[48:72], md[72:96], md[324:348]) == (b"M" * 24, b"C" * 24, GROUP)


def test_every_field_of_a_gmo_is_where_it_belongs():
    gmo = bytes(st.gmo(0x8002, match_options=12, wait_interval_ms=1000))
    assert struct.unpack_from("4i", gmo, 8) == (0x8002 | mq.MQGMO_NO_PROPERTIES, 1000, 0, 0)
    assert struct.unpack_from("i", gmo, 72) == (12,)
    assert gmo[76:80] == b"    "


def test_properties_that_nobody_asks_for_are_not_returned():
    # A queue's PROPCTL would put them before the data otherwise, those of an API exit too.
    asked = mq.MQGMO_PROPERTIES_FORCE_MQRFH2
    assert [st.long_at(st.gmo(options), 8) for options in (0, asked)] == [mq.MQGMO_NO_PROPERTIES, asked]


def test_match_options_are_never_the_mqi_s_default():
    # It is MATCH_MSG_ID + MATCH_CORREL_ID: after one get, a reused MQMD would match that message only.
    assert struct.unpack_from("i", st.gmo(0), 72) == (mq.MQMO_NONE,)


def test_every_field_of_a_pmo_and_an_od_is_where_it_belongs():
    assert struct.unpack_from("i", st.pmo(0x8002), 8) == (0x8002,)
    od = st.od("MODEL", object_q_mgr_name="QM2", dynamic_q_name="NEW")
    assert struct.unpack_from("i", od, 8) == (mq.MQOT_Q,)
    assert [st.name_at(od, slice(at, at + 48)) for at in (12, 60, 108)] == ["MODEL", "QM2", "NEW"]


def test_every_field_of_an_sts_that_is_read_is_where_it_belongs():
    # Eight longs, counting StrucId, then four names: MQSTS of Version 1 is 224 bytes, on every platform.
    sts = struct.pack("4s7i", b"STAT", 1, 2, 2053, 4, 5, 6, 1) + b"ORDERS".ljust(48) + bytes(144 + 56)
    assert len(sts) == st.STS_LENGTH
    fields = (st.STS_COMP_CODE, st.STS_REASON, st.STS_PUT_WARNING_COUNT, st.STS_PUT_FAILURE_COUNT)
    assert [st.long_at(sts, field) for field in fields] == [2, 2053, 5, 6]
    assert st.name_at(sts, st.STS_OBJECT_NAME) == "ORDERS"


def test_the_asynchronous_copy_of_a_pmo_differs_in_the_response_only():
    pmo = st.pmo(st.PUT_NEW_MESSAGE | mq.MQPMO_LOGICAL_ORDER, 4711)
    copy = st.asynchronous(pmo)
    assert struct.unpack_from("i", pmo, 8)[0] ^ struct.unpack_from("i", copy, 8)[0] == 0x10000 | 0x20000
    assert struct.unpack_from("i", copy, 8)[0] & 0x30000 == 0x10000
    assert (copy[:8], copy[12:]) == (pmo[:8], pmo[12:])


def test_reading_back_what_a_queue_manager_fills_in():
    pmo = bytearray(st.pmo(0))
    pmo[32:80] = b"ORDERS".ljust(48)
    pmo[80:128] = b"QM1".ljust(48, b"\0")
    assert st.name_at(bytes(pmo), st.PMO_RESOLVED_Q_NAME) == "ORDERS"
    assert st.name_at(bytes(pmo), st.PMO_RESOLVED_Q_MGR_NAME) == "QM1"
    assert st.long_at(bytes(st.md(msg_seq_number=9)), st.MD_MSG_SEQ_NUMBER) == 9


def test_a_call_gets_a_copy_because_the_c_library_writes_into_it():
    template = st.md()
    assert bytes(template) is not bytes(template)
    assert bytes(template) == template


@table("package", ["pymqi", "ibmmq"])
def test_the_layouts_are_the_binding_s(package):
    try:
        chooser._load(package)
    except BindingMissing as error:
        pytest.skip(error.problem)
    binding = importlib.import_module(package)
    md = binding.MD(Version=2, GroupId=GROUP, MsgSeqNumber=7, MsgFlags=8, Persistence=1, Format=mq.MQFMT_NONE)
    assert md.pack() == st.md(group_id=GROUP, msg_seq_number=7, msg_flags=8)
    gmo = binding.GMO(Version=2, Options=0x8002 | mq.MQGMO_NO_PROPERTIES, WaitInterval=5, MatchOptions=12)
    ours = st.gmo(0x8002, match_options=12, wait_interval_ms=5)
    assert gmo.pack()[:76] == ours[:76]
    assert len(gmo.pack()) == len(ours)
    # pymqi gives PubLevel, a field of Version 3, another default.
    assert binding.PMO(Version=1, Options=0x8002).pack()[:180] == st.pmo(0x8002)[:180]
    assert len(binding.OD().pack()) == len(st.od("Q"))
    if package == "ibmmq":
        sts = binding.STS(Version=1).pack()
        assert (len(sts), sts[:12]) == (st.STS_LENGTH, st.sts()[:12])

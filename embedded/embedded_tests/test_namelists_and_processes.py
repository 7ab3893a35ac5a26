"""MQOPEN and MQINQ of namelists and processes, as embedded/embedded_tests/objects.mqsc defines them (IBM MQ, topics "MQINQ",
"Attributes for namelists", "Attributes for process definitions")."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import OK, failed, text, warning
from embedded_tests.tables import table
from mqembedded import constants as mq
from mqembedded.wire.pcf_constants import (
    MQCA_APPL_ID,
    MQCA_ENV_DATA,
    MQCA_NAMELIST_DESC,
    MQCA_NAMELIST_NAME,
    MQCA_NAMES,
    MQCA_PROCESS_DESC,
    MQCA_USER_DATA,
    MQIA_APPL_TYPE,
    MQIA_NAME_COUNT,
)

pytestmark = pytest.mark.embedded


@pytest.fixture
def opened(connection, mqi):
    """A function that opens a namelist or a process."""

    def opened(object_type, name, options=mq.MQOO_INQUIRE, **fields):
        return connection.open("", options, od=mqi.od(ObjectType=object_type, ObjectName=name, **fields))

    return opened


def words(inquired):
    code, value = inquired
    assert code == OK
    return text(value)


def test_a_namelist_tells_how_it_is_called_and_described(opened):
    handle = opened(mq.MQOT_NAMELIST, b"TEST.NAMELIST")
    assert handle.code == OK
    assert handle.inquire(MQIA_NAME_COUNT) == (OK, 2)
    assert words(handle.inquire(MQCA_NAMELIST_NAME)) == "TEST.NAMELIST"
    assert words(handle.inquire(MQCA_NAMELIST_DESC)) == "Two queues"
    assert handle.close() == OK


def test_its_names_are_one_behind_the_other(opened, mqi):
    if mqi.name == "pymqi":
        pytest.skip("pymqi's MQINQ has room for one name")
    handle = opened(mq.MQOT_NAMELIST, b"TEST.NAMELIST")
    found = handle.inquire_many([MQIA_NAME_COUNT, MQCA_NAMES], 1, 96)
    assert found == (OK, [2], b"TEST.LOCAL".ljust(48) + b"TEST.BASE".ljust(48))
    code, _, names = handle.inquire_many([MQCA_NAMES], 0, 48)
    assert (code, names) == (warning(mq.MQRC_CHAR_ATTRS_TOO_SHORT), b"TEST.LOCAL".ljust(48))


def test_a_namelist_may_be_empty(opened):
    assert opened(mq.MQOT_NAMELIST, b"TEST.NAMELIST.EMPTY").inquire(MQIA_NAME_COUNT) == (OK, 0)


def test_a_process_tells_all_it_has(opened):
    handle = opened(mq.MQOT_PROCESS, b"TEST.PROCESS")
    assert handle.inquire(MQIA_APPL_TYPE) == (OK, mq.MQAT_UNIX)
    selectors = (mq.MQCA_PROCESS_NAME, MQCA_PROCESS_DESC, MQCA_APPL_ID, MQCA_ENV_DATA, MQCA_USER_DATA)
    assert [words(handle.inquire(selector)) for selector in selectors] == [
        "TEST.PROCESS",
        "A program",
        "/usr/bin/true",
        "-v",
        "data",
    ]


def test_neither_has_what_a_queue_has(opened):
    for object_type, name in ((mq.MQOT_NAMELIST, b"TEST.NAMELIST"), (mq.MQOT_PROCESS, b"TEST.PROCESS")):
        handle = opened(object_type, name)
        assert handle.inquire(mq.MQIA_CURRENT_Q_DEPTH)[0] == failed(mq.MQRC_SELECTOR_ERROR)
        assert handle.get().code == failed(mq.MQRC_HOBJ_ERROR)


@table("object_type", [mq.MQOT_NAMELIST, mq.MQOT_PROCESS])
def test_a_name_that_nothing_has(opened, object_type):
    assert opened(object_type, b"TEST.LOCAL").code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)


@table("options", [mq.MQOO_OUTPUT, mq.MQOO_INPUT_SHARED, mq.MQOO_BROWSE, mq.MQOO_SET])
@table(("object_type", "name"), [(mq.MQOT_NAMELIST, b"TEST.NAMELIST"), (mq.MQOT_PROCESS, b"TEST.PROCESS")])
def test_they_are_opened_to_inquire_only(opened, object_type, name, options):
    assert opened(object_type, name, options | mq.MQOO_INQUIRE).code == failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)


def test_they_are_this_queue_manager_s(opened):
    handle = opened(mq.MQOT_NAMELIST, b"TEST.NAMELIST", ObjectQMgrName=b"ANOTHER")
    assert handle.code == failed(mq.MQRC_OBJECT_Q_MGR_NAME_ERROR)


def test_one_that_was_deleted_is_gone(opened, own_queue_manager, connect, mqi, tmp_path):
    mqsc = tmp_path / "namelist.mqsc"
    mqsc.write_text("DEFINE NAMELIST(N) NAMES(A)\nALTER NAMELIST(N) NAMES(B, C)\n")
    q_mgr = own_queue_manager(mqsc=[mqsc])
    od = mqi.od(ObjectType=mq.MQOT_NAMELIST, ObjectName=b"N")
    handle = connect(q_mgr).open("", mq.MQOO_INQUIRE, od=od)
    assert handle.inquire(MQIA_NAME_COUNT) == (OK, 2)
    mqsc.write_text("DELETE NAMELIST(N)\n")
    q_mgr.kill()
    q_mgr.start()
    assert connect(q_mgr).open("", mq.MQOO_INQUIRE, od=od).code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)

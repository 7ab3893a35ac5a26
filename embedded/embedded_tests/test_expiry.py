"""Messages that expire; expected values from IBM MQ, topics q097490 (Expiry) and q097495 (CAPEXPRY)."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, shared_input, wait_until
from embedded_tests.tables import table
from mqembedded import constants as mq

HOUR = 36_000  # in tenths of a second
SOON = 1


@pytest.fixture
def out(connection, queue):
    return connection.open(queue, mq.MQOO_OUTPUT)


@pytest.fixture
def into(connection, queue):
    return shared_input(connection, queue)


def test_a_message_comes_with_what_is_left_of_its_time(out, into):
    out.put(b"x", Expiry=HOUR)
    left = into.get().md.Expiry
    assert HOUR - 600 < left <= HOUR
    out.put(b"x")
    assert into.get().md.Expiry == mq.MQEI_UNLIMITED


def test_an_expired_message_vanishes_when_somebody_looks_and_counts_in_curdepth_until_then(
    connection, queue, out, into
):
    out.put(b"short-lived", Expiry=SOON)
    out.put(b"lasting")
    assert connection.depth(queue) == 2
    wait_until(lambda: into.get(mq.MQGMO_BROWSE_FIRST).data == b"lasting")
    assert connection.depth(queue) == 1


def test_a_message_that_is_backed_out_after_its_time_is_gone(connection, out, into):
    out.put(b"x", Expiry=5)
    assert into.get(mq.MQGMO_SYNCPOINT).data == b"x"
    connection.back_out()
    wait_until(lambda: into.get(mq.MQGMO_BROWSE_FIRST).code == EMPTY)


def test_an_expired_member_leaves_its_group_incomplete_without_any_error(out, into):
    out.put(b"1", mq.MQPMO_LOGICAL_ORDER, MsgFlags=mq.MQMF_MSG_IN_GROUP)
    out.put(b"2", mq.MQPMO_LOGICAL_ORDER, MsgFlags=mq.MQMF_MSG_IN_GROUP, Expiry=SOON)
    out.put(b"3", mq.MQPMO_LOGICAL_ORDER, MsgFlags=mq.MQMF_LAST_MSG_IN_GROUP)
    wait_until(lambda: into.get(mq.MQGMO_BROWSE_FIRST | mq.MQGMO_ALL_MSGS_AVAILABLE).code == EMPTY)
    assert into.get(mq.MQGMO_LOGICAL_ORDER).data == b"1"
    assert into.get(mq.MQGMO_LOGICAL_ORDER).code == EMPTY


@pytest.mark.embedded
def test_time_goes_on_while_the_queue_manager_is_down(connect, own_queue_manager, tmp_path):
    mqsc = tmp_path / "expiry.mqsc"
    mqsc.write_text("DEFINE QLOCAL(Q)\n")
    q_mgr = own_queue_manager("QME", mqsc=[mqsc], data=tmp_path / "data")
    out = connect(to=q_mgr).open("Q", mq.MQOO_OUTPUT)
    out.put(b"short-lived", Expiry=SOON, Persistence=mq.MQPER_PERSISTENT)
    out.put(b"lasting", Expiry=HOUR, Persistence=mq.MQPER_PERSISTENT)
    q_mgr.kill()
    q_mgr.start()
    into = shared_input(connect(to=q_mgr), "Q")
    wait_until(lambda: into.get(mq.MQGMO_BROWSE_FIRST).data == b"lasting")
    answer = into.get()
    assert (answer.code, answer.data) == (OK, b"lasting")
    assert HOUR - 600 < answer.md.Expiry <= HOUR


CAPPED = f"""
DEFINE QLOCAL(NOTHING)
DEFINE QLOCAL(CAPPED) CAPEXPRY({HOUR})
DEFINE QLOCAL(CUSTOM) CUSTOM('CAPEXPRY({HOUR})')
DEFINE QALIAS(LOWER) TARGET(CAPPED) CAPEXPRY({HOUR // 2})
DEFINE QALIAS(HIGHER) TARGET(CAPPED) CUSTOM('CAPEXPRY({HOUR * 2})')
DEFINE QMODEL(MODEL) DEFTYPE(PERMDYN) SHARE CAPEXPRY({HOUR})
"""


@pytest.fixture(scope="module")
def capped(module_queue_manager):
    return module_queue_manager(CAPPED)


@pytest.mark.embedded
@table(
    ("opened", "given", "most"),
    [
        ("NOTHING", mq.MQEI_UNLIMITED, None),
        ("CAPPED", mq.MQEI_UNLIMITED, HOUR),
        ("CAPPED", HOUR * 3, HOUR),
        ("CAPPED", HOUR // 3, HOUR // 3),
        ("CUSTOM", mq.MQEI_UNLIMITED, HOUR),
        ("LOWER", mq.MQEI_UNLIMITED, HOUR // 2),
        ("HIGHER", mq.MQEI_UNLIMITED, HOUR),
        ("MODEL", mq.MQEI_UNLIMITED, HOUR),
    ],
)
def test_the_lowest_capexpry_of_the_objects_that_a_put_goes_through_limits_any_expiry(
    capped, connect, opened, given, most
):
    handle = connect(to=capped).open(opened, mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT, DynamicQName=b"MADE.*")
    # Expiry is an input field of MQPUT, so the limit does not come back.
    assert handle.put(b"x", Expiry=given).md.Expiry == given
    left = handle.get().md.Expiry
    assert left == mq.MQEI_UNLIMITED if most is None else most - 600 < left <= most


@pytest.mark.embedded
def test_a_changed_capexpry_counts_for_the_next_put_and_not_for_what_is_there(capped, connect):
    """ "Changes to the CAPEXPRY values take effect immediately" (q097495)."""
    handle = connect(to=capped).open("NOTHING", mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT)
    for cap in (HOUR, "NOLIMIT"):
        handle.put(b"x")
        assert capped.control.mqsc(f"ALTER QLOCAL(NOTHING) CAPEXPRY({cap})")[0]
    handle.put(b"x")
    assert [handle.get().md.Expiry == mq.MQEI_UNLIMITED for _ in range(3)] == [True, False, True]

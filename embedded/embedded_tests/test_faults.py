"""The faults that users' own crash tests are made of, and quiescing."""

from __future__ import annotations

import stat

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, PATIENCE_MS, empty, failed, shared_input, wait_until, warning
from mqembedded import Control, ControlError, Fault, random_fault
from mqembedded import constants as mq

pytestmark = pytest.mark.embedded


@pytest.fixture(scope="module")
def of_all(module_queue_manager):
    return module_queue_manager("DEFINE QLOCAL(Q) DEFPSIST(YES)", "QMF")


@pytest.fixture
def q_mgr(of_all, connect):
    """A queue manager without faults, with an empty queue."""
    of_all.clear_faults()
    connection = connect(to=of_all)
    empty(connection, "Q")
    connection.disconnect()
    return of_all


@pytest.fixture
def to_quiesce(q_mgr):
    """The same, which has to be started again after it was told to quiesce."""
    yield q_mgr
    if q_mgr.is_running:
        q_mgr.kill()
    q_mgr.start()


@pytest.fixture
def connected(connect, q_mgr):
    return connect(to=q_mgr)


@pytest.mark.parametrize(("when", "committed"), [("before", []), ("after", [b"doubtful"])])
def test_the_reply_of_an_mqcmit_can_be_lost_with_either_outcome(connect, connected, q_mgr, when, committed):
    """MQRC_CONNECTION_BROKEN: "for clients the call may in fact have completed" (q040830)."""
    connected.open("Q", mq.MQOO_OUTPUT).put(b"doubtful", mq.MQPMO_SYNCPOINT)
    q_mgr.arm(Fault("drop", when, verb="MQCMIT"))
    assert connected.commit() == failed(mq.MQRC_CONNECTION_BROKEN)
    assert connected.commit().comp == mq.MQCC_FAILED
    assert [answer.data for answer in connect(to=q_mgr).browse("Q")] == committed


def test_a_call_can_be_refused_from_the_nth_on_for_so_many_times(connected, q_mgr):
    out = connected.open("Q", mq.MQOO_OUTPUT)
    q_mgr.arm(Fault("answer", nth=2, verb="MQPUT", reason=mq.MQRC_Q_FULL, times=2))
    full = failed(mq.MQRC_Q_FULL)
    assert [out.put(b"x").code for _ in range(5)] == [OK, full, full, OK, OK]
    assert connected.depth("Q") == 3
    assert q_mgr.faults_fired() == 2


def test_a_call_can_be_refused_for_good_until_faults_are_cleared(connected, q_mgr):
    out = connected.open("Q", mq.MQOO_OUTPUT)
    q_mgr.arm(Fault("answer", verb="MQPUT", reason=mq.MQRC_Q_FULL, times=0))
    assert {out.put(b"x").code for _ in range(5)} == {failed(mq.MQRC_Q_FULL)}
    q_mgr.clear_faults()
    assert out.put(b"x").code == OK


def test_an_answer_can_be_a_warning(connected, q_mgr):
    q_mgr.arm(Fault("answer", verb="MQCMIT", comp=mq.MQCC_WARNING, reason=mq.MQRC_BACKED_OUT))
    assert connected.commit() == warning(mq.MQRC_BACKED_OUT)


def test_a_frozen_connection_holds_its_unit_of_work_until_it_is_let_go(connect, connected, q_mgr, background):
    # Given a message that is got in a unit of work of a connection that then freezes
    connected.open("Q", mq.MQOO_OUTPUT).put(b"held")
    assert shared_input(connected, "Q").get(mq.MQPMO_SYNCPOINT).data == b"held"
    q_mgr.arm(Fault("freeze", verb="MQCMIT"))
    frozen = background(connected.commit)
    wait_until(lambda: q_mgr.faults_fired() == 1)
    other = shared_input(connect(to=q_mgr), "Q")
    assert other.get().code == EMPTY
    # When it is let go it turns out to be broken, and was backed out
    q_mgr.clear_faults()
    assert frozen.result(30) == failed(mq.MQRC_CONNECTION_BROKEN)
    assert other.get(wait_ms=PATIENCE_MS).data == b"held"


def test_a_delayed_call_is_made_after_all(connected, q_mgr, background):
    q_mgr.arm(Fault("delay", verb="MQPUT", delay_s=3600))
    late = background(connected.open("Q", mq.MQOO_OUTPUT).put, b"late")
    wait_until(lambda: q_mgr.faults_fired() == 1)
    q_mgr.clear_faults()
    assert late.result(30).code == OK
    assert [answer.data for answer in connected.browse("Q")] == [b"late"]


def test_only_calls_of_the_named_application_count(connected, q_mgr):
    q_mgr.arm(Fault("answer", reason=mq.MQRC_Q_FULL, appl_name="somebody else", times=0))
    assert connected.commit() == OK


def test_a_full_disk_refuses_persistent_messages_and_backs_units_of_work_out(connected, q_mgr):
    out = connected.open("Q", mq.MQOO_OUTPUT)
    q_mgr.control.fill_log()
    assert out.put(b"outside", Persistence=mq.MQPER_PERSISTENT).code == failed(mq.MQRC_STORAGE_MEDIUM_FULL)
    assert out.put(b"inside", mq.MQPMO_SYNCPOINT, Persistence=mq.MQPER_PERSISTENT).code == OK
    assert connected.commit() == warning(mq.MQRC_BACKED_OUT)
    assert connected.depth("Q") == 0
    q_mgr.control.fill_log(False)
    assert out.put(b"outside", Persistence=mq.MQPER_PERSISTENT).code == OK


@pytest.mark.parametrize(
    "arguments",
    [
        ("explode",),
        ("drop", "during"),
        ("drop", "before", 0),
        ("answer",),
    ],
)
def test_a_fault_that_cannot_be_is_refused_at_once(arguments):
    with pytest.raises(ValueError, match=r"a fault|an answer"):
        Fault(*arguments)


def test_the_same_seed_gives_the_same_fault():
    assert [random_fault(seed, 100) for seed in range(50)] == [random_fault(seed, 100) for seed in range(50)]
    assert len({str(random_fault(seed, 100)) for seed in range(50)}) > 40


# --- quiescing


def test_quiescing_fails_calls_that_ask_for_it_and_lets_the_others_end_their_work(connected, to_quiesce):
    # Given an application in the middle of its work
    out = connected.open("Q", mq.MQOO_OUTPUT)
    out.put(b"one", mq.MQPMO_SYNCPOINT)
    to_quiesce.control.quiesce()
    quiescing = failed(mq.MQRC_Q_MGR_QUIESCING)
    assert out.put(b"two", mq.MQPMO_SYNCPOINT | mq.MQPMO_FAIL_IF_QUIESCING).code == quiescing
    assert shared_input(connected, "Q").get(mq.MQGMO_FAIL_IF_QUIESCING).code == quiescing
    assert connected.open("Q", mq.MQOO_OUTPUT | mq.MQOO_FAIL_IF_QUIESCING).code == quiescing
    assert out.put(b"two", mq.MQPMO_SYNCPOINT).code == OK
    assert connected.commit() == OK
    # When it disconnects, that was the last, and the queue manager ends
    assert connected.disconnect() == OK
    assert to_quiesce.wait() == 0


def test_nobody_connects_to_a_queue_manager_that_quiesces(mqi, connected, to_quiesce):
    to_quiesce.control.quiesce()
    code, _ = mqi.connect(to_quiesce.q_mgr_name, to_quiesce.channel, to_quiesce.conn_name)
    assert code == failed(mq.MQRC_Q_MGR_QUIESCING)


def test_quiescing_ends_the_waits_that_ask_for_it_and_no_others(connect, connected, to_quiesce, background):
    asks = connected.open("Q", mq.MQOO_INPUT_SHARED)
    other = connect(to=to_quiesce)
    does_not = other.open("Q", mq.MQOO_INPUT_SHARED)
    out = connect(to=to_quiesce).open("Q", mq.MQOO_OUTPUT)
    waits = background(asks.get, mq.MQGMO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING, wait_ms=PATIENCE_MS)
    waits_on = background(does_not.get, mq.MQGMO_WAIT, wait_ms=PATIENCE_MS)
    to_quiesce.control.quiesce()
    assert waits.result(30).code == failed(mq.MQRC_Q_MGR_QUIESCING)
    out.put(b"late")
    assert waits_on.result(30).data == b"late"


def test_only_its_owner_may_read_how_a_server_is_controlled(q_mgr):
    assert stat.S_IMODE((q_mgr.data / "control.json").stat().st_mode) == 0o600


def test_a_directory_without_a_server_is_a_clear_error(tmp_path):
    with pytest.raises(ControlError, match="no embedded queue manager runs"):
        Control.of(tmp_path)


def test_a_wrong_token_is_refused(q_mgr):
    with pytest.raises(ControlError, match="refused"):
        Control(q_mgr.host, q_mgr.port, "guessed", "QM1").quiesce()

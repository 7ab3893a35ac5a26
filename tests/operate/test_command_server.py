"""Questions to the command server: what it answers, and that nobody who cannot ask it waits or fails for that."""

from __future__ import annotations

import pytest

import mqgroups
from embedded_tests.fix_mqi import OK, wait_until
from mqembedded import Fault
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from mqgroups.mqi import pcf
from mqgroups.operate import command_server
from mqgroups.operate.command_server import PCFClient
from mqgroups.operate.doctor import examine
from mqgroups.operate.rules.findings import Severity

pytestmark = pytest.mark.embedded


@pytest.fixture
def asker(owner):
    """A connection that asks."""
    return connection_of(owner.qmgr)


def test_what_units_of_work_have_put_and_got_is_counted(owner, asker):
    assert command_server.uncommitted(asker, owner.queue) == 0
    owner.put_raw(b"there")
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT)
    assert handle.get(mq.MQGMO_SYNCPOINT).code == OK
    assert handle.put(b"unseen", mq.MQPMO_SYNCPOINT).code == OK
    assert command_server.uncommitted(asker, owner.queue) == 2
    assert handle.close() == OK
    assert command_server.uncommitted(asker, owner.queue) == 2
    assert owner.eye.back_out() == OK
    assert command_server.uncommitted(asker, owner.queue) == 0


def test_the_names_of_local_queues_that_fit_are_listed(owner, asker):
    owner.producer().close()
    owner.consumer().close()
    names = command_server.queue_names(asker, "MQGROUPS.PUT.*")
    assert owner.status_queue("put") in names
    assert all(name.startswith("MQGROUPS.PUT.") for name in names)
    assert command_server.queue_names(asker, "NO.SUCH.*") == ()
    # Not models: nothing lies on one.
    assert "MQGROUPS.STATUS.MODEL" not in command_server.queue_names(asker, "MQGROUPS.*")


def test_what_is_not_answered_is_an_error_of_its_own(owner, asker, monkeypatch):
    with pytest.raises(errors.CommandRefused, match=r"NO\.SUCH\.QUEUE"):
        command_server.uncommitted(asker, "NO.SUCH.QUEUE")
    # A queue that nobody reads takes the command for ever.
    monkeypatch.setattr(command_server, "_COMMAND_QUEUE", owner.queue)
    monkeypatch.setattr(command_server, "_PATIENCE_MS", 10)
    with pytest.raises(errors.CommandRefused, match="did not answer command 18 within 10 ms"):
        command_server.queue_names(asker, "MQGROUPS.*")
    # Nor does a command server that is started later run it.
    wait_until(lambda: owner.on_queue() == [])


def test_a_lost_connection_is_not_taken_for_an_answer(owner, faults):
    lost = connection_of(owner.connect(reconnect_wait_s=0))
    faults.arm(Fault("drop", verb="MQPUT"))
    with pytest.raises(errors.ConnectionBroken):
        command_server.uncommitted(lost, owner.queue)


def test_nothing_is_left_open_by_a_question(owner, asker):
    command_server.uncommitted(asker, owner.queue)
    # Only the queue that this question is answered on.
    assert len(command_server.queue_names(asker, "MQGROUPS.REPLY.*")) == 1


def test_no_reply_queue_stays_where_a_site_makes_permanent_ones(own_queue_manager, tmp_path, binding):
    file = tmp_path / "permanent.mqsc"
    file.write_text("ALTER QMODEL(SYSTEM.DEFAULT.MODEL.QUEUE) DEFTYPE(PERMDYN)")
    q_mgr = own_queue_manager("QM5", mqsc=[file], data=tmp_path / "data")
    with mqgroups.connect("QM5", q_mgr.channel, q_mgr.conn_name) as connected:
        asker = connection_of(connected)
        assert command_server.uncommitted(asker, "ORDERS") == 0
        # Only the queue that this question is answered on.
        assert len(command_server.queue_names(asker, "MQGROUPS.REPLY.*")) == 1


@pytest.fixture(scope="module")
def zos(module_queue_manager):
    return module_queue_manager("DEFINE QLOCAL(GROUPS) INDXTYPE(GROUPID)", "QMZ", platform="zos")


def test_z_os_is_asked_in_the_form_that_it_takes(zos, connect):
    """It refuses MQCFT_COMMAND, version 1 and Escape (q020030, q046070), and answers in sets (IBM MQ, "Extended responses")."""
    with mqgroups.connect("QMZ", zos.channel, zos.conn_name) as q_mgr:
        asker = connection_of(q_mgr)
        handle = connect(to=zos).open("GROUPS", mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT)
        assert handle.put(b"unseen", mq.MQPMO_SYNCPOINT).code == OK
        assert command_server.uncommitted(asker, "GROUPS") == 1
        assert command_server.queue_names(asker, "GROUPS*") == ("GROUPS",)
        assert command_server.queue_names(asker, "NO.SUCH.*") == ()
        assert list(command_server.holders(asker, "GROUPS")) == ["GROUPS"]
        with pytest.raises(errors.CommandRefused, match="refused command 41 with reason 3014"):
            command_server._asked(asker, pcf.MQCMD_INQUIRE_Q_STATUS, {mq.MQIA_Q_TYPE: 1})
        with pytest.raises(errors.CommandRefused, match="CSQUTIL"):
            PCFClient(asker).run("DISPLAY QMGR")
        unseen = [each for each in examine(q_mgr, queue="GROUPS") if each.severity is Severity.UNSEEN]
        assert "MQSC" in [each.subject for each in unseen]

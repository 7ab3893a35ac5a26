"""Getting groups when something goes wrong: what the error says, and that the group is resumable."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import struct

import pytest

import mqgroups
from mqembedded import Fault
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from tests.get.groups import THIS, process


def test_a_slip_in_the_queues_name_is_told_leaves_no_record_and_does_not_keep_the_name(owner):
    for _ in range(2):
        with pytest.raises(errors.QueueMissing, match=r"queue NO\.SUCH\.QUEUE failed: reason 2085"):
            owner.consumer(queue="NO.SUCH.QUEUE")
    assert owner.on_queue(owner.status_queue("get")) == []
    owner.put_raw_group(THIS)
    assert owner.get_groups() == [THIS]


@pytest.mark.embedded
def test_a_queue_that_may_not_be_used_is_named(owner, faults):
    owner.consumer().close()
    faults.arm(Fault("answer", verb="MQOPEN", nth=2, reason=mq.MQRC_NOT_AUTHORIZED))
    with pytest.raises(errors.NotAuthorised, match=f"MQOPEN for queue {owner.queue} failed: reason 2035"):
        owner.consumer()
    assert owner.get_groups() == []


def test_gets_inhibited_in_the_middle_leave_the_group_resumable(owner):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        with pytest.raises(errors.QueueUnavailable, match=r"reason 2016 MQRC_GET_INHIBITED.*GET\(ENABLED\).*Message 4"):
            for message in next(iter(consumer)):
                if message.msg_seq_number == 5:
                    owner.set_attribute(mq.MQIA_INHIBIT_GET, 1)
        with pytest.raises(errors.QueueUnavailable):
            process(next(iter(consumer)))
        owner.set_attribute(mq.MQIA_INHIBIT_GET, 0)
        group = next(iter(consumer))
        assert (group.resume_from, process(group)) == (4, THIS[4:])
    assert owner.data() == owner.records("get") == []


def test_gets_inhibited_at_the_start_take_nothing(owner):
    owner.put_raw_group(THIS)
    owner.set_attribute(mq.MQIA_INHIBIT_GET, 1)
    with owner.consumer() as consumer:
        with pytest.raises(errors.QueueUnavailable, match="No message of the group is known to be committed"):
            next(iter(consumer))
        owner.set_attribute(mq.MQIA_INHIBIT_GET, 0)
        assert [process(group) for group in consumer] == [THIS]


@pytest.mark.embedded
@pytest.mark.parametrize("verb", ["MQGET", "MQPUT"])
def test_a_refused_status_record_backs_the_unit_of_work_out(owner, faults, verb):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        with pytest.raises(errors.MQIError) as caught:
            for message in next(iter(consumer)):
                if message.msg_seq_number == 4:
                    faults.arm(Fault("answer", verb=verb, reason=mq.MQRC_RESOURCE_PROBLEM))
        assert caught.value.object_name == f"queue {owner.status_queue('get')}"
        assert owner.data() == THIS[2:]
        group = next(iter(consumer))
        assert (group.resume_from, process(group)) == (2, THIS[2:])


def test_a_segment_is_not_taken_for_a_message(owner):
    owner.put_raw(b"half", MsgFlags=mq.MQMF_SEGMENT)
    assert owner.get_groups() == []
    assert owner.data() == [b"half"]


@pytest.mark.parametrize(
    ("what", "value", "said"),
    [
        (st.MD_MSG_SEQ_NUMBER, struct.pack("i", 5), "got message 5 of group .*, expected message 4 of group"),
        (st.MD_GROUP_ID.start, b"?" * 24, f"got message 4 of group {'3f' * 24}, expected message 4 of group"),
    ],
    ids=["not the next one", "of another group"],
)
def test_a_message_that_is_not_the_next_one_of_its_group_is_put_back(owner, what, value, said):
    """No queue manager does that; a group that two consumers share by mistake would look so."""
    owner.put_raw_group(THIS)
    qmgr = owner.connect()
    honest = connection_of(qmgr).binding.MQGET

    def lies_of_message_4(hconn, hobj, md, gmo, length):
        data, md, gmo, *rest = honest(hconn, hobj, md, gmo, length)
        if data.endswith(THIS[3]):
            md = md[:what] + value + md[what + len(value) :]
        return data, md, gmo, *rest

    owner.doctor(qmgr, MQGET=lies_of_message_4)
    with pytest.raises(errors.GroupIncomplete, match=said) as caught:
        process(next(iter(owner.consumer(qmgr))))
    assert caught.value.expected == 4
    qmgr.close()
    assert owner.data() == THIS[2:]
    assert owner.record("get")["msg_seq_number"] == 2


ALIAS = """
DEFINE QMODEL('MQGROUPS.STATUS.MODEL') DEFTYPE(PERMDYN) DEFPSIST(YES) NOSHARE DEFSOPT(EXCL) MSGDLVSQ(FIFO) REPLACE
DEFINE QLOCAL(PAY.BASE) DEFPSIST(YES)
DEFINE QALIAS(PAY.IN) TARGET(PAY.BASE)
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('sink') AUTHADD(CONNECT,INQ)
SET AUTHREC PROFILE('PAY.IN') OBJTYPE(QUEUE) PRINCIPAL('sink') AUTHADD(BROWSE,GET,INQ,PUT)
SET AUTHREC PROFILE('MQGROUPS.STATUS.MODEL') OBJTYPE(QUEUE) PRINCIPAL('sink') AUTHADD(BROWSE,DSP,GET,INQ,PUT)
"""


@pytest.mark.embedded
def test_who_may_use_an_alias_only_gets_its_groups_if_nothing_is_to_be_moved(
    own_queue_manager, binding, monkeypatch, caplog, tmp_path
):
    monkeypatch.setenv("MQGROUPS_MQI", binding.__name__)
    (file := tmp_path / "alias.mqsc").write_text(ALIAS)
    q_mgr = own_queue_manager(mqsc=[file], users={"sink": "pw"})
    with mqgroups.connect(q_mgr.q_mgr_name, q_mgr.channel, q_mgr.conn_name, user="sink", password="pw") as qmgr:
        with qmgr.group_producer("PAY.IN", name="P") as producer, producer.group() as group:
            group.put(b"1")
        with pytest.raises(errors.NotAuthorised, match="With poison='halt' and stalled='halt'"):
            qmgr.group_consumer("PAY.IN", name="C", poison="quarantine")
        with pytest.raises(errors.NotAuthorised, match="With poison='halt' and stalled='halt'"):
            qmgr.group_consumer("PAY.IN", name="C", stalled="quarantine")
        with qmgr.group_consumer("PAY.IN", name="C", wait_s=0, poison="halt", stalled="halt") as consumer:
            assert [[message.data for message in group] for group in consumer] == [[b"1"]]
    assert "poison messages are not noticed, because BOTHRESH cannot be read" in caplog.text

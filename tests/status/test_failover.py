"""What a failover, an administrator or a full log makes a queue manager answer for a while is no business of the application.

What of it is made by commands is in ``test_dead_handles.py``. Sources: IBM MQ, "MQRC_BACKED_OUT", "MQRC_OBJECT_CHANGED".
"""

from __future__ import annotations

import pytest

from embedded_tests.tables import table
from mqembedded import Fault
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from tests.faults import cases
from tests.status.test_recovery import get_all, put_all

pytestmark = pytest.mark.embedded

FAILOVER = (*cases.FAILOVER, mq.MQRC_NOT_AUTHORIZED)


def refuse(faults, *reasons, verb="MQCONNX", **more):
    """Let the next calls of a verb end with these reasons, one after the other."""
    for reason in reasons:
        faults.arm(Fault("answer", verb=verb, reason=reason, **more))


@table("work", [put_all, get_all])
def test_whatever_a_failover_answers_is_waited_for(owner, faults, clock, work):
    connection = owner.connect(reconnect_wait_s=60, sleep=clock.sleep)
    owner.empty()
    if work is get_all:
        owner.put_raw_group([b"%d" % number for number in range(7)])
    faults.clear_faults()
    faults.arm(Fault("drop", "after", verb="MQCMIT", nth=3))
    refuse(faults, *FAILOVER)
    work(owner, connection)
    assert faults.faults_fired() == 1 + len(FAILOVER)


def test_what_is_answered_to_the_end_of_the_time_is_told_with_pauses_that_have_grown(owner, faults, clock):
    connection = owner.connect(reconnect_wait_s=60, sleep=clock.sleep)
    producer = owner.producer(connection)
    faults.arm(Fault("drop", verb="MQPUT"))
    faults.arm(Fault("answer", verb="MQCONNX", reason=mq.MQRC_SECURITY_ERROR, times=0))
    group = producer.group()
    group.put(b"0")
    with pytest.raises(errors.MQIError, match="2063"):
        group.put(b"1")
    # Nobody sleeps for long at once: stop() is quick.
    assert 60 <= sum(clock.naps) <= 61
    assert max(clock.naps) <= 1.5
    assert 10 < faults.calls()["MQCONNX"] < 30


@pytest.mark.parametrize(("reconnect_wait_s", "tries"), [(60, 2), (600, 5)])
def test_a_password_that_is_refused_is_seldom_offered_again(owner, faults, clock, reconnect_wait_s, tries):
    """An account may be locked after a few wrong passwords; and whoever renews one may change the file a little later."""
    connection = owner.connect(reconnect_wait_s=reconnect_wait_s, sleep=clock.sleep)
    producer = owner.producer(connection)
    before = faults.calls()["MQCONNX"]
    faults.arm(Fault("drop", verb="MQPUT"))
    faults.arm(Fault("answer", verb="MQCONNX", reason=mq.MQRC_NOT_AUTHORIZED, times=0))
    group = producer.group()
    group.put(b"0")
    with pytest.raises(errors.NotAuthorised) as refused:
        group.put(b"1")
    assert not refused.value.clears_up
    assert max(clock.naps) <= 1.5
    assert faults.calls()["MQCONNX"] - before == tries


def test_the_first_connection_is_strict(owner, faults, clock):
    for reason in FAILOVER:
        refuse(faults, reason)
        with pytest.raises(errors.MQIError) as refused:
            owner.connect(connect_wait_s=60, reconnect_wait_s=60, sleep=clock.sleep)
        assert (refused.value.reason, clock.naps) == (reason, [])


HANDLE_LOST = (mq.MQRC_HOBJ_ERROR, mq.MQRC_OBJECT_CHANGED, mq.MQRC_Q_DELETED)
LATER = [
    *((mq.MQRC_RESOURCE_PROBLEM, verb) for verb in ("MQPUT", "MQGET", "MQCMIT")),
    *((mq.MQRC_BACKED_OUT, verb) for verb in ("MQPUT", "MQGET")),
    *((reason, verb) for reason in HANDLE_LOST for verb in ("MQPUT", "MQGET", "MQINQ")),
]


@table("work", [put_all, get_all])
@table(("reason", "verb"), LATER)
def test_a_unit_of_work_that_cannot_go_on_is_redone(owner, faults, work, reason, verb):
    connection = owner.connect(reconnect_wait_s=30)
    owner.empty()
    if work is get_all:
        owner.put_raw_group([b"%d" % number for number in range(7)])
    faults.clear_faults()
    refuse(faults, reason, verb=verb, nth=1 if verb == "MQINQ" else 4)
    work(owner, connection)
    assert faults.faults_fired() == 1


def test_a_queue_whose_handles_are_lost_again_and_again_ends_in_an_error_that_names_the_cause(owner, clock):
    connection = owner.connect(reconnect_wait_s=60, sleep=clock.sleep)
    binding, lost = connection_of(connection).binding, []

    def get(hconn, hobj, md, gmo, length):
        if int.from_bytes(gmo[8:12], "little") & mq.MQGMO_WAIT:
            lost.append(hobj)
            return b"", md, gmo, 0, mq.MQCC_FAILED, mq.MQRC_OBJECT_CHANGED
        return binding.MQGET(hconn, hobj, md, gmo, length)

    owner.doctor(connection, MQGET=get)
    consumer = owner.consumer(connection, wait_s=None)
    with pytest.raises(errors.QueueUnavailable, match=r"2041 .* \(ALTER \.\.\. FORCE, DELETE\).*REFRESH CLUSTER"):
        next(iter(consumer))
    assert len(set(lost)) == len(lost)
    assert 60 <= sum(clock.naps) <= 62
    consumer.close()


def test_an_idle_connection_that_ends_is_no_warning(owner, faults, caplog):
    """DISCINT of a server-connection channel ends it, hour after hour."""
    connection = owner.connect(reconnect_wait_s=30)
    with caplog.at_level("INFO", "mqgroups"), owner.producer(connection) as producer:
        for levels, call in (({"INFO"}, 1), ({"INFO", "WARNING"}, 2)):
            caplog.clear()
            faults.arm(Fault("drop", verb="MQPUT", nth=call))
            with producer.group() as group:
                owner.put_all(group, (b"1", b"2", b"3"))
            assert {record.levelname for record in caplog.records} == levels

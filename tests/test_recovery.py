"""A lost connection is no business of the application: every commit gets a verdict, and the work goes on by itself.

The queue manager lives, the program lives; what is between them fails, at every call in turn, before it took effect or
after. The application makes each call once and sees no error.
"""

from __future__ import annotations

import pytest

from mqgroups.embedded import Fault
from mqgroups.mqi import constants as mq

THIS = [b"%d" % number for number in range(7)]
IN_DOUBT = [
    mq.MQRC_CONNECTION_BROKEN,
    mq.MQRC_Q_MGR_STOPPING,
    mq.MQRC_CONNECTION_STOPPING,
    mq.MQRC_CALL_INTERRUPTED,
    mq.MQRC_Q_MGR_QUIESCING,
]
RECONNECTS = {"reconnect_wait_s": 30}
statuses = pytest.mark.parametrize("status", ["classic", "segmented"])
every_unit = pytest.mark.parametrize("every", [2, 100], ids=["four-units-of-work", "one-unit-of-work"])


def put_all(owner, every, connection, status):
    """Put one group in an application that knows of no trouble."""
    with owner.producer(connection, every=every, status=status) as producer:
        with producer.group() as group:
            for number, data in enumerate(THIS):
                group.put(data, checkpoint=number)
        assert producer.checkpoint == len(THIS) - 1


def get_all(owner, every, connection, status):
    """Get all groups, likewise; returns the data that was handed out."""
    handled = []
    with owner.consumer(connection, every=every, status=status) as consumer:
        for group in consumer:
            for message in group:
                handled.append(message.data)
                group.set_checkpoint(len(handled))
        assert consumer.checkpoint == len(THIS)
    return handled


def is_whole(owner):
    """Whether the queue holds exactly one whole group."""
    found = owner.on_queue()
    return (
        [message.data for message in found] == THIS
        and [message.msg_seq_number for message in found] == list(range(1, len(THIS) + 1))
        and [message.is_last for message in found] == [False] * 6 + [True]
        and len({message.group_id for message in found}) == 1
    )


@pytest.mark.embedded
@every_unit
@statuses
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_producer_goes_on_by_itself_whatever_call_loses_the_connection(make_owner, faults, when, status, every):
    fired = nth = 1
    while fired:
        owner = make_owner()
        connection = owner.connect(**RECONNECTS)
        faults.clear_faults()
        faults.arm(Fault("drop", when, nth=nth))
        put_all(owner, every, connection, status)
        fired = faults.faults_fired()
        faults.clear_faults()
        assert is_whole(owner), (nth, owner.on_queue())
        assert owner.records("put") == []
        connection.close()
        nth += 1
    assert nth > len(THIS) + 3


@pytest.mark.embedded
@every_unit
@statuses
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_consumer_goes_on_by_itself_whatever_call_loses_the_connection(make_owner, faults, when, status, every):
    fired = nth = 1
    while fired:
        owner = make_owner()
        owner.put_raw_group(THIS)
        connection = owner.connect(**RECONNECTS)
        faults.clear_faults()
        faults.arm(Fault("drop", when, nth=nth))
        handled = get_all(owner, every, connection, status)
        fired = faults.faults_fired()
        faults.clear_faults()
        assert handled == THIS, nth
        assert owner.data() == owner.records("get") == []
        connection.close()
        nth += 1
    assert nth > len(THIS) + 3


@pytest.mark.embedded
@every_unit
@statuses
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("reason", IN_DOUBT, ids=mq.reason_name)
def test_every_commit_of_a_producer_gets_a_verdict(make_owner, faults, reason, when, status, every):
    fired = nth = 1
    while fired:
        owner = make_owner()
        connection = owner.connect(**RECONNECTS)
        faults.clear_faults()
        faults.arm(Fault("answer", when, verb="MQCMIT", nth=nth, reason=reason))
        put_all(owner, every, connection, status)
        fired = faults.faults_fired()
        faults.clear_faults()
        assert is_whole(owner), (nth, owner.on_queue())
        assert owner.records("put") == []
        connection.close()
        nth += 1
    # The claim, the units of work, the end, which is two for segments, and one that is never reached.
    assert nth == 1 + (6 if every == 2 else 3) + (status == "segmented") + 1


@pytest.mark.embedded
@every_unit
@statuses
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("reason", IN_DOUBT, ids=mq.reason_name)
def test_every_commit_of_a_consumer_gets_a_verdict(make_owner, faults, reason, when, status, every):
    fired = nth = 1
    while fired:
        owner = make_owner()
        owner.put_raw_group(THIS)
        connection = owner.connect(**RECONNECTS)
        faults.clear_faults()
        faults.arm(Fault("answer", when, verb="MQCMIT", nth=nth, reason=reason))
        handled = get_all(owner, every, connection, status)
        fired = faults.faults_fired()
        faults.clear_faults()
        assert handled == THIS, nth
        assert owner.data() == owner.records("get") == []
        connection.close()
        nth += 1
    assert nth == 1 + (6 if every == 2 else 3) + (status == "segmented") + 1


@pytest.mark.embedded
def test_a_commit_found_to_have_taken_effect_stays_so_when_the_connection_is_lost_once_more(owner, faults):
    owner.put_raw_group(THIS)
    connection = owner.connect(**RECONNECTS)
    faults.clear_faults()
    # The first commit claims the name. Of the second the answer is lost, and then that of opening the queue again.
    faults.arm(Fault("drop", "after", verb="MQCMIT", nth=2))
    faults.arm(Fault("drop", "after", verb="MQOPEN", nth=6))
    assert get_all(owner, 2, connection, "classic") == THIS
    assert faults.faults_fired() == 2
    assert owner.data() == owner.records("get") == []

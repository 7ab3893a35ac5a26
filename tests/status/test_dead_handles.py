"""Handles that an administrator ends while the connection lives: the queue is opened again, and the unit of work is redone.

Sources: IBM MQ, "MQRC_OBJECT_CHANGED", "REFRESH CLUSTER". At every call: ``tests/faults/intrusions.py``.
"""

from __future__ import annotations

import pytest

import mqgroups
from embedded_tests.tables import table
from mqembedded import Fault
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mqi
from mqgroups.operate.command_server import PCFClient
from tests.put.whole_groups import THIS, is_whole_group, put_rest

pytestmark = pytest.mark.embedded


@pytest.fixture
def alter(owner):
    """Change a queue and change it back; both end every handle of it."""
    client = PCFClient(connection_of(owner.connect()))

    def alter(queue):
        for usage in ("XMITQ", "NORMAL"):
            assert client.run(f"ALTER QLOCAL('{queue}') USAGE({usage}) FORCE")[0]

    return alter


def test_queues_that_are_changed_while_they_are_open_are_opened_again(owner, alter):
    connection = owner.connect(reconnect_wait_s=30)
    for of_status in (False, True):
        with owner.producer(connection) as producer, producer.group() as group:
            for data in THIS:
                group.put(data)
                alter(owner.status_queue("put") if of_status else owner.queue)
        assert is_whole_group(owner.on_queue(), THIS)
        seen = []
        with owner.consumer(connection) as consumer:
            for group in consumer:
                for message in group:
                    seen.append(message.data)
                    alter(owner.status_queue("get") if of_status else owner.queue)
        assert (seen, owner.data(), owner.records("put"), owner.records("get")) == (THIS, [], [], [])
    assert connection_of(connection).usable


def test_on_a_wrapped_connection_it_is_an_error_and_what_the_application_puts_then_is_kept(owner, mq, binding, alter):
    q_mgr = mq.connect(binding)
    with mqgroups.wrap(q_mgr) as connection:
        producer = owner.producer(connection)

        def put():
            with producer.group() as group:
                owner.put_all(group, THIS[:4])
                alter(owner.queue)
                group.put(THIS[4])

        with pytest.raises(errors.QueueUnavailable, match=r"2041 MQRC_OBJECT_CHANGED.*Message 2 is the last"):
            put()
        own = binding.Queue(q_mgr, owner.queue, mqi.MQOO_OUTPUT)
        own.put(b"mine", binding.MD(), binding.PMO(Options=mqi.MQPMO_SYNCPOINT))
        assert put_rest(producer) == 2
        producer.close()
    q_mgr.disconnect()
    found = owner.on_queue()
    assert is_whole_group([message for message in found if message.data != b"mine"], THIS)
    assert len(found) == len(THIS) + 1


def test_a_status_queue_that_is_deleted_while_it_is_open_loses_the_name(owner):
    connection = owner.connect(reconnect_wait_s=30)
    producer = owner.producer(connection)
    group = producer.group()
    owner.put_all(group, THIS[:3])
    handle = owner.eye.open(owner.status_queue("put"), mqi.MQOO_INQUIRE)
    assert handle.close(mqi.MQCO_DELETE_PURGE).comp == mqi.MQCC_OK
    group.put(THIS[3])
    with pytest.raises(errors.OwnershipLost):
        group.put(THIS[4])
    assert owner.data() == THIS[:2]


@table("put_response", ["sync", "async"])
def test_a_refreshed_cluster_is_waited_for(embedded_cluster, cluster, make_owner, clock, put_response):
    queue = cluster.define("DEFBIND(GROUP)", at=("QM2",))
    owner = make_owner(cluster["QM1"], queue)
    connection = owner.connect(reconnect_wait_s=30, sleep=clock.sleep)
    cluster.embedded["QM1"].clear_faults()
    transients = (
        ("MQPUT", mqi.MQRC_NO_DESTINATIONS_AVAILABLE),
        ("MQPUT", mqi.MQRC_CLUSTER_RESOLUTION_ERROR),
        ("MQPUT", mqi.MQRC_UNKNOWN_OBJECT_NAME),
        ("MQOPEN", mqi.MQRC_CLUSTER_RESOLUTION_ERROR),
    )
    producer = owner.producer(connection, full_wait_s=30, put_response=put_response)
    with producer.group() as group:
        for number, data in enumerate(THIS):
            group.put(data)
            if number == 2:
                cluster.mqsc("QM1", "REFRESH CLUSTER(*)")
            if number == 4:
                for verb, reason in transients[:3]:
                    cluster.embedded["QM1"].arm(Fault("answer", verb=verb, reason=reason))
    cluster.mqsc("QM1", "REFRESH CLUSTER(*)")
    # The rest of the first group had to go to its instance, so the queue is opened again for the next one.
    cluster.embedded["QM1"].arm(Fault("answer", verb="MQOPEN", reason=transients[3][1]))
    put_rest(producer)
    producer.close()
    assert cluster.embedded["QM1"].faults_fired() == len(transients)
    cluster.embedded["QM1"].clear_faults()
    cluster.waits_for("QM2", queue, 2 * len(THIS))
    assert [message.data for message in cluster.at("QM2").browse(queue)] == THIS * 2

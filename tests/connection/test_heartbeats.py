"""The heartbeat interval of the channel, HBINT, counts for this package's connections, with both bindings."""

from __future__ import annotations

import pytest

import mqgroups
from embedded_tests.proxy import Proxy
from mqgroups.errors import ConnectionBroken

pytestmark = pytest.mark.embedded


@pytest.fixture(scope="module")
def q_mgr(module_queue_manager):
    return module_queue_manager(
        "DEFINE QLOCAL(Q) DEFPSIST(YES)\nALTER CHANNEL(DEV.APP.SVRCONN) CHLTYPE(SVRCONN) HBINT(1)", "QMH"
    )


def test_a_name_is_free_two_heartbeats_after_its_host_was_lost(q_mgr, binding, monkeypatch):
    monkeypatch.setenv("MQGROUPS_MQI", binding.__name__)
    with Proxy(q_mgr.port) as proxy:
        # Given a producer in a group, on a host that is lost: the interval of both bindings' MQCD is 300 seconds
        lost = mqgroups.connect(q_mgr.q_mgr_name, q_mgr.channel, proxy.conn_name, reconnect_wait_s=0)
        producer = lost.group_producer("Q", name="LINES", commit_every=1)
        group = producer.group()
        group.put(b"first", last=False)
        proxy.lose_the_line()
        # When it is started somewhere else, then it takes the group over
        with (
            mqgroups.connect(q_mgr.q_mgr_name, q_mgr.channel, q_mgr.conn_name) as q,
            q.group_producer("Q", name="LINES", owner_wait_s=20) as successor,
            successor.group() as rest,
        ):
            assert rest.resume_from == 1
            rest.put(b"second")
        # And the lost one notices, too
        with pytest.raises(ConnectionBroken):
            group.put(b"second", last=True)
        producer.close()
        lost.close()

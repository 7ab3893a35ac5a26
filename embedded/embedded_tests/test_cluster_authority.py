"""Who may put to queues of a cluster: ClusterQueueAccessControl=Xmitq, the default.

Oracle: IBM MQ, topics "Access control and multiple cluster transmission queues" (q017170) and "Security stanza of the qm.ini
file" (q018900): a queue that is not on the local queue manager is checked by SYSTEM.CLUSTER.TRANSMIT.QUEUE, others by their own
name.
"""

from __future__ import annotations

import pytest

from embedded_tests.fix_cluster import USER
from embedded_tests.fix_mqi import OK, failed
from mqembedded import constants as mq

pytestmark = pytest.mark.embedded
REFUSED = failed(mq.MQRC_NOT_AUTHORIZED)
TRANSMISSION_QUEUE = "SYSTEM.CLUSTER.TRANSMIT.QUEUE"
ATTRIBUTES = "DEFBIND(GROUP) CLWLUSEQ(ANY)"


@pytest.fixture
def may(cluster):
    """A function that gives the user an authority for queues at QM1, until the test ends."""
    profiles = []

    def give(profile, authority):
        profiles.append(profile)
        cluster.mqsc("QM1", f"SET AUTHREC PROFILE('{profile}') PRINCIPAL('{USER}') OBJTYPE(QUEUE) AUTHADD({authority})")

    cluster.mqsc("QM1", f"SET AUTHREC PRINCIPAL('{USER}') OBJTYPE(QMGR) AUTHADD(CONNECT)")
    yield give
    for profile in profiles:
        cluster.mqsc("QM1", f"DELETE AUTHREC PROFILE('{profile}') PRINCIPAL('{USER}') OBJTYPE(QUEUE)")


@pytest.fixture
def opened(cluster, may):
    """A function that opens a queue for output at QM1 as the user; returns the codes."""
    connection = cluster.connect_as_user("QM1")
    return lambda name, options=mq.MQOO_BIND_ON_GROUP, at="": (
        connection.open(name, mq.MQOO_OUTPUT | options, ObjectQMgrName=at.encode()).code
    )


@pytest.mark.parametrize("binding_option", [mq.MQOO_BIND_ON_GROUP, mq.MQOO_BIND_ON_OPEN, mq.MQOO_BIND_NOT_FIXED])
def test_a_queue_that_is_elsewhere_is_checked_by_the_transmission_queue(cluster, may, opened, binding_option):
    name = cluster.define(ATTRIBUTES, at=("QM2", "QM3"))
    may(name, "PUT")
    assert opened(name, binding_option) == REFUSED
    may(TRANSMISSION_QUEUE, "PUT")
    assert opened(name, binding_option) == OK


def test_so_is_a_queue_manager_that_is_named(cluster, may, opened):
    name = cluster.define(ATTRIBUTES, at=("QM1", "QM2"))
    may(name, "PUT")
    assert opened(name, at="QM2") == REFUSED
    may(TRANSMISSION_QUEUE, "PUT")
    assert opened(name, at="QM2") == OK


def test_a_local_instance_is_checked_by_its_own_name(cluster, may, opened):
    name = cluster.define(ATTRIBUTES, at=("QM1", "QM2"))
    may(TRANSMISSION_QUEUE, "PUT")
    assert opened(name) == REFUSED
    assert opened(name, at="QM1") == REFUSED
    may(name, "PUT")
    assert opened(name) == OK
    assert opened(name, at="QM1") == OK


def test_a_remote_queue_definition_is_checked_by_its_own_name(cluster, may, opened):
    name = cluster.define(ATTRIBUTES, at=("QM2",))
    remote = f"{name}.THERE"
    cluster.mqsc("QM1", f"DEFINE QREMOTE('{remote}') RNAME('{name}') RQMNAME(QM2)")
    may(TRANSMISSION_QUEUE, "PUT")
    assert opened(remote) == REFUSED
    may(remote, "PUT")
    assert opened(remote) == OK


def test_that_there_is_no_such_queue_is_told_first(opened):
    assert opened("NOWHERE.AT.ALL") == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)


@pytest.mark.usefixtures("may")
@pytest.mark.parametrize("use", [mq.MQOO_INPUT_SHARED, mq.MQOO_BROWSE, mq.MQOO_SET])
def test_so_is_that_there_is_none_to_get_from(cluster, use):
    """Unverified: "MQOPEN and clusters" says 2085 for want of a local instance, no text that authority is asked for later."""
    name = cluster.define(ATTRIBUTES, at=("QM2", "QM3"))
    assert cluster.connect_as_user("QM1").open(name, use).code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)

"""Local bindings: the library that ibmmq is linked with tries the queue manager of this machine first (IBM MQ, topics q025920,
q025950). pymqi is linked with the client's library, which has no local bindings."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import OK, failed
from embedded_tests.tables import table
from mqembedded import constants as c

pytestmark = pytest.mark.embedded

ANOTHER_NAME = failed(c.MQRC_Q_MGR_NAME_ERROR)


@pytest.fixture(scope="module")
def of_this_machine(module_queue_manager):
    return module_queue_manager("", "QMLOCAL")


@pytest.fixture
def local(of_this_machine, monkeypatch):
    """A queue manager of this machine, which is not the one under test."""
    monkeypatch.setenv("MQEMBEDDED_LOCAL_BINDINGS", of_this_machine.conn_name)
    return of_this_machine


@table(
    ("options", "connect_type", "code"),
    [
        (c.MQCNO_NONE, "", ANOTHER_NAME),
        (c.MQCNO_NONE, "LOCAL", ANOTHER_NAME),
        (c.MQCNO_NONE, "CLIENT", OK),
        (c.MQCNO_CLIENT_BINDING, "", OK),
    ],
)
def test_a_channel_alone_does_not_make_a_client_of_a_program(mqi, mq, local, monkeypatch, options, connect_type, code):
    monkeypatch.setenv("MQ_CONNECT_TYPE", connect_type)
    # As an MQCNO: ibmmq sets the option by itself, but too late
    found, connection = mqi.connect(
        mq.q_mgr_name, mq.channel, mq.conn_name, options=c.MQCNO_HANDLE_SHARE_BLOCK | options
    )
    connection.disconnect()
    assert found == (code if mqi.name == "ibmmq" else OK)


def test_a_local_connection_has_no_channel(mqi, mq, local, monkeypatch):
    if mqi.name != "ibmmq":
        pytest.skip("pymqi is linked with the client's library")
    found, connection = mqi.connect(local.q_mgr_name, "NO.SUCH.CHANNEL", mq.conn_name)
    assert found == OK
    connection.disconnect()

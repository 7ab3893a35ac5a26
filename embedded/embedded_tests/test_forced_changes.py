"""Commands that change a queue while it is open: what needs FORCE, and which handles are no longer valid then.

Sources: IBM MQ, topics "ALTER queues" (q085330), "Forcing changes to queue properties", MQOPEN (q101870), q041120, q041230,
q047310, "REFRESH CLUSTER" (q086470).
"""

from __future__ import annotations

import os

import pytest

from embedded_tests.fix_mqi import OK, failed
from embedded_tests.tables import table
from mqembedded import constants as mqi
from mqembedded.wire import pcf_constants as cf

pytestmark = pytest.mark.embedded
CHANGED = failed(mqi.MQRC_OBJECT_CHANGED)


@pytest.fixture
def run(mq):
    """Run a command; returns whether it was done, and what was said."""

    def run(command):
        done, said = mq.queue_manager.control.mqsc(command)
        return done, " ".join(said)

    return run


@pytest.fixture
def alias(run, queue):
    """An alias of the queue."""
    name = f"ALIAS.{os.getpid()}"
    assert run(f"DEFINE QALIAS({name}) TARGET('{queue}')")[0]
    assert run(f"SET AUTHREC PROFILE({name}) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(ALL)")[0]
    yield name
    run(f"DELETE QALIAS({name})")


def uses(handle):
    """What each kind of call with a handle for everything answers."""
    return {handle.put(b"new").code, handle.get().code, handle.inquire(mqi.MQIA_Q_TYPE)[0]}


ALL = mqi.MQOO_INPUT_SHARED | mqi.MQOO_OUTPUT | mqi.MQOO_INQUIRE


def test_a_change_that_ends_handles_needs_force_and_only_mqclose_takes_them_then(connect, run, queue, alias):
    connection = connect()
    rows = [
        (alias, f"QALIAS({alias}) TARGET('{queue}')", f"QALIAS({alias}) TARGET('{queue}')"),
        (queue, f"QLOCAL('{queue}') USAGE(XMITQ)", f"QLOCAL('{queue}') USAGE(NORMAL)"),
        (alias, f"QLOCAL('{queue}') USAGE(XMITQ)", f"QLOCAL('{queue}') USAGE(NORMAL)"),
        (queue, f"QLOCAL('{queue}') NOSHARE", f"QLOCAL('{queue}') SHARE"),
    ]
    for opened, change, back in rows:
        handle = connection.open(opened, ALL)
        done, said = run(f"ALTER {change}")
        assert (done, "in use" in said) == (False, True), change
        assert uses(handle) == {OK}, change
        assert run(f"ALTER {change} FORCE")[0], change
        assert uses(handle) == {CHANGED}, change
        assert handle.close() == OK, change
        assert run(f"ALTER {back} FORCE")[0], change
        again = connection.open(opened, ALL)
        assert uses(again) == {OK}, change
        assert again.close() == OK


@table(
    ("options", "change"),
    [
        (ALL, "DESCR('other') BOTHRESH(3) MAXDEPTH(100) PUT(ENABLED)"),
        (ALL, "USAGE(NORMAL)"),
        (mqi.MQOO_OUTPUT | mqi.MQOO_INQUIRE | mqi.MQOO_BROWSE, "NOSHARE"),
        (mqi.MQOO_INPUT_EXCLUSIVE | mqi.MQOO_OUTPUT | mqi.MQOO_INQUIRE, "NOSHARE FORCE"),
    ],
)
def test_other_changes_are_not_noticed(connect, run, queue, options, change):
    handle = connect().open(queue, options)
    assert handle.code == OK
    assert run(f"ALTER QLOCAL('{queue}') {change}")[0]
    assert CHANGED not in uses(handle)
    assert handle.close() == OK


def test_noshare_needs_force_while_any_application_gets(connect, run, queue):
    handle = connect().open(queue, mqi.MQOO_INPUT_EXCLUSIVE)
    assert not run(f"ALTER QLOCAL('{queue}') NOSHARE")[0]
    assert handle.close() == OK
    assert run(f"ALTER QLOCAL('{queue}') NOSHARE")[0]


def test_usage_needs_force_while_there_are_messages(connect, run, queue):
    handle = connect().open(queue, mqi.MQOO_OUTPUT)
    assert handle.put(b"1").code == OK
    assert handle.close() == OK
    assert not run(f"ALTER QLOCAL('{queue}') USAGE(XMITQ)")[0]
    assert run(f"ALTER QLOCAL('{queue}') USAGE(XMITQ) FORCE")[0]
    assert run(f"ALTER QLOCAL('{queue}') USAGE(NORMAL) FORCE")[0]


def test_an_mqget_that_waits_ends(connect, run, queue, background):
    handle = connect().open(queue, ALL)
    waiting = background(lambda: handle.get(wait_ms=30_000).code)
    assert run(f"ALTER QLOCAL('{queue}') NOSHARE FORCE")[0]
    assert waiting.result(30) == CHANGED


def test_pcf_has_force_too(mq, binding, connect, queue, alias):
    handle = connect().open(alias, ALL)
    q_mgr = mq.connect(binding)
    execute = binding.PCFExecute(q_mgr)
    change = {mqi.MQCA_Q_NAME: alias.encode(), mqi.MQIA_Q_TYPE: mqi.MQQT_ALIAS, mqi.MQCA_BASE_Q_NAME: queue.encode()}
    with pytest.raises(binding.MQMIError) as refused:
        execute.MQCMD_CHANGE_Q(change)
    assert refused.value.reason == cf.MQRCCF_OBJECT_OPEN_FORCE
    execute.MQCMD_CHANGE_Q({**change, cf.MQIACF_FORCE: cf.MQFC_YES})
    assert uses(handle) == {CHANGED}
    execute.disconnect()
    q_mgr.disconnect()


def test_refresh_cluster_ends_handles_of_other_members_only(embedded_cluster, cluster):
    queue = cluster.define("DEFBIND(GROUP)", at=("QM2", "QM3"))
    connection = cluster.connect("QM1")
    away = connection.open(queue, mqi.MQOO_OUTPUT)
    here = connection.open("SYSTEM.DEFAULT.LOCAL.QUEUE", mqi.MQOO_OUTPUT)
    assert {away.put(b"1").code, here.put(b"1").code} == {OK}
    cluster.mqsc("QM1", "REFRESH CLUSTER(GRPCLUS) REPOS(NO)")
    assert (away.put(b"2").code, here.put(b"2").code) == (CHANGED, OK)
    assert away.close() == OK
    again = connection.open(queue, mqi.MQOO_OUTPUT)
    assert again.put(b"2").code == OK
    assert connection.disconnect() == OK
    cluster.mqsc("QM1", "CLEAR QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE)")

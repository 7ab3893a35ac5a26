"""GroupProducer on cluster queues: which instance its groups go to, and that each stays there, whatever dies."""

from __future__ import annotations

import pytest

import mqgroups
from embedded_tests.fix_mqi import OK
from mqembedded import Fault
from mqembedded import constants as mq
from mqgroups import errors
from mqgroups.batch.producer import BatchMessage, BatchProducer, BatchSettings
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import structures as st
from tests.put.whole_groups import is_put_whole, put_rest

THIS = [b"%d" % number for number in range(1, 8)]
ALL = ("QM1", "QM2", "QM3")


@pytest.fixture
def queue(cluster):
    """A cluster queue with three instances, among which the local one is like the others."""
    return cluster.define("CLWLUSEQ(ANY) DEFBIND(GROUP)")


@pytest.fixture
def owner(cluster, queue, make_owner):
    """A producer's name at QM1."""
    return make_owner(cluster["QM1"], queue)


def where(cluster, queue, messages, at=ALL):
    """Return what is on each instance, once so many messages have arrived: lists of data by queue manager."""
    cluster.waits_for_all(queue, messages, at)
    return {name: data for name in at if (data := cluster.data(name, queue))}


def begin_at(owner, q_mgr_name, **more):
    """Interrupt a group, four messages of which are committed, that goes to this queue manager."""
    while True:
        owner.interrupt_put(THIS[:6], commit_every=4, **more)
        if owner.record("put")["resolved_q_mgr_name"] == q_mgr_name:
            return
        with owner.producer(commit_every=4, **more) as producer, producer.group() as group:
            group.put(b"not this one")


def rest(owner, **more):
    """Start again and put the rest of the group."""
    with owner.producer(commit_every=4, **more) as producer:
        put_rest(producer, THIS)


# --- where groups go


@pytest.mark.usefixtures("embedded_cluster")
def test_groups_go_round_the_instances_and_each_is_whole_at_one(owner, cluster, queue):
    with owner.producer() as producer:
        for number in range(6):
            with producer.group() as group:
                for part in range(5):
                    group.put(b"%d.%d" % (number, part))
    found = where(cluster, queue, 30)
    wholes = [[b"%d.%d" % (number, part) for part in range(5)] for number in range(6)]
    assert sorted(found) == [*ALL]
    for data in found.values():
        assert len(data) == 10
        assert data[:5] in wholes
        assert data[5:] in wholes


def test_bound_on_open_all_groups_go_to_one_instance(owner, cluster, queue):
    with owner.producer(bind="open") as producer:
        for _ in range(3):
            with producer.group() as group:
                group.put(b"1")
                group.put(b"2")
    assert list(where(cluster, queue, 6).values()) == [[b"1", b"2"] * 3]


# --- the rest of an interrupted group


@pytest.mark.parametrize(("q_mgr_name", "bind"), [("QM1", "group"), ("QM2", "open"), ("QM3", "group")])
def test_after_a_restart_the_rest_goes_where_the_beginning_went(owner, cluster, queue, q_mgr_name, bind):
    begin_at(owner, q_mgr_name, bind=bind)
    # Others move the choice on, to another instance.
    other = cluster.connect("QM1").open(queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_NOT_FIXED)
    assert other.put(b"alone").code == OK
    rest(owner, bind=bind)
    assert is_put_whole(cluster, queue, THIS, (q_mgr_name,))


@pytest.mark.usefixtures("embedded_cluster")
def test_after_a_resumed_group_balancing_goes_on(owner, cluster, queue):
    begin_at(owner, "QM2")
    with owner.producer() as producer:
        for number in range(4):
            with producer.group() as group:
                for data in THIS[group.resume_from :] if number == 0 else (b"x", b"y"):
                    group.put(data)
    assert is_put_whole(cluster, queue, THIS, ("QM2",))
    assert [is_put_whole(cluster, queue, [b"x", b"y"], (name,)) for name in ALL] == [True] * 3


@pytest.mark.parametrize(("verb", "when"), [("MQPUT", "after"), ("MQCMIT", "before"), ("MQCMIT", "after")])
def test_a_connection_lost_in_the_middle_of_a_group_leaves_it_at_one_instance(
    owner, cluster, embedded_cluster, queue, verb, when
):
    q_mgr = owner.connect(reconnect_wait_s=30)
    control = embedded_cluster["QM1"].control
    with owner.producer(q_mgr, commit_every=2) as producer:
        for number in range(6):
            with producer.group() as group:
                for part, data in enumerate(THIS):
                    if part == 4:
                        control.arm(Fault("drop", when, 1 + number % 3, verb))
                    group.put(data)
    control.clear_faults()
    assert connection_of(q_mgr).generation > 0
    found = where(cluster, queue, 6 * len(THIS))
    assert all(data[start : start + 7] == THIS for data in found.values() for start in range(0, len(data), 7))
    assert {name: len(data) % 7 for name, data in found.items()} == dict.fromkeys(found, 0)


def test_the_rest_waits_for_an_instance_that_is_down(make_cluster, make_owner):
    cluster = make_cluster()
    queue = cluster.define("CLWLUSEQ(ANY) DEFBIND(GROUP)")
    owner = make_owner(cluster["QM1"], queue)
    begin_at(owner, "QM3")
    cluster.embedded["QM3"].kill()
    rest(owner)
    cluster.embedded["QM3"].start()
    assert is_put_whole(cluster, queue, THIS, ("QM3",))


def test_behind_an_alias_the_rest_goes_where_the_beginning_went(cluster, queue, make_owner):
    cluster.mqsc("QM1", f"DEFINE QALIAS({queue}.A) TARGET({queue}) DEFBIND(GROUP)")
    owner = make_owner(cluster["QM1"], f"{queue}.A")
    begin_at(owner, "QM1")
    rest(owner)
    assert is_put_whole(cluster, queue, THIS, ("QM1",))


def test_behind_an_alias_of_a_queue_in_no_cluster_the_rest_has_the_defaults_of_the_alias_too(cluster, make_owner):
    plain = cluster.name()
    cluster.mqsc(
        "QM1",
        f"DEFINE QLOCAL({plain}) DEFPSIST(YES) DEFPRTY(2)",
        f"DEFINE QALIAS({plain}.A) TARGET({plain}) DEFPRTY(7)",
    )
    owner = make_owner(cluster["QM1"], f"{plain}.A")
    owner.interrupt_put(THIS[:6], commit_every=4)
    rest(owner)
    assert [(found.data, found.md.Priority) for found in owner.on_queue(plain)] == [(data, 7) for data in THIS]


# --- a message that goes elsewhere


def elsewhere(q_mgr, queue, number):
    """Have MQPMO say, of a message with this number, that it went to another queue manager."""
    put, count = connection_of(q_mgr).binding.MQPUT, 0

    def misled(*arguments):
        nonlocal count
        md, pmo, comp, reason = put(*arguments)
        count += st.name_at(pmo, st.PMO_RESOLVED_Q_NAME) == queue
        if count == number:
            pmo = pmo[:80] + b"QM.ELSEWHERE".ljust(48) + pmo[128:]
        return md, pmo, comp, reason

    return misled


@pytest.mark.parametrize(("number", "committed"), [(2, []), (5, THIS[:4])], ids=["first unit of work", "a later one"])
def test_a_message_that_goes_elsewhere_stops_the_producer_before_it_is_committed(
    owner, cluster, queue, number, committed
):
    q_mgr = owner.connect()
    owner.doctor(q_mgr, MQPUT=elsewhere(q_mgr, queue, number))
    with pytest.raises(errors.QueueManagerChanged) as caught:
        owner.put_group(THIS, qmgr=q_mgr, commit_every=4, put_response="sync")
    error = caught.value
    assert (error.because, error.found) == ("split", "QM.ELSEWHERE")
    assert str(error).startswith(f"message {number} of group ")
    assert error.expected in ALL
    q_mgr.close()
    cluster.waits_for_all(queue, len(committed))
    # And it can be put to its end when what led astray is gone.
    rest(owner)
    assert is_put_whole(cluster, queue, THIS, (error.expected,) if committed else ALL)


@pytest.mark.embedded
def test_where_nothing_tells_where_a_group_went_only_whole_groups_are_committed(make_cluster, make_owner):
    cluster = make_cluster(readings={"bind on group": "tells nothing"})
    for put in (by_a_producer, by_a_producer_bound_on_open, by_a_pipe, by_a_batch):
        queue = cluster.define("DEFBIND(GROUP)", at=("QM2", "QM3"))
        put(cluster, make_owner(cluster["QM1"], queue))
        assert is_put_whole(cluster, queue, THIS, ("QM2", "QM3"))
        cluster.waits_for_all(queue, len(THIS), ("QM2", "QM3"))


def by_a_producer(_, owner):
    with pytest.raises(errors.ConfigurationError, match="does not return the instance"):
        owner.put_group(THIS, commit_every=4)
    assert owner.record("put")["state"] == "idle"
    # What would have gone to either of them is put in one unit of work, and is the first there is.
    owner.put_group(THIS, commit_every=7)


def by_a_producer_bound_on_open(_, owner):
    owner.interrupt_put(THIS[:6], commit_every=4, bind="open")
    assert owner.record("put")["resolved_q_mgr_name"] in ("QM2", "QM3")
    rest(owner, bind="open")


def by_a_pipe(cluster, owner):
    target, owner.queue = owner.queue, cluster.define(at=("QM1",))
    owner.put_raw_group(THIS)

    def copy(every):
        with owner.connect().group_pipe(owner.queue, target, name=owner.name, commit_every=every, wait_s=0) as pipe:
            for incoming, outgoing in pipe:
                for message in incoming:
                    outgoing.put(message.data)

    with pytest.raises(errors.ConfigurationError, match="does not return the instance"):
        copy(4)
    # What it had got is back, and its next instance puts it in one unit of work.
    assert owner.data() == THIS
    copy(7)
    assert owner.data() == []


def attempt(owner, token, shared, every):
    """Return an attempt at a batch."""
    settings = BatchSettings(
        owner.queue, name="sink", batch=0, run="run", partition=0, token=token, status_queue=shared, commit_every=every
    )
    return BatchProducer(connection_of(owner.qmgr), settings)


def by_a_batch(_, owner):
    small, large = (attempt(owner, token, f"{owner.name}.SHARED", int(token)) for token in ("4", "7"))
    with pytest.raises(errors.ConfigurationError, match="does not return the instance"):
        small.put_group("A", [BatchMessage(data) for data in THIS])
    assert large.put_group("A", [BatchMessage(data) for data in THIS]) == 7


# --- wrong combinations, each refused before anything is put


@pytest.fixture
def untouched(owner, cluster, queue):
    """After the test: nothing was put to the queue, and no record to the status queue."""
    yield
    assert [cluster.data(name, queue) for name in ALL] == [[], [], []]
    assert owner.records("put") == []


@pytest.mark.usefixtures("untouched")
def test_an_unknown_binding_is_refused(owner):
    with pytest.raises(errors.ConfigurationError, match="bind must be 'group' or 'open'"):
        owner.producer(bind="not fixed")


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("option", [mq.MQCNO_RECONNECT, mq.MQCNO_RECONNECT_Q_MGR])
def test_a_reconnectable_connection_is_refused(owner, cluster, binding, option):
    """IBM MQ, topic q045460: with it MQPMO_LOGICAL_ORDER fails with MQRC_RECONNECT_INCOMPATIBLE."""
    target = cluster["QM1"]
    q_mgr = binding.QueueManager(None, disconnect_on_exit=False)
    cd = binding.CD(ChannelName=target.channel.encode(), ConnectionName=target.conn_name.encode())
    cd.ChannelType, cd.TransportType = binding.CMQXC.MQCHT_CLNTCONN, mq.MQXPT_TCP
    options = option | mq.MQCNO_HANDLE_SHARE_BLOCK
    q_mgr.connect_with_options("QM1", cd=cd, opts=options, user=target.user, password=target.password)
    with mqgroups.wrap(q_mgr) as wrapped:
        for make in (owner.producer, owner.consumer):
            with pytest.raises(errors.MQIError, match=r"2547 MQRC_RECONNECT_INCOMPATIBLE.* MQCNO_RECONNECT_DISABLED"):
                make(wrapped)
    q_mgr.disconnect()


# --- its status queue


@pytest.mark.parametrize(
    ("define", "found"),
    [
        ("DEFINE QLOCAL({}) CLUSTER(GRPCLUS)", "cluster queue"),
        ("DEFINE QLOCAL({}) CLUSNL(ITS.CLUSTERS)", "cluster queue"),
        ("DEFINE QALIAS({}) TARGET(SYSTEM.DEFAULT.LOCAL.QUEUE)", "alias"),
        ("DEFINE QREMOTE({}) RNAME(ELSEWHERE) RQMNAME(QM2)", "a queue of another queue manager"),
    ],
)
def test_a_status_queue_that_is_not_local_or_is_in_a_cluster_is_refused(owner, cluster, define, found):
    name = cluster.name()
    said = cluster.mqsc("QM1", define.format(name))
    for make in (owner.producer, owner.consumer):
        with pytest.raises(errors.StatusQueueUnusable, match=f"status queue {name} is ") as caught:
            make(status_queue=name)
        assert (caught.value.status_queue, caught.value.found) == (name, found), said
    kind = define.split()[1].partition("(")[0]
    cluster.mqsc("QM1", f"DELETE {kind}({name})")


def test_a_cluster_queue_of_its_status_queues_name_elsewhere_is_another_queue(owner, cluster):
    """The status queue is made here, where it is to be; the other one stays empty."""
    name = owner.status_queue("put")
    cluster.define(at=("QM2",), name=name)
    owner.put_group(THIS)
    assert cluster.depth("QM2", name) == 0
    cluster.mqsc("QM2", f"DELETE QLOCAL({name})")

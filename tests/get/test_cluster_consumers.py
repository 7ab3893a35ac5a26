"""Consumers at the instances of a cluster queue; groups that IBM MQ lets split, found by looking at all instances."""

from __future__ import annotations

import json
import threading
from collections import Counter

import pytest
from click.testing import CliRunner

from embedded_tests.fix_mqi import wait_until
from mqgroups import errors, operate
from mqgroups.cli.main import main
from mqgroups.operate.rules.inspection import MessagePlace, MessageRun

THIS = [b"%d" % number for number in range(1, 9)]
ALL = ("QM1", "QM2", "QM3")
WAIT_S = 30


@pytest.fixture
def queue(cluster):
    """A cluster queue with three instances."""
    return cluster.define("CLWLUSEQ(ANY) DEFBIND(GROUP)")


@pytest.fixture
def owners(cluster, queue, make_owner):
    """The same name at each instance."""
    first = make_owner(cluster["QM1"], queue)
    return {"QM1": first, **{each: make_owner(cluster[each], queue, name=first.name) for each in ("QM2", "QM3")}}


def put_groups(owner, number):
    """Put so many groups of eight messages, one after the other."""
    with owner.producer(commit_every=4) as producer:
        for each in range(number):
            with producer.group() as group:
                for data in THIS:
                    group.put(b"%d." % each + data)


def put_at_each(owners, cluster, queue, number):
    """Put so many groups at each queue manager, to its own instance."""
    for name, owner in owners.items():
        cluster.mqsc(name, f"ALTER QLOCAL({queue}) CLWLUSEQ(LOCAL)")
        put_groups(owner, number)


@pytest.fixture
def split_group(owners, cluster, embedded_cluster, queue):
    """The GroupId of a group that is split: half of it arrived at QM2, which was put inhibited when the rest did."""
    control = embedded_cluster["QM1"].control
    while True:
        producer = owners["QM1"].producer(commit_every=4)
        group = producer.group()
        for data in THIS[:6]:
            group.put(data)
        if owners["QM1"].record("put")["resolved_q_mgr_name"] == "QM2":
            break
        with group:
            group.put(b"not this one")
        producer.close()
    wait_until(lambda: THIS[3] in cluster.data("QM2", queue))
    control.stop_channel("QM2")
    with producer, group:
        for data in THIS[6:]:
            group.put(data)
    cluster.alter("QM2", queue, "PUT(DISABLED)")
    control.start_channel("QM2")
    wait_until(lambda: {*THIS[4:]} <= {*cluster.data("QM1", queue), *cluster.data("QM3", queue)})
    cluster.alter("QM2", queue, "PUT(ENABLED)")
    return next(each.place[0] for each in cluster.browse("QM2", queue) if each.data == THIS[3])


def inspect(owners, queue):
    """Return the groups at each instance by GroupId, and the GroupIds that are at more than one."""
    at = {}
    for name, owner in owners.items():
        with operate.browse_groups(owner.qmgr, queue) as found:
            at[name] = {each.group_id: each for each in found.inspections()}
    counts = Counter(group_id for groups in at.values() for group_id in groups)
    return at, [group_id for group_id, many in counts.items() if many > 1]


# --- one name at each instance


def test_a_reader_at_each_instance_under_one_name_gets_its_groups_whole(owners, cluster, queue):
    put_groups(owners["QM1"], 6)
    cluster.waits_for_all(queue, 48)
    got = {name: owner.get_groups(complete_groups_only=True) for name, owner in owners.items()}
    wholes = [[b"%d." % number + data for data in THIS] for number in range(6)]
    assert sorted(group for groups in got.values() for group in groups) == wholes


def test_readers_of_one_name_work_at_the_same_time_and_each_resumes_its_own_group(owners, cluster, queue):
    put_at_each(owners, cluster, queue, 1)
    connections = {name: owner.connect() for name, owner in owners.items()}
    consumers = {name: owner.consumer(connections[name]) for name, owner in owners.items()}
    # Given: each is in the middle of a group when all die, at different places.
    for number, consumer in enumerate(consumers.values(), 1):
        for _ in zip(range(2 * number + 1), next(iter(consumer)), strict=False):
            pass
    for connection in connections.values():
        connection.close()
    assert [owner.record("get")["msg_seq_number"] for owner in owners.values()] == [2, 4, 6]
    # When they start again, then each goes on with its own.
    for number, owner in enumerate(owners.values(), 1):
        with owner.consumer() as consumer:
            (resumed,) = [(group.resume_from, len(list(group))) for group in consumer]
        assert resumed == (2 * number, 8 - 2 * number)
    assert [owner.records("get") for owner in owners.values()] == [[], [], []]


def test_a_group_whose_messages_arrive_in_any_order_is_got_in_sequence(owners, cluster, embedded_cluster, queue):
    control = embedded_cluster["QM1"].control
    for name in ("QM2", "QM3"):
        control.interleave_channel(name, 7)
    put_groups(owners["QM1"], 6)
    cluster.waits_for_all(queue, 48)
    for owner in owners.values():
        groups = owner.get_groups(complete_groups_only=True)
        assert [[data.partition(b".")[2] for data in group] for group in groups] == [THIS] * 2


def test_four_consumers_at_one_instance_get_each_group_whole_and_once(
    cluster, embedded_cluster, make_owner, background
):
    """None goes on before all have a group, so each gets one at least; nothing promises them equal shares of the rest."""
    # Given: an instance at QM1 only, to which a channel brings the messages of groups mixed up, and its four consumers.
    queue = cluster.define("DEFBIND(GROUP) SHARE DEFSOPT(SHARED)", at=("QM1",))
    owners = [make_owner(cluster["QM1"], queue) for _ in range(4)]
    all_have_one, all_arrived = threading.Barrier(4), threading.Event()

    def work(owner):
        got: list[list[bytes]] = []
        is_last_round = False
        with owner.consumer(owner.connect(), complete_groups_only=True, commit_every=3, wait_s=0.1) as consumer:
            while not is_last_round:
                is_last_round = all_arrived.is_set()
                for group in consumer:
                    messages = iter(group)
                    first = next(messages).data
                    if not got:
                        all_have_one.wait(WAIT_S)
                    got.append([first, *(message.data for message in messages)])
        return got

    # When they get what is put elsewhere meanwhile
    shares = [background(work, owner) for owner in owners]
    embedded_cluster["QM2"].control.interleave_channel("QM1", 7)
    put_groups(make_owner(cluster["QM2"], queue), 30)
    wait_until(lambda: [cluster.channel("QM2", "QM1")[what] for what in ("waiting", "in_doubt")] == [0, 0])
    all_arrived.set()
    # Then each group is one consumer's, and whole.
    shares = [share.result() for share in shares]
    wholes = [[b"%d." % number + data for data in THIS] for number in range(30)]
    assert sorted(group for share in shares for group in share) == sorted(wholes)
    assert all(shares)
    assert cluster.depth("QM1", queue) == 0


def test_to_get_where_there_is_no_instance_is_a_clear_error(cluster, make_owner):
    queue = cluster.define(at=("QM2", "QM3"))
    with pytest.raises(errors.QueueMissing, match="connect to a queue manager that has an instance"):
        make_owner(cluster["QM1"], queue).consumer()


# --- groups that are split


def test_groups_that_are_whole_are_no_finding_wherever_they_are(owners, cluster, queue):
    put_at_each(owners, cluster, queue, 1)
    found, splits = inspect(owners, queue)
    assert splits == []
    assert [[group.is_complete for group in groups.values()] for groups in found.values()] == [[True]] * len(ALL)


def test_a_group_that_ibm_mq_lets_split_is_found_with_what_is_where(owners, queue, split_group):
    at, split = inspect(owners, queue)
    assert split == [split_group]
    parts = {name: groups[split_group] for name, groups in at.items() if split_group in groups}
    assert parts["QM2"].runs == (MessageRun(MessagePlace(1), MessagePlace(5)),)
    assert sum(part.messages for part in parts.values()) == 8
    assert not any(part.has_head and part.has_end for part in parts.values())


@pytest.mark.usefixtures("split_group")
def test_its_consumer_gets_no_half_of_it_or_says_what_is_missing(owners):
    at = owners["QM2"]
    assert THIS[:4] not in at.get_groups(complete_groups_only=True)
    with pytest.raises(errors.GroupStalled, match=r"message 5 of group .* another instance"):
        at.get_groups()


def test_the_parts_of_a_split_group_can_be_moved_to_one_instance(owners, cluster, queue, split_group):
    for name, groups in inspect(owners, queue)[0].items():
        if name != "QM2" and split_group in groups:
            cluster.mqsc(name, f"DEFINE QREMOTE({queue}.AT.QM2) RNAME({queue}) RQMNAME(QM2)")
            operate.move_group(owners[name].qmgr, queue, split_group, to=f"{queue}.AT.QM2")
    wait_until(lambda: {*THIS} <= {*cluster.data("QM2", queue)})
    assert inspect(owners, queue)[1] == []
    assert THIS in owners["QM2"].get_groups(complete_groups_only=True)


# --- the command


@pytest.fixture
def command(cluster, queue):
    """A function that runs a command, by default at QM1."""

    def run(name, *arguments, at="QM1"):
        here = cluster[at]
        variables = {
            "MQGROUPS_Q_MGR_NAME": at,
            "MQGROUPS_CONN_NAME": here.conn_name,
            "MQGROUPS_CHANNEL": here.channel,
            "MQGROUPS_USER": here.user,
            "MQGROUPS_PASSWORD": here.password,
        }
        return CliRunner(env=variables).invoke(main, [name, "--queue", queue, "--wait", "0", *arguments])

    return run


def test_a_list_of_the_groups_at_each_instance_shows_which_are_split(owners, cluster, queue, split_group, command):
    put_at_each(owners, cluster, queue, 1)
    lists = [json.loads(command("groups", "-o", "json", at=each).stdout)["groups"] for each in ALL]
    counts = Counter(each["group_id"] for groups in lists for each in groups if each["messages"])
    assert [group_id for group_id, many in counts.items() if many > 1] == [split_group.hex()]

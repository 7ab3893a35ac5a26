"""Consumers at the instances of a cluster queue; groups that IBM MQ lets split, found by looking at all instances."""

from __future__ import annotations

import json
import threading

import pytest
from click.testing import CliRunner

from embedded_tests.fix_mqi import wait_until
from mqgroups import errors, operate
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.main import main
from mqgroups.operate.rules.inspection import Place, Run

THIS = [b"%d" % number for number in range(1, 9)]
ALL = ("QM1", "QM2", "QM3")
WAIT_S = 30
LOOKED, FAILED, USAGE = range(3)


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
    """Look at all instances."""
    with operate.browse_groups([owner.qmgr for owner in owners.values()], queue) as found:
        return list(found.inspections()), list(found.splits())


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
    assert [(group.has_head, group.has_end, group.gaps) for group in found] == [(True, True, ())] * len(ALL)


def test_a_group_that_ibm_mq_lets_split_is_found_with_what_is_where(owners, queue, split_group):
    _, (split,) = inspect(owners, queue)
    assert (split.group_id, split.is_whole_together, split.gaps, split.overlapping) == (split_group, True, (), 0)
    parts = {part.q_mgr_name: part.group for part in split.parts}
    assert parts["QM2"].runs == (Run(Place(1), Place(5)),)
    assert sum(part.messages for part in parts.values()) == 8
    assert not any(part.has_head and part.has_end for part in parts.values())


@pytest.mark.usefixtures("split_group")
def test_its_consumer_gets_no_half_of_it_or_says_what_is_missing(owners):
    at = owners["QM2"]
    assert THIS[:4] not in at.get_groups(complete_groups_only=True)
    with pytest.raises(errors.GroupStalled, match=r"message 5 of group .* --at"):
        at.get_groups()


def test_the_parts_of_a_split_group_can_be_moved_to_one_instance(owners, cluster, queue, split_group):
    _, (split,) = inspect(owners, queue)
    for part in split.parts:
        if part.q_mgr_name != "QM2":
            cluster.mqsc(part.q_mgr_name, f"DEFINE QREMOTE({queue}.AT.QM2) RNAME({queue}) RQMNAME(QM2)")
            operate.move_group(owners[part.q_mgr_name].qmgr, queue, split_group, to=f"{queue}.AT.QM2")
    wait_until(lambda: {*THIS} <= {*cluster.data("QM2", queue)})
    assert inspect(owners, queue)[1] == []
    assert THIS in owners["QM2"].get_groups(complete_groups_only=True)


# --- the command


@pytest.fixture
def command(cluster, queue):
    """A function that runs a command at QM1."""

    def run(name, *arguments):
        here = cluster["QM1"]
        variables = {
            "MQGROUPS_Q_MGR_NAME": "QM1",
            "MQGROUPS_CONN_NAME": here.conn_name,
            "MQGROUPS_CHANNEL": here.channel,
            "MQGROUPS_USER": here.user,
            "MQGROUPS_PASSWORD": here.password,
        }
        return CliRunner(env=variables).invoke(main, [name, "--queue", queue, "--wait", "0", *arguments])

    return run


@pytest.fixture
def look(cluster, command):
    """A function that runs ``mqgroups groups`` at QM1, and at these others."""

    def run(*arguments, at=("QM2", "QM3")):
        others = [word for each in at for word in ("--at", f"{each}={cluster[each].conn_name}")]
        return command("groups", *others, *arguments)

    return run


def test_looking_at_all_instances_ends_in_1_where_a_group_is_split(split_group, look):
    result = look()
    assert (result.exit_code, result.stderr) == (FAILED, "")
    assert "1 group is split over queue managers" in result.stdout
    lines = [line.split() for line in result.stdout.splitlines() if line.startswith(split_group.hex()[-12:])]
    assert [split_group.hex()[-12:], "QM2", "1", "to", "4", "whole"] in lines
    said = json.loads(look("-o", "json").stdout)
    (split,) = said["splits"]
    assert (split["group_id"], split["whole_together"], said["exit_code"]) == (split_group.hex(), True, FAILED)
    assert [each["q_mgr_name"] for each in said["instances"]] == [*ALL]


def test_looking_at_all_instances_ends_in_0_where_none_is(owners, cluster, queue, look):
    put_at_each(owners, cluster, queue, 1)
    result = look()
    assert (result.exit_code, "0 groups are split" in result.stdout) == (LOOKED, True)
    assert [f"{queue} at {name}: 8 messages, 0 in no group" in result.stdout for name in ALL] == [True] * 3
    assert "3 groups: 3 complete; " in result.stdout


def test_the_names_of_groups_come_from_the_instance_that_has_them(owners, cluster, queue, look):
    for at, owner in owners.items():
        cluster.mqsc(at, f"ALTER QLOCAL({queue}) CLWLUSEQ(LOCAL)")
        with owner.producer() as producer, producer.group(name=f"file of {at}") as group:
            group.put(b"1")
    found = json.loads(look("-o", "json").stdout)["groups"]
    assert {(each["q_mgr_name"], each["name"]) for each in found} == {(at, f"file of {at}") for at in ALL}


def test_the_doctor_says_where_groups_go_that_are_put_here(command, queue):
    found = {each["subject"]: each["found"] for each in json.loads(command("doctor", "-o", "json").stdout)["findings"]}
    assert found[f"queue {queue}: CLWLUSEQ"].startswith("CLWLUSEQ(")


def test_looking_where_nothing_answers_or_nothing_was_named(look):
    result = look("--at", "QM9=127.0.0.1(1)")
    assert (result.exit_code, "QM9" in result.stderr) == (ExitCode.TRY_AGAIN, True)
    result = look("--at", "QM9")
    assert (result.exit_code, "'QM9' is not NAME=HOST(PORT)" in result.stderr) == (USAGE, True)

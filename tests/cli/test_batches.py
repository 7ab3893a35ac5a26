"""``mqgroups batches list`` and ``purge``: what is printed, what is removed, and what is left."""

from __future__ import annotations

import functools
import json
import re

import pytest
from click.testing import CliRunner

from mqgroups import errors, operate
from mqgroups.batch.completion import purge_sink
from mqgroups.batch.shared_queue import SharedStatusQueue
from mqgroups.cli.main import main
from mqgroups.connection.holder import connection_of
from tests.batch.test_batch_producer import Died, dying
from tests.fix_batches import messages
from tests.fix_cli import environment

BOTH = {"unfinished_groups": True, "whole_groups_too": True}


@pytest.fixture
def run(batches):
    """A function that runs a command on the shared status queue."""

    def run_command(*arguments, **more):
        command = ["batches", *arguments, "--status-queue", batches.status_queue]
        return CliRunner(env=environment(batches.owner.target)).invoke(main, command, **more)

    return run_command


def remove(*what):
    return [word for each in what for word in ("--remove", each)]


@pytest.fixture
def left(batches):
    """A sink that has completed batch 0 and has left batch 1 with one group whole and one begun."""
    batches.attempt().put_group("A", messages("A", 3))
    batches.complete(0)
    attempt = batches.attempt(batch=1)
    attempt.put_group("B", messages("B", 3))
    with pytest.raises(Died):
        attempt.put_group("C", dying("C", 5, after=4))
    return batches


def test_list_says_what_is_there(left, run):
    said = run("list")
    assert said.exit_code == 0, said.output
    lines = said.output.splitlines()
    assert lines[0] == f"sink {left.sink}, queue {left.queue}: last batch completed 0"
    assert lines[1].startswith("  batch 1 group B: completed, 3 messages committed, GroupId ")
    assert lines[2].startswith("  batch 1 group C: in group, 2 messages committed, GroupId ")
    assert len(lines) == 3


def test_list_in_json(left, run):
    said = json.loads(run("list", "-o", "json").stdout)
    assert (said["status_queue"], said["exit_code"]) == (left.status_queue, 0)
    (sink,) = said["sinks"]
    assert (sink["sink"], sink["queue"], sink["completed_batch"]) == (left.sink, left.queue, 0)
    assert [(each["key"], each["state"], each["msg_seq_number"]) for each in sink["groups"]] == [
        ("B", "completed", 3),
        ("C", "in group", 2),
    ]
    assert sink["in_unit_of_work"] == []


def test_list_says_that_there_is_nothing(left, run):
    run("purge", "--sink", left.sink, "--apply", *remove("whole-groups", "high-water-mark"))
    assert run("list").output == f"no records on {left.status_queue}\n"
    assert json.loads(run("list", "-o", "json").stdout)["sinks"] == []


def test_purge_refuses_to_forget_whole_groups_that_the_batch_would_put_again(left, run):
    said = run("purge", "--sink", left.sink, "--apply", *remove("unfinished-groups", "high-water-mark"))
    assert said.exit_code == 1
    group_id = left.status("B")["group_id"]
    assert f"GroupId {group_id}." in said.output
    assert left.kinds() == ["high-water mark", "intent", "intent", "status", "status"]
    assert left.depth() == 3 + 3 + 2


def test_a_refused_purge_names_ten_groups_at_most(batches, run):
    attempt = batches.attempt()
    for key in range(12):
        attempt.put_group(f"K{key}", messages("K", 1))
    said = run("purge", "--sink", batches.sink, "--apply")
    assert said.exit_code == 1
    assert said.stderr.count("GroupId") == 10
    assert "; and 2 more (`mqgroups batches list`)" in said.output


def test_whole_groups_of_a_completed_batch_are_no_reason_to_refuse(batches, run):
    """Their records can come back if a connection is lost while they are removed; the high-water mark prevents a repeat."""
    batches.attempt().put_group("A", messages("A", 3))
    records = [found.data for found in batches.owner.on_queue(batches.status_queue)]
    batches.complete(0)
    for record in records:
        batches.owner.put_raw(record, batches.status_queue)
    assert run("purge", "--sink", batches.sink, "--apply").exit_code == 0
    assert batches.kinds() == ["high-water mark"]


def test_purge_takes_the_records_and_leaves_the_groups_and_the_mark(left, run):
    ids = {key: left.status(key)["group_id"] for key in "BC"}
    said = run("purge", "--sink", left.sink, "--apply", *remove("whole-groups"))
    lines = said.stdout.splitlines()
    assert lines[0].startswith("purged: records of 2 groups, 0 messages")
    for what, group, key in ((*lines[1:3], "B"), (*lines[3:], "C")):
        assert left.queue in what
        assert f"GroupId {ids[key]}" in group
    assert left.kinds() == ["high-water mark"]
    assert left.depth() == 3 + 3 + 2


def test_purge_can_take_the_messages_of_unfinished_groups_and_the_mark(left, run):
    said = run("purge", "--sink", left.sink, "--apply", *remove("unfinished-groups", "whole-groups", "high-water-mark"))
    lines = said.stdout.splitlines()
    assert lines[0].startswith("purged: records of 2 groups, 2 messages")
    assert not any("unfinished group left" in line for line in lines)
    assert left.kinds() == []
    assert left.depth() == 3 + 3
    assert set(left.groups()) == {"A", "B"}


def test_a_batch_that_cannot_be_repeated_is_put_once_after_its_whole_groups_are_moved(left, run, make_owner):
    """The way that the refused purge names: forget the groups, move those that it lists, run the batch again."""
    forgot = run("purge", "--sink", left.sink, "--apply", *remove("unfinished-groups", "whole-groups"))
    (whole,) = re.findall("group B: completed, .* GroupId ([0-9A-Fa-f]+)", forgot.stdout)
    operate.move_group(left.owner.qmgr, left.queue, bytes.fromhex(whole), to=make_owner().queue, accept=["in-use"])
    again = left.attempt(batch=1, run="run-2")
    again.put_group("B", messages("B", 4))
    again.put_group("C", messages("C", 5))
    left.complete(1)
    assert {key: len(found) for key, found in left.groups().items()} == {"A": 3, "B": 4, "C": 5}


def test_purge_says_whose_records_it_has_left(left, run, monkeypatch):
    monkeypatch.setattr(SharedStatusQueue, "take", lambda *_: False)
    said = run("purge", "--sink", left.sink, "--apply", *remove("whole-groups"))
    assert "records of 2 groups left" in said.output


def test_purge_of_a_sink_without_records_says_so(left, run):
    said = run("purge", "--sink", "another", "--apply")
    assert (said.exit_code, said.stdout) == (1, "")
    assert f"no records of sink another on {left.status_queue}" in said.stderr


def test_without_apply_a_purge_shows_the_records_and_removes_nothing_and_other_sinks_are_left_alone(left, run):
    shown = run("purge", "--sink", left.sink, *remove("unfinished-groups", "whole-groups", "high-water-mark"))
    assert shown.exit_code == 0
    assert shown.stdout.splitlines() == [*run("list").stdout.splitlines(), "these records would be removed"]
    assert shown.stderr.startswith("queue manager ")
    run("purge", "--sink", "another", "--apply", *remove("high-water-mark"))
    assert left.kinds() == ["high-water mark", "intent", "intent", "status", "status"]


def test_what_is_no_status_record_is_disarray(batches, run):
    batches.attempt()
    batches.owner.put_raw(b"something else", batches.status_queue)
    said = run("list")
    assert said.exit_code == 1
    assert f"status queue {batches.status_queue}: found 14 bytes" in said.output
    said = json.loads(run("list", "-o", "json").stdout)
    assert (said["error"], said["because"]) == ("StatusQueueUnusable", "corrupt")
    assert (said["sinks"], said["exit_code"]) == ([], 1)


@pytest.mark.parametrize(
    "value",
    [
        {"v": 1, "manifest": "0" * 32, "seq": 1, "part": 1, "parts": 1, "groups": [["G", 1]]},
        {"v": 1, "manifest": "0" * 32, "removed": True},
        {"v": 1, "manifest": "0" * 32, "read": True},
    ],
    ids=["manifest", "mark", "sign"],
)
@pytest.mark.parametrize("command", [["list"], ["purge", "--sink", "any", "--apply"]], ids=["list", "purge"])
def test_the_status_queue_of_a_spark_source_is_told_and_left_alone(batches, run, value, command):
    batches.attempt()
    batches.owner.put_raw(json.dumps(value).encode(), batches.status_queue)
    said = run(*command)
    assert said.exit_code == 1
    assert "the status queue of a Spark source, not of a sink" in said.stderr
    assert len(batches.owner.on_queue(batches.status_queue)) == 1


def test_a_status_queue_that_is_not_there_is_told(run):
    said = run("list")
    assert said.exit_code == 1
    assert "2085 MQRC_UNKNOWN_OBJECT_NAME" in said.output


def test_the_remedy_for_a_group_that_is_not_moved_is_a_whole_command(left, monkeypatch):
    """Its producer is a sink, and has no status queue of its own that could be cleared."""
    owner = left.owner
    seen = functools.partial(operate.find_owners, status_queues=[left.status_queue])
    monkeypatch.setattr("mqgroups.operate.move.find_owners", seen)
    unfinished = next(found.group_id for found in owner.on_queue() if found.data == b"C:1")
    with pytest.raises(errors.RepairRefused) as caught:
        operate.move_group(owner.qmgr, owner.queue, unfinished, to="ORDERS.BACKOUT", accept=["in-use"])
    assert f"`mqgroups batches purge --status-queue {left.status_queue} --sink {left.sink}`" in str(caught.value)


def test_a_purge_leaves_the_group_of_an_attempt_that_has_gone_on(left, monkeypatch):
    """The attempt has committed more since the purge has read its record: without its beginning the group would be lost."""
    attempt = left.attempt(batch=1)
    taken = SharedStatusQueue.take

    def late(self, record):
        monkeypatch.setattr(SharedStatusQueue, "take", taken)
        assert attempt.put_group("C", messages("C", 5)) == 3
        return taken(self, record)

    monkeypatch.setattr(SharedStatusQueue, "take", late)
    purged = purge_sink(connection_of(left.owner.connect()), left.status_queue, left.sink, **BOTH)
    assert (purged.groups, purged.messages) == (1, 0)
    left.complete(1)
    assert left.groups()["C"] == [f"C:{n}".encode() for n in range(1, 6)]


def test_an_attempt_whose_group_is_purged_is_fenced(left):
    attempt = left.attempt(batch=1)

    def purged_under_way():
        yield from messages("C", 5)[:4]
        purge_sink(connection_of(left.owner.connect()), left.status_queue, left.sink, **BOTH)
        yield from messages("C", 5)[4:]

    with pytest.raises(errors.OwnershipLost, match="End this attempt"):
        attempt.put_group("C", purged_under_way())
    assert "C" not in left.groups()

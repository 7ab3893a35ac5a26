"""``mqgroups owners``: every name with a status queue, what it does, and who holds it."""

from __future__ import annotations

import json
import os

import pytest

import mqgroups.operate.command_server
from mqgroups import operate
from mqgroups.mqi import constants as mq
from tests.fix_batches import interrupt, messages
from tests.fix_cli import environment, invoke

THIS = [b"%d" % number for number in range(1, 8)]
DONE, FAILED = 0, 1


@pytest.fixture
def owners(owner):
    """A function that runs the command."""
    return lambda *arguments: invoke("owners", "--wait", "0", *arguments, **environment(owner.target))


@pytest.fixture
def seen(owner, owners):
    """A function that returns what JSON says of this owner, by role."""

    def run(*arguments):
        found = json.loads(owners("-o", "json", owner.name, *arguments).stdout)["owners"]
        assert {each["name"] for each in found} <= {owner.name}
        return {each["role"]: each for each in found}

    return run


def test_an_interrupted_owner_is_shown_with_its_group_and_position(owner, seen, owners):
    owner.interrupt_put(THIS[:6], checkpoints=[{"row": 1}] * 6)
    (this,) = {each.group_id.hex() for each in owner.on_queue()}
    found = seen()["put"]
    assert (found["state"], found["record"]["group_id"], found["record"]["msg_seq_number"]) == ("interrupted", this, 4)
    assert (found["record"]["queue"], found["holders"]) == (owner.queue, [])
    assert found["record"]["checkpoint"] == {"json": {"row": 1}}
    line = next(line for line in owners(owner.name).stdout.splitlines() if owner.name in line)
    assert ["put", owner.name, "interrupted", "4"] == line.split()[:4]
    assert line.split()[6:8] == [owner.queue, this[-12:]]


def test_the_name_of_the_group_in_a_record_is_shown(owner, seen, owners):
    with owner.producer() as producer, producer.group(name="orders-0815.csv") as group:
        owner.put_all(group, THIS)
    (line,) = (line for line in owners(owner.name).stdout.splitlines() if line.startswith("put"))
    assert ["put", owner.name, "done", str(len(THIS))] == line.split()[:4]
    assert seen()["put"]["group_name"] == "orders-0815.csv"
    owner.interrupt_get()
    assert seen()["get"]["group_name"] == "orders-0815.csv"
    line = next(line for line in owners(owner.name).stdout.splitlines() if "interrupted" in line)
    assert "orders-0815.csv" in line.split()


def test_a_running_owner_is_active_and_shown_with_the_program_that_holds_it(owner, seen):
    owner.open_group(THIS[:5])
    found = seen()["put"]
    (holder,) = found["holders"]
    assert (found["state"], found["record"]["msg_seq_number"]) == ("active", 4)
    assert (holder["process_id"], holder["user"], holder["channel"]) == (
        os.getpid(),
        owner.target.user,
        owner.target.channel,
    )


def test_looking_disturbs_no_owner_and_leaves_nothing(owner, seen):
    group = owner.producer().group()
    for data in THIS[:3]:
        group.put(data)
        assert seen()["put"]["state"] == "active"
    before = owner.records("put")
    seen()
    assert owner.records("put") == before
    owner.put_group(THIS[:2], name=f"{owner.name}.2")


def test_both_roles_of_a_name_are_shown(owner, seen):
    owner.put_group(THIS)
    owner.interrupt_get()
    assert {role: found["state"] for role, found in seen().items()} == {"put": "clean", "get": "interrupted"}


def test_a_kept_checkpoint_and_a_leftover_record_are_told_apart(owner, make_owner, seen):
    with owner.producer() as producer, producer.group() as group:
        group.set_checkpoint(1)
        group.put(b"1")
    assert seen()["put"]["state"] == "checkpoint kept"


def test_a_record_that_a_unit_of_work_hides_is_hidden(owner, seen):
    owner.interrupt_put(THIS[:4])
    owner.take_record("put", mq.MQGMO_SYNCPOINT)
    assert seen()["put"]["state"] == "hidden"
    owner.eye.back_out()


@pytest.mark.parametrize(("data", "state"), [(b"damaged", "unreadable"), (None, "two records")])
def test_a_status_queue_in_disarray_ends_1(owner, seen, owners, data, state):
    owner.interrupt_put(THIS[:4])
    anchor = owner.on_queue(owner.status_queue("put"))[0].md.MsgId
    owner.put_raw(data or owner.records("put")[0], owner.status_queue("put"), CorrelId=anchor)
    assert seen()["put"]["state"] == state
    assert owners(owner.name).exit_code == FAILED


def test_the_groups_of_a_shared_status_queue_are_shown_one_by_one(batches, owner):
    qmgr = owner.connect()
    assert batches.attempt(qmgr).put_group("A", messages("A", 3)) == 3
    interrupt(batches.attempt(qmgr), "B", 3, after=3)
    qmgr.close()
    found = operate.find_owners(owner.qmgr, status_queues=[batches.status_queue]).owners
    groups = {each.name: each for each in found if each.status_queue == batches.status_queue}
    assert {name: each.state.value for name, each in groups.items()} == {
        f"{batches.sink}/0/A": "left over",
        f"{batches.sink}/0/B": "interrupted",
    }
    assert all(each.is_shared and each.role == "put" for each in groups.values())


def test_without_the_command_server_owners_are_found_by_name(owner, owners, seen, monkeypatch):
    owner.interrupt_put(THIS[:4])
    monkeypatch.setattr(mqgroups.operate.command_server, "_COMMAND_QUEUE", "NO.SUCH.QUEUE")
    assert seen()["put"]["state"] == "interrupted"
    result = owners()
    assert (result.exit_code, owner.name in result.stdout) == (DONE, False)
    assert "status queues are not listed, only those that are named" in result.stderr
    assert owner.name in owners("--status-queue", owner.status_queue("put")).stdout


def test_a_name_without_a_status_queue_ends_1_and_a_queue_without_owners_0(owner, owners):
    result = owners("NO.SUCH.NAME")
    assert (result.exit_code, "NO.SUCH.NAME: there is no status queue" in result.stderr) == (FAILED, True)
    assert owners("--queue", "NO.SUCH.QUEUE").exit_code == DONE
    assert "not seen: status queue NO.SUCH.QUEUE" in owners("--status-queue", "NO.SUCH.QUEUE").stderr


def test_only_owners_of_a_queue_are_shown_and_those_of_which_that_is_not_known_are_named(owner, make_owner, owners):
    other, clean, unknown = (make_owner() for _ in range(3))
    owner.interrupt_put(THIS[:4])
    other.interrupt_put(THIS[:4])
    clean.put_group(THIS)
    unknown.put_group(THIS)
    unknown.put_raw(b"damaged", unknown.status_queue("put"))
    said = json.loads(owners("-o", "json", "--queue", owner.queue).stdout)
    assert [each["name"] for each in said["owners"]] == [owner.name]
    (note,) = (each for each in said["notes"] if "the queues of these owners" in each)
    assert f"{unknown.name} (unreadable)" in note
    assert not any(each.name in note for each in (owner, other, clean))


def test_owners_come_by_need_and_only_those_in_a_state_if_asked(owner, make_owner, owners):
    lost, clean = make_owner(queue=owner.queue), make_owner(queue=owner.queue)
    clean.put_group(THIS)
    for each in (owner, lost):
        each.interrupt_put(THIS[:4])
    lost.take_record("put")
    names = [owner.name, lost.name, clean.name]
    found = json.loads(owners("-o", "json", *names).stdout)["owners"]
    assert [(each["name"], each["state"]) for each in found] == [
        (lost.name, "record lost"),
        (owner.name, "interrupted"),
        (clean.name, "clean"),
    ]
    (only,) = json.loads(owners("-o", "json", "--only", "record-lost", *names).stdout)["owners"]
    assert only["name"] == lost.name
    of_queue = json.loads(owners("-o", "json", "--queue", owner.queue).stdout)["owners"]
    assert [each["name"] for each in of_queue] == [lost.name, owner.name]

"""``mqgroups salvage``: what it says, what it leaves alone without --apply, how it ends."""

from __future__ import annotations

import pytest

import mqgroups.operate.command_server
from embedded_tests.fix_mqi import OK
from embedded_tests.tables import table
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.mqi import constants as mq
from tests.fix_cli import environment, invoke

THIS = [b"%d" % number for number in range(1, 8)]
DONE, FAILED, USAGE, _, OWNER_ACTIVE = range(5)
A = b"A" * 24


@pytest.fixture
def salvage(owner):
    """A function that runs the command for the owner, which waits for nothing."""

    def run(*arguments, **variables):
        words = ("salvage", *arguments, "--queue", owner.queue, "--wait", "0")
        return invoke(*words, **{**environment(owner.target), **variables})

    return run


@pytest.fixture
def rebuild(owner, salvage):
    """A function that runs ``salvage rebuild`` for the owner's producer."""
    return lambda *arguments: salvage("rebuild", "--name", owner.name, "--role", "put", *arguments)


@pytest.fixture
def interrupted(owner):
    """A producer that was killed after four messages of a group, and its status record lost; returns the GroupId."""
    owner.interrupt_put(THIS[:6])
    owner.empty(owner.status_queue("put"))
    return owner.on_queue()[0].group_id


def test_a_record_is_written_only_when_told_to(owner, rebuild, interrupted):
    result = rebuild()
    assert result.exit_code == DONE
    would = f"would write a record to {owner.status_queue('put')}: group {interrupted.hex()}, 4 messages committed"
    assert would in result.stdout
    # Where, and as which user, comes first.
    assert result.stderr.startswith(f"queue manager {owner.target.q_mgr_name} at {owner.target.conn_name}, as user ")
    assert owner.records("put") == []
    result = rebuild("--apply", "--checkpoint", '{"row": 4}')
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (DONE, would.replace("would write", "wrote"))
    assert (owner.record("put")["msg_seq_number"], owner.record("put")["checkpoint"]) == (4, {"json": {"row": 4}})


@table("text", ["{", "[" * 100_000, "9" * 5000])
def test_a_checkpoint_that_is_not_json_is_refused(rebuild, text):
    result = rebuild("--checkpoint", text)
    assert (result.exit_code, "is not JSON" in result.output, len(result.output) < 1000) == (USAGE, True, True)


def test_what_cannot_be_known_is_told_with_what_can_be_done(owner, rebuild, interrupted):
    owner.put_raw(b"x", GroupId=A, MsgSeqNumber=1, MsgFlags=mq.MQMF_MSG_IN_GROUP)
    result = rebuild("--apply")
    assert (result.exit_code, result.stdout) == (FAILED, "")
    assert interrupted.hex() in result.stderr
    assert A.hex() in result.stderr
    assert "Give the GroupId of the right one" in result.stderr
    assert rebuild("--apply", "--group", interrupted.hex()).exit_code == DONE


def test_a_checkpoint_is_given_back_also_if_no_group_is_interrupted(owner, rebuild):
    with owner.producer() as producer, producer.group() as group:
        group.set_checkpoint({"row": 3})
        group.put(b"0")
    owner.empty(owner.status_queue("put"))
    given = ("--checkpoint", '{"row": 3}', "--accept", "nothing-interrupted")
    would = f"would write a record to {owner.status_queue('put')}: of no group, with the checkpoint"
    assert rebuild(*given).stdout.splitlines()[-1] == would
    assert rebuild(*given, "--apply").exit_code == DONE
    with owner.producer() as producer:
        assert producer.checkpoint == {"row": 3}


def test_a_damaged_record_is_moved_away_and_named(owner, rebuild, interrupted, make_queue):
    owner.put_raw(b"damaged", owner.status_queue("put"))
    away = make_queue()
    result = rebuild("--apply")
    assert (result.exit_code, "mqgroups salvage rebuild --unreadable-to QUEUE" in result.stderr) == (FAILED, True)
    result = rebuild("--apply", "--unreadable-to", away)
    assert f"moved 1 message of {owner.status_queue('put')} to {away}" in result.stdout
    assert "look at its checkpoint, and give it with --checkpoint" in result.stderr
    assert [message.data for message in owner.on_queue(away)] == [b"damaged"]


def test_a_valid_record_beside_a_message_that_is_moved_away_is_said_to_stay(owner, rebuild, interrupted, make_queue):
    assert rebuild("--apply", "--checkpoint", '{"row": 4}').exit_code == DONE
    owner.put_raw(b"foreign", owner.status_queue("put"))
    result = rebuild("--unreadable-to", make_queue())
    assert result.exit_code == DONE
    assert "would move 1 message" in result.stdout
    stays = (
        f"the record on {owner.status_queue('put')} stays: in group, group {interrupted.hex()}, 4 messages committed"
    )
    assert f"{stays}, checkpoint {{'row': 4}}" in result.stdout


def test_the_checkpoint_of_a_record_that_is_moved_away_is_named_unless_one_is_given(
    owner, rebuild, interrupted, make_queue
):
    assert rebuild("--apply", "--checkpoint", '{"row": 4}').exit_code == DONE
    owner.put_raw(owner.records("put")[0], owner.status_queue("put"))
    away = make_queue()
    given = ("--checkpoint", '{"row": 4}')
    assert "--checkpoint '{\"row\": 4}'" in " ".join(rebuild("--unreadable-to", away).stderr.split())
    assert "checkpoint" not in rebuild("--unreadable-to", away, *given).stderr
    result = rebuild("--apply", "--unreadable-to", away)
    assert (result.exit_code, "--checkpoint '{\"row\": 4}'" in " ".join(result.stderr.split())) == (DONE, True)


def test_a_doubt_is_accepted_by_its_name(owner, rebuild, interrupted):
    handle = owner.eye.open(owner.queue, mq.MQOO_OUTPUT)
    assert handle.code == OK
    result = rebuild("--apply")
    assert (result.exit_code, "accept 'in-use'" in result.stderr) == (FAILED, True)
    assert rebuild("--apply", "--accept", "in-use").exit_code == DONE
    handle.close()


def test_status_queues_can_be_named_where_no_list_can_be_had(owner, make_owner, rebuild, interrupted, monkeypatch):
    monkeypatch.setattr(mqgroups.operate.command_server, "_COMMAND_QUEUE", "NO.SUCH.QUEUE")
    alpha = make_owner(queue=owner.queue)
    with alpha.producer():
        pass
    result = rebuild("--accept", "in-use")
    assert (result.exit_code, "accept 'other-owners'" in result.stderr) == (FAILED, True)
    assert rebuild("--accept", "in-use", "--other-status-queue", alpha.status_queue("put")).exit_code == DONE
    assert rebuild("--accept", "in-use", "--accept", "other-owners").exit_code == DONE


def test_an_anchor_without_its_record_is_told(owner, rebuild):
    owner.interrupt_put(THIS[:6])
    owner.take_record("put")
    result = rebuild()
    would = f"would remove an anchor from {owner.status_queue('put')}, whose record is lost"
    assert (result.exit_code, result.stdout.splitlines()[-2]) == (DONE, would)
    assert would.replace("would remove", "removed") in rebuild("--apply").stdout
    assert (len(owner.records("put")), owner.anchors("put")) == (1, 1)


def test_an_active_owner_is_told_from_disarray(owner, rebuild):
    with owner.producer(owner.connect()):
        assert rebuild("--apply").exit_code == OWNER_ACTIVE


def test_a_group_is_moved_only_when_told_to(owner, salvage, interrupted, make_queue):
    away = make_queue()
    arguments = ("move", "--group", interrupted.hex(), "--to", away)
    result = salvage(*arguments)
    assert (result.exit_code, f"would move 4 messages to {away}" in result.stdout) == (DONE, True)
    assert len(owner.on_queue()) == 4
    result = salvage(*arguments, "--apply")
    assert (result.exit_code, f"moved 4 messages to {away}" in result.stdout) == (DONE, True)
    assert (owner.on_queue(), len(owner.on_queue(away))) == ([], 4)
    assert salvage(*arguments, "--apply").exit_code == FAILED


def test_nowhere_to_move_a_group_to_is_misuse(salvage, interrupted):
    result = salvage("move", "--group", interrupted.hex())
    assert (result.exit_code, "no BOQNAME" in result.stderr) == (USAGE, True)


def test_a_command_that_is_not_understood_ends_with_2(salvage, rebuild, interrupted):
    assert salvage("move", "--group", "12").exit_code == USAGE
    assert salvage("rebuild", "--role", "put").exit_code == USAGE
    assert rebuild("--checkpoint", "{").exit_code == USAGE


def test_a_queue_manager_that_is_not_there_is_told(salvage):
    result = salvage("move", "--group", "00" * 24, MQGROUPS_CONN_NAME="localhost(1)")
    assert (result.exit_code, result.stdout) == (ExitCode.TRY_AGAIN, "")

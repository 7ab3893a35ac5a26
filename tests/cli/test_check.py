"""``mqgroups check`` and ``operate.inspect_owner``: what they find, what they leave alone, how the command ends."""

from __future__ import annotations

import hashlib
import json
import re

import click
import pytest

import mqgroups.operate.command_server
from embedded_tests.fix_mqi import OK, wait_until
from embedded_tests.tables import table
from mqgroups import errors, operate
from mqgroups.connection.holder import connection_of
from mqgroups.core.poison import Suspect
from mqgroups.core.status import RecordState, encode
from mqgroups.mqi import constants as mq
from tests.fix_cli import environment, invoke

THIS = [b"%d" % number for number in range(7)]
MAY_START, FAILED, USAGE, NOT_SEEN, OWNER_ACTIVE = range(5)
statuses = pytest.mark.parametrize("status", ["classic", "segmented"])


class Died(Exception):
    """What ends an owner that does not close in order."""


@pytest.fixture
def check(owner):
    """A function that runs the command for the owner, which waits for nothing."""

    def run(*arguments, name=owner.name, wait="0", **variables):
        return invoke("check", name, "--wait", wait, *arguments, **{**environment(owner.target), **variables})

    return run


def complete_and_die(owner, status="classic", checkpoint=None):
    """Put two groups in five units of work, and fail before the producer is closed in order."""
    with owner.producer(status_layout=status) as producer:
        for _ in range(2):
            with producer.group() as group:
                for data in THIS[:5]:
                    group.set_checkpoint(checkpoint)
                    group.put(data)
        raise Died


NEVER = "unknown: there is no status queue: the name was never used, or its queue was deleted"


def record(owner, **fields):
    """Return a status record of the owner's with other ``fields``, as it lies on the queue."""
    return encode(owner.status_record(**{"msg_seq_number": 2, **fields}))


def of_another_version(data):
    """Return a status record with another schema version, and the right digest."""
    body = re.sub(rb'"schema":1\b', b'"schema":999', data[len('{"sha256":"",') + 64 :])
    return b'{"sha256":"' + hashlib.sha256(body).hexdigest().encode() + b'",' + body


def lay(owner, role, data):
    """Put a message on a status queue, which is made if it is not there."""
    if not owner.has_status_queue(role):
        owner.start(role).close()
    owner.put_raw(data, owner.status_queue(role))


# --- nothing is interrupted


def test_an_owner_that_never_was_may_start_and_nothing_is_left_behind(owner, check):
    result = check()
    assert (result.exit_code, result.stderr) == (MAY_START, "")
    assert result.stdout.splitlines() == [
        f"put {owner.name}: {NEVER}",
        f"  status queue  MQGROUPS.PUT.{owner.name}",
        "  messages      not compared: a lost record is found with --queue QUEUE only",
        f"get {owner.name}: {NEVER}",
        f"  status queue  MQGROUPS.GET.{owner.name}",
    ]
    assert not owner.has_status_queue("put")


def test_who_was_never_here_is_told_from_who_is_clean(owner, check):
    def state():
        (said,) = json.loads(check("--role", "put", "-o", "json").stdout)["owners"]
        return said["state"]

    assert state() == "unknown"
    owner.put_group(THIS)
    assert state() == "clean"
    assert check("--role", "put").stdout.splitlines()[0] == f"put {owner.name}: clean: no group is interrupted"
    # A status queue that exists is not deleted.
    assert owner.has_status_queue("put")


def test_at_a_terminal_sentences_are_broken_at_blanks(check):
    # rich takes this for a terminal, as it does in a pseudo-terminal.
    narrow = click.unstyle(check(FORCE_COLOR="1", COLUMNS="60").stdout)
    wide = check().stdout
    assert max(map(len, narrow.splitlines())) <= 60 < max(map(len, wide.splitlines()))
    assert narrow.split() == wide.split()


def test_a_checkpoint_is_never_taken_away(owner, check):
    """It says which group is next, to an application that puts many."""
    with pytest.raises(Died):
        complete_and_die(owner, checkpoint={"line": 5})
    result = check()
    assert result.exit_code == MAY_START
    assert (
        result.stdout.splitlines()[0]
        == f"put {owner.name}: checkpoint kept: no group is interrupted; its checkpoint is kept"
    )
    assert "  checkpoint    {'line': 5}" in result.stdout.splitlines()
    with owner.producer() as producer:
        assert producer.checkpoint == {"line": 5}


# --- a group is interrupted


def test_an_interrupted_group_is_shown_with_its_properties(owner, check):
    qmgr = owner.connect()
    group = owner.producer(qmgr).group(name="orders 0815", properties={"lines": 1200})
    owner.put_all(group, THIS)
    qmgr.close()
    lines = check().stdout.splitlines()
    assert lines[6:9] == [
        "  checkpoint    None",
        "  property      lines = 1200",
        "  property      mqgroups.Name = 'orders 0815'",
    ]
    assert json.loads(check("-o", "json").stdout)["owners"][0]["record"]["properties"]["lines"] == 1200


@statuses
def test_an_interrupted_group_is_left_for_the_start(owner, check, status):
    owner.interrupt_put(THIS, checkpoints=range(7), status_layout=status)
    before = owner.records("put")
    result = check()
    assert (result.exit_code, result.stderr) == (MAY_START, "")
    assert result.stdout.splitlines() == [
        f"put {owner.name}: interrupted: a group is interrupted, and the next start resumes it",
        f"  status queue  MQGROUPS.PUT.{owner.name}",
        "  record        in group, unit of work 3, epoch 1",
        f"  put by        user {owner.on_queue()[0].md.UserIdentifier.decode().rstrip()}",
        f"  group         {owner.on_queue()[0].group_id.hex()} on queue {owner.queue}",
        "  committed     6 messages",
        "  checkpoint    5",
        f"get {owner.name}: {NEVER}",
        f"  status queue  MQGROUPS.GET.{owner.name}",
    ]
    assert owner.records("put") == before
    with owner.producer() as producer, producer.group() as group:
        assert group.resume_from == 6
        group.put(THIS[6])
    assert owner.data() == THIS


def test_what_is_interrupted_in_json(owner, check):
    owner.interrupt_get(of=THIS)
    (found,) = owner.on_queue()[:1]
    said = json.loads(check("-o", "json", "--role", "get").stdout)
    (it,) = said.pop("owners")
    assert said == {"name": owner.name, "q_mgr_name": owner.target.q_mgr_name, "exit_code": MAY_START}
    lies = it.pop("record")
    assert it == {
        "role": "get",
        "status_queue": f"MQGROUPS.GET.{owner.name}",
        "state": "interrupted",
        "put_by": found.md.UserIdentifier.decode().rstrip(),
        "contradictions": [],
    }
    assert (lies["group_id"], lies["msg_seq_number"], lies["unit_of_work"]) == (found.group_id.hex(), 4, 2)
    assert {**lies, "sha256": owner.record("get")["sha256"]} == owner.record("get")


def test_a_checkpoint_of_bytes_can_be_said_in_json(owner, check):
    owner.interrupt_put(THIS, checkpoints=[b"\0\xff"] * 7)
    said = json.loads(check("-o", "json").stdout)
    assert said["owners"][0]["record"]["checkpoint"] == {"bytes": "AP8="}


def test_a_message_that_is_half_committed_is_told(owner, check):
    lay(owner, "put", record(owner, offset=1500))
    assert "  committed     2 messages and 1500 bytes of the next" in check().stdout.splitlines()


# --- somebody has the name


def test_an_active_owner_is_told_with_its_record_and_not_disturbed(owner, check):
    with owner.producer() as producer, producer.group() as group:
        owner.put_all(group, THIS[:5])
        result = check()
        assert result.exit_code == OWNER_ACTIVE
        assert result.stdout.splitlines()[0] == (
            f"put {owner.name}: active: a program works under this name, or is not gone yet"
        )
        assert "  committed     4 messages" in result.stdout.splitlines()
        group.put(THIS[5])
        group.put(THIS[6])
    assert owner.data() == THIS


@pytest.mark.embedded
def test_an_owner_that_goes_in_time_is_waited_for(owner, check, faults, background):
    # Given an owner, and the command, which has seen that it is there
    producer = owner.producer(owner.connect())
    opened = faults.calls()["MQOPEN"]
    waiting = background(lambda: check("--role", "put", wait="30"))
    wait_until(lambda: faults.calls()["MQOPEN"] >= opened + 3)
    # When it goes, then the command sees it go
    producer.close()
    result = waiting.result(60)
    assert result.exit_code == MAY_START
    assert result.stdout.splitlines()[0] == f"put {owner.name}: clean: no group is interrupted"


def test_a_record_that_a_unit_of_work_hides_is_not_gone_yet(owner, check):
    owner.interrupt_put(THIS)
    owner.take_record("put", mq.MQGMO_SYNCPOINT)
    result = check("--role", "put")
    said = json.loads(check("--role", "put", "-o", "json").stdout)
    assert owner.eye.back_out() == OK
    assert result.exit_code == said["exit_code"] == OWNER_ACTIVE
    assert f"put {owner.name}: hidden: a unit of work hides the record" in result.stdout
    assert said["owners"][0]["state"] == "hidden"
    assert check("--role", "put").exit_code == MAY_START


def test_a_record_of_a_suspect_is_needed(owner, check):
    lay(
        owner,
        "get",
        record(
            owner, role="get", state=RecordState.IDLE, msg_seq_number=0, suspect=Suspect(b"G" * 24, 1, 2, b"M" * 24)
        ),
    )
    before = owner.records("get")
    assert check("--role", "get").exit_code == MAY_START
    assert owner.records("get") == before


# --- disarray


@pytest.mark.parametrize(
    ("data", "because"),
    [
        pytest.param(lambda _: b"not a record", "corrupt", id="corrupt"),
        pytest.param(lambda owner: of_another_version(record(owner)), "version", id="version"),
        pytest.param(lambda owner: record(owner, name="ANOTHER"), "foreign", id="name"),
        pytest.param(lambda owner: record(owner, role="get"), "foreign", id="role"),
        pytest.param(lambda owner: record(owner, q_mgr_identifier="X"), "foreign", id="queue-manager"),
        pytest.param(lambda owner: record(owner, queue="ANOTHER.QUEUE"), "foreign", id="queue"),
    ],
)
def test_a_status_queue_in_disarray_ends_1_and_is_left_alone(owner, check, data, because):
    lay(owner, "put", data(owner))
    before = owner.records("put")
    result = check("--role", "put", "-o", "json", "--queue", owner.queue)
    assert result.exit_code == FAILED
    (said,) = json.loads(result.stdout)["owners"]
    assert (said["role"], said["state"], said["error"]) == ("put", "disarray", "StatusQueueUnusable")
    assert said["because"] == because
    assert said["status_queue"] == owner.status_queue("put")
    assert owner.status_queue("put") in said["message"]
    assert owner.records("put") == before


def test_the_queue_of_a_record_is_compared_only_if_it_is_given(owner, check):
    owner.interrupt_put(THIS)
    assert check().exit_code == MAY_START
    assert check("--queue", owner.queue).exit_code == MAY_START
    assert check("--queue", "ANOTHER").exit_code == FAILED


def test_what_could_not_be_seen_is_no_reason_to_start(owner, check, monkeypatch):
    """A record that is lost would be taken for a clean start."""
    owner.interrupt_put(THIS)
    owner.empty(owner.status_queue("put"))
    given = ("--role", "put", "--queue", owner.queue)
    assert check(*given).exit_code == FAILED
    monkeypatch.setattr(mqgroups.operate.command_server, "_COMMAND_QUEUE", "NO.SUCH.QUEUE")
    result = check(*given)
    assert (result.exit_code, "not seen: whether a start" in result.stderr) == (NOT_SEEN, True)
    assert check(*given, "--accept", "no-record").exit_code == MAY_START


@pytest.mark.embedded
def test_a_queue_that_could_not_be_browsed_is_no_reason_to_start(owner, check):
    owner.interrupt_put(THIS)
    owner.set_attribute(mq.MQIA_INHIBIT_GET, 1)
    result = check("--role", "put", "--queue", owner.queue)
    assert (result.exit_code, "2016" in result.stderr) == (NOT_SEEN, True)
    owner.set_attribute(mq.MQIA_INHIBIT_GET, 0)


def test_disarray_of_one_role_counts_more_than_an_interrupted_group_of_the_other(owner, check):
    owner.interrupt_get(of=THIS)
    for _ in range(2):
        lay(owner, "put", record(owner))
    assert "holds 2 records" in check().stdout
    said = json.loads(check("-o", "json").stdout)
    assert [each["state"] for each in said["owners"]] == ["disarray", "interrupted"]
    assert said["exit_code"] == FAILED


def test_the_record_of_a_pipe_without_the_other_one_is_disarray(owner, check, make_queue):
    """The start of the pipe is refused, so that it may start would be wrong."""
    owner.put_raw_group(THIS)
    with owner.connect() as qmgr:
        incoming, outgoing = next(iter(qmgr.group_pipe(owner.queue, make_queue(), name=owner.name, commit_every=2)))
        for message in incoming:
            outgoing.put(message.data)
            if message.msg_seq_number == 5:
                break
    assert check().exit_code == MAY_START
    owner.empty(owner.status_queue("put"))
    done = check("-o", "json")
    assert done.exit_code == FAILED
    said = json.loads(done.stdout)
    assert [each["state"] for each in said["owners"]] == ["clean", "interrupted"]
    ((rebuild, *_),) = (each["remedy"].splitlines() for each in said["owners"][1]["contradictions"])
    assert rebuild.startswith(f"mqgroups salvage rebuild --name {owner.name} --role put --queue OUTGOING")
    # A role by itself is as it was.
    assert check("--role", "get").exit_code == MAY_START


# --- other ends


def test_a_status_queue_of_another_name_is_looked_at(owner, check, make_queue):
    queue = make_queue()
    owner.put_raw(record(owner), queue)
    assert check("--role", "put", "--status-queue", queue).exit_code == MAY_START


@table(
    ("arguments", "name", "sentence"),
    [
        (["--status-queue", "S"], "N", "--status-queue needs --role"),
        (["--role", "both"], "N", "'both' is not one of"),
        ([], "two words", "has ' ' at position 4"),
        ([], "N" * 36, "36 characters"),
        (["--queue", "Q-1"], "N", "has '-' at position 2"),
        (["--q-mgr", "QM1", "--password-env", "NO_SUCH_VARIABLE", "--user", "app"], "N", "NO_SUCH_VARIABLE"),
    ],
)
def test_what_is_not_understood_ends_2(check, arguments, name, sentence):
    result = check(*arguments, name=name)
    assert result.exit_code == USAGE
    assert sentence in " ".join(result.stderr.split())


# --- for programs


def test_a_program_can_ask_too(owner):
    owner.interrupt_put(THIS, checkpoints=range(7))
    status = operate.inspect_owner(owner.qmgr, owner.name, "put")
    assert (status.role, status.name, status.status_queue) == ("put", owner.name, owner.status_queue("put"))
    assert status.state is operate.OwnerState.INTERRUPTED
    assert status.record is not None
    assert (status.record.msg_seq_number, status.record.checkpoint) == (6, 5)
    assert operate.inspect_owner(owner.qmgr, owner.name, "get").state is operate.OwnerState.UNKNOWN


def test_a_program_gets_disarray_as_an_error(owner):
    lay(owner, "get", b"not a record")
    with pytest.raises(errors.StatusQueueUnusable) as caught:
        operate.inspect_owner(owner.qmgr, owner.name, "get")
    assert caught.value.because == "corrupt"
    # Nobody holds the queue afterwards.
    with pytest.raises(errors.StatusQueueUnusable):
        owner.consumer(owner.connect())


def test_a_role_that_is_none_is_refused(owner):
    with pytest.raises(errors.ConfigurationError, match="role must be"):
        operate.inspect_owner(owner.qmgr, owner.name, "both")  # type: ignore[arg-type]  # what mypy refuses too


def test_a_record_is_not_taken_away_in_a_unit_of_work_of_somebody_elses(owner, make_owner):
    with pytest.raises(Died):
        complete_and_die(owner)
    other = make_owner()
    with other.producer(owner.qmgr) as producer, producer.group() as group:
        group.put(b"0")
        group.put(b"1")
        with pytest.raises(errors.GroupUsage):
            operate.inspect_owner(owner.qmgr, owner.name, "put", tidy=True)
    assert other.data() == [b"0", b"1"]
    assert owner.record("put")["state"] == "completed"


def test_what_an_owner_has_is_not_known_while_it_commits(owner):
    qmgr = owner.connect()
    commit = connection_of(qmgr).binding.MQCMIT
    seen = []

    def look_and_commit(hconn):
        seen.append(operate.inspect_owner(owner.qmgr, owner.name, "put"))
        return commit(hconn)

    with owner.producer(qmgr) as producer:
        owner.doctor(qmgr, MQCMIT=look_and_commit)
        with producer.group() as group:
            owner.put_all(group, THIS)
    assert {(each.state, each.record) for each in seen} == {(operate.OwnerState.ACTIVE, None)}

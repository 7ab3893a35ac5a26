"""``mqgroups doctor``: from the machine to the messages, what is wrong, and what mends it."""

from __future__ import annotations

import contextlib
import json

import pytest

import mqgroups.operate.doctor
import mqgroups.operate.queues
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from mqgroups.operate.attributes import inquired
from mqgroups.operate.command_server import PCFClient
from mqgroups.operate.machine import machine_findings
from mqgroups.operate.owners import find_owners
from mqgroups.operate.rules.judgement import Cause
from tests.fix_batches import messages
from tests.fix_cli import environment, invoke
from tests.operate.lost_records import A, put

THIS = [b"%d" % number for number in range(1, 8)]
DONE, ERROR, USAGE, NOT_SEEN = range(4)


@pytest.fixture
def doctor(owner):
    """A function that runs the command on the owner's queue, and returns its result and what it found."""

    def run(*arguments, queue=None, **variables):
        command = ["doctor", "-o", "json", "--queue", queue or owner.queue, "--wait", "0", *arguments]
        result = invoke(*command, **{**environment(owner.target), **variables})
        found = json.loads(result.stdout)["findings"] if result.stdout else []
        return result, found

    return run


def problems(found, severity="error"):
    return {each["subject"] for each in found if each["severity"] == severity}


def test_a_queue_and_an_owner_in_order_have_no_errors(owner, doctor):
    owner.put_group(THIS)
    for role in ("put", "get"):
        result, found = doctor("--name", owner.name, "--role", role)
        assert problems(found) == set(), result.stdout
        subjects = {each["subject"] for each in found}
        assert {
            "versions",
            "binding",
            "client library",
            "connection",
            "TLS",
            "status queues",
            f"groups on {owner.queue}",
        } <= subjects
    # Test queues have no BOTHRESH, which matters to a consumer. Of the channel, connections of other programs are seen, too.
    warnings = {subject for subject in problems(found, "warning") if not subject.startswith("channel ")}
    assert (result.exit_code, warnings) == (DONE, {f"queue {owner.queue}: BOTHRESH, BOQNAME"})


@pytest.mark.embedded
def test_what_the_connections_of_a_channel_have_negotiated_is_seen(connect, mq):
    connect(mqcd={"Version": 8, "HeartbeatInterval": 301})
    found = invoke("doctor", "-o", "json", "--wait", "0", **environment(mq)).stdout
    told = {each["subject"]: each for each in json.loads(found)["findings"]}
    assert "361 s" in told[f"channel {mq.channel}: HBINT of its connections"]["why"]


def test_what_is_wrong_has_a_reason_and_a_remedy_as_text(owner):
    put(owner, A, 2)
    result = invoke("doctor", "--queue", owner.queue, "--wait", "0", **environment(owner.target))
    lines = result.stdout.splitlines()
    said = " ".join(result.stdout.split())
    assert f"error groups on {owner.queue}: 1 group: its first message is gone" in said
    assert "why: no consumer gets it do: wait for a channel" in said
    assert lines[-1].endswith("1 error")
    assert result.exit_code == ERROR


def test_commands_that_mend_are_shown_so_that_they_can_be_copied(owner, doctor):
    put(owner, A, 2)
    narrow = {**environment(owner.target), "FORCE_COLOR": "1", "COLUMNS": "60"}
    lines = invoke("doctor", "--queue", owner.queue, "--wait", "0", **narrow).stdout.splitlines()
    wrong = [each for each in doctor()[1] if each["severity"] != "ok"]
    commands = [command for each in wrong for command in (*each["mqsc"], *each["remedy"].splitlines())]
    assert any(command.startswith("mqgroups ") and len(command) > 60 for command in commands)
    # The terminal breaks them, and gives them back in one line.
    assert [line.partition("do:  ")[2] for line in lines if line.startswith(" " * 10 + "do:")] == commands


def test_a_group_whose_producer_has_died_is_not_in_order(owner, doctor):
    owner.interrupt_put([b"1", b"2", b"3", b"4"])
    owner.qmgr.close()
    # A test queue has another name than those that the command server is asked for.
    result, found = doctor("--status-queue", owner.status_queue("put"))
    said = {each["found"] for each in found if each["subject"] == f"groups on {owner.queue}"}
    assert (result.exit_code, said) == (
        DONE,
        {f"1 group: {Cause.STOPPED.value}", "0 groups in order or at work"},
    )


def test_a_consumer_that_died_while_the_queue_was_browsed_does_not_disagree_with_it(owner, doctor, monkeypatch):
    owner.put_group(THIS)
    looks: list[object] = []

    def look(q_mgr, **named):
        if not looks:
            owner.interrupt_get()
            owner.qmgr.close()
        looks.append(q_mgr)
        return find_owners(q_mgr, **named)

    monkeypatch.setattr(mqgroups.operate.queues, "find_owners", look)
    _, found = doctor()
    assert f"groups on {owner.queue}" not in problems(found)


@pytest.fixture
def mqsc(owner):
    """A function that returns the lines of ``-o mqsc`` for the owner's queue, and runs those that are commands if told so."""

    def printed(*, run=False):
        done = invoke("doctor", "--queue", owner.queue, "-o", "mqsc", "--wait", "0", **environment(owner.target))
        lines = done.stdout.splitlines()
        commands = [line for line in lines if not line.startswith("*")]
        assert all(line.startswith(("ALTER ", "DEFINE ", "SET ")) for line in commands)
        if run:
            assert all(PCFClient(connection_of(owner.qmgr)).run(command)[0] for command in commands)
        return lines

    return printed


# What is run alters the channel of all tests, too.
@pytest.mark.embedded
def test_an_inhibited_queue_is_an_error_and_is_not_enabled_by_what_is_printed(owner, doctor, mqsc):
    owner.set_attribute(mq.MQIA_INHIBIT_PUT, 1)
    lines = mqsc(run=True)
    result, found = doctor()
    assert (problems(found), result.exit_code) == ({f"queue {owner.queue}: PUT"}, ERROR)
    assert f"* do: ALTER QLOCAL('{owner.queue}') PUT(ENABLED)" in lines
    owner.set_attribute(mq.MQIA_INHIBIT_PUT, 0)


@pytest.mark.embedded
def test_what_is_printed_mends_definitions(owner, doctor, mqsc):
    alter = f"ALTER QLOCAL('{owner.queue}') "
    assert PCFClient(connection_of(owner.qmgr)).run(f"{alter} NOSHARE")[0]
    said = f"queue {owner.queue}: SHARE"
    assert f"{alter}SHARE" in mqsc()
    assert said in problems(doctor()[1], "warning")
    mqsc(run=True)
    assert said not in problems(doctor()[1], "warning")


@pytest.mark.embedded
def test_what_is_printed_does_not_keep_a_consumer_from_starting(owner, doctor, mqsc):
    owner.consumer(poison="quarantine").close()
    mqsc(run=True)
    assert f"queue {owner.queue}: BOTHRESH, BOQNAME" in problems(doctor()[1], "warning")
    owner.consumer(poison="quarantine").close()


def test_the_worst_comes_first_and_what_is_in_order_is_only_counted(owner, doctor):
    put(owner, A, 2)
    _, found = doctor()
    order = [each["severity"] for each in found]
    assert order == sorted(order, key=["error", "warning", "not seen", "ok"].index)
    lines = invoke("doctor", "--queue", owner.queue, "--wait", "0", **environment(owner.target)).stdout.splitlines()
    assert lines[0].startswith(f"error     groups on {owner.queue}: ")
    assert not any(line.startswith("ok") for line in lines)
    assert f"{len(found)} checks: {order.count('ok')} ok, " in lines[-1]


def test_a_status_queue_in_disarray_is_an_error(owner, doctor):
    owner.interrupt_put(THIS[:4])
    owner.put_raw(b"damaged", owner.status_queue("put"))
    result, found = doctor("--name", owner.name, "--role", "put")
    subjects = [each["subject"] for each in found if each["severity"] == "error"]
    assert (result.exit_code, {*subjects}) == (
        ERROR,
        {f"status queue {owner.status_queue('put')}", f"groups on {owner.queue}"},
    )
    # Mended, it has the record of the group.
    assert subjects[-1] == f"groups on {owner.queue}"
    assert owner.on_queue(owner.status_queue("put"))[-1].data == b"damaged"


def test_a_lost_record_and_its_group_are_one_finding_and_come_first(owner, doctor):
    owner.interrupt_put(THIS[:4])
    owner.qmgr.close()
    owner.take_record("put")
    result, found = doctor()
    subjects = [each["subject"] for each in found]
    assert (result.exit_code, subjects[0], found[0]["severity"]) == (ERROR, f"groups on {owner.queue}", "error")
    assert found[0]["remedy"].startswith(f"if {owner.name} put group")
    assert f"status queue {owner.status_queue('put')}" not in subjects
    order = ["error", "warning", "not seen", "ok"]
    assert [each["severity"] for each in found] == sorted((each["severity"] for each in found), key=order.index)
    # Without its group, it is a finding of its own.
    owner.empty()
    assert f"status queue {owner.status_queue('put')}" in problems(doctor()[1])


def test_a_status_queue_whose_owner_is_not_known_has_a_remedy_without_a_made_up_name(owner, doctor):
    owner.put_raw(b"damaged")
    _, found = doctor("--status-queue", owner.queue)
    (remedy,) = (each["remedy"] for each in found if each["subject"] == f"status queue {owner.queue}")
    assert remedy == f"mqgroups check NAME --role ROLE --status-queue {owner.queue}"


def test_what_a_spark_sink_has_left_goes_when_its_batch_is_run_again(batches, doctor):
    assert batches.attempt().put_group("A", messages("A", 3)) == 3
    _, found = doctor("--status-queue", batches.status_queue, queue=batches.queue)
    remedies = {each["remedy"] for each in found if each["subject"] == f"status queue {batches.status_queue}"}
    assert remedies == {
        f"run the Spark query or job again that has the status queue {batches.status_queue}: it completes its batch"
    }


@pytest.fixture
def poisoned(make_owner):
    """An owner whose queue has BOTHRESH(2) and the backout queue TEST.BACKOUT, which is empty before and after."""
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    owner.put_raw_group(THIS)
    assert owner.on_queue("TEST.BACKOUT") == []
    yield owner
    owner.empty("TEST.BACKOUT")


@pytest.mark.parametrize(("bad", "commit_every"), [(5, 2), (1, 20)])
def test_a_group_whose_consumer_halts_at_poison_is_not_said_to_be_resumed_by_a_start(
    poisoned, doctor, bad, commit_every
):
    for _ in range(4):
        stopped = contextlib.suppress(ZeroDivisionError, errors.PoisonMessage)
        with stopped, poisoned.consumer(commit_every=commit_every) as consumer:
            for message in next(iter(consumer)):
                if message.msg_seq_number == bad:
                    raise ZeroDivisionError
    result, found = doctor(queue=poisoned.queue)
    said = [each for each in found if each["subject"] == f"groups on {poisoned.queue}"]
    assert [each["found"] for each in said] == [
        "1 group: a message's backout count has reached BOTHRESH",
        "0 groups in order or at work",
    ]
    assert (result.exit_code, said[0]["severity"], "PoisonMessage" in said[0]["why"]) == (DONE, "warning", True)
    assert "poison='quarantine'" in said[0]["remedy"]


def test_messages_on_the_backout_queue_are_a_warning(poisoned, doctor):
    subject = "backout queue TEST.BACKOUT: messages"
    assert subject not in problems(doctor(queue=poisoned.queue)[1], "warning")
    poisoned.put_raw(b"poison", "TEST.BACKOUT")
    result, found = doctor(queue=poisoned.queue)
    (said,) = (each for each in found if each["subject"] == subject)
    assert (result.exit_code, said["severity"], said["found"]) == (DONE, "warning", "1 there")
    assert said["remedy"] == "mqgroups groups --queue TEST.BACKOUT"


def test_a_backout_queue_for_shorter_messages_only_is_a_warning(poisoned, doctor):
    connection = connection_of(poisoned.qmgr)
    before = inquired(connection, "TEST.BACKOUT", ("MAXMSGL",))[0]["MAXMSGL"]
    alter = PCFClient(connection).run
    subject = "queue TEST.BACKOUT: MAXMSGL"
    assert subject not in problems(doctor(queue=poisoned.queue)[1], "warning")
    assert alter("ALTER QLOCAL('TEST.BACKOUT') MAXMSGL(1000)")[0]
    try:
        _, found = doctor(queue=poisoned.queue)
    finally:
        assert alter(f"ALTER QLOCAL('TEST.BACKOUT') MAXMSGL({before})")[0]
    (said,) = (each for each in found if each["subject"] == subject)
    assert (said["severity"], said["why"]) == ("warning", "longer messages of its queue are refused (2030)")


def test_a_running_owner_is_not_disturbed(owner, doctor):
    group = owner.open_group(THIS[:5])
    _, found = doctor("--name", owner.name, "--role", "put")
    assert problems(found) == set()
    owner.put_all(group, THIS[5:])
    group.__exit__(None, None, None)
    assert owner.data() == THIS


def test_a_queue_that_does_not_exist_is_an_error(doctor):
    _, found = doctor("--role", "put", queue="NO.SUCH.QUEUE")
    assert problems(found) == {"queue NO.SUCH.QUEUE: attributes"}


@pytest.mark.embedded
def test_behind_an_alias_the_queue_that_it_names_is_checked(doctor):
    _, found = doctor(queue="TEST.ALIAS")
    said = {each["subject"]: each["found"] for each in found}
    assert said["queue TEST.ALIAS"] == "an alias of TEST.BASE"
    assert said["alias TEST.ALIAS: PUT"] == "PUT(ENABLED)"
    assert said["queue TEST.BASE: BOTHRESH, BOQNAME"] == "BOTHRESH(0)"


@pytest.mark.embedded
def test_a_status_queue_that_is_an_alias_is_an_error_like_others(owner, doctor):
    _, found = doctor("--name", owner.name, "--role", "put", "--status-queue", "TEST.ALIAS")
    (said,) = (each["found"] for each in found if each["severity"] == "error" and "TEST.ALIAS" in each["subject"])
    assert "TEST.ALIAS is an alias" in said


def test_a_user_who_may_not_ask_the_command_server_is_told_what_is_missing(owner, doctor, monkeypatch):
    monkeypatch.setattr(mqgroups.operate.command_server, "_COMMAND_QUEUE", "NO.SUCH.QUEUE")
    put(owner, A, 2)
    result, found = doctor()
    # A cron job must not take it for "nothing is wrong".
    assert result.exit_code == NOT_SEEN
    (unseen,) = (each for each in found if each["subject"] == "command server")
    assert unseen["severity"] == "not seen"
    assert "SYSTEM.ADMIN.COMMAND.QUEUE" in unseen["remedy"] + "".join(unseen["mqsc"])
    # Its consumer may be at work: nobody has seen its record.
    group = next(each for each in found if each["subject"] == f"groups on {owner.queue}")
    assert (group["severity"], group["found"]) == ("warning", f"1 group: {Cause.BEGINNING_UNSEEN.value}")
    assert "--status-queue MQGROUPS.GET.NAME" in group["remedy"]


def test_the_record_of_the_owner_that_is_named_counts_without_the_command_server(owner, doctor, monkeypatch):
    monkeypatch.setattr(mqgroups.operate.command_server, "_COMMAND_QUEUE", "NO.SUCH.QUEUE")
    owner.interrupt_get(of=THIS)
    owner.qmgr.close()
    for named in (("--name", owner.name, "--role", "get"), ("--status-queue", owner.status_queue("get"))):
        said = {(each["subject"], each["found"]) for each in doctor(*named)[1]}
        assert (f"groups on {owner.queue}", f"1 group: {Cause.STOPPED.value}") in said
        assert ("status queues", "1 seen, none in disarray") in said
    # One that is not there yet is no finding.
    said = {(each["subject"], each["found"]) for each in doctor("--name", owner.name, "--role", "put")[1]}
    assert ("status queues", "1 seen, none in disarray") in said
    assert not any(owner.status_queue("put") in found and "MQRC_UNKNOWN_OBJECT_NAME" in found for _, found in said)


@pytest.mark.parametrize(
    ("variables", "remedy"),
    [
        ({"MQGROUPS_CONN_NAME": "127.0.0.1(1)"}, "check the connection name"),
        ({"MQGROUPS_Q_MGR_NAME": "NOBODY"}, "correct the name"),
        ({"MQGROUPS_CHANNEL": "NO.SUCH.CHANNEL"}, "Define the server-connection channel"),
    ],
)
def test_a_connection_that_fails_is_a_finding_after_those_on_this_machine(doctor, variables, remedy):
    result, found = doctor(**variables)
    assert (result.exit_code, found[0]["subject"]) == (ERROR, "connection")
    assert remedy in found[0]["found"]
    assert {"binding", "client library"} <= {each["subject"] for each in found}


def test_options_that_make_no_sense_together_are_refused(doctor):
    assert doctor("--name", "N")[0].exit_code == USAGE
    assert doctor("--status-queue", "S", "--queue", "not a name")[0].exit_code == USAGE


@pytest.mark.usefixtures("mq")  # which has loaded the client library
def test_variables_of_the_mq_client_are_shown():
    found = {each.subject: each.found for each in machine_findings({"MQCLNTCF": "/no/such"})}
    assert found["MQ variables"] == "MQCLNTCF=/no/such"

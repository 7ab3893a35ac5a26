"""The remedies that commands print, carried out as they are written: afterwards nothing is lost, and nothing is there twice."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest

from embedded_tests.fix_mqi import OK
from mqgroups.cli import doctor as cli_doctor
from mqgroups.mqi import constants as mq
from tests.fix_cli import environment, invoke
from tests.operate.lost_records import LAST, THIS, A, assert_whole, interrupt_get, lose, put, rest, resume_put

DONE, FAILED = 0, 1


@pytest.fixture
def away(make_queue):
    """Where groups are moved."""
    return make_queue()


@pytest.fixture
def doctor(owner):
    """A function that returns what the command finds wrong with the groups on the queue, and with their owners."""

    def run(*arguments, queue=None):
        command = ["doctor", "-o", "json", "--queue", queue or owner.queue, "--wait", "0", *arguments]
        found = json.loads(invoke(*command, **environment(owner.target)).stdout)["findings"]
        about = re.compile("(groups on|producer|consumer|pipe) ")
        return [each for each in found if about.match(each["subject"]) and each["severity"] != "ok"]

    return run


def lines(found):
    """Return the lines of the remedies."""
    return [line for each in found for line in each["remedy"].splitlines()]


@pytest.fixture
def carry_out(owner, away):
    """A function that carries out lines of a remedy, as an operator does who fills in the words in capitals."""

    def run(given):
        said = ""
        for line in given:
            if cleared := re.search(r"CLEAR QLOCAL\('(.*?)'\)", line.replace("\n", " ")):
                owner.empty(cleared[1])
            if line.startswith("mqgroups salvage"):
                words = line.replace(" NAME", f" {owner.name}").replace(" QUEUE", f" {away}").split()[1:]
                words += [] if "--apply" in words else ["--apply"]
                result = invoke(*words, "--wait", "0", **environment(owner.target))
                assert result.exit_code == DONE, result.output
                said += result.output
                # Only a pipe has another one.
                run(re.findall(r"CLEAR QLOCAL\('.*?'\)", result.output)[:1])
        return said

    return run


def lose_put_record(owner):
    owner.interrupt_put(THIS[:5])
    owner.qmgr.close()
    lose(owner, "put")


def restore_older_record(owner):
    """Leave the record of messages 1 and 2, and put 3 and 4: as if the status queue were that of a backup."""
    owner.interrupt_put(THIS[:3])
    owner.qmgr.close()
    put(owner, owner.on_queue()[0].group_id, 3, 4)


def lose_last_message(owner):
    owner.interrupt_put(THIS[:5])
    owner.qmgr.close()
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    assert handle.get(match=mq.MQMO_MATCH_MSG_ID, MsgId=owner.on_queue()[-1].md.MsgId).code == OK
    handle.close()


@pytest.mark.parametrize(
    ("damage", "way"),
    [
        (lose_put_record, "rebuild"),
        (lose_put_record, "move"),
        (restore_older_record, "rebuild"),
        (lose_last_message, "rebuild"),
    ],
)
def test_a_producer_is_not_to_be_started_before_the_remedy_and_then_puts_each_message_once(
    owner, doctor, carry_out, damage, way
):
    def check(*more):
        command = ["check", owner.name, "--role", "put", "--queue", owner.queue, "--wait", "0", *more]
        return invoke(*command, **environment(owner.target))

    damage(owner)
    found = doctor()
    assert not any(line.startswith("start ") for line in lines(found)), found
    refused = check()
    assert (refused.exit_code, "do NOT start it yet" in refused.output) == (FAILED, True)
    assert "clean" not in refused.output
    of_check = json.loads(check("-o", "json").stdout)["owners"][0]["contradictions"]
    for remedy in (lines(found), lines(of_check)):
        assert [line for line in remedy if way in line]
    said = carry_out([line for line in lines(of_check) if way in line or "CLEAR" in line])
    assert ("the record has no checkpoint" in said) is (way == "rebuild")
    assert check().exit_code == DONE
    resume_put(owner, THIS)
    assert_whole(owner, THIS)


def test_a_group_without_a_record_may_be_of_a_program_without_records_which_goes_on(owner, doctor):
    put(owner, A, 1, 2)
    (found,) = doctor()
    assert found["found"].startswith("1 group without an end")
    assert "If another program puts them" in found["why"]
    shown = invoke("groups", "--queue", owner.queue, "--only", "no-record", **environment(owner.target))
    assert (found["why"] in shown.stderr, A.hex()[-12:] in shown.stdout) == (True, True)
    accepted = ["check", owner.name, "--role", "put", "--queue", owner.queue, "--wait", "0", "--accept", "no-record"]
    assert invoke(*accepted, **environment(owner.target)).exit_code == DONE
    put(owner, A, 3, flags=LAST)
    assert doctor() == []


def test_a_group_that_a_consumer_has_begun_can_lack_the_record_of_its_producer_too(owner, doctor, carry_out):
    owner.interrupt_put(THIS)
    interrupt_get(owner, committed=2)
    owner.qmgr.close()
    lose(owner, "put")
    found = doctor()
    assert not any(line.startswith("start ") for line in lines(found)), found
    (rebuild,) = (line for line in lines(found) if line.startswith("mqgroups salvage"))
    # Its refusal says what has to be known first.
    carry_out([f"{rebuild} --accept begun"])
    resume_put(owner, THIS)
    assert rest(owner) == [(number, b"%d" % number) for number in range(3, 8)]


def test_a_producer_that_is_not_at_work_is_to_be_started(owner, doctor):
    owner.interrupt_put(THIS[:5])
    owner.qmgr.close()
    assert lines(doctor())[0].startswith(f"start put {owner.name}: ")
    resume_put(owner, THIS)
    assert_whole(owner, THIS)


def test_a_consumer_that_hangs_is_not_to_be_started_again(owner, doctor, monkeypatch):
    monkeypatch.setattr(cli_doctor, "STALLED_AFTER", timedelta(0))
    owner.put_group(THIS)
    hangs = iter(next(iter(owner.consumer())))
    for _ in range(3):
        next(hangs)
    said = lines(doctor())
    assert said[0].startswith(f"do not start get {owner.name} again")
    assert not any(line.startswith("start ") for line in said)


def test_a_gap_behind_what_a_consumer_has_committed_is_not_ended_by_a_start(owner, doctor, carry_out, away):
    owner.put_raw_group(THIS)
    interrupt_get(owner, committed=2)
    owner.qmgr.close()
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    assert [handle.get(match=mq.MQMO_MATCH_MSG_SEQ_NUMBER, MsgSeqNumber=number).code for number in (3, 4)] == [OK, OK]
    handle.close()
    found = doctor()
    assert {each["subject"] for each in found} == {f"groups on {owner.queue}", f"consumer {owner.name}"}
    assert not any(line.startswith("start ") for line in lines(found))
    # The move says that the record of the consumer has to go too.
    carry_out([line for line in lines(found) if "move" in line])
    assert owner.data(away) == THIS[4:]
    owner.put_group([b"next"])
    assert rest(owner) == [(1, b"next")]


@pytest.mark.parametrize("asked", ["source", "target"])
def test_a_pipe_that_has_lost_a_record_is_not_to_be_started(owner, doctor, carry_out, make_queue, asked):
    target = make_queue()
    owner.put_raw_group(THIS)

    def run(die_at=0):
        q_mgr = owner.connect()
        with q_mgr.group_pipe(owner.queue, target, name=owner.name, commit_every=2, wait_s=0, owner_wait_s=0) as pipe:
            for incoming, outgoing in pipe:
                for message in incoming:
                    if message.msg_seq_number == die_at:
                        return q_mgr.close()
                    outgoing.put(message.data)
        return None

    run(die_at=6)
    lose(owner, "put")
    found = doctor(queue=target if asked == "target" else None)
    assert not any(line.startswith(f"start put {owner.name}") for line in lines(found))
    if asked == "source":
        assert f"pipe {owner.name}" in {each["subject"] for each in found}
        assert f"mqgroups check {owner.name}" in lines(found)
        found = doctor(queue=target)
    carry_out([line for line in lines(found) if "rebuild" in line])
    run()
    assert_whole(owner, THIS, target)

"""Each trouble, role, with and without command server: the remedy is carried out as printed, and the result is whole.

Or the remedy says that it cannot be: then nothing is lost that was still there, and the next group is not kept waiting.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest

import mqgroups.operate.command_server
from embedded_tests.fix_mqi import OK
from mqembedded import constants as mqi
from mqgroups import errors
from mqgroups.core.status import decode, encode
from mqgroups.operate.rules.judgement import Cause
from tests.fix_cli import environment, invoke
from tests.operate.lost_records import A, put
from tests.operate.night import THIS, Scene, as_if_minutes_had_passed

LOST = ("record is lost", "is a pipe")
NOWHERE = ("nowhere", "does not come", "nobody puts")
TWICE = ("put messages twice", *NOWHERE)
_KEPT = ("MsgId", "CorrelId", "GroupId", "MsgSeqNumber", "Offset", "MsgFlags", "Persistence", "Format", "Encoding",
         "CodedCharSetId", "UserIdentifier", "PutApplName", "PutDate", "PutTime")  # fmt: skip


@pytest.fixture(params=["asks", "unasked"])
def scene(request, make_owner, make_queue, monkeypatch):
    """A function that makes a scene for a role; with a command server, or without."""
    as_if_minutes_had_passed(monkeypatch)
    if request.param == "unasked":
        monkeypatch.setattr(mqgroups.operate.command_server, "_COMMAND_QUEUE", "NO.SUCH.QUEUE")

    def make(role, model=None):
        return Scene(make_owner(model=model), role, make_queue, asks=request.param == "asks")

    return make


def copy_record(at, user=b""):
    """Copy what is on the status queue, as a restore does; or as somebody who is allowed to put there."""
    for each in at.owner.on_queue(at.owner.status_queue(at.role)):
        put_as(at.owner, at.owner.status_queue(at.role), each, user)


def change_user(at):
    """Put what is on the status queue as another user."""
    before = at.owner.on_queue(at.owner.status_queue(at.role))
    at.lose()
    for each in before:
        put_as(at.owner, at.owner.status_queue(at.role), each, b"night")


MENDED = {
    "all records are lost": (("put", "get", "pipe"), lambda at: at.lose(), LOST),
    "a record is lost and its anchor is left": (("put", "get"), lambda at: at.owner.take_record(at.role), LOST),
    "a program is not at work": (("put", "get", "pipe"), lambda _: None, ("is not:",)),
    "a record is there twice": (("put", "get"), copy_record, ("was interrupted",)),
    "another user has forged a record": (("put", "get"), lambda at: copy_record(at, b"eve"), ("was interrupted",)),
    "a record is of another user": (("put", "get"), change_user, ("is not:",)),
}


@pytest.mark.parametrize("trouble", [each.replace(" ", "_") for each in MENDED])
def test_a_group_is_whole_after_the_remedy_where(scene, trouble):
    roles, make_trouble, remedies = MENDED[trouble.replace("_", " ")]
    for role in roles:
        at = scene(role).interrupt()
        make_trouble(at)
        at.mend(*remedies)
        at.is_whole()


# --- records that are lost


def test_the_record_of_a_complete_group_is_lost(scene):
    at = scene("get").interrupt(len(THIS))
    at.owner.take_record("get")
    at.mend("not complete is its own")
    at.is_whole()
    assert at.owner.on_queue(at.owner.status_queue("get")) == []


def test_one_record_of_a_pipe_is_lost(scene):
    for side, keeps_anchor in itertools.product(("put", "get"), (False, True)):
        at = scene("pipe").interrupt()
        if keeps_anchor:
            at.owner.take_record(side)
        else:
            at.lose(side)
        at.mend(*LOST)
        at.is_whole()


def test_a_record_is_older_than_the_messages_or_newer(scene):
    older, newer = scene("put").interrupt(2), scene("put").interrupt()
    older.again(older.target, 3, 4)
    newer.take(newer.target, 4)
    for at in (older, newer):
        at.mend(*NOWHERE)
        at.is_whole()


def test_a_producer_whose_record_is_lost_may_begin_its_group_again(scene):
    at = scene("put").interrupt()
    at.lose()
    at.mend("begins the group again")
    at.start()
    at.is_whole()


@pytest.mark.parametrize("recorded", [2, 6], ids=["older", "newer"])
def test_two_records_contradict_each_other_and_no_message_is_there(scene, recorded):
    at = scene("put").interrupt(6)
    at.owner.interrupt_get(4)
    before = at.owner.on_queue(at.owner.status_queue("put"))
    at.lose()
    for each in before:
        record = decode(each.data)
        changed = replace(record, msg_seq_number=recorded) if record.is_needed else record
        put_as(at.owner, at.owner.status_queue("put"), replace(each, data=encode(changed)))
    at.owner.empty()
    command = ["check", at.owner.name, "--role", "put", "--queue", at.target, "--wait", "0"]
    # Without a command server, it does not see the consumer's record.
    assert (invoke(*command, **environment(at.owner.target)).exit_code == 1) == at.asks
    at.mend(*NOWHERE)
    at.is_whole()
    assert not any(
        line.startswith("start") for line in at.said[: at.said.index(f"undo what {at.owner.name} did with the group")]
    )
    # What its consumer did was undone.
    assert at.owner.get_groups() == [THIS]


def test_check_refuses_a_start_that_would_put_messages_twice_until_the_remedy(scene):
    lost, older, newer = scene("put").interrupt(), scene("put").interrupt(2), scene("put").interrupt()
    lost.lose()
    older.again(older.target, 3, 4)
    newer.take(newer.target, 4)
    for at in (lost, older, newer):
        command = ["check", at.owner.name, "--role", "put", "--queue", at.target, "--wait", "0"]
        if at.asks or at is not lost:
            refused = invoke(*command, **environment(at.owner.target))
            assert (refused.exit_code, "do NOT start it yet" in refused.output) == (1, True)
        at.mend(*LOST, *NOWHERE)
        assert invoke(*command, **environment(at.owner.target)).exit_code == 0


def test_of_two_lost_records_each_is_rebuilt_for_its_own_group(scene, make_owner):
    one = scene("put").interrupt()
    other = Scene(make_owner(queue=one.target), "put", lambda: one.away, asks=one.asks)
    other.owner.interrupt_put(THIS[:3])
    first, second = {each.group_id: None for each in one.owner.on_queue()}
    for at in (one, other):
        at.owner.take_record("put")
    if one.asks:
        elsewhere = make_owner()
        elsewhere.interrupt_put(THIS[:5])
        elsewhere.take_record("put")
        assert not any(elsewhere.name in line for each in one.looks(one.target) for line in each["remedy"].splitlines())
    ways = {at: f"if {at.owner.name} put group {each.hex()[-12:]}" for at, each in ((one, first), (other, second))}
    for at in (one, other, one):
        for finding in at.looks(one.target):
            if ways[at] in finding["remedy"]:
                assert at.carry_out(finding, [ways[at]], {one.target})
    for group_id in (first, second):
        found = [each.data for each in one.owner.on_queue() if each.group_id == group_id]
        assert found == THIS


def test_a_status_queue_of_another_queue_that_cannot_be_read_gets_no_group_of_this_one(scene, make_owner):
    at, other = scene("put").interrupt(), make_owner()
    other.resume_put(THIS)
    other.put_raw(b"hello", other.status_queue("put"))
    at.owner.take_record("put")
    at.elsewhere = {other.name: other.queue}
    for each in at.looks(at.target):
        assert not re.search(rf"--name {other.name} .*--queue {at.target}", each["remedy"])
    at.mend(*LOST, "none was")
    at.is_whole()
    if not at.asks:
        # Nobody lists it.
        other.empty(other.status_queue("put"))
    other.resume_put([b"next"])
    assert other.data() == [*THIS, b"next"]


# --- programs


def test_a_program_hangs(scene):
    for role in ("put", "get", "pipe"):
        at = scene(role)
        at.hang()
        at.mend("hangs", "is not:")
        at.is_whole()


# --- messages


def test_messages_are_missing_behind_what_is_committed(scene):
    for role, numbers in itertools.product(("get", "pipe"), ((5, 6), (6,))):
        at = scene(role).interrupt()
        at.take(at.source, *numbers)
        at.mend(*NOWHERE)
        at.is_apart(*(b"%d" % number for number in numbers))


def test_messages_are_missing_before_what_is_committed(scene):
    for role in ("put", "pipe"):
        at = scene(role).interrupt()
        at.take(at.target, 2)
        at.mend(*NOWHERE, "is not:")
        at.is_apart(*([b"2"] if role == "put" else []))


def test_a_group_has_no_beginning(scene):
    for role in ("put", "get"):
        at = scene(role)
        if role == "put":
            at.interrupt()
        else:
            at.owner.put_raw_group(THIS)
        at.take(at.source, 1)
        at.mend(*NOWHERE)
        at.is_apart(b"1")


def test_a_group_has_no_end(scene):
    for role, is_begun in (("get", False), ("get", True), ("pipe", True)):
        at = scene(role)
        put(at.owner, A, *range(1, 6))
        if is_begun:
            at.interrupt(2)
        at.mend(*NOWHERE)
        at.is_apart(b"6", b"7")


def test_messages_are_there_twice(scene):
    for role, is_begun in (("put", True), ("get", False), ("get", True), ("pipe", True)):
        at = scene(role)
        if is_begun:
            at.interrupt(2)
        else:
            at.owner.put_raw_group(THIS)
        at.again(at.source, 2 if role == "put" else 6)
        at.mend(*TWICE)
        at.is_apart()


def test_messages_that_were_got_are_there_again(scene):
    for role in ("get", "pipe"):
        at = scene(role).interrupt()
        at.again(at.source, 1, 2)
        at.mend("program's owner")
        assert at.got == THIS
        at.is_apart()


def test_messages_that_were_got_are_there_again_and_nobody_can_change_the_program(scene):
    for role in ("get", "pipe"):
        at = scene(role).interrupt()
        at.again(at.source, 1, 2)
        at.mend("nobody can change")
        assert at.got == THIS[:4]
        at.is_apart()


def test_messages_follow_the_last_one(scene):
    at = scene("get")
    at.owner.put_raw_group(THIS)
    at.again(at.source, 8)
    at.mend(*TWICE)
    assert at.owner.data(at.away) == [*THIS, b"8"]


def test_a_queue_is_cleared_or_all_messages_have_expired(scene):
    for role in ("put", "get", "pipe"):
        at = scene(role).interrupt()
        at.owner.empty(at.source)
        at.mend(*NOWHERE)
        if role == "put":
            at.is_whole()
        else:
            at.is_apart(*THIS[4:])


def test_the_queue_that_a_pipe_puts_to_is_cleared(scene):
    at = scene("pipe").interrupt()
    at.owner.empty(at.target)
    at.mend(*NOWHERE, "is not:")
    at.is_apart()


@pytest.mark.parametrize(("way", "starts"), [("corrected", 3), ("corrected", 4), ("cannot be processed", 4)])
def test_a_message_is_poison(scene, way, starts):
    at = scene("get", model="TEST.BACKOUT.MODEL")
    at.owner.put_raw_group(THIS)
    at.refuses = 5
    for _ in range(starts):
        with contextlib.suppress(ZeroDivisionError, errors.PoisonMessage):
            at.start()
            # What was not committed is processed again.
    at.got = THIS[:4]
    if way == "corrected":
        at.refuses = 0
    at.mend(way)
    if way == "corrected":
        at.is_whole()
    else:
        assert sorted({*at.got, *at.owner.data("TEST.BACKOUT")}) == THIS
    at.owner.empty("TEST.BACKOUT")


# --- queues


def test_a_queue_was_renamed_within_a_group(scene, make_queue):
    for role, way in itertools.product(("put", "get"), ("from now on", "if they work with")):
        at = scene(role).interrupt()
        old, new = at.source, make_queue()
        for each in at.owner.on_queue(old):
            put_as(at.owner, new, each)
        at.owner.empty(old)
        at.source = at.target = new
        if way == "from now on":
            at.owner.queue = new
        at.mend(way)
        at.source = at.target = at.owner.queue
        at.is_whole()


@pytest.mark.parametrize("role", ["put", "get"])
def test_an_alias_was_changed_within_a_group(scene, make_queue, role):
    at = scene(role)
    base, alias = at.source, f"{at.source[:40]}.ALIAS"
    at.mqsc(f"DEFINE QALIAS('{alias}') TARGET('{base}')")
    at.owner.queue = alias
    at.interrupt()
    at.mqsc(f"ALTER QALIAS('{alias}') TARGET('{make_queue()}')")
    # The record of a consumer does not say where its group is.
    at.source = at.target = alias if role == "put" else base
    if role == "put":
        command = ["check", at.owner.name, "--role", "put", "--queue", alias, "--wait", "0"]
        assert invoke(*command, **environment(at.owner.target)).exit_code == 1
    at.mend("if they work with")
    at.source = at.target = base
    at.is_whole()
    at.mqsc(f"DELETE QALIAS('{alias}')")


# --- status queues


def test_a_record_is_damaged_or_something_else_is_beside_it(scene):
    for role, beside in itertools.product(("put", "get"), (True, False)):
        at = scene(role).interrupt()
        if not beside:
            at.lose()
        at.owner.put_raw(b"\x00\xff", at.owner.status_queue(role))
        at.mend("was interrupted")
        at.is_whole()


def test_two_owners_have_a_record_of_one_group(scene, make_owner):
    for role in ("put", "get"):
        at = scene(role).interrupt()
        other = make_owner(queue=at.owner.queue)
        other.start(role).close()
        for each in at.owner.on_queue(at.owner.status_queue(role)):
            others = encode(replace(decode(each.data), name=other.name))
            put_as(at.owner, other.status_queue(role), replace(each, data=others))
        if not at.asks:
            continue
        at.mend(f"only {role} {at.owner.name} ", "is not:")
        at.is_whole()


def put_as(owner, queue, message, user=b""):
    """Put a message with its identifiers and context, or as this user."""
    handle = owner.eye.open(queue, mqi.MQOO_OUTPUT | mqi.MQOO_SET_ALL_CONTEXT)
    fields = {name: getattr(message.md, name) for name in _KEPT}
    if user:
        fields["UserIdentifier"] = user
    assert handle.put(message.data, mqi.MQPMO_SET_ALL_CONTEXT, **fields).code == OK
    handle.close()


# --- the page


def test_the_page_has_the_causes_as_the_judgement_has_them():
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "night.md").read_text()
    rows = [f"| {cause.state.value} | {cause.value} | {cause.danger} |" for cause in Cause]
    assert "\n".join(rows) in page

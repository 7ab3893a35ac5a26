"""Each trouble, role, with and without command server: the remedy is carried out as printed, and the result is whole.

Or the remedy says that it cannot be: then nothing is lost that was still there, and the next group is not kept waiting.

Not here: what mqembedded has not (STOP CMDSERV, MOVE QLOCAL, MFT); a cluster's stopped channels, which need three queue
managers; a queue manager that was restored as a whole, which nobody can know; groups and owners by the thousand, which are the
same troubles; and an interrupted command (``tests/faults``).
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest

import mqgroups
from embedded_tests.fix_mqi import OK
from mqembedded import constants as mqi
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.connection.holder import connection_of
from mqgroups.core.status import decode, encode
from mqgroups.errors import OwnerActive
from mqgroups.operate.command_server import PCFClient
from mqgroups.operate.rules.judgement import Cause
from tests.operate.lost_records import A, put
from tests.operate.night import PASSWORD, THIS, USERS, House, Scene, as_if_minutes_had_passed
from tests.operate.programs import programs

pytestmark = pytest.mark.embedded
# What doctor would say of the queue manager itself.
QUIET = """
ALTER QMGR DEADQ('SYSTEM.DEAD.LETTER.QUEUE') MAXUMSGS(10000)
DEFINE CHANNEL('DEV.APP.SVRCONN') CHLTYPE(SVRCONN) TRPTYPE(TCP) HBINT(10) REPLACE
"""

LOST = ("record is lost", "is a pipe")
NOWHERE = ("nowhere", "does not come", "nobody puts")
TWICE = ("put messages twice", *NOWHERE)
_KEPT = ("MsgId", "CorrelId", "GroupId", "MsgSeqNumber", "Offset", "MsgFlags", "Persistence", "Format", "Encoding",
         "CodedCharSetId", "UserIdentifier", "PutApplName", "PutDate", "PutTime")  # fmt: skip


@pytest.fixture(scope="module")
def running(module_queue_manager, binding):
    server = module_queue_manager(QUIET, "PROD1", log_level="ERROR", users=dict.fromkeys(USERS, PASSWORD))
    with programs(server.environment(), binding.__name__) as run:
        yield server, run, set()


@pytest.fixture
def house(running, connect):
    """The queue manager, with its users."""
    server, run, granted = running
    with mqgroups.connect(server.q_mgr_name, server.channel, server.conn_name) as administrator:
        client = PCFClient(connection_of(administrator))
        yield House(server, lambda: connect(server), run, client, granted)


@pytest.fixture(params=["asks", "unasked"])
def scene(request, house, monkeypatch, binding):
    """A function that makes a scene for a role, with an operator who may ask the command server, or who may not."""
    as_if_minutes_had_passed(monkeypatch)
    monkeypatch.setenv("MQGROUPS_MQI", binding.__name__)
    scenes = []

    def make(role, **more):
        made = Scene(house, role, asks=request.param == "asks", **more)
        scenes.append(made)
        return made

    yield make
    for each in scenes:
        for one in (each, *each.fellows):
            one.end()
            one.owner.close()


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
    at.mend("incomplete groups is its own")
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
    at.is_put()


@pytest.mark.parametrize("recorded", [2, 6], ids=["older", "newer"])
def test_two_records_contradict_each_other_and_no_message_is_there(scene, recorded):
    at = scene("put").interrupt(6)
    sink = at.fellow("get").interrupt(4)
    before = at.owner.on_queue(at.owner.status_queue("put"))
    at.lose()
    for each in before:
        record = decode(each.data)
        changed = replace(record, msg_seq_number=recorded) if record.is_needed else record
        put_as(at.owner, at.owner.status_queue("put"), replace(each, data=encode(changed)))
    at.owner.empty()
    command = ["check", at.owner.name, "--role", "put", "--queue", at.target]
    # Without the command server, it does not see the consumer's record.
    assert at.command(*command).exit_code == (ExitCode.FAILED if at.asks else ExitCode.NOT_SEEN)
    if not at.asks:
        assert at.command(*command, "--accept", "consumer").exit_code == 0
        return
    at.mend(*NOWHERE)
    at.is_whole()
    undone = next(at.said.index(line) for line in at.said if line.startswith(f"undo what {sink.owner.name} did with"))
    assert not any(line.startswith("start") for line in at.said[:undone])
    # What its consumer did was undone; it had waited for the group since.
    sink.start()
    assert sink.got == [*THIS[:4], *THIS]


def test_check_refuses_a_start_that_would_put_messages_twice_until_the_remedy(scene):
    lost, older, newer = scene("put").interrupt(), scene("put").interrupt(2), scene("put").interrupt()
    lost.lose()
    older.again(older.target, 3, 4)
    newer.take(newer.target, 4)
    for at in (lost, older, newer):
        command = ["check", at.owner.name, "--role", "put", "--queue", at.target]
        if at.asks or at is not lost:
            refused = at.command(*command)
            assert (refused.exit_code, "do NOT start it yet" in refused.output) == (1, True)
        at.mend(*LOST, *NOWHERE)
        assert at.command(*command).exit_code == 0


def test_of_two_lost_records_each_is_rebuilt_for_its_own_group(scene):
    one = scene("put").interrupt()
    other = one.fellow("put").interrupt(2)
    first, second = {each.group_id: None for each in one.owner.on_queue()}
    for at in (one, other):
        at.owner.take_record("put")
    if one.asks:
        elsewhere = scene("put").interrupt().owner
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


def test_a_status_queue_of_another_queue_that_cannot_be_read_gets_no_group_of_this_one(scene):
    at, program = scene("put").interrupt(), scene("put")
    program.start()
    other = program.owner
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
    assert program.start() == ""
    assert other.data() == [*THIS, *THIS]


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
        at.mend()
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
    at = scene("get")
    at.owner.put_raw_group(THIS)
    at.refuses = 5
    for _ in range(2 + starts):
        at.start()
    assert at.got == THIS[:4]
    if way == "corrected":
        at.refuses = 0
    at.mend(way)
    if way == "corrected":
        at.is_whole()
    else:
        at.is_apart()


# --- queues


def test_a_queue_was_renamed_within_a_group(scene):
    for role, way in itertools.product(("put", "get"), ("from now on", "if they work with")):
        at = scene(role).interrupt()
        old, new = at.source, at.another_queue()
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
def test_an_alias_was_changed_within_a_group(scene, role):
    at = scene(role)
    base, alias = at.source, f"{at.source[:40]}.ALIAS"
    at.house.mqsc(f"DEFINE QALIAS('{alias}') TARGET('{base}')")
    at.owner.queue = alias
    at.grant(alias)
    at.interrupt()
    at.house.mqsc(f"ALTER QALIAS('{alias}') TARGET('{at.another_queue()}')")
    # The record of a consumer does not say where its group is.
    at.source = at.target = alias if role == "put" else base
    if role == "put":
        command = ["check", at.owner.name, "--role", "put", "--queue", alias]
        assert at.command(*command).exit_code == 1
    at.mend("if they work with")
    at.source = at.target = base
    at.is_whole()
    at.house.mqsc(f"DELETE QALIAS('{alias}')")


# --- status queues


def test_a_record_is_damaged_or_something_else_is_beside_it(scene):
    for role, beside in itertools.product(("put", "get"), (True, False)):
        at = scene(role).interrupt()
        if not beside:
            at.lose()
        at.owner.put_raw(b"\x00\xff", at.owner.status_queue(role))
        at.mend("was interrupted")
        at.is_whole()


def test_two_owners_have_a_record_of_one_group(scene):
    for role in ("put", "get"):
        at = scene(role).interrupt()
        program = at.fellow(role)
        other = program.owner
        with other.connect(user=program.user, password=PASSWORD) as q_mgr:
            other.start(role, q_mgr).close()
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


# --- by hand, as they happen


def restored(at, begin=2, go_on=6):
    """Let the producer go on, and bring its record of before back, as from a backup."""
    at.interrupt(begin)
    backup = at.owner.on_queue(at.owner.status_queue("put"))
    at.interrupt(go_on)
    at.lose()
    for each in backup:
        put_as(at.owner, at.owner.status_queue("put"), each)


def test_a_queue_is_made_anew_under_a_producer_and_a_consumer(scene):
    at = scene("put").interrupt(4)
    sink = at.fellow("get").interrupt(2)
    at.house.mqsc(f"CLEAR QLOCAL('{at.source}')")
    if not at.asks:
        return
    at.mend(*NOWHERE)
    # All rows are put again; the consumer's first ones were undone by hand.
    assert (sink.start(), sink.got, at.owner.data()) == ("", [*THIS[:2], *THIS], [])


def test_a_producers_record_is_from_a_backup_and_its_messages_are_there(scene):
    at = scene("put")
    restored(at)
    at.mend(*NOWHERE)
    at.is_whole()


def test_a_producers_record_is_from_a_backup_and_a_consumer_has_got_more(scene):
    at = scene("put")
    restored(at)
    sink = at.fellow("get").interrupt(4)
    for number in (5, 6):
        at.take(at.source, number)
    if not at.asks:
        return
    at.mend(*NOWHERE)
    assert (sink.start(), sink.got, at.owner.data()) == ("", [*THIS[:4], *THIS], [])


def test_an_unload_and_load_has_lost_the_group_flags(scene):
    at = scene("get").interrupt()
    at.owner.empty()
    for data in THIS[4:]:
        at.owner.put_raw(data, Persistence=1)
    at.mend(*NOWHERE)
    assert (at.start(), at.got, at.owner.data()) == ("", THIS, [])


def test_the_beginning_of_an_interrupted_producers_group_is_gone(scene):
    at = scene("put").interrupt()
    at.take(at.target, 1, 2)
    at.mend(*NOWHERE)
    at.is_apart(b"1", b"2")


def test_the_end_of_a_complete_group_is_gone_and_its_producer_is_clean(scene):
    at = scene("put")
    at.start()
    at.take(at.target, 6, 7)
    at.mend("does not come")
    at.is_apart(b"6", b"7")
    # Its next group is one of its own.
    assert at.start() == ""
    at.is_put()


def test_a_tool_has_locked_a_message_by_browsing(scene):
    at = scene("get")
    at.owner.put_raw_group(THIS)
    tool = at.owner.eye.open(at.source, mqi.MQOO_BROWSE | mqi.MQOO_INPUT_SHARED)
    assert tool.get(mqi.MQGMO_BROWSE_FIRST | mqi.MQGMO_LOCK).code == OK
    if at.asks:
        (finding,) = at.looks(at.source)
        assert finding["remedy"].startswith("first end the program that has locked messages by browsing")
    tool.close()
    at.mend()
    assert at.start() == ""
    at.is_whole()


def test_messages_are_in_the_open_unit_of_work_of_another_program(scene):
    at = scene("get")
    at.owner.put_raw_group(THIS)
    at.owner.take(3, options=mqi.MQGMO_SYNCPOINT)
    if at.asks:
        assert at.looks(at.source) == []
    at.owner.eye.back_out()
    at.mend()
    assert at.start() == ""
    at.is_whole()


def test_the_backout_queue_has_no_room_for_the_rest_of_a_poisoned_group(scene):
    at = scene("get")
    at.owner.put_raw_group(THIS)
    at.refuses = 5
    for _ in range(6):
        at.start()
    at.house.mqsc(f"ALTER QLOCAL('{at.away}') MAXDEPTH(2)")
    at.mend("cannot be processed")
    at.is_apart()


def test_the_text_of_a_message_has_no_code_page(scene):
    at = scene("get")
    at.reads_text = True
    for number, data in enumerate(THIS, 1):
        flags = mqi.MQMF_LAST_MSG_IN_GROUP if number == len(THIS) else mqi.MQMF_MSG_IN_GROUP
        ccsid = 9999 if number == 5 else 1208
        at.owner.put_raw(
            data, GroupId=b"PARTNER".ljust(24, b"\0"), MsgSeqNumber=number, MsgFlags=flags, Persistence=1,
            Format=b"MQSTR   ", CodedCharSetId=ccsid,
        )  # fmt: skip
    for _ in range(6):
        assert at.start() in ("CcsidUnknown", "PoisonMessage")
    at.mend("cannot be processed")
    at.is_apart()


@pytest.mark.parametrize("attribute", ["PUT", "GET"])
def test_a_queue_is_disabled(scene, attribute):
    at = scene("put").interrupt() if attribute == "PUT" else scene("get").interrupt()
    at.house.mqsc(f"ALTER QLOCAL('{at.source}') {attribute}(DISABLED)")
    assert at.start() != ""
    at.mend("unless")
    at.is_whole()


@pytest.mark.parametrize("role", ["put", "get"])
def test_a_status_queue_is_disabled_for_puts(scene, role):
    at = scene(role).interrupt()
    at.house.mqsc(f"ALTER QLOCAL('{at.owner.status_queue(role)}') PUT(DISABLED)")
    refused = at.start()
    assert refused == "" or "ENABLED" in at.error[1], at.error
    if refused:
        at.house.mqsc(f"ALTER QLOCAL('{at.owner.status_queue(role)}') PUT(ENABLED)")
        at.mend("is not:")
    at.is_whole()


def test_two_deployments_have_one_name(scene):
    at = scene("put")
    at.hang()
    assert at.command("owners", at.owner.name).exit_code == 0
    with at.owner.connect(user=at.user, password=PASSWORD) as q_mgr, pytest.raises(OwnerActive):
        at.owner.producer(q_mgr).group()
    at.end()
    at.mend("is not:")
    at.is_whole()


def test_a_queue_is_full_within_a_group(scene):
    at = scene("put")
    at.house.mqsc(f"ALTER QLOCAL('{at.target}') MAXDEPTH(3)")
    assert at.start() != ""
    at.mend("is not:")
    at.is_whole()


def test_put_times_are_hours_ahead(scene):
    for role in ("put", "get"):
        at = scene(role).interrupt()
        there = at.owner.on_queue()
        at.owner.empty()
        for each in there:
            each.md.PutDate, each.md.PutTime = b"20991231", b"23595900"
            put_as(at.owner, at.source, each)
        at.mend("is not:")
        at.is_whole()


def test_another_owners_record_is_lost_and_stops_no_repair(scene):
    elsewhere, at = scene("put").interrupt(), scene("put").interrupt()
    elsewhere.owner.take_record("put")
    at.owner.take_record("put")
    for each in (at, elsewhere):
        each.mend(*LOST)
        each.is_whole()


def test_slips_of_an_operator_change_nothing(scene):
    at, other = scene("put").interrupt(), scene("put").interrupt(2)
    before = {each: (each.owner.data(), each.owner.records("put")) for each in (at, other)}
    group = at.owner.on_queue()[0].group_id.hex()
    move = ["salvage", "move", "--queue", at.target, "--group", group, "--apply", "--to"]
    rebuild = ["salvage", "rebuild", "--role", "put", "--apply", "--name"]
    for words in (
        [*move, "QUEUE"],
        [*move, at.target],
        [*move, other.owner.status_queue("put")],
        [*move, at.away],
        [*rebuild, at.owner.name, "--queue", other.target],
        [*rebuild, other.owner.name, "--queue", at.target],
        [*rebuild, at.owner.name.lower(), "--queue", at.target],
    ):
        assert at.command(*words).exit_code != 0, words
        assert {each: (each.owner.data(), each.owner.records("put")) for each in (at, other)} == before
    for each in (at, other):
        each.mend("is not:")
        each.is_whole()


# --- the page


def test_the_page_has_the_causes_as_the_judgement_has_them():
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "night.md").read_text()
    rows = [f"| {cause.state.value} | {cause.value} | {cause.danger} |" for cause in Cause]
    assert "\n".join(rows) in page

"""``mqgroups groups``: what it shows of each group, in every form, and what it leaves out when asked to."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import click
import pytest

import mqgroups.operate.command_server
from mqgroups import errors
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.mqi import constants as mq
from tests.fix_cli import environment, invoke
from tests.operate.lost_records import LAST, MIG, put

THIS = [b"%d" % number for number in range(1, 8)]
DONE, FAILED, USAGE = range(3)
A, B, C = b"A" * 24, b"B" * 24, b"C" * 24


@pytest.fixture
def groups(owner):
    """A function that runs the command on the owner's queue, and waits for nothing."""

    def run(*arguments, **variables):
        command = ["groups", "--queue", owner.queue, "--wait", "0", *arguments]
        return invoke(*command, **{**environment(owner.target), **variables})

    return run


@pytest.fixture
def states(groups):
    """A function that returns the states of the groups, by the last digits of their identifiers."""

    def run(*arguments):
        found = json.loads(groups("-o", "json", *arguments).stdout)["groups"]
        return {each["group_id"]: each["state"] for each in found}

    return run


def rows(text):
    """Return the lines of a table without padding and without ages."""
    return [" ".join(re.sub(r"\b\d+ s\b", "", line).split()) for line in text.splitlines()]


def test_each_group_is_shown_with_its_state_and_what_is_missing(owner, groups):
    owner.put_raw_group([b"one", b"two"])
    put(owner, A, 4, 6)
    owner.put_raw(b"in no group")
    whole = owner.on_queue()[0].group_id
    result = groups()
    assert (result.exit_code, result.stderr) == (DONE, "")
    lines = rows(result.stdout)
    # What needs attention comes first.
    assert lines[1].startswith(f"{A.decode()} gap 5 python 2 2 bytes 4 6 ")
    assert lines[2].startswith(f"{whole.hex()[-12:]} complete python 2 6 bytes 1 2 ")
    assert lines[3] == "2 groups: 1 complete, 1 gap; 8 bytes"
    assert "5 messages, 1 in no group" in lines[4]


def test_groups_have_their_names_in_every_form_for_so_many_groups(owner, groups, monkeypatch):
    for name in ("orders\x1b[2J", "invoices"):
        with owner.producer() as producer, producer.group(name=name) as group:
            group.put(b"1")
    put(owner, A, 1, flags=LAST)
    result = groups()
    header, *lines = (line.split() for line in result.stdout.splitlines()[:4])
    assert (result.stderr, header[:3]) == ("", ["GroupId", "name", "state"])
    assert [line[1] for line in lines] == ["orders?[2J", "invoices", "complete"]
    told = json.loads(groups("-o", "json").stdout)
    assert [each["name"] for each in told["groups"]] == ["orders\x1b[2J", "invoices", ""]
    monkeypatch.setattr("mqgroups.cli.groups.MOST_ROWS", 1)
    some = json.loads(groups("-o", "json").stdout)
    assert [each["name"] for each in some["groups"]] == ["orders\x1b[2J", None, None]
    assert some["notes"] == ["the names of 2 groups were not looked up"]


def test_a_long_name_is_cut_for_people_and_whole_in_json(owner, groups):
    name = "n" * 30_000
    with owner.producer() as producer, producer.group(name=name) as group:
        group.put(b"1")
    result = groups()
    assert (len(result.stdout) < 1000, f"{'n' * 97}..." in "".join(re.findall(r"n+\.*", result.stdout))) == (True, True)
    assert json.loads(groups("-o", "json").stdout)["groups"][0]["name"] == name


def test_what_an_owner_of_a_group_does_decides_its_state(owner, make_owner, states, monkeypatch):
    getter, putter, at_work = (make_owner(queue=owner.queue) for _ in range(3))
    putter.put_group(THIS)
    getter.interrupt_get()
    (got,) = {each.group_id.hex() for each in owner.on_queue()}
    assert states() == {got: "stalled"}
    putter.interrupt_put(THIS[:5])
    (left,) = {each.group_id.hex() for each in owner.on_queue()} - {got}
    group = at_work.producer().group()
    owner.put_all(group, THIS[:5])
    (active,) = {each.group_id.hex() for each in owner.on_queue()} - {got, left}
    assert states() == {got: "stalled", left: "stalled", active: "being put"}
    monkeypatch.setattr("mqgroups.cli.groups.STALLED_AFTER", timedelta())
    assert states() == {got: "stalled", left: "stalled", active: "stalled"}
    getter.producer(name=f"{getter.name}.2").close()


def test_a_group_that_is_got_by_a_running_consumer_is_being_got(owner, states):
    owner.put_raw_group(THIS)
    (this,) = {each.group_id.hex() for each in owner.on_queue()}
    messages = iter(next(iter(owner.consumer())))
    for _ in range(4):
        next(messages)
    assert states() == {this: "being got"}


def test_an_abandoned_group_is_shown_as_such(owner, groups):
    with owner.producer() as producer:
        group = producer.group()
        owner.put_all(group, THIS[:4])
        group.abandon(3, "no more input")
    said = json.loads(groups("-o", "json").stdout)
    assert [(each["state"], each["abandoned"]) for each in said["groups"]] == [("abandoned", True)]


def test_a_group_that_is_there_twice_is_doubled_and_has_an_exit_code_of_its_own(owner, groups):
    for number, flags in ((1, MIG), (2, LAST)):
        put(owner, A, number, number, flags=flags)
    result = groups()
    assert (result.exit_code, rows(result.stdout)[1].split()[:2]) == (FAILED, [A.decode(), "doubled"])
    said = json.loads(groups("-o", "json").stdout)
    (group,) = said["groups"]
    assert (said["exit_code"], group["doubled"], group["overlapping"]) == (FAILED, True, 2)


def test_what_units_of_work_hide_is_told(owner, groups, monkeypatch):
    owner.put_raw_group(THIS)
    owner.take(options=mq.MQGMO_SYNCPOINT)
    told = groups()
    monkeypatch.setattr(mqgroups.operate.command_server, "_COMMAND_QUEUE", "NO.SUCH.QUEUE")
    unasked = groups()
    owner.eye.back_out()
    assert "hidden by units of work: 1 message" in told.stdout
    assert "hidden by units of work: not known" in unasked.stdout
    assert "how many messages units of work hide: the command server did not answer" in unasked.stderr
    assert "NO.SUCH.QUEUE: 2085" in unasked.stderr
    assert unasked.exit_code == DONE


def test_only_groups_in_these_states_are_shown_and_all_are_counted(owner, groups, states):
    owner.put_raw_group(THIS)
    put(owner, A, 2)
    put(owner, B, 1, 3)
    assert set(states("--only", "incomplete")) == {A.hex(), B.hex()}
    assert states("--only", "no-beginning", "--only", "gap") == {A.hex(): "no beginning", B.hex(): "gap"}
    assert states("--only", "stalled") == {}
    assert "3 groups: 1 complete, 1 no beginning, 1 gap" in groups("--only", "gap").stdout
    wrong = groups("--only", "broken")
    assert (wrong.exit_code, "'broken' is not one of 'complete', 'being-put'" in wrong.stderr) == (USAGE, True)


def test_the_messages_of_one_group_are_shown_by_the_end_of_its_identifier(owner, groups):
    owner.put_raw_group(THIS[:3])
    put(owner, A, 2)
    whole = owner.on_queue()[0].group_id.hex()
    for some in (whole, whole[-12:], whole[-6:].upper()):
        said = json.loads(groups("-o", "json", "--group", some).stdout)
        assert said["group_id"] == whole
        assert [(each["msg_seq_number"], each["length"]) for each in said["messages"]] == [(1, 1), (2, 1), (3, 1)]
        assert said["messages"][0]["user"] == owner.on_queue()[0].md.UserIdentifier.decode().rstrip()
    shown = groups("--group", whole[-12:])
    assert (shown.exit_code, shown.stdout.splitlines()[0]) == (DONE, f"group {whole}")
    assert rows(shown.stdout)[1].startswith("number bytes flags put (UTC) put by user ")
    assert rows(shown.stdout)[4].startswith("3 1 last in group ")


@pytest.mark.parametrize(
    ("some", "said"),
    [
        ("41", "2 groups on the queue begin or end with 41: "),
        ("ff", "no group on the queue begins or ends with ff"),
        ("xy", "no group on the queue begins or ends with xy"),
    ],
)
def test_a_group_that_is_not_the_only_one_is_asked_for_again(owner, groups, some, said):
    put(owner, A, 1)
    put(owner, b"B" * 23 + b"A", 1)
    result = groups("--group", some)
    assert (result.exit_code, said in result.stderr) == (USAGE, True)


def test_a_queue_without_messages_has_no_groups(groups):
    result = groups()
    assert (result.exit_code, result.stdout.splitlines()[0]) == (DONE, "0 groups; 0 bytes")
    assert json.loads(groups("-o", "json").stdout)["groups"] == []


def test_a_queue_that_does_not_exist_ends_1_and_a_wrong_address_75(owner, groups):
    result = invoke("groups", "--queue", "NO.SUCH.QUEUE", "--wait", "0", **environment(owner.target))
    assert (result.exit_code, "2085" in result.stderr) == (FAILED, True)
    assert groups(MQGROUPS_CONN_NAME="127.0.0.1(1)").exit_code == ExitCode.TRY_AGAIN


def test_a_table_has_so_many_rows_and_says_how_many_more_there_are(owner, groups, monkeypatch):
    monkeypatch.setattr("mqgroups.cli.report.MOST_ROWS", 3)
    for number in range(5):
        put(owner, b"%024d" % number, 1)
    lines = rows(groups().stdout)
    assert [line[:24] for line in lines[1:4]] == [f"{number:024}" for number in range(3)]
    assert lines[4].startswith("and 2 more rows: -o json has all")
    assert len(json.loads(groups("-o", "json").stdout)["groups"]) == 5


def test_at_a_terminal_what_is_missing_and_by_whom_is_shown_and_what_is_left_out_is_said(owner, groups):
    owner.put_raw_group(THIS)
    put(owner, A, 1, 3)
    # rich takes this for a terminal, as it does in a pseudo-terminal.
    lines = click.unstyle(groups(FORCE_COLOR="1", COLUMNS="80").stdout).splitlines()
    assert max(map(len, lines)) <= 80
    for title in ("GroupId", "state", "quiet", "missing", "put by", "msgs"):
        assert title in lines[0]
    assert any(line.startswith("not shown (no room):") and line.endswith("; -o json has all") for line in lines)
    whole = groups().stdout.splitlines()
    assert A.hex() in whole[1]
    assert "not shown" not in " ".join(whole)


def test_without_a_queue_all_queues_that_records_name_are_shown_also_groups_without_messages(owner, make_owner):
    there, gone, lost, elsewhere = owner, *(make_owner() for _ in range(3))
    there.put_group(THIS)
    for each in (there, gone, lost, elsewhere):
        each.interrupt_put(THIS[:4], queue=gone.queue if each is elsewhere else each.queue)
    gone.empty()
    lost.take_record("put")
    run = ("groups", "--wait", "0")
    said = json.loads(invoke(*run, "-o", "json", **environment(owner.target)).stdout)
    mine = [each for each in said["groups"] if each["queue"] in {there.queue, gone.queue, lost.queue}]
    assert said["queue"] is None
    assert [(each["queue"], each["state"], each["messages"]) for each in mine] == [
        (lost.queue, "no record", 2),
        *[(gone.queue, "stalled", 0)] * 2,
        (there.queue, "stalled", 2),
        (there.queue, "complete", 7),
    ]
    assert {each["queue"] for each in said["instances"]} >= {there.queue, gone.queue, lost.queue}
    shown = invoke(*run, "--only", "stalled", **environment(owner.target)).stdout
    assert rows(shown)[0].startswith("queue GroupId ")
    assert [line.split()[0] for line in shown.splitlines() if gone.queue in line][:2] == [gone.queue] * 2
    assert "more without messages on the queue" in shown
    assert "complete" not in shown.partition(" groups: ")[0]


def test_a_queue_that_a_record_names_and_nobody_can_browse_is_told_with_its_owner(owner, monkeypatch):
    owner.interrupt_put(THIS[:4])

    def refused(q_mgrs, queue, *_):
        raise errors.mqi_error("MQOPEN", f"queue {queue}", mq.MQCC_FAILED, mq.MQRC_NOT_AUTHORIZED)

    monkeypatch.setattr("mqgroups.cli.groups.browse_groups", refused)
    result = invoke("groups", "--wait", "0", **environment(owner.target))
    assert f"queue {owner.queue}, which records name: put {owner.name} (interrupted): " in result.stderr


@pytest.mark.parametrize(("order", "first"), [("danger", A), ("quiet", B), ("size", C)])
def test_what_comes_first_can_be_chosen(owner, groups, order, first):
    for group_id, *numbers in ((B, 1, 3), (A, 1), (C, 1, 2, 3, 4)):
        put(owner, group_id, *numbers)
    found = json.loads(groups("-o", "json", "--sort", order).stdout)["groups"]
    assert found[0]["group_id"] == first.hex()


TEXT, LONGER = b"ORDER-1".ljust(24, b"\0"), b"ORDER-17".ljust(24, b"\0")


def test_a_group_id_of_a_partner_is_shown_as_its_text_and_found_by_its_beginning(owner, groups):
    for each in (TEXT, LONGER, b"\x1b[2J".ljust(24, b"\0")):
        put(owner, each, 1)
    shown = [line.split()[0] for line in groups().stdout.splitlines()[1:4]]
    assert sorted(shown) == sorted(["ORDER-1", "ORDER-17", "0" * 12])
    for some in ("ORDER-17", LONGER.hex()[:18], "ORDER-1"):
        said = json.loads(groups("-o", "json", "--group", some).stdout)
        assert said["group_id"] == (TEXT if some == "ORDER-1" else LONGER).hex()
    assert groups("--group", "ORDER-17").stdout.startswith(f"group {LONGER.hex()} (ORDER-17)\n")
    for some in ("ORDER", "", "00"):
        assert groups("--group", some).exit_code == USAGE
    refused = " ".join(groups("--group", "ORDER").stderr.split())
    assert f"{TEXT.hex()} ORDER-1, {LONGER.hex()} ORDER-17" in refused


def test_a_look_into_a_message_shows_its_head_properties_and_first_bytes_and_leaves_it(owner, groups):
    with owner.producer() as producer, producer.group(name="orders.csv") as group:
        group.put(b"first" + bytes(range(256)) * 40, properties={"usr.kind": "order"})
        group.put(b"second")
    before = owner.data()
    group_id = owner.on_queue()[0].group_id.hex()
    result = groups("--group", group_id[-12:], "--message", "1")
    assert (result.exit_code, owner.data()) == (DONE, before)
    assert "this shows data of a message" in result.stderr
    lines = rows(result.stdout)
    assert {"msg_seq_number: 1", f"group_id: {group_id}", "mqgroups.Name: orders.csv"} <= set(lines)
    assert "0000 66 69 72 73 74 00 01 02 03 04 05 06 07 08 09 0a first..........." in lines
    assert lines[-1].startswith("00f0 ")
    said = json.loads(groups("-o", "json", "--group", group_id, "--message", "2").stdout)["looked_into"]
    assert (said["data_hex"], said["msg_seq_number"]) == (b"second".hex(), 2)
    assert b"second".hex() not in groups("-o", "json", "--group", group_id).stdout
    assert groups("--group", group_id, "--message", "3").exit_code == FAILED
    assert groups("--message", "1").exit_code == USAGE

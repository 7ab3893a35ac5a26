"""Progress: a hook is told of each commit once, whatever is lost; and a bar is drawn at a terminal only."""

from __future__ import annotations

import os
import pickle
import pty
import re
import subprocess
import sys

import pytest

import mqgroups
from mqembedded import Fault
from mqgroups import errors
from tests.test_pipe import run

THIS = [b"%d" % number for number in range(7)]


def put(owner, told, connection=None, **more):
    """Put one group with a name."""
    with owner.producer(connection, on_progress=told, **more) as producer, producer.group(name="file") as group:
        for number, data in enumerate(THIS[group.resume_from :], group.resume_from + 1):
            group.set_checkpoint(number)
            group.put(data)


def get(owner, told, connection=None, **more):
    """Get all groups."""
    with owner.consumer(connection, on_progress=told, **more) as consumer:
        return [[message.data for message in group] for group in consumer]


def places(told):
    return [(one.unit_of_work, one.messages, one.msg_seq_number, one.group_ended) for one in told]


def test_each_commit_of_a_producer_is_told(owner):
    told: list[mqgroups.Progress] = []
    put(owner, told.append, commit_every=3)
    (group_id,) = {found.group_id for found in owner.on_queue()}
    assert places(told) == [(1, 3, 3, False), (2, 3, 6, False), (3, 1, 7, True)]
    assert {(one.role, one.name, one.queue) for one in told} == {("put", owner.name, owner.queue)}
    assert {(one.group_id, one.group_name) for one in told} == {(group_id, "file")}
    assert [one.checkpoint for one in told] == [3, 6, 7]
    assert [(one.data_bytes, one.total_bytes, one.total_messages) for one in told] == [(3, 3, 3), (3, 6, 6), (1, 7, 7)]
    last = told[-1]
    assert 0 < last.rate == last.total_messages / last.total_seconds
    assert pickle.loads(pickle.dumps(last)) == last


def test_each_commit_of_a_consumer_is_told_and_counted_from_its_start(owner):
    put(owner, None)
    owner.interrupt_get()
    told: list[mqgroups.Progress] = []
    assert get(owner, told.append) == [THIS[4:]]
    assert places(told) == [(3, 2, 6, False), (4, 1, 7, True)]
    assert [(one.role, one.total_messages, one.group_name) for one in told] == [("get", 2, "file"), ("get", 3, "file")]


def test_what_was_backed_out_is_not_told(owner):
    told: list[mqgroups.Progress] = []
    with owner.producer(on_progress=told.append) as producer:
        with pytest.raises(ZeroDivisionError), producer.group() as group:  # noqa: PT012 - the block is left by it
            owner.put_all(group, THIS[:6])
            raise ZeroDivisionError
        assert sum(one.messages for one in told) == 4
        with producer.group() as group:
            owner.put_all(group, THIS[group.resume_from :])
    assert [one.total_messages for one in told] == [2, 4, 6, 7]


def test_units_of_work_without_messages_are_not_told(owner):
    told: list[mqgroups.Progress] = []
    with owner.producer(on_progress=told.append):
        pass
    assert get(owner, told.append) == told == []


def test_a_pipe_tells_of_its_getting_side(owner, make_queue):
    owner.put_group(THIS)
    told: list[mqgroups.Progress] = []
    with owner.pipe(make_queue(), commit_every=3, on_progress=told.append) as pipe:
        run(pipe, lambda data: [data * 3])
    assert [(one.role, *place) for one, place in zip(told, places(told), strict=True)] == [
        ("get", 1, 3, 3, False),
        ("get", 2, 3, 6, False),
        ("get", 3, 1, 7, True),
    ]


class Full(errors.MQGroupsError):
    """An error of a hook that looks like one of the library's own."""


@pytest.mark.parametrize(("error", "nth"), [(ZeroDivisionError, 1), (Full, 2), (ZeroDivisionError, 4), (Full, 4)])
def test_a_commit_stands_if_the_hook_fails_and_the_same_objects_go_on(owner, error, nth):
    def fail(progress):
        told.append(progress)
        if len(told) == nth:
            raise error

    told: list[mqgroups.Progress] = []
    with owner.producer(on_progress=fail) as producer:
        with pytest.raises(error), producer.group() as group:
            owner.put_all(group, THIS)
        rest = THIS[told[-1].msg_seq_number :] or [b"8"]
        with producer.group() as group:
            assert group.resume_from == (told[-1].msg_seq_number if nth < 4 else 0)
            owner.put_all(group, rest)
    assert owner.data() == [*THIS, *([b"8"] if nth == 4 else [])]
    assert [one.unit_of_work for one in told] == list(range(1, len(told) + 1))
    told.clear()
    handled: list[bytes] = []
    with owner.consumer(on_progress=fail) as consumer:
        for _ in range(2):
            try:
                for got in consumer:
                    for message in got:
                        handled.append(message.data)
            except error:
                pass
    assert owner.data() == []
    # The commit stands, so the message before it does not come again.
    assert handled == [*THIS, *([b"8"] if nth == 4 else [])]


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", [1, 4])
def test_commits_are_told_once_whatever_commit_loses_the_connection(owner, faults, nth, when):
    for act in (put, get):
        told: list[mqgroups.Progress] = []
        connection = owner.connect(reconnect_wait_s=30)
        faults.arm(Fault("drop", when, verb="MQCMIT", nth=nth))
        act(owner, told.append, connection)
        assert places(told) == [(1, 2, 2, False), (2, 2, 4, False), (3, 2, 6, False), (4, 1, 7, True)]
        assert [one.total_bytes for one in told] == [2, 4, 6, 7]
        assert {one.group_name for one in told} == {"file"}
        connection.close()
    assert owner.data() == []
    assert faults.faults_fired() == 2


# --- the bar

PROGRAM = r"""
with connect() as qmgr, mqgroups.ProgressBar(total=7) as bar:
    with qmgr.group_producer(queue, name=name, commit_every=2, on_progress=bar) as producer:
        with producer.group(name="[file\x1b]") as group:
            for number in range(7):
                group.put(b"x" * 1000)
    print("printed")
"""


def at_a_terminal(command, environment):
    """Run a command with a terminal as standard error; returns what it wrote there, and to standard output."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        drawn = b""
        while True:
            try:
                more = os.read(ours, 65_536)
            except OSError:
                break
            if not more:
                break
            drawn += more
        assert process.stdout is not None
        printed = process.stdout.read()
    os.close(ours)
    assert process.returncode == 0, drawn
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", drawn.decode()), printed.decode()


def test_at_a_terminal_the_bar_shows_what_is_committed(owner, program):
    drawn, printed = at_a_terminal(program.command(PROGRAM), {**program.environment, "TERM": "xterm", "COLUMNS": "120"})
    last = drawn.rstrip().splitlines()[-1]
    for words in (f"{owner.name} [file?]", "7 messages", "7.0 kB", "/s"):
        assert words in last
    assert printed == "printed\n"


def test_at_a_narrow_terminal_names_are_cut_and_numbers_are_not(owner, program):
    long = PROGRAM.replace(r"[file\x1b]", "f" * 100)
    drawn, _ = at_a_terminal(program.command(long), {**program.environment, "TERM": "xterm", "COLUMNS": "80"})
    last = drawn.rstrip().splitlines()[-1]
    assert "fff… " in last
    assert "7 messages" in last
    assert "7.0 kB" in last


def test_without_a_terminal_nothing_is_drawn(owner, program):
    done = program.run(PROGRAM)
    assert (done.returncode, done.stdout, done.stderr) == (0, "printed\n", "")


def test_without_a_terminal_rich_is_not_needed(owner, program):
    done = program.run("sys.modules['rich'] = None\n" + PROGRAM)
    assert (done.returncode, done.stdout, done.stderr) == (0, "printed\n", "")


def test_at_a_terminal_a_missing_rich_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(errors.ConfigurationError, match=r"pip install 'mqgroups\[cli\]'"):
        mqgroups.ProgressBar().__enter__()

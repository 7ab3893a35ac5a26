"""``mqgroups watch``: lines when its output is no terminal, the last look when it is."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

import mqgroups.operate.command_server
from embedded_tests.tables import table
from mqembedded import Fault
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.seen import Seen, SeenQueue, looks
from mqgroups.cli.watch_page import WatchPages
from mqgroups.errors import mqi_error
from mqgroups.mqi import constants as mq
from mqgroups.operate.rules.judgement import GroupState
from tests.fix_cli import MQGROUPS, environment, free_port, invoke
from tests.operate.lost_records import A, put

THIS = [b"%d" % number for number in range(1, 8)]
PATIENCE_S = 60


@pytest.fixture
def paused():
    """The pauses that the command has made between two looks, seconds."""
    return []


@pytest.fixture
def watch(owner, paused, monkeypatch):
    """A function that runs the command, by default on the owner's queue; Ctrl-C ends it after so many looks."""

    def run(*arguments, looks=2, queue=owner.queue):
        def sleep(seconds):
            paused.append(seconds)
            if len(paused) % looks == 0:
                raise KeyboardInterrupt

        monkeypatch.setattr("mqgroups.cli.watch.time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
        words = ("watch", *(("--queue", queue) if queue else ()), "--every", "0", "--wait", "0")
        result = invoke(*words, *arguments, **environment(owner.target))
        # It only looks, so there is nothing to back out.
        ended = (result.exit_code, result.stderr.splitlines()[-1])
        assert ended == (ExitCode.INTERRUPTED, "mqgroups: interrupted with Ctrl-C")
        return result

    return run


def test_a_line_for_each_look_says_what_there_is(owner, watch):
    owner.put_raw_group(THIS)
    put(owner, A, 2)
    first, second = watch().stdout.splitlines()
    assert f"{owner.queue}: messages 8, 8 bytes; groups 2, 1 complete, 1 no beginning; " in first
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC ", second)


def test_a_pause_is_never_longer_than_a_day(watch, paused):
    for every in ("inf", "1e300"):
        watch("--every", every, looks=1)
    assert paused == [86_400, 86_400]


def asked(port, path):
    """Return a page of this machine."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=PATIENCE_S) as answer:
        return answer.read().decode()


def test_prometheus_and_browsers_see_groups_by_state_and_how_long_they_wait(owner):
    owner.put_raw_group(THIS)
    put(owner, A, 2)
    port = str(free_port())
    command = [*MQGROUPS, "watch", "--queue", owner.queue, "--every", "0", "--http", port]
    given = {**os.environ, **owner.target.environment(), **environment(owner.target)}
    process = subprocess.Popen(command, env=given, stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(2):
            process.stdout.readline()  # type: ignore[union-attr]  # it is a pipe
        page, look = asked(port, "metrics"), json.loads(asked(port, "look.json"))
    finally:
        process.kill()
        process.communicate()
    assert [(each["state"], each["told"]) for each in (*look["trouble"], *look["groups"])] == [
        ("no beginning", "1 missing; 2 on the queue; from 3 not there yet"),
        ("complete", "1 to 7 on the queue"),
    ]
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    assert {sample.labels.get("queue") for sample in samples} == {owner.queue, None}
    found = {
        (sample.name.removeprefix("mqgroups_queue_"), sample.labels.get("state")): sample.value for sample in samples
    }
    assert 0 <= found.pop(("oldest_complete_seconds", None)) < PATIENCE_S
    assert abs(found.pop(("clock_seconds", None)) - time.time()) < PATIENCE_S
    assert {key: value for key, value in found.items() if value} == {
        ("seen", None): 1,
        ("messages", None): 8,
        ("groups", "complete"): 1,
        ("groups", "no beginning"): 1,
    }
    assert ("groups", "stalled") in found


def test_a_look_that_is_old_or_has_failed_shows_no_figures():
    pages = WatchPages("QM1", ["ORDERS"])

    def page():
        return re.sub(r"(clock_seconds{.*}) .*", r"\1", pages.by_path["/metrics"]().text)

    unseen = page()
    assert 'mqgroups_queue_seen{queue_manager="QM1",queue="ORDERS"} 0' in unseen
    seen = Seen(datetime.now(UTC), queues=[SeenQueue("ORDERS", states={GroupState.COMPLETE: 2}, messages=9)])
    pages.show(seen, 1.0)
    assert "mqgroups_queue_oldest_complete_seconds" in page()
    pages.show(seen, -10.0)
    assert page() == unseen
    pages.show(Seen(datetime.now(UTC), problem="connection lost", queues=[SeenQueue("ORDERS")]), 1.0)
    assert page() == unseen
    pages.show(Seen(datetime.now(UTC), queues=[SeenQueue("ORDERS", "not browsed: 2035")]), 1.0)
    assert page() == unseen
    # Of all queues, none is known.
    pages.show(Seen(datetime.now(UTC)), 1.0)
    assert page() == unseen.replace("ORDERS", "")


def test_what_a_line_cannot_show_is_told_once(owner, watch, monkeypatch):
    monkeypatch.setattr(mqgroups.operate.command_server, "_COMMAND_QUEUE", "NO.SUCH.QUEUE")
    told = watch().stderr.splitlines()[:-1]
    assert told
    assert len(set(told)) == len(told)
    assert all(line.startswith("not seen: ") for line in told)


def test_a_line_of_json_has_the_groups_that_need_attention_and_all_owners(owner, watch):
    owner.put_raw_group(THIS)
    owner.interrupt_put(THIS[:4])
    (seen,) = map(json.loads, watch("-o", "json", looks=1).stdout.splitlines())
    assert seen["states"] == {"complete": 1, "stalled": 1}
    assert [each["state"] for each in seen["groups"]] == ["stalled"]
    assert (owner.name, "interrupted") in [(each["name"], each["state"]) for each in seen["owners"]]


def test_groups_have_their_names_at_each_look(owner, watch, monkeypatch):
    monkeypatch.setattr("mqgroups.cli.seen.STALLED_AFTER", timedelta())
    owner.interrupt_put(THIS[:4], group_name="orders-0815.csv")
    looks = map(json.loads, watch("-o", "json").stdout.splitlines())
    assert [[each["name"] for each in seen["groups"]] for seen in looks] == [["orders-0815.csv"]] * 2


def test_without_queues_all_that_records_name_are_watched_by_one_process(owner, make_owner, watch):
    other = make_owner()
    owner.put_group(THIS)
    for each in (owner, other):
        each.interrupt_put(THIS[:4])
    other.empty()
    lines = [json.loads(line) for line in watch("-o", "json", looks=1, queue=None).stdout.splitlines()]
    found = {each["queue"]: each["groups"] for each in lines if each["queue"] in {owner.queue, other.queue}}
    assert {queue: [(each["state"], each["messages"]) for each in rows] for queue, rows in found.items()} == {
        owner.queue: [("stalled", 2)],
        other.queue: [("stalled", 0)],
    }
    seen = looks((), (), {}, owner.qmgr)
    assert owner.queue in {each.queue for each in next(seen).queues}
    # Its program ends in order, and its groups wait.
    owner.resume_put(THIS)
    assert owner.queue in {each.queue for each in next(seen).queues}
    lines = watch("--queue", other.queue, looks=1).stdout.splitlines()
    assert [line.split()[3].rstrip(":") for line in lines] == sorted([owner.queue, other.queue])


@pytest.mark.embedded
def test_by_an_alias_the_owners_of_the_queue_behind_it_are_shown_and_have_their_groups(owner, watch):
    owner.put_group(THIS, queue="TEST.BASE")
    owner.interrupt_get(2, queue="TEST.BASE")
    seen = json.loads(watch("-o", "json", looks=1, queue="TEST.ALIAS").stdout)
    assert seen["states"] == {"stalled": 1}
    assert (owner.name, "interrupted") in [(each["name"], each["state"]) for each in seen["owners"]]
    owner.empty("TEST.BASE")


class Terminal:
    """A program at a terminal of its own."""

    def __init__(self, target, *arguments, width, height):
        self.pid, self._end = pty.fork()
        if self.pid == 0:
            variables = {**os.environ, **target.environment(), **environment(target), "TERM": "xterm-256color"}
            variables.pop("COLUMNS", None)
            # Where the tests were started in the background SIGINT is ignored, and a program inherits that.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execvpe(MQGROUPS[0], [*MQGROUPS, *arguments], variables)
        fcntl.ioctl(self._end, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.shown = ""

    def until(self, text, times=1):
        """Read until the screen has shown this so many times."""
        while self.shown.count(text) < times:
            assert select.select([self._end], [], [], PATIENCE_S)[0], self.shown
            try:
                self.shown += os.read(self._end, 65536).decode("utf-8", "replace")
            except OSError:
                raise AssertionError(f"it has ended: {self.shown}") from None

    def press(self, key):
        os.write(self._end, key)

    def ended(self):
        """Return its exit code."""
        reader = threading.Thread(target=self._drain, daemon=True)
        reader.start()
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        reader.join(PATIENCE_S)
        os.close(self._end)
        return code

    def _drain(self):
        try:
            while os.read(self._end, 65536):
                pass
        except OSError:
            pass


@pytest.mark.parametrize(("width", "height", "is_empty"), [(80, 24, False), (200, 50, True)])
def test_at_a_terminal_the_last_look_is_shown_and_ctrl_c_leaves_it(owner, width, height, is_empty):
    shown = [owner.queue, "messages "]
    if not is_empty:
        # More groups than there are lines.
        for _ in range(30):
            owner.put_raw_group(THIS)
        owner.interrupt_put(THIS[:4])
        shown += ["stalled", "complete", "interrupted", f"and more: mqgroups groups --queue {owner.queue}"]
    terminal = Terminal(owner.target, "watch", "--queue", owner.queue, "--every", "1", width=width, height=height)
    # The second look begins.
    terminal.until("Ctrl-C ends", times=2)
    screen = terminal.shown.split("\x1b[2J")[1]
    assert [said for said in shown if said not in screen] == [], screen
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen).replace("\r", "").split("\n")
    assert max(map(len, lines)) <= width
    assert len(lines) <= height
    terminal.press(b"\x03")
    assert terminal.ended() == ExitCode.INTERRUPTED


@pytest.mark.embedded
def test_a_lost_connection_is_told_and_made_again(owner, watch, faults):
    owner.put_raw_group(THIS)
    faults.arm(Fault("drop", "before", verb="MQGET", nth=5))
    lost, again = map(json.loads, watch("-o", "json").stdout.splitlines())
    assert "connection lost: " in lost["problem"]
    assert again["messages"] == 7


@table(("reason", "pause_s"), [(mq.MQRC_NOT_AUTHORIZED, 60), (mq.MQRC_HOST_NOT_AVAILABLE, 1)])
def test_a_password_that_is_refused_is_offered_again_after_a_minute(monkeypatch, reason, pause_s):
    def refused(**_):
        raise mqi_error("MQCONNX", "queue manager QM1", mq.MQCC_FAILED, reason)

    monkeypatch.setattr("mqgroups.cli.seen.open_q_mgr", refused)
    seen = next(looks(("Q",), (), {}, None))
    assert (str(reason) in seen.problem, max(1, seen.took_s)) == (True, pause_s)


def test_a_queue_that_does_not_exist_ends_1_and_a_wrong_address_75(owner, watch):
    wrong = invoke("watch", "--queue", "NO.SUCH.QUEUE", **environment(owner.target))
    assert (wrong.exit_code, str(mq.MQRC_UNKNOWN_OBJECT_NAME) in wrong.stderr) == (ExitCode.FAILED, True)
    nowhere = invoke(
        "watch", "--queue", "Q", "--wait", "0", **{**environment(owner.target), "MQGROUPS_CONN_NAME": "127.0.0.1(1)"}
    )
    assert nowhere.exit_code == ExitCode.TRY_AGAIN

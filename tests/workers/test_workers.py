"""Workers: groups are shared, each is handled once, whatever ends a worker; and all of them stop in order."""

from __future__ import annotations

import errno
import functools
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import mqgroups
from embedded_tests.fix_mqi import PATIENCE_S
from mqembedded import Fault
from mqgroups import errors, operate
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from mqgroups.workers import run as worker_run
from mqgroups.workers import supervisor, worker
from mqgroups.workers.status import Board
from mqgroups.workers.worker import MOST_WORKERS, Job, Worker
from tests.workers import handlers
from tests.workers.conftest import wait_until


def test_each_group_goes_whole_to_one_worker_and_nothing_is_left(site, threads):
    groups = site.put_groups(6)
    workers = site.run_until(site.is_done, handlers.write, threads=threads)
    assert site.handled() == groups
    assert site.status_queues() == []
    assert [one.name for one in workers.status()] == [f"{site.owner.name}.{number}" for number in (1, 2)]
    assert sum(one.groups for one in workers.status()) == 6
    assert all(one.restarts == 0 and not one.running and not one.ready for one in workers.status())


def test_an_async_handler_is_awaited(site):
    groups = site.put_groups(3)
    site.run_until(site.is_done, handlers.write_awaiting, threads=True)
    assert site.handled() == groups


def test_workers_that_are_pipes_put_each_group_once(site, threads):
    groups = site.put_groups(5)
    site.run_until(site.is_done, handlers.forward, opens=site.pipe_opener(), threads=threads)
    assert site.forwarded() == groups
    assert site.status_queues() == []


def test_a_worker_that_has_failed_is_not_ended_by_another_exception():
    def connect():
        raise ZeroDivisionError

    opens = functools.partial(handlers.open_consumer, queue="Q", every=1)
    failing = Worker(Job(print, connect, opens, "N", range(1, 2), 0.0, None), 1, Board())
    with pytest.raises(ZeroDivisionError):
        failing.run()
    assert not failing.can_leave


@pytest.mark.parametrize(("handler", "threads"), [(handlers.fail_once, False), (handlers.be_stopped_once, True)])
def test_a_worker_whose_handler_fails_is_started_again_and_resumes(site, threads, quick_pauses, caplog, handler):
    groups = site.put_groups(3)
    workers = site.run_until(site.is_done, handler, threads=threads)
    assert "ended (exit code 0)" not in caplog.text
    assert site.handled() == groups
    assert sum(one.restarts for one in workers.status()) == 1


def test_a_worker_that_is_killed_is_started_again_and_resumes(site, quick_pauses, caplog):
    groups = site.put_groups(3)
    workers = site.run_until(site.is_done, handlers.die_once)
    assert site.handled() == groups
    assert sum(one.restarts for one in workers.status()) == 1
    (line,) = (record.getMessage() for record in caplog.records if record.name == "mqgroups.workers")
    assert "ended (signal 9). It is started again in " in line


@pytest.mark.parametrize(
    ("kind", "error", "runs_in_threads"),
    [
        (worker_run._context.Process, OSError(errno.EMFILE, "Too many open files"), False),
        (threading.Thread, RuntimeError("can't start new thread"), True),
    ],
    ids=["processes", "threads"],
)
def test_a_worker_that_cannot_be_started_is_started_later_and_the_others_go_on(
    site, quick_pauses, caplog, monkeypatch, kind, error, runs_in_threads
):
    start = kind.start
    refused: list[object] = []

    def start_or_refuse(self):
        if self.name.endswith(".1") and len(refused) < 5:
            refused.append(self)
            raise error
        start(self)

    monkeypatch.setattr(kind, "start", start_or_refuse)
    groups = site.put_groups(3)
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    workers = site.run_until(site.is_done, handlers.write, threads=runs_in_threads)
    assert site.handled() == groups
    assert [one.restarts for one in workers.status()] == [0, 0]
    assert caplog.text.count(f"worker {site.owner.name}.1 cannot be started ({error.args[-1]}") == 5
    refused.clear()
    # None is lost with a failed start, for which there may have been too few.
    assert len(list(Path("/proc/self/fd").iterdir())) < descriptors + 2 * 5


def test_pauses_grow_while_a_worker_fails_again_and_again(site, caplog, quick_pauses):
    site.put_groups(1)
    workers = mqgroups.Workers(
        handlers.always_fail,
        connect=site.connect,
        open=site.opener(),
        name=site.owner.name,
        workers=1,
        threads=True,
    )
    site.start(workers)
    wait_until(lambda: workers.status()[0].restarts >= 4)
    site.stop()  # the worker may fail meanwhile
    said = [record.getMessage() for record in caplog.records if "started again" in record.getMessage()]
    assert [float(line.split()[-2]) for line in said[:4]] == [0.01, 0.02, 0.04, 0.08]


def test_a_worker_that_only_somebody_can_help_waits_for_a_minute(site, caplog, quick_pauses):
    """Each start offers the password again, and accounts are locked after a few wrong ones."""
    asked: list[object] = []

    def refused():
        asked.append(None)
        raise errors.mqi_error("MQCONNX", "queue manager QM1", mq.MQCC_FAILED, mq.MQRC_NOT_AUTHORIZED)

    workers = mqgroups.Workers(
        handlers.always_fail, connect=refused, open=site.opener(), name=site.owner.name, workers=1, threads=True
    )
    site.start(workers)
    wait_until(lambda: "is started again in 60 s" in caplog.text)
    site.stop()
    assert len(asked) == 1


def test_pauses_are_bounded_and_have_a_random_part():
    assert 0.5 <= supervisor._pause_s(1) <= 1.0
    assert 60 <= supervisor._pause_s(100) <= 60.5
    assert len({supervisor._pause_s(1) for _ in range(10)}) > 1


def test_a_handler_must_handle_its_group_to_the_end(site, caplog, quick_pauses):
    site.put_groups(1)
    workers = mqgroups.Workers(
        handlers.return_early, connect=site.connect, open=site.opener(), name=site.owner.name, workers=1, threads=True
    )
    site.start(workers)
    wait_until(lambda: workers.status()[0].restarts >= 1)
    site.stop()
    (error,) = {str(record.exc_info[1]) for record in caplog.records if record.exc_info}
    assert "the handler returned before the last message" in error
    assert workers.status()[0].groups == 0


def test_an_abandoned_group_is_passed_over(site):
    with site.owner.producer(commit_every=1) as producer, producer.group() as group:
        group.put(b"9-0")
        group.put(b"9-1")
        group.abandon(3, "changed its mind")
    groups = site.put_groups(2)
    workers = site.run_until(site.is_done, handlers.write, threads=True)
    assert [lines for lines in site.handled() if lines[0] != b"9-0"] == groups
    assert sum(one.restarts for one in workers.status()) == 0


# --- stopping


def test_groups_without_an_end_keep_no_worker_from_the_others(site, make_owner):
    """JMSXGroupID as an affinity key: each message is number 1, and none is the last (IBM MQ, topic q032040)."""
    site.owner = owner = make_owner(model="TEST.BACKOUT.MODEL")
    for key in (b"CUST1", b"CUST2"):
        owner.put_raw(key, GroupId=key.ljust(24, b"\0"), MsgSeqNumber=1, MsgFlags=mq.MQMF_MSG_IN_GROUP)
    site.put_groups(5, messages=1)
    got: list[bytes] = []
    opens = functools.partial(
        mqgroups.QueueManager.group_consumer, queue=owner.queue, group_wait_s=0, stalled="quarantine"
    )
    handler = lambda _, group: got.extend(message.data for message in group)  # noqa: E731 - of this test alone
    workers = site.run_until(lambda: len(got) == 7 and site.is_done(), handler, opens=opens, threads=True)
    assert sorted(got) == [b"0-0", b"1-0", b"2-0", b"3-0", b"4-0", b"CUST1", b"CUST2"]
    assert [one.restarts for one in workers.status()] == [0, 0]


def test_a_stop_leaves_groups_at_the_message_that_was_processed(site):
    groups = site.put_groups(1)
    site.start(site.make(handlers.slowly, opens=site.opener(100), threads=True))
    wait_until((site.directory / "waits.flag").exists)
    stopping = site._running[-1][0]
    stopping.stop()
    # The handler may process its message when its worker's consumer was asked to stop.
    wait_until(lambda: all(owner.stopping for slot in stopping._slots for owner in slot.run._worker._owners))
    (site.directory / "go.flag").touch()
    assert site.stop()
    assert len(site.owner.data()) == 3
    assert [site.record(number) for number in (1, 2)].count(True) == 1
    site.run_until(site.is_done, handlers.write, threads=True)
    assert site.handled() == groups


def test_a_handler_that_swallows_the_stop_is_not_an_error(site, caplog):
    site.put_groups(1)
    workers = site.start(
        site.make(functools.partial(handlers.swallow_everything), threads=True, opens=site.opener(100))
    )
    wait_until(lambda: sum(one.groups for one in workers.status()) == 1)
    assert site.stop()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_worker_that_does_not_stop_in_time_is_killed_and_the_group_resumed(site, caplog):
    groups = site.put_groups(1)
    site.start(site.make(handlers.hang, grace_s=0.2))
    wait_until((site.directory / "hang.once").exists)
    assert not site.stop()
    assert any("did not stop in time" in record.getMessage() for record in caplog.records)
    site.run_until(site.is_done, handlers.write)
    assert site.handled() == groups


def test_a_worker_that_is_stuck_in_a_message_is_killed_and_the_group_resumed(site, quick_pauses, caplog):
    groups = site.put_groups(1)
    workers = site.run_until(site.is_done, handlers.hang, stuck_after_s=4)
    assert site.handled() == groups
    assert any("is stuck" in record.getMessage() for record in caplog.records)
    assert sum(one.restarts for one in workers.status()) >= 1


@pytest.mark.embedded
def test_a_worker_whose_call_never_returns_is_killed(site, faults, quick_pauses):
    workers = site.start(site.make(handlers.write, workers=1, stuck_after_s=2))
    wait_until(lambda: workers.is_ready)
    faults.arm(Fault("freeze", verb="MQGET"))
    wait_until(lambda: workers.status()[0].restarts)
    faults.clear_faults()
    wait_until(lambda: workers.is_ready)
    assert site.stop()


def test_a_worker_that_waits_for_groups_is_not_stuck(site):
    workers = site.start(site.make(handlers.write))
    wait_until(lambda: workers.is_ready)
    before = [0.0, 0.0]
    beats = 0
    while beats < 3:
        now = [one.quiet_s for one in workers.status()]
        beats += sum(after < was for was, after in zip(before, now, strict=True))
        before = now
    assert site.stop()


def test_a_thread_that_is_stuck_is_for_whoever_looks_at_livez(site):
    workers = site.start(site.make(handlers.slowly, workers=1, threads=True, stuck_after_s=2))
    wait_until(lambda: workers.is_live)
    site.put_groups(1)
    wait_until(lambda: not workers.is_live)
    (site.directory / "go.flag").touch()
    wait_until(lambda: workers.is_live)
    assert site.stop()


@pytest.mark.embedded
def test_workers_are_not_ready_while_they_reconnect(site, faults, threads):
    workers = site.start(site.make(handlers.write, threads=threads))
    wait_until(lambda: workers.is_ready)
    faults.arm(Fault("answer", verb="MQCONNX", times=0, reason=2059))
    faults.arm(Fault("drop", verb="MQGET"))
    wait_until(lambda: not workers.is_ready)
    assert workers.is_live
    faults.clear_faults()
    wait_until(lambda: workers.is_ready)
    assert [one.restarts for one in workers.status()] == [0, 0]
    assert site.stop()


def test_workers_that_wait_for_their_names_stop_at_once(site):
    blocked = site.owner.connect()
    consumers = [
        blocked.group_consumer(site.owner.queue, name=f"{site.owner.name}.{number}", owner_wait_s=0)
        for number in (1, 2)
    ]
    workers = site.start(site.make(handlers.write))
    wait_until(lambda: all(one.running for one in workers.status()))
    assert site.stop()
    for consumer in consumers:
        consumer.close()


def test_workers_that_were_stopped_before_they_run_do_nothing(site):
    workers = site.make(handlers.write)
    workers.stop()
    assert workers.run()
    assert site.status_queues() == []


# --- names


def interrupt(site, *numbers):
    """Leave a group of each of these names interrupted; returns the data of the groups."""
    groups = site.put_groups(len(numbers))
    for number in numbers:
        qmgr = site.owner.connect()
        consumer = qmgr.group_consumer(site.owner.queue, name=f"{site.owner.name}.{number}", commit_every=2)
        with handlers.file_of(site.directory, group := next(iter(consumer))) as line:
            for message in group:
                if message.msg_seq_number == 4:
                    break
                line(message.data)
        qmgr.close()
    assert all(map(site.record, numbers))
    return groups


def test_fewer_workers_than_before_finish_what_the_others_have_interrupted_and_names_may_be_unused(site):
    groups = interrupt(site, 1, 3, MOST_WORKERS)
    site.run_until(site.is_done, handlers.write, workers=1, threads=True)
    assert site.handled() == groups
    assert site.status_queues() == []


def test_supervisors_that_share_a_name_finish_what_each_other_s_workers_have_interrupted(site):
    groups = interrupt(site, 1, 4)
    workers = site.run_until(site.is_done, handlers.write, workers=2, first=2, threads=True)
    assert [one.name for one in workers.status()] == [f"{site.owner.name}.2", f"{site.owner.name}.3"]
    assert site.handled() == groups
    assert site.status_queues() == []


def test_fewer_pipes_than_before_finish_both_sides_of_what_the_others_have_interrupted(site):
    groups = site.put_groups(2)
    for number in (1, 3):
        qmgr = site.owner.connect()
        pipe = qmgr.group_pipe(site.owner.queue, site.target, name=f"{site.owner.name}.{number}", commit_every=2)
        incoming, outgoing = next(iter(pipe))
        for message in incoming:
            outgoing.put(message.data)
            if message.msg_seq_number == 4:
                break
        qmgr.close()
    assert all(site.record(number, role) for number in (1, 3) for role in ("get", "put"))
    site.run_until(site.is_done, handlers.forward, opens=site.pipe_opener(), workers=1, threads=True)
    assert site.forwarded() == groups
    assert site.status_queues() == []


def test_a_look_that_fails_or_comes_too_early_hides_no_other_name_and_is_repeated(site, monkeypatch, caplog):
    groups = interrupt(site, 2, 3, 4)
    failing, not_yet_used, found = (f"{site.owner.name}.{number}" for number in (2, 3, 4))
    looks: list[str] = []

    def look(q_mgr, name, *arguments, **more):
        looks.append(name)
        if name == failing and looks.count(name) == 1:
            raise errors.mqi_error("MQOPEN", name, mq.MQCC_FAILED, mq.MQRC_STORAGE_NOT_AVAILABLE)
        if name == not_yet_used and looks.count(name) == 1:
            return operate.SeenOwner("get", name, "", operate.OwnerState.UNKNOWN)
        return operate.inspect_owner(q_mgr, name, *arguments, **more)

    monkeypatch.setattr(worker, "inspect_owner", look)
    monkeypatch.setattr(worker, "LOOK_S", 0.05)
    monkeypatch.setattr(worker, "ALL_NAMES_EVERY", 3)
    monkeypatch.setattr(worker, "MOST_WORKERS", 5)
    site.run_until(site.is_done, handlers.write, workers=1, threads=True)
    assert site.handled() == groups
    never_used = f"{site.owner.name}.5"
    assert looks[:6] == [failing, not_yet_used, found, never_used, failing, found]
    assert caplog.text.count(f"cannot look at {failing}: ") == 1


def test_a_worker_that_cannot_close_the_status_queue_of_another_name_lets_go_of_it_by_its_end(
    site, quick_pauses, monkeypatch
):
    groups = interrupt(site, 2)
    failed: list[str] = []

    def look(q_mgr, name, *arguments, **more):
        if failed:
            return operate.inspect_owner(q_mgr, name, *arguments, **more)
        failed.append(name)
        connection_of(q_mgr).open_queue(f"MQGROUPS.GET.{name}", mq.MQOO_INPUT_EXCLUSIVE)
        raise errors.mqi_error("MQCLOSE", name, mq.MQCC_FAILED, mq.MQRC_STORAGE_NOT_AVAILABLE)

    monkeypatch.setattr(worker, "inspect_owner", look)
    workers = site.run_until(site.is_done, handlers.write, workers=1, threads=True)
    assert site.handled() == groups
    assert workers.status()[0].restarts == 1


def test_a_left_group_that_fails_keeps_no_worker_from_its_own_groups(site, caplog):
    left = interrupt(site, 2)
    own = [b"1-%d" % number for number in range(7)]
    site.owner.put_group(own)

    def handle(directory, group):
        if (directory / group.group_id.hex()).exists():
            raise ZeroDivisionError
        handlers.write(directory, group)

    workers = site.run_until(lambda: site.handled()[1:] == [own], handle, workers=1, threads=True)
    assert workers.status()[0].restarts == 0
    assert f"{site.owner.name}.2 failed" in caplog.text
    site.run_until(site.is_done, handlers.write, workers=1, threads=True)
    assert site.handled() == [*left, own]


def test_a_name_whose_status_queue_is_in_disarray_is_told_and_left(site, caplog):
    other = site.owner.connect()
    other.group_consumer(site.owner.queue, name=f"{site.owner.name}.2").close()
    site.owner.put_raw(b"no record", queue=f"MQGROUPS.GET.{site.owner.name}.2")
    groups = site.put_groups(1)
    site.run_until(lambda: not site.owner.data(), handlers.write, workers=1, threads=True)
    assert site.handled() == groups
    (line,) = (record.getMessage() for record in caplog.records if record.levelno == logging.WARNING)
    assert f"cannot look at {site.owner.name}.2: " in line
    site.owner.empty(f"MQGROUPS.GET.{site.owner.name}.2")


def test_two_supervisors_never_have_two_workers_of_one_name(site, quick_pauses):
    groups = site.put_groups(4)
    first = site.start(site.make(handlers.slowly))
    wait_until(lambda: first.is_ready)
    second = site.start(site.make(handlers.write))
    wait_until(lambda: all(one.running for one in second.status()))
    assert not second.is_ready
    (site.directory / "go.flag").touch()
    wait_until(site.is_done)
    assert not any(one.groups for one in second.status())
    assert site.stop()
    assert site.stop()
    assert site.handled() == groups


SUPERVISOR = """
import functools, pathlib
from tests.workers import handlers

if __name__ == "__main__":
    workers = mqgroups.Workers(
        functools.partial(handlers.slowly, pathlib.Path(env["TEST_DIRECTORY"])),
        connect=functools.partial(mqgroups.connect, env["TEST_Q_MGR"], env["TEST_CHANNEL"], env["TEST_CONN_NAME"],
                                  user=env.get("TEST_USER"), password=env.get("TEST_PASSWORD")),
        open=functools.partial(OPEN, queue=queue), name=name, workers=2, grace_s=GRACE_S,
    )
    with mqgroups.stop_on_signals(workers):
        workers.run()
"""


@contextmanager
def supervisor_of(site, program, open_as="handlers.open_consumer", grace_s=30.0):
    """Run a supervisor in a process of its own, with two workers; ``open_as`` is what opens their consumers, as source."""
    path = site.directory / "supervisor.py"
    path.write_text(program.PROLOGUE + SUPERVISOR.replace("OPEN", open_as).replace("GRACE_S", str(grace_s)))
    environment = {**program.environment, "TEST_DIRECTORY": str(site.directory)}
    with subprocess.Popen([sys.executable, str(path)], env=environment, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.fixture
def supervised(site, program):
    """A supervisor with workers of which one is in the middle of a group."""
    site.put_groups(1)
    with supervisor_of(site, program) as process:
        wait_until((site.directory / "waits.flag").exists)
        yield process


@pytest.fixture
def supervised_before_they_begin(site, program):
    """A supervisor with workers that have connected, and not begun."""
    waiting = 'handlers.open_and_wait, directory=pathlib.Path(env["TEST_DIRECTORY"])'
    with supervisor_of(site, program, waiting) as process:
        wait_until(lambda: all((site.directory / f"{site.owner.name}.{number}.flag").exists() for number in (1, 2)))
        yield process


def states(site):
    names = (f"{site.owner.name}.{number}" for number in (1, 2))
    found = [operate.inspect_owner(site.owner.qmgr, name, "get").state for name in names]
    # Neither is gone yet.
    return [operate.OwnerState.ACTIVE if each is operate.OwnerState.HIDDEN else each for each in found]


def test_workers_stop_when_their_supervisor_is_killed(site, supervised):
    supervised.kill()
    (site.directory / "go.flag").touch()
    wait_until(lambda: operate.OwnerState.ACTIVE not in states(site))
    groups = [[b"0-%d" % number for number in range(7)]]
    site.run_until(site.is_done, handlers.write)
    assert site.handled() == groups


def test_a_worker_whose_handler_hangs_ends_after_the_grace_when_its_supervisor_is_killed(site, program):
    groups = site.put_groups(1)
    with supervisor_of(site, program, grace_s=0.2) as process:
        wait_until((site.directory / "waits.flag").exists)
        process.kill()
        wait_until(lambda: operate.OwnerState.ACTIVE not in states(site))
    site.run_until(site.is_done, handlers.write)
    assert site.handled() == groups


def test_a_supervisor_that_gets_sigterm_ends_with_exit_code_0(site, supervised):
    supervised.send_signal(signal.SIGTERM)
    (site.directory / "go.flag").touch()
    assert supervised.wait(PATIENCE_S) == 0
    assert supervised.stderr.read() == ""
    assert operate.OwnerState.ACTIVE not in states(site)


def test_workers_that_have_not_begun_end_with_their_supervisor(site, supervised_before_they_begin):
    supervised_before_they_begin.kill()
    wait_until(lambda: operate.OwnerState.ACTIVE not in states(site))


def test_workers_that_have_not_begun_end_at_once_when_their_supervisor_is_stopped(site, supervised_before_they_begin):
    supervised_before_they_begin.send_signal(signal.SIGTERM)
    assert supervised_before_they_begin.wait(PATIENCE_S) == 0
    assert supervised_before_they_begin.stderr.read() == ""
    assert operate.OwnerState.ACTIVE not in states(site)


# --- settings


def test_settings_that_cannot_be_are_refused(site):
    for wrong, text in (
        ({"workers": 0}, "workers must be a whole number, 1 to 100, got 0"),
        ({"workers": 101}, "workers must be a whole number, 1 to 100, got 101"),
        ({"workers": "4"}, "workers must be a whole number, 1 to 100, got '4'"),
        ({"first": 0}, "first must be a whole number, 1 to 100, got 0"),
        ({"first": 100}, "the numbers of workers are 1 to 100, so 2 cannot begin with 100"),
        ({"threads": "no"}, "threads must be True or False, got 'no'"),
        # Ten workers of this name would not fit, so nobody would look for what the tenth has left.
        ({"name": "X" * 32}, "a name has 1 to 35"),
        ({"name": "A B"}, "MQ names may contain only"),
        ({"grace_s": -1}, "grace_s must be 0 or more"),
        ({"stuck_after_s": -1}, "stuck_after_s must be 0 or more"),
    ):
        with pytest.raises(errors.ConfigurationError, match=text):
            site.make(handlers.write, **wrong)


def test_what_is_no_function_is_refused_before_workers_fail_with_it_at_each_start(site):
    good: dict[str, Any] = {"handler": print, "connect": site.connect, "open": site.opener(), "setup": None}
    for what, wrong in (("handler", None), ("connect", site.owner.qmgr), ("open", "ORDERS"), ("setup", 5)):
        with pytest.raises(errors.ConfigurationError, match=f"{what} must be a function, got {wrong!r}"):
            mqgroups.Workers(name="N", **{**good, what: wrong})


def test_what_cannot_be_given_to_a_process_is_refused(site):
    with pytest.raises(errors.ConfigurationError, match=r"must be functions of a module, not a lambda .* threads=True"):
        mqgroups.Workers(lambda _: None, connect=site.connect, open=site.opener(), name=site.owner.name, workers=1)


def test_stop_may_be_called_very_often_and_in_a_signal_handler(site):
    workers = site.make(handlers.write)
    before = signal.signal(signal.SIGUSR1, lambda *_: workers.stop())
    try:
        for _ in range(100_000):
            workers.stop()
        os.kill(os.getpid(), signal.SIGUSR1)
        began_s = time.monotonic()
        assert workers.run()
        assert time.monotonic() - began_s < PATIENCE_S
    finally:
        signal.signal(signal.SIGUSR1, before)

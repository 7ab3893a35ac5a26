"""``mqgroups work``: groups handled by a function of a module, until a signal comes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import urllib.request

import pytest

from embedded_tests.fix_mqi import PATIENCE_S
from embedded_tests.tables import table
from mqgroups.cli.exit_codes import ExitCode
from tests.fix_cli import MQGROUPS, environment, invoke
from tests.workers.conftest import wait_until

HANDLERS = """
import os, pathlib, time

def handle(group):
    with open(group.group_id.hex(), "wb") as file:
        for message in group:
            file.write(message.data + b" ")

def add(group):
    pathlib.Path("sum").write_text(str(sum(message.value["pieces"] for message in group)))

async def double(group, out):
    for message in group:
        out.put(message.value * 2)

def hang(group):
    pathlib.Path("hangs").touch()
    time.sleep(600)

class Handler:
    @staticmethod
    def method(group):
        handle(group)

value = 7
"""
# Nothing listens at this address, so a command line that is not refused is noticed as well.
OPTIONS = ("--queue", "ORDERS", "--name", "N", "--q-mgr", "QM1", "--conn-name", "127.0.0.1(1)")


@pytest.fixture
def in_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_handlers.py").write_text(HANDLERS)
    (tmp_path / "my_broken.py").write_text("import no_such_module_at_all\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@table(
    ("words", "said"),
    [
        (("my_handlers",), "is not MODULE:FUNCTION"),
        (("my_handlers:",), "is not MODULE:FUNCTION"),
        (("no_such_handlers:handle",), "there is no module no_such_handlers"),
        (("my_handlers:no_such",), "module my_handlers has no no_such"),
        (("my_handlers:value",), "is not a function"),
        (("my_handlers:double",), "must accept one argument; with --target it gets two"),
        (("my_handlers:handle", "--target", "OUT"), "must accept two arguments, because of --target"),
        (("my_handlers:handle", "--http", "8080"), "is not HOST:PORT"),
        (("my_handlers:handle", "--http", f"[::1]:{'9' * 5000}"), "is not HOST:PORT"),
        (("my_handlers:handle", "--codec", "pickle"), "'pickle' is not one of 'json', 'text'"),
        (("my_handlers:handle", "--trace", "everything"), "'everything' is not one of"),
        (("my_handlers:handle", "--workers", "0"), "0 is not in the range"),
        (("my_handlers:handle", "--name", "X Y"), "MQ names may contain only"),
        (("my_handlers:handle", "--user", "app", "--password-env", "NO_SUCH"), "NO_SUCH is not set"),
    ],
)
def test_a_command_line_that_cannot_be_is_refused(in_directory, words, said):
    result = invoke("work", *OPTIONS, *words)
    assert (result.exit_code, said in " ".join(result.output.split())) == (ExitCode.USAGE, True), result.output


def test_a_bug_in_the_users_module_keeps_its_traceback(in_directory):
    result = invoke("work", *OPTIONS, "my_broken:handle")
    assert isinstance(result.exception, ModuleNotFoundError)
    assert "no_such_module_at_all" in str(result.exception)


@pytest.fixture
def work(owner, in_directory, binding):
    """A function that starts the command; what still runs afterwards is killed."""
    started = []

    def start(*words: object) -> subprocess.Popen[str]:
        command = [*MQGROUPS, "work", "--name", owner.name, "--queue", owner.queue, *map(str, words)]
        given = {
            **os.environ,
            **owner.target.environment(),
            **environment(owner.target),
            "MQGROUPS_MQI": binding.__name__,
        }
        process = subprocess.Popen(command, env=given, cwd=in_directory, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def probed(unused_port):
    """The option of a port for probes, and a function that asks one: returns whether it says yes."""

    def says_yes(path):
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{unused_port}{path}", timeout=10):
            return True
        return False

    return ("--http", f"127.0.0.1:{unused_port}"), says_yes


def test_workers_wait_for_a_queue_manager_that_is_not_there(work, probed):
    where, says_yes = probed
    process = work("my_handlers:handle", "--q-mgr", "QM1", "--conn-name", "127.0.0.1(1)", *where)
    wait_until(lambda: says_yes("/livez"))
    assert not says_yes("/readyz")
    process.terminate()
    _, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "The workers try again" in said) == (0, True), said


def handled(directory):
    return sorted(path.read_text() for path in directory.iterdir() if len(path.name) == 48)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_groups_are_handled_until_a_signal_comes(owner, work, in_directory, probed, number):
    for group in range(4):
        owner.put_group([b"%d-%d" % (group, each) for each in range(3)])
    where, says_yes = probed
    process = work("my_handlers:Handler.method", "--workers", 2, *where)
    # One may have handled everything before the other has opened its consumer, which leaves a record if a signal comes meanwhile.
    wait_until(lambda: not owner.data() and says_yes("/readyz"))
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    # There may be warnings in between.
    where, *_, last = said.splitlines()
    assert where.startswith(f"queue manager {owner.target.q_mgr_name} at "), said
    assert "Traceback" not in said
    assert (process.returncode, f"stopped by {number.name}" in last) == (0, True)
    assert handled(in_directory) == [f"{group}-0 {group}-1 {group}-2 " for group in range(4)]
    assert [owner.on_queue(f"MQGROUPS.GET.{owner.name}.{each}") for each in (1, 2)] == [[], []]


def test_a_worker_that_cannot_work_says_why_in_one_sentence(work):
    process = work("my_handlers:Handler.method", "--workers", 1, "--queue", "NO.SUCH.QUEUE")
    said = process.stderr.readline()
    while "MQRC_UNKNOWN_OBJECT_NAME" not in said:
        said += process.stderr.readline()
    process.terminate()
    _, rest = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in said + rest
    assert "failed: MQOPEN for queue NO.SUCH.QUEUE" in " ".join(said.split())


def test_with_a_target_workers_are_pipes_which_may_have_a_codec(owner, work, make_queue):
    target = make_queue()
    owner.put_group([b"a", b"b"])
    process = work("my_handlers:double", "--codec", "text", "--target", target, "--commit-every", 1, "--workers", 1)
    wait_until(lambda: len(owner.data(target)) == 2)
    process.terminate()
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert said.splitlines()[1:] == ["mqgroups: stopped by SIGTERM; the same command continues"]
    assert [(found.data, found.is_last) for found in owner.on_queue(target)] == [(b"aa", False), (b"bb", True)]


def test_with_a_codec_messages_have_values_and_probes_are_answered_while_workers_work(
    owner, work, in_directory, unused_port, probed
):
    owner.put_group([b'{"pieces": 3}', b'{"pieces": 4}'])
    where, says_yes = probed
    process = work("my_handlers:add", "--codec", "json", *where)
    wait_until(lambda: says_yes("/readyz"))
    with urllib.request.urlopen(f"http://127.0.0.1:{unused_port}/metrics", timeout=10) as answer:
        assert f'mqgroups_worker_ready{{worker="{owner.name}.2"}} 1' in answer.read().decode()
    wait_until(lambda: not owner.data())
    process.terminate()
    assert (process.wait(PATIENCE_S), (in_directory / "sum").read_text()) == (0, "7")


def test_a_worker_that_does_not_stop_in_time_is_told_by_the_exit_code(owner, work, in_directory):
    owner.put_group([b"a", b"b"])
    process = work("my_handlers:hang", "--grace", "0.2", "--workers", 1)
    wait_until((in_directory / "hangs").exists)
    process.terminate()
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == ExitCode.FAILED
    assert f"worker {owner.name}.1 did not stop in time" in said
    wait_until(lambda: owner.data() == [b"a", b"b"])


@pytest.fixture
def unused_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]

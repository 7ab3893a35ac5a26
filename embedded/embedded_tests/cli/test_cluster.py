"""``mqembedded run --cluster`` and ``embedded channel``: a cluster is served, and its channels are told what to do."""

from __future__ import annotations

import subprocess

import pytest

from embedded_tests import fix_cli
from embedded_tests.fix_mqi import OK, wait_until
from embedded_tests.test_cluster_file import TWO
from mqembedded import Control
from mqembedded.constants import MQOO_OUTPUT

pytestmark = pytest.mark.embedded


@pytest.fixture
def file(tmp_path):
    """A function that writes a cluster file."""

    def write(text):
        path = tmp_path / "cluster.toml"
        path.write_text(text)
        return path

    return write


def wait_for_line(process, text):
    for line in process.stdout:
        if text in line:
            return line
    raise AssertionError(f"{text!r} was not said")


@pytest.fixture
def run():
    """A function that runs ``mqembedded run``, in a process that is ended after the test."""
    processes = []

    def start(*arguments):
        command = [*fix_cli.MQEMBEDDED, "run", *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.terminate()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def invoke(*arguments):
    result = fix_cli.invoke(*arguments)
    return result.exit_code, result.output


def test_a_cluster_is_served_and_one_of_it_killed_and_started_again(run, file, tmp_path, mqi):
    mqsc = tmp_path / "q.mqsc"
    mqsc.write_text("DEFINE QLOCAL(Q) CLUSTER(C) DEFPSIST(YES) REPLACE\n")
    path = file('mqsc = ["q.mqsc"]\n' + TWO)
    data = tmp_path / "data"
    cluster = run("--cluster", path, "--data", data)
    wait_for_line(cluster, "Cluster C (embedded: for development, not IBM MQ) is ready")
    idle = "C.QM2                INACTIVE  0 waiting, 0 sent in 0 batches\n"
    assert invoke("channel", "--data", data / "QM1", "status") == (0, idle)
    invoke("fault", "--data", data / "QM2", "--verb", "MQCONNX", "kill_server")
    q_mgr = Control.of(data / "QM2")
    mqi.connect("QM2", "DEV.APP.SVRCONN", f"{q_mgr.host}({q_mgr.port})")
    wait_for_line(cluster, "QM2 has ended (-9)")
    again = run("--cluster", path, "--data", data, "--qmgr", "QM2")
    wait_for_line(again, "Queue manager QM2 of cluster C is ready")
    code, said = invoke("mqsc", "--data", data / "QM1", "-c", "DISPLAY QCLUSTER(Q) CLUSQMGR")
    assert (code, said.count("CLUSQMGR(")) == (0, 2)


def test_a_queue_manager_that_is_not_in_the_file(run, file, tmp_path):
    result = fix_cli.invoke("run", "--cluster", file(TWO), "--qmgr", "QM9", "--data", tmp_path)
    assert (result.exit_code, "has no queue manager QM9, only QM1, QM2" in result.stderr) == (1, True)


def test_all_members_follow_the_readings_of_the_command_line(run, file, tmp_path, mqi):
    process = run("--cluster", file(TWO), "--data", tmp_path, "--reading", "identifiers=begin otherwise")
    wait_for_line(process, "is ready")
    for name in ("QM1", "QM2"):
        conn_name = wait_for_line(process, f"{name} ").split()[1].rstrip(",")
        code, connection = mqi.connect(name, "DEV.APP.SVRCONN", conn_name)
        assert code == OK
        put = connection.put1("SYSTEM.DEFAULT.LOCAL.QUEUE", b"m")
        assert (put.code, put.md.MsgId.startswith(b"AMQ ")) == (OK, False)
        assert connection.disconnect() == OK


def test_a_cluster_does_not_follow_a_reading_that_there_is_not(file):
    result = fix_cli.invoke("run", "--cluster", file(TWO), "--reading", "mqdisc=both")
    assert (result.exit_code, "it has 'commits', 'backs out'" in result.output) == (1, True)


def test_channels_are_stopped_and_started_by_command(cluster):
    queue = cluster.define(at=("QM2",))
    data = cluster.embedded["QM1"].data
    assert invoke("channel", "--data", data, "--to", "QM2", "stop") == (0, "")
    out = cluster.connect("QM1").open(queue, MQOO_OUTPUT)
    assert out.put(b"data").code == OK
    code, said = invoke("channel", "--data", data, "status")
    assert (code, said.splitlines()[0].split()[:4]) == (0, ["GRPCLUS.QM2", "STOPPED", "1", "waiting,"])
    for misconduct in (("interleave", "--seed", 1), ("slow", "--delay-s", 0), ("cut", "--when", "before", "--stop")):
        assert invoke("channel", "--data", data, "--to", "QM2", *misconduct) == (0, "")
    invoke("channel", "--data", data, "--to", "QM2", "start")
    wait_until(lambda: "STOPPED   0 waiting, 1 in doubt" in invoke("channel", "--data", data, "status")[1])
    invoke("channel", "--data", data, "--to", "QM2", "start")
    cluster.waits_for("QM2", queue, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("stop",), 2, "needs --to"),
        (("--to", "QM9", "stop"), 1, "has channels to QM2, QM3, and none to QM9"),
    ],
)
def test_commands_that_are_refused(cluster, arguments, code, why):
    found, said = invoke("channel", "--data", cluster.embedded["QM1"].data, *arguments)
    assert (found, why in " ".join(said.split())) == (code, True)


def test_a_queue_manager_in_no_cluster_has_no_channels(mq):
    said = invoke("channel", "--data", mq.queue_manager.data, "status")
    assert said == (1, "mqembedded: queue manager QM1 is in no cluster\n")

"""The file that describes a cluster, and the commands that serve it and speak to its channels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mqgroups.cli.main import main
from mqgroups.embedded import ClusterFileError
from mqgroups.embedded.channels.settings import ChannelSettings
from mqgroups.embedded.serve.cluster_file import read
from mqgroups.mqi.constants import MQOO_OUTPUT
from tests.fix_mqi import OK, wait_until

pytestmark = pytest.mark.embedded

DOCKER = Path(__file__).parents[2] / "docker" / "cluster"
TWO = """
cluster = "C"
[[queue_manager]]
name = "QM1"
[[queue_manager]]
name = "QM2"
"""


@pytest.fixture
def file(tmp_path):
    """A function that writes a cluster file."""

    def write(text):
        path = tmp_path / "cluster.toml"
        path.write_text(text)
        return path

    return write


def test_paths_are_relative_to_the_file(file, tmp_path):
    text = 'cluster = "C"\nmqsc = ["all.mqsc"]\n[[queue_manager]]\nname = "A"\ndata = "a"\nmqsc = ["a.mqsc"]\n'
    (entry,) = read(file(text)).queue_managers
    assert entry.mqsc == (tmp_path / "all.mqsc", tmp_path / "a.mqsc")
    assert (entry.data, entry.listen) == (tmp_path / "a", "127.0.0.1:0")


def test_channels_have_the_defaults_of_mqsc(file):
    assert read(file(TWO)).channels == ChannelSettings(
        batchsz=50, batchlim=5000, mrrty=10, mrtmr=1000, npmspeed="FAST", retry_s=0.2
    )
    assert read(file(TWO + '[channels]\nmrrty = 0\nnpmspeed = "NORMAL"\n')).channels.mrrty == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cluster = ", "Invalid value"),
        ('cluster = "C"', r"there is no \[\[queue_manager\]\]"),
        ("[[queue_manager]]\nname = 'A'", "the cluster is None"),
        ('cluster = "C"\n[[queue_manager]]\nname = "NO BLANKS"', "no legal name"),
        (TWO + 'lissen = "x"', "lissen is unknown"),
        (TWO + 'listen = "1414"', "not HOST:PORT"),
        (TWO + "data = 1", "not a path"),
        (TWO + 'mqsc = "x"', "not a list of files"),
        (TWO + '[[queue_manager]]\nname = "QM2"', "same first 12 characters"),
        (
            TWO + '[[queue_manager]]\nname = "LONG.NAME.OF.1"\n[[queue_manager]]\nname = "LONG.NAME.OF.2"',
            "12 characters",
        ),
        (TWO + '[[queue_manager]]\nname = "A.LONG.NAME.OF.ITS.OWN"', "has at most 20 characters"),
        (TWO + "[channels]\nbatchsz = 0", "batchsz"),
        (TWO + '[channels]\nnpmspeed = "QUICK"', "not FAST or NORMAL"),
        (TWO + "[channels]\nbatchsize = 5", "batchsize is unknown"),
    ],
)
def test_what_describes_no_cluster_is_refused(file, text, why):
    path = file(text)
    with pytest.raises(ClusterFileError, match=why) as refused:
        read(path)
    assert str(path) in str(refused.value)


def test_the_cluster_of_the_container_is_that_of_the_embedded_queue_managers():
    described = read(DOCKER / "cluster.toml")
    assert (described.cluster, described.names) == ("GRPCLUS", ("QM1", "QM2", "QM3"))
    for entry in described.queue_managers:
        assert [path.resolve().name for path in entry.mqsc] == ["20-mqgroups.mqsc", "30-cluster.mqsc"]
        assert all(path.exists() for path in entry.mqsc)


# --- serving


def wait_for_line(process, text):
    for line in process.stdout:
        if text in line:
            return line
    raise AssertionError(f"{text!r} was not said")


@pytest.fixture
def run():
    """A function that runs ``mqgroups embedded run``, in a process that is ended after the test."""
    processes = []

    def start(*arguments):
        command = [sys.executable, "-m", "mqgroups", "embedded", "run", *map(str, arguments)]
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
    result = CliRunner().invoke(main, ["embedded", *map(str, arguments)])
    return result.exit_code, result.output


def test_a_cluster_is_served_and_one_of_it_killed_and_started_again(run, file, tmp_path):
    mqsc = tmp_path / "q.mqsc"
    mqsc.write_text("DEFINE QLOCAL(Q) CLUSTER(C) DEFPSIST(YES) REPLACE\n")
    path = file('mqsc = ["q.mqsc"]\n' + TWO)
    data = tmp_path / "data"
    cluster = run("--cluster", path, "--data", data)
    wait_for_line(cluster, "Cluster C (embedded: for development, not IBM MQ) is ready")
    idle = "C.QM2                INACTIVE  0 waiting, 0 sent in 0 batches\n"
    assert invoke("channel", "--data", data / "QM1", "status") == (0, idle)
    invoke("fault", "--data", data / "QM2", "--verb", "MQCONNX", "kill_server")
    invoke("mqsc", "--data", data / "QM2", "-c", "DISPLAY QMGR")
    wait_for_line(cluster, "QM2 has ended (-9)")
    again = run("--cluster", path, "--data", data, "--qmgr", "QM2")
    wait_for_line(again, "Queue manager QM2 of cluster C is ready")
    code, said = invoke("mqsc", "--data", data / "QM1", "-c", "DISPLAY QCLUSTER(Q) CLUSQMGR")
    assert (code, said.count("CLUSQMGR(")) == (0, 2)


def test_a_queue_manager_that_is_not_in_the_file(run, file, tmp_path):
    result = CliRunner().invoke(
        main, ["embedded", "run", "--cluster", str(file(TWO)), "--qmgr", "QM9", "--data", str(tmp_path)]
    )
    assert (result.exit_code, "has QM1, QM2, and no QM9" in result.stderr) == (1, True)


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
    result = CliRunner().invoke(main, ["embedded", "run", "--cluster", str(file(TWO)), "--reading", "mqdisc=both"])
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
    assert said == (1, "mqgroups: queue manager QM1 is in no cluster\n")

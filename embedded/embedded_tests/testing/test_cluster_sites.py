"""The cluster under test: three containers, against a Docker engine that the test plays, or what the environment names."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("testcontainers", reason="testcontainers is not installed")

from embedded_tests import cluster_sites
from embedded_tests.testing.docker_api import HOST_PORT
from mqembedded.admin.mqsc import parse
from mqembedded.testing.provision import CONTAINER, Wanted
from mqembedded.testing.under_test import MQSC

pytestmark = pytest.mark.embedded

IMAGE = "icr.io/ibm-messaging/mq:latest"
FOLDER = Path(__file__).parents[3] / "docker" / "cluster"


@pytest.fixture
def mqsc(tmp_path):
    path = tmp_path / "mine.mqsc"
    path.write_text("DEFINE QLOCAL(MINE) REPLACE\n")
    return path


def test_each_container_is_in_one_network_under_the_name_that_the_others_channels_connect_to(engine, mqsc):
    with cluster_sites.containers(Wanted(CONTAINER, "accept", IMAGE), [mqsc]) as site:
        (network,) = engine.networks.values()
        aliases = {}
        for asked in engine.all_created.values():
            name = next(each.partition("=")[2] for each in asked["Env"] if each.startswith("MQ_QMGR_NAME="))
            assert asked["HostConfig"]["NetworkMode"] == network
            aliases[name] = asked["NetworkingConfig"]["EndpointsConfig"][network]["Aliases"]
        assert aliases == {"QM1": ["qm1"], "QM2": ["qm2"], "QM3": ["qm3"]}
        where = {name: each.conn_name for name, each in site.members.items()}
        assert where == {f"QM{number + 1}": f"127.0.0.1({HOST_PORT + number})" for number in range(3)}
        assert (site.members["QM2"].q_mgr_name, site.members["QM2"].user, site.embedded) == ("QM2", "app", None)
    assert engine.removed


def test_each_reads_what_makes_it_a_member_of_the_cluster_after_the_files_of_all(engine, mqsc):
    with cluster_sites.containers(Wanted(CONTAINER, "accept", IMAGE), [mqsc]):
        names = [path for path in sorted(engine.files) if path.startswith("/etc/mqm/")]
        texts = [engine.files[name][0] for name in names]
    files = [MQSC, mqsc, FOLDER / "30-cluster.mqsc", FOLDER / "40-qm3.mqsc"]
    assert texts == [path.read_text() for path in files]
    # The alias under which it is told to be reached is the one that it has in the network.
    (receiver,) = (each for each in parse(texts[-1]) if each.parameters.get("CHLTYPE") == "CLUSRCVR")
    assert receiver.parameters["CONNAME"] == "qm3(1414)"


def test_mqsc_commands_go_to_the_container_they_are_for_and_say_whether_they_were_done(engine, mqsc):
    engine.programs["sh"] = lambda command: (10 if "NONSENSE" in command[-1] else 0, f"{command[-2]} got {command[-1]}")
    with cluster_sites.containers(Wanted(CONTAINER, "accept", IMAGE), [mqsc]) as site:
        assert site.commands["QM2"]("DISPLAY QMGR") == (True, ["QM2 got DISPLAY QMGR"])
        done, (said,) = site.commands["QM3"]("NONSENSE")
    assert (done, "QM3 got NONSENSE" in said) == (False, True)


def test_when_one_container_does_not_start_nothing_is_left(engine, mqsc):
    engine.programs["chkmqready"] = lambda _: (1, "")
    engine.exits_after = 1
    with (
        pytest.raises(Exception, match="ended before it was ready"),
        cluster_sites.containers(Wanted(CONTAINER, "accept", IMAGE), [mqsc]),
    ):
        pass
    assert engine.removed


def test_a_cluster_that_is_given_has_the_three_queue_managers():
    with pytest.raises(AssertionError, match=r"MQTEST_CLUSTER is 'QM1=a\(1414\)', and has to name QM1, QM2, QM3"):
        cluster_sites.given({"MQTEST_CLUSTER": "QM1=a(1414)"}).__enter__()


def test_connection_names_of_a_cluster_that_is_given_are_its_members():
    variables = {"CLUSTER": "QM1=a(1414),QM2=b.example(1415),QM3=127.0.0.1(1416)", "CHANNEL": "C", "USER": "u"}
    with cluster_sites.given({f"MQTEST_{name}": value for name, value in variables.items()}) as site:
        assert [(each.q_mgr_name, each.conn_name, each.channel, each.user) for each in site.members.values()] == [
            ("QM1", "a(1414)", "C", "u"),
            ("QM2", "b.example(1415)", "C", "u"),
            ("QM3", "127.0.0.1(1416)", "C", "u"),
        ]

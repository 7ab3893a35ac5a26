"""MQContainer, against a Docker engine that the test plays; the real client of testcontainers is in between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("testcontainers", reason="testcontainers is not installed")

from embedded_tests.tables import table
from embedded_tests.testing.docker_api import HOST_PORT
from mqembedded.testing.container import MQContainer, MQContainerError, docker_engine

PASSWORD, ADMIN = "correct-horse-battery", "staple-of-the-admin"


@pytest.fixture
def mqsc(tmp_path):
    paths = [tmp_path / "zz.mqsc", tmp_path / "aa.mqsc"]
    for path in paths:
        path.write_text(f"DEFINE QLOCAL('{path.stem}') REPLACE\n")
        path.chmod(0o600)
    return paths


@pytest.fixture
def container(engine, mqsc):
    with MQContainer(license="accept", q_mgr_name="QM7", mqsc=mqsc, password=PASSWORD, admin_password=ADMIN) as started:
        yield started


def test_the_engine_tells_its_version(engine):
    assert docker_engine() == "27.0.0"


def test_without_an_engine_one_sentence_says_so(no_engine):
    with pytest.raises(
        MQContainerError, match=r"^no Docker engine answers \(No such file or directory\), .*DOCKER_HOST$"
    ):
        docker_engine()


def test_the_queue_manager_is_named_and_the_licence_accepted_in_the_containers_environment(container, engine):
    variables = dict(each.split("=", 1) for each in engine.created["Env"])
    assert variables == {"LICENSE": "accept", "MQ_QMGR_NAME": "QM7", "MQ_ENABLE_EMBEDDED_WEB_SERVER": "false"}
    assert engine.created["Image"] == "icr.io/ibm-messaging/mq:latest"


def test_the_listener_is_published_on_a_port_that_the_engine_picks(container, engine):
    assert engine.created["ExposedPorts"] == {"1414/tcp": {}}
    assert engine.created["HostConfig"]["PortBindings"] == {"1414/tcp": [{"HostIp": "", "HostPort": ""}]}
    assert container.conn_name == f"127.0.0.1({HOST_PORT})"
    assert (container.channel, container.q_mgr_name) == ("DEV.APP.SVRCONN", "QM7")


def test_passwords_are_secret_files_that_any_user_of_the_container_can_read(container, engine):
    secrets = {path: found for path, found in engine.files.items() if path.startswith("/run/secrets/")}
    assert secrets == {
        "/run/secrets/mqAppPassword": (PASSWORD, 0o444),
        "/run/secrets/mqAdminPassword": (ADMIN, 0o444),
    }


def test_no_password_is_in_what_the_engine_is_asked_or_in_the_repr(container, engine):
    text = json.dumps([engine.created, engine.executed]) + repr(container)
    assert PASSWORD not in text
    assert ADMIN not in text
    assert repr(container) == "<MQContainer QM7 icr.io/ibm-messaging/mq:latest c0ffeec0ffee>"


def test_the_folder_of_the_secrets_keeps_others_out_and_is_gone_with_the_container(engine):
    with MQContainer(license="accept", password=PASSWORD):
        (bind,) = engine.created["HostConfig"]["Binds"]
        folder = Path(bind.split(":")[0]).parent
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()
    assert engine.removed


def test_mqsc_files_keep_their_order_behind_the_images_own_whatever_their_names_and_modes(container, engine):
    mounted = sorted(path for path in engine.files if path.startswith("/etc/mqm/"))
    assert mounted == ["/etc/mqm/30-00-zz.mqsc", "/etc/mqm/30-01-aa.mqsc"]
    assert engine.files[mounted[0]] == ("DEFINE QLOCAL('zz') REPLACE\n", 0o444)
    # What the image brings: 10-dev.mqsc, 15-tls.mqsc, 20-dev-tls.mqsc.
    assert all(path > "/etc/mqm/20-dev-tls.mqsc" for path in mounted)


def test_a_password_that_is_not_given_is_made_and_there_is_no_admin(engine):
    with MQContainer(license="accept") as first, MQContainer(license="accept") as second:
        assert set(engine.files) == {"/run/secrets/mqAppPassword"}
        assert len(first.password) >= 8
        assert first.password != second.password


def test_it_is_started_when_the_queue_manager_says_that_it_is_ready(container, engine):
    assert engine.executed == [["chkmqready"]] * 3


def test_an_image_that_is_not_there_is_pulled(engine):
    with MQContainer("icr.io/ibm-messaging/mq:9.4.2.0-r1", license="accept"):
        assert engine.pulled == ["icr.io/ibm-messaging/mq:9.4.2.0-r1"]


@table("said", ["", "view", "yes", "ACCEPT"])
def test_nothing_but_the_word_accepts_the_licence(engine, said):
    with pytest.raises(MQContainerError, match=r"the licence of .* is not accepted: read it"):
        MQContainer(license=said)
    assert engine.created == {}


def test_a_password_that_the_image_would_refuse_is_refused_before(engine):
    with pytest.raises(MQContainerError, match="a password has 7 characters; the image needs at least 8"):
        MQContainer(license="accept", password="seven77")


def test_a_missing_mqsc_file_is_told_before_anything_is_started(engine, tmp_path):
    with pytest.raises(MQContainerError, match=r"missing\.mqsc does not exist"):
        MQContainer(license="accept", mqsc=[tmp_path / "missing.mqsc"])


def test_a_container_that_ends_is_removed_and_its_log_is_told_without_the_password(engine):
    engine.programs["chkmqready"] = lambda _: (1, "")
    engine.exits_after = 2
    engine.log = f"Error: Set environment variable LICENSE=accept\n\nset to {PASSWORD}\nLicense not accepted\n"
    with pytest.raises(MQContainerError) as told:
        MQContainer(license="accept", password=PASSWORD).start()
    message = str(told.value)
    assert "ended before it was ready" in message
    assert message.endswith("Error: Set environment variable LICENSE=accept\nset to ********\nLicense not accepted")
    assert engine.removed


def test_a_queue_manager_that_is_never_ready_is_given_up_and_removed(engine):
    engine.programs["chkmqready"] = lambda _: (1, "")
    engine.log = "\n".join(f"line {number}" for number in range(100))
    with pytest.raises(MQContainerError, match=r"was not ready within 0\.2 s:\nline 85\n(.*\n)+line 99$"):
        MQContainer(license="accept", ready_s=0.2).start()
    assert engine.removed


def test_mqsc_commands_reach_runmqsc_as_they_are_written(container, engine):
    commands = "ALTER QLOCAL('Q') DESCR('it''s $HOME; \"quoted\" `x`')\nDISPLAY QMGR"
    engine.programs["sh"] = lambda command: (0, f"{command[-2]} got {command[-1]}")
    assert container.run_mqsc(commands) == f"QM7 got {commands}"
    shell, flag, script, *_ = engine.executed[-1]
    assert (shell, flag, script) == ("sh", "-c", 'printf "%s\\n" "$2" | runmqsc "$1"')


def test_mqsc_commands_that_fail_are_told_with_what_runmqsc_wrote(container, engine):
    engine.programs["sh"] = lambda _: (
        10,
        "AMQ8405I: Syntax error detected at or near end of command segment below:-\n",
    )
    with pytest.raises(MQContainerError, match=r"runmqsc QM7 ended with exit code 10:\nAMQ8405I"):
        container.run_mqsc("DEFINE NONSENSE")


def test_the_version_is_the_installations(container, engine):
    assert container.version() == "9.4.2.0"
    assert engine.executed[-1] == ["dspmqver", "-b", "-f", "2"]

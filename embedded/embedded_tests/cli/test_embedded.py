"""``mqembedded``: the client library, and what a running queue manager is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded_tests.fix_cli import invoke
from embedded_tests.fix_mqi import failed, wait_until

pytestmark = pytest.mark.embedded


def test_build_prints_a_directory_laid_out_as_ibms_client():
    directory = Path(invoke("build", "--print-dir").output.strip())
    for name in ("inc/cmqc.h", "lib64/libmqic_r.so", "lib64/libmqm_r.so"):
        assert (directory / name).is_file()


@pytest.fixture
def q_mgr(own_queue_manager):
    return own_queue_manager()


def test_a_fault_is_set_and_forgotten_and_calls_are_counted(connect, q_mgr):
    connected = connect(to=q_mgr)
    done = invoke("fault", "--data", q_mgr.data, "--verb", "MQCMIT", "--reason", "2024", "answer")
    assert (done.exit_code, done.output) == (0, "")
    assert connected.commit() == failed(2024)
    assert "MQCMIT   1" in invoke("calls", "--data", q_mgr.data).output
    assert invoke("fault", "--data", q_mgr.data, "clear").exit_code == 0
    assert q_mgr.faults_fired() == 0


def test_a_queue_manager_that_is_told_to_quiesce_ends_when_the_last_application_has_gone(connect, q_mgr):
    connected = connect(to=q_mgr)
    assert invoke("quiesce", "--data", q_mgr.data).exit_code == 0
    assert q_mgr.is_running
    connected.disconnect()
    wait_until(lambda: not q_mgr.is_running)


@pytest.mark.parametrize("command", [("calls",), ("quiesce",), ("fault", "clear")])
def test_a_queue_manager_that_does_not_run_is_told_in_one_line(tmp_path, command):
    done = invoke(*command, "--data", tmp_path)
    assert done.exit_code == 1
    assert done.stderr.startswith("mqembedded: no embedded queue manager runs on")
    assert done.stderr.count("\n") == 1

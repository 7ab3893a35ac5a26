"""Workers in processes under ``opentelemetry-instrument``: each sends its own telemetry, at OpenTelemetry's floor and newest."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml

from embedded_tests.tables import table
from mqgroups.telemetry.child_process import traced_as, variables
from mqgroups.workers.status import Board
from mqgroups.workers.worker import Job, Worker
from tests import fix_otlp
from tests.fix_cli import environment, free_port
from tests.fix_otlp import collecting
from tests.workers import handlers
from tests.workers.conftest import wait_until

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "/x/opentelemetry/instrumentation/auto_instrumentation"
HANDLERS = "def handle(group):\n    list(group)\n"


@table(
    ("given", "folder", "expected"),
    [
        ({}, "", {"OTEL_RESOURCE_ATTRIBUTES": "service.instance.id=N.1"}),
        (
            {"OTEL_RESOURCE_ATTRIBUTES": "a=b,service.instance.id=pod,c=d"},
            "",
            {"OTEL_RESOURCE_ATTRIBUTES": "a=b,c=d,service.instance.id=N.1"},
        ),
        (
            {"PYTHONPATH": "/a"},
            FOLDER,
            {"OTEL_RESOURCE_ATTRIBUTES": "service.instance.id=N.1", "PYTHONPATH": f"{FOLDER}:/a"},
        ),
        ({"PYTHONPATH": f"{FOLDER}:/a"}, FOLDER, {"OTEL_RESOURCE_ATTRIBUTES": "service.instance.id=N.1"}),
    ],
)
def test_a_worker_has_its_name_as_instance_and_is_instrumented_as_its_supervisor(given, folder, expected):
    assert variables("N.1", given, folder) == expected


def test_the_environment_is_as_before_when_the_process_is_started():
    given = {"OTEL_RESOURCE_ATTRIBUTES": "a=b"}
    with traced_as("N.1", given):
        assert given == {"OTEL_RESOURCE_ATTRIBUTES": "a=b,service.instance.id=N.1"}
    assert given == {"OTEL_RESOURCE_ATTRIBUTES": "a=b"}


def test_one_of_fifty_workers_has_series_of_its_own_work_only_and_none_of_the_names_it_looks_at(site, measured):
    """A stream is a metric with its attributes: for Prometheus one series, or the 13 to 17 of a histogram."""
    groups = site.put_groups(3)
    forward = functools.partial(handlers.forward, site.directory)
    job = Job(forward, site.connect, site.pipe_opener(), site.owner.name, range(1, 51), 0.0, None)
    worker = Worker(job, 1, Board())
    thread = threading.Thread(target=worker.run)
    thread.start()
    wait_until(site.is_done)
    worker.stop()
    thread.join()
    assert site.forwarded() == groups
    found = measured()
    waits = {dict(attributes)["messaging.destination.name"] for attributes in found["mqgroups.status.queue.wait"]}
    of_the_test = f"MQGROUPS.PUT.{site.owner.name}"
    assert waits - {of_the_test} == {f"MQGROUPS.{role}.{site.owner.name}.1" for role in ("GET", "PUT")}
    assert sum(map(len, found.values())) < 25


@pytest.fixture(scope="module", params=fix_otlp.VERSIONS)
def opentelemetry(request, tmp_path_factory):
    """A folder with OpenTelemetry's packages of one version."""
    return fix_otlp.opentelemetry(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def work(owner, tmp_path, opentelemetry):
    """A function that runs two workers until they have handled eight groups, and returns how long they took to stop."""

    def run(**variables):
        for group in range(8):
            owner.put_group([b"%d" % group] * 3)
        (tmp_path / "my_handlers.py").write_text(HANDLERS)
        words = ["work", "my_handlers:handle", "--name", owner.name, "--queue", owner.queue, "--trace", "message"]
        instrument = "from opentelemetry.instrumentation.auto_instrumentation import run; run()"
        given = {
            **os.environ,
            **owner.target.environment(),
            **environment(owner.target),
            "PYTHONPATH": os.pathsep.join([str(opentelemetry), str(ROOT), str(tmp_path)]),
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test",
            **variables,
        }
        command = [sys.executable, "-c", instrument, "--", sys.executable, "-m", "mqgroups", *words]
        process = subprocess.Popen(command, env=given, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: not owner.data())
            process.send_signal(signal.SIGTERM)
            began_s = time.monotonic()
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == 0, said
        return time.monotonic() - began_s

    return run


@pytest.mark.nightly
@pytest.mark.slow
def test_workers_stop_in_time_without_a_collector(work):
    compose = yaml.safe_load((ROOT / "docker" / "app" / "compose.yaml").read_text())["x-environment"]
    given = {name: text for name, text in compose.items() if name.startswith("OTEL_")}
    assert work(**given | {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"}) < 10


@pytest.mark.nightly
@pytest.mark.slow
def test_each_worker_sends_its_own_spans_and_metrics(owner, work):
    with collecting() as collector:
        work(**collector.environment("orders.sink"))
    got = [sender for sender, span in collector.spans if span.name == f"get {owner.queue}"]
    assert len(got) == 8
    assert {sender["service.name"] for sender in got} == {"orders.sink"}
    assert {sender["deployment.environment"] for sender in got} == {"test"}
    by_instance = {
        dict(labels)["instance"]: value
        for (name, labels), value in collector.series.items()
        if name == "mqgroups_units_of_work_total"
    }
    assert set(by_instance) <= {f"{owner.name}.1", f"{owner.name}.2"}
    assert sum(by_instance.values()) == 8

"""A night is rehearsed: troubles under a real Prometheus, one after the other; for each the right alert fires, and no other.

Prometheus has the alerts of ``docker/telemetry``, with a second for each minute. A trouble is mended when its alert has fired,
and all alerts must end before the next one. At the end each query of the dashboard has had data.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from mqembedded import EmbeddedQueueManager, Fault
from tests.fix_cli import MQGROUPS, free_port
from tests.fix_otlp import Collector, collecting, instrumented, opentelemetry

ROOT = Path(__file__).resolve().parents[2]
TELEMETRY = ROOT / "docker" / "telemetry"
QUEUES = """
DEFINE QLOCAL(ORDERS)
DEFINE QLOCAL(LATE)
DEFINE QLOCAL(CRASH)
DEFINE QLOCAL(OTHER)
DEFINE QLOCAL(POISON.BACK)
DEFINE QLOCAL(POISON) BOTHRESH(1) BOQNAME(POISON.BACK)
"""
PATIENCE_S = 60

pytestmark = [
    pytest.mark.slow,
    pytest.mark.embedded,
    # A minute of the alerts is a second here: beside other tests, a worker that starts slowly is one that is not ready.
    pytest.mark.skipif(
        "MQGROUPS_NIGHT" not in os.environ, reason="needs MQGROUPS_NIGHT=1: four minutes of an idle machine"
    ),
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="Prometheus is not installed"),
]


def faster(rules: str) -> str:
    """Return alerts in which a minute lasts a second."""
    rules = re.sub(r"(?<=\[|:| )(\d+)m(?=[]: \n)])", r"\1s", rules)
    rules = re.sub(r"(?<=\[)(\d+)h", r"\1m", rules)
    rules = rules.replace("[1d]", "[24m]")
    return rules.replace(":30s]", ":500ms]").replace("> bool 300", "> bool 5").replace("> 900", "> 15")


@pytest.fixture
def packages(tmp_path_factory):
    """OpenTelemetry's newest packages."""
    return opentelemetry("newest", tmp_path_factory.mktemp("opentelemetry"))


class Prometheus:
    """A Prometheus that asks a collector and pages."""

    def __init__(self, directory: Path, collector: Collector, pages: list[str]) -> None:
        rules = directory / "alerts.yaml"
        rules.write_text(faster((TELEMETRY / "alerts.yaml").read_text()))
        config = yaml.safe_load((TELEMETRY / "prometheus.yaml").read_text())
        config["global"] = {"scrape_interval": "500ms", "evaluation_interval": "500ms"}
        config["rule_files"] = [str(rules)]
        of_collector, of_pages = config["scrape_configs"]
        of_collector["static_configs"] = [{"targets": [f"127.0.0.1:{collector.port}"]}]
        (directory / "targets.yaml").write_text(yaml.safe_dump([{"targets": pages}]))
        of_pages["file_sd_configs"] = [{"files": [str(directory / "targets.yaml")]}]
        (directory / "prometheus.yaml").write_text(yaml.safe_dump(config))
        self._port = free_port()
        self.command = [
            "prometheus",
            f"--config.file={directory / 'prometheus.yaml'}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{self._port}",
            "--query.lookback-delta=5s",
        ]

    def ask(self, path: str, **parameters: Any) -> Any:
        """Return what the API answers."""
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            self.ask("alerts")
        except OSError:
            return False
        return True

    def firing(self) -> set[str]:
        """Return the alerts that fire."""
        return {each["labels"]["alertname"] for each in self.ask("alerts")["alerts"] if each["state"] == "firing"}

    def fired(self, since_s: float) -> set[str]:
        """Return the alerts that have fired since then."""
        seconds = max(1, int(time.time() - since_s))
        query = f'max_over_time(ALERTS{{alertstate="firing"}}[{seconds}s])'
        return {each["metric"]["alertname"] for each in self.ask("query", query=query)["result"]}


def until(condition: Callable[[], Any], most_s: float = PATIENCE_S) -> None:
    """Return when the condition holds."""
    deadline_s = time.monotonic() + most_s
    while not condition():
        assert time.monotonic() < deadline_s, f"still waiting after {most_s} s"
        time.sleep(0.2)


class Night:
    """The queue manager, the programs that work all night, and Prometheus."""

    def __init__(self, stack: ExitStack, directory: Path, packages: Path) -> None:
        self.directory = directory
        self._stack = stack
        (directory / "queues.mqsc").write_text(QUEUES)
        mqsc = [ROOT / "docker" / "20-mqgroups.mqsc", directory / "queues.mqsc"]
        self.q_mgr = stack.enter_context(EmbeddedQueueManager("QM1", mqsc=mqsc))
        self.collector = stack.enter_context(collecting(expires_s=4.0))
        self._packages = packages
        pages = [f"127.0.0.1:{free_port()}" for _ in range(3)]
        words = ["tests.night.programs:handle", "--queue", "ORDERS", "--name", "SINK", "--trace", "message"]
        self.start([*MQGROUPS, "work", *words, "--http", pages[0], "--grace", "5"], service="sink")
        self.watches = [
            self.start([*MQGROUPS, "watch", "--queue", queue, "--http", page], service="watch")
            for queue, page in zip(("ORDERS", "LATE"), pages[1:], strict=True)
        ]
        self.pages = pages
        self.prometheus = Prometheus(directory, self.collector, pages)
        self._keep(subprocess.Popen(self.prometheus.command, stderr=subprocess.DEVNULL))

    def start(self, command: list[str], *, service: str) -> subprocess.Popen[bytes]:
        """Start a program that sends telemetry."""
        given = {
            **os.environ,
            **self.q_mgr.environment(),
            **instrumented(self._packages, ROOT, ROOT / "embedded"),
            **self.collector.environment(service),
            "MQGROUPS_CONN_NAME": self.q_mgr.conn_name,
            "OTEL_METRIC_EXPORT_INTERVAL": "500",
            "OTEL_TRACES_EXPORTER": "none",
            "NIGHT": str(self.directory),
        }
        log = self._stack.enter_context((self.directory / f"{service}.log").open("ab"))
        return self._keep(subprocess.Popen(command, env=given, stdout=log, stderr=log))

    def run(self, program: str, *, service: str = "batch") -> subprocess.Popen[bytes]:
        """Start one of ``programs.py``."""
        return self.start([sys.executable, "-m", "tests.night.programs", program], service=service)

    def _keep(self, process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process

    @contextmanager
    def flag(self, name: str) -> Iterator[None]:
        """Have a file for the ``with`` block."""
        (self.directory / name).touch()
        yield
        (self.directory / name).unlink()

    @contextmanager
    def expects(self, alert: str, may_fire: frozenset[str] = frozenset()) -> Iterator[None]:
        """Make a trouble in the ``with`` block, which must wait for ``alert``; no other one fires until all is well again.

        ``may_fire``: besides those that say the same of the same trouble.
        """
        since_s = time.time()
        assert not self.prometheus.firing()
        yield
        until(lambda: not self.prometheus.firing())
        assert self.prometheus.fired(since_s) - may_fire == {alert}

    @contextmanager
    def altered(self, queue: str, attribute: str) -> Iterator[None]:
        """Have a queue disabled for GET or PUT for the ``with`` block."""
        for value in "DISABLED", "ENABLED":
            done, says = self.q_mgr.control.mqsc(f"ALTER QLOCAL({queue}) {attribute}({value})")
            assert done, says
            if value == "DISABLED":
                yield

    def fires(self, alert: str) -> None:
        """Wait until an alert fires."""
        until(lambda: alert in self.prometheus.firing())


def away(night: Night) -> None:
    with night.expects("CannotConnect", frozenset({"WorkerFails"})):
        night.q_mgr.arm(Fault("answer", verb="MQCONNX", times=0, reason=2059))
        for verb in "MQGET", "MQPUT", "MQOPEN":
            night.q_mgr.arm(Fault("drop", verb=verb, times=0))
        night.fires("CannotConnect")
        night.q_mgr.clear_faults()
        # They reconnect at the speed of a night that is not faster, and WorkerFails takes an average.
        ready = "avg_over_time(mqgroups_worker_ready[5s]) > 0.9"
        until(lambda: len(night.prometheus.ask("query", query=ready)["result"]) == 2)


def crash_loop(night: Night) -> None:
    with night.expects("UnitsOfWorkBackedOut"):
        night.run("put_failing").wait()
        while "UnitsOfWorkBackedOut" not in night.prometheus.firing():
            night.run("failing").wait()


def goes_on(night: Night) -> None:
    with night.expects("UnitsOfWorkBackedOut"), night.flag("errors"):
        program = night.run("goes_on")
        night.fires("UnitsOfWorkBackedOut")
    program.wait()


def closed_for_puts(night: Night) -> None:
    with night.expects("PutsWait"), night.altered("OTHER", "PUT"):
        night.run("other")
        night.fires("PutsWait")


def poison(night: Night) -> None:
    with night.expects("PoisonMessage"):
        night.run("poison").wait()
        night.fires("PoisonMessage")


def replaced(night: Night) -> None:
    with night.expects("NameTaken"):
        program = night.run("replaced")
        night.fires("NameTaken")
        program.kill()


def waiting(night: Night) -> None:
    with night.expects("NameTaken"):
        night.run("holder")
        until((night.directory / "held").exists)
        night.run("waiter")
        night.fires("NameTaken")


def stuck(night: Night) -> None:
    with night.expects("WorkerStuck"), night.flag("hang"):
        night.fires("WorkerStuck")


def commit_hangs(night: Night) -> None:
    for file in "hanging", "paused":
        (night.directory / file).unlink(missing_ok=True)
    with night.expects("WorkerStuck"), ExitStack() as pause:
        with night.flag("hang"):
            until((night.directory / "hanging").exists)
            pause.enter_context(night.flag("pause"))
            until((night.directory / "paused").exists)
            # The next commit is that of the worker that hangs in its group.
            night.q_mgr.arm(Fault("freeze", verb="MQCMIT"))
        night.fires("WorkerStuck")
        night.q_mgr.clear_faults()


def restarting(night: Night) -> None:
    # A worker that crashes again and again is not ready for most of the time.
    with night.expects("WorkerRestarting", frozenset({"WorkerFails"})), night.flag("crash"):
        night.fires("WorkerRestarting")


def stalled(night: Night) -> None:
    with night.expects("GroupsStalled"):
        night.run("half_a_group").wait()
        night.fires("GroupsStalled")
        night.run("one_group").wait()
        night.run("read_late").wait()


def not_seen(night: Night) -> None:
    with night.expects("QueueNotSeen"), night.altered("LATE", "GET"):
        night.fires("QueueNotSeen")


def late(night: Night) -> None:
    with night.expects("GroupsLate"):
        night.run("one_group").wait()
        night.fires("GroupsLate")
        night.run("read_late").wait()


def ended(night: Night) -> None:
    with night.expects("TelemetryMissing"):
        program = night.run("ends", service="ends")
        until((night.directory / "ends").exists)
        until(lambda: any(dict(labels).get("job") == "ends" for _, labels in night.collector.series))
        program.kill()
        night.fires("TelemetryMissing")
        night.run("ends", service="ends")


def page_gone(night: Night) -> None:
    with night.expects("PageMissing"):
        night.watches[1].kill()
        night.fires("PageMissing")
        night.start([*MQGROUPS, "watch", "--queue", "LATE", "--http", night.pages[2]], service="watch")


TROUBLES = (
    away, crash_loop, goes_on, closed_for_puts, poison, replaced, waiting, stuck, commit_hangs, restarting, stalled, not_seen,
    late, ended, page_gone,
)  # fmt: skip


def test_each_trouble_has_its_alert_and_no_other_and_the_dashboard_shows_the_night(tmp_path, packages):
    with ExitStack() as stack:
        began_s = time.time()
        night = Night(stack, tmp_path, packages)
        until(night.prometheus.is_ready)
        until(lambda: len(night.prometheus.ask("query", query="mqgroups_worker_ready == 1")["result"]) == 2)
        night.run("loader", service="loader")
        until(lambda: night.prometheus.ask("query", query="mqgroups_worker_groups_total > 5")["result"])
        # Nobody is told of two commits without an answer, but the dashboard shows their verdicts.
        for nth in (5, 15):
            night.q_mgr.arm(Fault("drop", "after", verb="MQCMIT", nth=nth))
        until(lambda: night.prometheus.ask("query", query="mqgroups_in_doubt_total")["result"])
        for trouble in TROUBLES:
            print(f"{time.time() - began_s:5.0f} s  {trouble.__name__}", flush=True)
            trouble(night)
        dashboard = json.loads((TELEMETRY / "grafana" / "dashboards" / "mqgroups.json").read_text())
        empty = []
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                query = target["expr"].replace("$queue", ".*").replace("$__rate_interval", "10s")
                if "mqgroups_spark" in query:
                    continue  # no Spark query runs in this night
                found = night.prometheus.ask("query_range", query=query, start=began_s, end=time.time(), step="1")
                if not found["result"]:
                    empty.append((panel["title"], query))
        assert not empty

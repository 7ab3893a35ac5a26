"""Whether workers are alive and ready, told by HTTP and by files; and their figures, as Prometheus reads them."""

from __future__ import annotations

import logging
import re
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mqgroups.workers import supervisor
from mqgroups.workers.health import Health, prometheus
from mqgroups.workers.status import Board, WorkerStatus
from tests.workers import handlers
from tests.workers.conftest import wait_until

BUSY = WorkerStatus("ORDERS.SINK.1", running=True, ready=True, groups=12, group_s=3.5, restarts=1)
GONE = WorkerStatus("ORDERS.SINK.2", running=False, ready=False, groups=0, group_s=0.0, restarts=7)


class Supervised:
    """Workers as their health is told."""

    is_live = True
    is_ready = True

    def status(self):
        return (BUSY, GONE)


def ask(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def served(caplog):
    caplog.set_level(logging.INFO, logger="mqgroups.workers")
    workers = Supervised()
    with Health(workers, ("127.0.0.1", 0), None):
        yield workers, port_in(caplog)


def port_in(caplog):
    (port,) = re.findall(r"served at \S+ port (\d+)", caplog.text)
    return int(port)


def test_a_port_that_is_taken_is_named(served):
    _, port = served
    with pytest.raises(OSError, match=f"in use: '127.0.0.1:{port}'"):
        Health(Supervised(), ("127.0.0.1", port), None)


def test_probes_are_answered_by_status_code(served):
    workers, port = served
    assert [ask(port, path)[0] for path in ("/livez", "/readyz", "/metrics", "/")] == [200, 200, 200, 404]
    workers.is_ready = False
    assert [ask(port, path)[0] for path in ("/livez", "/readyz")] == [200, 503]
    workers.is_live = False
    assert [ask(port, path)[0] for path in ("/livez", "/readyz")] == [503, 503]


def test_metrics_are_what_prometheus_reads(served):
    _, port = served
    found = {
        (sample.name, sample.labels["worker"]): (family.type, sample.value)
        for family in text_string_to_metric_families(ask(port, "/metrics")[1])
        for sample in family.samples
    }
    one, two = BUSY.name, GONE.name
    assert found == {
        ("mqgroups_worker_up", one): ("gauge", 1),
        ("mqgroups_worker_up", two): ("gauge", 0),
        ("mqgroups_worker_ready", one): ("gauge", 1),
        ("mqgroups_worker_ready", two): ("gauge", 0),
        ("mqgroups_worker_groups_total", one): ("counter", 12),
        ("mqgroups_worker_groups_total", two): ("counter", 0),
        ("mqgroups_worker_group_seconds", one): ("gauge", 3.5),
        ("mqgroups_worker_group_seconds", two): ("gauge", 0),
        ("mqgroups_worker_restarts_total", one): ("counter", 1),
        ("mqgroups_worker_restarts_total", two): ("counter", 7),
    }
    assert prometheus([]).count("# TYPE") == 5


def test_files_say_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("mqgroups.workers.health._EVERY_S", 0.01)
    workers, directory = Supervised(), tmp_path / "made" / "here"
    with Health(workers, None, directory):
        assert sorted(path.name for path in directory.iterdir()) == ["live", "ready"]
        first = (directory / "live").stat().st_mtime_ns
        wait_until(lambda: (directory / "live").stat().st_mtime_ns > first)
        workers.is_ready = False
        wait_until(lambda: not (directory / "ready").exists())
        workers.is_live = False
        workers.is_ready = True
        wait_until((directory / "ready").exists)
        last = (directory / "live").stat().st_mtime_ns
        workers.is_ready = False
        wait_until(lambda: not (directory / "ready").exists())
        assert (directory / "live").stat().st_mtime_ns == last
    assert not any(directory.iterdir())


def test_an_address_in_use_is_an_error_before_any_worker_is_started(site, served):
    _, port = served
    with pytest.raises(OSError, match="in use"):
        site.make(handlers.write).run(http=("127.0.0.1", port))
    assert site.status_queues() == []


def test_workers_are_ready_when_all_have_their_names_and_not_when_they_stop(site, threads, caplog):
    caplog.set_level(logging.INFO, logger="mqgroups.workers")
    directory = site.directory / "health.d"
    workers = site.start(site.make(handlers.slowly, threads=threads), http=("127.0.0.1", 0), health_directory=directory)
    wait_until(lambda: workers.is_ready)
    port = port_in(caplog)
    assert ask(port, "/readyz")[0] == ask(port, "/livez")[0] == 200
    wait_until((directory / "ready").exists)
    site.put_groups(1)
    wait_until((site.directory / "waits.flag").exists)
    busy = [one for one in workers.status() if one.group_s]
    assert len(busy) == 1
    workers.stop()
    wait_until(lambda: ask(port, "/readyz")[0] == 503)
    assert ask(port, "/livez")[0] == 200
    wait_until(lambda: not (directory / "ready").exists())
    (site.directory / "go.flag").touch()
    assert site.stop()
    assert not any(directory.iterdir())


def test_a_supervisor_that_does_not_turn_is_not_live(site, monkeypatch):
    workers = site.make(handlers.write)
    assert not workers.is_live
    site.start(workers)
    wait_until(lambda: workers.is_live)
    monkeypatch.setattr(supervisor, "_DEAD_S", 0.0)
    assert not workers.is_live
    site.stop()


def test_a_board_forgets_a_worker_but_not_what_was_done():
    board = Board()
    board.is_ready()
    board.begins()
    assert board.ready
    assert board.group_s > 0
    board.ends(whole=True)
    board.begins()
    board.ends(whole=False)
    board.begins()
    board.clear()
    assert (board.ready, board.groups, board.group_s) == (False, 1, 0)

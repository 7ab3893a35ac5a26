"""Whether workers are alive and ready, told by HTTP; and their figures, as Prometheus reads them."""

from __future__ import annotations

import contextlib
import http.client
import logging
import re
import socket
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mqgroups import pages
from mqgroups.workers import supervisor
from mqgroups.workers.health import figures, health_pages
from mqgroups.workers.status import Board, WorkerStatus
from tests.workers import handlers
from tests.workers.conftest import wait_until

BUSY = WorkerStatus("ORDERS.SINK.1", running=True, ready=True, groups=12, group_s=3.5, quiet_s=1.5, restarts=1)
GONE = WorkerStatus("ORDERS.SINK.2", running=False, ready=False, groups=0, group_s=0.0, quiet_s=0.0, restarts=7)


class Supervised:
    """Workers as their health is told."""

    is_live = True
    is_ready = True

    def status(self):
        return (BUSY, GONE)


def ask(port, path, method="GET", host=None):
    headers = {} if host is None else {"Host": host}
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def served(caplog):
    caplog.set_level(logging.INFO, logger="mqgroups")
    workers = Supervised()
    with pages.Pages(("127.0.0.1", 0), health_pages(workers)):
        yield workers, port_in(caplog)


def port_in(caplog):
    (port,) = re.findall(r"served at \S+ port (\d+)", caplog.text)
    return int(port)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "0.0.0.0", "localhost"])
def test_at_whichever_address_a_name_of_the_internet_is_not_answered(monkeypatch, caplog, address):
    """Its owner may have it lead here, and a browser here would let the owner's page read the answer (DNS rebinding)."""
    caplog.set_level(logging.INFO, logger="mqgroups")
    monkeypatch.setenv("MQGROUPS_HTTP_NAMES", "Watch.Example.com, mq.example.com")
    monkeypatch.setattr(socket, "gethostname", lambda: "qm1.site.example")
    with pages.Pages((address, 0), {"/": lambda: pages.Page("names of queues")}):
        port = port_in(caplog)
        to = "127.0.0.1" if address != "127.0.0.2" else address

        def answer(*hosts):
            asked = http.client.HTTPConnection(to, port, timeout=10)
            asked.putrequest("GET", "/", skip_host=True)
            for host in hosts:
                asked.putheader("Host", host)
            asked.endheaders()
            with asked.getresponse() as answered:
                return answered.status, answered.read() == b"names of queues"

        own = ("localhost", f"LOCALHOST:{port}", "127.0.0.1", f"[::1]:{port}", "10.1.2.3", "", "orders-watch:8080")
        named = (f"watch.example.com:{port}", "MQ.EXAMPLE.COM", "mq.example.com.", "qm1.site.example")
        assert {answer(host) for host in (*own, *named)} == {(200, True)}
        assert answer() == (200, True)
        others = (
            "evil.example",
            f"localhost.evil.example:{port}",
            "127.0.0.1.evil.example",
            "localhost:1:2",
            "evil.local",
        )
        more = ("[evil.example]", "x.mq.example.com", "evil.example#127.0.0.1", "127.0.0.1@evil.example", "..")
        assert {answer(host) for host in (*others, *more)} == {(403, False)}
        assert answer("localhost", "evil.example") == (403, False)


def test_a_port_that_is_taken_is_named(served):
    _, port = served
    with pytest.raises(OSError, match=f"in use: '127.0.0.1:{port}'"):
        pages.Pages(("127.0.0.1", port), {})


def test_probes_are_answered_by_status_code(served):
    workers, port = served
    assert [ask(port, path)[0] for path in ("/livez", "/readyz", "/metrics", "/")] == [200, 200, 200, 404]
    workers.is_ready = False
    assert [ask(port, path)[0] for path in ("/livez", "/readyz")] == [200, 503]
    workers.is_live = False
    assert [ask(port, path)[0] for path in ("/livez", "/readyz")] == [503, 503]


def test_load_balancers_may_ask_with_head_and_with_a_query_and_are_told_no_versions(served):
    workers, port = served
    assert ask(port, "/livez?from=here") == (200, "ok\n")
    assert ask(port, "/metrics?a=b")[0] == 200
    with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/livez", method="HEAD")) as answer:
        assert (answer.read(), answer.headers["Content-Length"], answer.headers["Server"]) == (b"", "3", "mqgroups")
    workers.is_ready = False
    assert ask(port, "/readyz?x", "HEAD") == (503, "")


@pytest.fixture
def half_sent(served):
    """Open connections, each with half a request."""
    with contextlib.ExitStack() as held:

        def send(count):
            made = [held.enter_context(socket.create_connection(("127.0.0.1", served[1]), 10)) for _ in range(count)]
            for each in made:
                each.sendall(b"GET /livez HTTP/1.1\r\nX: ")
            return made

        yield send


def test_connections_that_are_too_many_are_closed_the_oldest_first(monkeypatch, served, half_sent):
    monkeypatch.setattr(pages._Answers, "timeout", 60)
    oldest = half_sent(1)[0]
    others = half_sent(31)
    assert ask(served[1], "/livez")[0] == 200
    assert oldest.recv(1) == b""
    half_sent(31)
    assert others[0].recv(1) == b""
    assert ask(served[1], "/livez")[0] == 200


def test_a_connection_that_says_nothing_is_closed(monkeypatch, served, half_sent):
    assert 0 < pages._Answers.timeout <= 10
    monkeypatch.setattr(pages._Answers, "timeout", 0.01)
    assert half_sent(1)[0].recv(1) == b""


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
        ("mqgroups_worker_quiet_seconds", one): ("gauge", 1.5),
        ("mqgroups_worker_quiet_seconds", two): ("gauge", 0),
        ("mqgroups_worker_restarts_total", one): ("counter", 1),
        ("mqgroups_worker_restarts_total", two): ("counter", 7),
    }
    assert len(figures([])) == 6


def test_an_address_in_use_is_an_error_before_any_worker_is_started(site, served):
    _, port = served
    with pytest.raises(OSError, match="in use"):
        site.make(handlers.write).run(http=("127.0.0.1", port))
    assert site.status_queues() == []


def test_workers_are_ready_when_all_have_their_names_and_not_when_they_stop(site, caplog):
    caplog.set_level(logging.INFO, logger="mqgroups")
    workers = site.start(site.make(handlers.slowly), http=("127.0.0.1", 0))
    wait_until(lambda: workers.is_ready)
    port = port_in(caplog)
    assert ask(port, "/readyz")[0] == ask(port, "/livez")[0] == 200
    site.put_groups(1)
    wait_until((site.directory / "waits.flag").exists)
    busy = [one for one in workers.status() if one.group_s]
    assert len(busy) == 1
    workers.stop()
    wait_until(lambda: ask(port, "/readyz")[0] == 503)
    assert ask(port, "/livez")[0] == 200
    (site.directory / "go.flag").touch()
    assert site.stop()


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
    assert board.quiet_s == 0
    board.beats(True)
    board.begins()
    assert board.ready
    assert board.group_s > 0
    assert board.quiet_s > 0
    board.ends(whole=True)
    board.begins()
    board.ends(whole=False)
    board.begins()
    board.clear()
    assert (board.ready, board.groups, board.group_s, board.quiet_s) == (False, 1, 0, 0)

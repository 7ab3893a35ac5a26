"""An HTTP server with pages for probes, Prometheus and browsers.

A client that sends half a request occupies a thread and a file descriptor of this process. So the server closes silent
connections. If too many connections are open, it closes the oldest connection, and not the new one, which may be a probe.

With DNS rebinding, the host name of a web site resolves to the address of this server. A browser then lets that site read the
pages here. So the server answers only if the Host header has an IP address, this machine's name, a name without a dot (only
local hosts, such as containers, have such names), or a name in MQGROUPS_HTTP_NAMES, such as that of a proxy.

This module writes the metrics itself. They are a few lines in which nothing needs an escape, and prometheus_client exports only
its own registry.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import re
import socket as sockets
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6, SHUT_RDWR, socket
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple

_log = logging.getLogger("mqgroups")
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_SILENT_S = 5.0
_MOST_CONNECTIONS = 32
_HOST = re.compile(r"(?:\[([^]]*)\]|([^:]*?)\.?)(?::\d*)?")


class Page(NamedTuple):
    """The answer to a request."""

    text: str
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = MappingProxyType({})


class Figure(NamedTuple):
    """A metric for Prometheus: name, type, description, and a value for each set of labels. No text may have quotes."""

    name: str
    kind: str
    text: str
    values: Iterable[tuple[Mapping[str, str], float]]


def metrics_page(figures: Iterable[Figure]) -> Page:
    """Return the metrics in Prometheus' text format, version 0.0.4."""
    lines = []
    for name, kind, text, values in figures:
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
        for labels, value in values:
            of = ",".join(f'{label}="{of_what}"' for label, of_what in labels.items())
            lines.append(f"{name}{{{of}}} {value}")
    return Page("\n".join(lines) + "\n", content_type=_PROMETHEUS)


def is_own(host: str, names: Collection[str]) -> bool:
    """Return whether ``host`` is an IP address, has no dot, or is one of ``names``. Browsers always send the ``Host`` header."""
    asked = _HOST.fullmatch(host.strip().lower())
    if asked is None:
        return False
    address, name = asked.groups()
    try:
        ipaddress.ip_address(address or name)
        return True
    except ValueError:
        return address is None and ("." not in name or name in names)


class Pages:
    """A server that answers requests in a thread while its ``with`` block runs."""

    def __init__(self, address: tuple[str, int], pages: Mapping[str, Callable[[], Page]]) -> None:
        """Bind host and port; raises OSError if that fails. ``pages`` maps each path to a function that makes the page."""
        self._server = _Server(address, pages)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Pages:
        host, port = self._server.server_address[:2]
        _log.info("%s are served at %s, port %s", ", ".join(self._server.pages), host, port)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], pages: Mapping[str, Callable[[], Page]]) -> None:
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        self.pages = pages
        given = os.environ.get("MQGROUPS_HTTP_NAMES", "").replace(",", " ")
        self.names = frozenset(f"{address[0]} {sockets.gethostname()} {given}".lower().split())
        # The open connections, in the order in which they were accepted.
        self._connections: dict[socket, None] = {}
        self._lock = threading.Lock()
        try:
            super().__init__(address, _Answers)
        except OSError as error:
            error.filename = f"{address[0]}:{address[1]}"  # without this, the error does not name the address
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin to serve a connection. If there are too many connections, end the oldest connection and its thread."""
        with self._lock:
            self._connections[request] = None
            if len(self._connections) > _MOST_CONNECTIONS:
                oldest = next(iter(self._connections))
                del self._connections[oldest]
                with contextlib.suppress(OSError):
                    oldest.shutdown(SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection while holding the lock, because another file may have the same descriptor afterwards."""
        with self._lock:
            self._connections.pop(request, None)
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log the error only at DEBUG, because clients that cause errors could fill the log."""
        _log.debug("the request of %s on %s failed", client_address, request, exc_info=True)


class _Answers(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SILENT_S

    def do_GET(self) -> None:
        """Answer a probe or a scrape."""
        pages = self.server.pages
        hosts = self.headers.get_all("Host") or [""]
        if not all(is_own(host, self.server.names) for host in hosts):
            said = "ask for an address, or for a name in MQGROUPS_HTTP_NAMES of the program that serves this\n"
            self._answer(Page(said, HTTPStatus.FORBIDDEN))
            return
        page = pages.get(self.path.partition("?")[0])
        self._answer(page() if page is not None else Page(f"there are {', '.join(pages)}\n", HTTPStatus.NOT_FOUND))

    def do_HEAD(self) -> None:
        """Answer without a body. Some load balancers send HEAD."""
        self.do_GET()

    def _answer(self, page: Page) -> None:
        body = page.text.encode()
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in page.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def version_string(self) -> str:
        """Return the header ``Server``, without versions."""
        return "mqgroups"

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing, because probes come every few seconds."""

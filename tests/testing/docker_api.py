"""A Docker engine that a test plays: as much of the Engine API, over HTTP, as a container of one queue manager needs.

What is asked of it is kept (``created``, ``executed``, ``removed``); what it answers is set beforehand: what each program in the
container writes and how it ends, after how many calls the container is ready or has ended, what its log says.
"""

from __future__ import annotations

import json
import re
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

API_VERSION = "1.44"
CONTAINER = "c0ffee" * 10 + "c0de"
HOST_PORT = 49153

# What a program in the container does: its arguments -> exit code, output.
Program = Callable[[list[str]], tuple[int, str]]


@dataclass
class Engine:
    """The engine's state, and what it was asked."""

    images: set[str]
    programs: dict[str, Program]
    log: str = ""
    exits_after: int | None = None
    created: dict[str, Any] = field(default_factory=dict)
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    pulled: list[str] = field(default_factory=list)
    executed: list[list[str]] = field(default_factory=list)
    started: bool = False
    removed: bool = False
    ended: bool = False
    results: list[tuple[int, str]] = field(default_factory=list)
    client_reads: threading.Event = field(default_factory=threading.Event)

    def create(self, asked: dict[str, Any]) -> None:
        """Keep the request, and what the files that it mounts hold: they are gone with the container."""
        self.created = asked
        for bind in asked["HostConfig"]["Binds"]:
            source, target, mode = bind.split(":")
            assert mode == "ro"
            self.files[target] = (Path(source).read_text(), Path(source).stat().st_mode & 0o777)

    def execute(self, command: list[str]) -> str:
        """Run a program; returns the identifier of the run."""
        self.executed.append(command)
        self.results.append(self.programs[command[0]](command))
        if self.exits_after is not None and len(self.executed) >= self.exits_after:
            self.ended = True
        return f"exec{len(self.results) - 1}"

    def inspected(self) -> dict[str, Any]:
        """Return what ``docker inspect`` says."""
        return {
            "Id": CONTAINER,
            "State": {"Status": "exited" if self.ended else "running" if self.started else "created", "ExitCode": 1},
            "Config": {"Image": self.created["Image"], "Labels": {}, "Tty": False},
            "NetworkSettings": {"Ports": {"1414/tcp": [{"HostIp": "0.0.0.0", "HostPort": str(HOST_PORT)}]}},
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine: Engine

    def do_GET(self) -> None:
        self._route("GET")

    def do_POST(self) -> None:
        self._route("POST")

    def do_DELETE(self) -> None:
        self._route("DELETE")

    def do_HEAD(self) -> None:
        self._route("HEAD")

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def _route(self, method: str) -> None:
        path = self.path.partition("?")[0]
        wanted = f"{method} {re.sub('^/v[0-9.]+', '', path)}"
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        for pattern, answer in _ROUTES.items():
            if found := re.fullmatch(pattern, wanted):
                return answer(self, json.loads(body) if body else {}, *found.groups())
        raise AssertionError(f"the engine that the test plays does not know {wanted}")

    def answer(self, content: Any = None, status: int = 200) -> None:
        data = b"" if content is None else json.dumps(content).encode()
        self._send(status, data, "application/json")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    # --- what there is

    def version(self, _: Any) -> None:
        self.answer({"Version": "27.0.0", "ApiVersion": API_VERSION, "MinAPIVersion": "1.24"})

    def image(self, _: Any, name: str) -> None:
        if name in self.engine.images:
            self.answer({"Id": "sha256:0", "RepoTags": [name]})
        else:
            self.answer({"message": f"No such image: {name}"}, 404)

    def pull(self, _: Any) -> None:
        name = self.path.partition("fromImage=")[2].partition("&")[0].replace("%2F", "/")
        tag = self.path.partition("tag=")[2].partition("&")[0]
        self.engine.pulled.append(f"{name}:{tag}")
        self.engine.images.add(f"{name}:{tag}")
        self.answer({"status": "done"})

    def create(self, asked: Any) -> None:
        self.engine.create(asked)
        self.answer({"Id": CONTAINER, "Warnings": []}, 201)

    def start(self, _: Any) -> None:
        self.engine.started = True
        self.answer(status=204)

    def inspect(self, _: Any) -> None:
        self.answer(self.engine.inspected())

    def logs(self, _: Any) -> None:
        on_stdout = "stdout=1" in self.path
        self._send(200, _frame(self.engine.log) if on_stdout else b"", "application/vnd.docker.multiplexed-stream")

    def remove(self, _: Any) -> None:
        assert "v=True" in self.path
        assert "force=True" in self.path
        self.engine.removed = True
        self.answer(status=204)

    def exec_create(self, asked: Any) -> None:
        if self.engine.ended:
            self.answer({"message": f"container {CONTAINER} is not running"}, 409)
        else:
            self.answer({"Id": self.engine.execute(asked["Cmd"])}, 201)

    def exec_start(self, _: Any, number: str) -> None:
        # The engine takes the connection over for the program's output and closes it at the end. The client reads that from the
        # bare socket; what came with the header it would lose.
        self.close_connection = True
        self.engine.client_reads.clear()
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.docker.raw-stream")
        self.end_headers()
        assert self.engine.client_reads.wait(30)
        self.wfile.write(_frame(self.engine.results[int(number)][1]))

    def exec_inspect(self, _: Any, number: str) -> None:
        self.answer({"ID": f"exec{number}", "Running": False, "ExitCode": self.engine.results[int(number)][0]})


_ROUTES: dict[str, Callable[..., None]] = {
    "GET /version": _Handler.version,
    "GET /images/(.+)/json": _Handler.image,
    "POST /images/create": _Handler.pull,
    "POST /containers/create": _Handler.create,
    f"POST /containers/{CONTAINER}/start": _Handler.start,
    f"GET /containers/{CONTAINER}/json": _Handler.inspect,
    f"GET /containers/{CONTAINER}/logs": _Handler.logs,
    f"DELETE /containers/{CONTAINER}": _Handler.remove,
    f"POST /containers/{CONTAINER}/exec": _Handler.exec_create,
    "POST /exec/exec([0-9]+)/start": _Handler.exec_start,
    "GET /exec/exec([0-9]+)/json": _Handler.exec_inspect,
}


def _frame(text: str) -> bytes:
    """Return a piece of standard output as the engine frames it (stream, length)."""
    data = text.encode()
    return struct.pack(">BxxxI", 1, len(data)) + data if data else b""


class Served:
    """The engine, answering on a port of this machine until closed."""

    def __init__(self, engine: Engine) -> None:
        handler = type("Handler", (_Handler,), {"engine": engine})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.address = f"tcp://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

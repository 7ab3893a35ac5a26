"""A Docker engine that a test plays: as much of the Engine API, over HTTP, as containers of queue managers in a network need.

What is asked of it is kept (``created`` and ``files`` of the last container, ``all_created``, ``executed``, ``removed``); what it
answers is set beforehand: what each program in a container writes and how it ends, after how many calls it is ready or has
ended, what its log says.
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
CONTAINER = "c0ffee" * 10 + "c0d{}"
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
    all_created: dict[str, dict[str, Any]] = field(default_factory=dict)
    networks: dict[str, str] = field(default_factory=dict)
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    pulled: list[str] = field(default_factory=list)
    executed: list[list[str]] = field(default_factory=list)
    started: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    ended: bool = False
    results: list[tuple[int, str]] = field(default_factory=list)
    client_reads: threading.Event = field(default_factory=threading.Event)

    @property
    def removed(self) -> bool:
        """Whether all containers are gone, and all networks."""
        return self.gone == {*self.all_created} and not self.networks

    def create(self, asked: dict[str, Any]) -> str:
        """Keep the request, and what the files that it mounts hold: they are gone with the container. Returns its identifier."""
        number = CONTAINER.format(len(self.all_created))
        self.created = self.all_created[number] = asked
        self.files = {}
        for bind in asked["HostConfig"]["Binds"]:
            source, target, mode = bind.split(":")
            assert mode == "ro,z"
            self.files[target] = (Path(source).read_text(), Path(source).stat().st_mode & 0o777)
        return number

    def execute(self, command: list[str]) -> str:
        """Run a program; returns the identifier of the run."""
        self.executed.append(command)
        self.results.append(self.programs[command[0]](command))
        if self.exits_after is not None and len(self.executed) >= self.exits_after:
            self.ended = True
        return f"exec{len(self.results) - 1}"

    def inspected(self, container: str) -> dict[str, Any]:
        """Return what ``docker inspect`` says."""
        status = "exited" if self.ended else "running" if container in self.started else "created"
        port = HOST_PORT + [*self.all_created].index(container)
        return {
            "Id": container,
            "State": {"Status": status, "ExitCode": 1},
            "Config": {"Image": self.all_created[container]["Image"], "Labels": {}, "Tty": False},
            "NetworkSettings": {"Ports": {"1414/tcp": [{"HostIp": "0.0.0.0", "HostPort": str(port)}]}},
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
        self.answer({"Id": self.engine.create(asked), "Warnings": []}, 201)

    def start(self, _: Any, container: str) -> None:
        self.engine.started.add(container)
        self.answer(status=204)

    def inspect(self, _: Any, container: str) -> None:
        self.answer(self.engine.inspected(container))

    def logs(self, _: Any, container: str) -> None:
        assert container in self.engine.started
        on_stdout = "stdout=1" in self.path
        self._send(200, _frame(self.engine.log) if on_stdout else b"", "application/vnd.docker.multiplexed-stream")

    def remove(self, _: Any, container: str) -> None:
        assert "v=True" in self.path
        assert "force=True" in self.path
        self.engine.gone.add(container)
        self.answer(status=204)

    def create_network(self, asked: Any) -> None:
        number = f"network{len(self.engine.networks)}"
        self.engine.networks[number] = asked["Name"]
        self.answer({"Id": number, "Warning": ""}, 201)

    def inspect_network(self, _: Any, number: str) -> None:
        self.answer({"Id": number, "Name": self.engine.networks[number]})

    def remove_network(self, _: Any, number: str) -> None:
        assert self.engine.gone == {*self.engine.all_created}, "the engine removes no network that containers are in"
        del self.engine.networks[number]
        self.answer(status=204)

    def exec_create(self, asked: Any, container: str) -> None:
        if self.engine.ended:
            self.answer({"message": f"container {container} is not running"}, 409)
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
    "POST /containers/([0-9a-f]+)/start": _Handler.start,
    "GET /containers/([0-9a-f]+)/json": _Handler.inspect,
    "GET /containers/([0-9a-f]+)/logs": _Handler.logs,
    "DELETE /containers/([0-9a-f]+)": _Handler.remove,
    "POST /containers/([0-9a-f]+)/exec": _Handler.exec_create,
    "POST /networks/create": _Handler.create_network,
    "GET /networks/(network[0-9]+)": _Handler.inspect_network,
    "DELETE /networks/(network[0-9]+)": _Handler.remove_network,
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

"""IBM MQ's developer container, as a testcontainers ``DockerContainer``.

    with MQContainer(license="accept", mqsc=["queues.mqsc"]) as container:
        qmgr = pymqi.connect(container.q_mgr_name, container.channel, container.conn_name,
                                user=container.user, password=container.password)

The Docker engine must be on this machine, because the container mounts files of this machine. The image contains IBM MQ Advanced
for Developers, for development and unit test. IBM's terms are accepted only if you give ``license="accept"``.

This module was written from the image's documentation and source (github.com/ibm-messaging/mq-container: docs/usage.md,
docs/developer-config.md, cmd/chkmqready, cmd/runmqserver) and tested with a simulated Docker API. It has never been run with the
image. ``provision.py`` chooses the queue manager for tests.
"""

from __future__ import annotations

import contextlib
import gc
import secrets
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from docker.errors import APIError, DockerException
from testcontainers.core.container import DockerContainer
from testcontainers.core.docker_client import DockerClient
from testcontainers.core.waiting_utils import WaitStrategy, WaitStrategyTarget

from mqembedded.printable import even_half_made
from mqembedded.testing import IMAGE

LISTENER_PORT = 1414
# The image refuses shorter passwords (docs/developer-config.md).
_SHORTEST_PASSWORD = 8
_LAST_LINES = 15
# Seconds between two checks that ask whether the queue manager is ready.
POLL_S = 0.5
_GONE = ("exited", "dead", "removing")


class MQContainerError(Exception):
    """Docker is missing, IBM's licence is not accepted, or the container failed."""


def docker_engine() -> str:
    """Return the version of the Docker engine; raise MQContainerError if no engine answers."""
    with warnings.catch_warnings():
        # docker-py does not close a socket on which no engine answered.
        warnings.simplefilter("ignore", ResourceWarning)
        version, why = _asked_engine()
        gc.collect()
    if why:
        raise MQContainerError(
            f"no Docker engine answers ({why}), but IBM MQ's container needs one: start it, or name it in DOCKER_HOST"
        )
    return version


def _asked_engine() -> tuple[str, str]:
    """Return the engine's version and "". If no engine answers, return "" and the reason."""
    try:
        with contextlib.closing(DockerClient().client) as client:
            return str(client.version()["Version"]), ""
    except DockerException as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, OSError) and cause.strerror:
                return "", cause.strerror
            cause = cause.__cause__ or cause.__context__
        return "", str(error)


class MQContainer(DockerContainer):
    """A queue manager in IBM's developer image, with a listener on a free port of this machine.

    ``start`` (or entering the ``with`` block) returns when the queue manager is ready. ``stop`` (or leaving the block) removes
    the container and its data. Passwords are passed as files in ``/run/secrets``, never in a variable, an argument or a ``repr``.
    """

    channel, user = "DEV.APP.SVRCONN", "app"
    admin_channel, admin_user = "DEV.ADMIN.SVRCONN", "admin"

    def __init__(
        self,
        image: str = IMAGE,
        *,
        license: str,
        q_mgr_name: str = "QM1",
        mqsc: Sequence[Path | str] = (),
        password: str | None = None,
        admin_password: str | None = None,
        ready_s: float = 180.0,
        **more: Any,
    ) -> None:
        """Prepare the container, without starting it.

        Args:
            image: the name of the image, with its tag.
            license: ``"accept"`` accepts IBM's terms. To read the terms, run the image with ``LICENSE=view``.
            q_mgr_name: the queue manager's name.
            mqsc: MQSC files, which the queue manager reads at every start, in this order, after the image's own files.
            password: the password of ``user`` for ``channel``; by default a random password.
            admin_password: the password of ``admin_user`` for ``admin_channel``; by default this user does not exist.
            ready_s: seconds within which the queue manager must be ready.
            more: further arguments for DockerContainer.

        Raises:
            MQContainerError: the licence is not accepted, a file is missing, a password is too short, or Docker is missing.
        """
        if license != "accept":
            raise MQContainerError(
                f"the licence of {image} is not accepted: read it (docker run --rm -e LICENSE=view {image}), then pass "
                'license="accept"'
            )
        self.q_mgr_name = q_mgr_name
        self.password = secrets.token_urlsafe(18) if password is None else password
        self.admin_password = admin_password
        for given in self._passwords().values():
            if len(given) < _SHORTEST_PASSWORD:
                raise MQContainerError(
                    f"a password has {len(given)} characters; the image needs at least {_SHORTEST_PASSWORD}"
                )
        self._mqsc = [Path(path) for path in mqsc]
        for path in self._mqsc:
            if not path.is_file():
                raise MQContainerError(f"MQSC file {path} does not exist")
        self._files: tempfile.TemporaryDirectory[str] | None = None
        docker_engine()
        super().__init__(image, **more)
        self.with_exposed_ports(LISTENER_PORT)
        self.with_envs(LICENSE=license, MQ_QMGR_NAME=q_mgr_name, MQ_ENABLE_EMBEDDED_WEB_SERVER="false")
        self.waiting_for(_Ready(ready_s))

    @even_half_made
    def __repr__(self) -> str:
        state = self.get_container_id()[:12] if self._container is not None else "not started"
        return f"<MQContainer {self.q_mgr_name} {self.image} {state}>"

    @property
    def conn_name(self) -> str:
        """The connection name for applications, such as ``localhost(49153)``."""
        return f"{self.get_container_host_ip()}({self.get_exposed_port(LISTENER_PORT)})"

    def start(self) -> Self:
        """Start the container, and return when the queue manager is ready; remove the container if the start fails."""
        try:
            super().start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:
        """Remove the container, its data, and its temporary files."""
        try:
            super().stop(force, delete_volume)
            self._container = None
        finally:
            if self._files is not None:
                self._files.cleanup()
                self._files = None

    def run_mqsc(self, commands: str) -> str:
        """Run MQSC commands, and return the output of ``runmqsc``; raise MQContainerError if a command fails."""
        # The commands are a separate argument, so the shell does not interpret them.
        shell = ["sh", "-c", 'printf "%s\\n" "$2" | runmqsc "$1"', "sh", self.q_mgr_name, commands]
        code, written = self.exec(shell)
        output: str = written.decode(errors="replace")
        if code:
            raise MQContainerError(f"runmqsc {self.q_mgr_name} ended with exit code {code}:\n{output.strip()}")
        return output

    def version(self) -> str:
        """Return IBM MQ's version, such as ``9.4.2.0``, as ``dspmqver`` shows it."""
        code, written = self.exec(["dspmqver", "-b", "-f", "2"])
        output: str = written.decode(errors="replace").strip()
        if code:
            raise MQContainerError(f"dspmqver ended with exit code {code}: {output}")
        return output

    def last_log_lines(self) -> str:
        """Return the end of the container's log, without passwords."""
        text = "\n".join(part.decode(errors="replace") for part in self.get_logs())
        for password in self._passwords().values():
            text = text.replace(password, "********")
        return "\n".join([line for line in text.splitlines() if line.strip()][-_LAST_LINES:])

    def _configure(self) -> None:
        """Write the container's files to a private folder and mount the files. In the container, user 1001 can read the files."""
        self._files = tempfile.TemporaryDirectory(prefix="mqembedded-container-")
        for name, password in self._passwords().items():
            self._mount(f"/run/secrets/{name}", password.encode())
        for number, path in enumerate(self._mqsc):
            # The image reads files in alphabetical order. Its own files begin with 10, 15 and 20.
            self._mount(f"/etc/mqm/30-{number:02}-{path.name}", path.read_bytes())

    def _mount(self, target: str, content: bytes) -> None:
        assert self._files is not None
        path = Path(self._files.name, Path(target).name)
        path.write_bytes(content)
        path.chmod(0o444)
        # z sets a label for SELinux. Systems without SELinux ignore it.
        self.with_volume_mapping(path, target, "ro,z")

    def _passwords(self) -> dict[str, str]:
        given = {"mqAppPassword": self.password, "mqAdminPassword": self.admin_password}
        return {name: password for name, password in given.items() if password is not None}


class _Ready(WaitStrategy):
    """A strategy that waits for ``chkmqready`` to succeed. IBM MQ is then configured, and its listener accepts connections."""

    def __init__(self, ready_s: float) -> None:
        super().__init__()
        self._startup_timeout: float = ready_s
        self._poll_interval: float = POLL_S

    def wait_until_ready(self, container: WaitStrategyTarget) -> None:
        assert isinstance(container, MQContainer)
        deadline = time.monotonic() + self._startup_timeout
        while not self._is_ready(container):
            container.reload()
            if container.status in _GONE:
                raise MQContainerError(f"{container!r} ended before it was ready:\n{container.last_log_lines()}")
            if time.monotonic() > deadline:
                waited = f"{self._startup_timeout:g} s"
                raise MQContainerError(f"{container!r} was not ready within {waited}:\n{container.last_log_lines()}")
            time.sleep(self._poll_interval)

    @staticmethod
    def _is_ready(container: MQContainer) -> bool:
        try:
            code, _ = container.exec(["chkmqready"])
        except APIError:
            # The container is not running. The caller finds out why.
            return False
        return bool(code == 0)

"""Starts the embedded queue manager or the container that ``--mq`` asks for, or describes an existing queue manager.

If the queue manager is not available, an error explains why in one sentence. The error is raised before anything is started.
``fixtures.py`` has the fixtures. ``options.py`` has the options.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mqembedded import EmbeddedQueueManager
from mqembedded.testing.under_test import EMBEDDED_MQSC, IMAGE_MQSC, MQSC, NotGiven, QueueManagerUnderTest, given

if TYPE_CHECKING:
    from mqembedded.testing.container import MQContainer

EMBEDDED, IMITATION, CONTAINER, GIVEN, AUTO = "embedded", "imitation", "container", "url", "auto"
# An API exit traces messages, as on many sites.
_OF_THE_IMITATION = {"api exit": "adds a property"}
LICENSE_VARIABLE = "MQTEST_LICENSE"


class NotToBeHad(Exception):
    """The requested queue manager is not available here; the message explains why in one sentence."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The queue manager that a test run asks for.

    Attributes:
        kind: EMBEDDED, IMITATION, CONTAINER, GIVEN or AUTO.
        license: ``accept`` if the user accepts IBM's terms.
        image: the container's image.
        readings: a mapping from names of ``READINGS`` to values, for embedded queue managers.
    """

    kind: str
    license: str = ""
    image: str = ""
    readings: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_embedded(self) -> bool:
        """Whether the test run starts an embedded queue manager. An IMITATION is embedded, and is set up like IBM's image."""
        return self.kind in (EMBEDDED, IMITATION)

    @property
    def is_container(self) -> bool:
        """Whether the test run starts a container."""
        return self.kind in (CONTAINER, AUTO)


def check(wanted: Wanted) -> None:
    """Raise NotToBeHad if a check before the start shows that the queue manager is not available."""
    if wanted.kind == GIVEN:
        try:
            given(os.environ)
        except NotGiven as error:
            raise NotToBeHad(str(error)) from error
    elif wanted.is_container:
        try:
            from mqembedded.testing.container import MQContainerError, docker_engine
        except ImportError as error:
            raise NotToBeHad(
                f"--mq={wanted.kind} needs testcontainers ({error}): pip install testcontainers"
            ) from error
        try:
            docker_engine()
        except MQContainerError as error:
            raise NotToBeHad(f"--mq={wanted.kind}: {error}.") from error
        if wanted.license != "accept":
            raise NotToBeHad(
                f"--mq={wanted.kind}: the licence of {wanted.image} is not accepted: read it (docker run --rm -e LICENSE=view "
                f"{wanted.image}), then pass --mq-license=accept or set {LICENSE_VARIABLE}=accept."
            )


@contextmanager
def running(wanted: Wanted, mqsc: Sequence[Path]) -> Iterator[QueueManagerUnderTest]:
    """Start the queue manager if necessary, and yield it. A queue manager that is started here reads the files in ``mqsc``."""
    files = [MQSC, *mqsc]
    if wanted.kind == GIVEN:
        yield given(os.environ)
    elif wanted.is_container:
        from mqembedded.testing.container import MQContainer

        with MQContainer(wanted.image, license=wanted.license, mqsc=files) as container:
            yield _in_container(container)
    else:
        imitated = wanted.kind == IMITATION
        with EmbeddedQueueManager(
            "QM1",
            mqsc=[IMAGE_MQSC, *files] if imitated else [*files, EMBEDDED_MQSC],
            users={"app": "passw0rd"},
            readings=(_OF_THE_IMITATION if imitated else {}) | dict(wanted.readings),
        ) as queue_manager:
            yield QueueManagerUnderTest(
                q_mgr_name=queue_manager.q_mgr_name,
                channel=queue_manager.channel,
                conn_name=queue_manager.conn_name,
                user="app",
                password="passw0rd",
                queue_manager=queue_manager,
            )


def _in_container(container: MQContainer) -> QueueManagerUnderTest:
    return QueueManagerUnderTest(
        q_mgr_name=container.q_mgr_name,
        channel=container.channel,
        conn_name=container.conn_name,
        user=container.user,
        password=container.password,
        version=f"{container.version()} in {container.image}",
    )

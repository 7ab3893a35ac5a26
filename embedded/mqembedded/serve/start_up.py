"""Starts a queue manager with its system objects and its subscriptions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mqembedded.admin import system_objects
from mqembedded.platform import Platform
from mqembedded.pubsub.subscription import Subscriptions
from mqembedded.queue_manager import QueueManager
from mqembedded.readings import Readings


def started(
    name: str,
    data: Path,
    users: Mapping[str, str] | None = None,
    platform: Platform = Platform.UNIX,
    readings: Readings | None = None,
) -> QueueManager:
    """Start a queue manager with the data in the directory ``data``, and return it; see ``QueueManager``. Raises StoreError."""
    q_mgr = QueueManager(name, data, users, platform, readings)
    q_mgr.parts.add(Subscriptions(q_mgr.store, q_mgr.catalogue))
    system_objects.define(q_mgr)
    return q_mgr

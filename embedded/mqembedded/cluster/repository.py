"""The repository of a cluster: the cluster queues and the address of each queue manager.

Every member writes a file to a shared directory, and reads the other members' files when it chooses a destination. So each member
is a full repository, and all members know a new definition at once. A file stays when its member ends. So the cluster still knows
the queues of a member that is down, as in IBM MQ. ``workload.py`` chooses an instance.

A member always replaces its file as a whole, with a new modification time. So the directory entry shows whether the file has
changed since it was read. Only the file's owner can read it, because it contains the token for the member's channel and control
verbs.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from mqembedded.objects.instances import Instance, Member
from mqembedded.store.files import make_private_directory


class Repository:
    """The shared directory as a member uses it. Callers hold the lock of the member's queue manager."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._read: dict[str, tuple[int, Member]] = {}
        make_private_directory(directory)

    def member(self, q_mgr_name: str) -> Member | None:
        """Return a queue manager's description, or None if the queue manager has never started."""
        path = self._directory / f"{q_mgr_name}.json"
        try:
            changed = path.stat().st_mtime_ns
        except FileNotFoundError:
            return None
        found = self._read.get(q_mgr_name)
        if found is None or found[0] != changed:
            found = self._read[q_mgr_name] = (changed, _member(json.loads(path.read_text())))
        return found[1]

    def advertise(self, member: Member) -> None:
        """Write this member's description to the directory, if it has changed."""
        known = self.member(member.q_mgr_name)
        if known == member:
            return
        handle, name = tempfile.mkstemp(dir=self._directory, prefix=".")
        with os.fdopen(handle, "w") as file:
            json.dump(asdict(member), file)
        changed = Path(name).stat().st_mtime_ns
        if known is not None:
            # Two changes in the same tick of the file system's clock must have different times.
            changed = max(changed, self._read[member.q_mgr_name][0] + 1)
            os.utime(name, ns=(changed, changed))
        Path(name).replace(self._directory / f"{member.q_mgr_name}.json")

    def instances(self, queue_name: str, members: Iterable[str]) -> list[Instance]:
        """Return the instances of a cluster queue on these members."""
        return [
            instance
            for name in members
            if (member := self.member(name)) is not None
            for instance in member.instances
            if instance.queue_name == queue_name
        ]


def _member(found: dict[str, object]) -> Member:
    instances = found.pop("instances")
    assert isinstance(instances, list)
    return Member(
        **found,  # type: ignore[arg-type]  # what advertise() wrote
        instances=tuple(
            Instance(**{**each, "values": {int(selector): value for selector, value in each["values"].items()}})
            for each in instances
        ),
    )

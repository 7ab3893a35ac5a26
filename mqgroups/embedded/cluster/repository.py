"""What the queue managers of a cluster know of each other: who hosts which cluster queue, and where to reach whom.

Every member writes what it hosts to a file of its own in a directory that all share, and reads those of the others when a
destination is chosen; so each of them is a full repository, and what one defines the others know at once. A file stays when its
queue manager ends: the cluster goes on knowing the queues of a member that is down, as with IBM MQ. Not here: choosing among
instances (``workload.py``).

A file is replaced as a whole and gets a time of change of its own, so that one look at the directory entry tells whether it is
the one read before. It holds the token that opens the member's channel and control verbs, and only its owner may read it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from mqgroups.embedded.objects.instances import Instance, Member
from mqgroups.embedded.store.files import make_private_directory


class Repository:
    """The shared directory, seen by one member. Called under its queue manager's lock."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._read: dict[str, tuple[int, Member]] = {}
        make_private_directory(directory)

    def member(self, q_mgr_name: str) -> Member | None:
        """Return what is known of a queue manager; None before it has started for the first time."""
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
        """Let all others know this; does nothing if they know it."""
        known = self.member(member.q_mgr_name)
        if known == member:
            return
        handle, name = tempfile.mkstemp(dir=self._directory, prefix=".")
        with os.fdopen(handle, "w") as file:
            json.dump(asdict(member), file)
        changed = Path(name).stat().st_mtime_ns
        if known is not None:
            # Two changes within one tick of the file system's clock must not look alike.
            changed = max(changed, self._read[member.q_mgr_name][0] + 1)
            os.utime(name, ns=(changed, changed))
        Path(name).replace(self._directory / f"{member.q_mgr_name}.json")

    def instances(self, queue_name: str, members: Iterable[str]) -> list[Instance]:
        """Return the instances of a cluster queue at these members."""
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

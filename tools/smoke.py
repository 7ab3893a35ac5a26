"""A smoke test of an installed mqgroups: a group is interrupted, resumed, and got, on an embedded queue manager.

It runs outside the checkout, with the environment's own Python (tools/release_check.sh), and fails with a traceback.
"""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

import mqgroups
from mqembedded import EmbeddedQueueManager
from mqgroups.definitions import DEVELOPMENT_MQSC

ROWS = [f"order {number}" for number in range(1, 251)]


class Stopped(Exception):
    """The producer is interrupted on purpose."""


def main() -> None:
    """Put, interrupt, resume, get, compare."""
    installed = Path(mqgroups.__file__).parent
    if (installed.parent / "pyproject.toml").exists():
        raise SystemExit(f"{installed} is a checkout, not an installed package")
    if importlib.metadata.version("mqgroups") == "":
        raise SystemExit("the package has no version")
    with EmbeddedQueueManager("QM1", mqsc=[DEVELOPMENT_MQSC], users={"app": "passw0rd"}) as q_mgr:
        os.environ.update(q_mgr.environment())
        address = q_mgr.q_mgr_name, q_mgr.channel, q_mgr.conn_name
        with (
            mqgroups.connect(*address, user="app", password="passw0rd") as connection,
            connection.group_producer("ORDERS", name="SMOKE", commit_every=100) as producer,
        ):
            try:
                with producer.group() as group:
                    for row in ROWS[:220]:
                        group.put(row)
                    raise Stopped
            except Stopped:
                pass
            with producer.group() as group:
                if group.resume_from != 200:
                    raise SystemExit(f"the group resumes after {group.resume_from} messages, expected 200")
                for row in ROWS[group.resume_from :]:
                    group.put(row)
            with connection.group_consumer("ORDERS", name="SMOKE", commit_every=100, wait_s=0) as consumer:
                found = [message.text for incoming in consumer for message in incoming]
    if found != ROWS:
        raise SystemExit(f"{len(found)} messages arrived, or others than the {len(ROWS)} that were put")


if __name__ == "__main__":
    main()

"""Groups that lie on a consumer's queue and never come to it: without their first message, or with messages missing between.

Logical order does not show them (IBM MQ, topic q023060), so a consumer that waits sees an empty queue. When its wait has ended
with nothing, the queue is browsed in physical order, and what is found is a warning in the log, once for each group: a record may
be lost, messages may have expired, or something that does not get groups has taken them.

A group whose beginning another consumer has got looks the same while that one goes on. So where the queue is open for input
elsewhere, a group is told only when it is found unchanged the next time.

It is a help for operators and costs a waiting consumer little: an MQGET that finds nothing, or a few hundred at the most, once in
half a minute; nothing while groups come. It needs the authority to browse; a consumer without it goes on without.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.core.inspection import GroupInspection
from mqgroups.errors import ConnectionBroken, MQIError
from mqgroups.mqi import constants as mq
from mqgroups.operate.browse import browsed_groups
from mqgroups.telemetry import semantic_conventions as sc

_log = logging.getLogger("mqgroups.get")
_MOST_MESSAGES = 500
_PAUSE_S = 30.0


class UnreachableGroups:
    """What a consumer has found of them on its queue."""

    def __init__(self, connection: Connection, queue: str) -> None:
        self._connection = connection
        self._name = queue
        self._queue: Queue | None = None
        self._refused = False
        self._looked_s = float("-inf")
        self._seen: dict[bytes, GroupInspection] = {}
        self._told: set[bytes] = set()

    def look(self, consumers: Queue, fields: Mapping[str, str | int]) -> None:
        """Browse the queue, if it is time to, and log what is new. It raises nothing.

        Args:
            consumers: the consumer's own handle, to ask whether there are others.
            fields: of the line in the log.
        """
        now_s = time.monotonic()
        if self._refused or now_s - self._looked_s < _PAUSE_S:
            return
        self._looked_s = now_s
        try:
            if self._queue is None or self._queue.is_stale:
                self._queue = self._connection.open_queue(self._name, mq.MQOO_BROWSE)
            groups, _ = browsed_groups(self._queue, _MOST_MESSAGES)
            found = {each.group_id: each for each in groups if each.gaps or not each.has_head}
            if found.keys() - self._told:
                self._tell(found, fields, alone=consumers.inquire(mq.MQIA_OPEN_INPUT_COUNT) == 1)
            self._seen = found
        except ConnectionBroken:
            pass  # the next call of the consumer finds out, and goes on
        except MQIError as error:
            self._refused = True
            _log.debug(
                "queue %s is not looked through for groups that never come: %s", self._name, error, extra=dict(fields)
            )

    def close(self) -> None:
        """Close the queue."""
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()

    def _tell(self, found: Mapping[bytes, GroupInspection], fields: Mapping[str, str | int], *, alone: bool) -> None:
        for group in found.values():
            if group.group_id in self._told or not (alone or self._seen.get(group.group_id) == group):
                continue
            self._told.add(group.group_id)
            missing = "its beginning" if not group.has_head else f"message {group.gaps[0].first.msg_seq_number}"
            _log.warning(
                "queue %s: group %s, of which %d messages are there, is not got: %s is missing. "
                "`mqgroups salvage look --queue %s` shows what there is",
                self._name,
                group.group_id.hex(),
                group.messages,
                missing,
                self._name,
                extra={**fields, sc.GROUP_ID: group.group_id.hex()},
            )

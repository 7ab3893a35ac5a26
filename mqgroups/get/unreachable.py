"""Warns about groups on a consumer's queue that it never gets: their first message, or messages in between, are missing.

An MQGET in logical order does not return such groups (IBM MQ, topic q023060), so a waiting consumer sees an empty queue. When a
consumer's wait has ended without a message, it browses the queue in physical order and logs one warning for each such group. The
cause may be a lost status record, expired messages, or a program that gets single messages.

A group whose beginning another consumer has got looks the same until that consumer gets the rest. So if the queue is open for
input elsewhere, a group is logged only if the next browse finds it unchanged.

This helps operators and costs a waiting consumer little: once in half a minute one MQGET that finds no message, or a few hundred
at most; nothing while groups come. It needs the authority to browse; without that, the consumer works but does not warn.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from mqgroups.connection.connection import Connection
from mqgroups.connection.inquiry import inquiring
from mqgroups.connection.queue import Queue
from mqgroups.core.inspection import GroupInspection
from mqgroups.errors import ConnectionBroken, MQIError, NotAuthorised
from mqgroups.mqi import constants as mq
from mqgroups.telemetry import semantic_conventions as sc

_log = logging.getLogger("mqgroups.get")
_MOST_MESSAGES = 500
_PAUSE_S = 30.0


class UnreachableGroups:
    """The unreachable groups that a consumer has found on its queue."""

    def __init__(self, connection: Connection, queue: str) -> None:
        self._connection = connection
        self._name = queue
        self._queue: Queue | None = None
        self._refused = False
        self._looked_s = float("-inf")
        self._seen: dict[bytes, GroupInspection] = {}
        self._told: set[bytes] = set()

    def look(self, consumers: Queue, fields: Mapping[str, str | int]) -> None:
        """Browse the queue if half a minute has passed, and log groups that were not logged before. MQI errors are not raised.

        Args:
            consumers: the consumer's own handle, to inquire whether the queue is open for input elsewhere.
            fields: for the log record.
        """
        now_s = time.monotonic()
        if self._refused or now_s - self._looked_s < _PAUSE_S:
            return
        self._looked_s = now_s
        from mqgroups.operate.browse import browsed_groups  # rarely needed, and long to import

        try:
            if self._queue is None or self._queue.is_stale:
                self._queue = self._connection.open_queue(self._name, mq.MQOO_BROWSE)
            groups, others = browsed_groups(self._queue, _MOST_MESSAGES)
            seen = others + sum(group.messages for group in groups)
            if seen == _MOST_MESSAGES and self._connection.platform == mq.MQPL_ZOS:
                # There is no order there: what a group lacks may lie in the rest of the queue (topic q026270).
                return
            found = {each.group_id: each for each in groups if each.gaps or not each.has_head}
            if found.keys() - self._told:
                with inquiring(self._connection, consumers) as local:
                    alone = local.inquire(mq.MQIA_OPEN_INPUT_COUNT) == 1
                self._tell(found, fields, alone=alone)
            self._seen = found
        except ConnectionBroken:
            pass  # the consumer's next call finds the connection lost, and reconnects
        except MQIError as error:
            self._refused = isinstance(error, NotAuthorised)
            _log.debug(
                "queue %s cannot be browsed for groups that are never got: %s", self._name, error, extra=dict(fields)
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
                "queue %s: group %s cannot be got, because %s is missing; %d of its messages are on the queue. "
                "`mqgroups groups --queue %s` shows them",
                self._name,
                group.group_id.hex(),
                missing,
                group.messages,
                self._name,
                extra={**fields, sc.GROUP_ID: group.group_id.hex()},
            )

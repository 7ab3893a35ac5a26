"""Warns about groups on a consumer's queue that it never gets, because messages are missing or are there twice.

An MQGET in logical order does not return such groups (IBM MQ, topic q023060), so a waiting consumer sees an empty queue. When a
consumer has waited without a message, it browses the queue in physical order and logs one warning for each such group. Where only
complete groups are got, a group without an end is one of them: if nothing was put to it for ``group_wait_s``, for which another
consumer would wait for its next message.

A group whose beginning another consumer has got looks the same until that consumer gets the rest. So if the queue is open for
input elsewhere, a group is logged only if the next browse finds it unchanged.

This helps operators and costs a waiting consumer little: once in half a minute one MQGET that finds no message, or a few hundred
at most; nothing while groups come. It needs the authority to browse; without that, the consumer works but does not warn.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mqgroups.config import ConsumerSettings
from mqgroups.connection.connection import Connection
from mqgroups.connection.inquiry import inquiring
from mqgroups.connection.queue import Queue
from mqgroups.errors import NEVER_CAME, ConnectionBroken, MQIError, NotAuthorised
from mqgroups.mqi import constants as mq
from mqgroups.telemetry import semantic_conventions as sc

if TYPE_CHECKING:
    from mqgroups.operate.rules.inspection import GroupInspection

_log = logging.getLogger("mqgroups.get")
_MOST_MESSAGES = 500
_PAUSE_S = 30.0


class UnreachableGroups:
    """The unreachable groups that a consumer has found on its queue."""

    def __init__(self, connection: Connection, settings: ConsumerSettings) -> None:
        self._connection = connection
        self._settings = settings
        self._name = settings.queue
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
        # Rarely needed, and long to import.
        from mqgroups.operate.browse import browsed_groups
        from mqgroups.operate.rules.unreachable import never_got

        try:
            if self._queue is None or self._queue.is_stale:
                self._queue = self._connection.open_queue(self._name, mq.MQOO_BROWSE)
            groups, others = browsed_groups(self._queue, _MOST_MESSAGES)
            seen = others + sum(group.messages for group in groups)
            if seen == _MOST_MESSAGES and self._connection.platform == mq.MQPL_ZOS:
                # There is no order there: what a group lacks may lie in the rest of the queue (topic q026270).
                return
            # What a group lacks at its end may lie behind what was browsed.
            ends_late = seen == _MOST_MESSAGES or not self._settings.complete_groups_only
            quiet_since = _put_time(max(0.0, time.time() - self._settings.group_wait_s))
            found = {
                each.group_id: each for each in groups if never_got(each, quiet_since="" if ends_late else quiet_since)
            }
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
        from mqgroups.operate.rules.unreachable import why_not_got

        for group in found.values():
            if group.group_id in self._told or not (alone or self._seen.get(group.group_id) == group):
                continue
            self._told.add(group.group_id)
            _log.warning(
                "queue %s: group %s cannot be got, because %s; %d of its messages are on the queue. "
                "`mqgroups groups --queue %s` shows them. %s",
                self._name,
                group.group_id.hex(),
                why_not_got(group),
                group.messages,
                self._name,
                NEVER_CAME,
                extra={**fields, sc.GROUP_ID: group.group_id.hex()},
            )


def _put_time(seconds: float) -> str:
    """Return a time, in seconds since 1970, as PutDate and PutTime together have it, without hundredths: 14 digits, UTC."""
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(seconds))

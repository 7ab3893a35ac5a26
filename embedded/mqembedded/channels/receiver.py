"""The receiving end of a channel, which delivers batches, and handles messages that cannot be delivered.

A batch is a unit of work, and is written to the disk with its number. So the sending end can find out later whether the batch was
received. With NPMSPEED(FAST), messages that are not persistent are outside this unit of work. They are available at once, but can
be lost if the channel breaks.

If a queue is full or inhibited, the channel retries the put (MRRTY, MRTMR). If the put still fails, or the queue does not exist,
the message goes to the dead-letter queue with an MQDLH, or is discarded if its Report has MQRO_DISCARD_MSG. The receiving end
also makes an exception report if the message asks for it. Without a dead-letter queue, the receiving end refuses the batch, and
the channel cannot continue. If a cluster queue's instance here no longer exists or inhibits puts, a message goes to another
instance if there is one and MQOPEN has not bound the message. So a group can be split in spite of MQOO_BIND_ON_GROUP.

Source: IBM MQ, "What happens when a message cannot be delivered?", "Dead-letter queues", "MQOPEN and clusters" (its note),
"Example of a cluster with more than one instance of a queue", "Channel message sequence numbering", "Nonpersistent message speed
(NPMSPEED)". Unverified: a message of a group goes to another instance at once, without a retry.

``sender.py`` has the sending end. ``serve/server.py`` reads and writes the frames.
"""

from __future__ import annotations

import itertools
import logging
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.channels.settings import Surroundings
from mqembedded.cluster_view import local_target
from mqembedded.messages.queue import Message
from mqembedded.messages.route import Target
from mqembedded.messages.transmission import Bound, Transmitted, decode
from mqembedded.objects.definition import Definition
from mqembedded.queue_manager import QueueManager
from mqembedded.readings import GROUP_STAYS
from mqembedded.reports import reports
from mqembedded.reports.delivery import dead_letter, placed
from mqembedded.store.rows import ChannelState
from mqembedded.wire.structures import MessageDescriptor

_log = logging.getLogger(__name__)

_TRANSITORY = frozenset({mq.MQRC_Q_FULL, mq.MQRC_PUT_INHIBITED})
_GONE = frozenset({mq.MQRC_PUT_INHIBITED, mq.MQRC_UNKNOWN_OBJECT_NAME, mq.MQRC_UNKNOWN_ALIAS_BASE_Q})


class Receiver:
    """The receiving end of this queue manager's channels. The server calls it, with a thread for each sending end."""

    def __init__(self, q_mgr: QueueManager, cluster: Surroundings) -> None:
        self._q_mgr = q_mgr
        self._cluster = cluster
        self._guard = threading.Lock()
        # The sessions, by sender's identifier and channel. A channel's new session ends its previous session.
        self._locks: dict[tuple[str, str], threading.Lock] = {}
        self._sessions: dict[tuple[str, str], int] = {}
        self._numbers = itertools.count(1)

    def answer(self, command: dict[str, Any], messages: bytes) -> dict[str, Any]:
        """Carry out a command of the sending end.

        ``hello`` begins a session, and returns the number of the last batch that was received. ``batch`` delivers the next batch.
        """
        whose = (command["sender"], command["channel"])
        with self._guard:
            lock = self._locks.setdefault(whose, threading.Lock())
        # A batch of an earlier session can still be in progress. The answer must wait for its end to be true.
        with lock:
            if command["do"] == "hello":
                session = self._sessions[whose] = next(self._numbers)
                return {"session": session, "batch": self._last(command).batch}
            if self._sessions.get(whose) != command["session"]:
                return {"refused": "another session of this channel has begun"}
            state = self._last(command)
            if command["batch"] != state.batch + 1:
                return {"refused": f"batch {command['batch']} does not follow batch {state.batch}"}
            try:
                self._receive(decode(messages), replace(state, batch=command["batch"]))
            except (Failed, sqlite3.Error) as error:
                return {"refused": str(error)}
            return {"received": command["batch"]}

    def _last(self, command: dict[str, Any]) -> ChannelState:
        return self._q_mgr.store.channel(command["channel"], command["sender"])

    def _receive(self, batch: Iterable[Transmitted], state: ChannelState) -> None:
        """Deliver a batch. If this raises Failed or sqlite3.Error, no message of the unit of work has been delivered."""
        held: list[Message] = []
        fast = self._cluster.settings.npmspeed == "FAST"
        try:
            for item in batch:
                persistent = item.md.persistence == mq.MQPER_PERSISTENT
                try:
                    made = self._delivered(item)
                except Failed as failed:
                    if persistent or not fast:
                        raise
                    _log.warning("a message for %s is dropped: %s", item.queue_name, failed)
                    continue
                with self._q_mgr.lock:
                    for message in made:
                        message.queue.uncommitted_puts += 1
                held += made
                if fast and not persistent:
                    # These messages and the reports about them, which are not persistent either, are not in the unit of work.
                    del held[len(held) - len(made) :]
                    self._make_available(made)
            self._q_mgr.store.commit(held, (), state)
        except BaseException:
            with self._q_mgr.lock:
                for message in held:
                    message.queue.held -= 1
                    message.queue.uncommitted_puts -= 1
            raise
        self._make_available(held)

    def _make_available(self, messages: Sequence[Message]) -> None:
        with self._q_mgr.lock:
            for message in messages:
                message.queue.uncommitted_puts -= 1
                message.queue.make_available((message,))

    def _delivered(self, item: Transmitted) -> list[Message]:
        """Count an arriving message and its reports on their queues, and return them. Raises Failed."""
        settings = self._cluster.settings
        for attempt in range(settings.mrrty + 1):
            try:
                with self._q_mgr.lock:
                    return self._put(item)
            except Failed as failed:
                reason = failed.reason
            if reason in _GONE and not self._stays(item.bound):
                with self._q_mgr.lock:
                    elsewhere = self._elsewhere(item)
                if elsewhere:
                    return elsewhere
            if reason not in _TRANSITORY or attempt == settings.mrrty:
                break
            if self._cluster.ending.wait(settings.mrtmr / 1000):
                raise Failed(mq.MQRC_Q_MGR_STOPPING)
        with self._q_mgr.lock:
            return self._undelivered(item, reason)

    def _put(self, item: Transmitted) -> list[Message]:
        md = MessageDescriptor(item.md.pack(2))
        md.expiry, md.backout_count = item.expiry, 0
        target = self._here(item)
        message = placed(self._q_mgr, target, md, item.data, item.properties)
        if not target.is_away and reports.is_confirmed(reports.COA, md.report, md.format):
            return [message, *reports.reports_on_arrival(self._q_mgr, [message])]
        return [message]

    def _here(self, item: Transmitted) -> Target:
        """Return the target (usually a local queue) of a message from a channel. Raises Failed."""
        name, cluster = item.queue_name, self._q_mgr.cluster
        if cluster.ways.to(item.q_mgr_name) is not None:
            return cluster.addressed(name, item.q_mgr_name)
        if isinstance(self._q_mgr.catalogue.get(name), Definition):
            return cluster.addressed(name, "")
        return local_target(self._q_mgr.catalogue, self._q_mgr.name, name)

    def _stays(self, bound: Bound) -> bool:
        """Return whether a message with this binding must stay at its instance."""
        return bound is Bound.ON_OPEN or (bound is Bound.ON_GROUP and self._q_mgr.readings[GROUP_STAYS])

    def _elsewhere(self, item: Transmitted) -> list[Message]:
        """Return a list with the message to forward to another instance of the queue, or an empty list if there is none."""
        try:
            q_mgr_name = self._cluster.choose(item.queue_name, arrived=True, without=self._q_mgr.name)
        except Failed:
            return []
        _log.info("a message for %s is forwarded to %s", item.queue_name, q_mgr_name)
        target = self._q_mgr.cluster.addressed(item.queue_name, q_mgr_name)
        md = MessageDescriptor(item.md.pack(2))
        md.expiry = item.expiry
        return [placed(self._q_mgr, target, md, item.data, item.properties, bound=item.bound)]

    def _undelivered(self, item: Transmitted, reason: int) -> list[Message]:
        """Return the message for the dead-letter queue (unless it is discarded), and a report if requested. Raises Failed."""
        about = MessageDescriptor(item.md.pack(2))
        made = reports.report_on_exception(self._q_mgr, about, item.data, item.properties, reason)
        if about.report & mq.MQRO_DISCARD_MSG:
            return made
        md = MessageDescriptor(item.md.pack(2))
        md.expiry = item.expiry
        letter = dead_letter(self._q_mgr, md, item.data, item.properties, reason, (item.queue_name, item.q_mgr_name))
        if letter is None:
            reports.forget(made)
            raise Failed(reason)
        _log.warning("a message for %s goes to the dead-letter queue: %s", item.queue_name, mq.reason_name(reason))
        return [letter, *made]

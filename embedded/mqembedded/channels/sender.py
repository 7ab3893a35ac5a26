"""The sending end of a channel: a transmission queue, and the thread that moves its messages to another queue manager.

The channel sends messages in batches. Before the channel sends a batch, it stores the batch's number and messages. From then
until the answer, the batch is in doubt. The receiving end stores the number of the last batch that it has committed. When the two
ends connect again after a failure of either end, this number shows whether the batch in doubt was received. If so, its messages
are deleted here. If not, they become available and are sent again. In this way, persistent messages arrive exactly once.

A channel is INACTIVE without a connection and RUNNING with a connection. It is RETRYING while the partner cannot be reached or
refuses a batch, and STOPPED from ``stop`` until ``start``. While it is RETRYING or STOPPED, messages without a fixed binding go
to another instance of their queue, and all other messages wait here. A batch in doubt always waits.

Tests can slow down a channel, shuffle the messages that it sends, and cut its connection while a batch is in doubt.

Source: IBM MQ, "Channel message sequence numbering", "In-doubt channels", "What happens when a cluster queue manager fails",
"MQOPEN and clusters". Unverified: the time when messages go to another instance. ``receiver.py`` has the receiving end.
"""

from __future__ import annotations

import contextlib
import json
import logging
import random
import socket
import sqlite3
import threading
from dataclasses import dataclass
from typing import Any

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.channels.settings import ChannelStatus, Surroundings
from mqembedded.messages.queue import Match, Message, Queue
from mqembedded.messages.transmission import Bound, bound, encode, is_transmission, opened
from mqembedded.queue_manager import QueueManager
from mqembedded.reports.delivery import placed
from mqembedded.reports.reports import discard_expired, forget, publish
from mqembedded.store.rows import ChannelState
from mqembedded.wire.frames import FrameError, FrameReader, decode_reply, encode_request
from mqembedded.wire.verbs import BY_NAME

_log = logging.getLogger(__name__)
_KILOBYTE = 1024
_UNAVAILABLE = (ChannelStatus.RETRYING, ChannelStatus.STOPPED)


class ChannelError(Exception):
    """The partner cannot be reached, is gone, or refuses a command. The message explains why."""


@dataclass(slots=True)
class Misconduct:
    """Deliberate faults of a channel, for tests.

    Attributes:
        delay_s: the number of seconds that the channel waits before each batch.
        shuffle: a random generator that shuffles the messages of each batch, or None to keep their order.
        cut: "before" or "after" if the connection breaks before or after the partner receives the next batch, which is then in
            doubt; "" if it does not break.
        stops_when_cut: whether the channel becomes STOPPED after the cut. The batch stays in doubt until the channel is started.
    """

    delay_s: float = 0.0
    shuffle: random.Random | None = None
    cut: str = ""
    stops_when_cut: bool = False


class _Link:
    """A connection to the receiving end, with its own session."""

    def __init__(self, host: str, port: int, token: str, about: dict[str, Any]) -> None:
        self._token = token.encode()
        self._about = about
        try:
            self.sock = socket.create_connection((host, port))
        except OSError as error:
            raise ChannelError(str(error)) from error
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = FrameReader(self.sock)

    def ask(self, what: str, messages: bytes = b"", **more: Any) -> dict[str, Any]:
        """Send a command, and return the partner's answer."""
        verb = BY_NAME["CHANNEL"]
        command = json.dumps({"do": what, **self._about, **more}).encode()
        try:
            self.sock.sendall(encode_request(verb, 1, [self._token, command, messages]))
            frame = self._reader.read()
        except (OSError, FrameError) as error:
            raise ChannelError(str(error)) from error
        if frame is None:
            raise ChannelError("the partner is gone")
        comp, reason, values = decode_reply(verb, frame[2])
        if comp != mq.MQCC_OK:
            raise ChannelError(f"the partner answers {mq.reason_name(reason)}")
        answer: dict[str, Any] = json.loads(values[0])
        return answer

    def is_alive(self) -> bool:
        """Return whether the connection is open. Like a batch heartbeat, this call comes before a batch is in doubt."""
        try:
            return bool(self.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


class SenderChannel:
    """A channel to another queue manager, inside or outside the cluster."""

    def __init__(self, q_mgr: QueueManager, cluster: Surroundings, partner: str, name: str, queue: Queue) -> None:
        self.name = name
        self.partner = partner
        self.queue = queue
        self.status = ChannelStatus.INACTIVE
        self.misconduct = Misconduct()
        self.batches_sent = 0
        self.messages_sent = 0
        self.problem = ""
        self._q_mgr = q_mgr
        self._cluster = cluster
        self._link: _Link | None = None
        self._session = 0
        # The last batch's number, and the messages of the batch in doubt.
        self._state = q_mgr.store.channel(name, partner)
        self._in_doubt: list[Message] = []
        self._stop_wanted = False
        self._changed = threading.Condition()
        self._woken = threading.Event()
        self._hurried = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._restore_doubt()
        queue.on_arrival = self._woken.set

    def _restore_doubt(self) -> None:
        """Remove a batch's messages from the transmission queue if the batch was in doubt when the queue manager ended."""
        positions = set(self._state.in_doubt)
        self._in_doubt = [message for message in self.queue.available.values() if message.position in positions]
        for message in self._in_doubt:
            self.queue.withdraw(message)
        self.queue.uncommitted_gets += len(self._in_doubt)

    @property
    def messages_in_doubt(self) -> int:
        """The number of messages in doubt."""
        return len(self._in_doubt)

    # --- for other modules, without the queue manager's lock

    def open(self) -> None:
        """Start the channel's thread."""
        self._thread.start()

    def close(self) -> None:
        """End the channel at once, even during a batch. Callers must set ``Surroundings.ending`` first."""
        link = self._link
        if link is not None:
            link.close()
        self.hurry()
        if self._thread.is_alive():
            self._thread.join()

    def stop(self) -> None:
        """Carry out STOP CHANNEL, and return when the current batch is over."""
        self._stop_wanted = True
        self.hurry()
        with self._changed:
            self._changed.wait_for(lambda: self.status is ChannelStatus.STOPPED or self._cluster.ending.is_set())

    def start(self) -> None:
        """Carry out START CHANNEL."""
        self._stop_wanted = False
        self.hurry()

    def slow(self, delay_s: float) -> None:
        """Let the channel wait this many seconds before each batch."""
        self.misconduct.delay_s = delay_s
        self.hurry()

    def hurry(self) -> None:
        """Wake the thread to look for work. The thread ends if its queue was deleted."""
        self._woken.set()
        self._hurried.set()

    # --- the thread

    def _run(self) -> None:
        while not (self._cluster.ending.is_set() or self.queue.deleted):
            # The event is cleared before the state is read, so that the next step notices a later change.
            self._woken.clear()
            self._hurried.clear()
            try:
                self._step()
            except (ChannelError, Failed, sqlite3.Error) as error:
                self._broken(str(error))
            except Exception:
                _log.exception("channel %s", self.name)
                self._broken("a defect, which the log shows")
        with self._changed:
            self._changed.notify_all()
        self._drop_link()

    def _step(self) -> None:
        """Do the channel's next piece of work, or wait until there is work."""
        if self._stop_wanted:
            self._drop_link()
            self._set(ChannelStatus.STOPPED)
            self._reallocate()
            self._woken.wait()
            return
        if self.status is ChannelStatus.STOPPED:
            self._set(ChannelStatus.INACTIVE)
        # A channel that is RETRYING continues until it reaches its partner, even if it has no message to send.
        idle = self.status is not ChannelStatus.RETRYING and not self._in_doubt and not self._state.in_doubt
        if idle and not self._has_messages():
            self._woken.wait()
            return
        link = self._connected()
        # After a batch in doubt is resolved, there can be more messages, or no work.
        if self.misconduct.delay_s and self._hurried.wait(self.misconduct.delay_s):
            return
        batch = self._gathered()
        if batch:
            self._send(link, batch)

    def _broken(self, why: str) -> None:
        if self._cluster.ending.is_set():
            return
        if why != self.problem:
            _log.warning("channel %s: %s", self.name, why)
        self.problem = why
        self._drop_link()
        if self._stop_wanted:
            return
        self._set(ChannelStatus.RETRYING)
        self._reallocate()
        self._cluster.ending.wait(self._cluster.settings.retry_s)

    def _set(self, status: ChannelStatus) -> None:
        with self._q_mgr.lock:
            self.status = status
        with self._changed:
            self._changed.notify_all()

    def _drop_link(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _has_messages(self) -> bool:
        with self._q_mgr.lock:
            return any(is_transmission(message) for message in self.queue.available.values())

    def _connected(self) -> _Link:
        """Return a connection to the partner. If the connection is new, resolve a batch in doubt. Raises ChannelError."""
        if self._link is not None and self._link.is_alive():
            return self._link
        self._drop_link()
        with self._q_mgr.lock:
            member = self._cluster.partner(self.partner)
        if member is None:
            raise ChannelError(f"{self.partner} has never been started")
        about = {"channel": self.name, "sender": self._q_mgr.store.identifier}
        link = self._link = _Link(member.host, member.port, member.token, about)
        if self._cluster.ending.is_set():
            # The end of the cluster closes the channel's connection, but this connection is perhaps made just after that.
            raise ChannelError("the queue manager ends")
        answer = link.ask("hello")
        self._session = answer["session"]
        self._resolve(received=answer["batch"] == self._state.batch, last=answer["batch"])
        self.problem = ""
        self._set(ChannelStatus.RUNNING)
        return link

    # --- batches

    def _gathered(self) -> list[Message]:
        """Remove the next batch from the transmission queue, and return its messages."""
        settings = self._cluster.settings
        batch: list[Message] = []
        size = 0
        with self._q_mgr.lock:
            discard_expired(self._q_mgr, self.queue)
            for message in self.queue.candidates(Match()):
                if not is_transmission(message):
                    continue
                size += len(message.data)
                if batch and (len(batch) == settings.batchsz or size > settings.batchlim * _KILOBYTE):
                    break
                batch.append(message)
            for message in batch:
                self.queue.withdraw(message)
            self.queue.uncommitted_gets += len(batch)
        return batch

    def _send(self, link: _Link, batch: list[Message]) -> None:
        """Send a batch. After ChannelError, it is in doubt or available again, except for messages that are sent at most once."""
        wrong = self.misconduct
        fast = self._cluster.settings.npmspeed == "FAST"
        kept = [message for message in batch if message.persistent or not fast]
        number = self._state.batch + 1
        try:
            # From here on, the batch is in doubt.
            positions = tuple(message.position for message in kept if message.persistent)
            self._note(ChannelState(self.name, self.partner, number, positions))
        except sqlite3.Error:
            self._give_back(batch)
            raise
        self._in_doubt = kept
        with self._q_mgr.lock:
            # These messages are sent at most once.
            self._forget([message for message in batch if fast and not message.persistent])
        cut, wrong.cut = wrong.cut, ""
        if cut == "before":
            self._cut()
        sent = list(batch)
        if wrong.shuffle is not None:
            wrong.shuffle.shuffle(sent)
        answer = link.ask("batch", encode(sent), session=self._session, batch=number)
        if cut:
            self._cut()
        if "refused" in answer:
            self._resolve(received=False, last=number - 1)
            raise ChannelError(f"{self.partner} refuses a batch: {answer['refused']}")
        self._resolve(received=True, last=number)
        self.batches_sent += 1
        self.messages_sent += len(batch)

    def _cut(self) -> None:
        self._stop_wanted = self._stop_wanted or self.misconduct.stops_when_cut
        raise ChannelError("cut deliberately, with a batch in doubt")

    def _resolve(self, *, received: bool, last: int) -> None:
        """Resolve the batch in doubt, which was ``received`` or not. ``last`` is the number of the partner's last batch."""
        state = ChannelState(self.name, self.partner, last)
        if state != self._state:
            self._note(state, self._in_doubt if received else ())
        messages, self._in_doubt = self._in_doubt, []
        if received:
            with self._q_mgr.lock:
                self._forget(messages)
        else:
            self._give_back(messages)

    def _give_back(self, messages: list[Message]) -> None:
        with self._q_mgr.lock:
            self.queue.uncount(0, len(messages))
            self.queue.make_available(messages)

    def _note(self, state: ChannelState, gone: list[Message] | tuple[()] = ()) -> None:
        self._q_mgr.store.commit((), gone, state)
        self._state = state

    def _forget(self, messages: list[Message]) -> None:
        """Update the queue's counts after messages were sent. The caller holds the lock."""
        self.queue.held -= len(messages)
        self.queue.uncount(0, len(messages))
        self.queue.dequeued += len(messages)

    # --- while the partner cannot be reached

    def _reallocate(self) -> None:
        """If a message's binding is not fixed, move the message to an instance that can be reached."""
        with self._q_mgr.lock:
            loose = [each for each in self.queue.available.values() if bound(each) is Bound.NOT_FIXED]
            for message in filter(is_transmission, loose):
                item = opened(message)
                try:
                    chosen = self._cluster.choose(item.queue_name, without=self.partner, better_than=self.status)
                    item.md.expiry = item.expiry
                    made = placed(
                        self._q_mgr,
                        self._q_mgr.cluster.addressed(item.queue_name, chosen),
                        item.md,
                        item.data,
                        item.properties,
                        bound=Bound.NOT_FIXED,
                    )
                except Failed:
                    continue
                # This is written under the lock, as with expired messages. It is rare, and exactly one of the two messages must
                # exist.
                try:
                    self._q_mgr.write_now([made], [message])
                except Failed:
                    forget([made])
                    return
                self.queue.withdraw(message)
                self.queue.held -= 1
                publish([made])

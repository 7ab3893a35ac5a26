"""A queue manager as an application sees it: connect to it, and ask it for producers and consumers of groups.

Not here: what operators ask of a queue manager (``mqgroups.operate``), and which settings there can be (``config.py``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from mqgroups.config import (
    STATUS_MODEL,
    ConsumerSettings,
    ProducerSettings,
    checked_commit_every,
    checked_seconds,
    segmented_status,
    status_queue_name,
)
from mqgroups.connection import rules
from mqgroups.connection.connecting import open_connection
from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder
from mqgroups.connection.retry import Patience, Sleep
from mqgroups.connection.wrapping import refuse_ends
from mqgroups.core.model import Persistence, Role
from mqgroups.core.modes import Bind, Poison, StatusLayout, Trace
from mqgroups.core.unit_of_work import Every
from mqgroups.get.consumer import GroupConsumer
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import ConnectArguments, ConnectedQueueManager
from mqgroups.mqi.binding import binding_of, load_binding
from mqgroups.mqi.secret import Secret
from mqgroups.mqi.structures import LONGEST_MESSAGE_BYTES
from mqgroups.pipe import GroupPipe, with_room
from mqgroups.put.producer import GroupProducer
from mqgroups.status.hooks import Hooks, OnAbandon, OnInDoubt, OnResume
from mqgroups.telemetry import context
from mqgroups.telemetry.settings import EACH_UNIT_OF_WORK, TelemetrySettings

# Reconnecting is this package's own: with the client's, MQPMO_LOGICAL_ORDER is refused (2547; IBM MQ, topic q045460).
_CONNECT_OPTIONS = mq.MQCNO_RECONNECT_DISABLED | mq.MQCNO_HANDLE_SHARE_BLOCK


class QueueManager(ConnectionHolder):
    """A connected queue manager. Leaving its ``with`` block backs out what is not committed, and disconnects.

    It has one unit of work, and is one thread's at a time: producers and consumers that work at the same time need a connection
    each.
    """

    def __init__(self, connection: Connection, leave: Callable[[], None] | None = None) -> None:
        """Take a connection over; ``leave`` is called when it is closed."""
        super().__init__(connection)
        self._leave = leave

    def close(self) -> None:
        """Back out what is not committed, and disconnect if the connection is this package's own. Idempotent."""
        try:
            self._connection.close()
        finally:
            if self._leave is not None:
                self._leave()

    def __enter__(self) -> QueueManager:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except BaseException:
            # Interrupted: the application has left the connection, and will not close it again.
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<QueueManager {self._connection}>"

    def group_producer(
        self,
        queue: str,
        *,
        name: str,
        commit_every: int | Every = 100,
        status_queue: str | None = None,
        status_model: str = STATUS_MODEL,
        status_layout: StatusLayout = "classic",
        owner_wait_s: float = 30.0,
        full_wait_s: float = 30.0,
        persistence: Persistence = Persistence.PERSISTENT,
        priority: int | None = None,
        segment_bytes: int | None = None,
        bind: Bind = "group",
        on_resume: OnResume | None = None,
        on_in_doubt: OnInDoubt | None = None,
    ) -> GroupProducer:
        """Return a producer that puts message groups to ``queue``.

        Args:
            queue: a local, alias, remote or cluster queue.
            name: the producer's identity, which survives a crash: 1 to 35 characters of A-Z a-z 0-9 . / _ %. One
                instance of a name works at a time.
            commit_every: when to take a syncpoint: a number of messages, or ``Every(messages=, bytes=, seconds=)``.
            status_queue: where its status record is kept, on the connected queue manager; by default
                ``MQGROUPS.PUT.<name>``.
            status_model: the model queue to make the status queue from if it does not exist.
            status_layout: ``"classic"`` gets each old record when it puts the new one; ``"segmented"`` puts records as segments
                of one message, which saves that MQGET and is not there on z/OS; ``"auto"`` does so where units of work are
                small. A name can change from one to the other at any start.
            owner_wait_s: how long to wait for an owner of the same name to go, seconds.
            full_wait_s: how long to wait for room on a full queue, or for puts to be allowed again, seconds.
            persistence: of the messages. Messages that are not persistent are gone after the queue manager restarts,
                and what is left of their group cannot be consumed.
            priority: of the messages, 0 to 9; by default the queue's.
            segment_bytes: put longer messages as segments of so many bytes; units of work may end between them. By default
                only streams are put in segments, of 1 MiB. Not on z/OS.
            bind: to which instance of a cluster queue; nothing to other queues. ``"group"``: one is chosen for each group
                (MQOO_BIND_ON_GROUP). ``"open"``: one for all groups, until the producer is closed or connects again.
                ``"as queue"``: as DEFBIND of the queue says. ``"not fixed"``, or DEFBIND(NOTFIXED), is refused for a cluster
                queue: it would split groups. An interrupted group goes on where it was begun, whatever is said here.
            on_resume: called once, before this returns, if an interrupted group was found. What it raises comes out of
                here; the group stays as it was found.
            on_in_doubt: called when MQCMIT of messages had no answer and it is known what became of them; once for each.
                What it raises comes out of the call that was under way; ``group()`` goes on after the last commit.

        Raises:
            ConfigurationError: a setting cannot be.
            StatusError: the status queue is not what it must be.
            OwnerActive: another instance of this name has it.
            MQIError: a queue cannot be opened.
        """
        every = checked_commit_every(commit_every)
        settings = ProducerSettings(
            queue=queue,
            name=name,
            commit_every=every,
            status_queue=status_queue_name(Role.PUT, name, status_queue),
            status_model=status_model,
            segmented_status=segmented_status(status_layout, every, self),
            owner_wait_s=owner_wait_s,
            full_wait_s=full_wait_s,
            persistence=Persistence(persistence),
            priority=priority,
            segment_bytes=segment_bytes,
            bind=bind,
            hooks=Hooks(on_resume, on_in_doubt),
        )
        return GroupProducer(self._connection, settings.checked(self))

    def group_consumer(
        self,
        queue: str,
        *,
        name: str,
        commit_every: int | Every = 100,
        status_queue: str | None = None,
        status_model: str = STATUS_MODEL,
        status_layout: StatusLayout = "classic",
        owner_wait_s: float = 30.0,
        wait_s: float | None = None,
        group_wait_s: float = 300.0,
        complete_groups_only: bool = False,
        max_message_length: int = LONGEST_MESSAGE_BYTES,
        stream: bool = False,
        poison: Poison = "halt",
        on_abandon: OnAbandon | None = None,
        on_resume: OnResume | None = None,
        on_in_doubt: OnInDoubt | None = None,
    ) -> GroupConsumer:
        """Return a consumer that gets message groups from ``queue``.

        Args:
            queue: a local queue or an alias of one; of a cluster queue the instance at this queue manager.
            name: the consumer's identity, as a producer's. Its status queue is at this queue manager too, so consumers at
                several instances of a cluster queue can have one name.
            commit_every: when to take a syncpoint, as for a producer.
            status_queue: by default ``MQGROUPS.GET.<name>``.
            status_model: the model queue to make the status queue from if it does not exist.
            status_layout: how records are kept, as for a producer.
            owner_wait_s: how long to wait for an owner of the same name to go, seconds.
            wait_s: how long to wait for the next group before the iteration ends, seconds; ``None`` waits for ever.
            group_wait_s: how long to wait for the next message inside a group before ``GroupStalled``, seconds.
            complete_groups_only: begin a group only when all its messages are on the queue (MQGMO_ALL_MSGS_AVAILABLE).
            max_message_length: the longest message to take, bytes. The buffer begins smaller and grows to what comes.
            stream: take messages that were put in segments segment by segment (``Message.chunks``), with syncpoints between
                them, instead of whole. Of such a message ``data`` is its first segment only.
            poison: what to do with a message that fails whenever it is processed, as far as the queue has a BOTHRESH: found by
                its backout count, and by processing it in a unit of work of its own. ``"halt"`` raises ``PoisonMessage``,
                ``"skip"`` moves it to the queue's BOQNAME, ``"quarantine"`` moves the rest of its group there and raises
                ``GroupQuarantined``; ``"ignore"`` does not ask.
            on_abandon: called with what iterating over an abandoned group is about to raise, before that is committed: to
                undo, durably, what was done with its messages. If it raises, the group comes again.
            on_resume, on_in_doubt: as for a producer.

        Raises:
            ConfigurationError: a setting cannot be.
            StatusError: the status queue is not what it must be.
            OwnerActive: another instance of this name has it.
            MQIError: a queue cannot be opened.
        """
        every = checked_commit_every(commit_every)
        settings = ConsumerSettings(
            queue=queue,
            name=name,
            commit_every=every,
            status_queue=status_queue_name(Role.GET, name, status_queue),
            status_model=status_model,
            segmented_status=segmented_status(status_layout, every, self),
            owner_wait_s=owner_wait_s,
            wait_s=wait_s,
            group_wait_s=group_wait_s,
            complete_groups_only=complete_groups_only,
            max_message_length=max_message_length,
            stream=stream,
            poison=poison,
            hooks=Hooks(on_resume, on_in_doubt, on_abandon),
        )
        return GroupConsumer(self._connection, settings.checked())

    def group_pipe(
        self,
        source: str,
        target: str,
        *,
        name: str,
        commit_every: int | Every = 100,
        status_model: str = STATUS_MODEL,
        status_layout: StatusLayout = "classic",
        owner_wait_s: float = 30.0,
        wait_s: float | None = None,
        group_wait_s: float = 300.0,
        complete_groups_only: bool = False,
        poison: Poison = "halt",
        full_wait_s: float = 30.0,
        persistence: Persistence = Persistence.PERSISTENT,
        priority: int | None = None,
        bind: Bind = "group",
        on_abandon: OnAbandon | None = None,
        on_resume: OnResume | None = None,
        on_in_doubt: OnInDoubt | None = None,
    ) -> GroupPipe:
        """Return a pipe that gets groups from ``source`` and puts groups made from them to ``target``, exactly once.

        It is a consumer and a producer of the same name with one unit of work; the arguments are theirs. ``commit_every`` counts
        the messages that are got; a unit of work also ends before what is put in it goes beyond MAXUMSGS.

        Raises:
            StatusRecordsDisagree: the two status records are not of the same commit.
            ConfigurationError, StatusError, OwnerActive, MQIError: as for a consumer and a producer.
        """
        every = with_room(checked_commit_every(commit_every), self._connection.max_uncommitted_msgs)
        segmented = segmented_status(status_layout, every, self)
        incoming = ConsumerSettings(
            queue=source,
            name=name,
            commit_every=every,
            status_queue=status_queue_name(Role.GET, name),
            status_model=status_model,
            segmented_status=segmented,
            owner_wait_s=owner_wait_s,
            wait_s=wait_s,
            group_wait_s=group_wait_s,
            complete_groups_only=complete_groups_only,
            poison=poison,
            hooks=Hooks(on_resume, on_in_doubt, on_abandon),
        )
        outgoing = ProducerSettings(
            queue=target,
            name=name,
            commit_every=every,
            status_queue=status_queue_name(Role.PUT, name),
            status_model=status_model,
            segmented_status=segmented,
            owner_wait_s=owner_wait_s,
            full_wait_s=full_wait_s,
            persistence=Persistence(persistence),
            priority=priority,
            bind=bind,
        )
        return GroupPipe(self._connection, incoming.checked(), outgoing.checked(self))


def connect(
    q_mgr_name: str,
    channel: str | None = None,
    conn_name: str | None = None,
    *,
    user: str | None = None,
    password: str | Secret | None = None,
    token: str | Secret | None = None,
    cipher_spec: str | None = None,
    key_repository: str | None = None,
    key_repository_password: str | Secret | None = None,
    certificate_label: str | None = None,
    peer_name: str | None = None,
    ccdt_url: str | None = None,
    connect_wait_s: float = 0.0,
    reconnect_wait_s: float = 60.0,
    sleep: Sleep = time.sleep,
    trace: Trace = EACH_UNIT_OF_WORK,
    propagate: bool = False,
) -> QueueManager:
    """Connect to a queue manager.

    Args:
        q_mgr_name: its name; not ``*NAME``, because a group can be resumed on one queue manager only.
        channel: the server-connection channel; ``None`` leaves it to the MQ client how to get there.
        conn_name: ``"host(port)"``, with ``channel``; several, separated by commas, are tried in order.
        user, password: to be checked by the queue manager. Secrets can be texts, or a ``Secret`` that says in which file or
            environment variable they are; then they are read again whenever the connection is made again.
        token: a JSON web token instead of them (ibmmq only).
        cipher_spec: the CipherSpec of the channel: the connection uses TLS (MQCD.SSLCipherSpec).
        key_repository: where the certificates are that the queue manager's is checked by (MQSCO.KeyRepository); else
            MQSSLKEYR or mqclient.ini say so.
        key_repository_password: opens it (ibmmq only); else MQKEYRPWD or a stash file do.
        certificate_label: of this client's own certificate, which a channel with SSLCAUTH(REQUIRED) asks for.
        peer_name: what the distinguished name in the queue manager's certificate has to match (``"CN=QM1,O=*"``).
        ccdt_url: a client channel definition table, instead of ``channel`` and ``conn_name`` (ibmmq only); else MQCCDTURL,
            MQCHLLIB and MQCHLTAB say where one is.
        connect_wait_s: how long to go on trying while the queue manager is not there, seconds; 0 tries once.
        reconnect_wait_s: how long to go on trying when the connection is lost, seconds. Producers and consumers find out
            whether their unit of work was committed, do it again if not, and go on as if nothing had happened; 0 leaves
            that to the application.
        sleep: how the waits between tries are done.
        trace: which OpenTelemetry spans its producers and consumers make: one for each ``"unit of work"``, for each
            ``"message"`` too, or none (``"off"``). Metrics do not depend on it.
        propagate: put messages with the context of their span, as message properties ``traceparent`` and ``tracestate``. Where
            PROPCTL does not prevent it, consumers that pass no message handle get such a message with an MQRFH2 in front of its
            data (this package's take it off again); therefore not by default. Consumers link to the context that they find,
            whatever PROPCTL says. With ``trace="off"`` the context of the application's own span.

    Raises:
        BindingMissing: neither pymqi nor ibmmq can be used.
        ConfigurationError: settings do not go together, are too long, or cannot be passed on by the binding; a secret cannot be
            read.
        NotAuthorised, ConnectionBroken, MQIError: it cannot be connected to.
    """
    arguments = ConnectArguments(
        q_mgr_name=q_mgr_name,
        channel=channel,
        conn_name=conn_name,
        user=user,
        password=Secret.of(password),
        token=Secret.of(token),
        cipher_spec=cipher_spec,
        key_repository=key_repository,
        key_repository_password=Secret.of(key_repository_password),
        certificate_label=certificate_label,
        peer_name=peer_name,
        ccdt_url=ccdt_url,
        options=_CONNECT_OPTIONS,
    )
    rules.check(arguments)
    patience = Patience(checked_seconds("connect_wait_s", connect_wait_s))
    reconnect = Patience(checked_seconds("reconnect_wait_s", reconnect_wait_s))
    telemetry = _telemetry(trace, propagate=propagate)
    return QueueManager(open_connection(load_binding(), arguments, patience, reconnect, sleep, telemetry))


def wrap(
    q_mgr: ConnectedQueueManager,
    *,
    sleep: Sleep = time.sleep,
    trace: Trace = EACH_UNIT_OF_WORK,
    propagate: bool = False,
) -> QueueManager:
    """Use a connection the application has made: a connected ``pymqi.QueueManager`` or ``ibmmq.QueueManager``.

    Closing the result backs out what is not committed but does not disconnect. It cannot be made again when it is lost; the
    application connects and wraps again, and resumes. Two things stay with the application. Its object commits when it is
    collected with ``disconnect_on_exit=True``, the bindings' default (MQDISC commits): close producers and consumers first. And
    messages it puts or gets itself in syncpoint are in the same unit of work: they are committed and backed out with the
    group's. While a group's messages are in it the object's own ``commit``, ``backout``, ``begin`` and ``disconnect`` are
    refused (``GroupUsage``); what ends it otherwise is noticed (``ForeignSyncpoint``, ``StatusRecordMissing``). ``trace`` and
    ``propagate`` are as for ``connect``.

    Raises:
        ConfigurationError: it is neither, or not connected.
    """
    binding = binding_of(q_mgr)
    connection = Connection(
        binding, binding.handle_of(q_mgr), sleep=sleep, telemetry=_telemetry(trace, propagate=propagate)
    )
    return QueueManager(connection, refuse_ends(q_mgr, lambda: connection.unit_of_work_of))


def _telemetry(trace: Trace, *, propagate: bool) -> TelemetrySettings:
    if propagate:
        context.keep_api_exit_out()
    return TelemetrySettings(trace, propagate)

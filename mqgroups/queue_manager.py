"""Connect to a queue manager, and make producers, consumers and pipes of message groups on that connection.

Not here: the operators' functions (``mqgroups.operate``), and the checks on settings (``config.py``).
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Collection

from mqgroups.config import (
    STATUS_MODEL,
    Codec,
    ConsumerSettings,
    ProducerSettings,
    check_flag,
    checked_commit_every,
    checked_persistence,
    checked_seconds,
    segmented_status,
    status_queue_name,
)
from mqgroups.connection import rules
from mqgroups.connection.connecting import open_connection
from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder
from mqgroups.connection.interruptions import WithBlock
from mqgroups.connection.retry import Patience, Sleep
from mqgroups.connection.wrapping import refuse_ends
from mqgroups.core.model import Persistence, Role
from mqgroups.core.modes import Bind, Poison, PutResponse, Repeats, Stalled, StatusLayout, Trace
from mqgroups.core.unit_of_work import Every
from mqgroups.get.consumer import GroupConsumer
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import ConnectArguments, ConnectedQueueManager
from mqgroups.mqi.binding import binding_of, load_binding
from mqgroups.mqi.secret import Secret
from mqgroups.mqi.structures import LONGEST_MESSAGE_BYTES
from mqgroups.pipe import GroupPipe, with_room
from mqgroups.printable import even_half_made
from mqgroups.put.producer import GroupProducer
from mqgroups.status.hooks import Hooks, OnAbandon, OnInDoubt, OnProgress, OnResume
from mqgroups.telemetry import context
from mqgroups.telemetry.settings import EACH_UNIT_OF_WORK, TelemetrySettings

# This package reconnects by itself: with the client's automatic reconnection, MQPMO_LOGICAL_ORDER is refused (2547; IBM MQ, topic
# q045460). Each connection has a socket of its own: connections that share one are lost together, and wait for each other (topic
# q001660).
_CONNECT_OPTIONS = mq.MQCNO_RECONNECT_DISABLED | mq.MQCNO_HANDLE_SHARE_BLOCK | mq.MQCNO_NO_CONV_SHARING


# Those that are not closed, by their identities.
_open: weakref.WeakValueDictionary[int, QueueManager] = weakref.WeakValueDictionary()


class QueueManager(ConnectionHolder, WithBlock):
    """A connected queue manager. Leaving its ``with`` block backs out what is not committed, and disconnects.

    It has one unit of work, and one thread at a time can use it. Producers and consumers that work at the same time need a
    connection each.
    """

    def __init__(self, connection: Connection, leave: Callable[[], None] | None = None) -> None:
        """Take over ``connection``; ``leave`` is called when this queue manager is closed."""
        super().__init__(connection)
        self._leave = leave
        _open[id(self)] = self

    def close(self) -> None:
        """Back out what is not committed, and disconnect if this package made the connection. Idempotent."""
        try:
            self._connection.close()
        finally:
            if self._leave is not None:
                self._leave()
        _open.pop(id(self), None)

    def __enter__(self) -> QueueManager:
        return self

    def _leave_block(self, *_: object) -> None:
        try:
            self.close()
        except BaseException:
            # The first close was interrupted. The application has left the block and will not close the connection again.
            self.close()
            raise

    @even_half_made
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
        record_users: Collection[str] = (),
        full_wait_s: float = 30.0,
        persistence: Persistence = Persistence.PERSISTENT,
        priority: int | None = None,
        segment_bytes: int | None = None,
        bind: Bind = "group",
        put_response: PutResponse = "sync",
        codec: Codec | None = None,
        on_resume: OnResume | None = None,
        on_in_doubt: OnInDoubt | None = None,
        on_progress: OnProgress | None = None,
    ) -> GroupProducer:
        """Return a producer that puts message groups to ``queue``.

        Args:
            queue: a local, alias, remote or cluster queue.
            name: the producer's identity, which survives a crash: 1 to 35 characters of A-Z a-z 0-9 . / _ %. Only one
                instance of a name can work at a time.
            commit_every: when to take a syncpoint: after a number of messages, and after a minute at the latest; or
                ``Every(messages=, bytes=, seconds=)``, which has only the limits that are given.
            status_queue: the queue for the status record, on the connected queue manager; by default
                ``MQGROUPS.PUT.<name>``.
            status_model: the model queue to make the status queue from if it does not exist.
            status_layout: ``"classic"`` gets the old record whenever it puts a new one; ``"segmented"`` puts records as segments
                of one message, which saves that MQGET but is not available on z/OS; ``"auto"`` chooses ``"segmented"`` for small
                units of work, and with ``put_response="async"``. The layout can be changed at any restart.
            owner_wait_s: how long to wait for another owner of the same name to end, seconds.
            record_users: users whose status records are believed besides those of this program's own user: operators who write
                records, or the user that the program ran under before. A record of anybody else is refused
                (``StatusQueueUnusable``). As UserIdentifier of MQMD has them, up to 12 characters.
            full_wait_s: how long to wait for room on a full queue, until puts are no longer inhibited, or until a cluster that is
                refreshed knows the queue again, seconds.
            persistence: of the messages. Messages that are not persistent are lost when the queue manager restarts, and
                the rest of their group can then not be consumed.
            priority: of the messages, 0 to 9; by default the queue's.
            segment_bytes: put messages that are longer than this as segments of this length; a unit of work may end between
                two segments. By default only streams are put in segments, of 1 MiB. Not on z/OS.
            bind: how to bind to an instance of a cluster queue; ignored for other queues. ``"group"``: an instance is chosen
                for each group (MQOO_BIND_ON_GROUP). ``"open"``: one instance for all groups, until the producer is closed or
                reconnects. ``"as queue"``: the queue's DEFBIND. ``"not fixed"``, or DEFBIND(NOTFIXED), is refused for a cluster
                queue, because it would split groups. An interrupted group always goes on at the instance where it began.
            put_response: ``"async"`` puts messages without waiting for the queue manager (MQPMO_ASYNC_RESPONSE), which is faster
                if a round trip takes long. The first message of a group and the last one of a unit of work are put
                synchronously, and no unit of work is committed before the queue manager has confirmed all its messages. After
                a failure the unit of work is put again synchronously, so that errors are the same; but on a wrapped connection
                the error is raised.
            codec: encodes the values of ``group.put_value``: ``mqgroups.codecs.json``, ``mqgroups.codecs.text``, or any object
                with ``encode(value)``, which returns ``str`` or ``bytes``, and ``decode(data)``, which gets ``str`` for text.
            on_resume: called once, before this method returns, if an interrupted group was found. If it raises an error, this
                method raises it too; the group stays as it was found.
            on_in_doubt: called once for each MQCMIT of messages that had no answer, as soon as the outcome is known. If it
                raises an error, so does the call during which this happened; ``group()`` goes on after the last commit.
            on_progress: called after each commit of messages, with what is committed (``Progress``). It should return quickly.
                If it raises an error, so does the call that committed; the commit stands.

        Raises:
            ConfigurationError: a setting is invalid.
            StatusError: the status queue, or the record on it, cannot be used.
            OwnerActive: another instance of this name has the status queue open.
            MQIError: a queue cannot be opened.
        """
        every = checked_commit_every(commit_every)
        settings = ProducerSettings(
            codec=codec,
            queue=queue,
            name=name,
            commit_every=every,
            status_queue=status_queue_name(Role.PUT, name, status_queue),
            status_model=status_model,
            segmented_status=segmented_status(status_layout, every, self, put_response),
            owner_wait_s=owner_wait_s,
            record_users=record_users,
            full_wait_s=full_wait_s,
            persistence=checked_persistence(persistence),
            priority=priority,
            segment_bytes=segment_bytes,
            bind=bind,
            put_response=put_response,
            hooks=Hooks(on_resume, on_in_doubt, on_progress=on_progress),
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
        record_users: Collection[str] = (),
        wait_s: float | None = None,
        group_wait_s: float = 300.0,
        complete_groups_only: bool = False,
        max_message_length: int = LONGEST_MESSAGE_BYTES,
        stream: bool = False,
        convert: bool | int = False,
        poison: Poison = "halt",
        repeats: Repeats = "tell",
        stalled: Stalled = "halt",
        on_abandon: OnAbandon | None = None,
        codec: Codec | None = None,
        on_resume: OnResume | None = None,
        on_in_doubt: OnInDoubt | None = None,
        on_progress: OnProgress | None = None,
    ) -> GroupConsumer:
        """Return a consumer that gets message groups from ``queue``.

        Args:
            queue: a local queue, or an alias of one. For a cluster queue, the instance on this queue manager.
            name: the consumer's identity, with the same rules as a producer's name. Its status queue is on this queue manager
                too, so consumers at several instances of a cluster queue can have the same name.
            commit_every: when to take a syncpoint, as for a producer.
            status_queue: by default ``MQGROUPS.GET.<name>``.
            status_model: the model queue to make the status queue from if it does not exist.
            status_layout: how records are kept, as for a producer.
            owner_wait_s: how long to wait for another owner of the same name to end, seconds.
            record_users: users whose status records are believed besides its own, as for a producer.
            wait_s: how long to wait for the next group before the iteration ends, seconds; ``None`` waits for ever.
            group_wait_s: how long to wait for the next message inside a group before ``GroupStalled``, seconds.
            complete_groups_only: begin a group only when all its messages are on the queue (MQGMO_ALL_MSGS_AVAILABLE).
            max_message_length: the longest message to accept, bytes. The buffer starts smaller and grows as needed.
            stream: get a message that was put in segments one segment at a time (``Message.chunks``), with syncpoints between
                them, instead of reassembled. ``data`` of such a message is then its first segment only.
            convert: let the queue manager convert text (MQGMO_CONVERT): ``True`` to UTF-8, a number to that CCSID. What it cannot
                convert comes as it is, with its own CCSID. A message for the backout queue is moved as it was converted.
            poison: what to do with a message that makes its consumer fail whenever it is processed. Such a message is detected
                only if the queue has a BOTHRESH: by its backout count, and by processing it in a unit of work of its own.
                ``"halt"`` raises ``PoisonMessage``; ``"skip"`` moves the message to the queue's BOQNAME; ``"quarantine"`` moves
                the rest of its group there and raises ``GroupQuarantined``; ``"ignore"`` does not look at backout counts.
            repeats: what to do with a group that has the GroupId of the group completed before it, and whose first message has
                the same MsgId (``group.repeats``): a copy, or a partner that uses identifiers again. ``"tell"`` logs a warning;
                ``"halt"`` raises ``GroupRepeated`` before a message is handed out. After a stop in order, which removes the
                status record, the first group is not compared.
            stalled: what to do with a group whose next message did not arrive within ``group_wait_s``. ``"halt"`` raises
                ``GroupStalled``, at each start. ``"quarantine"`` waits once more, and if nothing of the group has changed on the
                queue, it moves the rest of the group to the queue's BOQNAME and raises ``GroupQuarantined``.
            codec: decodes each message to ``message.value``, as for a producer. A message that it cannot decode (ValueError) is
                poison: ``"skip"`` and ``"quarantine"`` apply to it at once if the queue has BOTHRESH and BOQNAME; otherwise
                ``PoisonMessage`` is raised, with the reason, and the messages before it are committed. Text in a CCSID without a
                code page is never poison: the loop ends with ``CcsidUnknown``, and the message stays.
            on_abandon: called with the ``GroupAbandoned`` error of an abandoned group, before that group is committed and the
                error is raised. Use it to undo durably the effects of the group's messages. If it raises an error, the group
                comes again.
            on_resume, on_in_doubt, on_progress: as for a producer.

        Raises:
            ConfigurationError: a setting is invalid.
            StatusError: the status queue, or the record on it, cannot be used.
            OwnerActive: another instance of this name has the status queue open.
            MQIError: a queue cannot be opened.
        """
        every = checked_commit_every(commit_every)
        settings = ConsumerSettings(
            codec=codec,
            queue=queue,
            name=name,
            commit_every=every,
            status_queue=status_queue_name(Role.GET, name, status_queue),
            status_model=status_model,
            segmented_status=segmented_status(status_layout, every, self),
            owner_wait_s=owner_wait_s,
            record_users=record_users,
            wait_s=wait_s,
            group_wait_s=group_wait_s,
            complete_groups_only=complete_groups_only,
            max_message_length=max_message_length,
            stream=stream,
            convert=convert,
            poison=poison,
            repeats=repeats,
            stalled=stalled,
            hooks=Hooks(on_resume, on_in_doubt, on_abandon, on_progress),
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
        record_users: Collection[str] = (),
        wait_s: float | None = None,
        group_wait_s: float = 300.0,
        complete_groups_only: bool = False,
        convert: bool | int = False,
        poison: Poison = "halt",
        repeats: Repeats = "tell",
        stalled: Stalled = "halt",
        full_wait_s: float = 30.0,
        persistence: Persistence = Persistence.PERSISTENT,
        priority: int | None = None,
        bind: Bind = "group",
        put_response: PutResponse = "sync",
        on_abandon: OnAbandon | None = None,
        codec: Codec | None = None,
        on_resume: OnResume | None = None,
        on_in_doubt: OnInDoubt | None = None,
        on_progress: OnProgress | None = None,
    ) -> GroupPipe:
        """Return a pipe that gets groups from ``source`` and puts groups made from them to ``target``, exactly once.

        A pipe is a consumer and a producer with the same name and a common unit of work. The arguments mean the same as for those
        two. ``commit_every`` counts the messages that are got. A unit of work also ends before its messages exceed MAXUMSGS.

        Raises:
            StatusQueueUnusable: the two status records do not come from the same commit.
            ConfigurationError, StatusError, OwnerActive, MQIError: as for a consumer and a producer.
        """
        every = with_room(checked_commit_every(commit_every), self._connection.max_uncommitted_msgs)
        segmented = segmented_status(status_layout, every, self, put_response)
        incoming = ConsumerSettings(
            codec=codec,
            queue=source,
            name=name,
            commit_every=every,
            status_queue=status_queue_name(Role.GET, name),
            status_model=status_model,
            segmented_status=segmented,
            owner_wait_s=owner_wait_s,
            record_users=record_users,
            wait_s=wait_s,
            group_wait_s=group_wait_s,
            complete_groups_only=complete_groups_only,
            convert=convert,
            poison=poison,
            repeats=repeats,
            stalled=stalled,
            hooks=Hooks(on_resume, on_in_doubt, on_abandon, on_progress),
        )
        outgoing = ProducerSettings(
            codec=codec,
            queue=target,
            name=name,
            commit_every=every,
            status_queue=status_queue_name(Role.PUT, name),
            status_model=status_model,
            segmented_status=segmented,
            owner_wait_s=owner_wait_s,
            record_users=record_users,
            full_wait_s=full_wait_s,
            persistence=checked_persistence(persistence),
            priority=priority,
            bind=bind,
            put_response=put_response,
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
    fips: bool | None = None,
    connect_wait_s: float = 0.0,
    reconnect_wait_s: float = 60.0,
    sleep: Sleep = time.sleep,
    trace: Trace = EACH_UNIT_OF_WORK,
    propagate: bool = False,
) -> QueueManager:
    """Connect to a queue manager.

    Args:
        q_mgr_name: the queue manager's name; not blank, ``*NAME`` or the name of a queue sharing group, because a group can be
            resumed on one queue manager only.
        channel: the server-connection channel; ``None`` uses the MQ client's own configuration.
        conn_name: ``"host(port)"``, with ``channel``; several, separated by commas, are tried in order.
        user, password: the queue manager checks them. A secret is a string, or a ``Secret`` that names a file or an environment
            variable, which is then read again at each reconnect.
        token: a JSON web token instead of user and password (ibmmq only).
        cipher_spec: the CipherSpec of the channel; the connection then uses TLS (MQCD.SSLCipherSpec).
        key_repository: the key repository with the certificates to check the queue manager's certificate against
            (MQSCO.KeyRepository); by default the one in MQSSLKEYR or mqclient.ini.
        key_repository_password: the password of the key repository (ibmmq only); by default MQKEYRPWD or a stash file.
        certificate_label: the label of this client's own certificate, which a channel with SSLCAUTH(REQUIRED) asks for.
        peer_name: a pattern for the distinguished name in the queue manager's certificate (``"CN=QM1,O=*"``).
        ccdt_url: a client channel definition table, instead of ``channel`` and ``conn_name`` (ibmmq only); by default the one in
            MQCCDTURL, MQCHLLIB and MQCHLTAB.
        fips: whether only FIPS-certified CipherSpecs are used (MQSCO.FipsRequired); by default if MQSSLFIPS is YES.
        connect_wait_s: how long to retry while the queue manager is not available, seconds; 0 tries once.
        reconnect_wait_s: how long to retry when the connection is lost, seconds, whatever MQCONNX answers meanwhile. Producers
            and consumers find out whether their unit of work was committed, redo it if it was not, and go on. 0 does not
            reconnect: the application has to.
        sleep: the function that waits between two tries.
        trace: which OpenTelemetry spans producers and consumers make: one for each unit of work (``"unit of work"``), also one
            for each message (``"message"``), or none (``"off"``). Metrics do not depend on this.
        propagate: put messages with the trace context of their span, as message properties ``traceparent`` and ``tracestate``.
            Consumers that pass no message handle then get an MQRFH2 in front of the data, unless PROPCTL prevents it; therefore
            the default is off. This package's consumers remove the MQRFH2. They link to the context that they find, whatever
            PROPCTL says. With ``trace="off"``, messages carry the context of the application's own span.

    Raises:
        BindingMissing: neither pymqi nor ibmmq can be used.
        ConfigurationError: settings cannot be combined, are too long, or are not supported by the binding; or a secret cannot be
            read.
        NotAuthorised, ConnectionBroken, MQIError: the connection cannot be made.
    """
    # From here on no local of a frame shows a secret.
    password, token = Secret.of(password), Secret.of(token)
    key_repository_password = Secret.of(key_repository_password)
    arguments = ConnectArguments(
        q_mgr_name=q_mgr_name,
        channel=channel,
        conn_name=conn_name,
        user=user,
        password=password,
        token=token,
        cipher_spec=cipher_spec,
        key_repository=key_repository,
        key_repository_password=key_repository_password,
        certificate_label=certificate_label,
        peer_name=peer_name,
        ccdt_url=ccdt_url,
        fips=fips,
        options=_CONNECT_OPTIONS,
    )
    rules.check(arguments)
    patience = Patience(checked_seconds("connect_wait_s", connect_wait_s))
    reconnect = Patience(checked_seconds("reconnect_wait_s", reconnect_wait_s))
    telemetry = _telemetry(trace, propagate=propagate)
    _close_what_was_left()
    return QueueManager(open_connection(load_binding(), arguments, patience, reconnect, sleep, telemetry))


def wrap(
    q_mgr: ConnectedQueueManager,
    *,
    sleep: Sleep = time.sleep,
    trace: Trace = EACH_UNIT_OF_WORK,
    propagate: bool = False,
) -> QueueManager:
    """Use a connection that the application has made: a connected ``pymqi.QueueManager`` or ``ibmmq.QueueManager``.

    Closing the result backs out the messages of groups that are not committed, but does not disconnect. If the connection is
    lost, this package cannot reconnect: the application connects and wraps again, and the interrupted group is resumed.

    Two rules for the application:

    * Close producers and consumers before the wrapped object is garbage-collected. With ``disconnect_on_exit=True``, the
      bindings' default, that object calls MQDISC then, which commits.
    * Messages that the application itself puts or gets in syncpoint on this connection are in the same unit of work. They are
      committed and backed out with the group's messages. Put and get them after ``group.put`` of the message that they belong
      to, or before it if you give ``last=``.

    While the unit of work has messages of a group, the wrapped object's ``commit``, ``backout``, ``begin`` and ``disconnect`` are
    refused (``GroupUsage``). If the unit of work is ended in another way, that is detected (``ForeignSyncpoint``,
    ``StatusQueueUnusable``).

    Args:
        trace, propagate: as for ``connect``.

    Raises:
        ConfigurationError: ``q_mgr`` is not an object of these classes, or is not connected.
        GroupUsage: ``q_mgr`` is wrapped already, and the result is not closed.
    """
    _close_what_was_left()
    binding = binding_of(q_mgr)
    connection = Connection(
        binding, binding.handle_of(q_mgr), sleep=sleep, telemetry=_telemetry(trace, propagate=propagate)
    )
    return QueueManager(connection, refuse_ends(q_mgr, connection))


def _close_what_was_left() -> None:
    """Close connections whose ``with`` block was left, and which an interruption has kept from being closed.

    The application may still hold them, or a producer on them whose status queue is then open.
    """
    for reference in _open.valuerefs():
        q_mgr = reference()
        if q_mgr is not None and q_mgr.was_left:
            q_mgr.close()


def _telemetry(trace: Trace, *, propagate: bool) -> TelemetrySettings:
    check_flag("propagate", propagate)
    if propagate:
        context.keep_api_exit_out()
    return TelemetrySettings(trace, propagate)

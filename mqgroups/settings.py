"""Settings of connections, producers, consumers and pipes. Each setting is defined once, as a field (``setting.py``).

Not here: the checks of names of queues and owners (``names.py``).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

from mqgroups.code_pages import UTF_8
from mqgroups.connection import rules
from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder
from mqgroups.connection.retry import Sleep
from mqgroups.core.model import Persistence, Role
from mqgroups.core.modes import Bind, Interrupted, PutResponse, StatusLayout, Trace, Unprocessed
from mqgroups.core.unit_of_work import LONGEST_S, Every
from mqgroups.errors import ConfigurationError
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import ConnectArguments
from mqgroups.mqi.structures import LONGEST_MESSAGE_BYTES
from mqgroups.names import checked_name, checked_queue_name, checked_user, status_queue_name
from mqgroups.setting import Settings, Whole, check_collection, settings_of
from mqgroups.status.hooks import Hooks, OnAbandon, OnInDoubt, OnProgress, OnResume, checked_hook
from mqgroups.telemetry.settings import EACH_UNIT_OF_WORK

if TYPE_CHECKING:
    from mqgroups.status.queue import StatusQueue

STATUS_MODEL = "MQGROUPS.STATUS.MODEL"
SHARED_STATUS_MODEL = "MQGROUPS.SHARED.STATUS.MODEL"
CLAIM_MODEL = "MQGROUPS.CLAIM.MODEL"
# The default segment length of a stream, below all default limits of message lengths.
SEGMENT_BYTES = 1_048_576


class Codec(Protocol):
    """An object that ``codec=`` accepts. It makes values from message data.

    A codec gets data of format MQSTR as ``str``, decoded by the message's CCSID. It gets all other data as ``bytes``. It never
    gets text in a CCSID without a code page (``errors.CcsidUnknown``).
    """

    def decode(self, data: Any, /) -> Any:
        """Return the value; raise a ValueError for invalid data. Only the text of an ``errors.NotDecoded`` is shown."""


def _check_every(_what: str, value: int | Every) -> None:
    every(value)


def every(commit_every: int | Every) -> Every:
    """Return ``commit_every`` as an ``Every``. If it is a number of messages, a unit of work also ends after a minute.

    Raises:
        ConfigurationError: ``commit_every`` is neither an ``Every`` nor a positive whole number.
    """
    if isinstance(commit_every, Every):
        return commit_every
    if isinstance(commit_every, bool) or not isinstance(commit_every, int):
        raise ConfigurationError(
            f"commit_every must be a number of messages or an mqgroups.Every, got {commit_every!r}"
        )
    try:
        return Every(messages=commit_every, seconds=LONGEST_S)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def _check_name(_what: str, name: str) -> None:
    checked_name(name)


def _check_users(what: str, users: Collection[str]) -> None:
    check_collection(what, users, "users")
    for each in users:
        checked_user(what, each)


def _check_codec(what: str, codec: object) -> None:
    if not hasattr(codec, "decode"):
        raise ConfigurationError(f"{what} must have decode, for example mqgroups.codecs.json, got {codec!r}")


def _check_ccsid(what: str, ccsid: bool | int) -> None:
    if not isinstance(ccsid, bool) and not (isinstance(ccsid, int) and 1 <= ccsid <= 65534):
        raise ConfigurationError(f"{what} must be True, False or a CCSID (1 to 65534), got {ccsid!r}")


# Settings that are also options of Spark.
Users = Annotated[Collection[str], _check_users]
Priority = Annotated[int | None, Whole(0, 9)]


@dataclass(frozen=True, kw_only=True)
class Owning(Settings):
    """Settings of producers, consumers and pipes. Each of these owns a name.

    Attributes:
        name: the identity that survives a crash: 1 to 35 characters of A-Z a-z 0-9 ./_%. Only one process at a time can use a
            name.
        commit_every: how many messages a unit of work has at most; it also ends after a minute. With ``Every(messages=, bytes=,
            seconds=)`` instead of a number, it has only the limits that are given. A pipe counts the messages that it gets; its
            units of work also end before they exceed MAXUMSGS.
        status_model: the model queue from which a missing status queue is created.
        status_layout: how status records are kept. ``"classic"`` gets the old record for each new record. ``"segmented"`` (not
            on z/OS) saves that MQGET by putting records as segments of one message. You can change the layout at any restart.
        owner_wait_s: seconds to wait for another process with the same name to end.
        record_users: users whose status records are trusted, in addition to this program's own user. Examples are operators, and
            the program's former user. A user has up to 12 characters, as in MQMD.UserIdentifier.
        on_resume: called once, before the producer or consumer is returned, if an interrupted group was found. If the function
            raises an error, the call that makes the producer or consumer raises it.
        on_in_doubt: called once for each MQCMIT of messages that had no answer, as soon as the outcome is known. If the function
            raises an error, the current call of the application raises it; ``group()`` continues after the last commit.
        on_progress: called with a ``Progress`` after each commit of messages. If the function raises an error, the call that
            committed raises it; the commit is not undone.
    """

    name: Annotated[str, _check_name]
    commit_every: Annotated[int | Every, _check_every] = 100
    status_model: Annotated[str, checked_queue_name] = STATUS_MODEL
    status_layout: StatusLayout = "classic"
    owner_wait_s: float = 30.0
    record_users: Users = ()
    on_resume: Annotated[OnResume | None, checked_hook] = None
    on_in_doubt: Annotated[OnInDoubt | None, checked_hook] = None
    on_progress: Annotated[OnProgress | None, checked_hook] = None

    @property
    def every(self) -> Every:
        """The limits of a unit of work."""
        return every(self.commit_every)

    @property
    def segmented_status(self) -> bool:
        """Whether status records are put as segments of one message."""
        return self.status_layout == "segmented"

    def check_for(self, q_mgr: ConnectionHolder) -> None:
        """Raise ConfigurationError for a setting that the platform of ``q_mgr`` does not support."""
        if self.segmented_status:
            _refuse_on_zos(q_mgr, "status_layout='segmented'")


@dataclass(frozen=True, kw_only=True)
class Putting(Owning):
    """Settings of producers and pipes.

    Attributes:
        full_wait_s: seconds to wait while the queue is full, inhibited for puts, or unknown after REFRESH CLUSTER.
        persistence: the messages' persistence. If messages are not persistent, a restart of the queue manager loses them, and the
            rest of their group cannot be consumed.
        priority: the messages' priority, 0 to 9. By default it is the queue's DEFPRTY.
        bind: how to bind to an instance of a cluster queue, whatever its DEFBIND is. ``"group"`` chooses an instance for each
            group (MQOO_BIND_ON_GROUP). ``"open"`` chooses one instance for all groups, until the producer is closed or
            reconnects. An interrupted group always continues at its own instance.
        put_response: ``"async"`` does not wait for the queue manager at each message (MQPMO_ASYNC_RESPONSE). It is faster over a
            slow line. All messages are confirmed before their unit of work is committed. After a failure, the unit of work is put
            again synchronously, so that the error is the same as with ``"sync"``, and names the message. ``"sync"`` waits at each
            message, as every producer does on a wrapped connection and over local bindings.
    """

    full_wait_s: float = 30.0
    persistence: Persistence = Persistence.PERSISTENT
    priority: Priority = None
    bind: Bind = "group"
    put_response: PutResponse = "async"

    @property
    def mqmd_priority(self) -> int:
        """MQMD.Priority of the messages."""
        return mq.MQPRI_PRIORITY_AS_Q_DEF if self.priority is None else self.priority


@dataclass(frozen=True, kw_only=True)
class Getting(Owning):
    """Settings of consumers and pipes.

    Attributes:
        wait_s: seconds to wait for the next group before the iteration ends; ``None`` waits for ever.
        group_wait_s: seconds to wait for the next message inside a group before ``GroupStalled``.
        complete_groups_only: begin a group only when all its messages are on the queue (MQGMO_ALL_MSGS_AVAILABLE), so that an
            incomplete group does not hold up the others.
        convert: let the queue manager convert text (MQGMO_CONVERT), with ``True`` to UTF-8, with a number to that CCSID. Text
            that the queue manager cannot convert keeps its CCSID. A message moves to the backout queue in its converted form.
        codec: makes ``message.value`` from message data. It is ``mqgroups.codecs.json``, ``mqgroups.codecs.text``, or any object
            with ``decode(data)``, which gets ``str`` for text. A message that ``decode`` cannot decode (ValueError) is poison.
            Text in a CCSID without a code page ends the loop with ``CcsidUnknown``, and is poison after BOTHRESH backouts.
        poison: what to do with a message that fails whenever it is processed. Such a message is detected only if the queue has a
            BOTHRESH. ``"halt"`` raises ``PoisonMessage``. ``"quarantine"`` moves the rest of the message's group to the queue's
            BOQNAME, and raises ``GroupQuarantined``.
        stalled: what to do with a group whose next message does not come within ``group_wait_s``. ``"halt"`` raises
            ``GroupStalled``, at each start. ``"quarantine"`` waits once more; if nothing of the group has changed by then, it
            moves the rest to BOQNAME and raises ``GroupQuarantined``.
        on_abandon: called with the ``GroupAbandoned`` error before an abandoned group is committed, to undo its effects durably.
            If the function raises an error, the group is delivered again.
    """

    wait_s: float | None = None
    group_wait_s: float = 300.0
    complete_groups_only: bool = False
    convert: Annotated[bool | int, _check_ccsid] = False
    codec: Annotated[Codec | None, _check_codec] = None
    poison: Unprocessed = "halt"
    stalled: Unprocessed = "halt"
    on_abandon: Annotated[OnAbandon | None, checked_hook] = None

    @property
    def convert_to(self) -> int:
        """The CCSID that the queue manager converts text to; 0 if it does not convert."""
        return UTF_8 if self.convert is True else int(self.convert)


@dataclass(frozen=True, kw_only=True)
class OfOneQueue(Owning):
    """Settings of a producer or a consumer. Each of them works with one queue.

    Attributes:
        queue: the queue. A producer puts to a local, alias, remote or cluster queue. A consumer gets from a local queue, from an
            alias of a local queue, or from the instance of a cluster queue on this queue manager.
        status_queue: the queue for the status record, on the connected queue manager; by default ``MQGROUPS.PUT.<name>`` or
            ``MQGROUPS.GET.<name>``.
    """

    role: ClassVar[Role]

    queue: Annotated[str, checked_queue_name] = field(kw_only=False)
    status_queue: Annotated[str | None, checked_queue_name] = None

    @property
    def record_queue(self) -> str:
        """The name of the status queue."""
        return status_queue_name(self.role, self.name, self.status_queue)

    def open_status_queue(self, connection: Connection) -> StatusQueue:
        """Open the status queue. If it does not exist, create it first. Raises as ``StatusQueue``."""
        # Imported here, because a connection needs settings without a status queue.
        from mqgroups.status.queue import StatusQueue

        return StatusQueue(
            connection,
            self.record_queue,
            self.status_model,
            self.owner_wait_s,
            segmented=self.segmented_status,
            record_users=self.record_users,
        )

    @property
    def hooks(self) -> Hooks:
        """The application's functions to call after a recovery and after progress."""
        return Hooks(self.on_resume, self.on_in_doubt, self.on_progress)

    def check_together(self) -> None:
        """As in ``Settings``."""
        if self.record_queue in (self.queue, self.status_model):
            what = "the data queue" if self.record_queue == self.queue else "the model queue for status queues"
            raise ConfigurationError(
                f"status_queue={self.record_queue!r} is also {what}. A status queue holds the records of one owner and nothing "
                "else. Use a different status queue"
            )


@dataclass(frozen=True, kw_only=True)
class Producing(Putting, OfOneQueue):
    """Settings of a group producer.

    Attributes:
        segment_bytes: put longer messages as segments of this length. A unit of work can end between two segments. By default
            only streams are put in segments, which have 1 MiB. This setting cannot be used on z/OS.
        interrupted: what becomes of an interrupted group. ``"resume"``: the program puts the rest of the group, now or after its
            next start. ``"abandon"``: the group is abandoned when an exception leaves its block, at the next start, or when the
            next group begins. Use ``"abandon"`` for input that does not come again, such as a request.
    """

    role = Role.PUT

    segment_bytes: Annotated[int | None, Whole(1, LONGEST_MESSAGE_BYTES)] = None
    interrupted: Interrupted = "resume"

    def check_for(self, q_mgr: ConnectionHolder) -> None:
        """As in ``Owning``."""
        super().check_for(q_mgr)
        if self.segment_bytes is not None:
            _refuse_on_zos(q_mgr, f"segment_bytes={self.segment_bytes}")


@dataclass(frozen=True, kw_only=True)
class Consuming(Getting, OfOneQueue):
    """Settings of a group consumer.

    Attributes:
        max_message_length: the longest message to accept, in bytes. A longer message raises ``MessageTooLong``. With
            ``poison="quarantine"`` the consumer moves the longer message instead, and gets it once for that.
        stream: if a message was put in segments, get one segment at a time (``Message.chunks``), with syncpoints between the
            segments, instead of the whole message. ``data`` of such a message is its first segment only.
    """

    role = Role.GET

    max_message_length: Annotated[int, Whole(1, 2**31 - 1)] = LONGEST_MESSAGE_BYTES
    stream: bool = False

    def check_together(self) -> None:
        """As in ``Settings``."""
        super().check_together()
        if not self.stream:
            return
        if self.convert:
            raise ConfigurationError(
                "convert= cannot be combined with stream=True: the queue manager would convert segment by segment, and their "
                "offsets would not fit any more. Leave one of them out"
            )
        if self.poison != "halt":
            raise ConfigurationError(
                f"poison={self.poison!r} cannot be combined with stream=True, because it moves whole messages. Use poison='halt'"
            )
        if self.stalled == "quarantine":
            raise ConfigurationError(
                "stalled='quarantine' cannot be combined with stream=True, because a message may be processed in part when the "
                "rest of its group is moved. Use stalled='halt'"
            )
        if self.codec is not None:
            raise ConfigurationError(
                "codec= cannot be combined with stream=True, because a codec decodes whole messages"
            )


@dataclass(frozen=True, kw_only=True)
class Piping(Putting, Getting):
    """Settings of a group pipe.

    Attributes:
        source: the queue to get groups from, as a consumer.
        target: the queue to put groups to, as a producer.
    """

    source: Annotated[str, checked_queue_name] = field(kw_only=False)
    target: Annotated[str, checked_queue_name] = field(kw_only=False)

    def check_together(self) -> None:
        """As in ``Settings``."""
        super().check_together()
        if self.source == self.target:
            raise ConfigurationError(
                f"a pipe from {self.source!r} to itself would never end. Put the groups to another queue"
            )

    def sides(self, every: Every) -> tuple[Consuming, Producing]:
        """Return the consumer's settings, which include the hooks, and the producer's settings."""
        given = {each.name: getattr(self, each.name) for each in settings_of(Piping)} | {"commit_every": every}
        without_hooks = {name: value for name, value in given.items() if not name.startswith("on_")}
        return (
            Consuming(self.source, **_fitting(Consuming, given)),
            Producing(self.target, **_fitting(Producing, without_hooks)),
        )


def _fitting(cls: type[Settings], given: Mapping[str, Any]) -> dict[str, Any]:
    return {each.name: given[each.name] for each in settings_of(cls) if each.name in given}


def _refuse_on_zos(q_mgr: ConnectionHolder, setting: str) -> None:
    if q_mgr.platform == mq.MQPL_ZOS:
        raise ConfigurationError(
            f"{setting} cannot be used with queue manager {q_mgr.q_mgr_name}: it is on z/OS, which does not support segments. "
            "Leave the setting out"
        )


@dataclass(frozen=True, kw_only=True)
class Connecting(ConnectArguments):
    """Settings of a connection that this package makes.

    Attributes:
        connect_wait_s: how many seconds to retry while the queue manager is not available; 0 tries once.
        reconnect_wait_s: how many seconds to retry after the connection is lost, whatever MQCONNX answers. Producers and
            consumers then redo a unit of work that was not committed. With 0 the application has to reconnect.
        sleep: the function that waits between two tries.
        trace: the OpenTelemetry spans of producers and consumers: one for each unit of work (``"unit of work"``), in addition one
            for each message (``"message"``), or none (``"off"``). Metrics do not depend on this.
        propagate: put messages with the trace context of their span, as message properties ``traceparent`` and ``tracestate``.
            With ``trace="off"``, it is the trace context of the application's own span. Other programs that pass no message
            handle then get an MQRFH2 in front of the data, unless PROPCTL prevents that. This package's consumers remove it.
    """

    connect_wait_s: float = 0.0
    reconnect_wait_s: float = 60.0
    sleep: Annotated[Sleep, checked_hook] = time.sleep
    trace: Trace = EACH_UNIT_OF_WORK
    propagate: bool = False

    def check_together(self) -> None:
        """As in ``Settings``."""
        rules.check(self)

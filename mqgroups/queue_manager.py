"""A queue manager as an application sees it: connect to it, and ask it for producers and consumers of groups."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from types import TracebackType
from typing import Literal

from mqgroups.config import (
    STATUS_MODEL,
    ConsumerSettings,
    ProducerSettings,
    checked_commit_every,
    checked_name,
    checked_queue_name,
    checked_seconds,
    status_queue_name,
)
from mqgroups.connection import rules as connect_rules
from mqgroups.connection.connection import Connection
from mqgroups.connection.retry import Patience, Sleep
from mqgroups.connection.wrapping import refuse_ends
from mqgroups.core.inspection import QueueInspection
from mqgroups.core.model import GROUP_ID_LENGTH, Persistence, Role
from mqgroups.core.salvage import DOUBTS, Obstacle
from mqgroups.core.status import Checkpoint
from mqgroups.core.status_chain import MOST_SEGMENTS
from mqgroups.core.unit_of_work import Every
from mqgroups.errors import ConfigurationError
from mqgroups.get.consumer import GroupConsumer
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import ConnectArguments, ConnectedQueueManager
from mqgroups.mqi.binding import binding_of, load_binding
from mqgroups.mqi.secret import Secret
from mqgroups.operate.browse import inspect_queue
from mqgroups.operate.owner import OwnerStatus, inspect_owner
from mqgroups.operate.salvage import GroupMove, Salvage, move_group, salvage_owner
from mqgroups.operate.takeover import Party, Takeover, take_over
from mqgroups.pipe import GroupPipe
from mqgroups.put.destination import checked_bind
from mqgroups.put.producer import GroupProducer
from mqgroups.status.hooks import NO_HOOKS, Hooks, OnAbandon, OnInDoubt, OnResume
from mqgroups.telemetry import context
from mqgroups.telemetry.settings import EACH_UNIT_OF_WORK, TelemetrySettings

# In units of work of so many messages the MQGET that segmented records save is at least one call in 23.
_SMALL_UNIT_OF_WORK = 20
# Two records that are replaced, at their most costly, and the message that may have to end the outgoing group.
_STATUS_MESSAGES_OF_A_PIPE = 2 * (1 + MOST_SEGMENTS) + 1
_LONGEST_MESSAGE_BYTES = 104_857_600
# Reconnecting is this package's own: with the client's, MQPMO_LOGICAL_ORDER is refused (2547; IBM MQ, topic q045460).
_CONNECT_OPTIONS = mq.MQCNO_RECONNECT_DISABLED | mq.MQCNO_HANDLE_SHARE_BLOCK


class QueueManager:
    """A connected queue manager. Leaving its ``with`` block backs out what is not committed, and disconnects.

    It has one unit of work, and is one thread's at a time: producers and consumers that work at the same time need a connection
    each.
    """

    def __init__(self, connection: Connection, leave: Callable[[], None] | None = None) -> None:
        """Take a connection over; ``leave`` is called when it is closed."""
        self._connection = connection
        self._leave = leave

    @property
    def q_mgr_name(self) -> str:
        """The queue manager's name."""
        return self._connection.q_mgr_name

    @property
    def q_mgr_identifier(self) -> str:
        """Its identifier (QMID): another queue manager of the same name has another one."""
        return self._connection.q_mgr_identifier

    @property
    def platform(self) -> int:
        """MQPL_*: what it runs on."""
        return self._connection.platform

    @property
    def usable(self) -> bool:
        """Whether it can be used: neither closed nor lost."""
        return self._connection.usable

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
        status_layout: str = "classic",
        owner_wait_s: float = 30.0,
        full_wait_s: float = 30.0,
        persistence: Persistence = Persistence.PERSISTENT,
        priority: int | None = None,
        segment_bytes: int | None = None,
        bind: str = "group",
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
        settings = self._producer_settings(
            queue,
            name=name,
            commit_every=checked_commit_every(commit_every),
            status_queue=status_queue,
            status_model=status_model,
            status_layout=status_layout,
            owner_wait_s=owner_wait_s,
            full_wait_s=full_wait_s,
            persistence=persistence,
            priority=priority,
            segment_bytes=segment_bytes,
            bind=bind,
            hooks=Hooks(on_resume, on_in_doubt),
        )
        return GroupProducer(self._connection, settings)

    def _producer_settings(
        self,
        queue: str,
        *,
        name: str,
        commit_every: Every,
        status_model: str,
        status_layout: str,
        owner_wait_s: float,
        full_wait_s: float,
        persistence: Persistence,
        priority: int | None,
        bind: str,
        status_queue: str | None = None,
        segment_bytes: int | None = None,
        hooks: Hooks = NO_HOOKS,
    ) -> ProducerSettings:
        """Return what a producer is told, checked; raises ConfigurationError."""
        if priority is not None and not 0 <= priority <= 9:
            raise ConfigurationError(f"priority must be 0 to 9, got {priority!r}")
        if segment_bytes is not None:
            if segment_bytes < 1:
                raise ConfigurationError(f"segment_bytes must be at least 1, got {segment_bytes!r}")
            self._refuse_on_zos(f"segment_bytes={segment_bytes}")
        return ProducerSettings(
            queue=checked_queue_name("queue", queue),
            name=checked_name(name),
            commit_every=commit_every,
            status_queue=_status_queue(status_queue, Role.PUT, name, queue, status_model),
            status_model=checked_queue_name("status_model", status_model),
            segmented_status=self._segmented(status_layout, commit_every),
            owner_wait_s=checked_seconds("owner_wait_s", owner_wait_s),
            full_wait_s=checked_seconds("full_wait_s", full_wait_s),
            persistence=Persistence(persistence),
            priority=mq.MQPRI_PRIORITY_AS_Q_DEF if priority is None else priority,
            segment_bytes=segment_bytes,
            bind=checked_bind(bind, segment_bytes),
            hooks=hooks,
        )

    def group_consumer(
        self,
        queue: str,
        *,
        name: str,
        commit_every: int | Every = 100,
        status_queue: str | None = None,
        status_model: str = STATUS_MODEL,
        status_layout: str = "classic",
        owner_wait_s: float = 30.0,
        wait_s: float | None = None,
        group_wait_s: float = 300.0,
        complete_groups_only: bool = False,
        max_message_length: int = _LONGEST_MESSAGE_BYTES,
        stream: bool = False,
        poison: str = "halt",
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
        settings = self._consumer_settings(
            queue,
            name=name,
            commit_every=checked_commit_every(commit_every),
            status_queue=status_queue,
            status_model=status_model,
            status_layout=status_layout,
            owner_wait_s=owner_wait_s,
            wait_s=wait_s,
            group_wait_s=group_wait_s,
            complete_groups_only=complete_groups_only,
            max_message_length=max_message_length,
            stream=stream,
            poison=poison,
            hooks=Hooks(on_resume, on_in_doubt, on_abandon),
        )
        return GroupConsumer(self._connection, settings)

    def _consumer_settings(
        self,
        queue: str,
        *,
        name: str,
        commit_every: Every,
        status_model: str,
        status_layout: str,
        owner_wait_s: float,
        wait_s: float | None,
        group_wait_s: float,
        complete_groups_only: bool,
        poison: str,
        hooks: Hooks,
        status_queue: str | None = None,
        max_message_length: int = _LONGEST_MESSAGE_BYTES,
        stream: bool = False,
    ) -> ConsumerSettings:
        """Return what a consumer is told, checked; raises ConfigurationError."""
        if max_message_length < 1:
            raise ConfigurationError(f"max_message_length must be at least 1 byte, got {max_message_length!r}")
        if poison not in ("halt", "skip", "quarantine", "ignore"):
            raise ConfigurationError(f"poison must be 'halt', 'skip', 'quarantine' or 'ignore', got {poison!r}")
        if stream and poison in ("skip", "quarantine"):
            raise ConfigurationError(f"poison={poison!r} moves whole messages; with stream=True use 'halt' or 'ignore'")
        return ConsumerSettings(
            queue=checked_queue_name("queue", queue),
            name=checked_name(name),
            commit_every=commit_every,
            status_queue=_status_queue(status_queue, Role.GET, name, queue, status_model),
            status_model=checked_queue_name("status_model", status_model),
            segmented_status=self._segmented(status_layout, commit_every),
            owner_wait_s=checked_seconds("owner_wait_s", owner_wait_s),
            wait_s=None if wait_s is None else checked_seconds("wait_s", wait_s),
            group_wait_s=checked_seconds("group_wait_s", group_wait_s),
            complete_groups_only=complete_groups_only,
            max_message_length=max_message_length,
            stream=stream,
            poison=poison,
            hooks=hooks,
        )

    def inspect_owner(
        self,
        name: str,
        role: Literal["put", "get"],
        *,
        queue: str | None = None,
        status_queue: str | None = None,
        status_model: str | None = STATUS_MODEL,
        wait_s: float = 0.0,
        tidy: bool = False,
    ) -> OwnerStatus:
        """Say what a start of the producer or consumer of this name would find, without being one.

        Args:
            name: of the producer or consumer.
            role: ``"put"`` for a producer, ``"get"`` for a consumer.
            queue: which it puts to or gets from, to be compared with its record; by default that is not looked at.
            status_queue: by default ``MQGROUPS.PUT.<name>`` or ``MQGROUPS.GET.<name>``.
            status_model: the model queue its status queue would be made from. It is tried where the status queue does not
                exist: the queue is made and deleted again. ``None`` does not try.
            wait_s: how long to wait for another owner of this name to go, seconds.
            tidy: remove a record that is no longer needed: of no group, or of a completed one without a checkpoint.

        Raises:
            ConfigurationError: a name or role cannot be.
            StatusError: the status queue is not what it must be, and a start would be refused; nothing was changed.
            MQIError: a call failed.
        """
        owner_role = _checked_role(role)
        return inspect_owner(
            self._connection,
            owner_role,
            checked_name(name),
            queue=None if queue is None else checked_queue_name("queue", queue),
            status_queue=_status_queue(status_queue, owner_role, name),
            status_model="" if status_model is None else checked_queue_name("status_model", status_model),
            wait_s=checked_seconds("wait_s", wait_s),
            tidy=tidy,
        )

    def take_over(
        self,
        name: str,
        role: Literal["put", "get"],
        *,
        by: str,
        status_queue: str | None = None,
        by_status_queue: str | None = None,
        status_model: str = STATUS_MODEL,
        wait_s: float = 0.0,
        check: bool = False,
    ) -> Takeover:
        """Give the interrupted group of a producer or consumer that will not come back to one of another name.

        The status record goes over, with position and checkpoint; the next start of ``by`` resumes the group. Under its own name
        the other one would begin with a new group: of a producer, start it only with what comes after that group.

        Args:
            name: whose group it is; it must not be running.
            role: ``"put"`` for producers, ``"get"`` for consumers.
            by: who takes it over; not running either. At its next start it has to name the same queue.
            status_queue, by_status_queue: of the one and of the other; by default ``MQGROUPS.PUT|GET.<name>``.
            status_model: the model queue to make that of ``by`` from if it does not exist.
            wait_s: how long to wait for owners of these names to go, seconds.
            check: only say what would be done.

        Raises:
            TakeoverRefused: ``by`` has an interrupted group of its own, or a checkpoint; nothing was changed.
            OwnerActive: one of the two is running, or not gone yet.
            CommitOutcomeUnknown: the connection was lost in MQCMIT; call it again.
            ConfigurationError, StatusError, MQIError: as for a start.
        """
        owner_role = _checked_role(role)
        source = Party(checked_name(name), _status_queue(status_queue, owner_role, name))
        target = Party(checked_name(by), _status_queue(by_status_queue, owner_role, by))
        if source.name == target.name or source.status_queue == target.status_queue:
            raise ConfigurationError(f"{name!r} cannot take its own group over: start it, and it resumes")
        return take_over(
            self._connection,
            owner_role,
            source,
            target,
            status_model=checked_queue_name("status_model", status_model),
            wait_s=checked_seconds("wait_s", wait_s),
            check=check,
        )

    def inspect_queue(self, queue: str) -> QueueInspection:
        """Say what lies on a queue of its message groups, without a status record, by browsing only.

        It takes an MQGET for each message, whose body stays with the queue manager, and one more for each group. The command
        server is asked what units of work hide, twice; who may not ask it is told that nobody knows.

        Raises:
            ConfigurationError: the name cannot be.
            MQIError: a call failed; a queue of another queue manager cannot be browsed.
        """
        name = checked_queue_name("queue", queue)
        return self._connection.reopening(lambda: inspect_queue(self._connection, name))

    def salvage_owner(
        self,
        name: str,
        role: Literal["put", "get"],
        *,
        queue: str,
        group_id: bytes | None = None,
        checkpoint: Checkpoint = None,
        accept: Collection[str] = (),
        other_status_queues: Collection[str] = (),
        unreadable_to: str | None = None,
        status_queue: str | None = None,
        status_model: str = STATUS_MODEL,
        wait_s: float = 0.0,
        check: bool = False,
    ) -> Salvage:
        """Write the lost status record of a producer or consumer again, from what lies on its queue of its group.

        The next start then goes on there: a producer behind the last message that is there, a consumer at the first that is
        left. What cannot be known from the messages is lost: the checkpoint, and how many owners there were.

        Args:
            name: of the producer or consumer.
            role: ``"put"`` for a producer, ``"get"`` for a consumer.
            queue: which it puts to or gets from, named as it names it.
            group_id: its group, 24 bytes; by default the only one that may have been interrupted.
            checkpoint: the application's, to go into the record.
            accept: which checks to override, because you know that things are as they should be: ``"in-use"`` (others have the
                queue open, or messages of it in units of work, or nobody can say whether they have; they have nothing to do with
                this group), ``"other-owners"`` (not all other status queues can be found or read; no other owner has this group),
                ``"begun"`` (of a producer's group the first messages are gone, because a consumer got them in order),
                ``"nothing-interrupted"`` (there is no group to go on with: only move away what cannot be read).
            other_status_queues: names of status queues of other producers, or consumers, of this queue manager, whose records are
                looked at: a group has one owner. Those called ``MQGROUPS.PUT.*``, ``MQGROUPS.SHARED.*`` and ``MQGROUPS.GET.*``
                are found through the command server, if this user may ask it; otherwise these here are taken for all there are.
            unreadable_to: the queue to move what is on the status queue to, as it is, if it is no record that can be read, or
                more than one; in the same unit of work. By default that is an error.
            status_queue: by default ``MQGROUPS.PUT.<name>`` or ``MQGROUPS.GET.<name>``.
            status_model: the model queue to make the status queue from if it does not exist.
            wait_s: how long to wait for an owner of this name to go, seconds.
            check: only say what would be done.

        Raises:
            GroupOwned: another owner's record speaks of the group; nothing was changed.
            SalvageRefused: it cannot be known where the owner stands; nothing was changed.
            OwnerActive: the owner is not gone yet; or a unit of work hides its record, or that of another owner.
            QueueMissing: one of ``other_status_queues`` does not exist.
            ConfigurationError, StatusError, MQIError: as for its start.
        """
        owner_role = _checked_role(role)
        return salvage_owner(
            self._connection,
            owner_role,
            checked_name(name),
            queue=checked_queue_name("queue", queue),
            group_id=None if group_id is None else _checked_group_id(group_id),
            checkpoint=checkpoint,
            accept=_checked_accept(accept),
            other_status_queues=_checked_names("other_status_queues", other_status_queues),
            unreadable_to="" if unreadable_to is None else checked_queue_name("unreadable_to", unreadable_to),
            status_queue=_status_queue(status_queue, owner_role, name),
            status_model=checked_queue_name("status_model", status_model),
            wait_s=checked_seconds("wait_s", wait_s),
            check=check,
        )

    def move_group(
        self,
        queue: str,
        group_id: bytes,
        *,
        to: str | None = None,
        commit_every: int = 100,
        accept: Collection[str] = (),
        keep_context: bool = True,
        check: bool = False,
    ) -> GroupMove:
        """Move what is left of a group to another queue, as it is: MsgId, GroupId, numbers, offsets, flags, properties.

        Each unit of work gets messages and puts them, so each is on one of the two queues, always; to be called again after a
        crash, it moves the rest.

        Args:
            queue: where it is.
            group_id: 24 bytes.
            to: where to move it; by default the queue's BOQNAME.
            commit_every: how many physical messages to move in a unit of work.
            accept: ``"in-use"``, as for ``salvage_owner``.
            keep_context: also who put them and when (MQPMO_PASS_ALL_CONTEXT), which needs the authority +passall for
                ``to``. Otherwise they are the mover's.
            check: only say what would be done.

        Raises:
            SalvageRefused: nothing is there of the group, or somebody else works with the queue; nothing was changed.
            CommandRefused: the connection was lost meanwhile, and the command server does not say any more whether its unit of
                work is backed out; call it again.
            ConfigurationError: there is no queue to move it to, or it is the same one.
            MQIError: a call failed; what was moved before is moved.
        """
        return move_group(
            self._connection,
            checked_queue_name("queue", queue),
            _checked_group_id(group_id),
            to=None if to is None else checked_queue_name("to", to),
            commit_every=checked_commit_every(commit_every).messages or 1,
            accept=_checked_accept(accept),
            keep_context=keep_context,
            check=check,
        )

    def group_pipe(
        self,
        source: str,
        target: str,
        *,
        name: str,
        commit_every: int | Every = 100,
        status_model: str = STATUS_MODEL,
        status_layout: str = "classic",
        owner_wait_s: float = 30.0,
        wait_s: float | None = None,
        group_wait_s: float = 300.0,
        complete_groups_only: bool = False,
        poison: str = "halt",
        full_wait_s: float = 30.0,
        persistence: Persistence = Persistence.PERSISTENT,
        priority: int | None = None,
        bind: str = "group",
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
        checked = checked_commit_every(commit_every)
        # Half of what a unit of work may have is for what is put.
        room = max(1, self._connection.max_uncommitted_msgs // 2 - _STATUS_MESSAGES_OF_A_PIPE)
        checked = replace(checked, messages=min(checked.messages or room, room))
        incoming = self._consumer_settings(
            source,
            name=name,
            commit_every=checked,
            status_model=status_model,
            status_layout=status_layout,
            owner_wait_s=owner_wait_s,
            wait_s=wait_s,
            group_wait_s=group_wait_s,
            complete_groups_only=complete_groups_only,
            poison=poison,
            hooks=Hooks(on_resume, on_in_doubt, on_abandon),
        )
        outgoing = self._producer_settings(
            target,
            name=name,
            commit_every=checked,
            status_model=status_model,
            status_layout=status_layout,
            owner_wait_s=owner_wait_s,
            full_wait_s=full_wait_s,
            persistence=persistence,
            priority=priority,
            bind=bind,
        )
        return GroupPipe(self._connection, incoming, outgoing)

    def _segmented(self, status_layout: str, every: Every) -> bool:
        """Say whether status records are put as segments."""
        if status_layout not in ("classic", "segmented", "auto"):
            raise ConfigurationError(f"status_layout must be 'classic', 'segmented' or 'auto', got {status_layout!r}")
        if status_layout == "segmented":
            self._refuse_on_zos("status_layout='segmented'")
        small = every.messages is not None and every.messages <= _SMALL_UNIT_OF_WORK
        return status_layout == "segmented" or (status_layout == "auto" and small and self.platform != mq.MQPL_ZOS)

    def _refuse_on_zos(self, setting: str) -> None:
        if self.platform == mq.MQPL_ZOS:
            raise ConfigurationError(
                f"{setting}: queue manager {self.q_mgr_name} is on z/OS, where messages have no segments"
            )


def connection_of(q_mgr: QueueManager) -> Connection:
    """Return the connection that a queue manager has; for the rest of this package."""
    return q_mgr._connection


def connected(
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
    trace: str = EACH_UNIT_OF_WORK,
    propagate: bool = False,
) -> Connection:
    """Return a connection to a queue manager: what ``connect`` wraps, for the rest of this package; its arguments."""
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
        max_msg_length=_LONGEST_MESSAGE_BYTES,
    )
    connect_rules.check(arguments)
    patience = Patience(checked_seconds("connect_wait_s", connect_wait_s))
    reconnect = Patience(checked_seconds("reconnect_wait_s", reconnect_wait_s))
    telemetry = _telemetry(trace, propagate=propagate)
    return Connection.connected(load_binding(), arguments, patience, reconnect, sleep, telemetry)


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
    trace: str = EACH_UNIT_OF_WORK,
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
    return QueueManager(
        connected(
            q_mgr_name,
            channel,
            conn_name,
            user=user,
            password=password,
            token=token,
            cipher_spec=cipher_spec,
            key_repository=key_repository,
            key_repository_password=key_repository_password,
            certificate_label=certificate_label,
            peer_name=peer_name,
            ccdt_url=ccdt_url,
            connect_wait_s=connect_wait_s,
            reconnect_wait_s=reconnect_wait_s,
            sleep=sleep,
            trace=trace,
            propagate=propagate,
        )
    )


def wrap(
    q_mgr: ConnectedQueueManager,
    *,
    sleep: Sleep = time.sleep,
    trace: str = EACH_UNIT_OF_WORK,
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


def _telemetry(trace: str, *, propagate: bool) -> TelemetrySettings:
    if propagate:
        context.keep_api_exit_out()
    return TelemetrySettings(trace, propagate)


def _checked_role(role: str) -> Role:
    if role not in ("put", "get"):
        raise ConfigurationError(f"role must be 'put' or 'get', got {role!r}")
    return Role(role)


def _checked_group_id(group_id: bytes) -> bytes:
    if not isinstance(group_id, bytes) or len(group_id) != GROUP_ID_LENGTH:
        raise ConfigurationError(f"group_id must be {GROUP_ID_LENGTH} bytes, got {group_id!r}")
    return group_id


def _checked_accept(accept: Collection[str]) -> frozenset[Obstacle]:
    known = sorted(doubt.value for doubt in DOUBTS)
    if isinstance(accept, str) or not set(accept) <= set(known):
        raise ConfigurationError(f"accept must be some of {', '.join(known)}, got {accept!r}")
    return frozenset(map(Obstacle, accept))


def _checked_names(setting: str, names: Collection[str]) -> frozenset[str]:
    if isinstance(names, str):
        raise ConfigurationError(f"{setting} must be a collection of names, got {names!r}")
    return frozenset(checked_queue_name(setting, name) for name in names)


def _status_queue(
    given: str | None, role: Role, name: str, queue: str | None = None, status_model: str | None = None
) -> str:
    """Return the name of an owner's status queue; raises ConfigurationError if it is that of its data or of the model queue."""
    chosen = status_queue_name(role, name) if given is None else checked_queue_name("status_queue", given)
    if chosen in (queue, status_model):
        what = "its messages are put to and got from" if chosen == queue else "status queues are made from"
        raise ConfigurationError(
            f"status_queue {chosen} is the queue that {what}. A status queue holds one owner's records and nothing else: give "
            "another name, or none"
        )
    return chosen

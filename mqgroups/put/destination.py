"""Opens a producer's queue so that each group stays on one instance of a cluster queue.

A cluster queue has instances at several queue managers. With ``bind="group"`` the queue manager chooses an instance for each
group, with ``bind="open"`` one instance for all groups (IBM MQ, "MQOPEN and clusters"). One handle keeps the choice, but a
restart loses it. The first put after a restart goes without logical order, and is workload-balanced like a single message. So
the rest of an interrupted group is put to the queue manager that the status record names, and the destination of each message is
compared with that name. Two options are not offered. MQOO_BIND_NOT_FIXED would split groups. With MQOO_BIND_AS_Q_DEF an
administrator could do the same, by changing DEFBIND to NOTFIXED.

After a restart the producer first opens the queue by its own name, with MQOO_BIND_ON_OPEN. MQOD usually shows that the queue
leads to the recorded queue manager. If a cluster queue leads elsewhere, the producer opens it with the recorded queue manager's
name. Such a full name is resolved by other definitions, and needs other authorities (IBM MQ, "Name resolution", "Authorizations
for MQI calls"). A user with authority only for an alias of the queue cannot use the full name. Then the producer opens the alias
repeatedly, until it leads to the recorded queue manager. Nothing is put before that.

With ``bind="group"`` the destination of the first message is read from MQPMO.ResolvedQMgrName. IBM's texts do not guarantee that
this field has the destination. It is blank if the instance is not fixed, and the texts do not say whether a group's instance is
fixed (IBM MQ, "MQPMO"). If the field is blank, a restart could not find the instance. Then a group is committed only as a whole,
and a group that needs several units of work is refused. The alternative was to open the queue with MQOO_BIND_ON_OPEN for each
group. That would slow down all groups. An application that wants a fixed instance can choose ``bind="open"``.

Not here: which message comes next (``core``), and when to commit (``putter.py``).
"""

from __future__ import annotations

from contextlib import closing

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.core.modes import Bind
from mqgroups.errors import ConfigurationError, ConnectionBroken, MQIError, QueueManagerChanged
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.settings import Producing

_OPTIONS: dict[Bind, int] = {"group": mq.MQOO_BIND_ON_GROUP, "open": mq.MQOO_BIND_ON_OPEN}
_ON_OPEN = mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_OPEN
# Repeated opens go through the instances of a cluster queue; other programs and weights change the order (IBM MQ, "The cluster
# workload management algorithm"). A client does not know the number of instances; clusters have several times fewer than this.
_MOST_OPENS = 100


class Destination:
    """The queue and the instance that one producer's messages go to.

    Attributes:
        resolved: the names of the queue and the queue manager that the group's first message went to; empty before that message.
        field: the last ResolvedQMgrName that MQPMO returned, 48 bytes.
    """

    def __init__(self, connection: Connection, settings: Producing) -> None:
        self._connection = connection
        self._settings = settings
        self.resolved = ("", "")
        self.field = b""
        # Whether messages go to a cluster queue; None until it was inquired.
        self._clustered: bool | None = None

    @property
    def _queue(self) -> str:
        return self._settings.queue

    def open(self) -> Queue:
        """Open the queue for new groups."""
        return self._connection.open_queue(self._queue, mq.MQOO_OUTPUT | _OPTIONS[self._settings.bind])

    def open_for_the_rest(self) -> Queue:
        """Open the queue instance that has the beginning of the interrupted group.

        Raises MQIError if the queue cannot be opened. A cluster queue is opened by its own name or by the instance's name.
        """
        led_to: set[str] = set()
        if queue := self._open_by_its_name(1, led_to):
            return queue
        if self._is_of_cluster() is False:
            # The definition was changed. ``went`` refuses the first message that goes elsewhere.
            return self.open()
        q_name, q_mgr_name = self.resolved
        try:
            # An instance on this queue manager is named too: with CLWLUSEQ(ANY) the rest could otherwise go to another one.
            return self._connection.open_queue(q_name or self._queue, _ON_OPEN, object_q_mgr_name=q_mgr_name)
        except ConnectionBroken:
            raise
        except MQIError as error:
            refused = error
        if queue := self._open_by_its_name(_MOST_OPENS, led_to):
            return queue
        refused.context = (
            f"The rest of the interrupted group has to go to {q_name or self._queue} at queue manager {q_mgr_name}, where its "
            f"beginning went. That name was refused, and {self._queue} led to {', '.join(sorted(led_to))} each time. Nothing was "
            "put. Allow PUT on SYSTEM.CLUSTER.TRANSMIT.QUEUE (on the queue itself on z/OS, and for an instance here), "
            f"or let {self._queue} lead to that instance again"
        )
        raise refused

    def _open_by_its_name(self, times: int, led_to: set[str]) -> Queue | None:
        """Open the queue, at most ``times`` times, until it leads to the recorded queue manager. Add wrong ones to ``led_to``."""
        for _ in range(times):
            queue = self._connection.open_queue(self._queue, _ON_OPEN)
            if queue.resolved_q_mgr_name == self.resolved[1]:
                return queue
            led_to.add(queue.resolved_q_mgr_name)
            queue.close()
        return None

    def _is_of_cluster(self) -> bool | None:
        """Return whether messages go to a cluster queue; ``None`` if this cannot be inquired, mostly for lack of authority."""
        if self._clustered is None:
            try:
                self._clustered = _leads_to_cluster(self._connection, self._queue)
            except ConnectionBroken:
                raise
            except MQIError:
                return None
        return self._clustered

    def check_opened(self, queue: Queue) -> None:
        """Raise ConfigurationError if ResolvedQName is blank, as it is if the queue is an alias of a topic (IBM MQ, "MQOD")."""
        if not queue.resolved_q_name:
            raise ConfigurationError(
                f"{self._queue} leads to a topic, and groups and segments cannot be published (MQPUT would fail with 2417). "
                "Nothing was put. Name a queue, or an alias of a queue"
            )

    def begins(self, pmo: bytes) -> None:
        """Remember the queue and the queue manager that the first message of a group went to."""
        self.resolved = (st.name_at(pmo, st.PMO_RESOLVED_Q_NAME), st.name_at(pmo, st.PMO_RESOLVED_Q_MGR_NAME))
        self.field = pmo[st.PMO_RESOLVED_Q_MGR_NAME]

    def went(self, pmo: bytes, md: bytes) -> None:
        """Raise QueueManagerChanged if an uncommitted message went to another queue manager than the group's first message."""
        field = pmo[st.PMO_RESOLVED_Q_MGR_NAME]
        if field == self.field:
            return
        found, expected = st.name_at(pmo, st.PMO_RESOLVED_Q_MGR_NAME), self.resolved[1]
        if found != expected:
            number = st.long_at(md, st.MD_MSG_SEQ_NUMBER)
            raise QueueManagerChanged(
                f"message {number} of group {md[st.MD_GROUP_ID].hex()}, put to queue {self._queue}, went to queue manager "
                f"{found}; the first message of the group went to {expected}. The unit of work is backed out; the group can be "
                "resumed at its last commit. An alias, a workload exit or a queue definition has probably changed. Correct it "
                f"and start again; the rest of the group then goes to {expected}",
                because="split",
                found=found,
                expected=expected,
            )
        self.field = field

    def check_told(self) -> None:
        """Raise ConfigurationError if MQPMO has not named the instance. Call this before a part of a group is committed.

        Also raises ConnectionBroken if the connection is lost while the queue is inquired.
        """
        if self.resolved[1]:
            return
        if self._is_of_cluster() is not False:
            raise ConfigurationError(
                f"with bind={self._settings.bind!r} the queue manager does not return the instance of queue {self._queue} "
                "to which the group went (MQPMO ResolvedQMgrName is blank). After an interruption the rest of the group could "
                "not be put to the same instance. The unit of work is backed out. Use bind='open', or a commit_every large "
                "enough for a whole group"
            )

    def ended(self) -> None:
        """Forget the destination of a group that has ended."""
        self.resolved = ("", "")


def _leads_to_cluster(connection: Connection, name: str) -> bool:
    """Return whether messages that are put to queue ``name`` go to a cluster queue.

    The attribute CLUSTER of an alias or a remote queue matters only to other queue managers (IBM MQ, "Name resolution").
    """
    with closing(connection.open_queue(name, mq.MQOO_INQUIRE)) as queue:
        kind = queue.inquire(mq.MQIA_Q_TYPE)
        if kind == mq.MQQT_ALIAS:
            return _leads_to_cluster(connection, str(queue.inquire(mq.MQCA_BASE_Q_NAME)))
        return kind == mq.MQQT_CLUSTER or (kind == mq.MQQT_LOCAL and queue.is_in_cluster)

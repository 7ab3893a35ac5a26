"""Where a producer's messages go: the binding of its queue, and what keeps a group on one instance of a cluster queue.

A cluster queue has instances at several queue managers. With ``bind="group"`` one is chosen for each group and with
``bind="open"`` one for all (IBM MQ, topics q026010, q027030); what would not keep a group together is refused before anything is
put. Within one handle the queue manager keeps to the choice. A restart would not: its first put goes without logical
order and is balanced like a message of its own. So the rest of an interrupted group is put to the queue manager that the status
record names, and each message is compared with it.

With ``bind="group"`` it is MQPMO that tells where the first message went. No text says that it has to: ResolvedQMgrName is blank
where the instance is not fixed, and what a group is, is not written (topic q098810). Where it is blank there is nothing to go by
after a restart, so only a whole group is committed then; what needs more units of work is refused. Considered: to open the queue
with MQOO_BIND_ON_OPEN for each group; ``bind="open"`` is there for the asking, and all groups would pay for it.

Not here: which message comes next (``core``), and when to commit (``putter.py``).
"""

from __future__ import annotations

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.core.modes import Bind
from mqgroups.errors import ConfigurationError, GroupWouldSplit, NotAuthorised
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st

_OPTIONS: dict[Bind, int] = {
    "group": mq.MQOO_BIND_ON_GROUP,
    "open": mq.MQOO_BIND_ON_OPEN,
    "not fixed": mq.MQOO_BIND_NOT_FIXED,
    "as queue": mq.MQOO_BIND_AS_Q_DEF,
}


class Destination:
    """Where the messages of one producer go.

    Attributes:
        resolved: names of queue and queue manager that the group's first message was put to; empty before it.
    """

    def __init__(self, connection: Connection, queue: str, bind: Bind) -> None:
        self.resolved = ("", "")
        self._connection = connection
        self._queue = queue
        self._bind = bind
        self._options = mq.MQOO_OUTPUT | _OPTIONS[bind]
        # ResolvedQMgrName as MQPMO had it last.
        self._field = b""
        # Whether messages go to a cluster queue, once that had to be asked.
        self._clustered: bool | None = None

    def check(self) -> None:
        """Refuse a binding that lets groups split; where ``bind`` leaves that open, the queue is asked.

        Raises:
            ConfigurationError: the messages of a group could go to several instances of a cluster queue.
            MQIError: the queue cannot be inquired.
        """
        if self._bind in ("group", "open"):
            return
        is_clustered, def_bind = _cluster_attributes(self._connection, self._queue)
        not_fixed = self._bind == "not fixed" or def_bind == mq.MQBND_BIND_NOT_FIXED
        if is_clustered and not_fixed:
            says = "bind='not fixed'" if self._bind == "not fixed" else "bind='as queue' and DEFBIND(NOTFIXED)"
            raise ConfigurationError(
                f"{says}: {self._queue} is a cluster queue, and MQOO_BIND_NOT_FIXED sends each message of a group to an instance "
                "of its own. Nothing was put. Use bind='group', or bind='open' for one instance for all groups"
            )

    def open(self) -> Queue:
        """Open the queue, for any group."""
        return self._connection.open_queue(self._queue, self._options)

    def open_for_the_rest(self) -> Queue:
        """Open the instance of the queue that the beginning of the group went to.

        This queue manager's too: with CLWLUSEQ(ANY) the rest would be balanced like any other message. Only an alias of a
        queue that is in no cluster is opened as it was, because its defaults and authorities count.
        """
        q_name, q_mgr_name = self.resolved
        if q_mgr_name == self._connection.q_mgr_name and q_name != self._queue and not self._is_of_cluster():
            return self.open()
        return self._connection.open_queue(
            q_name or self._queue, mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_OPEN, object_q_mgr_name=q_mgr_name
        )

    def _is_of_cluster(self) -> bool:
        try:
            return _cluster_attributes(self._connection, self._queue)[0]
        except NotAuthorised:
            # This user may put to the alias and nothing else. If a cluster queue is behind it, ``went`` watches.
            return False

    def begins(self, pmo: bytes) -> None:
        """Take note of where the first message of a group went."""
        self.resolved = (st.name_at(pmo, st.PMO_RESOLVED_Q_NAME), st.name_at(pmo, st.PMO_RESOLVED_Q_MGR_NAME))
        self._field = pmo[st.PMO_RESOLVED_Q_MGR_NAME]

    def went(self, pmo: bytes, md: bytes) -> None:
        """Take note of where a later message of the group went; it is not committed yet.

        Raises:
            GroupWouldSplit: not where the first one did.
        """
        field = pmo[st.PMO_RESOLVED_Q_MGR_NAME]
        if field == self._field:
            return
        found, expected = st.name_at(pmo, st.PMO_RESOLVED_Q_MGR_NAME), self.resolved[1]
        if found != expected:
            number = st.long_at(md, st.MD_MSG_SEQ_NUMBER)
            raise GroupWouldSplit(self._queue, md[st.MD_GROUP_ID], number, found=found, expected=expected)
        self._field = field

    def check_told(self) -> None:
        """Refuse to commit the beginning of a group alone if nothing tells where it went, and it can have gone to several places.

        Raises:
            ConfigurationError: that is so.
            MQIError: the queue cannot be inquired.
        """
        if self.resolved[1]:
            return
        if self._clustered is None:
            self._clustered = self._may_be_of_cluster()
        if self._clustered:
            raise ConfigurationError(
                f"bind={self._bind!r}: the queue manager does not tell to which instance of cluster queue {self._queue} the "
                "group went (MQPMO ResolvedQMgrName is blank), so after an interruption nobody would know where its rest has to "
                "go. The unit of work is backed out. Use bind='open', or units of work that hold a whole group (commit_every=)"
            )

    def _may_be_of_cluster(self) -> bool:
        try:
            return _cluster_attributes(self._connection, self._queue)[0]
        except NotAuthorised:
            return True

    def ended(self) -> None:
        """Take note that the group has ended."""
        self.resolved = ("", "")


def _cluster_attributes(connection: Connection, name: str) -> tuple[bool, int]:
    """Return whether what is put to a queue goes to a cluster queue, and DEFBIND.

    DEFBIND of an alias comes before that of the queue behind it (IBM MQ, topic q026010).
    """
    queue = connection.open_queue(name, mq.MQOO_INQUIRE)
    try:
        kind = queue.inquire(mq.MQIA_Q_TYPE)
        def_bind = int(queue.inquire(mq.MQIA_DEF_BIND))
        if kind == mq.MQQT_CLUSTER or queue.is_in_cluster:
            return True, def_bind
        if kind == mq.MQQT_ALIAS:
            return _cluster_attributes(connection, str(queue.inquire(mq.MQCA_BASE_Q_NAME)))[0], def_bind
        return False, def_bind
    finally:
        queue.close()

"""Values that queue managers of a cluster tell each other: the cluster queues that each hosts, and its address."""

from __future__ import annotations

from dataclasses import dataclass

from mqgroups.embedded.objects.attributes import Value
from mqgroups.mqi import constants as mq

# What a member tells of a cluster queue; MQINQ answers with some of it (topic "MQINQ and clusters").
ADVERTISED = (
    mq.MQCA_Q_DESC,
    mq.MQIA_INHIBIT_PUT,
    mq.MQIA_DEF_PRIORITY,
    mq.MQIA_DEF_PERSISTENCE,
    mq.MQIA_DEF_BIND,
    mq.MQIA_DEF_PUT_RESPONSE_TYPE,
    mq.MQIA_CLWL_Q_PRIORITY,
    mq.MQIA_CLWL_Q_RANK,
    mq.MQCA_CLUSTER_NAME,
)


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a cluster queue: which queue, of which type, at which queue manager, with which attributes."""

    queue_name: str
    type: int
    q_mgr_name: str
    values: dict[int, Value]

    def integer(self, selector: int) -> int:
        """Return an integer attribute."""
        value = self.values[selector]
        assert isinstance(value, int)
        return value

    @property
    def put_enabled(self) -> bool:
        """Whether applications may put to it."""
        return self.values[mq.MQIA_INHIBIT_PUT] == mq.MQQA_PUT_ALLOWED


@dataclass(frozen=True, slots=True)
class Member:
    """One queue manager of the cluster, as it was when it was heard of last."""

    q_mgr_name: str
    identifier: str
    host: str
    port: int
    token: str
    instances: tuple[Instance, ...]

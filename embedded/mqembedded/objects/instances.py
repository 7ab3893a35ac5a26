"""Data that the queue managers of a cluster exchange: their addresses and cluster queues."""

from __future__ import annotations

from dataclasses import dataclass

from mqembedded import constants as mq
from mqembedded.objects.attributes import Value

# The attributes of a cluster queue that a member advertises; MQINQ returns some of them (IBM MQ, "MQINQ and clusters").
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
    """An instance of a cluster queue: its name, type and attributes, and the queue manager that hosts it."""

    queue_name: str
    type: int
    q_mgr_name: str
    values: dict[int, Value]

    def integer(self, selector: int) -> int:
        """Return the value of an integer attribute."""
        value = self.values[selector]
        assert isinstance(value, int)
        return value

    @property
    def put_enabled(self) -> bool:
        """Whether applications can put messages to the instance."""
        return self.values[mq.MQIA_INHIBIT_PUT] == mq.MQQA_PUT_ALLOWED


@dataclass(frozen=True, slots=True)
class Member:
    """A queue manager of the cluster, with the data that it last sent about itself."""

    q_mgr_name: str
    identifier: str
    host: str
    port: int
    token: str
    instances: tuple[Instance, ...]

"""Topics and subscriptions as the bindings' C functions give them: codes, values, and no exceptions.

one = subscribe(connection, "fruit/#")
open_topic(connection, "fruit/apple").put(b"pips")
assert one.queue.get().data == b"pips"
"""

from __future__ import annotations

import ctypes
from typing import Any

from embedded_tests.fix_mqi import Answer, Code, Connection, ObjectHandle
from mqembedded import constants as mq


def topic_descriptor(connection: Connection, string: str = "", name: str = "") -> Any:
    """Return an MQOD of a topic."""
    od = connection.mqi.od(Version=4, ObjectType=mq.MQOT_TOPIC, ObjectName=name.encode())
    if string:
        od.set_vs("ObjectString", string.encode())
    return od


def open_topic(connection: Connection, string: str = "", name: str = "", options: int = mq.MQOO_OUTPUT) -> ObjectHandle:
    """MQOPEN of a topic."""
    return connection.open("", options, od=topic_descriptor(connection, string, name))


def publish(connection: Connection, string: str, data: bytes = b"", options: int = 0, **md: Any) -> Answer:
    """MQPUT1 to a topic."""
    return connection.put1("", data, options, od=topic_descriptor(connection, string), **md)


class Subscription:
    """What MQSUB answered: the code, MQSD, the queue that publications come to, and a handle of itself.

    ``user_data`` and ``topic_string`` are what came back in the buffers of MQSD.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str = "",
        options: int = mq.MQSO_CREATE | mq.MQSO_MANAGED,
        *,
        name: str = "",
        queue: ObjectHandle | None = None,
        room: int = 100,
        user_data: bytes = b"",
        **fields: Any,
    ) -> None:
        mqi = connection.mqi
        fields = {
            "SubExpiry": mq.MQEI_UNLIMITED,
            "PubPriority": mq.MQPRI_PRIORITY_AS_PUBLISHED,
            "SubLevel": 1,
            **fields,
        }
        self.sd = mqi.package.SD(Options=options, **fields)
        if topic:
            self.sd.set_vs("ObjectString", topic.encode())
        if name:
            self.sd.set_vs("SubName", name.encode())
        buffers = {}
        for field, value in (("SubUserData", user_data), ("ResObjectString", b"")):
            buffers[field] = ctypes.create_string_buffer(value, room)
            self.sd[field + "VSPtr"] = ctypes.addressof(buffers[field])
            self.sd[field + "VSBufSize"] = room
            self.sd[field + "VSLength"] = len(value)
        packed, hobj, hsub, comp, reason = mqi.c.MQSUB(
            connection.hconn, self.sd.pack(), queue.hobj if queue else mq.MQHO_NONE
        )
        self.sd.unpack(packed)
        self.code = Code(comp, reason)
        self.connection = connection
        self.queue = ObjectHandle(connection, hobj, self.code, None)
        self.hsub = ObjectHandle(connection, hsub, self.code, None)
        self.user_data = buffers["SubUserData"].raw[: self.sd["SubUserDataVSLength"]]
        self.topic_string = buffers["ResObjectString"].raw[: self.sd["ResObjectStringVSLength"]].decode()

    def received(self) -> list[bytes]:
        """Get everything that is on the queue."""
        return [answer.data for answer in self.queue.all()]

    def request(self) -> tuple[Code, int]:
        """MQSUBRQ, and how many publications were sent; ibmmq only, pymqi has no such function."""
        sro = self.connection.mqi.package.SRO()
        packed, comp, reason = self.connection.mqi.c.MQSUBRQ(
            self.connection.hconn, self.hsub.hobj, mq.MQSR_ACTION_PUBLICATION, sro.pack()
        )
        sro.unpack(packed)
        return Code(comp, reason), sro["NumPubs"]

    def close(self, options: int = 0) -> Code:
        """MQCLOSE of the subscription, then of the queue; returns the code of the first."""
        code = self.hsub.close(options)
        self.queue.close()
        return code


subscribe = Subscription

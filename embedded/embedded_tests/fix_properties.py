"""Message handles and properties as the bindings' C functions give them: codes, values, and no exceptions.

handle = MessageHandle(connection)
assert handle.set("colour", "green") == OK
assert handle.inquire("colour") == Inquiry(OK, "green", 5)
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from embedded_tests.fix_mqi import OK, Answer, Code, Connection, ObjectHandle
from mqembedded import constants as mq

LENGTHS = {
    mq.MQTYPE_BOOLEAN: 4,
    mq.MQTYPE_INT8: 1,
    mq.MQTYPE_INT16: 2,
    mq.MQTYPE_INT32: 4,
    mq.MQTYPE_INT64: 8,
    mq.MQTYPE_FLOAT32: 4,
    mq.MQTYPE_FLOAT64: 8,
    mq.MQTYPE_NULL: 0,
}


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What MQINQMP answered; ``name`` is None where none was asked for, as always with pymqi."""

    code: Code
    value: Any = None
    length: int = 0
    name: str | None = None


class MessageHandle:
    """One message handle, made by MQCRTMH."""

    def __init__(self, connection: Connection, **cmho: Any) -> None:
        self.connection = connection
        self.mqi = connection.mqi
        self.hmsg, comp, reason = self.mqi.c.MQCRTMH(connection.hconn, self.mqi.package.CMHO(**cmho).pack())
        self.code = Code(comp, reason)

    def set(
        self,
        name: str | bytes,
        value: Any,
        kind: int = mq.MQTYPE_STRING,
        *,
        length: int | None = None,
        options: int = 0,
        smpo: Any = None,
        **pd: Any,
    ) -> Code:
        """MQSETMP; the length is that of the value unless one is given."""
        raw = name.encode() if isinstance(name, str) else name
        if length is None:
            # Up to the null, for a string.
            length = LENGTHS[kind] if kind in LENGTHS else -1 if kind == mq.MQTYPE_STRING else len(value)
        smpo = smpo or self.mqi.package.SMPO(Options=options)
        packed = self.mqi.package.PD(**pd).pack()
        return Code(
            *self.mqi.c.MQSETMP(self.connection.hconn, self.hmsg, smpo.pack(), raw, packed, kind, value, length)
        )

    def inquire(
        self, name: str | bytes, options: int = mq.MQIMPO_INQ_FIRST, kind: int = mq.MQTYPE_AS_SET, room: int = 4096
    ) -> Inquiry:
        """MQINQMP."""
        raw = name.encode() if isinstance(name, str) else name
        if self.mqi.name == "pymqi":
            value, length, comp, reason = self.mqi.c.MQINQMP(
                self.connection.hconn, self.hmsg, options, raw, 0, kind, room
            )
            return Inquiry(Code(comp, reason), value, length)
        returned = self.inquire_with(raw, self.mqi.package.IMPO(Options=options), kind=kind, room=room)
        return returned[0]

    def inquire_with(
        self, name: bytes, impo: Any, *, kind: int = mq.MQTYPE_AS_SET, room: int = 4096
    ) -> tuple[Inquiry, Any, Any]:
        """MQINQMP with structures, which come back changed; ibmmq only."""
        raw_impo, raw_pd = bytearray(impo.pack()), bytearray(self.mqi.package.PD().pack())
        # It changes them in place, whatever they are made of; so no bytes that somebody else may hold.
        in_impo, in_pd = bytes(raw_impo), bytes(raw_pd)
        value, length, found, comp, reason = self.mqi.c.MQINQMP(
            self.connection.hconn, self.hmsg, in_impo, name, in_pd, kind, room
        )
        inquiry = Inquiry(Code(comp, reason), value, length, found or None)
        return inquiry, self.mqi.package.IMPO().unpack(in_impo), self.mqi.package.PD().unpack(in_pd)

    def all(self, pattern: str = "%") -> list[Any]:
        """Return the values of all properties that match, in order."""
        return [one.value for one in self.walk(pattern)]

    def walk(self, pattern: str = "%") -> list[Inquiry]:
        """Inquire first and next until there is nothing left."""
        found = []
        options = mq.MQIMPO_INQ_FIRST | mq.MQIMPO_CONVERT_VALUE
        while (one := self.inquire(pattern, options)).code.comp != 2:
            found.append(one)
            options = mq.MQIMPO_INQ_NEXT | mq.MQIMPO_CONVERT_VALUE
        return found

    def delete(self) -> Code:
        """MQDLTMH; ibmmq only."""
        return Code(*self.mqi.c.MQDLTMH(self.connection.hconn, self.hmsg, self.mqi.package.DMHO().pack()))

    def delete_property(self, name: str, options: int = 0) -> Code:
        """MQDLTMP; ibmmq only."""
        dmpo = self.mqi.package.DMPO(Options=options)
        return Code(*self.mqi.c.MQDLTMP(self.connection.hconn, self.hmsg, dmpo.pack(), name.encode()))


def put(
    queue: ObjectHandle,
    data: bytes = b"",
    original: MessageHandle | None = None,
    *,
    new: MessageHandle | None = None,
    action: int = 0,
    options: int = mq.MQPMO_NO_SYNCPOINT,
    **md: Any,
) -> Answer:
    """MQPUT with message handles."""
    pmo = queue.mqi.pmo(
        Version=3,
        Options=options,
        OriginalMsgHandle=original.hmsg if original else 0,
        NewMsgHandle=new.hmsg if new else 0,
        Action=action,
    )
    return queue.put(data, pmo=pmo, **md)


def get(queue: ObjectHandle, handle: MessageHandle | None = None, options: int = 0, **more: Any) -> Answer:
    """MQGET with a message handle."""
    gmo = queue.mqi.gmo(Version=4, Options=options | mq.MQGMO_NO_SYNCPOINT, MsgHandle=handle.hmsg if handle else 0)
    return queue.get(gmo=gmo, **more)


def rfh2(
    *folders: str, encoding: int = 546, ccsid: int = 1208, format_: bytes = b"MQSTR   ", order: str = "<"
) -> bytes:
    """Return an MQRFH2, its own numbers in the byte order given; the rest describes the data behind it."""
    variable = b""
    for folder in folders:
        raw = folder.encode()
        raw = raw.ljust(-(-len(raw) // 4) * 4)
        variable += struct.pack(order + "i", len(raw)) + raw
    fixed = struct.pack(order + "4siiii8sii", b"RFH ", 2, 36 + len(variable), encoding, ccsid, format_, 0, 1208)
    return fixed + variable


__all__ = ["LENGTHS", "OK", "Inquiry", "MessageHandle", "get", "put", "rfh2"]

"""Status records and anchors as small bodies of the model's messages, and back.

    ("R", chain, offset, number)   a record: the chain of segments it is in (0 for none), its place there, and what it says
    ("A", 0, 0, number)            an anchor
    ("m", group, number)           a message of a group

Equal puts by one connection of an instance have one body, and therefore one MsgId: equal states stay equal. The MsgId of what is
put again after a lost connection is another one, as it is with a queue manager.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from operator import attrgetter
from types import GeneratorType
from typing import Any, NamedTuple

from mqgroups.core.model import GROUP_ID_LENGTH, MsgFlag
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.core.status_chain import FoundMessage, RecordPut
from mqgroups.core.steps import RecordArrived
from tests.ownership.queue_manager import Body

INCOMING = 1000  # the group there is to get
_USER = "owner"
_BYTES_OF_RECORD = 1


def identifier(kind: str, number: int) -> bytes:
    """Return a MsgId or GroupId."""
    return f"{kind}{number}".encode().ljust(GROUP_ID_LENGTH, b".")


def group_id(group: int) -> bytes:
    """Return the GroupId of a group."""
    return identifier("g", group)


def key(value: Any) -> Any:
    """Return something that can be hashed, and is equal for equal values; of a generator, where it stands."""
    kind = type(value)
    how = _KEYS.get(kind)
    if how is None:
        how = _KEYS[kind] = _key_of(kind)
    return how(value)


def frames(generator: Any) -> tuple[Any, ...]:
    """Return where a generator stands: of each frame its code, the instruction, and the local variables."""
    stands: list[Any] = []
    while generator is not None:
        frame = generator.gi_frame
        if frame is not None:
            local = frame.f_locals
            names = tuple(sorted(local))
            stands.append((frame.f_code.co_name, frame.f_lasti, names, tuple(key(local[name]) for name in names)))
        generator = generator.gi_yieldfrom
    return tuple(stands)


def _key_of(kind: type) -> Callable[[Any], Any]:
    """Return how ``key`` is made for values of a class."""
    if kind is GeneratorType:
        return frames
    if issubclass(kind, tuple):
        return lambda value: tuple(map(key, value))
    if issubclass(kind, (set, frozenset)):
        return lambda value: frozenset(map(key, value))
    if issubclass(kind, dict):
        return lambda value: tuple((name, key(each)) for name, each in value.items())
    if issubclass(kind, BaseException):
        return lambda value: (kind.__name__, key(value.args))
    if is_dataclass(kind):
        values = attrgetter(*(field.name for field in fields(kind)))
        return lambda value: tuple(map(key, values(value)))
    return lambda value: value


class _Put(NamedTuple):
    """What was put: a record, or an anchor."""

    message: FoundMessage
    says: tuple[int, int] | tuple[()]


class Bodies:
    """The bodies of one exploration."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._puts: dict[Body, _Put] = {}
        self._by_msg_id: dict[bytes, Body] = {}
        self._chains: dict[bytes, int] = {}

    def put_record(self, record: StatusRecord, how: RecordPut, anchor: bytes, connection: Any) -> Body:
        """Return the body of a record that is put by a connection."""
        number = self._number(("R", key(record), how.group_id, how.offset, int(how.msg_flags), anchor, connection))
        group = how.group_id
        chain = 0
        if how.is_segment:
            group = identifier("c", number) if not how.offset else group
            chain = self._chains.setdefault(group, number)
        body = ("R", chain, how.offset, number)
        says = (
            (int(record.group_id.strip(b"g.")), record.msg_seq_number) if record.state is RecordState.IN_GROUP else ()
        )
        return self._added(body, record, anchor, group, how, says)

    def put_anchor(self, record: StatusRecord, connection: Any) -> Body:
        """Return the body of an anchor that is put by a connection."""
        number = self._number(("A", key(record), connection))
        none = bytes(GROUP_ID_LENGTH)
        return self._added(("A", 0, 0, number), record, none, none, RecordPut(False), ())

    def _number(self, what: Any) -> int:
        return self._numbers.setdefault(what, len(self._numbers) + 1)

    def _added(
        self, body: Body, record: StatusRecord, correl_id: bytes, group: bytes, how: RecordPut, says: Any
    ) -> Body:
        if body not in self._puts:
            if body[0] == "A":
                record = _as_anchor(record)
            msg_id = identifier(body[0], body[3])
            length, flags = _BYTES_OF_RECORD, MsgFlag(how.msg_flags)
            message = FoundMessage(msg_id, correl_id, group, how.offset, length, flags, record, user=_USER, is_own=True)
            self._puts[body] = _Put(message, says)
            self._by_msg_id[msg_id] = body
        return body

    # --- for the programs

    def found(self, bodies: tuple[Body, ...]) -> tuple[FoundMessage, ...]:
        """Return the messages as a browse finds them."""
        return tuple(self._puts[body].message for body in bodies)

    def arrived(self, body: Body) -> RecordArrived:
        """Return what MQPUT of a record returns."""
        message = self._puts[body].message
        return RecordArrived(message.msg_id, message.group_id, message.length, _USER)

    def msg_id(self, body: Body) -> bytes:
        """Return the MsgId."""
        return self._puts[body].message.msg_id

    def with_msg_id(self, msg_id: bytes) -> Body:
        """Return the body with a MsgId; of an anchor that was never put, one that is nowhere."""
        return self._by_msg_id.get(msg_id, ("A", 0, 0, 0))

    def of_chain(self, group: bytes) -> Body:
        """Return what MQGET with MQGMO_COMPLETE_MSG asks for."""
        return ("chain", self._chains[group])

    # --- for what has to hold

    def says(self, body: Body) -> tuple[int, int] | tuple[()]:
        """Return the group that a record says is interrupted, and its position; else an empty tuple."""
        return self._puts[body].says

    def pair(self, body: Body) -> bytes:
        """Return what a record and its anchor have in common."""
        message = self._puts[body].message
        return message.msg_id if body[0] == "A" else message.correl_id

    def words(self, body: Body) -> str:
        """Return a body in words."""
        if body[0] == "m":
            return f"message {body[2]} of group {body[1]}"
        if body[0] == "chain":
            return "record (chain)"
        if body[0] == "A":
            return f"anchor {body[3]}"
        record = self._puts[body].message.record
        where = "at {1} of group {0}".format(*self.says(body)) if self.says(body) else record.state.value
        return f"record {record.owner_id}/{record.epoch}/{record.unit_of_work} {where}"


def _as_anchor(record: StatusRecord) -> StatusRecord:
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return StatusRecord(**{**values, "state": RecordState.ANCHOR})


def records_of(bodies: list[Body]) -> list[Body]:
    """Return the records, of each chain the last one."""
    last = {body[1] or -body[3]: body for body in sorted(bodies) if body[0] == "R"}
    return list(last.values())


@dataclass(frozen=True)
class Ways:
    """What all programs of an exploration do alike.

    Attributes:
        exclusive: the status queue is opened for exclusive input.
        segmented: records are put as segments of one logical message.
        browses: "at once", or "in steps" between which more may come into sight.
    """

    exclusive: bool = True
    segmented: bool = False
    browses: str = "in steps"


class World(NamedTuple):
    """What a program runs in: the bodies of the exploration, its number, and the ways of all."""

    bodies: Bodies
    me: int
    ways: Ways


# It never changes.
_KEYS: dict[type, Callable[[Any], Any]] = {World: lambda _: None}

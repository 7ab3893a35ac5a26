"""The vectors of docs/reference/status-record.md, read twice: by this package, and by a second reader made from that page alone.

``Spec`` below imports nothing of the package. So a vector that says what the page does not say fails, and so does a page that the
package does not follow. If a field is added, it goes into ``base`` of the vectors and into ``Spec.FIELDS``; the three literal
envelopes then differ from what a test prints.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import struct
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from mqgroups.core import claim, restart, status, status_chain
from mqgroups.core.model import GROUP_ID_NONE, MsgFlag, Role
from mqgroups.core.poison import Suspect
from mqgroups.errors import StatusQueueUnusable
from mqgroups.status.records import read_record, refuse_strangers

VECTORS = json.loads((Path(__file__).parents[2] / "docs" / "reference" / "status-record-vectors.json").read_text())
BASE = VECTORS["base"]
# What an owner does first with a record of its own, by the record's state.
STARTS = {
    status.RecordState.IDLE: "start a new group",
    status.RecordState.IN_GROUP: "resume the group",
    status.RecordState.COMPLETED: "continue after a completed group",
}
MQ_NAME = "A-Za-z0-9./_%"
HEAD, DIGITS, NECK = b'{"sha256":"', 64, b'",'


def fields_of(vector: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in {**BASE, **vector["fields"]}.items() if name not in vector.get("without", ())
    }


class Rejected(Exception):
    """What the second reader says of bytes that are no record of this version: corrupt, or version."""


class Spec:
    """A reader and writer of records from the page alone."""

    @staticmethod
    def sealed(body: bytes) -> bytes:
        return HEAD + hashlib.sha256(body).hexdigest().encode() + NECK + body

    @classmethod
    def written(cls, fields: dict[str, Any]) -> bytes:
        return cls.sealed(json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)[1:].encode())

    @classmethod
    def read(cls, data: bytes) -> dict[str, Any]:
        body = data[len(HEAD) + DIGITS + len(NECK) :]
        if data != cls.sealed(body):
            raise Rejected("corrupt")
        try:
            fields = json.loads("{" + body.decode("ascii"), object_pairs_hook=cls._once, parse_constant=cls._no)
        except (ValueError, UnicodeDecodeError):
            raise Rejected("corrupt") from None
        if "schema" not in fields:
            raise Rejected("corrupt")
        if type(fields["schema"]) is not int or fields["schema"] != 1:
            raise Rejected("version")
        fields = {name: value for name, value in fields.items() if not name.startswith("optional_")}
        if fields.keys() != cls.FIELDS.keys():
            raise Rejected("version")
        if not all(is_valid(fields[name]) for name, is_valid in cls.FIELDS.items()):
            raise Rejected("corrupt")
        in_group, nothing = fields["state"] == "in group", fields["msg_seq_number"] == fields["offset"] == 0
        if (in_group and not int(fields["group_id"], 16)) or (nothing and fields["state"] in ("in group", "completed")):
            raise Rejected("corrupt")
        return fields

    @staticmethod
    def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError
        return dict(pairs)

    @staticmethod
    def _no(_word: str) -> Any:
        raise ValueError

    @staticmethod
    def integer(most: int, least: int = 0) -> Callable[[Any], bool]:
        return lambda value: type(value) is int and least <= value <= most

    @staticmethod
    def text(most: float = math.inf) -> Callable[[Any], bool]:
        return lambda value: type(value) is str and len(value) <= most and not re.search("[\ud800-\udfff]", value)

    @classmethod
    def of(cls, characters: str, most: int, least: int = 0) -> Callable[[Any], bool]:
        return lambda value: type(value) is str and re.fullmatch(f"[{characters}]{{{least},{most}}}", value) is not None

    @classmethod
    def message(cls, md: dict[str, Any], data: bytes) -> dict[str, Any]:
        """Read a record that is perhaps no datagram of a program."""
        if (md["MsgType"], md["Feedback"], md["Report"]) != (8, 0, 0) or md["PutApplType"] == 7:
            raise Rejected("corrupt")
        fields = cls.read(data)
        of_batch = (fields["checkpoint"] or {}).get("json")
        if not (type(of_batch) is dict and "sink" in of_batch) and not cls.of(MQ_NAME, 35, 1)(fields["name"]):
            raise Rejected("corrupt")
        return fields

    @staticmethod
    def hex24(value: Any) -> bool:
        return type(value) is str and re.fullmatch("[0-9a-f]{48}", value) is not None

    @staticmethod
    def list_of(*kinds: Callable[[Any], bool]) -> Callable[[Any], bool]:
        def is_valid(value: Any) -> bool:
            return value is None or (
                type(value) is list
                and len(value) == len(kinds)
                and all(kind(item) for kind, item in zip(kinds, value, strict=True))
            )

        return is_valid

    @staticmethod
    def base64(value: Any) -> bool:
        try:
            return type(value) is str and base64.b64encode(base64.b64decode(value, validate=True)).decode() == value
        except ValueError:
            return False

    @classmethod
    def checkpoint(cls, value: Any) -> bool:
        if value is None:
            return True
        if type(value) is not dict or len(value) != 1:
            return False
        return cls.base64(value["bytes"]) if "bytes" in value else "json" in value and cls.json(value["json"], 0)

    @classmethod
    def json(cls, value: Any, depth: int) -> bool:
        if depth > 100:
            return False
        if type(value) is int:
            return value.bit_length() <= 2048
        if type(value) is float:
            return math.isfinite(value)
        if type(value) is str:
            return cls.text()(value)
        if type(value) is list:
            return all(cls.json(item, depth + 1) for item in value)
        if type(value) is dict:
            return all(cls.json(item, depth + 1) for pair in value.items() for item in pair)
        return value is None or type(value) is bool

    @classmethod
    def properties(cls, value: Any) -> bool:
        return value is None or (
            type(value) is dict and all(cls.text()(name) and cls.property(item) for name, item in value.items())
        )

    @classmethod
    def property(cls, value: Any) -> bool:
        if type(value) is dict and len(value) == 1:
            return cls.base64(value["bytes"]) if "bytes" in value else value.get("float") in ("inf", "-inf", "nan")
        if type(value) is int:
            return -(2**63) <= value < 2**63
        return value is None or type(value) in (bool, float) or cls.text()(value)

    @classmethod
    def named(cls, value: Any) -> bool:
        return (
            value is not None
            and cls.properties(value)
            and type(value.get("mqgroups.Name")) is str
            and value["mqgroups.Name"] != ""
        )

    @staticmethod
    def time(value: Any) -> bool:
        if type(value) is not str or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value, re.ASCII):
            return False
        try:
            datetime.fromisoformat(value)
        except ValueError:
            return False
        return True

    FIELDS: ClassVar[dict[str, Callable[[Any], bool]]] = {}


NUMBER, COUNT = Spec.integer(999_999_999), Spec.integer(2**63 - 1)
Spec.FIELDS = {
    "schema": lambda value: value == 1,
    "role": lambda value: value in ("put", "get"),
    "name": Spec.text(),
    "state": lambda value: value in ("idle", "in group", "completed", "anchor"),
    "owner_id": Spec.of(" -~", 200),
    "epoch": COUNT,
    "unit_of_work": COUNT,
    "queue": Spec.of(MQ_NAME, 48),
    "group_id": Spec.hex24,
    "first_msg_id": Spec.hex24,
    "msg_seq_number": NUMBER,
    "offset": NUMBER,
    "in_last_message": lambda value: type(value) is bool,
    "suspect": Spec.list_of(Spec.hex24, NUMBER, COUNT, Spec.hex24),
    "quarantine": lambda value: type(value) is bool,
    "resolved_q_name": Spec.of(MQ_NAME, 48),
    "resolved_q_mgr_name": Spec.of(MQ_NAME, 48),
    "q_mgr_identifier": Spec.of(MQ_NAME + ": -", 48),
    "persistence": Spec.integer(1),
    "checkpoint": Spec.checkpoint,
    "traceparent": Spec.of(" -~", 200),
    "properties": Spec.properties,
    "outgoing": Spec.list_of(Spec.hex24, NUMBER),
    "done": Spec.list_of(Spec.named, Spec.integer(999_999_999, 1), Spec.time),
}


def verdicts(data: bytes) -> tuple[str, str]:
    """Return what both readers say of bytes: corrupt, version, or nothing."""
    spec = package = ""
    try:
        Spec.read(data)
    except Rejected as error:
        spec = str(error)
    try:
        status.decode(data)
    except status.RecordRejected as error:
        package = error.because.value
    return spec, package


def shown(value: Any) -> Any:
    """Return a decoded value as the vectors have it."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, Suspect):
        return [shown(item) for item in (value.group_id, value.msg_seq_number, value.backout_count, value.msg_id)]
    if isinstance(value, tuple):
        return [shown(item) for item in value]
    if isinstance(value, dict):
        return {name: shown(item) for name, item in value.items()}
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def test_the_base_has_every_field():
    assert set(BASE) == set(Spec.FIELDS) == {"schema", *status._FIELDS}


def test_a_literal_envelope_is_what_both_write():
    for vector in VECTORS["envelopes"]:
        data = vector["data"].encode("ascii")
        assert Spec.written(fields_of(vector)) == data, Spec.written(fields_of(vector))
        assert status.encode(status.decode(data)) == data
        assert Spec.read(data) == fields_of(vector)


def test_a_record_is_read_written_and_decided_upon():
    for vector in VECTORS["records"]:
        data = Spec.written(fields_of(vector))
        assert verdicts(data) == ("", ""), vector
        record = status.decode(data)
        assert vector.get("not_written") or status.encode(record) == data, vector
        for name, value in vector.get("decoded", {}).items():
            assert shown(getattr(record, name)) == value, vector
        assert record.is_needed is vector["speaks"], vector
        reader = {**VECTORS["reader"], "role": vector.get("reader", "put")}
        mismatch = restart.mismatch_of(record, restart.Expectations(**{**reader, "role": Role(reader["role"])}))
        start = f"foreign: {mismatch.field}" if mismatch else STARTS[record.state]
        assert start == vector["start"], vector


def test_a_record_with_an_invalid_field_is_rejected():
    for vector in VECTORS["invalid_fields"]:
        assert verdicts(Spec.written(fields_of(vector))) == (vector["verdict"],) * 2, vector


def test_what_is_no_record_is_rejected():
    for vector in VECTORS["invalid_bytes"]:
        data = vector["data"].encode() if "data" in vector else Spec.written(BASE)
        if "replace" in vector:
            old, new = (text.encode() for text in vector["replace"])
            assert old in data
            data = data.replace(old, new)
        if "upper_digest" in vector:
            data = data[: len(HEAD)] + data[len(HEAD) : len(HEAD) + DIGITS].upper() + data[len(HEAD) + DIGITS :]
        if "body_replace" in vector:
            old, new = (text.encode() for text in vector["body_replace"])
            body = data[len(HEAD) + DIGITS + len(NECK) :]
            assert old in body
            data = Spec.sealed(body.replace(old, new))
        if "body" in vector:
            data = Spec.sealed(vector["body"].encode())
        data += vector.get("append", "").encode()
        assert verdicts(data) == ("corrupt", "corrupt"), vector


def test_the_messages_of_a_queue_make_one_record():
    for vector in VECTORS["queues"]:
        ids = {name: name.encode().ljust(24, b"\1") for name in "abcdgikrstu"}
        messages, marks = [], []
        for each_message in vector["messages"]:
            record = status.decode(Spec.written(fields_of(each_message)))
            messages.append(
                status_chain.FoundMessage(
                    ids[each_message["id"]],
                    ids[each_message["anchor"]] if "anchor" in each_message else bytes(24),
                    ids[each_message["group"]] if "group" in each_message else GROUP_ID_NONE,
                    each_message.get("offset", 0),
                    each_message.get("length", 700),
                    MsgFlag(each_message.get("flags", 0)),
                    record,
                )
            )
            if each_message["id"] in vector.get("own", ()):
                marks.append(record.mark)
        names = {value: name for name, value in ids.items()}
        anchor, leftovers, chain = None, [], {}
        try:
            found, _ = status_chain.contents_of(messages, marks, seen_twice=vector.get("twice", False))
        except status_chain.RecordHidden:
            result: str | None = "hidden"
        except status_chain.LookAgain:
            result = "look again"
        except status_chain.ChainBroken as error:
            result = "several" if error.several else "corrupt"
        else:
            kept = found.stored
            result = names[kept.msg_id] if kept else None
            anchor = names[found.anchor] if found.anchor else None
            leftovers = [names[pair.stored.msg_id] for pair in found.leftovers]
            chain = {name: getattr(kept, name) for name in vector.get("chain", {})}
        assert result == vector["result"], vector
        assert (anchor, leftovers) == (vector.get("anchor"), vector.get("leftovers", [])), vector
        assert chain == vector.get("chain", {}), vector


def test_the_next_record_is_put_so():
    for vector in VECTORS["puts"]:
        now = vector["now"]
        kept = None
        if now is not None:
            kept = (
                status_chain.StoredRecord(b"m" * 24)
                if now == "message"
                else status_chain.StoredRecord(b"m" * 24, b"g" * 24, **now)
            )
        put = status_chain.next_record_put(kept, segmented=vector["segmented"])
        assert (put.takes, put.msg_flags, put.offset) == (vector["get"], vector["flags"], vector["offset"]), vector
        assert put.group_id == (b"g" * 24 if vector["offset"] else GROUP_ID_NONE), vector


def test_a_mark_tells_the_outcome_of_a_commit():
    for vector in VECTORS["outcomes"]:
        found, before, after = (tuple(vector[name]) if vector[name] else None for name in ("found", "before", "after"))
        assert restart.commit_outcome(found, before, after).value == vector["outcome"], vector


def test_a_message_that_is_no_datagram_of_a_program_or_has_no_owners_name_is_rejected():
    """At 8, 12, 20 and 272 of an MQMD are Report, MsgType, Feedback and PutApplType; at 24 to 44 what does not count."""
    for vector in VECTORS["messages"]:
        md = {"MsgType": 8, "Feedback": 0, "Report": 0, "PutApplType": 6, **vector["md"]}
        fields = md.get("Format", "MQSTR   ").encode(), md.get("Priority", 0), 1
        packed = struct.pack(
            "=4s7i8s2i", b"MD  ", 2, md["Report"], md["MsgType"], -1, md["Feedback"], 546, 1208, *fields
        )
        raw = packed.ljust(272, b" ") + struct.pack("=i", md["PutApplType"])
        data = Spec.written(fields_of(vector))
        spec = package = None
        try:
            Spec.message(md, data)
        except Rejected as error:
            spec = str(error)
        try:
            read_record(data, raw)
        except status.RecordRejected as error:
            package = error.because.value
        assert (spec, package) == (vector["verdict"],) * 2, vector


def test_a_record_of_another_user_is_refused():
    for vector in VECTORS["users"]:
        messages = []
        for kind, user in vector["messages"]:
            state = {"state": "anchor", "msg_seq_number": 0} if kind == "anchor" else {}
            record = status.decode(Spec.written({**BASE, **state}))
            messages.append(status_chain.FoundMessage(b"", b"", b"", 0, 0, MsgFlag.NONE, record, user=user))
        refused = None
        try:
            refuse_strangers("S", status_chain.users_of_records(messages), set(vector["believed"]))
        except StatusQueueUnusable as error:
            refused = error.found
        assert refused == vector["refused"], vector


def test_the_records_of_a_group_of_a_batch_are_found_by_these_identifiers():
    for vector in VECTORS["claims"]:
        sink = claim.Sink(vector["sink"], vector["queue"], "QM1_2026-01-31_12.00.00")
        of = claim.Claim(sink, vector["batch"], vector["key"], "token", "run", 0)
        found = {"intent": of.intent_id, "status": of.status_id, "high-water mark": sink.high_water_mark_id}
        for kind, correl_id in found.items():
            digest = hashlib.sha256(vector[kind]["digest_of"].encode("ascii")).hexdigest()
            assert digest[:48] == vector[kind]["correl_id"] == correl_id.hex(), vector

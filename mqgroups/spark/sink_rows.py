"""Rows as message groups: the columns that a DataFrame may have, and the conversion of record batches to groups.

This module collects and sorts the rows of a group, because Spark does neither for a sink. So a task holds all its rows until they
are put: as Python objects, with the data of large ones in a file (``spill.py``). Only a partition that is one group and needs no
sorting is put while it is read.

Columns; only ``value`` and the column of the group are required:

    value             binary or string   the message's data; a string goes as UTF-8 text (MQSTR, CCSID 1208)
    group_key         the group; or the column of option groupBy. Text, binary, whole number, boolean, date, decimal
    msg_seq_number    the order in the group; or the column of option sequenceColumn. Whole number, date, timestamp, decimal, text
    correl_id         binary             24 bytes
    format            string             the MQMD's Format
    ccsid             whole number       the CCSID of text: a string is encoded in it, of bytes it says what they are
    priority          whole number       0 to 9, the same for all rows of a group
    headers           map                message properties: string to binary or string
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from mqgroups.batch.producer import BatchMessage
from mqgroups.spark.errors import WriteRefused
from mqgroups.spark.options import SinkOptions
from mqgroups.spark.spill import Kept, Spill

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.types import StructType

PARTITION = "partition"
_WHOLE_NUMBERS = ("byte", "short", "integer", "long")
_KEYS = ("string", "binary", *_WHOLE_NUMBERS, "boolean", "date", "decimal")
_ORDERS = (*_WHOLE_NUMBERS, "date", "timestamp", "timestamp_ntz", "decimal", "string")
_HEADERS = ("map<string,binary>", "map<string,string>")
_TYPES = {
    "value": ("binary", "string"),
    "correl_id": ("binary",),
    "format": ("string",),
    "ccsid": _WHOLE_NUMBERS,
    "priority": _WHOLE_NUMBERS,
    "headers": _HEADERS,
}
_DEFAULT_KEY = "group_key"
_DEFAULT_ORDER = "msg_seq_number"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a DataFrame that hold the parts of a message.

    Attributes:
        key: the column of the group; ``None`` makes a group of each partition.
        order: the column that orders a group; ``None`` keeps the order of the rows.
        given: which of ``correl_id``, ``format``, ``priority``, ``headers`` and ``ccsid`` the DataFrame has.
        format: the MQMD's Format for rows without one.
        priority: the priority for rows without one.
    """

    key: str | None
    order: str | None
    given: frozenset[str]
    format: str | None
    priority: int | None


class Group(NamedTuple):
    """A group to be put. ``messages`` can be iterated once only."""

    key: str
    priority: int | None
    messages: Iterator[BatchMessage]


class _Row(NamedTuple):
    """A row; its sort value comes first."""

    order: Any
    value: Kept
    correl_id: bytes | None
    format: str | None
    priority: int | None
    headers: list[tuple[str, Any]] | None
    ccsid: int | None


def columns_of(schema: StructType, options: SinkOptions) -> Columns:
    """Return the columns that hold the parts of a message, for a DataFrame of this schema.

    Raises:
        WriteRefused: a column is missing, has the wrong type, or would not be written.
    """
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    kinds = {field.name: field.dataType.typeName() for field in schema.fields}
    key = options.group_by or _DEFAULT_KEY
    order = options.sequence_column or (_DEFAULT_ORDER if _DEFAULT_ORDER in types else None)
    wanted: dict[str, tuple[str, ...]] = dict(_TYPES)
    if key.lower() != PARTITION:
        wanted[key] = _KEYS
        if key not in types:
            raise WriteRefused(
                f"found columns {_listed(types)}, expected a column {key!r} for the groups. Name the column with the option "
                "groupBy, or write each partition as a group: groupBy=partition",
                "columns",
            )
    if order is not None:
        wanted[order] = _ORDERS
        if order not in types:
            raise WriteRefused(
                f"found columns {_listed(types)}, expected a column {order!r} (sequenceColumn)", "columns"
            )
    if "value" not in types:
        raise WriteRefused(
            f"found columns {_listed(types)}, expected a column 'value' for the messages' data", "columns"
        )
    for name, shown in types.items():
        if name not in wanted:
            raise WriteRefused(
                f"column {name!r} cannot be written; possible columns are {_listed(wanted)}. Select the columns to write",
                "columns",
            )
        if kinds[name] not in wanted[name] and shown not in wanted[name]:
            raise WriteRefused(f"column {name!r} is {shown}; it must be {' or '.join(wanted[name])}", "columns")
    return Columns(
        key=None if key.lower() == PARTITION else key,
        order=order,
        given=frozenset(types) & {"correl_id", "format", "priority", "headers", "ccsid"},
        format=options.format,
        priority=options.priority,
    )


def groups_of(batches: Iterable[RecordBatch], columns: Columns, partition: int) -> Iterator[Group]:
    """Yield the groups of a task's rows, with the rows of each key together and in order.

    Raises:
        WriteRefused: a row has null as key, sort value or data, or a value that Python cannot hold.
    """
    with Spill() as spill:
        if columns.key is None:
            rows = _rows(batches, columns, None if columns.order is None else spill)
            if columns.order is not None:
                rows = iter(sorted(rows, key=itemgetter(0)))
            first = next(rows, None)
            if first is not None:
                yield _group(str(partition), chain([first], rows), first, columns, spill)
            return
        by_key: dict[str, list[_Row]] = {}
        for batch in batches:
            keys = _key_texts(_values(batch, columns.key), columns.key)
            for key, row in zip(keys, _rows([batch], columns, spill, keys), strict=True):
                by_key.setdefault(key, []).append(row)
        # In the order of the keys, so that all attempts at the same rows put the groups in the same order.
        for key in sorted(by_key):
            rows_of_key = by_key.pop(key)
            if columns.order is not None:
                rows_of_key.sort(key=itemgetter(0))
            yield _group(key, iter(rows_of_key), rows_of_key[0], columns, spill)


def _group(key: str, rows: Iterator[_Row], first: _Row, columns: Columns, spill: Spill) -> Group:
    def messages() -> Iterator[BatchMessage]:
        for row in rows:
            if row.priority != first.priority:
                raise WriteRefused(
                    f"group {key!r} has rows with priority {first.priority} and {row.priority}; all messages of a group must "
                    "have the same priority",
                    "row",
                )
            properties = dict(row.headers) if row.headers else None
            yield BatchMessage(
                spill.value(row.value), row.format or columns.format, row.correl_id, properties, row.ccsid
            )

    if first.priority is not None and first.priority not in range(10):
        raise WriteRefused(f"group {key!r} has priority {first.priority}; it must be 0 to 9", "row")
    return Group(key, columns.priority if first.priority is None else first.priority, messages())


def _rows(
    batches: Iterable[RecordBatch], columns: Columns, spill: Spill | None, keys: Sequence[str] = ()
) -> Iterator[_Row]:
    """Yield the rows; ``spill`` keeps their data if they are not put at once, ``keys`` are their groups, for error texts."""
    for batch in batches:

        def column(name: str, batch: RecordBatch = batch) -> list[Any]:
            return _values(batch, name) if name in columns.given else [None] * batch.num_rows

        values: Sequence[Any] = _values(batch, "value")
        orders = [None] * batch.num_rows if columns.order is None else _values(batch, columns.order)
        _refuse_null(values, "value", keys, columns.order, orders)
        if columns.order is not None:
            _refuse_null(orders, columns.order, keys)
        if spill is not None:
            values = spill.keep(values, batch.column("value").nbytes)
        parts = (column(name) for name in ("correl_id", "format", "priority", "headers", "ccsid"))
        yield from map(_Row._make, zip(orders, values, *parts, strict=True))


def _values(batch: RecordBatch, name: str) -> list[Any]:
    """Return a column's values. Spark's strings may have bytes that are not UTF-8, and its times more years than Python's."""
    try:
        values: list[Any] = batch.column(name).to_pylist()
        return values
    except (ValueError, ArithmeticError) as error:
        # Not chained: a UnicodeDecodeError holds the data.
        why = type(error).__name__
    raise WriteRefused(
        f"column {name!r} has a value that Python cannot hold ({why}): text must be UTF-8, a date or time in the years 1 to "
        "9999. Filter such rows, or write `value` as binary",
        "row",
    )


def _key_texts(keys: list[Any], name: str) -> Sequence[str]:
    """Return keys as text. They have one type, so different keys give different texts."""
    _refuse_null(keys, name)
    text: Callable[[Any], str] = bytes.hex if keys and isinstance(keys[0], bytes) else str
    return [text(key) for key in keys]


def _refuse_null(
    values: Sequence[Any], name: str, keys: Sequence[str] = (), order: str | None = None, orders: Sequence[Any] = ()
) -> None:
    if None in values:
        row = values.index(None)
        group = f" of group {keys[row]!r}" if keys else ""
        number = f" with {order} {orders[row]}" if order is not None else ""
        raise WriteRefused(f"column {name!r} is null in a row{group}{number}; every message needs a value", "row")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"

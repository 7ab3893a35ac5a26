"""Rows as message groups: which columns a DataFrame may have to be written, and from record batches to groups.

The rows of a group are brought together and into order here, for Spark gives a sink neither: all rows of a task are in memory
until they are put, as Python objects. Only a partition that is one group and needs no ordering is put while it is read.

Columns, of which only ``value`` has to be there:

    value             binary or string   the message's data; a string goes as UTF-8 text (MQSTR, CCSID 1208)
    group_key         the group; or the column of option groupBy. Text, binary, whole number, boolean, date, decimal
    msg_seq_number    the order in the group; or the column of option sequenceColumn. Whole number, date, timestamp, decimal, text
    correl_id         binary             24 bytes
    format            string             the MQMD's Format
    priority          whole number       0 to 9, the same for all rows of a group
    headers           map                message properties: string to binary or string
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from mqgroups.batch.producer import BatchMessage
from mqgroups.spark.errors import ColumnsRefused, RowRefused
from mqgroups.spark.options import SinkOptions

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
    "priority": _WHOLE_NUMBERS,
    "headers": _HEADERS,
}
_DEFAULT_KEY = "group_key"
_DEFAULT_ORDER = "msg_seq_number"


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a message's parts are.

    Attributes:
        key: the column of the group; ``None`` makes a group of each partition.
        order: the column to order a group by; ``None`` leaves rows in the order they come in.
        given: which of ``correl_id``, ``format``, ``priority`` and ``headers`` there are.
        format: the MQMD's Format where the column says nothing.
        priority: likewise.
    """

    key: str | None
    order: str | None
    given: frozenset[str]
    format: str | None
    priority: int | None


class Group(NamedTuple):
    """A group to be put. ``messages`` can be iterated once."""

    key: str
    priority: int | None
    messages: Iterator[BatchMessage]


class _Row(NamedTuple):
    """A row, its order first."""

    order: Any
    value: bytes | str
    correl_id: bytes | None
    format: str | None
    priority: int | None
    headers: list[tuple[str, Any]] | None


def columns_of(schema: StructType, options: SinkOptions) -> Columns:
    """Return where a message's parts are in a DataFrame of this schema.

    Raises:
        ColumnsRefused: a column is missing, has a type it cannot have, or would be lost.
    """
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    kinds = {field.name: field.dataType.typeName() for field in schema.fields}
    key = options.group_by or _DEFAULT_KEY
    order = options.sequence_column or (_DEFAULT_ORDER if _DEFAULT_ORDER in types else None)
    wanted: dict[str, tuple[str, ...]] = dict(_TYPES)
    if key.lower() != PARTITION:
        wanted[key] = _KEYS
        if key not in types:
            raise ColumnsRefused(
                f"there is no column {key!r} for the groups among {_listed(types)}. Name it by option groupBy, or write each "
                "partition as a group: groupBy=partition"
            )
    if order is not None:
        wanted[order] = _ORDERS
        if order not in types:
            raise ColumnsRefused(f"there is no column {order!r} (sequenceColumn) among {_listed(types)}")
    if "value" not in types:
        raise ColumnsRefused(f"there is no column 'value' for the messages' data among {_listed(types)}")
    for name, shown in types.items():
        if name not in wanted:
            raise ColumnsRefused(
                f"column {name!r} would be lost: written are {_listed(wanted)}. Select the columns to write"
            )
        if kinds[name] not in wanted[name] and shown not in wanted[name]:
            raise ColumnsRefused(f"column {name!r} is {shown}; it has to be {' or '.join(wanted[name])}")
    return Columns(
        key=None if key.lower() == PARTITION else key,
        order=order,
        given=frozenset(types) & {"correl_id", "format", "priority", "headers"},
        format=options.format,
        priority=options.priority,
    )


def groups_of(batches: Iterable[RecordBatch], columns: Columns, partition: int) -> Iterator[Group]:
    """Yield the groups of a task's rows, those of a key together and in order.

    Raises:
        RowRefused: a row has no key, no order, or no data.
    """
    if columns.key is None:
        rows = _rows(batches, columns)
        if columns.order is not None:
            rows = iter(sorted(rows, key=itemgetter(0)))
        first = next(rows, None)
        if first is not None:
            yield _group(str(partition), chain([first], rows), first, columns)
        return
    by_key: dict[str, list[_Row]] = {}
    for batch in batches:
        keys = _key_texts(batch.column(columns.key).to_pylist(), columns.key)
        for key, row in zip(keys, _rows([batch], columns), strict=True):
            by_key.setdefault(key, []).append(row)
    # In the order of their keys: attempts at the same rows go the same way.
    for key in sorted(by_key):
        rows_of_key = by_key.pop(key)
        if columns.order is not None:
            rows_of_key.sort(key=itemgetter(0))
        yield _group(key, iter(rows_of_key), rows_of_key[0], columns)


def _group(key: str, rows: Iterator[_Row], first: _Row, columns: Columns) -> Group:
    def messages() -> Iterator[BatchMessage]:
        for row in rows:
            if row.priority != first.priority:
                raise RowRefused(
                    f"group {key!r} has rows with priority {first.priority} and {row.priority}; all messages of a group have one"
                )
            properties = dict(row.headers) if row.headers else None
            yield BatchMessage(row.value, row.format or columns.format, row.correl_id, properties)

    return Group(key, columns.priority if first.priority is None else first.priority, messages())


def _rows(batches: Iterable[RecordBatch], columns: Columns) -> Iterator[_Row]:
    for batch in batches:

        def column(name: str, batch: RecordBatch = batch) -> list[Any]:
            return batch.column(name).to_pylist() if name in columns.given else [None] * batch.num_rows

        values = batch.column("value").to_pylist()
        orders = [None] * batch.num_rows if columns.order is None else batch.column(columns.order).to_pylist()
        _refuse_null(values, "value")
        if columns.order is not None:
            _refuse_null(orders, columns.order)
        parts = (column(name) for name in ("correl_id", "format", "priority", "headers"))
        yield from map(_Row._make, zip(orders, values, *parts, strict=True))


def _key_texts(keys: list[Any], name: str) -> Iterable[str]:
    """Return keys as text; of one type, so no two become the same."""
    _refuse_null(keys, name)
    text: Callable[[Any], str] = bytes.hex if keys and isinstance(keys[0], bytes) else str
    return map(text, keys)


def _refuse_null(values: list[Any], name: str) -> None:
    if None in values:
        raise RowRefused(f"column {name!r} is null in a row: a message needs it")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"

"""Rows as message groups: the possible columns of a DataFrame, and the conversion of record batches to groups.

Spark gives rows to a sink in any order. So this module keeps all rows of a task, and Arrow sorts them. It keeps 64 MiB in memory,
and the rest in a temporary file in Spark's local folder. The file disappears with the task. A partition that is one group and
needs no sorting is put while it is read. A repeated batch must have the same order, so two rows with the same place are refused.

The columns, of which only ``value`` and the column of the group are required:

    value             binary or string   the message's data; a string goes as UTF-8 text (MQSTR, CCSID 1208)
    group_key         the group; option groupBy can name another column. Text, binary, whole number, boolean, date, decimal
    msg_seq_number    the order; option sequenceColumn can name another column. Whole number, date, timestamp, decimal, text
    correl_id         binary             24 bytes
    format            string             the MQMD's Format
    ccsid             whole number       the CCSID of text: the sink encodes a string in this CCSID; bytes must already be in it
    priority          whole number       0 to 9, the same for all rows of a group
    headers           map                message properties: string to binary or string
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow
from pyarrow import compute

from mqgroups.batch.producer import BatchMessage
from mqgroups.spark.errors import WriteRefused
from mqgroups.spark.options import SinkOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

PARTITION = "partition"
# The number of bytes that Spark passes to a worker at a time (spark.sql.execution.arrow.maxBytesPerBatch).
IN_MEMORY_BYTES = 64 * 1024 * 1024
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
    """The columns of a DataFrame that contain the parts of a message.

    Attributes:
        key: the column of the group. ``None`` makes a group of each partition.
        order: the column that orders the rows of a group. ``None`` keeps the order of the rows.
        given: the names of the other columns that the DataFrame has.
        format, priority: the values for rows that do not have a format or priority.
    """

    key: str | None
    order: str | None
    given: frozenset[str]
    format: str | None
    priority: int | None


class GroupOfRows(NamedTuple):
    """A group to be put. ``messages`` can be iterated only once."""

    key: str
    priority: int | None
    messages: Iterator[BatchMessage]


def columns_of(schema: StructType, options: SinkOptions) -> Columns:
    """Return the columns with the parts of a message. Raises WriteRefused if a column is missing, unknown or of a wrong type."""
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
        given=frozenset(types) & _TYPES.keys(),
        format=options.format,
        priority=options.priority,
    )


def groups_of(batches: Iterable[pyarrow.RecordBatch], columns: Columns, partition: int) -> Iterator[GroupOfRows]:
    """Yield a task's rows as groups. A group has all rows with the same key, in order.

    Raises WriteRefused if the key, the sort value or the data of a row is null, if Python cannot represent a value, or if two
    rows of a group have the same sort value.
    """
    if columns.key is None and columns.order is None:
        tables = (_Rows(pyarrow.Table.from_batches([batch]), columns) for batch in batches)
        as_they_come = ((rows, at) for rows in tables for at in range(len(rows)))
        first = next(as_they_come, None)
        if first is not None:
            yield _group(str(partition), first, as_they_come, columns)
        return
    with _kept(batches) as table:
        if table is None:
            return
        rows = _Rows(table, columns)
        # The groups come in the order of their keys, which is the same in all attempts.
        for key, places in groupby(rows.sorted(), lambda at: rows.key(at, str(partition))):
            of_group = ((rows, at) for at in places)
            yield _group(key, next(of_group), of_group, columns)


@contextmanager
def _kept(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.Table | None]:
    """Keep all rows for the ``with`` block, and return them as a table; ``None`` if there are no rows."""
    kept: list[pyarrow.RecordBatch] = []
    left, writer = IN_MEMORY_BYTES, None
    # Spark sets this variable for its Python workers. TMPDIR may be small, or in memory.
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    with tempfile.TemporaryFile(dir=folder or None) as file:
        for batch in batches:
            left -= batch.nbytes
            if left >= 0:
                kept.append(batch)
                continue
            writer = writer or pyarrow.ipc.new_file(file, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()
            file.flush()
            mapped = pyarrow.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            kept += pyarrow.ipc.open_file(mapped).read_all().to_batches()
        yield pyarrow.Table.from_batches(kept) if kept else None


class _Rows:
    """The rows of a table. Each row has a key, a place in its group, and data."""

    def __init__(self, table: pyarrow.Table, columns: Columns) -> None:
        self._columns = columns
        self._places = [name for name in (columns.key, columns.order) if name is not None]
        self._table = table
        self._values = {name: table.column(name) for name in {*self._places, *columns.given}}
        for name in (*self._places, "value"):
            missing = compute.index(self._values[name].is_null(), True).as_py()
            if missing >= 0:
                told = self._told(missing, self._places[: self._places.index(name)] if name in self._places else None)
                raise WriteRefused(f"column {name!r} is null in a row{told}; every message needs a value", "row")

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def value(self, name: str, at: int) -> Any:
        """Return a row's value, or ``None`` if there is no such column. Raises WriteRefused if Python cannot represent it."""
        if name not in self._values:
            return None
        try:
            return self._values[name][at].as_py()
        except (ValueError, ArithmeticError) as error:
            # The error is not chained, because a UnicodeDecodeError contains the data.
            why = type(error).__name__
        raise WriteRefused(
            f"column {name!r} has a value that Python cannot hold ({why}): text must be UTF-8, a date or time in the years 1 to "
            "9999. Filter such rows, or write `value` as binary",
            "row",
        )

    def key(self, at: int, otherwise: str) -> str:
        """Return a row's key as text; ``otherwise`` if no column has it. Keys have one type, so unequal keys differ as text."""
        if self._columns.key is None:
            return otherwise
        key = self.value(self._columns.key, at)
        return key.hex() if isinstance(key, bytes) else str(key)

    def sorted(self) -> Iterator[int]:
        """Return the row numbers, sorted by key and place in the group. Raises WriteRefused if two rows have the same place."""
        indices = compute.sort_indices(self._table, sort_keys=[(name, "ascending") for name in self._places])
        if self._columns.order is not None:
            places = self._table.select(self._places).take(indices)
            same: Any = True
            for column in places.columns:
                same = compute.and_(same, compute.equal(column.slice(1), column.slice(0, len(column) - 1)))
            twice = compute.index(same, True).as_py()
            if twice >= 0:
                raise WriteRefused(
                    f"two rows{self._told(indices[twice].as_py())}: their order could change if the batch is repeated. "
                    "Order the rows of a group by a column without equal values (sequenceColumn)",
                    "row",
                )
        return (each.as_py() for each in indices)

    def _told(self, at: int, known: Iterable[str] | None = None) -> str:
        """Return the key and the place of a row in words. ``known`` has the columns that are not null; by default all columns."""
        names = self._places if known is None else list(known)
        key, order = self._columns.key, self._columns.order
        group = f" of group {self.key(at, '')!r}" if key in names else ""
        return group + (f" with {order} {self.value(order, at)}" if order is not None and order in names else "")


def _group(key: str, first: tuple[_Rows, int], others: Iterable[tuple[_Rows, int]], columns: Columns) -> GroupOfRows:
    priority = first[0].value("priority", first[1])

    def messages() -> Iterator[BatchMessage]:
        for rows, at in chain([first], others):
            if (other := rows.value("priority", at)) != priority:
                raise WriteRefused(
                    f"group {key!r} has rows with priority {priority} and {other}; all messages of a group must have the same "
                    "priority",
                    "row",
                )
            headers = rows.value("headers", at)
            yield BatchMessage(
                rows.value("value", at),
                rows.value("format", at) or columns.format,
                rows.value("correl_id", at),
                dict(headers) if headers else None,
                rows.value("ccsid", at),
            )

    if priority is not None and priority not in range(10):
        raise WriteRefused(f"group {key!r} has priority {priority}; it must be 0 to 9", "row")
    return GroupOfRows(key, columns.priority if priority is None else priority, messages())


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"

"""Convert the body of a message to a row: CSV or JSON with declared columns; and read the trailer, which counts the rows.

A body must have all columns and no others, and every value must fit the type of its column. An error names the column and the
expected type, never the value, because that is data; the message itself is in quarantine. Pure: no Spark, no Arrow.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from typing import Any

from mqgroups.errors import NotDecoded
from mqgroups.mqi.text import decoded

_TEXT = "MQSTR"
TYPES = ("string", "int", "bigint", "double", "boolean", "date", "timestamp")
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_INTEGER = re.compile(r"[+-]?[0-9]+")
# In CSV: a field with one of these may not end at the next delimiter, or the record not at the end of the text.
_SPECIAL = re.compile(r'["\r\n]')
_BITS = {"int": 31, "bigint": 63}
# All that a converter raises about a value; UnicodeEncodeError is a ValueError, OverflowError and InvalidOperation are the third.
_UNFIT = (ValueError, TypeError, ArithmeticError)


class BodyProblem(ValueError):
    """A body is not a valid row; the message says why."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: ``type`` as in Spark's DDL."""

    name: str
    type: str
    not_null: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """The format of message bodies.

    Attributes:
        format: ``csv`` or ``json``.
        null_value: the text of a CSV field that means null.
        trailer: the word that begins a group's last message, which has the number of rows; ``None`` if groups have no
            trailer. As CSV ``TRAILER,842``, as JSON ``{"TRAILER": 842}``.
        ignore_extra: whether additional fields or keys are ignored.
    """

    format: str
    columns: tuple[Column, ...]
    null_value: str = ""
    delimiter: str = ","
    trailer: str | None = None
    ignore_extra: bool = False


def column(name: str, text: str) -> Column:
    """Return the column of a declaration such as ``int not null``; raises ValueError."""
    words = " ".join(text.lower().split())
    kind = words.removesuffix(" not null")
    decimal = _DECIMAL.fullmatch(kind)
    if decimal:
        precision, scale = map(int, decimal.groups())
        if not 0 <= scale <= precision or not 1 <= precision <= 38:
            raise ValueError(text)
        kind = f"decimal({precision},{scale})"
    elif kind not in TYPES:
        raise ValueError(text)
    return Column(name, kind, not_null=kind != words)


def row_of(body: Body) -> Callable[[str | bytes], tuple[Any, ...]]:
    """Return a function that converts a message's data to a row, in the order of the columns; it raises BodyProblem."""
    return _csv_row(body) if body.format == "csv" else _json_row(body)


def count_of(body: Body) -> Callable[[str | bytes], int]:
    """Return a function that reads the number in the data of a trailer; it raises BodyProblem."""

    is_csv = body.format == "csv"
    number = "<number of rows>"
    expected = f"{body.trailer}{body.delimiter}{number}" if is_csv else f'{{"{body.trailer}": {number}}}'
    convert = (_from_text if is_csv else _from_json)("bigint")

    def count(data: str | bytes) -> int:
        text = _text(data)
        pairs: list[Sequence[Any]] = [_fields(text, body.delimiter)] if is_csv else [*_object(text).items()]
        try:
            ((word, value),) = pairs
            if word != body.trailer:
                raise ValueError
            found: int = convert(value)
        except _UNFIT as error:
            raise BodyProblem(f"it is not a trailer, expected {expected}") from error
        return found

    return count


def _csv_row(body: Body) -> Callable[[str | bytes], tuple[Any, ...]]:
    expected = len(body.columns)
    converters = [(each, _from_text(each.type)) for each in body.columns]

    def row(data: str | bytes) -> tuple[Any, ...]:
        fields = _fields(_text(data), body.delimiter)
        if len(fields) < expected or (len(fields) > expected and not body.ignore_extra):
            raise BodyProblem(f"it has {len(fields)} fields, expected {expected}")
        values: list[Any] = []
        for (each, convert), field in zip(converters, fields, strict=False):
            if field == body.null_value:
                if each.not_null:
                    raise BodyProblem(f"column {each.name} is empty, expected {each.type} not null")
                values.append(None)
                continue
            try:
                values.append(convert(field))
            except _UNFIT as error:
                raise BodyProblem(f"column {each.name} is not a valid {each.type}") from error
        return tuple(values)

    return row


def _json_row(body: Body) -> Callable[[str | bytes], tuple[Any, ...]]:
    names = {each.name for each in body.columns}
    converters = [(each, _from_json(each.type)) for each in body.columns]

    def row(data: str | bytes) -> tuple[Any, ...]:
        values = _object(_text(data))
        if not body.ignore_extra and not values.keys() <= names:
            raise BodyProblem(
                f"it has {len(values.keys() - names)} unexpected keys, expected {', '.join(sorted(names))}"
            )
        found: list[Any] = []
        for each, convert in converters:
            if each.name not in values:
                raise BodyProblem(f"column {each.name} is missing")
            value = values[each.name]
            if value is None:
                if each.not_null:
                    raise BodyProblem(f"column {each.name} is null, expected {each.type} not null")
                found.append(None)
                continue
            try:
                found.append(convert(value))
            except _UNFIT as error:
                raise BodyProblem(f"column {each.name} is not a valid {each.type}") from error
        return tuple(found)

    return row


def text_or_bytes(data: bytes, format_name: str | None, ccsid: int, encoding: int) -> str | bytes:
    """Return text as its CCSID says, and the data of other formats as it is, which must then be UTF-8.

    Raises:
        BodyProblem: it is not text in its CCSID.
        CcsidUnknown: there is no code page for the CCSID.
    """
    if format_name != _TEXT:
        return data
    try:
        return decoded(data, ccsid, encoding)
    except NotDecoded as error:
        raise BodyProblem(str(error)) from None


def _text(data: str | bytes) -> str:
    if isinstance(data, str):
        return data
    try:
        # A byte order mark is no part of the text (RFC 8259).
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise BodyProblem(f"it is not UTF-8 at byte {error.start}") from error


def _fields(text: str, delimiter: str) -> list[str]:
    if text and len(text) <= csv.field_size_limit() and not _SPECIAL.search(text):
        # The usual record: the csv module would split it at the same places, but takes longer to be set up.
        return text.split(delimiter)
    try:
        # newline="" keeps line ends, which a quoted field may contain. A line end after the record is ignored.
        records = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise BodyProblem(f"it is not CSV: {error}") from error
    if len(records) != 1:
        raise BodyProblem(f"it has {len(records)} CSV records, expected one")
    return records[0]


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=_no_number)
    except (*_UNFIT, RecursionError) as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise BodyProblem(f"it is not JSON{where}") from error
    if not isinstance(value, dict):
        raise BodyProblem("it is not a JSON object")
    return value


def _no_number(name: str) -> Any:
    # JSON does not have NaN and Infinity.
    raise ValueError(name)


def _from_text(kind: str) -> Callable[[str], Any]:
    if kind in _BITS:
        return _integer(_BITS[kind])
    if kind.startswith("decimal"):
        return _decimal(kind)
    converters: dict[str, Callable[[str], Any]] = {
        "string": str,
        "double": _double,
        "boolean": _boolean,
        "date": date.fromisoformat,
        "timestamp": _timestamp,
    }
    return converters[kind]


def _from_json(kind: str) -> Callable[[Any], Any]:
    def integer(value: Any) -> int:
        number: int = _of(value, int)
        if not -(1 << _BITS[kind]) <= number < 1 << _BITS[kind]:
            raise OverflowError
        return number

    def double(value: Any) -> float:
        return _finite(float(_of(value, int, Decimal)))

    if kind in _BITS:
        return integer
    if kind.startswith("decimal"):
        decimal = _decimal(kind)
        return lambda value: decimal(str(_of(value, int, Decimal)))
    if kind == "double":
        return double
    if kind == "boolean":
        return lambda value: _of(value, bool)
    if kind == "string":
        return _valid_text
    convert = _from_text(kind)
    return lambda value: convert(_of(value, str))


def _of(value: Any, *types: type) -> Any:
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise TypeError
    return value


def _valid_text(value: Any) -> str:
    text: str = _of(value, str)
    # JSON's escapes can be half of a surrogate pair, which Arrow cannot hold.
    if not text.isascii():
        text.encode()
    return text


def _integer(bits: int) -> Callable[[str], int]:
    low, high = -(1 << bits), (1 << bits) - 1

    def convert(text: str) -> int:
        if not _INTEGER.fullmatch(text):
            raise ValueError
        number = int(text)
        if not low <= number <= high:
            raise OverflowError
        return number

    return convert


def _double(text: str) -> float:
    if "_" in text or text != text.strip():
        raise ValueError
    return _finite(float(text))


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError
    return number


def _boolean(text: str) -> bool:
    word = text.lower()
    if word not in ("true", "false"):
        raise ValueError
    return word == "true"


def _timestamp(text: str) -> datetime:
    stamp = datetime.fromisoformat(text.replace("Z", "+00:00"))
    # A time without a zone is UTC, so that the result does not depend on the machine.
    return stamp.replace(tzinfo=UTC) if stamp.tzinfo is None else stamp.astimezone(UTC)


def _decimal(kind: str) -> Callable[[str], Decimal]:
    precision, scale = map(int, kind.removeprefix("decimal(").removesuffix(")").split(","))
    step = Decimal(1).scaleb(-scale)
    # Python's own context has 28 digits. With this one, a number of more digits than the type has is an InvalidOperation.
    context = Context(prec=precision)

    def convert(text: str) -> Decimal:
        number = Decimal(text)
        found = number.quantize(step, context=context)
        if "_" in text or found != number:
            raise ValueError
        return found

    return convert

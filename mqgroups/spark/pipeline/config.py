"""Read a pipeline's CONFIG.toml into values, strictly: unknown keys and invalid values are refused by name.

    name       = "FLIGHTS.DELAYS"          # identifies the pipeline, its status queues and its output
    checkpoint = "work/checkpoint"         # of Spark; without it the query starts from the beginning
    [mq]                                   # how to connect: the options mq.* of format ibmmq, without mq.
    [source]                               # queue, and the options of a stream read
    [body]                                 # the messages: format, columns, trailer
    [checks]                               # further conditions for a group
    [transform]                            # sql = "file" or function = "module:name"
    [parquet]                              # path, partitionBy
    [outgoing]                             # queue, groupBy, orderBy, and the options of a batch write
    [quarantine]                           # queue or path
    [report]                               # path
    [spark]                                # Spark's own settings, each name in quotes

Options of the data source keep their names, letter for letter; the table in ``options.py`` checks them. Paths are relative to the
file, unless they have a scheme (``hdfs://``). Passwords and tokens cannot be given here; use ``mq.passwordFile`` or
``mq.passwordEnv``.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mqgroups.errors import ConfigurationError
from mqgroups.names import checked_name
from mqgroups.settings import Connecting
from mqgroups.spark.errors import SparkOptionError
from mqgroups.spark.option import Use
from mqgroups.spark.options import OPTIONS, SourceOptions, sink_options, source_options
from mqgroups.spark.pipeline.body import TYPES, Body, Column, column
from mqgroups.spark.pipeline.errors import PipelineConfigError

# Columns that the transform gets in addition to those of the body.
GROUP_COLUMNS = ("group_id", "msg_seq_number", "put_time")
_TOP = (
    *("name", "checkpoint", "trigger", "mq", "source", "body", "checks", "transform"),
    *("parquet", "outgoing", "quarantine", "report", "spark"),
)
# Options that the pipeline gives itself, so the file must not: those of the read, and those of each write (``micro_batch.py``).
_OF_THE_READ = {"includeMqmd": "true", "includeHeaders": "true"}
_OF_A_WRITE = ("groupBy", "sequenceColumn", "txnAppId", "txnVersion")
_SPELLED = {key.lower(): key for key in (option.name.removeprefix("mq.") for option in OPTIONS)}


@dataclass(frozen=True, slots=True)
class Transform:
    """The transform: ``sql`` (text), or ``function`` (module, name), or neither.

    Attributes:
        where: the file of the SQL or the name of the function, for messages.
    """

    sql: str | None = None
    function: tuple[str, str] | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class Parquet:
    """The output as Parquet."""

    path: str
    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The output as groups on a queue.

    Attributes:
        options: of format ``ibmmq``, without those that differ in each micro-batch.
        group_by: the column that identifies the group.
        order_by: the columns that order a group's messages.
        body: ``json`` or ``csv`` for all columns, or ``column`` for the column ``value`` alone.
    """

    queue: str
    options: Mapping[str, str]
    group_by: str
    order_by: tuple[str, ...]
    body: str


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The output for groups that fail a check: a queue, with options of format ``ibmmq``, or a folder."""

    queue: str | None
    options: Mapping[str, str]
    path: str | None


@dataclass(frozen=True, slots=True)
class PipelineConfig:
    """A pipeline.

    ``read_options`` are options of format ``ibmmq``, with those of the connection. ``unique``: no two rows of a group may have
    the same values in these columns; empty for no check.
    """

    file: Path
    name: str
    checkpoint: str
    trigger: str
    connection: Connecting
    source: SourceOptions
    read_options: Mapping[str, str]
    body: Body
    unique: tuple[str, ...]
    transform: Transform
    parquet: Parquet | None
    outgoing: Outgoing | None
    quarantine: Quarantine
    report: Path
    spark: Mapping[str, str]

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return self.file.parent


def read_config(file: Path, overrides: Sequence[str] = ()) -> PipelineConfig:
    """Return the pipeline that a file describes.

    Args:
        file: TOML.
        overrides: each is ``key=value``, with the dotted name of a key; a value that is not TOML is taken as text.

    Raises:
        PipelineConfigError: the file cannot be read, or a key is not valid.
    """
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PipelineConfigError(str(file), "", f"cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PipelineConfigError(str(file), "", f"is not TOML: {error}") from error
    for text in overrides:
        _override(document, text, file)
    return _pipeline(_Table(document, "", file), file.resolve())


def _override(document: dict[str, Any], text: str, file: Path) -> None:
    key, equals, value = text.partition("=")
    *tables, last = key.strip().split(".")
    if not equals or not last:
        raise PipelineConfigError(str(file), "", f"{text!r} is not key=value")
    table: Any = document
    for name in tables:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise PipelineConfigError(str(file), key, f"{name} is not a table")
    try:
        table[last] = tomllib.loads(f"value = {value}")["value"]
    except ValueError:
        table[last] = value


def _pipeline(top: _Table, file: Path) -> PipelineConfig:
    top.only(_TOP)
    try:
        name = checked_name(top.text("name"))
    except PipelineConfigError:
        raise
    except ConfigurationError as error:
        raise top.wrong("name", str(error)) from error
    mq = top.table("mq")
    mq.refuse("password", "this file is not secret. Use passwordFile or passwordEnv")
    connection = {f"mq.{key}": text for key, text in mq.options().items()}
    connection |= {f"mq.{key}": mq.path(key) for key in mq.values if key.endswith("File") or key == "keyRepository"}
    source = top.table("source")
    read_options = {**connection, **source.options(_OF_THE_READ), **_OF_THE_READ}
    parsed_source = source.checked(lambda: source_options(read_options, Use.STREAM_READ))
    body = _body(top.table("body"))
    parquet, outgoing = top.optional_table("parquet"), top.optional_table("outgoing")
    if parquet is None and outgoing is None:
        raise top.wrong("", "found neither [parquet] nor [outgoing], expected at least one of them for the result")
    quarantine = top.table("quarantine")
    for output in (outgoing, quarantine):
        if output is not None and output.values.get("queue") == parsed_source.queue:
            raise output.wrong(
                "queue",
                f"found {parsed_source.queue!r}, which is also source.queue: the pipeline would read its own output for ever. "
                "Give another queue",
            )
    return PipelineConfig(
        file=file,
        name=name,
        checkpoint=top.path("checkpoint"),
        trigger=top.pause("trigger", "1 second"),
        connection=parsed_source.connection,
        source=parsed_source,
        read_options=read_options,
        body=body,
        unique=_unique(top.optional_table("checks"), body),
        transform=_transform(top.optional_table("transform")),
        parquet=None if parquet is None else _parquet(parquet),
        outgoing=None if outgoing is None else _outgoing(outgoing, name, connection),
        quarantine=_quarantine(quarantine, name, connection),
        report=Path(top.table("report").only(["path"]).path("path")),
        spark=_spark(top.optional_table("spark")),
    )


def _body(table: _Table) -> Body:
    table.only(["format", "columns", "nullValue", "delimiter", "trailer", "extra"])
    format_name = table.choice("format", ("csv", "json"))
    if format_name == "json":
        for key in ("delimiter", "nullValue"):
            table.refuse(key, "it is only for the format csv")
    columns = table.table("columns")
    found = [_column(columns, name) for name in columns.values]
    if not found:
        raise table.wrong("columns", "found no column, expected at least one")
    delimiter = table.text("delimiter", ",")
    if len(delimiter) != 1:
        raise table.wrong("delimiter", f"found {delimiter!r}, expected one character")
    return Body(
        format=format_name,
        columns=tuple(found),
        null_value=table.text("nullValue", ""),
        delimiter=delimiter,
        trailer=table.text("trailer", None),
        ignore_extra=table.choice("extra", ("reject", "ignore"), "reject") == "ignore",
    )


def _column(table: _Table, name: str) -> Column:
    if name in GROUP_COLUMNS:
        raise table.wrong(name, f"the pipeline itself adds the columns {', '.join(GROUP_COLUMNS)}; use another name")
    text = table.text(name)
    try:
        return column(name, text)
    except ValueError as error:
        expected = f"expected one of {', '.join(TYPES)}, decimal(p,s), followed by `not null` if a value is required"
        raise table.wrong(name, f"found {text!r}, {expected}{_nearest(text, TYPES)}") from error


def _unique(table: _Table | None, body: Body) -> tuple[str, ...]:
    if table is None:
        return ()
    table.only(["unique"])
    unique = table.texts("unique")
    names = [each.name for each in body.columns]
    for name in unique:
        if name not in names:
            raise table.wrong("unique", f"found {name!r}, expected columns of the body{_nearest(name, names)}")
    return unique


def _transform(table: _Table | None) -> Transform:
    if table is None:
        return Transform()
    table.only(["sql", "function"])
    table.one_of("sql", "function")
    if "sql" in table.values:
        path = Path(table.path("sql"))
        try:
            sql = path.read_text(encoding="utf-8")
        except OSError as error:
            raise table.wrong("sql", f"{path} cannot be read: {error.strerror}") from error
        return Transform(sql=sql.strip().removesuffix(";"), where=str(path))
    text = table.text("function")
    module, colon, name = text.partition(":")
    if not colon or not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise table.wrong("function", f"found {text!r}, expected module:function")
    return Transform(function=(module, name), where=text)


def _parquet(table: _Table) -> Parquet:
    table.only(["path", "partitionBy"])
    return Parquet(table.path("path"), table.texts("partitionBy"))


def _outgoing(table: _Table, name: str, connection: Mapping[str, str]) -> Outgoing:
    options = {
        "statusQueue": f"MQGROUPS.SPARK.{name}",
        **table.options(_OF_A_WRITE, leave=("groupBy", "orderBy", "body")),
    }
    checked = table.checked(lambda: sink_options({**connection, **options}, Use.BATCH_WRITE))
    return Outgoing(
        queue=checked.queue,
        options={**connection, **options},
        group_by=table.text("groupBy"),
        order_by=table.texts("orderBy"),
        body=table.choice("body", ("json", "csv", "column"), "json"),
    )


def _quarantine(table: _Table, name: str, connection: Mapping[str, str]) -> Quarantine:
    table.one_of("queue", "path")
    if "path" in table.values:
        return Quarantine(None, {}, table.only(["path"]).path("path"))
    options = {"statusQueue": f"MQGROUPS.SPARK.{name}.BAD", **table.options(_OF_A_WRITE)}
    checked = table.checked(lambda: sink_options({**connection, **options}, Use.BATCH_WRITE))
    return Quarantine(checked.queue, {**connection, **options}, None)


def _spark(table: _Table | None) -> dict[str, str]:
    if table is None:
        return {}
    for key, value in table.values.items():
        if isinstance(value, dict):
            raise table.wrong(key, f'found a table, expected a setting; put its name in quotes: "spark.{key}.…"')
        if not key.startswith("spark."):
            raise table.wrong(key, "found a name that does not begin with spark., expected a Spark setting")
    return table.options()


class _Table:
    """A table of the file; it knows its own name, for messages."""

    def __init__(self, values: Mapping[str, Any], name: str, file: Path) -> None:
        self.values = values
        self._name = name
        self._file = file

    def wrong(self, key: str, problem: str) -> PipelineConfigError:
        """Return the error about a key."""
        return PipelineConfigError(str(self._file), ".".join(part for part in (self._name, key) if part), problem)

    def only(self, known: Sequence[str]) -> _Table:
        """Refuse unknown keys."""
        for key in self.values:
            if key not in known:
                raise self.wrong(key, f"there is no such key, expected {', '.join(known)}{_nearest(key, known)}")
        return self

    def refuse(self, key: str, why: str) -> None:
        """Refuse a key that is not allowed here."""
        if key in self.values:
            raise self.wrong(key, f"it is not allowed here: {why}")

    def one_of(self, one: str, other: str) -> None:
        """Require exactly one of two keys."""
        if (one in self.values) == (other in self.values):
            found = "both" if one in self.values else "neither"
            raise self.wrong("", f"found {found} of {one} and {other}, expected one of them")

    def text(self, key: str, default: Any = ...) -> Any:
        """Return non-empty text, or the default."""
        if key not in self.values:
            if default is ...:
                raise self.wrong(key, f"it is missing, expected text{_nearest(key, self.values)}")
            return default
        value = self.values[key]
        if not isinstance(value, str) or not (value or default == ""):
            raise self.wrong(key, f"found {value!r}, expected text")
        return value

    def pause(self, key: str, default: str) -> str:
        """Return a duration in Spark's syntax, such as ``10 seconds``."""
        value: str = self.text(key, default)
        if not re.fullmatch(r"[0-9]+ (?:millisecond|second|minute|hour)s?", value):
            raise self.wrong(key, f"found {value!r}, expected a pause, such as 10 seconds")
        return value

    def choice(self, key: str, words: Sequence[str], default: Any = ...) -> str:
        """Return a value that must be one of ``words``."""
        value: str = self.text(key, default)
        if value not in words:
            raise self.wrong(key, f"found {value!r}, expected {' or '.join(words)}{_nearest(value, words)}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; empty if the key is missing."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
            raise self.wrong(key, f"found {value!r}, expected a list of column names")
        return tuple(value)

    def path(self, key: str) -> str:
        """Return a path; a relative one is relative to the file."""
        text: str = self.text(key)
        return text if "://" in text else str(self._file.resolve().parent / text)

    def table(self, key: str) -> _Table:
        """Return a required table."""
        if key not in self.values:
            raise self.wrong(key, f"it is missing, expected a table{_nearest(key, self.values)}")
        value = self.values[key]
        if not isinstance(value, dict):
            raise self.wrong(key, f"found {value!r}, expected a table")
        return _Table(value, f"{self._name}.{key}" if self._name else key, self._file)

    def optional_table(self, key: str) -> _Table | None:
        """Return a table, or ``None`` if it is missing."""
        return self.table(key) if key in self.values else None

    def options(self, refused: Collection[str] = (), leave: Sequence[str] = ()) -> dict[str, str]:
        """Return all keys except those in ``leave`` as Spark options: text. Those ``refused`` are the pipeline's."""
        texts = {}
        for key, value in self.values.items():
            if key in leave:
                continue
            if (name := _SPELLED.get(key.lower(), key)) != key:
                raise self.wrong(key, f"there is no such key, expected {name}")
            if key in refused:
                self.refuse(key, "the pipeline sets it itself")
            if not isinstance(value, (str, int, float)):
                raise self.wrong(key, f"found {value!r}, expected text, a number, true or false")
            texts[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return texts

    def checked(self, parse: Any) -> Any:
        """Return the result of ``parse``; its SparkOptionError is turned into an error about a key of the file."""
        try:
            return parse()
        except SparkOptionError as error:
            name = "mq" if error.option.lower().startswith("mq.") else self._name
            key = error.option[3:] if name == "mq" else error.option
            raise PipelineConfigError(str(self._file), f"{name}.{key}", str(error).split(": ", 1)[1]) from error


def _nearest(word: str, known: Any) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f". The nearest is {close[0]}" if close else ""

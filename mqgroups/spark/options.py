"""The options of format ``ibmmq``, as fields: the options of a read, of a write, and of the connection.

The options ``mq.*`` are the library's settings of a connection (``settings.Connecting``). ``option.py`` makes three things from a
field: the name of the option in Spark, the conversion of values, and the line in the documentation. Spark passes options as text,
with names in lower case. If an option is unknown, is not for this use or has an invalid value, an error names the option.

This module does not connect (``connections.py``), and needs no pyspark.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from inspect import Parameter
from typing import Annotated, Any, TypeVar

from mqgroups.core.model import Persistence
from mqgroups.core.modes import PutResponse
from mqgroups.errors import ConfigurationError
from mqgroups.mqi.secret import SECRETS
from mqgroups.names import checked_queue_name
from mqgroups.setting import Settings, Whole, settings_of
from mqgroups.settings import SHARED_STATUS_MODEL, Connecting, Priority, Producing, Users
from mqgroups.spark.errors import SparkOptionError
from mqgroups.spark.option import Option, Use, camel, options_of, options_of_connection

_COUNT = Whole(1)
_NUMBER = Whole(0)
# At least a day, because a late attempt of a task must find the mark. Expiry in MQMD is an MQLONG, in tenths of a second.
_DAYS = Whole(1, (2**31 - 1) // (24 * 60 * 60 * 10))
# A wrong name or address looks like a queue manager that is down. The user should get the error soon.
_FIRST_WAIT_S = 10.0


def _is_checked(_what: str, _value: object) -> None:
    """Check nothing, because ``Connecting`` itself checks the settings of a connection."""


def _check_format(what: str, name: str) -> None:
    if len(name) > 8 or not name.isascii():
        raise ConfigurationError(f"{what} has 1 to 8 characters in ASCII, got {name!r}")


@dataclass(frozen=True, kw_only=True)
class _Waiting(Settings):
    """The waiting time for connections, and for queues and groups that a lost connection holds.

    Attributes:
        wait_ms: how long to try to reconnect, and to wait for a queue or group that a lost connection holds; at most 10000 for
            the first connection; it should be longer than the queue manager needs to notice a lost host.
    """

    wait_ms: Annotated[int, _NUMBER] = int(Connecting.reconnect_wait_s * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options of reads and writes.

    Attributes:
        queue: the queue to read from or write to.
        status_queue: the status queue, on the same queue manager; a write needs it, and sinks may share one status queue. Default
            of a stream read: ``MQGROUPS.SOURCE.<queue>``.
        messages_per_unit_of_work: the maximum number of messages in a unit of work.
    """

    connection: Annotated[Connecting, _is_checked]
    queue: Annotated[str, Use.ALL]
    status_queue: Annotated[str, Use.STREAM_READ | Use.WRITE] = ""
    status_model: Annotated[str, Use.STREAM_READ | Use.WRITE] = SHARED_STATUS_MODEL
    messages_per_unit_of_work: Annotated[int, _COUNT, Use.STREAM_READ | Use.WRITE] = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions(_Options):
    """The options of a read.

    Attributes:
        max_partitions: the maximum number of partitions, with similar numbers of messages.
        fail_on_data_loss: if a planned group is missing or not complete, ``true`` fails, ``false`` reads the rest of the group.
        convert: let the queue manager convert the data to UTF-8 (MQGMO_CONVERT).
        include_mqmd: add columns from the message descriptor.
        include_headers: add column ``headers`` with the message properties.
        max_groups_per_trigger: the maximum number of groups in a micro-batch; a message outside groups counts as a group.
        max_messages_per_trigger: the maximum number of messages in a micro-batch, which always has at least one group.
        poll_timeout_ms: how long a call waits for the next group.
    """

    max_partitions: Annotated[int, _COUNT, Use.READ] = 8
    fail_on_data_loss: Annotated[bool, Use.READ] = True
    convert: Annotated[bool, Use.READ] = False
    include_mqmd: Annotated[bool, Use.READ] = False
    include_headers: Annotated[bool, Use.READ] = False
    max_groups_per_trigger: Annotated[int, _COUNT, Use.STREAM_READ] = 1000
    max_messages_per_trigger: Annotated[int | None, _COUNT, Use.STREAM_READ] = None
    poll_timeout_ms: Annotated[int, _NUMBER, Use.STREAM_READ] = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions(_Options):
    """The options of a write.

    Attributes:
        group_by: the column that identifies the group; with ``partition``, each partition is a group. Default: ``group_key``.
        sequence_column: the column that orders a group's rows. Default: ``msg_seq_number``, if the DataFrame has this column.
        txn_app_id: the name of the job; with ``txnVersion``, a repeated run writes nothing twice.
        txn_version: the number of the job's run, which must increase; a completed or an older run writes nothing.
        keep_mark_days: after how many days the mark of the last completed batch expires; if a batch is repeated later, it is put
            twice. Default: never; without ``txnAppId`` after a day.
        priority: the priority of messages without a value in column ``priority``. Default: the queue's priority.
        format: the MQMD format. Default: MQSTR for text, blank for bytes.
    """

    record_users: Annotated[Users, Use.WRITE] = Producing.record_users
    group_by: Annotated[str | None, Use.WRITE] = None
    sequence_column: Annotated[str | None, Use.WRITE] = None
    txn_app_id: Annotated[str | None, Use.BATCH_WRITE] = None
    txn_version: Annotated[int | None, _NUMBER, Use.BATCH_WRITE] = None
    keep_mark_days: Annotated[int | None, _DAYS, Use.WRITE] = None
    persistence: Annotated[Persistence, Use.WRITE] = Producing.persistence
    put_response: Annotated[PutResponse, Use.WRITE] = Producing.put_response
    priority: Annotated[Priority, Use.WRITE] = Producing.priority
    format: Annotated[str | None, _check_format, Use.WRITE] = None


_T = TypeVar("_T", bound="_Options")
# The settings of a connection whose option has another name, and the settings that are not options.
_NAMES = {
    "q_mgr_name": "queueManager",
    "conn_name": "connectionNameList",
    "cipher_spec": "sslCipherSpec",
    "peer_name": "sslPeerName",
}
_NO_OPTIONS = frozenset({"connect_wait_s", "reconnect_wait_s", "sleep", "trace", "propagate", "fips"})


_CONNECTING = tuple(
    option
    for field in (*settings_of(Connecting), *settings_of(_Waiting))
    if field.name not in _NO_OPTIONS
    for option in options_of_connection(field, f"mq.{_NAMES.get(field.name) or camel(field.name)}")
)
_KNOWN = {
    option.name.lower(): option for option in (*_CONNECTING, *options_of(SourceOptions), *options_of(SinkOptions))
}
OPTIONS = tuple(_KNOWN.values())
# Options that Spark adds by itself for a stream.
_OF_SPARK = frozenset({"checkpointlocation", "queryname"})
# The option that Spark adds for a table. The other options of the table do not reach the reader and the writer.
_OF_A_TABLE = "provider"
_INSTEAD = "Use CREATE TEMPORARY VIEW … OPTIONS to read, and INSERT INTO … WITH to write"


def source_options(given: Mapping[str, str], use: Use) -> SourceOptions:
    """Return the options of a read. Raises SparkOptionError."""
    options = _parsed(given, use, SourceOptions)
    if use is Use.STREAM_READ and not options.status_queue:
        options = replace(options, status_queue=_status_queue(options.queue))
    return options


def sink_options(given: Mapping[str, str], use: Use) -> SinkOptions:
    """Return the options of a write. Raises SparkOptionError."""
    options = _parsed(given, use, SinkOptions)
    if not options.status_queue:
        raise SparkOptionError("statusQueue", "it is required for a write, because it stores which groups are put")
    if (options.txn_app_id is None) != (options.txn_version is None):
        raise SparkOptionError("txnAppId", "give it together with txnVersion, or give neither")
    return options


def repeatable_write(given: Mapping[str, str]) -> tuple[SinkOptions, str, int]:
    """Return the options of a batch write that can be repeated, with its ``txnAppId`` and ``txnVersion``.

    Raises:
        SparkOptionError: an option is not valid, or ``txnAppId`` or ``txnVersion`` is missing.
    """
    options = sink_options(given, Use.BATCH_WRITE)
    if options.txn_app_id is None or options.txn_version is None:
        raise SparkOptionError("txnAppId", "it is required here, with txnVersion: they identify the write")
    return options, options.txn_app_id, options.txn_version


def _status_queue(queue: str) -> str:
    """Return the default status queue of a stream read."""
    try:
        return checked_queue_name("queue", f"MQGROUPS.SOURCE.{queue}")
    except ConfigurationError as error:
        raise SparkOptionError(
            "statusQueue", f"it is required, because MQGROUPS.SOURCE.{queue} would be longer than a queue name can be"
        ) from error


def _parsed(given: Mapping[str, str], use: Use, cls: type[_T]) -> _T:
    """Return the options as an object of this class. Raises SparkOptionError if an option is not for ``use``."""
    left = {name.lower(): text for name, text in given.items() if name.lower() not in _OF_SPARK}
    if _OF_A_TABLE in left:
        raise SparkOptionError(
            _OF_A_TABLE,
            "Spark adds it for CREATE TABLE … OPTIONS, and these options do not reach a source in Python when the table is "
            f"read or written. {_INSTEAD}",
        )
    if not left:
        raise SparkOptionError(
            "mq.queueManager",
            f"it is required, and no options were given. Those of a table do not reach a source in Python. {_INSTEAD}",
        )
    for name in left:
        if name not in _KNOWN:
            close = difflib.get_close_matches(name, _KNOWN, n=1)
            nearest = f" The nearest is {_KNOWN[close[0]].name}" if close else ""
            raise SparkOptionError(name, f"there is no such option.{nearest}")
        if not _KNOWN[name].use & use:
            raise SparkOptionError(_KNOWN[name].name, f"it is for {_KNOWN[name].use.shown}, not for {use.shown}")
    options = cls(connection=_connecting(left), **_values(options_of(cls), left))
    if left.get("statusqueue") == left["queue"]:
        raise SparkOptionError("statusQueue", "it is the queue itself; give a queue for the records alone")
    return options


def _values(options: Iterable[Option], given: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the given options, by field. Raises SparkOptionError if a required option is missing."""
    values = {}
    for option in options:
        if (text := given.get(option.name.lower())) is not None:
            values[option.field] = option.value(text)
        elif option.default is Parameter.empty:
            raise SparkOptionError(option.name, f"it is required: {option.meaning}")
    return values


def _connecting(given: Mapping[str, str]) -> Connecting:
    values = _values(_CONNECTING, given)
    used = [option for option in _CONNECTING if option.name.lower() in given]
    for field in SECRETS:
        ways = [option.name for option in used if option.field == field]
        if len(ways) > 1:
            raise SparkOptionError(ways[0], f"give only one of {' and '.join(ways)}")
    wait_s = values.pop("wait_ms", _Waiting().wait_ms) / 1000
    try:
        return Connecting(connect_wait_s=min(wait_s, _FIRST_WAIT_S), reconnect_wait_s=wait_s, **values)
    except ConfigurationError as error:
        names = {option.field: option.name for option in (*reversed(_CONNECTING), *used)}
        # Before the first colon each word may be a setting's name. Behind the colon only a word with a _ is a setting's name.
        said, colon, more = str(error).partition(": ")
        said = re.sub(r"(?<!\S)\w+", lambda word: names.get(word[0], word[0]), said)
        more = re.sub(r"(?<!\S)\w+_\w+", lambda word: names.get(word[0], word[0]), more)
        raise SparkOptionError(said.split()[0], f"{said}{colon}{more}") from error


def markdown() -> str:
    """Return the tables of all options, as the documentation has them."""
    lines = (
        "| connection | default | meaning |",
        "|---|---|---|",
        *(option.line(of_connection=True) for option in _CONNECTING),
        "",
        "| option | values | for | default | meaning |",
        "|---|---|---|---|---|",
        *(option.line(of_connection=False) for option in OPTIONS[len(_CONNECTING) :]),
    )
    return "".join(f"{line}\n" for line in lines)

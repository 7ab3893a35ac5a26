"""The options of format ``ibmmq``: one table of all options, and the conversion of their values.

Spark passes options as text, with names in lower case. They are checked against the table: an unknown option, an option that is
not for this use, and an invalid value are refused by name. ``markdown()`` returns the table for the documentation.

Not here: connecting (``connections.py``), and anything that needs pyspark.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from typing import Any, Literal, TypeAlias, get_args

from mqgroups.config import checked_queue_name, checked_user
from mqgroups.core.model import Persistence
from mqgroups.core.modes import PutResponse
from mqgroups.errors import ConfigurationError
from mqgroups.mqi.secret import Secret
from mqgroups.settings import CLAIM_MODEL, SHARED_STATUS_MODEL
from mqgroups.spark.errors import SparkOptionError


class Use(Flag):
    """The uses of the data source."""

    BATCH_READ = auto()
    STREAM_READ = auto()
    BATCH_WRITE = auto()
    STREAM_WRITE = auto()
    READ = BATCH_READ | STREAM_READ
    WRITE = BATCH_WRITE | STREAM_WRITE
    ALL = READ | WRITE


_SHOWN = {
    Use.BATCH_READ: "batch read",
    Use.STREAM_READ: "stream read",
    Use.BATCH_WRITE: "batch write",
    Use.STREAM_WRITE: "stream write",
    Use.READ: "read",
    Use.WRITE: "write",
    Use.ALL: "all",
}
# Modes: ``core/modes.py`` says why they are Literals.
EagerCommit: TypeAlias = Literal["auto", "true", "false"]
# Options that Spark itself adds for a stream.
_OF_SPARK = frozenset({"checkpointlocation", "queryname"})
# And for a table, of whose options it gives no others to the reader and the writer.
_OF_A_TABLE = "provider"
_INSTEAD = "Use CREATE TEMPORARY VIEW … OPTIONS to read, and INSERT INTO … WITH to write"


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """How to connect to the queue manager, from any process. Hashable; its repr does not show a password."""

    q_mgr_name: str
    conn_name: str | None = None
    channel: str | None = None
    user: str | None = None
    password: Secret | None = None
    password_file: str | None = None
    password_env: str | None = None
    token_file: str | None = None
    token_env: str | None = None
    cipher_spec: str | None = None
    key_repository: str | None = None
    key_repository_password_file: str | None = None
    key_repository_password_env: str | None = None
    certificate_label: str | None = None
    peer_name: str | None = None
    ccdt_url: str | None = None
    connect_timeout_ms: int = 10_000
    reconnect_timeout_ms: int = 60_000


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of a read; the table ``OPTIONS`` explains them."""

    connection: ConnectionOptions
    queue: str
    min_partitions: int
    fail_on_data_loss: bool
    arrow_batch_bytes: int
    convert: bool
    include_mqmd: bool
    include_headers: bool
    include_incomplete: bool
    push_filters: bool
    max_groups_per_trigger: int
    max_messages_per_trigger: int | None
    max_bytes_per_trigger: int | None
    poll_timeout_ms: int
    eager_commit: EagerCommit
    exclusive: bool
    reservation_timeout_ms: int
    messages_per_unit_of_work: int
    status_queue: str
    status_model: str


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The options of a write; the table ``OPTIONS`` explains them."""

    connection: ConnectionOptions
    queue: str
    status_queue: str
    status_model: str
    claim_model: str
    record_users: tuple[str, ...] | None
    group_by: str | None
    sequence_column: str | None
    messages_per_unit_of_work: int
    bytes_per_unit_of_work: int
    txn_app_id: str | None
    txn_version: int | None
    claim_timeout_ms: int
    persistence: Persistence
    put_response: PutResponse
    priority: int | None
    format: str | None


@dataclass(frozen=True, slots=True)
class Kind:
    """The values of an option: a description, and a function that converts the text (ValueError if it is not valid)."""

    words: str
    value: Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        name: as documented; case is ignored.
        field: the attribute for its value; of ``ConnectionOptions`` if the name begins with ``mq.``.
        default: as text; ``None`` if it has no default.
        required: whether it must be given.
    """

    name: str
    field: str
    kind: Kind
    default: str | None
    use: Use
    meaning: str
    required: bool = False


def _integer(least: int, most: int | None = None) -> Kind:
    def value(text: str) -> int:
        number = int(text)
        if number < least or (most is not None and number > most):
            raise ValueError
        return number

    return Kind(f"integer, at least {least}" if most is None else f"integer, {least} to {most}", value)


def _choice(*words: str) -> Kind:
    def value(text: str) -> str:
        for word in words:
            if word.lower() == text.lower():
                return word
        raise ValueError

    return Kind(" or ".join(f"`{word}`" for word in words), value)


def _mapped(values: Mapping[str, Any]) -> Kind:
    choice = _choice(*values)
    return Kind(choice.words, lambda text: values[choice.value(text)])


def _some(text: str) -> str:
    if not text:
        raise ValueError
    return text


def _ascii_name(length: int) -> Kind:
    def value(text: str) -> str:
        if not 1 <= len(text) <= length or not text.isascii():
            raise ValueError
        return text

    return Kind(f"1 to {length} characters", value)


def _users(text: str) -> tuple[str, ...]:
    return tuple(checked_user("recordUsers", each.strip()) for each in text.split(","))


_TEXT = Kind("text", _some)
_QUEUE = Kind("queue name", lambda text: checked_queue_name("queue", text))
_BOOLEAN = _mapped({"true": True, "false": False})
_COUNT = _integer(1)
_MILLISECONDS = _integer(0)

# --- connection, source, sink: in the order of the documentation
OPTIONS: tuple[Option, ...] = (
    Option("mq.queueManager", "q_mgr_name", _TEXT, None, Use.ALL, "queue manager", required=True),
    Option(
        "mq.connectionNameList",
        "conn_name",
        _TEXT,
        None,
        Use.ALL,
        "`host(port)`, several separated by commas; requires `mq.channel`. Without both, the MQ client uses MQSERVER, MQCCDTURL "
        "or MQCHLLIB from the environment of driver and executors",
    ),
    Option("mq.channel", "channel", _TEXT, None, Use.ALL, "server-connection channel"),
    Option("mq.user", "user", _TEXT, None, Use.ALL, "user name"),
    Option(
        "mq.passwordFile",
        "password_file",
        _TEXT,
        None,
        Use.ALL,
        "a file with the password, on the driver and on each executor; read by each process that connects",
    ),
    Option(
        "mq.passwordEnv",
        "password_env",
        _TEXT,
        None,
        Use.ALL,
        "an environment variable with the password, on the driver and on each executor",
    ),
    Option(
        "mq.password",
        "password",
        Kind(_TEXT.words, lambda text: Secret(_some(text))),
        None,
        Use.ALL,
        "the password itself. It becomes part of Spark's serialized plan; prefer the two options above",
    ),
    Option(
        "mq.tokenFile",
        "token_file",
        _TEXT,
        None,
        Use.ALL,
        "a file with a JSON web token, on the driver and on each executor; replaces user and password (ibmmq only)",
    ),
    Option("mq.tokenEnv", "token_env", _TEXT, None, Use.ALL, "an environment variable with the token"),
    Option("mq.sslCipherSpec", "cipher_spec", _TEXT, None, Use.ALL, "TLS CipherSpec"),
    Option(
        "mq.keyRepository", "key_repository", _TEXT, None, Use.ALL, "key repository, on the driver and each executor"
    ),
    Option(
        "mq.keyRepositoryPasswordFile",
        "key_repository_password_file",
        _TEXT,
        None,
        Use.ALL,
        "a file with the password of the key repository (ibmmq only; otherwise use a stash file or MQKEYRPWD)",
    ),
    Option(
        "mq.keyRepositoryPasswordEnv",
        "key_repository_password_env",
        _TEXT,
        None,
        Use.ALL,
        "an environment variable with the password of the key repository",
    ),
    Option("mq.certificateLabel", "certificate_label", _TEXT, None, Use.ALL, "label of the client's certificate"),
    Option(
        "mq.sslPeerName", "peer_name", _TEXT, None, Use.ALL, "pattern for the name in the queue manager's certificate"
    ),
    Option(
        "mq.ccdtUrl",
        "ccdt_url",
        _TEXT,
        None,
        Use.ALL,
        "a client channel definition table, instead of `mq.channel` and `mq.connectionNameList` (ibmmq only)",
    ),
    Option(
        "mq.connectTimeoutMs",
        "connect_timeout_ms",
        _MILLISECONDS,
        "10000",
        Use.ALL,
        "how long to retry connecting while the queue manager is not available",
    ),
    Option(
        "mq.reconnectTimeoutMs",
        "reconnect_timeout_ms",
        _MILLISECONDS,
        "60000",
        Use.ALL,
        "how long to retry when a connection is lost, before the task or query fails",
    ),
    Option("queue", "queue", _QUEUE, None, Use.ALL, "the queue to read from or write to", required=True),
    Option(
        "minPartitions",
        "min_partitions",
        _COUNT,
        "8",
        Use.READ,
        "number of partitions, with similar numbers of messages; fewer if there are fewer groups",
    ),
    Option(
        "failOnDataLoss",
        "fail_on_data_loss",
        _BOOLEAN,
        "true",
        Use.READ,
        "if a planned group is missing or not complete when it is read: `true` fails, `false` reads what is left of it",
    ),
    Option(
        "arrowBatchBytes",
        "arrow_batch_bytes",
        _COUNT,
        "4194304",
        Use.READ,
        "maximum bytes of message data in an Arrow record batch; the last message of a batch may exceed it",
    ),
    Option(
        "convert",
        "convert",
        _BOOLEAN,
        "false",
        Use.READ,
        "let the queue manager convert the data to UTF-8 (MQGMO_CONVERT)",
    ),
    Option("includeMqmd", "include_mqmd", _BOOLEAN, "false", Use.READ, "add columns from the message descriptor"),
    Option("includeHeaders", "include_headers", _BOOLEAN, "false", Use.READ, "message properties in column `headers`"),
    Option(
        "includeIncomplete",
        "include_incomplete",
        _BOOLEAN,
        "false",
        Use.BATCH_READ,
        "also read groups with missing messages",
    ),
    Option(
        "pushFilters",
        "push_filters",
        _BOOLEAN,
        "false",
        Use.BATCH_READ,
        "browse only what filters on `group_id` and `msg_seq_number` select; needs spark.sql.python.filterPushdown.enabled, "
        "otherwise Spark refuses the query",
    ),
    Option(
        "maxGroupsPerTrigger",
        "max_groups_per_trigger",
        _COUNT,
        "1000",
        Use.STREAM_READ,
        "maximum number of groups in a micro-batch; a message outside groups counts as one",
    ),
    Option(
        "maxMessagesPerTrigger",
        "max_messages_per_trigger",
        _COUNT,
        None,
        Use.STREAM_READ,
        "maximum number of messages in a micro-batch; it always has at least one group",
    ),
    Option(
        "maxBytesPerTrigger",
        "max_bytes_per_trigger",
        _COUNT,
        None,
        Use.STREAM_READ,
        "maximum bytes of data in a micro-batch; it always has at least one group. Costs one more browse for each message",
    ),
    Option(
        "pollTimeoutMs",
        "poll_timeout_ms",
        _MILLISECONDS,
        "500",
        Use.STREAM_READ,
        "how long the source waits for the next group in one call",
    ),
    Option(
        "eagerCommit",
        "eager_commit",
        _choice(*get_args(EagerCommit)),
        "auto",
        Use.STREAM_READ,
        "remove a micro-batch as soon as Spark asks for the next one, even if there is none; `auto`: only under availableNow. Do "
        "not use with asynchronous progress tracking",
    ),
    Option(
        "exclusive",
        "exclusive",
        _BOOLEAN,
        "true",
        Use.STREAM_READ,
        "open the queue for exclusive input, so that no other application gets from it",
    ),
    Option(
        "reservationTimeoutMs",
        "reservation_timeout_ms",
        _MILLISECONDS,
        "20000",
        Use.STREAM_READ,
        "how long to wait for another application to close the queue",
    ),
    Option(
        "statusQueue",
        "status_queue",
        _QUEUE,
        None,
        Use.STREAM_READ | Use.WRITE,
        "status queue, on the same queue manager; a write needs it. For a stream read the default is `MQGROUPS.SOURCE.<queue>`; "
        "it must not be a sink's. Sinks may share one, but separate queues are faster",
    ),
    Option(
        "statusModel",
        "status_model",
        _QUEUE,
        SHARED_STATUS_MODEL,
        Use.STREAM_READ | Use.WRITE,
        "model queue to create the status queue from",
    ),
    Option(
        "claimModel",
        "claim_model",
        _QUEUE,
        CLAIM_MODEL,
        Use.WRITE,
        "model queue to create locks from, DEFTYPE(TEMPDYN)",
    ),
    Option(
        "recordUsers",
        "record_users",
        Kind("users with commas between them", _users),
        None,
        Use.WRITE,
        "users whose records on the status queue are believed besides those of the query's own user, for example the user it ran "
        "under before",
    ),
    Option(
        "groupBy",
        "group_by",
        _TEXT,
        None,
        Use.WRITE,
        "column that identifies the group; `partition` makes a group of each partition. Default: `group_key`",
    ),
    Option(
        "sequenceColumn",
        "sequence_column",
        _TEXT,
        None,
        Use.WRITE,
        "column that orders a group's rows. Default: `msg_seq_number`, if the DataFrame has it",
    ),
    Option(
        "messagesPerUnitOfWork",
        "messages_per_unit_of_work",
        _COUNT,
        "100",
        Use.STREAM_READ | Use.WRITE,
        "maximum number of messages in a unit of work, when removing groups and in the sink",
    ),
    Option(
        "bytesPerUnitOfWork",
        "bytes_per_unit_of_work",
        _COUNT,
        "8388608",
        Use.WRITE,
        "maximum bytes of data in a unit of work",
    ),
    Option(
        "txnAppId",
        "txn_app_id",
        _TEXT,
        None,
        Use.BATCH_WRITE,
        "name of the job; with `txnVersion`, a repeated run writes nothing twice",
    ),
    Option(
        "txnVersion",
        "txn_version",
        _integer(0),
        None,
        Use.BATCH_WRITE,
        "number of the job's run, which must increase; a run that was completed, or is older than one, writes nothing",
    ),
    Option(
        "claimTimeoutMs",
        "claim_timeout_ms",
        _MILLISECONDS,
        "60000",
        Use.WRITE,
        "how long to wait for a group that an earlier attempt still holds",
    ),
    Option(
        "persistence",
        "persistence",
        _mapped({"persistent": Persistence.PERSISTENT, "nonPersistent": Persistence.NOT_PERSISTENT}),
        "persistent",
        Use.WRITE,
        "persistence of the messages",
    ),
    Option(
        "putResponse",
        "put_response",
        _choice(*get_args(PutResponse)),
        "sync",
        Use.WRITE,
        "`async` puts messages without waiting for each answer, which is faster if a round trip takes long",
    ),
    Option(
        "priority",
        "priority",
        _integer(0, 9),
        None,
        Use.WRITE,
        "priority of messages for which column `priority` has no value. Default: that of the queue",
    ),
    Option(
        "format", "format", _ascii_name(8), None, Use.WRITE, "MQMD format. Default: MQSTR for text, blank for bytes"
    ),
)


def source_options(given: Mapping[str, str], use: Use) -> SourceOptions:
    """Return the options of a read; raises SparkOptionError."""
    connection, values = _parsed(given, use, Use.READ)
    if values["status_queue"] is None:
        values["status_queue"] = _status_queue(values["queue"]) if use is Use.STREAM_READ else ""
    _check_apart(values)
    return SourceOptions(connection=connection, **values)


def sink_options(given: Mapping[str, str], use: Use) -> SinkOptions:
    """Return the options of a write; raises SparkOptionError."""
    connection, values = _parsed(given, use, Use.WRITE)
    if values["status_queue"] is None:
        raise SparkOptionError("statusQueue", "it is required for a write: it keeps which groups are put")
    _check_apart(values)
    if (values["txn_app_id"] is None) != (values["txn_version"] is None):
        raise SparkOptionError("txnAppId", "it belongs together with txnVersion; give both or neither")
    return SinkOptions(connection=connection, **values)


def _check_apart(values: Mapping[str, Any]) -> None:
    if values["status_queue"] == values["queue"]:
        raise SparkOptionError("statusQueue", "it is the queue itself; give a queue for the records alone")


def _status_queue(queue: str) -> str:
    """Return the default status queue of a stream read."""
    try:
        return checked_queue_name("queue", f"MQGROUPS.SOURCE.{queue}")
    except ConfigurationError as error:
        raise SparkOptionError(
            "statusQueue", f"it is required, because MQGROUPS.SOURCE.{queue} would be longer than a queue name can be"
        ) from error


def repeatable_write(given: Mapping[str, str]) -> tuple[SinkOptions, str, int]:
    """Return the options of a batch write that can be repeated, with its ``txnAppId`` and ``txnVersion``.

    Raises:
        SparkOptionError: an option is not valid, or one of these is missing.
    """
    options = sink_options(given, Use.BATCH_WRITE)
    if options.txn_app_id is None or options.txn_version is None:
        raise SparkOptionError("txnAppId", "it is required here, with txnVersion: they identify the write")
    return options, options.txn_app_id, options.txn_version


def _parsed(given: Mapping[str, str], use: Use, side: Use) -> tuple[ConnectionOptions, dict[str, Any]]:
    """Return the values of all options of ``side``: those given, or the defaults. Only options for ``use`` may be given."""
    known = {option.name.lower(): option for option in OPTIONS}
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
        if name not in known:
            raise SparkOptionError(name, f"there is no such option.{_nearest(name)}")
        if not known[name].use & use:
            raise SparkOptionError(known[name].name, f"it is for {_shown(known[name].use)}, not for {_SHOWN[use]}")
    values: dict[bool, dict[str, Any]] = {True: {}, False: {}}
    for name, option in known.items():
        if option.use & side:
            values[option.name.startswith("mq.")][option.field] = _value(option, left.get(name))
    return _checked(ConnectionOptions(**values[True])), values[False]


def _value(option: Option, given: str | None) -> Any:
    text = option.default if given is None else given
    if text is None:
        if option.required:
            raise SparkOptionError(option.name, f"it is required: {option.meaning}")
        return None
    try:
        return option.kind.value(text)
    except ConfigurationError as error:
        raise SparkOptionError(option.name, str(error)) from error
    except ValueError as error:
        shown = "its value" if option.field == "password" else repr(text)
        raise SparkOptionError(option.name, f"{shown} is not valid; expected {option.kind.words}") from error


def _checked(options: ConnectionOptions) -> ConnectionOptions:
    if (options.channel is None) != (options.conn_name is None):
        raise SparkOptionError("mq.channel", "it belongs together with mq.connectionNameList; give both or neither")
    for name, given in (
        ("mq.password", [options.password, options.password_file, options.password_env]),
        ("mq.token", [options.token_file, options.token_env]),
        ("mq.keyRepositoryPassword", [options.key_repository_password_file, options.key_repository_password_env]),
    ):
        if len(given) - given.count(None) > 1:
            ways = [f"{name}{way}" for way in ("", "File", "Env")][-len(given) :]
            raise SparkOptionError(ways[0], f"give only one of {', '.join(ways[:-1])} and {ways[-1]}")
    if options.user is None and (options.password or options.password_file or options.password_env):
        raise SparkOptionError("mq.user", "a password needs a user")
    if options.channel is None:
        _needs(
            options,
            ("mq.sslCipherSpec", "mq.sslPeerName"),
            "mq.channel and mq.connectionNameList, or set it in the CCDT",
        )
    elif options.cipher_spec is None:
        _needs(options, ("mq.keyRepository", "mq.certificateLabel", "mq.sslPeerName"), "mq.sslCipherSpec")
    return options


def _needs(options: ConnectionOptions, names: Sequence[str], what: str) -> None:
    for option in OPTIONS:
        if option.name in names and getattr(options, option.field) is not None:
            raise SparkOptionError(option.name, f"it needs {what}")


def _nearest(name: str) -> str:
    known = {option.name.lower(): option.name for option in OPTIONS}
    close = difflib.get_close_matches(name, known, n=1)
    return f" The nearest is {known[close[0]]}" if close else ""


def _shown(use: Use) -> str:
    return _SHOWN.get(use) or ", ".join(words for one, words in list(_SHOWN.items())[:4] if one & use)


def markdown() -> str:
    """Return the table of all options, as the documentation has it."""
    lines = ["| option | values | default | for | meaning |", "|---|---|---|---|---|"]
    for option in OPTIONS:
        default = "required" if option.required else f"`{option.default}`" if option.default is not None else "none"
        lines.append(f"| `{option.name}` | {option.kind.words} | {default} | {_shown(option.use)} | {option.meaning} |")
    return "\n".join(lines) + "\n"

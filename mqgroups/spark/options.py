"""The options of format ``ibmmq``: each field of ``ConnectionOptions``, ``SourceOptions`` and ``SinkOptions`` is one.

``option.py`` makes Spark's name of an option, the conversion of its values and its line of the documentation (``markdown``) from
the field. Spark passes options as text, with names in lower case. An option that is unknown, or not for this use, and an invalid
value are refused by name.

Not here: connecting (``connections.py``), and anything that needs pyspark.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

from mqgroups.config import checked_queue_name, checked_user
from mqgroups.core.model import Persistence
from mqgroups.core.modes import PutResponse
from mqgroups.errors import ConfigurationError
from mqgroups.mqi.secret import Secret
from mqgroups.settings import SHARED_STATUS_MODEL
from mqgroups.spark.errors import SparkOptionError
from mqgroups.spark.option import Kind, Option, SparkOption, Use, integer, options_of, some_text

# Modes: ``core/modes.py`` says why they are Literals.
Delivery: TypeAlias = Literal["exactlyOnce", "atLeastOnce"]


def _users(text: str) -> tuple[str, ...]:
    return tuple(checked_user("recordUsers", each.strip()) for each in text.split(","))


_QueueName: TypeAlias = Annotated[str, Kind("queue name", lambda text: checked_queue_name("queue", text))]
_Count: TypeAlias = Annotated[int, integer(1)]
_Milliseconds: TypeAlias = Annotated[int, integer(0)]
_Users: TypeAlias = Annotated[tuple[str, ...], Kind("users with commas between them", _users)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """How to connect to the queue manager, from any process. Hashable; its repr does not show a password."""

    PREFIX: ClassVar[str] = "mq."
    q_mgr_name: Annotated[str, SparkOption("queue manager", name="queueManager")]
    conn_name: Annotated[
        str | None,
        SparkOption(
            "`host(port)`, several separated by commas; requires `mq.channel`. Without both, the MQ client uses MQSERVER, "
            "MQCCDTURL or MQCHLLIB from the environment of driver and executors",
            name="connectionNameList",
        ),
    ] = None
    channel: Annotated[str | None, SparkOption("server-connection channel")] = None
    user: Annotated[str | None, SparkOption("user name")] = None
    password: Annotated[
        Secret | None,
        SparkOption("the password itself. It becomes part of Spark's serialized plan; prefer the two options below"),
    ] = None
    password_file: Annotated[
        str | None,
        SparkOption("a file with the password, on the driver and on each executor; read by each process that connects"),
    ] = None
    password_env: Annotated[
        str | None, SparkOption("an environment variable with the password, on the driver and on each executor")
    ] = None
    token_file: Annotated[
        str | None,
        SparkOption(
            "a file with a JSON web token, on the driver and on each executor; replaces user and password (ibmmq only)"
        ),
    ] = None
    token_env: Annotated[str | None, SparkOption("an environment variable with the token")] = None
    cipher_spec: Annotated[str | None, SparkOption("TLS CipherSpec", name="sslCipherSpec")] = None
    key_repository: Annotated[str | None, SparkOption("key repository, on the driver and each executor")] = None
    key_repository_password_file: Annotated[
        str | None,
        SparkOption(
            "a file with the password of the key repository (ibmmq only; otherwise use a stash file or MQKEYRPWD)"
        ),
    ] = None
    key_repository_password_env: Annotated[
        str | None, SparkOption("an environment variable with the password of the key repository")
    ] = None
    certificate_label: Annotated[str | None, SparkOption("label of the client's certificate")] = None
    peer_name: Annotated[
        str | None, SparkOption("pattern for the name in the queue manager's certificate", name="sslPeerName")
    ] = None
    ccdt_url: Annotated[
        str | None,
        SparkOption(
            "a client channel definition table, instead of `mq.channel` and `mq.connectionNameList` (ibmmq only)"
        ),
    ] = None
    wait_ms: Annotated[
        _Milliseconds,
        SparkOption(
            "how long to wait if a connection is lost, and for a queue or group that a lost connection still holds, before the "
            "task or query fails; for a first connection at most 10000. Make it longer than twice the channel's HBINT"
        ),
    ] = 60_000

    @property
    def wait_s(self) -> float:
        """``wait_ms`` in seconds."""
        return self.wait_ms / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options of reads and writes."""

    connection: ConnectionOptions
    queue: Annotated[_QueueName, SparkOption("the queue to read from or write to")]
    status_queue: Annotated[
        _QueueName,
        SparkOption(
            "status queue, on the same queue manager. For a stream read the default is `MQGROUPS.SOURCE.<queue>`; it must not be "
            "a sink's. Sinks may share one, but separate queues are faster",
            Use.STREAM_READ | Use.WRITE,
        ),
    ] = ""
    status_model: Annotated[
        _QueueName, SparkOption("model queue to create the status queue from", Use.STREAM_READ | Use.WRITE)
    ] = SHARED_STATUS_MODEL
    messages_per_unit_of_work: Annotated[
        _Count,
        SparkOption(
            "maximum number of messages in a unit of work, when removing groups and in the sink",
            Use.STREAM_READ | Use.WRITE,
        ),
    ] = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions(_Options):
    """The options of a read."""

    max_partitions: Annotated[
        _Count,
        SparkOption(
            "maximum number of partitions, with similar numbers of messages; fewer if there are fewer groups", Use.READ
        ),
    ] = 8
    fail_on_data_loss: Annotated[
        bool,
        SparkOption(
            "if a planned group is missing or not complete when it is read: `true` fails, `false` reads what is left of it",
            Use.READ,
        ),
    ] = True
    convert: Annotated[
        bool, SparkOption("let the queue manager convert the data to UTF-8 (MQGMO_CONVERT)", Use.READ)
    ] = False
    include_mqmd: Annotated[bool, SparkOption("add columns from the message descriptor", Use.READ)] = False
    include_headers: Annotated[bool, SparkOption("message properties in column `headers`", Use.READ)] = False
    include_incomplete: Annotated[bool, SparkOption("also read groups with missing messages", Use.BATCH_READ)] = False
    max_groups_per_trigger: Annotated[
        _Count,
        SparkOption(
            "maximum number of groups in a micro-batch; a message outside groups counts as one", Use.STREAM_READ
        ),
    ] = 1000
    max_messages_per_trigger: Annotated[
        _Count | None,
        SparkOption("maximum number of messages in a micro-batch; it always has at least one group", Use.STREAM_READ),
    ] = None
    poll_timeout_ms: Annotated[
        _Milliseconds, SparkOption("how long the source waits for the next group in one call", Use.STREAM_READ)
    ] = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions(_Options):
    """The options of a write."""

    delivery: Annotated[Delivery, SparkOption("delivery guarantee; `exactlyOnce` needs `statusQueue`", Use.WRITE)] = (
        "exactlyOnce"
    )
    record_users: Annotated[
        _Users,
        SparkOption(
            "users whose records on the status queue are believed besides those of the query's own user, for example the user it "
            "ran under before",
            Use.WRITE,
        ),
    ] = ()
    group_by: Annotated[
        str | None,
        SparkOption(
            "column that identifies the group; `partition` makes a group of each partition. Default: `group_key`",
            Use.WRITE,
        ),
    ] = None
    sequence_column: Annotated[
        str | None,
        SparkOption("column that orders a group's rows. Default: `msg_seq_number`, if the DataFrame has it", Use.WRITE),
    ] = None
    txn_app_id: Annotated[
        str | None,
        SparkOption("name of the job; with `txnVersion`, a repeated run writes nothing twice", Use.BATCH_WRITE),
    ] = None
    txn_version: Annotated[
        Annotated[int, integer(0)] | None,
        SparkOption(
            "number of the job's run, which must increase; a run that was completed, or is older than one, writes nothing",
            Use.BATCH_WRITE,
        ),
    ] = None
    persistence: Annotated[Persistence, SparkOption("persistence of the messages", Use.WRITE)] = Persistence.PERSISTENT
    put_response: Annotated[
        PutResponse,
        SparkOption(
            "`async` puts messages without waiting for each answer, which is faster if a round trip takes long",
            Use.WRITE,
        ),
    ] = "sync"
    priority: Annotated[
        Annotated[int, integer(0, 9)] | None,
        SparkOption(
            "priority of messages for which column `priority` has no value. Default: that of the queue", Use.WRITE
        ),
    ] = None
    format: Annotated[
        Annotated[str, some_text(8)] | None,
        SparkOption("MQMD format. Default: MQSTR for text, blank for bytes", Use.WRITE),
    ] = None


_T = TypeVar("_T")
# In the order of the documentation; those that a read and a write have in common once.
_KNOWN = {
    option.name.lower(): option for cls in (ConnectionOptions, SourceOptions, SinkOptions) for option in options_of(cls)
}
OPTIONS: tuple[Option, ...] = tuple(_KNOWN.values())
# Options that Spark itself adds for a stream.
_OF_SPARK = frozenset({"checkpointlocation", "queryname"})
# And for a table, of whose options it gives no others to the reader and the writer.
_OF_A_TABLE = "provider"
_INSTEAD = "Use CREATE TEMPORARY VIEW … OPTIONS to read, and INSERT INTO … WITH to write"


def source_options(given: Mapping[str, str], use: Use) -> SourceOptions:
    """Return the options of a read; raises SparkOptionError."""
    options = _parsed(given, use, SourceOptions)
    if use is Use.STREAM_READ and not options.status_queue:
        options = replace(options, status_queue=_status_queue(options.queue))
    return options


def sink_options(given: Mapping[str, str], use: Use) -> SinkOptions:
    """Return the options of a write; raises SparkOptionError."""
    options = _parsed(given, use, SinkOptions)
    if options.delivery == "exactlyOnce" and not options.status_queue:
        raise SparkOptionError(
            "statusQueue", "it is required for delivery=exactlyOnce. Give it, or choose delivery=atLeastOnce"
        )
    if (options.txn_app_id is None) != (options.txn_version is None):
        raise SparkOptionError("txnAppId", "it belongs together with txnVersion; give both or neither")
    if options.delivery == "atLeastOnce" and options.txn_app_id is not None:
        raise SparkOptionError("txnAppId", "it needs delivery=exactlyOnce: atLeastOnce puts a repeated run again")
    return options


def repeatable_write(given: Mapping[str, str]) -> tuple[SinkOptions, str, int]:
    """Return the options of a batch write that can be repeated, with its ``txnAppId`` and ``txnVersion``.

    Raises:
        SparkOptionError: an option is not valid, or one of these is missing.
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


def _parsed(given: Mapping[str, str], use: Use, cls: Callable[..., _T]) -> _T:
    """Return the options of a class. Only options for ``use`` may be given."""
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
    connection = _made(ConnectionOptions, left)
    _check_connection(connection)
    options = _made(cls, left, connection=connection)
    if left.get("statusqueue") == left["queue"]:
        raise SparkOptionError("statusQueue", "it is the queue itself; give a queue for the records alone")
    return options


def _made(cls: Callable[..., _T], given: Mapping[str, str], **values: Any) -> _T:
    for option in options_of(cls):
        if (text := given.get(option.name.lower())) is not None:
            values[option.field] = option.value(text)
        elif option.default is MISSING:
            raise SparkOptionError(option.name, f"it is required: {option.meaning}")
    return cls(**values)


def _check_connection(options: ConnectionOptions) -> None:
    given = {
        option.name: value for option in options_of(ConnectionOptions) if (value := getattr(options, option.field))
    }
    if ("mq.channel" in given) != ("mq.connectionNameList" in given):
        raise SparkOptionError("mq.channel", "it belongs together with mq.connectionNameList; give both or neither")
    for name in ("mq.password", "mq.token", "mq.keyRepositoryPassword"):
        ways = [way.name for way in OPTIONS if way.name in (name, f"{name}File", f"{name}Env")]
        if sum(way in given for way in ways) > 1:
            raise SparkOptionError(ways[0], f"give only one of {', '.join(ways[:-1])} and {ways[-1]}")
    if "mq.user" not in given and not given.keys().isdisjoint({"mq.password", "mq.passwordFile", "mq.passwordEnv"}):
        raise SparkOptionError("mq.user", "a password needs a user")
    needing: tuple[str, ...]
    if "mq.channel" not in given:
        needed = "mq.channel and mq.connectionNameList, or set it in the CCDT"
        needing = ("mq.sslCipherSpec", "mq.sslPeerName")
    else:
        needed = "mq.sslCipherSpec"
        needing = () if needed in given else ("mq.keyRepository", "mq.certificateLabel", "mq.sslPeerName")
    for name in needing:
        if name in given:
            raise SparkOptionError(name, f"it needs {needed}")


def markdown() -> str:
    """Return the table of all options, as the documentation has it."""
    lines = ["| option | values | default | for | meaning |", "|---|---|---|---|---|"]
    for option in OPTIONS:
        cells = (f"`{option.name}`", option.kind.words, option.shown_default, option.use.shown, option.meaning)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"

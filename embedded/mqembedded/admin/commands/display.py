"""Carries out MQSC's DISPLAY with the inquire commands of PCF.

Each DISPLAY becomes a request, which the function of a PCF command carries out. Each response becomes a text in the layout of
``runmqsc``: attributes are in two columns, but a long attribute has its own line. The message numbers are IBM MQ's. The sentences
are not IBM's.

Source: IBM MQ, "DISPLAY QUEUE" and the pages for other objects, "DISPLAY QSTATUS", "Filtering". Unverified: the order of the
attributes, and that UNCOM is YES or NO.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mqembedded import constants as mq
from mqembedded.admin import pcf
from mqembedded.admin.commands import clusters, objects, queue_manager, queues, status, subscriptions, topics
from mqembedded.admin.commands.permission import displayed
from mqembedded.admin.commands.request import Request, Row, matches
from mqembedded.admin.mqsc import Command, MQSCError
from mqembedded.admin.pcf import Parameter, PCFError
from mqembedded.channels.settings import ChannelStatus
from mqembedded.objects.attributes import BY_KEYWORD, QUEUE_ATTRIBUTES, TYPE_NAMES, Attribute
from mqembedded.objects.instances import ADVERTISED
from mqembedded.objects.kinds import ATTRIBUTES, Q_MGR_ATTRIBUTES, SUBSCRIPTION_ATTRIBUTES, Kind
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf

_COLUMN = 40
# Operators for a number in a filter.
_MOST_DIGITS = 10
_TYPE_KEYWORDS = ("TYPE", "CHLTYPE", "AUTHTYPE", "SUBID")
_OPERATORS = {
    "LT": cf.MQCFOP_LESS,
    "EQ": cf.MQCFOP_EQUAL,
    "GT": cf.MQCFOP_GREATER,
    "NE": cf.MQCFOP_NOT_EQUAL,
    "LE": cf.MQCFOP_NOT_GREATER,
    "GE": cf.MQCFOP_NOT_LESS,
    "LK": cf.MQCFOP_LIKE,
    "NL": cf.MQCFOP_NOT_LIKE,
    "CT": cf.MQCFOP_CONTAINS,
    "EX": cf.MQCFOP_EXCLUDES,
    "CTG": cf.MQCFOP_CONTAINS_GEN,
    "EXG": cf.MQCFOP_EXCLUDES_GEN,
}


def _number(selector: int, keyword: str, **words: int) -> Attribute:
    return Attribute(selector, keyword, 0, keywords=words)


def _text(selector: int, keyword: str) -> Attribute:
    return Attribute(selector, keyword, "", length=mq.MQ_Q_DESC_LENGTH)


_QUEUE_TYPE = _number(mq.MQIA_Q_TYPE, "TYPE", **{name: number for number, name in TYPE_NAMES.items()})
_QUEUE = (
    _QUEUE_TYPE,
    *(attribute for attribute in QUEUE_ATTRIBUTES if attribute.selector != mq.MQIA_DEFINITION_TYPE),
    _number(mq.MQIA_DEFINITION_TYPE, "DEFTYPE", PREDEFINED=1, PERMDYN=2, TEMPDYN=3),
    _number(mq.MQIA_CURRENT_Q_DEPTH, "CURDEPTH"),
    _number(mq.MQIA_OPEN_INPUT_COUNT, "IPPROCS"),
    _number(mq.MQIA_OPEN_OUTPUT_COUNT, "OPPROCS"),
    _text(mq.MQCA_CREATION_DATE, "CRDATE"),
    _text(mq.MQCA_CREATION_TIME, "CRTIME"),
    _text(mq.MQCA_ALTERATION_DATE, "ALTDATE"),
    _text(mq.MQCA_ALTERATION_TIME, "ALTTIME"),
)
_Q_MGR = (
    *Q_MGR_ATTRIBUTES,
    _text(mq.MQCA_Q_MGR_IDENTIFIER, "QMID"),
    _text(mq.MQCA_COMMAND_INPUT_Q_NAME, "COMMANDQ"),
    _text(mq.MQCA_VERSION, "VERSION"),
    _number(mq.MQIA_CODED_CHAR_SET_ID, "CCSID"),
    _number(mq.MQIA_COMMAND_LEVEL, "CMDLEVEL"),
    _number(mq.MQIA_MAX_PRIORITY, "MAXPRTY"),
    _number(mq.MQIA_PLATFORM, "PLATFORM", UNIX=mq.MQPL_UNIX, MVS=mq.MQPL_ZOS),
    _number(mq.MQIA_SYNCPOINT, "SYNCPT", SYNCPT=mq.MQSP_AVAILABLE),
    _number(mq.MQIA_DIST_LISTS, "DISTL", YES=1, NO=0),
)
_WHO = (
    _text(cf.MQCACF_APPL_TAG, "APPLTAG"),
    _number(cf.MQIA_APPL_TYPE, "APPLTYPE", USER=mq.MQAT_USER, SYSTEMEXT=cf.MQAT_SYSTEM_EXTENSION),
    _number(cf.MQIACF_PROCESS_ID, "PID"),
    _number(cf.MQIACF_THREAD_ID, "TID"),
    _text(cf.MQCACF_USER_IDENTIFIER, "USERID"),
    _text(cf.MQCACH_CHANNEL_NAME, "CHANNEL"),
    _text(cf.MQCACH_CONNECTION_NAME, "CONNAME"),
)
_HANDLE_STATE = _number(cf.MQIACF_HANDLE_STATE, "HSTATE", ACTIVE=cf.MQHSTATE_ACTIVE, INACTIVE=cf.MQHSTATE_INACTIVE)
_OPEN_OPTIONS = _number(cf.MQIACF_OPEN_OPTIONS, "OPENOPTS")
_QUEUE_STATUS = (
    _number(cf.MQIACF_Q_STATUS_TYPE, "TYPE", QUEUE=cf.MQIACF_Q_STATUS, HANDLE=cf.MQIACF_Q_HANDLE),
    _number(mq.MQIA_CURRENT_Q_DEPTH, "CURDEPTH"),
    _number(mq.MQIA_OPEN_INPUT_COUNT, "IPPROCS"),
    _number(mq.MQIA_OPEN_OUTPUT_COUNT, "OPPROCS"),
    _number(cf.MQIACF_UNCOMMITTED_MSGS, "UNCOM", NO=0),
    _number(cf.MQIACF_OLDEST_MSG_AGE, "MSGAGE"),
    _number(cf.MQIA_MONITORING_Q, "MONQ", OFF=cf.MQMON_OFF),
    _text(cf.MQCACF_LAST_GET_DATE, "LGETDATE"),
    _text(cf.MQCACF_LAST_GET_TIME, "LGETTIME"),
    _text(cf.MQCACF_LAST_PUT_DATE, "LPUTDATE"),
    _text(cf.MQCACF_LAST_PUT_TIME, "LPUTTIME"),
    *_WHO,
    _number(cf.MQIACF_OPEN_INPUT_TYPE, "INPUT", NO=cf.MQQSO_NO, SHARED=cf.MQQSO_SHARED, EXCL=cf.MQQSO_EXCLUSIVE),
    _number(cf.MQIACF_OPEN_OUTPUT, "OUTPUT", NO=cf.MQQSO_NO, YES=cf.MQQSO_YES),
    _number(cf.MQIACF_OPEN_BROWSE, "BROWSE", NO=cf.MQQSO_NO, YES=cf.MQQSO_YES),
    _number(cf.MQIACF_OPEN_INQUIRE, "INQUIRE", NO=cf.MQQSO_NO, YES=cf.MQQSO_YES),
    _number(cf.MQIACF_OPEN_SET, "SET", NO=cf.MQQSO_NO, YES=cf.MQQSO_YES),
    _HANDLE_STATE,
)
_CONNECTION = (
    _number(cf.MQIACF_CONN_INFO_TYPE, "TYPE", CONN=cf.MQIACF_CONN_INFO_CONN, HANDLE=cf.MQIACF_CONN_INFO_HANDLE),
    *_WHO,
    _number(cf.MQIACF_CONNECT_OPTIONS, "CONNOPTS"),
    _number(cf.MQIACF_UOW_STATE, "UOWSTATE", NONE=cf.MQUOWST_NONE, ACTIVE=cf.MQUOWST_ACTIVE),
    _number(cf.MQIACF_UOW_TYPE, "URTYPE", QMGR=cf.MQUOWT_Q_MGR),
    _text(cf.MQCACF_OBJECT_NAME, "OBJNAME"),
    _number(
        cf.MQIACF_OBJECT_TYPE,
        "OBJTYPE",
        QUEUE=mq.MQOT_Q,
        NAMELIST=mq.MQOT_NAMELIST,
        PROCESS=mq.MQOT_PROCESS,
        QMGR=mq.MQOT_Q_MGR,
    ),
    _OPEN_OPTIONS,
    _HANDLE_STATE,
)
_CHANNEL = (_number(cf.MQIACH_CHANNEL_TYPE, "CHLTYPE", SVRCONN=cf.MQCHT_SVRCONN), *ATTRIBUTES[Kind.CHANNEL])
_CHANNEL_STATUS = (
    _CHANNEL[0],
    _number(
        cf.MQIACH_CHANNEL_STATUS,
        "STATUS",
        RUNNING=cf.MQCHS_RUNNING,
        STOPPING=cf.MQCHS_STOPPING,
        STOPPED=cf.MQCHS_STOPPED,
    ),
    _number(cf.MQIACH_HB_INTERVAL, "HBINT"),
    _number(cf.MQIACH_CURRENT_SHARING_CONVS, "CURSHCNV"),
    _number(cf.MQIACH_MAX_SHARING_CONVS, "MAXSHCNV"),
    _text(cf.MQCACH_CONNECTION_NAME, "CONNAME"),
    _text(cf.MQCACH_REMOTE_APPL_TAG, "RAPPLTAG"),
)
_CLUSTER_QUEUE = (
    _number(mq.MQIA_Q_TYPE, "TYPE", QCLUSTER=mq.MQQT_CLUSTER),
    _text(mq.MQCA_CLUSTER_NAME, "CLUSTER"),
    _text(mq.MQCA_CLUSTER_Q_MGR_NAME, "CLUSQMGR"),
    _number(
        mq.MQIA_CLUSTER_Q_TYPE, "CLUSQT", QLOCAL=cf.MQCQT_LOCAL_Q, QALIAS=cf.MQCQT_ALIAS_Q, QREMOTE=cf.MQCQT_REMOTE_Q
    ),
    _text(mq.MQCA_Q_MGR_IDENTIFIER, "QMID"),
    *(attribute for attribute in QUEUE_ATTRIBUTES if attribute.selector in set(ADVERTISED) - {mq.MQCA_CLUSTER_NAME}),
)
_CLUSTER_Q_MGR = (
    _text(cf.MQCACH_CHANNEL_NAME, "CHANNEL"),
    _text(mq.MQCA_CLUSTER_NAME, "CLUSTER"),
    _text(cf.MQCACH_CONNECTION_NAME, "CONNAME"),
    _number(
        cf.MQIACF_Q_MGR_DEFINITION_TYPE,
        "DEFTYPE",
        CLUSSDRA=cf.MQQMDT_AUTO_CLUSTER_SENDER,
        CLUSRCVR=cf.MQQMDT_CLUSTER_RECEIVER,
    ),
    _text(mq.MQCA_Q_MGR_IDENTIFIER, "QMID"),
    _number(cf.MQIACF_Q_MGR_TYPE, "QMTYPE", REPOS=cf.MQQMT_REPOSITORY),
    _number(cf.MQIACH_CHANNEL_STATUS, "STATUS", **{status.name: status.value for status in ChannelStatus}),
    _text(cf.MQCACH_XMIT_Q_NAME, "XMITQ"),
)
_TYPE_OF_TOPIC = _number(cf.MQIA_TOPIC_TYPE, "TYPE", LOCAL=cf.MQTOPT_LOCAL)
_TOPIC = (_TYPE_OF_TOPIC, *ATTRIBUTES[Kind.TOPIC])
_DURABLE_CHOICE = _number(
    cf.MQIACF_DURABLE_SUBSCRIPTION,
    "DURABLE",
    YES=cf.MQSUB_DURABLE_YES,
    NO=cf.MQSUB_DURABLE_NO,
    ALL=cf.MQSUB_DURABLE_ALL,
)
_SUB_TYPE_CHOICE = _number(
    cf.MQIACF_SUB_TYPE,
    "SUBTYPE",
    API=cf.MQSUBTYPE_API,
    ADMIN=cf.MQSUBTYPE_ADMIN,
    USER=cf.MQSUBTYPE_USER,
    ALL=cf.MQSUBTYPE_ALL,
)
_DURABLE = _number(cf.MQIACF_DURABLE_SUBSCRIPTION, "DURABLE", YES=cf.MQSUB_DURABLE_YES, NO=cf.MQSUB_DURABLE_NO)
_SUB_TYPE = _number(cf.MQIACF_SUB_TYPE, "SUBTYPE", API=cf.MQSUBTYPE_API, ADMIN=cf.MQSUBTYPE_ADMIN)
_TOPIC_STATUS = (
    _number(
        cf.MQIACF_TOPIC_STATUS_TYPE,
        "TYPE",
        TOPIC=cf.MQIACF_TOPIC_STATUS,
        SUB=cf.MQIACF_TOPIC_SUB,
        PUB=cf.MQIACF_TOPIC_PUB,
    ),
    *(each for each in ATTRIBUTES[Kind.TOPIC] if each.selector != mq.MQCA_TOPIC_STRING),
    _text(mq.MQCA_TOPIC_NAME, "ADMIN"),
    _number(cf.MQIA_SUB_COUNT, "SUBCOUNT"),
    _number(cf.MQIA_PUB_COUNT, "PUBCOUNT"),
    _number(cf.MQIACF_RETAINED_PUBLICATION, "RETAINED", YES=1, NO=0),
    _text(cf.MQBACF_SUB_ID, "SUBID"),
    _text(cf.MQCACF_SUB_USER_ID, "SUBUSER"),
    _DURABLE,
    _SUB_TYPE,
    _number(cf.MQIACF_MESSAGE_COUNT, "NUMMSGS"),
    _text(cf.MQBACF_CONNECTION_ID, "ACTCONN"),
)
_SUBSCRIPTION = (
    _text(cf.MQBACF_SUB_ID, "SUBID"),
    *SUBSCRIPTION_ATTRIBUTES,
    _text(cf.MQBACF_DESTINATION_CORREL_ID, "DESTCORL"),
    _DURABLE,
    _SUB_TYPE,
    _text(cf.MQBACF_ACCOUNTING_TOKEN, "PUBACCT"),
    _text(cf.MQCACF_APPL_IDENTITY_DATA, "PUBAPPID"),
)
_SUBSCRIPTION_STATUS = (
    _SUBSCRIPTION[0],
    _text(cf.MQBACF_CONNECTION_ID, "ACTCONN"),
    _DURABLE,
    _number(cf.MQIACF_MESSAGE_COUNT, "NUMMSGS"),
    _text(cf.MQCACF_SUB_USER_ID, "SUBUSER"),
    _SUB_TYPE,
    _text(mq.MQCA_TOPIC_STRING, "TOPICSTR"),
)
_AUTH_INFO = (_number(cf.MQIA_AUTH_INFO_TYPE, "AUTHTYPE", IDPWOS=cf.MQAIT_IDPW_OS), *ATTRIBUTES[Kind.AUTH_INFO])
_Q_MGR_STATUS = (
    _number(cf.MQIACF_Q_MGR_STATUS, "STATUS", RUNNING=cf.MQQMSTA_RUNNING, QUIESCING=cf.MQQMSTA_QUIESCING),
    _number(cf.MQIACF_CMD_SERVER_STATUS, "CMDSERV", RUNNING=cf.MQSVC_STATUS_RUNNING),
    _number(cf.MQIACF_CONNECTION_COUNT, "CONNS"),
    _text(cf.MQCACF_Q_MGR_START_DATE, "STARTDA"),
    _text(cf.MQCACF_Q_MGR_START_TIME, "STARTTI"),
)
_NAMELIST = (
    *ATTRIBUTES[Kind.NAMELIST],
    _number(cf.MQIA_NAME_COUNT, "NAMCOUNT"),
    _text(cf.MQCA_NAMES, "NAMES"),
)


@dataclass(frozen=True, slots=True)
class _Display:
    """A kind of DISPLAY, such as DISPLAY QUEUE, with its message number, its PCF command and the attributes that it shows.

    ``choices`` are the keywords that are not attributes, but parameters of the PCF command.
    """

    number: int
    what: str
    inquire: Callable[[QueueManager, Request], list[Row]]
    name: int
    shown_as: str
    attributes: tuple[Attribute, ...]
    choices: Mapping[str, Attribute] = field(default_factory=dict)


_QUEUES = _Display(8409, "a queue", queues.inquire, mq.MQCA_Q_NAME, "QUEUE", _QUEUE, {"TYPE": _QUEUE_TYPE})
_DISPLAYS = {
    "QUEUE": _QUEUES,
    "QLOCAL": _QUEUES,
    "QMODEL": _QUEUES,
    "QALIAS": _QUEUES,
    "QREMOTE": _QUEUES,
    "QCLUSTER": _Display(8409, "a queue", queues.inquire, mq.MQCA_Q_NAME, "QUEUE", _CLUSTER_QUEUE),
    "CLUSQMGR": _Display(
        8441,
        "a cluster queue manager",
        clusters.inquire_queue_managers,
        mq.MQCA_CLUSTER_Q_MGR_NAME,
        "CLUSQMGR",
        _CLUSTER_Q_MGR,
    ),
    "QSTATUS": _Display(
        8450,
        "the status of a queue",
        status.queue_status,
        mq.MQCA_Q_NAME,
        "QUEUE",
        _QUEUE_STATUS,
        {
            "TYPE": _QUEUE_STATUS[0],
            "OPENTYPE": _number(
                cf.MQIACF_OPEN_TYPE, "OPENTYPE", ALL=cf.MQQSOT_ALL, INPUT=cf.MQQSOT_INPUT, OUTPUT=cf.MQQSOT_OUTPUT
            ),
        },
    ),
    "QMGR": _Display(8408, "a queue manager", queue_manager.inquire, mq.MQCA_Q_MGR_NAME, "QMNAME", _Q_MGR),
    "CHANNEL": _Display(
        8414,
        "a channel",
        objects.inquire_channel,
        cf.MQCACH_CHANNEL_NAME,
        "CHANNEL",
        _CHANNEL,
        {"CHLTYPE": _number(cf.MQIACH_CHANNEL_TYPE, "CHLTYPE", SVRCONN=cf.MQCHT_SVRCONN, ALL=cf.MQCHT_ALL)},
    ),
    "CHSTATUS": _Display(
        8417,
        "the status of a channel",
        status.channel_status,
        cf.MQCACH_CHANNEL_NAME,
        "CHANNEL",
        _CHANNEL_STATUS,
    ),
    "NAMELIST": _Display(8550, "a namelist", objects.inquire_namelist, cf.MQCA_NAMELIST_NAME, "NAMELIST", _NAMELIST),
    "PROCESS": _Display(
        8407, "a process", objects.inquire_process, mq.MQCA_PROCESS_NAME, "PROCESS", ATTRIBUTES[Kind.PROCESS]
    ),
    "QMSTATUS": _Display(
        8705, "the status of a queue manager", queue_manager.status, mq.MQCA_Q_MGR_NAME, "QMNAME", _Q_MGR_STATUS
    ),
    "TOPIC": _Display(8633, "a topic", topics.inquire, mq.MQCA_TOPIC_NAME, "TOPIC", _TOPIC, {"TYPE": _TYPE_OF_TOPIC}),
    "TPSTATUS": _Display(
        8754,
        "the status of a topic",
        topics.status,
        mq.MQCA_TOPIC_STRING,
        "TPSTATUS",
        _TOPIC_STATUS,
        {"TYPE": _TOPIC_STATUS[0]},
    ),
    "SUB": _Display(
        8096,
        "a subscription",
        subscriptions.inquire,
        cf.MQCACF_SUB_NAME,
        "SUB",
        _SUBSCRIPTION,
        {"SUBTYPE": _SUB_TYPE_CHOICE, "DURABLE": _DURABLE_CHOICE},
    ),
    "SBSTATUS": _Display(
        8099,
        "the status of a subscription",
        subscriptions.status,
        cf.MQCACF_SUB_NAME,
        "SUB",
        _SUBSCRIPTION_STATUS,
        {"SUBTYPE": _SUB_TYPE_CHOICE, "DURABLE": _DURABLE_CHOICE},
    ),
    "AUTHINFO": _Display(
        8566,
        "authentication information",
        objects.inquire_auth_info,
        cf.MQCA_AUTH_INFO_NAME,
        "AUTHINFO",
        _AUTH_INFO,
        {"AUTHTYPE": _number(cf.MQIA_AUTH_INFO_TYPE, "AUTHTYPE", IDPWOS=cf.MQAIT_IDPW_OS, ALL=cf.MQAIT_ALL)},
    ),
    "CONN": _Display(
        8276,
        "a connection",
        status.connection,
        cf.MQBACF_CONNECTION_ID,
        "CONN",
        _CONNECTION,
        {
            "TYPE": _number(
                cf.MQIACF_CONN_INFO_TYPE,
                "TYPE",
                CONN=cf.MQIACF_CONN_INFO_CONN,
                HANDLE=cf.MQIACF_CONN_INFO_HANDLE,
                ALL=cf.MQIACF_CONN_INFO_ALL,
            )
        },
    ),
}
# Kinds of objects that IBM MQ displays, but that do not exist here.
_NONE_HERE = {
    "LISTENER": "listeners",
    "LSSTATUS": "listeners",
    "SERVICE": "services",
    "SVSTATUS": "services",
    "CHLAUTH": "channel authentication records",
    "COMMINFO": "communication information",
    "POLICY": "security policies",
}
_ONE_TYPE = {"QCLUSTER": mq.MQQT_CLUSTER, **{name: number for number, name in TYPE_NAMES.items()}}


def display(q_mgr: QueueManager, command: Command, user: str) -> list[str]:
    """Carry out a DISPLAY, and return a text for each object. Raises MQSCError, or Failed if all are hidden from the user."""
    if command.kind in _NONE_HERE:
        what = _NONE_HERE[command.kind]
        raise MQSCError(f"AMQ8147E: DISPLAY {command.kind}({command.name}): the embedded queue manager has no {what}")
    shown = _DISPLAYS[command.kind]
    keywords = dict(command.parameters)
    everything = keywords.pop("ALL", None) is not None
    where = keywords.pop("WHERE", None)
    parameters: dict[int, Parameter] = {}
    for keyword, choice in shown.choices.items():
        if keywords.get(keyword):
            parameters[choice.selector] = pcf.integer(choice.selector, _value(command, choice, keywords.pop(keyword)))
    if command.kind in _ONE_TYPE:
        parameters[mq.MQIA_Q_TYPE] = pcf.integer(mq.MQIA_Q_TYPE, _ONE_TYPE[command.kind])
    if command.kind == "CONN":
        parameters[cf.MQBACF_GENERIC_CONNECTION_ID] = pcf.byte_string(cf.MQBACF_GENERIC_CONNECTION_ID, b"")
    elif command.kind not in ("QMGR", "QMSTATUS"):
        parameters[shown.name] = pcf.string(shown.name, command.name)
    by_keyword = {attribute.keyword: attribute for attribute in shown.attributes}
    # The name is always shown, even if the command does not ask for it.
    asked = bool(keywords)
    keywords.pop(shown.shown_as, None)
    if shown is _QUEUES:
        # Add the other word of each pair of keywords (such as NOSHARE for SHARE), and TARGQ.
        by_keyword |= {word: by_keyword[BY_KEYWORD[word].keyword] for word in BY_KEYWORD.keys() - by_keyword.keys()}
    wanted = {_attribute(command, by_keyword, keyword).selector for keyword in keywords}
    chosen = None if where is None else _filter(command, by_keyword, where)
    if chosen is not None:
        wanted.add(chosen.identifier)
    try:
        rows = displayed(q_mgr, user, command.kind, shown.inquire(q_mgr, Request(parameters, chosen)))
    except PCFError as error:
        number = "AMQ8147E" if error.reason in (mq.MQRC_UNKNOWN_OBJECT_NAME, mq.MQRC_NO_SUBSCRIPTION) else "AMQ8146E"
        raise MQSCError(f"{number}: DISPLAY {command.kind}({command.name}): {error}") from error
    if everything or (not asked and chosen is None and not command.name.endswith("*")):
        wanted = {attribute.selector for attribute in shown.attributes}
    # The type is always shown next to the name.
    wanted.add(shown.attributes[0].selector if shown.attributes[0].keyword in _TYPE_KEYWORDS else 0)
    named = [(_name(shown, row), row) for row in rows]
    if command.kind == "CONN":
        named = [(name, row) for name, row in named if matches(name[0].split("(")[1].rstrip(")"), command.name)]
    return [_text_of(shown, name, row, wanted) for name, row in named]


def _attribute(command: Command, by_keyword: Mapping[str, Attribute], keyword: str) -> Attribute:
    found = by_keyword.get(keyword)
    if found is None:
        raise MQSCError(f"AMQ8405E: DISPLAY {command.kind}: attribute {keyword} is not supported")
    return found


def _filter(command: Command, by_keyword: Mapping[str, Attribute], where: str) -> Parameter:
    """Return the filter for WHERE(keyword operator value)."""
    keyword, _, rest = where.partition(" ")
    word, _, value = rest.strip().partition(" ")
    operator = _OPERATORS.get(word)
    if operator is None:
        raise MQSCError(f"AMQ8405E: WHERE({where}): the operators are {' '.join(_OPERATORS)}")
    attribute = _attribute(command, by_keyword, keyword)
    if attribute.length:
        text = value.strip()
        text = text[1:-1].replace("''", "'") if text.startswith("'") else text
        return Parameter(cf.MQCFT_STRING_FILTER, attribute.selector, text, operator)
    return Parameter(cf.MQCFT_INTEGER_FILTER, attribute.selector, _value(command, attribute, value.strip()), operator)


def _value(command: Command, attribute: Attribute, text: str) -> int:
    """Convert a keyword, or a number in digits, to the attribute's value. Raises MQSCError."""
    if text in attribute.keywords:
        return attribute.keywords[text]
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
        raise MQSCError(f"AMQ8405E: DISPLAY {command.kind}: {attribute.keyword}({text}) is not a valid value")
    return int(text)


def _name(shown: _Display, row: Row) -> list[str]:
    """Return an object's name as DISPLAY shows it. A connection has two names: CONN (the last 8 bytes), then EXTCONN."""
    found = next(parameter.value for parameter in row if parameter.identifier == shown.name)
    if isinstance(found, bytes):
        return [f"CONN({found[16:].hex().upper()})", f"EXTCONN({found[:16].hex().upper()})"]
    return [f"{shown.shown_as}({str(found).rstrip()})"]


def _text_of(shown: _Display, name: list[str], row: Row, wanted: set[int]) -> str:
    """Return a response as the text that DISPLAY prints."""
    values = {parameter.identifier: parameter.value for parameter in row}
    items = name + [
        _in_words(attribute, values[attribute.selector])
        for attribute in shown.attributes
        if attribute.selector in wanted and attribute.selector in values
    ]
    lines = [f"AMQ{shown.number}I: Details of {shown.what}."]
    waiting = ""
    for item in items:
        if len(item) >= _COLUMN or not waiting:
            if waiting:
                lines.append(waiting)
            waiting = "   " + item
            if len(item) >= _COLUMN:
                lines.append(waiting)
                waiting = ""
        else:
            lines.append(waiting.ljust(_COLUMN + 3) + item)
            waiting = ""
    return "\n".join([*lines, *([waiting] if waiting else [])])


def _in_words(attribute: Attribute, value: object) -> str:
    if attribute.selector == cf.MQIACF_UNCOMMITTED_MSGS:
        return "UNCOM(YES)" if value else "UNCOM(NO)"
    return attribute.in_words(value)
